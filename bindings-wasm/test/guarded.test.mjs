import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { test } from "node:test";
import fc from "fast-check";
import { outcomeOf, Policy, retry, seed, wrap } from "holdoff";
import { Breaker, Budget, Bulkhead, GuardedCall, Guards, Refused } from "holdoff/guards";
import { failure, VirtualClock } from "./virtual.mjs";

const down = () => {
  throw new Error("down");
};
const steady = { jitter: "none", backoff: { kind: "constant", delay: "100ms" } };

test("an open breaker refuses the first attempt, and says when another try may be let through", async () => {
  const clock = new VirtualClock();
  const guards = new Guards({ breaker: { failures: 2, openFor: "10s" }, now: 0 });
  const options = { ...steady, attempts: 2, clock, guards };
  const error = await failure(clock.settled(retry(down, options)));
  assert.equal(outcomeOf(error).reason, "attempts");
  assert.equal(guards.breaker.state(clock.time * 1e6), "open");
  let calls = 0;
  const wall = Date.now();
  const refused = await failure(retry(() => calls++, options));
  assert.ok(refused instanceof Refused);
  assert.deepEqual([refused.reason, calls, outcomeOf(refused).attempts], ["breaker", 0, 0]);
  assert.ok(refused.retryAt >= wall + 9_900 && refused.retryAt <= Date.now() + 10_000, String(refused.retryAt - wall));
  clock.time += 10_000;
  assert.equal(await clock.settled(retry(() => "up", options)), "up");
  assert.equal(guards.breaker.state(clock.time * 1e6), "closed");
});

test("a breaker that waits is waited for", async () => {
  const clock = new VirtualClock();
  const guards = new Guards({ breaker: { failures: 1, openFor: "3s", refusal: "wait" }, now: 0 });
  const seen = [];
  const work = ({ attempt }) => (attempt === 1 ? down() : clock.time);
  const begun = clock.time;
  const onRetry = ({ cause, delayMs }) => seen.push([cause, delayMs]);
  assert.equal(await clock.settled(retry(work, { ...steady, clock, guards, onRetry })), begun + 3000);
  assert.deepEqual(seen, [["breaker", 3000]]);
});

/** A breaker that a failure has opened for a second, its probe, which takes 300 ms, and two calls behind it. */
async function behindProbe({ fails, deadline, signal }) {
  const clock = new VirtualClock();
  const breaker = new Breaker({ failures: 1, openFor: "1s", refusal: "wait" }, { now: 0 });
  const options = { ...steady, deadline, clock, guards: new Guards({ breaker }) };
  const calls = [];
  const call = (name, own) => calls.push(retry(({ attempt }) => [name, attempt, clock.time], { ...options, ...own }));
  calls.push(retry(({ attempt }) => (attempt === 1 ? down() : ["opens", attempt, clock.time]), options));
  await null;
  clock.time += 1000;
  const probe = async () => {
    await new Promise((resolve) => clock.setTimeout(resolve, 300));
    return fails ? down() : ["probe", 1, clock.time];
  };
  calls.push(retry(probe, { ...options, attempts: 1 }));
  call("first");
  call("second", { signal, guards: new Guards({ breaker }) });
  return { clock, breaker, calls };
}

test("calls behind one that tries a half-open breaker go on as soon as it succeeds, in their order", async () => {
  const { clock, breaker, calls } = await behindProbe({});
  assert.deepEqual(await clock.settled(Promise.all(calls)), [
    ["opens", 2, 2300],
    ["probe", 1, 2300],
    ["first", 1, 2300],
    ["second", 1, 2300],
  ]);
  assert.deepEqual([breaker.state(3e9), clock.timers.size, breaker.waiters.size], ["closed", 0, 0]);
});

test("calls behind a probe that fails wait for the next one, or to their deadline", async () => {
  const { clock, breaker, calls } = await behindProbe({ fails: true });
  const ends = await clock.settled(Promise.allSettled(calls));
  assert.deepEqual(
    ends.map(({ value }) => value?.[2]),
    [3300, undefined, 3300, 3300],
  );
  const late = await behindProbe({ fails: true, deadline: "1200ms" });
  const [opens, , ...behind] = await late.clock.settled(Promise.allSettled(late.calls));
  assert.equal(outcomeOf(opens.reason).reason, "deadline");
  for (const { reason } of behind) assert.equal(reason.reason, "breaker");
  assert.deepEqual([breaker.waiters.size, late.breaker.waiters.size], [0, 0]);
});

