/**
 * What a retry costs in JavaScript beyond the function and the wait, beside p-retry and cockatiel.
 *
 * Prints one JSON list of {work, who, ns}. All works run in one process, one sample of each in turn, and the fastest
 * sample of each is kept: a busy machine slows all of them alike. Nothing waits: timers are replaced before the
 * libraries are loaded, so that every sleep ends in the next microtask.
 *
 * The first argument is the folder whose node_modules has the packages: bindings-wasm.
 */
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

globalThis.setTimeout = (callback, _delay, ...rest) => {
  queueMicrotask(() => callback(...rest));
  return { ref() {}, unref() {} };
};
globalThis.clearTimeout = () => {};

const folder = process.argv[2];
const { resolve } = createRequire(`${folder}/package.json`);
const load = (path) => import(pathToFileURL(path).href);
const { retry, wrap } = await load(`${folder}/dist/esm/index.js`);
const { Guards } = await load(`${folder}/dist/esm/guards.js`);
const cockatiel = await load(resolve("cockatiel"));
const { default: pRetry } = await load(resolve("p-retry"));

const rounds = Number(process.argv[3] ?? 100);
const CALLS = 200;
const ATTEMPTS = 4;
const error = new Error("not yet");

let left = 0;
async function operation() {
  if (left > 0) {
    left -= 1;
    throw error;
  }
  return 1;
}

/** A loop around the operation; where nothing fails none is needed, and the operation is its own measure. */
async function bare() {
  for (;;) {
    try {
      return await operation();
    } catch {}
  }
}

// Ours looks at a clock too, to see whether a sleep is really over.
let now = 0;
const clock = {
  now: () => now,
  setTimeout(callback, delay) {
    now += delay;
    queueMicrotask(callback);
  },
  clearTimeout() {},
};
const options = { attempts: ATTEMPTS, clock };
const wrapped = wrap(operation, options);
const policy = cockatiel.retry(cockatiel.handleAll, {
  maxAttempts: ATTEMPTS - 1,
  backoff: new cockatiel.ExponentialBackoff({ initialDelay: 100, maxDelay: 5000 }),
});
const pOptions = { retries: ATTEMPTS - 1, minTimeout: 100, maxTimeout: 5000, randomize: true };

// Guards that let everything through: what they cost is what everybody pays. Breakers stand around each attempt.
const breaker = { failures: 1000 };
const underBreaker = wrap(operation, { ...options, guards: new Guards({ breaker }) });
const underAll = wrap(operation, {
  ...options,
  guards: new Guards({
    breaker,
    budget: { kind: "token", capacity: 1e6 },
    limiter: { limit: 1e9, burst: 1e9 },
    bulkhead: 100,
  }),
});
const breaking = cockatiel.wrap(
  policy,
  cockatiel.circuitBreaker(cockatiel.handleAll, {
    halfOpenAfter: 30_000,
    breaker: new cockatiel.ConsecutiveBreaker(1000),
  }),
);

const works = {
  bare,
  holdoff: () => retry(operation, options),
  "holdoff, wrapped": wrapped,
  "holdoff, breaker": underBreaker,
  "holdoff, 4 guards": underAll,
  cockatiel: () => policy.execute(operation),
  "cockatiel, breaker": () => breaking.execute(operation),
  "p-retry": () => pRetry(operation, pOptions),
};

const best = new Map();
for (let round = 0; round < rounds; round += 1) {
  for (const failures of [0, 1, 3]) {
    for (const [who, work] of Object.entries(works)) {
      const call = who === "bare" && failures === 0 ? operation : work;
      const begun = process.hrtime.bigint();
      for (let n = 0; n < CALLS; n += 1) {
        left = failures;
        await call();
      }
      const ns = Number(process.hrtime.bigint() - begun) / CALLS;
      const key = `${failures} failures|${who}`;
      best.set(key, Math.min(best.get(key) ?? ns, ns));
    }
  }
}
const rows = [...best].map(([key, ns]) => {
  const [work, who] = key.split("|");
  return { work, who, ns };
});
console.log(JSON.stringify(rows));
