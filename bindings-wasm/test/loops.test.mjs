import assert from "node:assert/strict";
import { test } from "node:test";
import { attempts, outcomeOf, retry, retryStream, stop } from "holdoff";
import { Guards, Refused } from "holdoff/guards";
import { failure, VirtualClock } from "./virtual.mjs";

const steady = { backoff: { kind: "constant", delay: 100 }, jitter: "none" };

/** A function that fails until its attempt of that number. */
const from =
  (number) =>
  async ({ attempt }) => {
    if (attempt < number) throw new Error(`down ${attempt}`);
    return attempt;
  };

/** The values of the attempts of a loop in virtual time. */
async function looped(fn, options, clock = new VirtualClock()) {
  const values = [];
  const loop = async () => {
    for await (const attempt of attempts({ clock, ...options })) values.push(await attempt(fn));
    return values;
  };
  return clock.settled(loop());
}

test("a block of code is attempted until it succeeds", async () => {
  const clock = new VirtualClock();
  assert.deepEqual(await looped(from(3), steady, clock), [undefined, undefined, 3]);
  assert.equal(clock.time, 1200);
  assert.equal(clock.timers.size, 0);
  assert.deepEqual(await looped(() => "at once", steady), ["at once"]);
});

test("the attempts of a loop end as those of retry do", async () => {
  const hooks = ["onAttempt", "onRetry", "onSuccess", "onGiveUp"];
  for (const [options, last] of [
    [{ attempts: 9, seed: 7 }, 5],
    [{ attempts: 3, seed: 7 }, 5],
    [{ attempts: 9, deadline: 250, seed: 7 }, 9],
    [{ attempts: 4, backoff: { initial: 0 } }, 9],
    [{ attempts: 3, seed: 7, whenResult: (value) => value === "busy" }, 0],
  ]) {
    const fn = last === 0 ? () => "busy" : from(last);
    const [told, expected] = [[], []].map((list) => ({
      list,
      ...Object.fromEntries(hooks.map((hook) => [hook, (event) => void list.push([hook, event])])),
    }));
    const ending = ({ list, ...own }, run) => {
      const clock = new VirtualClock();
      return run({ clock, name: "job", ...options, ...own }, clock).then(
        (value) => [value, clock.time],
        (error) => [error.message, outcomeOf(error), clock.time],
      );
    };
    const looping = ending(told, async (all, clock) => (await looped(fn, all, clock)).at(-1));
    const retried = ending(expected, (all, clock) => clock.settled(retry(fn, all)));
    assert.deepEqual(simple(await looping), simple(await retried));
    assert.deepEqual(simple(told.list), simple(expected.list));
  }
});

/** What can be compared: errors are their texts. */
const simple = (value) =>
  JSON.stringify(value, (name, part) => (part instanceof Error ? part.message : name === "retryAt" ? "" : part));

test("an attempt that is over its limit is aborted, and the next one follows", async () => {
  const clock = new VirtualClock();
  const signals = [];
  const hangs = ({ attempt, signal }) => {
    signals.push(signal);
    return attempt < 2 ? new Promise(() => {}) : attempt;
  };
  assert.deepEqual(await looped(hangs, { ...steady, attemptTimeout: 50 }, clock), [undefined, 2]);
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    [true, false],
  );
  assert.equal(clock.time, 1150);
});

test("a signal ends the loop in a sleep and in an attempt", async () => {
  const enough = new Error("enough");
  assert.equal(await failure(looped(from(9), { signal: AbortSignal.abort(enough) })), enough);
  const controller = new AbortController();
  const onRetry = () => queueMicrotask(() => controller.abort(enough));
  const error = await failure(looped(from(9), { ...steady, signal: controller.signal, onRetry }));
  assert.equal(error, enough);
  assert.deepEqual([outcomeOf(error).reason, outcomeOf(error).attempts], ["cancelled", 1]);
  const other = new AbortController();
  setImmediate(() => other.abort(enough));
  assert.equal(await failure(looped(() => new Promise(() => {}), { signal: other.signal })), enough);
});

test("a refusal comes out of the loop, and guards get back what an attempt held", async () => {
  const guards = new Guards({ breaker: { failures: 1 }, bulkhead: 1 });
  assert.equal((await failure(looped(from(9), { guards, attempts: 1 }))).message, "down 1");
  assert.ok((await failure(looped(from(1), { guards }))) instanceof Refused);
  const places = new Guards({ bulkhead: 1 });
  for await (const _ of attempts({ guards: places })) break;
  assert.equal(places.bulkhead.running, 0);
  const leaves = async () => {
    for await (const attempt of attempts({ guards: places })) return await attempt(from(2));
  };
  const error = await failure(leaves());
  assert.equal(error.message, "down 1");
  assert.equal(places.bulkhead.running, 0);
  const returns = async () => {
    for await (const attempt of attempts({ guards: places })) return await attempt(from(1));
  };
  assert.equal(await returns(), 1);
});

