// holdoff/lite decides what holdoff decides, as far as it goes, and refuses the rest.
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import fc from "fast-check";
import * as whole from "holdoff";
import * as lite from "holdoff/lite";
import { withoutBudgets } from "holdoff/testing";
import { failure, VirtualClock } from "./virtual.mjs";

const milliseconds = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 5000 }) },
  { weight: 4, arbitrary: fc.double({ min: 0, max: 2000, noNaN: true }) },
  // Weeks, and the longest time that a double holds to the nanosecond is 104 days.
  { weight: 1, arbitrary: fc.double({ min: 0, max: 1e9, noNaN: true }) },
);
const limit = fc.oneof(milliseconds, fc.constant("none"));
const part = (value) => fc.option(value, { nil: undefined });
const backoff = fc.oneof(
  fc.constantFrom("constant", "linear", "exponential", "decorrelated"),
  fc.record({
    kind: part(fc.constantFrom("constant", "linear", "exponential", "decorrelated")),
    initial: part(milliseconds),
    factor: part(fc.double({ min: 0, max: 4, noNaN: true })),
    increment: part(milliseconds),
    max: part(limit),
  }),
);
const policies = fc.record({
  backoff: part(backoff),
  jitter: part(fc.constantFrom("none", "full", "equal")),
  attempts: part(fc.oneof(fc.integer({ min: 0, max: 8 }), fc.constantFrom("forever", 2.5))),
  deadline: part(limit),
  minAttempt: part(milliseconds),
  onDeadline: part(fc.constantFrom("stop", "clip")),
  attemptTimeout: part(limit),
  hint: part(fc.record({ max: part(limit) })),
});
const answers = fc.array(
  fc.record({
    takes: fc.constantFrom(0, 1, 250, 3000, Infinity),
    verdict: fc.oneof(
      fc.constantFrom(undefined, true, false, "transient", "throttled", "permanent"),
      fc.record({ kind: fc.constantFrom("throttled", "timeout"), hint: fc.oneof(fc.constant("never"), milliseconds) }),
    ),
  }),
  { minLength: 8, maxLength: 8 },
);

// The one difference: holdoff/lite brings no budget for retries.
withoutBudgets();

/** All that happens in an operation that always fails, or the rule that its options break. */
async function played({ retry, outcomeOf, ConfigError }, policy, answers, seed) {
  const clock = new VirtualClock();
  const seen = [];
  const work = ({ attempt }) => {
    seen.push(["attempt", attempt, clock.time]);
    const { takes } = answers[attempt - 1] ?? { takes: 0 };
    return new Promise((_, reject) => {
      if (takes !== Infinity) clock.setTimeout(() => reject(Object.assign(new Error("no"), { attempt })), takes);
    });
  };
  // An endless attempt ends by its limit alone.
  if (!Number.isFinite(policy.attemptTimeout)) answers = answers.map(({ verdict }) => ({ takes: 1, verdict }));
  const when = ({ attempt }) => (attempt >= 8 ? false : answers[attempt - 1].verdict);
  const nanos = (hint) => (typeof hint === "number" ? Math.floor(hint * 1e6 + 0.5) : hint);
  const onRetry = ({ attempt, kind, hint, delayMs, cause }) => seen.push([attempt, kind, nanos(hint), delayMs, cause]);
  const error = await failure(clock.settled(retry(work, { ...policy, when, onRetry, seed, clock })));
  if (error instanceof ConfigError) return { code: error.code };
  const { outcome, reason, attempts, retryAt } = outcomeOf(error);
  return { seen, outcome, reason, attempts, retryAt: retryAt !== undefined, end: clock.time, name: error.name };
}

test("the same options and seed decide the same as in holdoff", async () => {
  let valid = 0;
  const play = fc.asyncProperty(policies, answers, fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), async (...run) => {
    const [small, large] = [await played(lite, ...run), await played(whole, ...run)];
    if (small.code === undefined) valid++;
    // Where several rules are broken another one may be told first.
    if (small.code === undefined || large.code === undefined) assert.deepEqual(small, large);
  });
  await fc.assert(play, { numRuns: 2000 });
  assert.ok(valid > 200, `only ${valid} policies were valid`);
});

