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

const nanos = process.hrtime.bigint;

async function sample(run, count) {
  const begun = nanos();
  await run(count);
  return Number(nanos() - begun) / count;
}

/** How many operations make a sample. */
async function counted(run) {
  let count = 1;
  // Compiled code is many times faster than what runs first, so this takes more than one look.
  for (let warm = 0; warm < 40; warm += 1) {
    const one = await sample(run, count);
    count = Math.max(1, Math.min(Math.round(NANOS / one), count * 4));
  }
  return count;
}

/** Nanoseconds an operation, sample by sample, of functions that each do so many operations; `who` by `who`. */
export async function samples(functions, milliseconds) {
  const all = [];
  for (const [who, run] of Object.entries(functions)) all.push({ who, run, count: await counted(run), times: [] });
  const end = nanos() + BigInt(Math.round(milliseconds * 1e6));
  for (let round = 0; round < ROUNDS || nanos() < end; round += 1) {
    for (let turn = 0; turn < all.length; turn += 1) {
      const { run, count, times } = all[(round + turn) % all.length];
      times.push(await sample(run, count));
    }
  }
  return Object.fromEntries(all.map(({ who, times }) => [who, times]));
}
