// The lab's simulator gives the numbers of `holdoff simulate` for each preset and three seeds, and those of the checked-in table of
// other systems.
//
// `HOLDOFF=<the command line> node test/same.mjs <folder of the wasm module>`
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const folder = resolve(process.argv[2]);
const lab = await import(pathToFileURL(join(folder, "playground.js")).href);
lab.initSync({ module: readFileSync(join(folder, "playground_bg.wasm")) });

function simulate(policy, scenario) {
  const { ok, problems } = JSON.parse(lab.simulate(JSON.stringify(policy), JSON.stringify(scenario)));
  assert.ok(ok, JSON.stringify(problems));
  return ok;
}

const file = join(mkdtempSync(join(tmpdir(), "storm-lab-")), "scenario.json");
const { presets } = JSON.parse(lab.choices()).ok;
assert.ok(presets.length >= 16);
for (const preset of presets) {
  for (const seed of [1, 7, 4294967295]) {
    // A policy without an end needs the limit of a run.
    const scenario = { clients: 300, lasts: 20, seed, most_attempts: 200_000 };
    writeFileSync(file, JSON.stringify(scenario));
    const options = ["simulate", "--json", "--no-default", "--scenario", file, preset];
    const { stdout, stderr } = spawnSync(process.env.HOLDOFF, options, { encoding: "utf8" });
    assert.equal(stderr, "");
    const { figures, capacity, fault, ...counts } = simulate({ preset }, scenario);
    const program = JSON.parse(stdout);
    const { policy, figures: expected, ...run } = program.runs[0];
    assert.deepEqual(
      { policy, figures, counts },
      { policy: preset, figures: expected, counts: run },
      `${preset}, seed ${seed}`,
    );
    assert.equal(capacity, program.scenario.capacity);
    assert.deepEqual(fault, [program.scenario.begins, program.scenario.begins + 20]);
  }
}
console.log(`  ${presets.length} presets, 3 seeds: the numbers of the command line`);

const sim = (name) => readFileSync(new URL(`../../sim/${name}`, import.meta.url), "utf8");
const TITLE = "Other systems: a server that is down for 30 s";
const { strategies } = JSON.parse(sim("storm.json"));
const table = sim("storm.txt").split(`${TITLE}\n`)[1].split("\n\n")[0].split("\n").slice(3);
let rows = 0;
for (const line of table) {
  const [, name, rate, ...shown] = /^(.*?) {2,}(\d+) +(\d.*?)$/.exec(line) ?? assert.fail(line);
  const { figures } = simulate(strategies[name], { clients: 3000, rate: Number(rate) });
  const percent = (part) => `${(100 * part).toFixed(2)} %`;
  const { calls, attempts, load, load_in_fault, load_at_worst, load_later, success, success_in_fault, next } = figures;
  const loads = [load, load_in_fault, load_at_worst, load_later].map((load) => load.toFixed(3));
  const found = [calls, attempts, ...loads, percent(success), percent(success_in_fault), next.toFixed(3)];
  assert.deepEqual(shown[0].split(/ {2,}| (?!%)/).slice(0, found.length), found.map(String), name);
  rows += 1;
}
assert.ok(rows >= 15, `${rows} rows`);
console.log(`  ${rows} rows of other systems: the numbers of sim/storm.txt`);