test("a rule that is broken is told by its number, its word and the field", async () => {
  for (const [options, code, word, path] of [
    [{ attempts: 0 }, 104, "attempts_range", "attempts"],
    [{ deadline: Number.NaN }, 103, "not_a_duration", "deadline"],
    [{ minAttempt: Number.NaN }, 103, "not_a_duration", "minAttempt"],
    [{ onDeadline: "clip" }, 109, "clip_needs_min_attempt", "onDeadline"],
    [{ backoff: { initial: 6000, max: 5000 } }, 106, "max_below_initial", "backoff.max"],
    [{ backoff: { factor: -1 } }, 105, "factor_range", "backoff.factor"],
    [{ backoff: { kind: "constant", max: 5 } }, 111, "not_for_kind", "backoff.max"],
    [{ seed: -1 }, 113, "seed_range", "seed"],
    [{ seed: 2n ** 64n }, 113, "seed_range", "seed"],
  ]) {
    const error = await failure(lite.retry(() => assert.fail("ran"), options));
    assert.ok(error instanceof lite.ConfigError, error);
    assert.deepEqual([error.code, error.word, error.path], [code, word, path]);
    assert.equal((await failure(whole.retry(() => assert.fail("ran"), options))).code, code);
  }
});

test("an operation that has no time left is a timeout without an attempt", async () => {
  const ran = () => assert.fail("ran");
  for (const options of [{ deadline: 0 }, { deadline: -5 }, { deadline: 5, minAttempt: 5 }]) {
    for (const { retry, outcomeOf, wrap, ConfigError } of [lite, whole]) {
      const error = await failure(retry(ran, options));
      const { outcome, reason, attempts } = outcomeOf(error);
      assert.deepEqual([error.name, outcome, reason, attempts], ["TimeoutError", "gave_up", "deadline", 0]);
      assert.throws(() => wrap(ran, options), ConfigError);
    }
  }
});

test("what only holdoff has is refused by name", async () => {
  for (const [options, path] of [
    [{ deadline: "30s" }, "deadline"],
    [{ backoff: "polynomial" }, "backoff"],
    [{ backoff: { kind: "fibonacci" } }, "backoff.kind"],
    [{ backoff: [{ kind: "constant" }] }, "backoff"],
    [{ jitter: { kind: "additive", factor: 0.5 } }, "jitter.kind"],
    [{ rules: [{ if: { http: [429] } }] }, "rules"],
    [{ preset: "grpc" }, "preset"],
    [{ hint: { over: "clamp" } }, "hint.over"],
    [{ fallback: () => 1 }, "fallback"],
    [{ attemps: 5 }, "attemps"],
  ]) {
    const error = await failure(lite.retry(() => assert.fail("ran"), options));
    assert.deepEqual([error.name, error.code, error.word, error.path], ["ConfigError", 147, "not_supported", path]);
    assert.match(error.message, /is not in holdoff\/lite, perhaps in holdoff$/);
    assert.throws(() => lite.wrap(() => 1, options), { code: 147 });
  }
});

test("errors are judged by their status and their name, as in holdoff", async () => {
  for (const error of [
    new TypeError("x is not a function"),
    new TypeError("fetch failed"),
    new RangeError("no"),
    new DOMException("no", "AbortError"),
    new DOMException("no", "TimeoutError"),
    Object.assign(new Error("no"), { status: 404 }),
    Object.assign(new Error("no"), { response: { status: 429 } }),
    Object.assign(new Error("no"), { statusCode: 503, status: 200 }),
    Object.assign(new Error("canceled"), { name: "CanceledError", code: "ERR_CANCELED" }),
    Object.assign(new Error("no"), { name: "ThrottlingException", $metadata: { httpStatusCode: 400 } }),
    Object.assign(new Error("no"), { $metadata: { httpStatusCode: 404 } }),
    "text",
    undefined,
  ]) {
    const kinds = [];
    for (const { retry } of [lite, whole]) {
      const onRetry = ({ kind }) => kinds.push(kind);
      const work = () => {
        throw error;
      };
      await failure(retry(work, { attempts: 2, backoff: { kind: "constant", delay: 0 }, onRetry }));
    }
    const [small, large] = [kinds.slice(0, kinds.length / 2), kinds.slice(kinds.length / 2)];
    assert.deepEqual(small, large, String(error));
  }
});

