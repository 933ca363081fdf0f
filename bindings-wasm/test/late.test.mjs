import assert from "node:assert/strict";
import { test } from "node:test";
import { Policy } from "holdoff";
import { Guards } from "holdoff/guards";

test("guards go on when the module with logs takes the place of theirs", async () => {
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
  const { Recorder } = await import("holdoff/log");
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
