/** The cost of an operation that fails so many times before it succeeds, in loops that would try it four times. */
import retryAsync from "async-retry";
import * as cockatiel from "cockatiel";
import backoff from "exponential-backoff";
import retryP from "p-retry";
import { letClockRun } from "./time.mjs";

const ATTEMPTS = 4;
const error = new Error("not yet");
let left = 0;

export async function operation() {
  if (left > 0) {
    left -= 1;
    throw error;
  }
  return 1;
}

/** So many operations one after the other, each of which fails so many times. */
export const failing = (failures, call) => async (count) => {
  for (let n = 0; n < count; n += 1) {
    left = failures;
    await call();
  }
};

/** A loop without a sleep. Where nothing fails none is needed, and the operation is its own measure. */
async function bare() {
  for (;;) {
    try {
      return await operation();
    } catch {}
  }
}

/** The least possible code: the first call's promise goes on by itself, and only a failure sleeps. */
const floor = () => operation().then(undefined, again);

async function again() {
  for (let attempt = 2; ; attempt += 1) {
    const delay = Math.random() * Math.min(100 * 2 ** (attempt - 2), 5000);
    await new Promise((resolve) => setTimeout(resolve, delay));
    try {
      return await operation();
    } catch (failed) {
      if (attempt === ATTEMPTS) throw failed;
    }
  }
}

export const executing = cockatiel.retry(cockatiel.handleAll, {
  maxAttempts: ATTEMPTS - 1,
  backoff: new cockatiel.ExponentialBackoff({ initialDelay: 100, maxDelay: 5000 }),
});
const randomized = { retries: ATTEMPTS - 1, minTimeout: 100, maxTimeout: 5000, randomize: true };
const jittered = { numOfAttempts: ATTEMPTS, startingDelay: 100, maxDelay: 5000, jitter: "full" };
const peers = {
  "p-retry": () => retryP(operation, randomized),
  "async-retry": () => retryAsync(operation, randomized),
  "exponential-backoff": () => backoff.backOff(operation, jittered),
  cockatiel: () => executing.execute(operation),
};

export const fields = { attempts: ATTEMPTS };

/** All of them for so many failures, in three groups: the usual ways, the others, and the peers. */
export function loops(failures, { index: { retry, wrap, Policy }, lite }) {
  // Operations with several failures spend a budget.
  const own = failures > 1 ? { ...fields, budget: "none" } : fields;
  const policy = new Policy(own);
  const options = { policy };
  const wrapped = wrap(operation, own);
  const base = { bare: failures === 0 ? operation : bare };
  const each = (calls) => {
    const functions = {};
    for (const [who, call] of Object.entries({ ...base, ...calls })) functions[who] = failing(failures, call);
    return functions;
  };
  const ours = { floor, wrap: wrapped, retry: () => retry(operation, options) };
  if (lite) {
    ours["lite wrap"] = lite.wrap(operation, fields);
    ours["lite retry"] = () => lite.retry(operation, fields);
  }
  const others = each({
    "retry, fields": () => retry(operation, own),
    "retry of a policy": () => policy.retry(operation),
    ...(failures > 0 && { "wrap, host's clock": wrapped }),
  });
  const timed = others["wrap, host's clock"];
  if (timed) {
    others["wrap, host's clock"] = async (count) => {
      letClockRun(true);
      await timed(count);
      letClockRun(false);
    };
  }
  return [each(ours), others, each(peers)];
}

/** A method that takes something, as most that are wrapped do. */
export function methods({ index: { wrap }, lite }) {
  const client = { find: async (id, limit) => id + limit };
  const calls = { bare: client.find, wrap: wrap(client.find, fields) };
  if (lite) calls["lite wrap"] = lite.wrap(client.find, fields);
  const functions = {};
  for (const [who, find] of Object.entries(calls)) {
    functions[who] = async (count) => {
      for (let id = 0; id < count; id += 1) await find.call(client, id, 10);
    };
  }
  return [functions];
}
