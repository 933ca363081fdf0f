import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { ConfigError, OUTCOME, outcomeOf, Policy, RetryError, retry, seed, seedAt, wrap } from "holdoff";
import { Bulkhead, Guards } from "holdoff/guards";
import { Call, Schedule } from "holdoff/tools";
import { failure, VirtualClock } from "./virtual.mjs";

const fails = (times, value = "done") => {
  const seen = [];
  const fn = async ({ attempt }) => {
    seen.push(attempt);
    if (seen.length <= times) throw new Error(`failure ${attempt}`);
    return value;
  };
  return Object.assign(fn, { seen });
};

test("a first success is the result, sync or async", async () => {
  assert.equal(await retry(() => 5), 5);
  assert.equal(await retry(async () => 6), 6);
  // biome-ignore lint/suspicious/noThenProperty: a promise of another make
  assert.equal(await retry(() => ({ then: (resolve) => resolve(7) })), 7);
});

test("a first success touches neither clock nor randomness", async () => {
  const never = () => assert.fail("touched");
  const clock = { now: never, setTimeout: never, clearTimeout: never };
  assert.equal(await retry(() => 1, { attempts: 5, clock }), 1);
  assert.equal(await retry(() => 1, { signal: new AbortController().signal, clock }), 1);
});

test("a first attempt with a limit reads the clock once and leaves no timer", async () => {
  const clock = new VirtualClock();
  assert.equal(await clock.settled(retry(() => 1, { deadline: "1s", clock })), 1);
  assert.equal(clock.timers.size, 0);
});

test("failures are retried with the delays of the schedule", async () => {
  const clock = new VirtualClock();
  const delays = [];
  const work = fails(3);
  const options = { attempts: 4, seed: 7, clock, onRetry: (info) => delays.push(info.delayMs * 1e6) };
  assert.equal(await clock.settled(retry(work, options)), "done");
  assert.deepEqual(work.seen, [1, 2, 3, 4]);
  assert.deepEqual(delays.map(Math.round), [...new Schedule(new Policy({ attempts: 4 }), 7)]);
  assert.equal(clock.timers.size, 0);
});

test("no sleep ends early, and none is longer than the timer's next millisecond", async () => {
  const clock = new VirtualClock();
  const starts = [];
  const delays = [];
  const work = () => {
    starts.push(clock.time);
    throw new Error("no");
  };
  await failure(clock.settled(retry(work, { attempts: 6, clock, onRetry: ({ delayMs }) => delays.push(delayMs) })));
  for (const [i, delay] of delays.entries()) {
    const slept = starts[i + 1] - starts[i];
    assert.ok(slept >= delay && slept < delay + 1, `${slept} for ${delay}`);
  }
});

test("the last error comes out itself, with its outcome attached", async () => {
  const clock = new VirtualClock();
  const thrown = new Error("no");
  const error = await failure(clock.settled(retry(() => Promise.reject(thrown), { clock })));
  assert.equal(error, thrown);
  const known = { retryAt: undefined, lastError: thrown, lastResult: undefined };
  assert.deepEqual(outcomeOf(error), { outcome: "gave_up", reason: "attempts", attempts: 3, ...known });
  assert.equal(error[OUTCOME], outcomeOf(error));
  assert.deepEqual(Object.keys(error), []);
  assert.equal(outcomeOf(new Error("other")), undefined);
  assert.equal(outcomeOf("text"), undefined);
});

test("frozen errors keep their identity and have an outcome", async () => {
  const thrown = Object.freeze(new TypeError("no"));
  const error = await failure(retry(() => Promise.reject(thrown)));
  assert.equal(error, thrown);
  assert.equal(outcomeOf(error).reason, "permanent");
});

test("an error that is frozen after one operation has the outcome of the next", async () => {
  const thrown = new TypeError("no");
  const work = () => Promise.reject(thrown);
  await failure(retry(work, { attempts: 1, when: () => true }));
  Object.freeze(thrown);
  await failure(retry(work));
  assert.equal(outcomeOf(thrown).reason, "permanent");
});

