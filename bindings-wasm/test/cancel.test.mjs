import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { outcomeOf, retry } from "holdoff";
import { Guards } from "holdoff/guards";
import * as lite from "holdoff/lite";
import { failure, VirtualClock } from "./virtual.mjs";

const forever = () => new Promise(() => {});
const listeners = (signal) => getEventListeners(signal, "abort").length;
const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;

test("a signal that has aborted already stops before the first attempt", async () => {
  const reason = new Error("no need");
  const error = await failure(retry(() => assert.fail("ran"), { signal: AbortSignal.abort(reason) }));
  assert.equal(error, reason);
  const unknown = { retryAt: undefined, lastError: undefined, lastResult: undefined };
  const outcome = { outcome: "cancelled", reason: "cancelled", attempts: 0, ...unknown };
  assert.deepEqual(outcomeOf(error), outcome);
});

test("an abort during an attempt settles at once, even when nobody listens", async () => {
  const controller = new AbortController();
  const result = retry(forever, { signal: controller.signal });
  assert.equal(listeners(controller.signal), 1);
  const reason = new Error("enough");
  controller.abort(reason);
  const error = await failure(result);
  assert.equal(error, reason);
  assert.equal(outcomeOf(error).attempts, 1);
  assert.equal(listeners(controller.signal), 0);
});

test("an abort during an attempt reaches the attempt's signal", async () => {
  const controller = new AbortController();
  let seen;
  const work = ({ signal }) => {
    seen = signal;
    return forever();
  };
  const result = retry(work, { signal: controller.signal });
  controller.abort();
  const error = await failure(result);
  assert.equal(error.name, "AbortError");
  assert.equal(seen.reason, error);
});

test("an aborted signal that the attempts got from elsewhere ends the operation", async () => {
  const shared = AbortSignal.abort(new DOMException("too late", "TimeoutError"));
  const same = new Error("down");
  for (const run of [retry, lite.retry]) {
    let attempts = 0;
    const fails = (reason) => async () => {
      attempts++;
      throw reason();
    };
    const options = { attempts: 3, backoff: { kind: "constant", delay: 0 } };
    const error = await failure(
      run(
        fails(() => shared.reason),
        options,
      ),
    );
    assert.deepEqual([error, outcomeOf(error).reason, attempts], [shared.reason, "permanent", 2]);
    await failure(
      run(
        fails(() => shared.reason),
        { ...options, when: () => true },
      ),
    );
    await failure(
      run(
        fails(() => new DOMException("too late", "TimeoutError")),
        options,
      ),
    );
    await failure(
      run(
        fails(() => same),
        options,
      ),
    );
    assert.equal(attempts, 2 + 3 * 3);
  }
});

test("a signal that is asked for after the abort has aborted", async () => {
  const controller = new AbortController();
  let context;
  const work = (given) => {
    context = given;
    return forever();
  };
  const result = retry(work, { signal: controller.signal });
  controller.abort();
  assert.equal(context.signal.reason, await failure(result));
});

test("an abort during a sleep settles at once and leaves no timer", async () => {
  const before = timers();
  const controller = new AbortController();
  const { signal } = controller;
  const thrown = new Error("no");
  const options = { signal, backoff: { initial: "1h", max: "1h" }, jitter: "none" };
  options.onRetry = () => setImmediate(() => controller.abort());
  const error = await failure(retry(() => Promise.reject(thrown), options));
  assert.equal(error, signal.reason);
  assert.equal(outcomeOf(error).lastError, thrown);
  assert.equal(listeners(signal), 0);
  assert.equal(timers(), before);
});

test("an abort in a hook is heard", async () => {
  const controller = new AbortController();
  const { signal } = controller;
  const abort = () => controller.abort();
  const work = () => Promise.reject(new Error("no"));
  assert.equal(await failure(retry(work, { signal, onRetry: abort })), signal.reason);
  const second = new AbortController();
  const when = () => second.abort();
  assert.equal(await failure(retry(work, { signal: second.signal, when })), second.signal.reason);
});

