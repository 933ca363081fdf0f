/**
 * The cost of a hundred thousand sleepers on one timer of the host's, beside a timer of the host's each (`bare`).
 *
 * Prints one JSON list of {work, who, ns, median}: nanoseconds of the processor's a sleeper, of the fastest and the middle
 * sample. Both run in one process and take turns. Sleepers that are cancelled would have slept for up to a minute, as retries do that wait;
 * the other sleepers wake within a third of a second, spread over it. All delays are different, as jitter makes them: Node keeps a
 * list for each length.
 *
 * The first argument is the folder of the package; `--quick` takes fewer samples, `--only TEXT` works whose names contain it.
 */
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: "boolean", default: false }, only: { type: "string", default: "" } },
});
const [folder] = positionals;
const { Timers } = await import(pathToFileURL(`${folder}/dist/esm/timers.js`).href);

const SLEEPERS = 100_000;
const rounds = values.quick ? 2 : 7;

let state = 1;
/** A delay below `longest` milliseconds; the same ones in each run. */
function delay(longest) {
  state = (Math.imul(state, 1103515245) + 12345) >>> 0;
  return 1 + (state / 2 ** 32) * longest;
}

/** Starts all, then takes all back in the order in which they came. */
function cancelled({ setTimeout, clearTimeout }) {
  const timers = [];
  for (let n = 0; n < SLEEPERS; n++) timers.push(setTimeout(() => {}, delay(60_000)));
  for (const timer of timers) clearTimeout(timer);
}

/** Starts all, and waits for all. */
function woken({ setTimeout }) {
  return new Promise((resolve) => {
    let left = SLEEPERS;
    const wake = () => {
      if (--left === 0) resolve();
    };
    for (let n = 0; n < SLEEPERS; n++) setTimeout(wake, delay(330));
  });
}

function holdoff() {
  const timers = new Timers();
  return {
    setTimeout: (callback, milliseconds) => timers.setTimeout(callback, milliseconds),
    clearTimeout: (timer) => timers.clearTimeout(timer),
  };
}
const all = { "timers 1e5, cancelled": cancelled, "timers 1e5, woken": woken };
const works = Object.entries(all).filter(([name]) => name.includes(values.only));
const hosts = { bare: () => globalThis, timers: holdoff };

const samples = new Map();
for (let round = 0; round < rounds; round += 1) {
  for (const [work, run] of works) {
    for (const [who, host] of Object.entries(hosts)) {
      const timers = host();
      const begun = process.cpuUsage();
      await run(timers);
      const { user, system } = process.cpuUsage(begun);
      const key = `${work}|${who}`;
      samples.set(key, [...(samples.get(key) ?? []), ((user + system) * 1000) / SLEEPERS]);
    }
  }
}
const rows = [...samples].map(([key, times]) => {
  const [work, who] = key.split("|");
  times.sort((a, b) => a - b);
  return { work, who, ns: times[0], median: times[times.length >> 1] };
});
console.log(JSON.stringify(rows));