test("what is no object is the cause of an error that is one", async () => {
  for (const thrown of ["text", undefined, null, 5, Symbol("s")]) {
    const error = await failure(retry(() => Promise.reject(thrown), { attempts: 1 }));
    assert.ok(error instanceof RetryError);
    assert.equal(error.cause, thrown);
    assert.equal(outcomeOf(error).lastError, thrown);
  }
});

test("sync throws are failures like others", async () => {
  let calls = 0;
  const work = () => {
    calls++;
    if (calls < 3) throw new Error("no");
    return calls;
  };
  assert.equal(await retry(work, { backoff: { kind: "constant", delay: 0 } }), 3);
});

test("permanent failures are not retried", async () => {
  const work = fails(1);
  const error = await failure(retry(work, { when: () => false }));
  assert.deepEqual(work.seen, [1]);
  assert.equal(outcomeOf(error).reason, "permanent");
});

test("when says what an error is", async () => {
  for (const [answer, kind, hint] of [
    [true, "transient", undefined],
    ["throttled", "throttled", undefined],
    [undefined, "permanent", undefined],
    [{ kind: "transient", hint: 1500 }, "transient", 1500],
    [{ kind: "transient", hint: "1.5s" }, "transient", 1500],
    [{ kind: "transient", hint: 1_500_000_000n }, "transient", 1500],
    [{ kind: "transient", hint: -5 }, "transient", 0],
    [{ kind: "transient", hint: Number.NaN }, "transient", undefined],
  ]) {
    const clock = new VirtualClock();
    const seen = [];
    const options = { attempts: 2, clock, when: () => answer, onRetry: (info) => seen.push(info) };
    const error = await failure(clock.settled(retry(() => Promise.reject(new RangeError("own")), options)));
    assert.equal(outcomeOf(error).reason, kind === "permanent" ? "permanent" : "attempts");
    if (kind === "permanent") continue;
    assert.equal(seen[0].kind, kind);
    assert.equal(seen[0].hint, hint);
    if (hint) assert.ok(seen[0].delayMs >= hint && seen[0].cause === "hint");
  }
});

test("a server's never is obeyed", async () => {
  const when = () => ({ kind: "transient", hint: "never" });
  assert.equal(outcomeOf(await failure(retry(fails(1), { when }))).reason, "permanent");
});

test("a hint over its maximum stops with the time of the next try", async () => {
  const clock = new VirtualClock();
  const when = () => ({ kind: "throttled", hint: "2m" });
  const before = Date.now();
  const { reason, retryAt } = outcomeOf(await failure(retry(fails(1), { when, clock })));
  assert.equal(reason, "hint");
  assert.ok(retryAt >= before + 120_000 && retryAt <= Date.now() + 120_000);
});

test("what is no verdict ends the operation and keeps the error", async () => {
  for (const answer of ["often", 5, {}, { kind: "x" }, Promise.resolve("often"), { kind: "timeout", hint: "soon" }]) {
    const error = await failure(retry(fails(1), { when: () => answer }));
    assert.ok(error instanceof ConfigError, String(error));
    assert.equal(error.cause.message, "failure 1");
  }
});

test("a predicate that throws ends the operation with its error", async () => {
  const oops = new Error("oops");
  const throws = () => {
    throw oops;
  };
  assert.equal(await failure(retry(fails(1), { when: throws })), oops);
});

