// Each entry of package.json imported alone, in a process of its own: by `import`, by `require`, and out of a bundle.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const run = promisify(execFile);
const { exports } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));

const FETCH = `retried(async () => {
  const fetch = entry.resilientFetch({ ...fields, fetch: async () => new Response(work()) });
  return (await fetch("http://localhost/")).text();
})`;

/** What a program does with each entry alone. It prints "2 failures, then ok" where the entry can retry. */
const USES = {
  ".": `retried(async () => {
    const registry = new entry.Registry();
    registry.define("p", fields);
    let end;
    for await (const attempt of entry.attempts(fields)) end = await attempt(work);
    const failures = calls;
    const loops = [() => entry.retryStream(() => [work()], fields), () => [registry.retry("p", work)]];
    for (const loop of [...loops, () => [entry.retry(work, fields)]]) {
      calls = 0;
      for await (const item of loop()) end = item;
      if (calls !== failures) throw new Error("the loops differ");
    }
    return end;
  })`,
  "./lite": "retried(() => entry.retry(work, { ...fields, backoff: { initial: 1 } }))",
  "./guards": `retried(() => {
    const guards = new entry.Guards({ breaker: { failures: 9 } });
    return entry.retry(work, { ...fields, guards });
  })`,
  "./fetch": FETCH,
  "./lite/fetch": FETCH.replace("...fields", "attempts: 5, backoff: { initial: 1 }"),
  "./undici": "print(typeof entry.retries({ attempts: 2 }))",
  "./llm": FETCH.replace("resilientFetch", "llmFetch"),
  "./axios": "print(typeof entry.axiosAdapter)",
  "./got": "print(entry.gotHooks(fields).handlers.length)",
  "./aws": "print(typeof entry.retryStrategy(fields).recordSuccess)",
  "./query": "print(entry.queryRetry(fields).retryDelay(1, new TypeError('fetch failed')))",
  "./rules": "print(typeof entry)",
  "./tools": "print(entry.explain('default').rows.length)",
  "./timers": "print(new entry.Wheel().pop(0) ?? 'none')",
  "./telemetry": "print(entry.listen({ onRetry() {} })() ?? 'none')",
  "./testing": "entry.failing(0, undefined, () => print('called'))()",
  "./node": "print(entry.currentToken() ?? 'none')",
  "./policies": "print(entry.presets.length)",
};

const program = (entry, use) => `${entry}
  const fields = { attempts: 5, jitter: "none", backoff: { initial: "1ms" } };
  let calls = 0;
  const print = (value) => console.log(String(value));
  const work = () => {
    if (++calls < 3) throw new TypeError("fetch failed");
    return "ok";
  };
  const retried = (start) => start().then((value) => print(\`\${calls - 1} failures, then \${value}\`));
  ${use};`;

/** The same program; its error is printed. */
const caught = (text) => `process.on("uncaughtException", (error) => console.log(String(error)));\n${text}`;

const entries = Object.keys(exports).filter((name) => name !== "./package.json");
const nameOf = (entry) => entry.replace(".", "holdoff");
let folder;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdoff-alone-"));
  const contents = Object.fromEntries(
    entries.map((entry) => [nameOf(entry), program(`import * as entry from "${nameOf(entry)}";`, USES[entry])]),
  );
  const programs = {
    name: "programs",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^program:/ }, ({ path }) => ({ path: path.slice(8), namespace: "program" }));
      onLoad({ filter: /.*/, namespace: "program" }, ({ path }) => ({ contents: contents[path], resolveDir: root }));
    },
  };
  await build({
    entryPoints: Object.keys(contents).map((name) => ({ in: `program:${name}`, out: name })),
    bundle: true,
    format: "esm",
    outExtension: { ".js": ".mjs" },
    outdir: folder,
    minify: true,
    external: ["node:async_hooks"],
    plugins: [programs],
    logLevel: "error",
  });
});
after(() => rm(folder, { recursive: true }));

test("every entry has a use here", () => assert.deepEqual(Object.keys(USES).sort(), entries.sort()));

for (const entry of entries) {
  const name = nameOf(entry);
  test(`${name} works alone`, async () => {
    const use = USES[entry];
    const esm = program(`import * as entry from "${name}";`, use);
    const cjs = program(`const entry = require("${name}");`, use);
    const outputs = await Promise.all([
      run("node", ["--input-type=module", "--eval", esm], { cwd: root }),
      run("node", ["--input-type=commonjs", "--eval", cjs], { cwd: root }),
      run("node", [join(folder, `${name}.mjs`)]),
    ]);
    const [first, ...others] = outputs.map(({ stdout }) => stdout);
    assert.deepEqual(others, [first, first]);
    if (use.startsWith("retried")) assert.equal(first, "2 failures, then ok\n");
    else assert.notEqual(first, "");
  });
}

test("where there is no WebAssembly, what needs it says what to import", async () => {
  const needy = ["holdoff", "holdoff/guards", "holdoff/tools", "holdoff/timers"];
  for (const name of [...needy, "holdoff/lite"]) {
    const text = program(`import * as entry from "${name}";`, USES[name.replace("holdoff", ".")]);
    const { stdout } = await run("node", ["--jitless", "--input-type=module", "--eval", caught(text)], { cwd: root });
    if (name === "holdoff/lite") assert.equal(stdout, "2 failures, then ok\n");
    else assert.match(stdout, /^ConfigError: WebAssembly: .* import "holdoff\/lite"/, name);
  }
});
