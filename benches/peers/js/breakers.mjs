/**
 * What a call costs that a breaker lets through. Ours are retries under a breaker, as they are used; the others are breakers
 * alone, and once with retries.
 */
import * as cockatiel from "cockatiel";
import CircuitBreaker from "opossum";
import { executing, failing, fields, operation } from "./loops.mjs";

const breaking = (breaker) => cockatiel.circuitBreaker(cockatiel.handleAll, { halfOpenAfter: 30_000, breaker });

/** The least that can be written down. */
function byHand() {
  let failed = 0;
  const succeeded = (value) => {
    failed = 0;
    return value;
  };
  const raised = (error) => {
    failed += 1;
    throw error;
  };
  return () => (failed < 1000 ? operation().then(succeeded, raised) : Promise.reject(new Error("open")));
}

const consecutive = breaking(new cockatiel.ConsecutiveBreaker(1000));
const count = breaking(new cockatiel.CountBreaker({ threshold: 0.5, size: 100 }));
const sampling = breaking(new cockatiel.SamplingBreaker({ threshold: 0.5, duration: 60_000 }));
const both = cockatiel.wrap(executing, consecutive);

export function breakers({ index: { wrap }, guards: { Breaker, Guards } }) {
  const under = (guards) => wrap(operation, { ...fields, guards: new Guards(guards) });
  const alone = new Breaker({ failures: 1000 });
  const opossum = new CircuitBreaker(operation, { timeout: false });
  const calls = {
    bare: operation,
    floor: byHand(),
    breaker: under({ breaker: { failures: 1000 } }),
    "breaker, count": under({ breaker: { kind: "count", size: 100 } }),
    "breaker, time": under({ breaker: { kind: "time", window: "1m" } }),
    "4 guards": under({
      breaker: { failures: 1000 },
      budget: { kind: "token", capacity: 1e6 },
      limiter: { limit: 1e9, burst: 1e9 },
      bulkhead: 100,
    }),
    "machine alone": async () => {
      const { permit } = alone.acquire(0);
      const value = await operation();
      alone.record(permit, "success", 0, 0);
      return value;
    },
    "cockatiel, consecutive": () => consecutive.execute(operation),
    "cockatiel, count": () => count.execute(operation),
    "cockatiel, sampling": () => sampling.execute(operation),
    "cockatiel, retry and breaker": () => both.execute(operation),
    opossum: () => opossum.fire(),
  };
  const functions = {};
  for (const [who, call] of Object.entries(calls)) functions[who] = failing(0, call);
  return functions;
}