test("predicates may be asynchronous, and their time counts", async () => {
  const clock = new VirtualClock();
  const after = (answer) => new Promise((resolve) => clock.setTimeout(() => resolve(answer), 30));
  const steady = { clock, backoff: { kind: "constant", delay: 100 }, jitter: "none" };
  const begun = clock.time;
  assert.equal(await clock.settled(retry(fails(1), { ...steady, when: () => after(true) })), "done");
  assert.equal(clock.time - begun, 130);
  let calls = 0;
  const whenResult = (n) => after(n < 3 && "throttled");
  assert.equal(await clock.settled(retry(() => ++calls, { ...steady, whenResult })), 3);
  assert.equal(clock.time - begun, 130 + 30 + 130 + 130);
  const stopped = await failure(clock.settled(retry(fails(1), { ...steady, when: () => after(false) })));
  assert.deepEqual([outcomeOf(stopped).reason, stopped.message], ["permanent", "failure 1"]);
  const late = await failure(clock.settled(retry(fails(1), { ...steady, deadline: 120, when: () => after(true) })));
  assert.equal(outcomeOf(late).reason, "deadline");
  const oops = new Error("oops");
  for (const name of ["when", "whenResult"]) {
    const work = name === "when" ? fails(9) : () => 1;
    assert.equal(await failure(retry(work, { [name]: () => Promise.reject(oops) })), oops);
    const controller = new AbortController();
    const options = { clock, signal: controller.signal, [name]: () => new Promise(() => {}) };
    clock.setTimeout(() => controller.abort(), 5);
    assert.equal(await failure(clock.settled(retry(work, options))), controller.signal.reason);
  }
  assert.equal(clock.timers.size, 0);
});

test("hooks may retry things themselves", async () => {
  const inner = () => retry(() => Promise.reject(new TypeError("inner")), { seed: 1 }).catch(() => {});
  const clock = new VirtualClock();
  const delays = [];
  const options = {
    attempts: 3,
    seed: 7,
    clock,
    when: () => {
      inner();
      return true;
    },
    onRetry: ({ delayMs }) => {
      inner();
      delays.push(Math.round(delayMs * 1e6));
    },
  };
  await failure(clock.settled(retry(() => Promise.reject(new Error("no")), options)));
  assert.deepEqual(delays, [...new Schedule(new Policy(), 7)]);
});

test("many operations at once do not disturb each other", async () => {
  const policies = [{ attempts: 5 }, { attempts: 5, jitter: "equal" }, { attempts: 5, backoff: "linear" }];
  const runs = Array.from({ length: 60 }, (_, i) => ({ fields: policies[i % 3], seed: i, delays: [] }));
  const clock = new VirtualClock();
  const work = () => Promise.reject(new Error("no"));
  const started = runs.map(({ fields, seed, delays }) =>
    failure(
      retry(work, {
        ...fields,
        budget: "none",
        seed,
        clock,
        onRetry: ({ delayMs }) => delays.push(Math.round(delayMs * 1e6)),
      }),
    ),
  );
  await clock.settled(Promise.all(started));
  for (const { fields, seed, delays } of runs) assert.deepEqual(delays, [...new Schedule(new Policy(fields), seed)]);
});

test("machines that are asked meanwhile disturb no operation, nor does one them", async () => {
  const policy = new Policy({ attempts: 5 });
  const clock = new VirtualClock();
  const delays = { operation: [], machine: [] };
  const machine = Call.underway(policy, 8, 0);
  let now = 0;
  let ticket = 1;
  const work = () => {
    const { until } = machine.fail(ticket, now, "transient");
    if (until !== undefined) {
      delays.machine.push(until - now);
      now = until;
      ({ ticket } = machine.tick(now));
    }
    return Promise.reject(new Error("no"));
  };
  const onRetry = ({ delayMs }) => delays.operation.push(Math.round(delayMs * 1e6));
  await failure(clock.settled(retry(work, { policy, seed: 7, clock, onRetry })));
  assert.deepEqual(delays, { operation: [...new Schedule(policy, 7)], machine: [...new Schedule(policy, 8)] });
});

test("the program's seed counts the operations that fail", async () => {
  const clock = new VirtualClock();
  const delays = [];
  const onRetry = ({ delayMs }) => delays.push(Math.round(delayMs * 1e6));
  seed(42);
  await retry(() => 1, { attempts: 2 });
  for (let k = 0; k < 3; k++) await clock.settled(retry(fails(1), { attempts: 2, clock, onRetry }));
  seed();
  const policy = new Policy({ attempts: 2 });
  const planned = [0, 1, 2].map((k) => Number(new Schedule(policy, seedAt(42, k)).next().value));
  assert.deepEqual(delays, planned);
});

