/**
 * Takes samples of several functions in turns.
 *
 * The field's own benches (tinybench, mitata) finish one function before they begin the next: on a machine that others use,
 * too, each then has another share of it, and ratios of minimums move by a third from run to run. Here each round has one
 * sample of everybody, begins with another one each time, and a sample is too short for most of what disturbs it.
 */

/** Long enough for the clock, and shorter than what lies between two collections of garbage. */
const NANOS = 100_000;
const ROUNDS = 20;
const WARM = 60_000_000n;

const nanos = process.hrtime.bigint;

/** Lets the host do what it has put off: Node keeps every promise that was rejected until then. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

async function sample(run, count) {
  await turn();
  const begun = nanos();
  await run(count);
  return Number(nanos() - begun) / count;
}

/** How many operations make a sample, found out for so long that compilers have done with what is compiled. */
async function counted(run) {
  let count = 1;
  let best = Number.POSITIVE_INFINITY;
  const end = nanos() + WARM;
  for (let looks = 0; looks < 40 || nanos() < end; looks += 1) {
    best = Math.min(best, await sample(run, count));
    count = Math.max(1, Math.min(Math.round(NANOS / best), count * 4));
  }
  return count;
}

/** Nanoseconds an operation, sample by sample, `who` by `who`, of functions that do so many operations; for so long each. */
export async function samples(functions, milliseconds) {
  const all = [];
  for (const [who, run] of Object.entries(functions)) all.push({ who, run, count: await counted(run), times: [] });
  const end = nanos() + BigInt(Math.round(milliseconds * 1e6 * all.length));
  for (let round = 0; round < ROUNDS || nanos() < end; round += 1) {
    for (let turn = 0; turn < all.length; turn += 1) {
      const { run, count, times } = all[(round + turn) % all.length];
      times.push(await sample(run, count));
    }
  }
  return Object.fromEntries(all.map(({ who, times }) => [who, times]));
}
