import assert from "node:assert/strict";
import { test } from "node:test";
import { Policy } from "holdoff";
import { Guards } from "holdoff/guards";

test("a recorded call changes the guards that other calls use", async () => {
  const options = {
    breaker: { failures: 2, refusal: "wait" },
    limiter: { kind: "log", limit: 3, per: "1m" },
    seed: 1,
    now: 0,
  };
  const guards = new Guards(options);
  const { breaker, limiter } = guards;
  assert.equal(limiter.take(2, 0), undefined);
  breaker.record(breaker.acquire(0).permit, "failure", 0, 0);
  const { Recorder } = await import("holdoff/tools");
  assert.equal(limiter.take(2, 5), 60_000_000_000);
  assert.equal(limiter.take(1, 5), undefined);
  breaker.record(breaker.acquire(5).permit, "failure", 0, 5);
  assert.equal(breaker.state(6), "open");
  const [, { step, events }] = Recorder.begin(new Policy(), 1, 10, { guards });
  assert.equal(step.cause, "breaker");
  assert.deepEqual(
    events.map(({ type }) => type),
    ["STARTED", "RETRY_SCHEDULED"],
  );
  assert.equal(await new Policy({ breaker: { failures: 2 } }).retry(() => 5), 5);
});

test("a recorded call gives back its place in a bulkhead, and wakes the calls that wait for it", async () => {
  const { Recorder } = await import("holdoff/tools");
  const guards = new Guards({
    bulkhead: { limit: 1, queue: 5 },
    limiter: { kind: "log", limit: 2, per: "1m" },
    now: 0,
  });
  const policy = new Policy({ attempts: 1 });
  const [recorder, { step }] = Recorder.begin(policy, 1, 0, { guards });
  assert.equal(step.kind, "attempt");
  assert.equal(guards.bulkhead.running, 1);
  const other = policy.retry(() => 5, { guards });
  assert.equal(await Promise.race([other, Promise.resolve("waits")]), "waits");
  recorder.succeed(step.ticket, 10);
  assert.equal(await other, 5);
  assert.equal(guards.bulkhead.running, 0);
  assert.equal(guards.limiter.take(1, 20), 60_000_000_000);
});