test("without a seed no two operations wait alike", async () => {
  const clock = new VirtualClock();
  const delays = new Set();
  const onRetry = ({ delayMs }) => delays.add(delayMs);
  for (let i = 0; i < 100; i++) await clock.settled(retry(fails(1), { clock, onRetry }));
  assert.ok(delays.size > 95);
});

test("a wrapped function keeps its arguments and its this", async () => {
  const object = {
    base: 10,
    calls: 0,
    add: wrap(
      async function (a, b) {
        this.calls++;
        if (this.calls === 1) throw new Error("no");
        return this.base + a + b;
      },
      { backoff: { initial: 0 } },
    ),
  };
  assert.equal(await object.add(1, 2), 13);
  assert.equal(object.calls, 2);
});

test("a wrapped function takes other options for one call", async () => {
  const clock = new VirtualClock();
  const told = [];
  const guards = new Guards({ bulkhead: 1 });
  const work = async (text) => {
    throw new Error(text);
  };
  const policy = Policy.fromJson({ version: 1, attempts: 4, jitter: "none" });
  const name = ({ operation, attempt }) => told.push([operation, attempt]);
  const load = wrap(work, { policy, clock, guards, onRetry: name });
  const tries = async (call) => outcomeOf(await failure(clock.settled(call))).attempts;
  assert.equal(await tries(load("a")), 4);
  const once = load.withOptions({ attempts: 1 });
  assert.equal(await tries(once("b")), 1);
  assert.equal(await tries(once.withOptions({ attempts: 2, name: "other" })("c")), 2);
  assert.equal(await tries(load.withOptions({ policy: { attempts: 3 } })("d")), 3);
  assert.equal(await tries(load("e")), 4);
  assert.deepEqual(told.slice(0, 4), [
    ["work", 1],
    ["work", 2],
    ["work", 3],
    ["other", 1],
  ]);
  const wrong = [
    [{ attempts: 0 }, "attempts"],
    [{ seed: -1 }, "seed"],
    [{ policy, attempts: 0 }, "attempts"],
    [5, "options"],
  ];
  for (const [options, path] of wrong) assert.throws(() => load.withOptions(options), { name: "ConfigError", path });
});

test("other options leave the guards and the budget of a wrapped function", async () => {
  const clock = new VirtualClock();
  const down = () => {
    throw new Error("down");
  };
  const load = wrap(down, { attempts: 1, clock, breaker: { failures: 1 } });
  const patient = load.withOptions({ attempts: 2, backoff: { initial: 0 } });
  await failure(load());
  assert.equal((await failure(patient())).reason, "breaker");
  assert.equal((await failure(load.withOptions({ breaker: { failures: 2 } })())).message, "down");
  const budget = { kind: "token", capacity: 30, cost: 1, refill: 0 };
  const ends = wrap(down, { clock, backoff: { initial: 0 }, budget });
  const more = ends.withOptions({ attempts: 50 });
  await failure(clock.settled(more()));
  await failure(clock.settled(ends.withOptions({ attempts: 20 })()));
  assert.equal(outcomeOf(await failure(clock.settled(ends()))).reason, "budget");
});

test("each request may compute its deadline", async () => {
  const clock = new VirtualClock();
  const options = { clock, attempts: 9, backoff: { kind: "constant", delay: 100 }, jitter: "none" };
  const end = async (deadline, more) => {
    const begun = clock.time;
    const error = await failure(clock.settled(retry(fails(99), { ...options, ...more, deadline })));
    const { reason, attempts } = outcomeOf(error) ?? error;
    return [reason ?? error.path, attempts, clock.time - begun];
  };
  assert.deepEqual(await end(1000), ["attempts", 9, 800]);
  assert.deepEqual(await end(250), ["deadline", 3, 200]);
  assert.deepEqual(await end(350.5), ["deadline", 4, 300]);
  assert.deepEqual(await end(250), ["deadline", 3, 200]);
  for (const deadline of [0, -1, -Infinity]) assert.deepEqual(await end(deadline), ["deadline", 0, 0]);
  for (const deadline of [Number.NaN, Infinity, "soon"])
    assert.deepEqual(await end(deadline), ["deadline", undefined, 0]);
  assert.deepEqual(await end(250, { minAttempt: 200 }), ["deadline", 1, 0]);
  assert.deepEqual(await end(200, { minAttempt: 200 }), ["deadline", 0, 0]);
  const never = () => new Promise(() => {});
  for (const [deadline, attemptTimeout, took] of [
    [80, 90, 80],
    [90, 40, 40],
  ]) {
    const begun = clock.time;
    await failure(clock.settled(retry(never, { clock, attempts: 1, attemptTimeout, deadline })));
    assert.equal(clock.time - begun, took);
  }
});

