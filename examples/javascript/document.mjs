// Policies as data: a preset by its name, and a JSON document that services in other languages read as well.
import assert from "node:assert/strict";
import { Policy } from "holdoff";
import { explain, fromForm, Schedule, toJson } from "holdoff/tools";

const kubernetes = new Policy({ preset: "kubernetes", deadline: "10s" });
console.log(String(explain(kubernetes)));

const document = `{
  "backoff": [{ "kind": "constant", "delay": "1s", "times": 1 }, { "kind": "exponential", "initial": "2s", "max": "1m" }],
  "jitter": "none", "attempts": 5,
  "rules": [
    { "if": [{ "http": [408, 429, "5xx"] }, { "patterns": ["connection reset"] }], "retry": true },
    { "if": {}, "retry": false }
  ]
}`;
const policy = Policy.fromJson(document);
assert.deepEqual([...new Schedule(policy, 0)], [1e9, 2e9, 4e9, 8e9]);
assert.equal(policy.classify({ status: 404 }).kind, "permanent");
assert.equal(policy.classify(new Error("read: connection reset by peer")).kind, "transient");

// A policy that another system has written down already.
const config = {
  retryPolicy: {
    maxAttempts: 4,
    initialBackoff: "0.1s",
    maxBackoff: "1s",
    backoffMultiplier: 2,
    retryableStatusCodes: ["UNAVAILABLE"],
  },
};
console.log(toJson(fromForm("grpc", config).policy));
