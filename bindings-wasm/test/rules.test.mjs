import assert from "node:assert/strict";
import { test } from "node:test";
import { Policy, retry } from "holdoff";
import "holdoff/policies";
import "holdoff/rules";

const status = (status) => Object.assign(new Error("no"), { status });

test("rules judge failures", async () => {
  const rules = [
    { if: { types: ["CardDeclined"] }, retry: false },
    { if: [{ http: [404, "2xx"] }, { grpc: ["not_found", 3], kinds: ["permanent"] }], retry: true },
    { if: { patterns: ["lock timeout"], idempotent: false }, retry: true },
  ];
  const policy = new Policy({ rules, backoff: { initial: 1 }, attempts: 2, budget: "none" });
  let calls = 0;
  const fail = () => Promise.reject(status(++calls && 404));
  await assert.rejects(policy.retry(fail), { message: "no" });
  assert.equal(calls, 2);
  assert.deepEqual(policy.classify(status(404)), { kind: "transient", hint: undefined, rule: 2 });
  assert.deepEqual(policy.judge("permanent", { grpc: 5 }), { kind: "transient", hint: undefined, rule: 2 });
  const locked = { message: "a lock timeout", idempotent: false };
  assert.deepEqual(policy.judge("transient", locked), { kind: "transient", hint: undefined, rule: 3 });
  assert.equal(policy.judge("transient", { types: ["CardDeclined"] }).kind, "permanent");
  assert.deepEqual(
    [202, 302].map((code) => policy.isFailure(code)),
    [true, false],
  );
  assert.equal(await retry(() => 1, { rules }), 1);
});

test("own rules take the place of those of a preset", () => {
  const preset = "aws-standard-2.1";
  const rules = [{ if: { kinds: ["throttled"] }, backoff: { initial: "1s", max: "20s" } }];
  const of = (policy) => [policy.words, policy.rules.words];
  assert.deepEqual(of(new Policy({ preset })), of(new Policy({ preset, rules })));
  const policy = new Policy({ preset, rules: [{ retry: false }] });
  assert.deepEqual(policy.classify(status(429)), { kind: "permanent", hint: undefined, rule: 1 });
});