test("fields of one call replace those of a shared policy, and leave its guards and its budget", async () => {
  const clock = new VirtualClock();
  const options = { attempts: 3, backoff: { kind: "constant", delay: 100 }, jitter: "none", breaker: { failures: 30 } };
  const policy = new Policy(options);
  const end = async (run, ...more) => {
    const begun = clock.time;
    const error = await failure(clock.settled(run(fails(99), ...more)));
    const { reason, attempts } = outcomeOf(error);
    return [reason, attempts, clock.time - begun];
  };
  for (const run of [
    (work, fields) => policy.retry(work, { clock, ...fields }),
    (work, fields) => retry(work, { policy, clock, ...fields }),
  ]) {
    assert.deepEqual(await end(run, {}), ["attempts", 3, 200]);
    assert.deepEqual(await end(run, { deadline: 150 }), ["deadline", 2, 100]);
    assert.deepEqual(await end(run, { deadline: "150ms" }), ["deadline", 2, 100]);
    assert.deepEqual(await end(run, { deadline: 0 }), ["deadline", 0, 0]);
    assert.deepEqual(await end(run, { attempts: 1, deadline: -5 }), ["deadline", 0, 0]);
    assert.deepEqual(await end(run, { attempts: 2, deadline: null }), ["attempts", 2, 100]);
    assert.deepEqual(await end(run, { backoff: { kind: "constant", delay: 7 } }), ["attempts", 3, 14]);
  }
  for (let n = 0; n < 2; n++) await failure(clock.settled(policy.retry(fails(9), { clock })));
  assert.equal((await failure(policy.retry(fails(1), { clock, attempts: 2 }))).name, "Refused");
  const budget = { kind: "token", capacity: 3, cost: 1, refill: 0 };
  const shared = new Policy({ attempts: 9, backoff: { kind: "constant", delay: 0 }, budget });
  const reasons = [];
  for (const fields of [{ attempts: 3 }, { attempts: 2 }, { attempts: 4 }, {}])
    reasons.push(outcomeOf(await failure(clock.settled(shared.retry(fails(9), { clock, ...fields })))).reason);
  assert.deepEqual(reasons, ["attempts", "attempts", "budget", "budget"]);
});

test("a policy retries by itself", async () => {
  const policy = new Policy({ attempts: 2, backoff: { kind: "constant", delay: 0 } });
  assert.equal(await policy.retry(fails(1)), "done");
  assert.equal(outcomeOf(await failure(policy.retry(fails(2)))).attempts, 2);
});

test("a policy refuses what is no operation and no host option", async () => {
  const policy = new Policy();
  assert.equal((await failure(policy.retry(5))).path, "fn");
  for (const [options, path] of [
    [{ seed: -1 }, "seed"],
    [{ attempts: 0 }, "attempts"],
    [{ onretry() {} }, "onretry"],
    [{ policy: new Policy() }, "policy"],
    [{ breaker: { failures: 1 } }, "breaker"],
    [null, "options"],
    [5, "options"],
  ]) {
    const error = await failure(policy.retry(() => assert.fail("ran"), options));
    assert.ok(error instanceof ConfigError, String(error));
    assert.equal(error.path, path);
  }
});