test("a call behind a probe that is cancelled waits no longer, and resetting the breaker lets the others go on", async () => {
  const controller = new AbortController();
  const { clock, breaker, calls } = await behindProbe({ signal: controller.signal });
  const cancelled = failure(calls.pop());
  controller.abort(new Error("enough"));
  assert.equal((await cancelled).message, "enough");
  assert.equal(breaker.waiters.size, 1);
  clock.time += 100;
  breaker.forceClose(clock.time * 1e6);
  assert.deepEqual(await clock.settled(calls[2]), ["first", 1, 2100]);
  await clock.settled(Promise.all(calls));
  assert.deepEqual([breaker.waiters.size, clock.timers.size], [0, 0]);
});

test("a call from the queue of a bulkhead may have to wait behind a probe, too", async () => {
  const clock = new VirtualClock();
  const guards = new Guards({
    breaker: { failures: 1, openFor: "1s", refusal: "wait" },
    bulkhead: { limit: 2, queue: 5 },
    now: 0,
  });
  const { breaker, bulkhead } = guards;
  const lasting = (milliseconds) => () =>
    new Promise((resolve) => clock.setTimeout(() => resolve(clock.time), milliseconds));
  const long = retry(lasting(1100), { clock, guards });
  breaker.record(breaker.acquire(0).permit, "failure", 0, 0);
  clock.time += 1000;
  const probe = retry(lasting(300), { clock, guards });
  const queued = retry(lasting(0), { clock, guards });
  assert.deepEqual([bulkhead.running, bulkhead.waiting], [2, 1]);
  assert.deepEqual(await clock.settled(Promise.all([long, probe, queued])), [2100, 2300, 2300]);
  assert.deepEqual([bulkhead.running, bulkhead.waiting, breaker.waiters.size], [0, 0, 0]);
});

test("a budget that is used up ends retries, for all that share it", async () => {
  const clock = new VirtualClock();
  const budget = new Budget({ kind: "token", capacity: 10, cost: 5 });
  const [one, other] = [new Guards({ budget }), new Guards({ budget })];
  const options = { ...steady, attempts: "forever", clock };
  let calls = 0;
  const fails = () => {
    calls++;
    down();
  };
  const error = await failure(clock.settled(retry(fails, { ...options, guards: one })));
  assert.deepEqual([outcomeOf(error).reason, calls], ["budget", 3]);
  const next = await failure(clock.settled(retry(fails, { ...options, guards: other })));
  assert.deepEqual([outcomeOf(next).reason, calls, next.message], ["budget", 4, "down"]);
  assert.equal(await retry(() => 1, { guards: one }), 1);
  assert.equal(budget.balance(), 1);
});

test("a limiter spaces attempts", async () => {
  const clock = new VirtualClock();
  const guards = new Guards({ limiter: { limit: 1, per: "1s", burst: 1, refusal: "wait" }, now: 0 });
  const times = await clock.settled(Promise.all([1, 2, 3].map(() => retry(() => clock.time, { clock, guards }))));
  assert.deepEqual(times, [1000, 2000, 3000]);
  const stops = new Guards({ limiter: { limit: 1, per: "1s", burst: 1 }, now: 0 });
  assert.equal(await retry(() => 1, { clock, guards: stops }), 1);
  assert.equal((await failure(retry(() => 1, { clock, guards: stops }))).reason, "limiter");
});

test("ten thousand calls wait in the queue of a bulkhead and run in their order", async () => {
  const guards = new Guards({ bulkhead: { limit: 8, queue: 65_536 } });
  const order = [];
  let running = 0;
  const call = async (number) => {
    assert.ok(++running <= 8);
    order.push(number);
    // Another bulkhead comes into the memory meanwhile.
    if (number % 1000 === 0) new Bulkhead({ limit: 1, queue: 100 }).enter();
    await null;
    running--;
  };
  const numbers = Array.from({ length: 10_000 }, (_, number) => number);
  await Promise.all(numbers.map((number) => retry(() => call(number), { guards })));
  assert.deepEqual(order, numbers);
  assert.deepEqual([guards.bulkhead.running, guards.bulkhead.waiting], [0, 0]);
});

