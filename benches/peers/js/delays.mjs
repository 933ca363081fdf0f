/**
 * The cost of one decision without a loop: exponential backoff with full jitter, long past its cap. The core draws exactly, from
 * a seed; the floor draws a double from the host's generator, and BigInts are the other way to a seeded one of 64 bits.
 */
import * as cockatiel from "cockatiel";
import retries from "retry";

const INITIAL = 100_000_000;
const MAX = 5_000_000_000;

function floor() {
  let base = INITIAL;
  return () => {
    const delay = Math.random() * base;
    base = Math.min(base * 2, MAX);
    return delay;
  };
}

/** The core's generator, PCG32, on BigInts that fit a register, and a double of two draws. */
function bigints() {
  let state = 42n;
  let base = INITIAL;
  const draw = () => {
    const old = state;
    state = BigInt.asUintN(64, old * 6364136223846793005n + 1442695040888963407n);
    const mixed = Number(BigInt.asUintN(32, ((old >> 18n) ^ old) >> 27n));
    const turn = Number(old >> 59n);
    return ((mixed >>> turn) | (mixed << (-turn & 31))) >>> 0;
  };
  return () => {
    const delay = ((draw() + draw() * 2 ** 32) / 2 ** 64) * base;
    base = Math.min(base * 2, MAX);
    return delay;
  };
}

export function delays({ index: { Policy } }, { Retry, Schedule }) {
  const policy = new Policy({ attempts: "forever" });
  const retry = new Retry(policy, 42, 0);
  const schedule = new Schedule(policy, 42);
  let now = 0;
  let backoff = new cockatiel.ExponentialBackoff({ initialDelay: 100, maxDelay: 5000 }).next();
  const options = { minTimeout: 100, maxTimeout: 5000, factor: 2, randomize: true };
  const steps = {
    floor: floor(),
    "machine, Retry": () => {
      now = retry.onFailure(now, "transient").until;
    },
    "machine, Schedule": () => schedule.next().value,
    "by BigInt": bigints(),
    cockatiel: () => {
      backoff = backoff.next();
      return backoff.duration;
    },
    retry: () => retries.createTimeout(9, options),
  };
  const functions = {};
  for (const [who, step] of Object.entries(steps)) {
    functions[who] = (count) => {
      for (let n = 0; n < count; n += 1) step();
    };
  }
  return [functions];
}