test("an abort while an error is read is heard", async () => {
  const clock = new VirtualClock();
  const controller = new AbortController();
  const { signal } = controller;
  const thrown = {
    get status() {
      controller.abort();
      return 503;
    },
  };
  const error = await failure(retry(() => Promise.reject(thrown), { signal, clock }));
  assert.equal(error, signal.reason);
  assert.equal(clock.timers.size, 0);
});

test("a late failure after an abort is nobody's unhandled rejection", async () => {
  const controller = new AbortController();
  const work = ({ signal }) =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("late"))));
  const result = retry(work, { signal: controller.signal });
  controller.abort();
  assert.equal((await failure(result)).name, "AbortError");
  await new Promise((resolve) => setImmediate(resolve));
});

test("a reason that is no object is the cause", async () => {
  const error = await failure(retry(forever, { signal: AbortSignal.abort("stop") }));
  assert.equal(error.cause, "stop");
  assert.equal(outcomeOf(error).reason, "cancelled");
});

test("a success leaves no listener and no timer", async () => {
  const before = timers();
  const { signal } = new AbortController();
  assert.equal(await retry(() => 1, { signal, deadline: "1h", attemptTimeout: "10m" }), 1);
  assert.equal(listeners(signal), 0);
  assert.equal(timers(), before);
});

test("an attempt over its limit is aborted and counts as a timeout", async () => {
  const clock = new VirtualClock();
  const signals = [];
  const seen = [];
  const work = ({ signal, attempt }) => {
    signals.push(signal);
    return attempt === 3 ? "done" : forever();
  };
  const options = { attemptTimeout: "100ms", budget: "none", clock, onRetry: (info) => seen.push(info) };
  assert.equal(await clock.settled(retry(work, options)), "done");
  assert.deepEqual(
    seen.map(({ kind, error }) => [kind, error.name]),
    [
      ["timeout", "TimeoutError"],
      ["timeout", "TimeoutError"],
    ],
  );
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    [true, true, false],
  );
  assert.equal(signals[0].reason, seen[0].error);
  assert.equal(clock.timers.size, 0);
});

test("an attempt that fails because of its timeout fails once", async () => {
  const clock = new VirtualClock();
  const work = ({ signal }) =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(new TypeError("aborted"))));
  const error = await failure(clock.settled(retry(work, { attemptTimeout: 50, attempts: 2, clock })));
  assert.equal(error.name, "TimeoutError");
  assert.deepEqual([outcomeOf(error).reason, outcomeOf(error).attempts], ["attempts", 2]);
});

test("a deadline ends an attempt, and the operation", async () => {
  const clock = new VirtualClock();
  const error = await failure(clock.settled(retry(forever, { deadline: 500, clock })));
  assert.equal(clock.time, 1500);
  assert.equal(error.name, "TimeoutError");
  assert.equal(outcomeOf(error).reason, "deadline");
  assert.equal(typeof outcomeOf(error).retryAt, "number");
});

test("a result that comes after the attempt was given up is ignored", async () => {
  const clock = new VirtualClock();
  let late;
  const work = ({ attempt }) => (attempt === 1 ? new Promise((resolve) => (late = resolve)) : forever());
  const result = retry(work, { attemptTimeout: 100, attempts: 2, clock, onRetry: () => late("late") });
  assert.equal((await failure(clock.settled(result))).name, "TimeoutError");
});

test("a sleep longer than a timer can is slept in pieces", async () => {
  const clock = new VirtualClock();
  const month = 30 * 24 * 3600 * 1000;
  const options = { backoff: { initial: month, max: month }, jitter: "none", attempts: 2, clock };
  let calls = 0;
  const work = () => (calls++ === 0 ? Promise.reject(new Error("no")) : "done");
  assert.equal(await clock.settled(retry(work, options)), "done");
  assert.equal(clock.time, 1000 + month);
  assert.equal(clock.longest, 2 ** 31 - 1);
});