test("an error that throws when it is looked at comes out", async () => {
  const thrower = {
    get() {
      throw new Error("not yours");
    },
  };
  const getter = Object.defineProperty(new Error("odd"), "status", thrower);
  const proxy = new Proxy(new Error("proxy"), { ...thrower, defineProperty: thrower.get });
  for (const own of [getter, proxy]) {
    let attempts = 0;
    const work = () => {
      attempts++;
      throw own;
    };
    try {
      await lite.retry(work, { attempts: 2, backoff: { kind: "constant", delay: 0 } });
    } catch (error) {
      assert.ok(error === own);
    }
    assert.equal(attempts, 2);
  }
});

test("a signal cancels an attempt and a sleep, and leaves nothing behind", async () => {
  for (const wait of [0, 5]) {
    const controller = new AbortController();
    let inner;
    const work = ({ signal }) => {
      inner = signal;
      return wait ? Promise.reject(new Error("first")) : new Promise(() => {});
    };
    const result = lite.retry(work, {
      signal: controller.signal,
      backoff: { kind: "constant", delay: 1e6 },
      jitter: "none",
    });
    await new Promise((resolve) => setTimeout(resolve, wait));
    controller.abort(new Error("enough"));
    const error = await failure(result);
    assert.equal(error.message, "enough");
    assert.equal(inner.aborted, true);
    const { outcome, attempts, lastError } = lite.outcomeOf(error);
    assert.deepEqual([outcome, attempts, lastError?.message], ["cancelled", 1, wait ? "first" : undefined]);
    assert.equal(getEventListeners(controller.signal, "abort").length, 0);
  }
  const error = await failure(lite.retry(() => assert.fail("ran"), { signal: AbortSignal.abort() }));
  assert.equal(lite.outcomeOf(error).attempts, 0);
});

test("an attempt over its limit is aborted, and tried again", async () => {
  const reasons = [];
  const work = ({ signal }) => {
    signal.onabort = () => reasons.push(signal.reason.name);
    return new Promise(() => {});
  };
  const clock = new VirtualClock();
  const error = await failure(clock.settled(lite.retry(work, { attempts: 2, attemptTimeout: 10, clock })));
  assert.deepEqual([error.name, reasons], ["TimeoutError", ["TimeoutError", "TimeoutError"]]);
  assert.equal(whole.outcomeOf(error).reason, "attempts");
});

test("wrap keeps arguments and this, and values come through", async () => {
  let failures = 2;
  const object = {
    base: 40,
    add: lite.wrap(
      function (number) {
        if (failures-- > 0) throw new Error("no");
        return this.base + number;
      },
      { backoff: { kind: "constant", delay: 0 } },
    ),
  };
  assert.equal(await object.add(2), 42);
  assert.equal(await lite.retry(() => "value"), "value");
});

test("a hook that throws or answers nonsense ends the operation", async () => {
  const work = () => Promise.reject(new Error("no"));
  const thrown = new Error("hook");
  const raise = () => {
    throw thrown;
  };
  assert.equal(await failure(lite.retry(work, { when: raise })), thrown);
  assert.equal(await failure(lite.retry(work, { onRetry: raise })), thrown);
  assert.equal((await failure(lite.retry(work, { when: () => "often" }))).code, 204);
  assert.equal((await failure(lite.retry(work, { when: () => ({ kind: "throttled", hint: "2s" }) }))).code, 103);
});

test("the small entry brings no budget: calls that time out get all attempts", async () => {
  const clock = new VirtualClock();
  let made = 0;
  const work = () => {
    made++;
    throw new DOMException("late", "TimeoutError");
  };
  for (let call = 0; call < 20; call++) await failure(clock.settled(lite.retry(work, { clock })));
  assert.equal(made, 60);
});
