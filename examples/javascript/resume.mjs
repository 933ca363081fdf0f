// An operation that outlives its process: the state of its retry is saved, and resumed on another clock.
import assert from "node:assert/strict";
import { Policy } from "holdoff";
import { Call, resumeCall, save, saveJson } from "holdoff/tools";

const policy = new Policy({ attempts: 5, deadline: "1h", backoff: { initial: "10s", max: "5m" }, jitter: "none" });

const [call, first] = Call.begin(policy, 42, 0);
assert.equal(first.kind, "attempt");
const sleep = call.fail(first.ticket, 2e9, "throttled");
console.log(sleep, saveJson(call, 2e9));
const bytes = save(call, 2e9);

// Elsewhere, in whatever language: the clock reads something else, and the sleep goes on.
const resumed = resumeCall(bytes, policy, 500e9);
assert.deepEqual(resumed.tick(500e9), { kind: "sleep", until: 510e9, cause: "backoff" });
const second = resumed.tick(510e9);
assert.equal(second.attempt, 2);
console.log(resumed.succeed(second.ticket, 511e9));