test("a bulkhead lets as many run as may, and the others in their order", async () => {
  const clock = new VirtualClock();
  const bulkhead = new Bulkhead({ limit: 2, queue: 3, maxWait: "30s" });
  const options = { ...steady, clock, guards: new Guards({ bulkhead }) };
  const order = [];
  let running = 0;
  const work = (name) => async () => {
    order.push(name);
    assert.ok(++running <= 2);
    await new Promise((resolve) => clock.setTimeout(resolve, 50));
    running--;
    return name;
  };
  const calls = ["a", "b", "c", "d", "e"].map((name) => retry(work(name), options));
  const refused = await failure(retry(work("f"), options));
  assert.equal(refused.reason, "bulkhead");
  assert.deepEqual([bulkhead.running, bulkhead.waiting], [2, 3]);
  assert.deepEqual(await clock.settled(Promise.all(calls)), ["a", "b", "c", "d", "e"]);
  assert.deepEqual(order, ["a", "b", "c", "d", "e"]);
  assert.deepEqual([bulkhead.running, bulkhead.waiting, clock.timers.size], [0, 0, 0]);
});

test("who waits too long for a place, or is cancelled, leaves the queue", async () => {
  const clock = new VirtualClock();
  const bulkhead = new Bulkhead({ limit: 1, queue: 5, maxWait: "1s" });
  const guards = new Guards({ bulkhead });
  let release;
  const first = retry(() => new Promise((resolve) => (release = resolve)), { clock, guards });
  const controller = new AbortController();
  const cancelled = failure(retry(() => "never", { clock, guards, signal: controller.signal }));
  const late = failure(retry(() => "never", { clock, guards }));
  controller.abort(new Error("enough"));
  assert.equal((await cancelled).message, "enough");
  assert.equal(bulkhead.waiting, 1);
  assert.equal((await clock.settled(late)).reason, "bulkhead");
  assert.equal(bulkhead.waiting, 0);
  release("done");
  assert.equal(await first, "done");
  assert.equal(bulkhead.running, 0);
});

test("a place that the program gives back by hand wakes who waits", async () => {
  const bulkhead = new Bulkhead({ limit: 1, queue: 1 });
  bulkhead.enter();
  const waiting = retry(() => "in", { guards: new Guards({ bulkhead }) });
  await Promise.resolve();
  assert.equal(bulkhead.waiting, 1);
  bulkhead.leave();
  assert.equal(await waiting, "in");
});

test("an attempt that takes long gets another beside it, and the slower one is aborted", async () => {
  const clock = new VirtualClock();
  const guards = new Guards({ hedge: { delay: "20ms", attempts: 3 } });
  const aborted = [];
  const work = ({ attempt, signal }) =>
    new Promise((resolve) => {
      signal.addEventListener("abort", () => aborted.push([attempt, signal.reason.name]));
      clock.setTimeout(() => resolve(attempt), attempt === 2 ? 30 : 500);
    });
  const begun = clock.time;
  assert.equal(await clock.settled(retry(work, { clock, guards, attempts: 5 })), 2);
  assert.equal(clock.time - begun, 50);
  assert.deepEqual(aborted, [
    [1, "AbortError"],
    [3, "AbortError"],
  ]);
});

test("an operation that may not run twice gets no attempt beside its first one", async () => {
  const clock = new VirtualClock();
  const guards = new Guards({ hedge: "20ms" });
  let begun = 0;
  const work = () => new Promise((resolve) => clock.setTimeout(() => resolve(++begun), 500));
  const start = clock.time;
  assert.equal(await clock.settled(retry(work, { clock, guards, idempotent: false })), 1);
  assert.equal(clock.time - start, 500);
});

test("all attempts of a round fail before it is retried, and the last error comes out", async () => {
  const clock = new VirtualClock();
  const guards = new Guards({ hedge: { delay: "10ms" } });
  const seen = [];
  const work = ({ attempt }) =>
    new Promise((_, reject) => clock.setTimeout(() => reject(new Error(`no ${attempt}`)), 25));
  const onRetry = ({ attempt, error }) => seen.push([attempt, error.message]);
  const error = await failure(clock.settled(retry(work, { ...steady, clock, guards, attempts: 4, onRetry })));
  assert.equal(outcomeOf(error).attempts, 4);
  assert.equal(error.message, "no 4");
  assert.deepEqual(seen, [[2, "no 2"]]);
});