test("the fake timers of node:test work by a clock", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const clock = {
    now: () => Date.now(),
    setTimeout: (callback, ms) => setTimeout(callback, ms),
    clearTimeout: (timer) => clearTimeout(timer),
  };
  const result = retry(fails(1), { backoff: { kind: "constant", delay: "1h" }, jitter: "none", clock });
  await new Promise((resolve) => setImmediate(resolve));
  t.mock.timers.tick(3_600_000);
  assert.equal(await result, "done");
});

test("real timers work as well", async () => {
  const begun = performance.now();
  assert.equal(await retry(fails(1), { backoff: { kind: "constant", delay: 20 }, jitter: "none" }), "done");
  assert.ok(performance.now() - begun >= 20);
});

test("a sleep is over when its timer fires, though the clock stands still", async () => {
  const waits = [];
  const clock = {
    now: () => 7,
    setTimeout: (callback, milliseconds) => {
      waits.push(milliseconds);
      return setImmediate(callback);
    },
    clearTimeout: clearImmediate,
  };
  const options = { attempts: 5, backoff: { initial: "30s", max: "1h" }, jitter: "none", clock };
  const error = await failure(retry(() => Promise.reject(new Error("down")), options));
  assert.equal(outcomeOf(error).attempts, 5);
  assert.deepEqual(waits, [30_000, 60_000, 120_000, 240_000]);
});

test("an error's stack names the functions that wait for the operation, after sleeps, limits and queues too", async () => {
  const clock = new VirtualClock();
  const bulkhead = new Bulkhead(1);
  for (const options of [
    {},
    { attemptTimeout: "1s" },
    { guards: new Guards({ breaker: { failures: 9 }, bulkhead }) },
  ]) {
    for (const turns of [0, 1]) {
      const fails = async () => {
        for (let turn = 0; turn < turns; turn++) await undefined;
        throw new Error("down");
      };
      const inner = async () => await retry(fails, { clock, attempts: 3, ...options });
      const outer = async () => await inner();
      const { stack } = await failure(clock.settled(outer()));
      for (const name of ["fails", "inner", "outer"]) assert.match(stack, new RegExp(`at (async )?${name} `), name);
    }
  }
});

test("a sleep with unref does not keep the process running", () => {
  const run = (options) => {
    const script = `import { retry } from "holdoff";
      process.on("exit", () => console.log("attempts", attempts));
      let attempts = 0;
      const work = () => { attempts++; throw new Error("down"); };
      retry(work, { attempts: 2, backoff: { kind: "constant", delay: 50 }, jitter: "none", ...${options} }).catch(() => {});`;
    return execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
  };
  assert.equal(run(`{ unref: true, backoff: { kind: "constant", delay: "1m" } }`), "attempts 1\n");
  assert.equal(
    run("{ unref: true, clock: { now: () => 0, setTimeout: (f) => void f(), clearTimeout() {} } }"),
    "attempts 2\n",
  );
  assert.equal(run("{}"), "attempts 2\n");
});

test("timers that fire at once grow no stack", async () => {
  const clock = { now: () => 0, setTimeout: (callback) => callback(), clearTimeout: () => {} };
  let attempts = 0;
  const work = () => {
    attempts++;
    if (attempts < 20_000) throw new Error("down");
    return "up";
  };
  assert.equal(await retry(work, { attempts: "forever", backoff: { kind: "constant", delay: 1 }, clock }), "up");
});

test("an error that throws when it is looked at comes out with its outcome", async () => {
  const getter = Object.defineProperty(new Error("odd"), "status", {
    get() {
      throw new Error("not yours");
    },
  });
  const hostile = new Proxy(new Error("proxy"), {
    get() {
      throw new Error("not yours");
    },
    defineProperty() {
      throw new Error("not yours");
    },
  });
  for (const own of [getter, hostile]) {
    let attempts = 0;
    const work = () => {
      attempts++;
      throw own;
    };
    let outcome;
    try {
      await retry(work, { attempts: 2, backoff: { kind: "constant", delay: 0 }, nested: "innermost" });
    } catch (error) {
      assert.ok(error === own);
      outcome = outcomeOf(error);
    }
    assert.deepEqual([attempts, outcome.reason], [2, "attempts"]);
  }
});