test("an error of the block's own, outside of its attempt, comes out as it is", async () => {
  const own = new Error("own");
  const loop = async () => {
    for await (const attempt of attempts(steady)) {
      await attempt(from(9));
      throw own;
    }
  };
  assert.equal(await failure(loop()), own);
});

test("a loop that does not make its attempts is told so", async () => {
  const idle = async () => {
    for await (const _ of attempts());
  };
  assert.match((await failure(idle())).message, /^attempt 1 was not made/);
  const twice = async () => {
    for await (const attempt of attempts()) {
      await attempt(from(1));
      await attempt(from(1));
    }
  };
  assert.match((await failure(twice())).message, /^attempt 1 was made already/);
  const clock = new VirtualClock();
  const slow = () => new Promise((resolve) => clock.setTimeout(resolve, 1000));
  const hedged = looped(slow, { guards: new Guards({ hedge: { delay: 10 } }) }, clock);
  assert.match((await failure(hedged)).message, /^hedge: cannot be used here/);
});

test("wrong options of attempts are refused at once", () => {
  assert.throws(() => attempts("default"), { name: "ConfigError", path: "options" });
  assert.throws(() => attempts({ onRetry: 5 }), { name: "ConfigError", path: "onRetry" });
});

/** The items of a stream in virtual time. */
async function items(fn, options, clock = new VirtualClock()) {
  const seen = [];
  const read = async () => {
    for await (const item of retryStream(fn, { ...steady, clock, ...options })) seen.push(item);
  };
  const error = await clock.settled(
    read().then(
      () => undefined,
      (error) => error,
    ),
  );
  return { seen, error, clock };
}

test("a stream is retried until its first item has come", async () => {
  const names = [];
  async function* tokens({ attempt }) {
    if (attempt < 3) throw new Error(`down ${attempt}`);
    yield* [attempt, "a", "b"];
  }
  const onAttempt = ({ operation }) => void names.push(operation);
  const { seen, error, clock } = await items(tokens, { onAttempt });
  assert.deepEqual([seen, error, clock.time], [[3, "a", "b"], undefined, 1200]);
  assert.deepEqual(names, ["tokens", "tokens", "tokens"]);
  assert.equal((await items(tokens, { attempts: 2 })).error.message, "down 2");
  const opened = async ({ attempt }) => (attempt < 2 ? Promise.reject(new Error("closed")) : [1, 2]);
  assert.deepEqual((await items(opened)).seen, [1, 2]);
  assert.deepEqual((await items(() => [])).seen, []);
});

test("an error after the first item comes out, and nothing is repeated", async () => {
  let calls = 0;
  const { seen, error } = await items(async function* () {
    calls++;
    yield 1;
    throw new Error("cut");
  });
  assert.deepEqual([seen, error.message, calls, outcomeOf(error)], [[1], "cut", 1, undefined]);
});

test("a stream that is left, cancelled or late is closed", async () => {
  let closed = 0;
  const endless = async function* ({ signal }) {
    try {
      for (let number = 1; ; number++) {
        signal.throwIfAborted();
        yield number;
      }
    } finally {
      closed++;
    }
  };
  for await (const item of retryStream(endless)) if (item === 3) break;
  assert.equal(closed, 1);
  const controller = new AbortController();
  const enough = new Error("enough");
  const read = async () => {
    for await (const item of retryStream(endless, { signal: controller.signal })) {
      if (item === 3) controller.abort(enough);
    }
  };
  assert.equal(await failure(read()), enough);
  assert.equal(closed, 2);
  const clock = new VirtualClock();
  const late = async function* ({ attempt }) {
    try {
      if (attempt === 1) await new Promise((resolve) => clock.setTimeout(resolve, 80));
      yield attempt;
      yield clock.time;
    } finally {
      closed++;
    }
  };
  assert.deepEqual((await items(late, { attemptTimeout: 50 }, clock)).seen, [2, 1150]);
  await clock.settled(new Promise((resolve) => clock.setTimeout(resolve, 100)));
  assert.equal(closed, 4);
});

