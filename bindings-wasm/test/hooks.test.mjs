// Hooks and predicates that hang, throw, reject, or are called from somewhere else.
import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { test } from "node:test";
import { HookError, outcomeOf, retry } from "holdoff";
import { Guards } from "holdoff/guards";
import { listen } from "holdoff/telemetry";
import { Timers } from "holdoff/timers";
import { failure, VirtualClock } from "./virtual.mjs";

const down = async () => {
  throw Object.assign(new Error("down"), { status: 503 });
};
const never = () => new Promise(() => {});
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** How an operation of virtual time ended: error or value, reason, and after how long. */
async function ended(work, options, clock = new VirtualClock()) {
  const from = clock.time;
  const result = await clock.settled(
    retry(work, { clock, jitter: "none", budget: "none", ...options }).catch((error) => error),
  );
  return [result?.name ?? result, outcomeOf(result)?.reason, clock.time - from];
}

test("a hook or a predicate that never answers holds no operation beyond its deadline", async () => {
  const deadline = 300;
  assert.deepEqual(await ended(down, { deadline, onAttempt: never }), ["TimeoutError", "deadline", 300]);
  assert.deepEqual(await ended(down, { deadline, onRetry: never }), ["Error", "deadline", 300]);
  assert.deepEqual(await ended(down, { deadline, when: never }), ["Error", "deadline", 300]);
  assert.deepEqual(await ended(() => 1, { deadline, whenResult: never }), ["TimeoutError", "deadline", 300]);
  assert.deepEqual(await ended(() => 1, { deadline, onSuccess: never }), [1, undefined, 300]);
  assert.deepEqual(await ended(down, { deadline, attempts: 1, onGiveUp: never }), ["Error", "attempts", 300]);
  assert.deepEqual(await ended(down, { deadline, attempts: 1, when: never, onGiveUp: never }), [
    "Error",
    "attempts",
    300,
  ]);
});

test("nor does one beyond an abort", async () => {
  for (const [work, options, wanted] of [
    [down, { onAttempt: never }, "AbortError cancelled"],
    [down, { onRetry: never }, "AbortError cancelled"],
    [down, { when: never }, "AbortError cancelled"],
    [() => 1, { whenResult: never }, "AbortError cancelled"],
    [() => 1, { onSuccess: never }, "1 undefined"],
    [down, { attempts: 1, onGiveUp: never }, "Error attempts"],
    [down, { attempts: 1, fallback: never }, "Error attempts"],
    [down, { onRetry: never, onGiveUp: never }, "AbortError cancelled"],
  ]) {
    const controller = new AbortController();
    const { signal } = controller;
    const clock = new VirtualClock();
    clock.setTimeout(() => controller.abort(), 200);
    // Where a hook of the end hangs, too, the deadline ends that.
    const [name, reason] = await ended(work, { ...options, signal, deadline: 1000 }, clock);
    assert.equal(`${name} ${reason}`, wanted);
    assert.equal(clock.timers.size, 0);
  }
});

test("the attempt's limit ends a predicate of values, and aborts what it reads", async () => {
  let signal;
  const work = (context) => {
    signal = context.signal;
    return context.attempt;
  };
  const whenResult = (value) => (value === 1 ? never() : false);
  assert.deepEqual(await ended(work, { attemptTimeout: 50, whenResult }), [2, undefined, 150]);
  let late;
  const slow = (value) => (value === 1 ? new Promise((resolve) => (late = resolve)) : false);
  const onAttempt = ({ attempt }) => attempt === 2 && late(false);
  assert.deepEqual(await ended(work, { attemptTimeout: 50, whenResult: slow, onAttempt }), [2, undefined, 150]);
  assert.equal(signal.aborted, false);
});

test("a fallback may take longer than the deadline", async () => {
  const clock = new VirtualClock();
  const fallback = () => new Promise((resolve) => clock.setTimeout(() => resolve("kept"), 500));
  assert.deepEqual(await ended(never, { deadline: 100, fallback }, clock), ["kept", undefined, 600]);
});