test("every attempt of a round has its own limit", async () => {
  const clock = new VirtualClock();
  const guards = new Guards({ hedge: { delay: "10ms" } });
  const reasons = [];
  const work = ({ attempt, signal }) =>
    new Promise((resolve) => {
      signal.addEventListener("abort", () => reasons.push([attempt, signal.reason.name, clock.time - begun]));
      if (attempt === 2) clock.setTimeout(() => resolve("second"), 35);
    });
  const begun = clock.time;
  assert.equal(await clock.settled(retry(work, { clock, guards, attempts: 2, attemptTimeout: "40ms" })), "second");
  assert.deepEqual(reasons, [[1, "TimeoutError", 40]]);
  assert.equal(clock.timers.size, 0);
});

test("a fault of the program's own says nothing about the other side", async () => {
  const guards = new Guards({ breaker: { failures: 1 }, bulkhead: 1 });
  const own = () => {
    throw new TypeError("x is not a function");
  };
  for (let n = 0; n < 3; n++) {
    const error = await failure(retry(own, { guards }));
    assert.equal(outcomeOf(error).reason, "permanent");
  }
  assert.deepEqual([guards.breaker.state(), guards.bulkhead.running], ["closed", 0]);
  await failure(retry(own, { guards, attempts: 1, when: () => true }));
  assert.equal(guards.breaker.state(), "open");
});

test("what an answer without an error says counts, too", async () => {
  const clock = new VirtualClock();
  const guards = new Guards({ breaker: { failures: 2 } });
  const busy = () => new Response("", { status: 503 });
  const last = await clock.settled(retry(busy, { ...steady, attempts: 2, clock, guards, whenResult: true }));
  assert.equal(last.status, 503);
  assert.equal(outcomeOf(last).reason, "attempts");
  assert.equal(guards.breaker.state(clock.time * 1e6), "open");
});

test("a hook that throws ends the operation, and everything comes back", async () => {
  const clock = new VirtualClock();
  const guards = new Guards({ budget: { kind: "token", capacity: 10, cost: 5 }, bulkhead: 1 });
  const fault = new Error("hook");
  const hook = () => {
    throw fault;
  };
  for (const hooks of [{ onRetry: hook }, { when: hook }, { onAttempt: hook }, { onGiveUp: hook, attempts: 1 }]) {
    const error = await failure(clock.settled(retry(down, { clock, guards, ...hooks })));
    assert.equal(hooks.when ? error : error.cause, fault);
    assert.deepEqual([guards.budget.balance(), guards.bulkhead.running, clock.timers.size], [10, 0, 0]);
  }
});

test("a call that is cancelled asleep gives back what its retry has paid", async () => {
  const clock = new VirtualClock();
  const guards = new Guards({ budget: { kind: "token", capacity: 10, cost: 5 } });
  const controller = new AbortController();
  const call = failure(retry(down, { clock, guards, signal: controller.signal }));
  await Promise.resolve();
  assert.equal(guards.budget.balance(), 5);
  controller.abort();
  await call;
  assert.deepEqual([guards.budget.balance(), clock.timers.size], [10, 0]);
});

test("a fallback stands for an error when the operation gave up, and not when it was cancelled", async () => {
  const guards = new Guards({ breaker: { failures: 1 } });
  const fallback = (error) => `instead of ${error.message}`;
  assert.equal(await retry(down, { attempts: 1, fallback }), "instead of down");
  assert.equal(await retry(down, { attempts: 1, fallback, guards }), "instead of down");
  assert.equal(await retry(down, { attempts: 1, fallback: async (e) => e.reason, guards }), "breaker");
  assert.equal(await wrap(down, { attempts: 1, fallback })(), "instead of down");
  const signal = AbortSignal.abort(new Error("enough"));
  assert.equal((await failure(retry(down, { fallback, signal }))).message, "enough");
  assert.equal((await failure(retry(down, { fallback, signal, guards }))).message, "enough");
  const worse = () => {
    throw new Error("worse");
  };
  assert.equal((await failure(retry(down, { attempts: 1, fallback: worse }))).message, "worse");
});

test("explicit guards stand in for the policy's own", async () => {
  const policy = new Policy({ attempts: 1, breaker: { failures: 1 } });
  const guards = new Guards({});
  for (let n = 0; n < 2; n++) assert.equal((await failure(policy.retry(down, { guards }))).message, "down");
  assert.equal(policy.guards.breaker.state(), "closed");
  await failure(policy.retry(down));
  assert.equal((await failure(policy.retry(down))).reason, "breaker");
  assert.equal((await failure(wrap(down, { policy })())).reason, "breaker");
});