test("an operation may take years", async () => {
  const clock = new VirtualClock();
  const year = 365 * 24 * 3600 * 1000;
  const work = ({ attempt }) => {
    clock.time += 100 * year;
    if (attempt < 3) throw new Error("no");
    return "done";
  };
  assert.equal(await clock.settled(retry(work, { attempts: "forever", clock })), "done");
  assert.ok(clock.time < 1000 + 300 * year + 300);
});

test("a timer that fires too early is set again", async () => {
  const clock = new VirtualClock();
  const { setTimeout } = clock;
  clock.setTimeout = (callback, milliseconds) => setTimeout(callback, milliseconds / 2);
  let calls = 0;
  const work = () => (calls++ === 0 ? Promise.reject(new Error("no")) : clock.time);
  const end = await clock.settled(retry(work, { backoff: { kind: "constant", delay: 64 }, jitter: "none", clock }));
  assert.ok(end >= 1064, String(end));
});

test("a clock that jumps back or answers nonsense ends in an answer", async () => {
  for (const times of [[1000, 500, 0], [0, Number.NaN], [0, Infinity], [0, -Infinity], [0, 1e300], [Number.NaN]]) {
    let at = 0;
    const clock = {
      now: () => times[Math.min(at++, times.length - 1)],
      setTimeout: (callback) => setImmediate(at < 50 ? callback : () => {}),
      clearTimeout: clearImmediate,
    };
    const options = { attempts: 3, deadline: "1h", backoff: { kind: "constant", delay: 0 }, clock };
    const error = await failure(retry(() => Promise.reject(new Error("no")), options));
    assert.ok(["attempts", "deadline"].includes(outcomeOf(error).reason));
  }
});

test("operations that share a signal listen to it once", async () => {
  const { signal } = new AbortController();
  const ends = [];
  const runs = Array.from({ length: 20 }, () => retry(() => new Promise((resolve) => ends.push(resolve)), { signal }));
  assert.equal(listeners(signal), 1);
  for (const end of ends.splice(1)) end();
  await Promise.all(runs.slice(1));
  assert.equal(listeners(signal), 1);
  ends[0]();
  await runs[0];
  assert.equal(listeners(signal), 0);
});

test("ten thousand cancelled operations leave nothing on the signal", async () => {
  const controller = new AbortController();
  const { signal } = controller;
  const work = () => Promise.reject(new Error("no"));
  const runs = Array.from({ length: 10_000 }, () =>
    failure(retry(work, { signal, backoff: { initial: "1m", max: "1m" }, budget: "none" })),
  );
  await new Promise((resolve) => setImmediate(resolve));
  const before = timers();
  assert.ok(before >= 10_000);
  controller.abort();
  await Promise.all(runs);
  assert.equal(listeners(signal), 0);
  assert.ok(timers() <= before - 10_000);
});

test("an abort that a client wraps into an error of its own is the caller's", async () => {
  const wraps = [
    () => Object.assign(new Error("Request was aborted."), { name: "APIUserAbortError" }),
    (reason) => Object.assign(new Error("no response"), { name: "FetchError", cause: reason }),
    () => Object.assign(new Error("canceled"), { name: "CanceledError", code: "ERR_CANCELED" }),
    () => Object.assign(new Error("gone"), { status: 404 }),
  ];
  for (const wrapped of wraps) {
    for (const guards of [undefined, new Guards({ breaker: { failures: 1 } })]) {
      const controller = new AbortController();
      const { signal } = controller;
      const client = async () => {
        controller.abort();
        throw wrapped(signal.reason);
      };
      const error = await failure(retry(client, { signal, guards }));
      assert.equal(error, signal.reason);
      assert.equal(outcomeOf(error).reason, "cancelled");
      assert.notEqual(guards?.breaker.state, "open");
    }
  }
});