test("a stream is retried until the item that commits, and what came before it is held back", async () => {
  async function* model({ attempt }) {
    yield { type: "message_start", attempt };
    yield { type: "ping", attempt };
    if (attempt < 3) throw Object.assign(new Error("overloaded"), { status: 529 });
    yield { type: "content", attempt };
    yield { type: "content", attempt };
  }
  const commit = ({ type }) => type === "content";
  const { seen, error } = await items(model, { commit, attempts: 5, budget: "none" });
  assert.equal(error, undefined);
  assert.deepEqual(
    seen.map(({ type, attempt }) => `${type} ${attempt}`),
    ["message_start 3", "ping 3", "content 3", "content 3"],
  );
  assert.deepEqual((await items(() => ["a", "b"], { commit: () => false })).seen, ["a", "b"]);
  const throws = () => {
    throw new TypeError("mine");
  };
  assert.equal((await items(() => ["a"], { commit: throws })).error.message, "mine");
});

test("a stream that falls silent is aborted: retried before the item that commits, a timeout after it", async () => {
  const silent = (attempt) => ({ next: () => new Promise(() => {}), return: () => void closed.push(attempt) });
  let closed = [];
  const late = async ({ attempt }) => ({
    [Symbol.asyncIterator]: () => (attempt < 3 ? silent(attempt) : [1, 2][Symbol.iterator]()),
  });
  const before = await items(late, { idle: "50ms", budget: "none" });
  assert.deepEqual([before.seen, before.error, before.clock.time], [[1, 2], undefined, 1300]);
  assert.deepEqual(closed, [1, 2]);
  closed = [];
  let signal;
  const cut = async (context) => {
    signal = context.signal;
    let count = 0;
    const { next } = silent();
    return { [Symbol.asyncIterator]: () => ({ ...silent(1), next: () => (count++ < 2 ? { value: count } : next()) }) };
  };
  const after = await items(cut, { idle: 50, deadline: 10 });
  assert.deepEqual([after.seen, after.error.name, after.clock.time], [[1, 2], "TimeoutError", 1050]);
  assert.equal(after.clock.timers.size, 0);
  assert.equal(signal.reason, after.error);
  assert.deepEqual(closed, [1]);
  const opens = await items(() => new Promise(() => {}), { idle: 50, attempts: 1 });
  assert.deepEqual([opens.error.name, outcomeOf(opens.error).reason], ["TimeoutError", "attempts"]);
});

test("an abort ends a stream that does not hear of it", async () => {
  const controller = new AbortController();
  const gone = new Error("gone");
  async function* deaf() {
    yield 1;
    await new Promise(() => {});
  }
  const seen = [];
  const read = async () => {
    for await (const item of retryStream(deaf, { signal: controller.signal })) {
      seen.push(item);
      setImmediate(() => controller.abort(gone));
    }
  };
  assert.equal(await failure(read()), gone);
  assert.deepEqual(seen, [1]);
});

test("an error of `stop` ends the retry around it, and no other", async () => {
  const final = Object.assign(new Error("quota"), { status: 503 });
  let calls = 0;
  const inner = () => {
    calls++;
    stop(final);
  };
  assert.equal(await failure(retry(inner, { when: () => true })), final);
  assert.deepEqual([outcomeOf(final).reason, calls], ["permanent", 1]);
  const wrapped = async () => {
    try {
      inner();
    } catch (cause) {
      throw new Error("wrapped", { cause });
    }
  };
  assert.equal((await failure(retry(wrapped))).message, "wrapped");
  assert.equal(calls, 2);
  const backoff = { initial: 0 };
  assert.equal(await failure(retry(() => retry(inner), { attempts: 2, backoff })), final);
  assert.equal(calls, 4);
  async function* cut() {
    stop(final);
    yield 1;
  }
  assert.equal((await items(cut)).error, final);
  const text = await failure(retry(() => stop("plain")));
  assert.deepEqual([text.message, text.cause, outcomeOf(text).attempts], ["plain", "plain", 1]);
});

test("wrong options of a stream are refused at once", () => {
  assert.throws(() => retryStream(() => [], { commit: 5 }), { name: "ConfigError", path: "commit" });
  for (const idle of [-1, "soon", {}, Number.NaN])
    assert.throws(() => retryStream(() => [], { idle }), { name: "ConfigError", path: "idle" });
  assert.throws(() => retryStream(5), { name: "ConfigError", path: "fn" });
  assert.throws(() => retryStream(() => [], { fallback: () => [] }), { name: "ConfigError", path: "fallback" });
  assert.throws(() => retryStream(() => [], { whenResult: true }), { name: "ConfigError", path: "whenResult" });
});
