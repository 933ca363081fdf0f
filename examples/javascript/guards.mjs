// Guards: what all calls to a dependency share, so that retries do not keep it down.

import assert from "node:assert/strict";
import { KeyedGuards, outcomeOf, Policy } from "holdoff/guards";
import "holdoff/policies";

// A set of guards for each host.
const guards = new KeyedGuards({
  budget: { kind: "ratio", ratio: 0.2, minPerSecond: 1 }, // a retry for every five calls, and one a second
  breaker: { failures: 3, openFor: "200ms" }, // after three failures in a row nobody calls for a while
  bulkhead: { limit: 2, queue: 10, maxWait: "1s" }, // two at once, ten wait
});
const policy = new Policy({ attempts: 5, backoff: { initial: "5ms" } });

let isDown = true;
let calls = 0;
async function serve(host) {
  calls++;
  if (isDown) throw new Error(`${host} is down`);
  return `${host} is up`;
}

const ask = (host, options) => policy.retry(() => serve(host), { guards: guards.of(host), ...options });

// The third failure opens the breaker of that host, and the call gives up at once.
const error = await ask("a.example").catch((error) => error);
console.log(`${error.message}: ${outcomeOf(error).reason} after ${outcomeOf(error).attempts} attempts`);

// While it is open nothing is sent, and a fallback may stand for the answer.
const before = calls;
const refused = await ask("a.example").catch((error) => error);
console.log(`${refused.name}: ${refused.reason}`);
console.log(await ask("a.example", { fallback: () => "an older answer" }));
assert.equal(calls, before);

// Other hosts are no worse off, and at most two of their calls run at once.
isDown = false;
const answers = await Promise.all([1, 2, 3, 4].map(() => ask("b.example")));
assert.deepEqual(new Set(answers), new Set(["b.example is up"]));

// When its time is over, one call tries whether the first host is back.
await new Promise((resolve) => setTimeout(resolve, 250));
console.log(await ask("a.example"), guards.of("a.example").breaker.state());

// A policy may have guards of its own, which all calls under it share: in code, in a document or by a preset.
const sdk = new Policy("aws-standard-2.1");
await sdk.retry(() => serve("c.example"));
console.log(`${sdk.guards.budget.balance()} tokens`);
