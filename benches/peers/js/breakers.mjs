/**
 * The cost of a call that a breaker lets through. Ours are retries under a breaker, as they are used; the others are breakers
 * alone, and once with retries.
 */
import * as cockatiel from "cockatiel";
import CircuitBreaker from "opossum";
import { executing, failing, operation } from "./loops.mjs";

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

const executed = (breaker) => {
  const policy = breaking(breaker);
  return () => policy.execute(operation);
};

/** It has but one kind, which counts in a time. */
function opossums() {
  const breaker = new CircuitBreaker(operation, { timeout: false });
  return () => breaker.fire();
}

/** Each kind of breaker is a work of its own, as a program has one kind. */
const KINDS = {
  breaker: { failures: 1000 },
  "breaker, 100 calls": { kind: "count", size: 100 },
  "breaker, a minute": { kind: "time", window: "1m" },
};

const PEERS = {
  breaker: () => {
    const breaker = breaking(new cockatiel.ConsecutiveBreaker(1000));
    const both = cockatiel.wrap(executing, breaker);
    return {
      cockatiel: () => breaker.execute(operation),
      "cockatiel, retry and breaker": () => both.execute(operation),
      opossum: opossums(),
    };
  },
  "breaker, 100 calls": () => ({ cockatiel: executed(new cockatiel.CountBreaker({ threshold: 0.5, size: 100 })) }),
  "breaker, a minute": () => ({
    cockatiel: executed(new cockatiel.SamplingBreaker({ threshold: 0.5, duration: 60_000 })),
    opossum: opossums(),
  }),
};

function each(calls) {
  const functions = {};
  for (const [who, call] of Object.entries({ bare: operation, ...calls })) functions[who] = failing(0, call);
  return functions;
}

export function breakers(work, { index: { wrap }, guards: { Breaker, Guards } }) {
  const fields = KINDS[work];
  const alone = new Breaker(fields);
  const machine = async () => {
    const { permit } = alone.acquire(0);
    const value = await operation();
    alone.record(permit, "success", 0, 0);
    return value;
  };
  const guards = new Guards({ breaker: fields });
  return [
    each({ floor: byHand(), breaker: wrap(operation, { attempts: 4, guards }) }),
    each({ "machine alone": machine, ...PEERS[work]() }),
  ];
}

/** The cost of calls through all guards that many programs need. */
export function guarded({ index: { wrap }, guards: { Guards } }) {
  const guards = new Guards({
    breaker: { failures: 1000 },
    budget: { kind: "token", capacity: 1e6 },
    limiter: { limit: 1e9, burst: 1e9 },
    bulkhead: 100,
  });
  const bulkhead = cockatiel.bulkhead(100);
  const peer = cockatiel.wrap(executing, breaking(new cockatiel.ConsecutiveBreaker(1000)), bulkhead);
  return [
    each({
      "4 guards": wrap(operation, { attempts: 4, guards }),
      "cockatiel, retry, breaker, bulkhead": () => peer.execute(operation),
    }),
  ];
}