test("thousands of calls at once leave every guard as empty as it was", async () => {
  const clock = new VirtualClock();
  const guards = new Guards({
    budget: { kind: "share", ratio: 0.5 },
    breaker: { kind: "count", size: 50, failureRate: 0.9, openFor: "1s", refusal: "wait" },
    bulkhead: { limit: 20, queue: 64 },
    hedge: { delay: "5ms", percentile: 0.9 },
    stretch: 2,
    seed: 7,
  });
  let random = 7;
  const draw = () => (random = (random * 48271) % 2147483647) / 2147483647;
  const controller = new AbortController();
  const work = () =>
    new Promise((resolve, reject) =>
      clock.setTimeout(() => (draw() < 0.6 ? resolve(1) : reject(new Error("down"))), Math.floor(draw() * 40)),
    );
  const calls = Array.from({ length: 3000 }, async (_, n) => {
    await new Promise((resolve) => clock.setTimeout(resolve, n));
    const signal = draw() < 0.3 ? controller.signal : undefined;
    return retry(work, { clock, guards, signal, deadline: draw() < 0.5 ? "2s" : "none" }).catch((error) => error);
  });
  clock.setTimeout(() => controller.abort(new Error("enough")), 1500);
  await clock.settled(Promise.all(calls));
  assert.deepEqual([guards.bulkhead.running, guards.bulkhead.waiting], [0, 0]);
  // Envoy's budget lets as many retry as its floor says, when nobody calls.
  const now = clock.time * 1e6;
  assert.equal(guards.budget.balance(now), new Budget({ kind: "share", ratio: 0.5 }).balance());
  while (clock.timers.size > 0) await clock.settled(new Promise((resolve) => clock.setTimeout(resolve, 1000)));
});

test("a call that was put together again goes on like one that was kept", async () => {
  const sections = {
    breaker: { kind: "count", size: 4, failureRate: 0.5, openFor: "200ms", refusal: "wait" },
    budget: { kind: "token", capacity: 40, cost: 5 },
    stretch: { factor: 3, minCalls: 1 },
  };
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 12 }),
      fc.subarray(["breaker", "budget", "stretch"]),
      async (failures, names) => {
        const seen = [];
        // A signal makes the loop keep every call from its beginning on.
        for (const signal of [undefined, new AbortController().signal]) {
          const clock = new VirtualClock();
          const options = Object.fromEntries(names.map((name) => [name, sections[name]]));
          const guards = new Guards({ ...options, seed: 5, now: 0 });
          const log = [];
          for (const [index, times] of failures.entries()) {
            let left = times;
            const work = async () => {
              log.push(clock.time);
              if (left-- > 0) down();
              return index;
            };
            const fields = { attempts: 3, deadline: "none", budget: "none" };
            const call = retry(work, { ...fields, clock, guards, signal, seed: index });
            log.push(await clock.settled(call.catch((error) => outcomeOf(error).reason)));
          }
          log.push(guards.breaker?.rates(clock.time * 1e6), guards.budget?.balance(clock.time * 1e6));
          seen.push(log);
        }
        assert.deepEqual(seen[0], seen[1]);
      },
    ),
    { numRuns: 200 },
  );
});

test("a program with a seed repeats what happens under guards", async () => {
  const run = async () => {
    seed(3);
    const clock = new VirtualClock();
    const guards = new Guards({ breaker: { failures: 3 }, seed: 1 });
    await failure(clock.settled(retry(down, { clock, guards })));
    return clock.time;
  };
  try {
    assert.equal(await run(), await run());
  } finally {
    seed();
  }
});

test("the machine says what the loop does", () => {
  const policy = new Policy({ ...steady, attempts: 3 });
  const guards = new Guards({ hedge: "10ms", bulkhead: { limit: 2, queue: 1 }, now: 0 });
  const [call, step] = GuardedCall.begin(policy, guards, 7, 0);
  assert.deepEqual(step, { kind: "attempt", ticket: 1, attempt: 1, abortAt: Infinity, wakeAt: 1e7 });
  assert.equal(call.tick(1e7).ticket, 2);
  assert.equal(guards.bulkhead.running, 2);
  const [other, queued] = GuardedCall.begin(policy, guards, 8n, 20_000_000n);
  assert.equal(queued.cause, "bulkhead");
  assert.deepEqual(call.fail(1, 2e7, "transient").kind, "wait");
  assert.equal(other.tick(20_000_000n).kind, "attempt");
  assert.deepEqual(call.succeed(2, 3e7), { kind: "stop", outcome: "succeeded" });
  assert.deepEqual(other.abandon(1n, 3n), {
    kind: "stop",
    outcome: "gave_up",
    reason: "permanent",
    retryAt: 2n ** 64n - 1n,
  });
  assert.equal(other.cancel(4n).outcome, "gave_up");
  assert.equal(guards.bulkhead.running, 0);
  assert.throws(() => GuardedCall.begin(policy, {}, 0, 0), { path: "guards" });
});

