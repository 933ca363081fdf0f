/**
 * Milliseconds to import each library in a fresh process, and to retry once after a sleep of one, so that a module that puts off its
 * work is measured doing it.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";

const here = new URL(".", import.meta.url);
const peer = (name) => import.meta.resolve(name);

/** Where each is, and how it retries once after a millisecond. */
function entries(folder) {
  const ours = (name) => pathToFileURL(`${folder}/dist/esm/${name}.js`).href;
  const lite = `${folder}/dist/esm/lite.js`;
  const now = "{ attempts: 2, backoff: { delay: 1 } }";
  return {
    bare: ["data:text/javascript,export default 1", "0"],
    // The file that Node loads for `import "holdoff"`.
    holdoff: [ours("index-node"), `m.retry(work, ${now})`],
    "holdoff/guards": [ours("guards"), "new m.Breaker()"],
    ...(existsSync(lite) && {
      "holdoff/lite": [ours("lite"), "m.retry(work, { attempts: 2, backoff: { delay: 1 } })"],
    }),
    "p-retry": [peer("p-retry"), "m.default(work, { retries: 1, minTimeout: 1 })"],
    "async-retry": [peer("async-retry"), "m.default(work, { retries: 1, minTimeout: 1 })"],
    "exponential-backoff": [peer("exponential-backoff"), "m.backOff(work, { startingDelay: 1 })"],
    cockatiel: [
      peer("cockatiel"),
      "m.retry(m.handleAll, { maxAttempts: 1, backoff: new m.ConstantBackoff(1) }).execute(work)",
    ],
    opossum: [peer("opossum"), "new m.default(work).fire().catch(() => {})"],
  };
}

/** The milliseconds that a fresh process takes to import, and until it has retried. */
function fresh([url, once]) {
  const script = `
    let calls = 0;
    const work = async () => { if (++calls < 2) throw new Error("not yet"); };
    const begun = performance.now();
    const m = await import(${JSON.stringify(url)});
    const imported = performance.now();
    await (${once});
    const used = performance.now();
    console.log(JSON.stringify([imported - begun, used - begun]));
    process.exit();`;
  const child = spawnSync(process.execPath, ["--input-type=module", "-e", script], { cwd: here, encoding: "utf8" });
  if (child.status !== 0) throw new Error(child.stderr);
  return JSON.parse(child.stdout);
}

/** Rows of both works, of so many processes each. */
export function imports(folder, rounds) {
  const all = Object.entries(entries(folder)).map(([who, entry]) => ({ who, entry, imported: [], used: [] }));
  for (let round = 0; round < rounds; round += 1) {
    for (let turn = 0; turn < all.length; turn += 1) {
      const { entry, imported, used } = all[(round + turn) % all.length];
      const [first, second] = fresh(entry);
      imported.push(first);
      used.push(second);
    }
  }
  const row = (work, who, times) => {
    times.sort((a, b) => a - b);
    return { work, who, ms: times[0], "median ms": times[times.length >> 1] };
  };
  return all.flatMap(({ who, imported, used }) => [
    row(
      "first retry",
      who,
      used.map((time, round) => time - imported[round]),
    ),
    row("import", who, imported),
    row("import and first retry", who, used),
  ]);
}
