/**
 * The cost of a retry in JavaScript beyond the function and the wait, beside the libraries that people use.
 *
 * Prints one JSON list of {work, who, ns, median}: the fastest and the middle sample, in nanoseconds an operation; of imports
 * `ms` and `median ms`. The first argument is the folder of the package; `--quick` takes fewer samples, `--only TEXT` works
 * whose names contain it.
 *
 * Each work is measured in processes of its own, several times: what the compiler makes of a function differs from process to
 * process by more than the samples in one, and depends on what it has compiled before.
 */
import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";
import { imports } from "./imports.mjs";
import { WORKS } from "./works.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: "boolean", default: false }, only: { type: "string", default: "" } },
});
const [folder] = positionals;
const { quick, only } = values;
/** How many processes the first group of a work has, in which ours are, and each of the others. */
const [first, other] = quick ? [4, 1] : [8, 4];
const milliseconds = quick ? 80 : 400;

/** The measurements of a group in one process. */
function measured(work, group) {
  const script = new URL("works.mjs", import.meta.url).pathname;
  const given = [script, folder, work, String(group), String(milliseconds)];
  const child = spawnSync(process.execPath, given, { encoding: "utf8", maxBuffer: 2 ** 28 });
  if (child.status !== 0) throw new Error(child.stderr);
  return JSON.parse(child.stdout);
}

/** All samples of a work, of all its processes. */
function samplesOf(work) {
  const [groups] = WORKS[work];
  const all = {};
  for (let n = 0; n < first; n += 1) {
    for (let group = 0; group < (n < other ? groups : 1); group += 1) {
      for (const [who, times] of Object.entries(measured(work, group))) {
        // The base is in every group; more samples find a faster one among them.
        if (who !== "bare" || group === 0) (all[who] ??= []).push(...times);
      }
    }
  }
  return all;
}

const rows = [];
for (const work of Object.keys(WORKS).filter((name) => name.includes(only))) {
  console.error(`  ${work}`);
  for (const [who, times] of Object.entries(samplesOf(work))) {
    times.sort((a, b) => a - b);
    rows.push({ work, who, ns: times[0], median: times[times.length >> 1] });
  }
}
const imported = (row) => row.work.includes(only);
if (only === "" || ["import", "first retry", "import and first retry"].some((work) => work.includes(only))) {
  console.error("  import");
  rows.push(...imports(folder, quick ? 5 : 25).filter(imported));
}
console.log(JSON.stringify(rows));