test("a shared breaker may be used beside the loop", async () => {
  const breaker = new Breaker({ failures: 1 });
  breaker.record(breaker.acquire().permit, "failure");
  assert.equal((await failure(retry(() => 1, { guards: new Guards({ breaker }) }))).reason, "breaker");
});

test("who was queued runs in its own asynchronous context, and not in that of the call that left", async () => {
  const context = new AsyncLocalStorage();
  const guards = new Guards({ bulkhead: { limit: 1, queue: 10 } });
  const seen = [];
  const call = (name) =>
    context.run(name, () =>
      retry(
        async () => {
          seen.push([name, context.getStore()]);
          await new Promise((resolve) => setTimeout(resolve, 1));
        },
        { guards },
      ),
    );
  await Promise.all(["a", "b", "c"].map(call));
  assert.deepEqual(seen, [
    ["a", "a"],
    ["b", "b"],
    ["c", "c"],
  ]);
});

test("who is cancelled between the place that came free and its attempt runs none, and the place goes on", async () => {
  const bulkhead = new Bulkhead({ limit: 1, queue: 10 });
  const guards = new Guards({ bulkhead });
  const controller = new AbortController();
  bulkhead.enter();
  let calls = 0;
  const second = failure(retry(() => calls++, { guards, signal: controller.signal }));
  const third = retry(() => "third", { guards });
  bulkhead.leave();
  // After the microtask in which those who wait are asked.
  await Promise.resolve();
  controller.abort(new Error("enough"));
  assert.equal((await second).message, "enough");
  assert.equal(await third, "third");
  assert.deepEqual([calls, bulkhead.running, bulkhead.waiting], [0, 0, 0]);
});

test("a clock that throws ends the operation with its error, and everything comes back", async () => {
  const fault = new Error("clock");
  for (const limits of [{}, { deadline: "5s" }, { attemptTimeout: "5s" }]) {
    for (const work of [() => 1, down]) {
      for (let right = 0; right < 8; right++) {
        const clock = new VirtualClock();
        const { now } = clock;
        let reads = 0;
        clock.now = () => {
          if (++reads > right) throw fault;
          return now();
        };
        const guards = new Guards({ budget: { kind: "share", ratio: 1, minConcurrency: 9 }, bulkhead: 1, now: 0 });
        const controller = new AbortController();
        const options = { ...steady, ...limits, attempts: 2, clock, guards, signal: controller.signal };
        const full = guards.budget.balance();
        const ended = await clock.settled(retry(work, options)).catch((error) => error);
        assert.ok(ended === fault || ended === 1 || ended.message === "down", String(ended));
        assert.deepEqual([guards.bulkhead.running, guards.budget.balance(), clock.timers.size], [0, full, 0]);
      }
    }
  }
});

test("answers that nobody will read are freed: those before a success, and those that lost", async () => {
  const freed = [];
  const answer = (status, name) => {
    const cancel = async () => void freed.push(name);
    return { status, name, headers: new Headers(), bodyUsed: false, body: { locked: false, cancel } };
  };
  const budget = { kind: "token" };
  const clock = new VirtualClock();
  const tried = ({ attempt }) => answer(attempt === 1 ? 503 : 200, attempt);
  const options = { ...steady, clock, whenResult: true };
  assert.equal((await clock.settled(retry(tried, { ...options, guards: new Guards({ budget }) }))).name, 2);
  assert.deepEqual(freed.splice(0), [1]);

  const again = answer(503, "again");
  assert.equal(await clock.settled(retry(() => again, { ...options, guards: new Guards({ budget }) })), again);
  assert.deepEqual(freed, []);

  const raced = ({ attempt }) =>
    new Promise((resolve) => clock.setTimeout(() => resolve(answer(200, attempt)), attempt === 1 ? 50 : 10));
  const guards = new Guards({ hedge: "5ms" });
  assert.equal((await clock.settled(retry(raced, { clock, guards }))).name, 2);
  await clock.settled(new Promise((resolve) => clock.setTimeout(resolve, 100)));
  assert.deepEqual(freed, [1]);
});