test("the promise of a hook is handled, also beside one that throws, and after the end", async () => {
  const unhandled = [];
  const note = (error) => unhandled.push(error);
  process.on("unhandledRejection", note);
  const rejects = async () => {
    await turn();
    throw new Error("hook");
  };
  const throws = () => {
    throw new Error("listener");
  };
  for (const hook of ["onAttempt", "onRetry", "onGiveUp"]) {
    const end = listen({ [hook]: throws });
    try {
      const error = await failure(retry(down, { [hook]: rejects, attempts: 2, backoff: { initial: 0 } }));
      assert.ok(error instanceof HookError);
      assert.deepEqual([error.hook, error.cause.message], [hook, "listener"]);
    } finally {
      end();
    }
  }
  for (const options of [{ onRetry: rejects }, { when: rejects }, { onGiveUp: rejects, attempts: 1 }]) {
    const controller = new AbortController();
    const running = failure(retry(down, { ...options, signal: controller.signal }));
    await turn();
    controller.abort();
    await running;
  }
  // biome-ignore lint/suspicious/noThenProperty: a promise of another kind
  const thenable = { then: (_, reject) => void Promise.resolve().then(() => reject(new Error("late"))) };
  assert.ok((await failure(retry(down, { onRetry: () => thenable }))) instanceof HookError);
  for (let n = 0; n < 5; n++) await turn();
  process.off("unhandledRejection", note);
  assert.deepEqual(unhandled, []);
});

test("hooks, predicates and fallbacks run in the async context of the operation's caller", async () => {
  const context = new AsyncLocalStorage();
  const callers = ["A", "B", "C"];
  const options = (id, seen, more) => {
    const see = (name) => () => {
      seen.push(`${name} ${context.getStore() === id}`);
    };
    return {
      name: id,
      attempts: 2,
      budget: "none",
      backoff: { initial: 0 },
      when: see("when"),
      onAttempt: see("onAttempt"),
      onRetry: see("onRetry"),
      onGiveUp: see("onGiveUp"),
      fallback: see("fallback"),
      ...more,
    };
  };
  const timers = new Timers();
  const hang = () => new Promise(() => {});
  const controller = new AbortController();
  const guards = new Guards({ bulkhead: { limit: 1, queue: 10 } });
  for (const [work, more, wanted] of [
    [down, { clock: timers }, 7],
    [hang, { clock: timers, attemptTimeout: 1 }, 5],
    [hang, { attemptTimeout: 1 }, 5],
    [hang, { signal: controller.signal }, 2],
    [down, { guards, budget: undefined }, 7],
  ]) {
    const seen = [];
    const all = callers.map((id) => context.run(id, () => retry(work, options(id, seen, more)).catch(() => {})));
    if (more.signal) context.run("shutdown", () => setImmediate(() => controller.abort()));
    await Promise.all(all);
    assert.equal(seen.length, wanted * callers.length, String(seen));
    assert.deepEqual(
      seen.filter((one) => one.endsWith("false")),
      [],
    );
  }
});

test("a hook may end the sleep, but no sleep that the server asked for", async () => {
  const clock = new VirtualClock();
  const wakes = [];
  const options = { clock, attempts: 4, jitter: "none", backoff: { kind: "constant", delay: 1000 }, budget: "none" };
  const onRetry = ({ wake, attempt }) => {
    wakes.push(wake);
    if (attempt === 1) clock.setTimeout(wake, 100);
    if (attempt === 2) wake();
  };
  const at = [];
  const work = ({ attempt }) => {
    at.push(clock.time - 1000);
    if (attempt < 4) throw new Error("down");
    return attempt;
  };
  assert.equal(await clock.settled(retry(work, { ...options, onRetry, deadline: 1200 })), 4);
  assert.deepEqual(at, [0, 100, 100, 1100]);
  for (const wake of wakes) wake();
  const hinted = () =>
    Promise.reject(Object.assign(new Error("busy"), { status: 503, headers: { "retry-after": "2" } }));
  const start = clock.time;
  await failure(clock.settled(retry(hinted, { ...options, attempts: 2, onRetry: ({ wake }) => wake() })));
  assert.equal(clock.time - start, 2000);
  const guards = new Guards({ bulkhead: 1 });
  const before = clock.time;
  const guarded = retry(work, { ...options, budget: undefined, guards, onRetry: ({ wake }) => wake() });
  assert.equal(await clock.settled(guarded), 4);
  assert.equal(clock.time, before);
});
