// `policy.start()`: the decisions of `policy.retry` for a loop of somebody else, on a clock that is a number.
import assert from "node:assert/strict";
import { test } from "node:test";
import { outcomeOf, Policy, stop } from "holdoff";
import { KeyedGuards } from "holdoff/guards";

const busy = (headers = {}) => Object.assign(new Error("busy"), { status: 503, headers });
const throttled = Object.assign(new Error("slow down"), { status: 429 });

/** A clock that somebody else moves, and the steps on it. */
function started(fields, options = {}) {
  let time = 5;
  const clock = { now: () => time, setTimeout: assert.fail, clearTimeout: assert.fail };
  const steps = new Policy({ jitter: "none", ...fields }).start({ clock, ...options });
  const failed = (failure, ms = 0) => {
    time += ms;
    const step = steps.failed(failure);
    time += step?.delayMs ?? 0;
    return step?.delayMs;
  };
  return { steps, failed, pass: (ms) => (time += ms) };
}

test("delays grow, and the last failure gets the outcome", () => {
  const { steps, failed } = started({ attempts: 3 });
  assert.deepEqual([failed(busy()), failed(busy())], [100, 200]);
  const last = busy();
  assert.equal(failed(last), undefined);
  const { reason, attempts, lastError } = outcomeOf(last);
  assert.deepEqual([reason, attempts, lastError], ["attempts", 3, last]);
  assert.equal(failed(busy()), undefined);
  steps.succeeded();
});

test("answers, hints, and what is final", () => {
  const { failed } = started({});
  assert.equal(failed({ status: 503, headers: { "retry-after": "2" } }), 2000);
  const missing = { status: 404, headers: {} };
  assert.deepEqual([failed(missing), outcomeOf(missing).reason], [undefined, "permanent"]);
  const far = busy({ "retry-after": "3600" });
  assert.equal(started({}).failed(far), undefined);
  assert.equal(outcomeOf(far).reason, "hint");
  assert.ok(outcomeOf(far).retryAt > 3_500_000);
  const end = started({});
  const thrown = new Error("enough");
  try {
    stop(thrown);
  } catch (error) {
    assert.equal(end.failed(error), undefined);
  }
  assert.equal(started({}, { idempotent: false }).failed(busy()), undefined);
  assert.equal(started({}, { idempotent: false }).failed(throttled), 100);
  assert.equal(started({}, { when: () => "permanent" }).failed(busy()), undefined);
  assert.equal(started({}, { delay: () => "7s" }).failed(busy()), 7000);
});

test("the deadline counts from the start, and a signal ends it", () => {
  const { failed } = started({ deadline: 1000, attempts: 9 });
  assert.equal(failed(busy(), 700), 100);
  const late = busy();
  assert.deepEqual([failed(late, 150), outcomeOf(late).reason], [undefined, "deadline"]);
  const user = new AbortController();
  const cancelled = started({}, { signal: user.signal });
  assert.equal(cancelled.failed(busy()), 100);
  user.abort();
  const error = busy();
  assert.deepEqual([cancelled.failed(error), outcomeOf(error).outcome], [undefined, "cancelled"]);
});

test("operations share the budget of their key, and a success gives tokens back", () => {
  const policy = new Policy({ attempts: 9, budget: 2, jitter: "none" });
  let time = 0;
  const clock = { now: () => time, setTimeout: assert.fail, clearTimeout: assert.fail };
  const fail = (key, times) => {
    const steps = policy.start({ key, clock });
    for (let turn = 1; turn <= times; turn++) {
      const step = steps.failed(throttled);
      if (!step) return outcomeOf(throttled).reason;
      time += step.delayMs;
    }
    return steps;
  };
  assert.equal(fail("a", 8), "budget");
  time += 2000;
  assert.equal(fail("a", 1), "budget");
  assert.match(outcomeOf(throttled).description, /"a"/);
  assert.equal(typeof fail("b", 1), "object");
});

test("hooks hear of it, and guards are refused", () => {
  const heard = [];
  const hear = (hook) => (event) => heard.push([hook, event.operation, event.attempt, event.elapsedMs, event.delayMs]);
  const hooks = { name: "job", onAttempt: hear("attempt"), onRetry: hear("retry"), onSuccess: hear("success") };
  const { steps, failed } = started({}, hooks);
  failed(busy(), 10);
  steps.succeeded();
  assert.deepEqual(heard, [
    ["attempt", "job", 1, 0, undefined],
    ["retry", "job", 1, 10, 100],
    ["attempt", "job", 2, 110, undefined],
    ["success", "job", 2, 110, undefined],
  ]);
  const boom = started({}, { onRetry: () => assert.fail("boom") });
  assert.throws(() => boom.failed(busy()), { name: "HookError", hook: "onRetry" });
  const guards = new KeyedGuards({ breaker: "consecutive" });
  assert.throws(() => new Policy().start({ guards: guards.of("a") }), { code: 147, path: "start" });
  assert.throws(() => new Policy().start({ atempts: 2 }), { name: "ConfigError" });
});
