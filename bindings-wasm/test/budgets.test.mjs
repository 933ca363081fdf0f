import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigError, outcomeOf, Policy, retry, wrap } from "holdoff";
import { Budget, Guards, retry as guardedRetry } from "holdoff/guards";
import { withoutBudgets } from "holdoff/testing";
import "holdoff/rules";
import "holdoff/policies";
import { failure, VirtualClock } from "./virtual.mjs";

const FIELDS = { jitter: "none", backoff: { kind: "constant", delay: 1 } };
const timeout = () => new DOMException("late", "TimeoutError");
const down = () => new Error("down");

/** The attempts of a call that fails, and its outcome. */
async function fails(policy, error, options = {}) {
  const { clock = new VirtualClock(), ...others } = options;
  let made = 0;
  const work = async () => {
    made++;
    throw error();
  };
  const thrown = await failure(clock.settled(policy.retry(work, { clock, ...others })));
  return [made, outcomeOf(thrown)];
}

/** The attempts of calls that fail one after the other; the grace ends after the first one. */
async function attempts(times, policy, error, options) {
  const made = [];
  const clock = options?.clock ?? new VirtualClock();
  for (let call = 0; call < times; call++) {
    made.push((await fails(policy, error, { ...options, clock }))[0]);
    if (call === 0) clock.time += 1000;
  }
  return made;
}

const spend = async (policy, options) => {
  const { clock = new VirtualClock(), ...others } = options ?? {};
  while ((await fails(policy, down, { ...others, clock }))[0] > 1) clock.time += 1000;
};

const MORE = "a larger `budget` allows more)";
const ONE_OF_THREE = [3, 1, 1];

test("ten calls in a row that fail fast get all attempts", async () => {
  const policy = new Policy(FIELDS);
  assert.deepEqual(await attempts(12, policy, down), [...Array(10).fill(3), 1, 1]);
  const clock = new VirtualClock();
  clock.time += 2000;
  assert.equal((await fails(policy, down, { clock }))[1].reason, "budget");
});

test("one call that times out gets all attempts", async () => {
  assert.deepEqual(await attempts(3, new Policy(FIELDS), timeout), ONE_OF_THREE);
  const limited = new Policy({ ...FIELDS, attemptTimeout: 1000 });
  assert.deepEqual(await attempts(3, limited, timeout), ONE_OF_THREE);
});

test("a burst over a short outage loses no call", async () => {
  for (const error of [down, timeout]) {
    const policy = new Policy({ attempts: 5, jitter: "none" });
    const clock = new VirtualClock();
    const upAt = clock.time + 150;
    const work = async () => {
      if (clock.time < upAt) throw error();
      return 1;
    };
    const burst = Promise.all(Array.from({ length: 1000 }, () => policy.retry(work, { clock })));
    assert.deepEqual(await clock.settled(burst), Array(1000).fill(1));
  }
});

test("a call that began before a refusal has no grace", async () => {
  for (const extra of [{}, { breaker: { failures: 1000 } }, { limiter: { limit: 1000 } }]) {
    for (const wrapping of [false, true]) {
      const policy = new Policy({ ...FIELDS, ...extra, budget: 1 });
      const clock = new VirtualClock();
      let made = 0;
      const work = async () => {
        made++;
        // The budget refuses another call, is full again, and is in a new grace.
        assert.equal((await fails(policy, down, { clock }))[0], 3);
        clock.time += 1000;
        assert.equal((await fails(policy, down, { clock }))[0], 1);
        assert.equal(await policy.retry(() => 1, { clock }), 1);
        assert.equal((await fails(policy, down, { clock }))[0], 3);
        throw down();
      };
      const call = wrapping ? wrap(work, { policy, clock })() : policy.retry(work, { clock });
      await failure(clock.settled(call));
      assert.equal(made, 1);
    }
  }
});

test("waiting for a hint is free", async () => {
  const limited = () => Object.assign(down(), { status: 429, headers: { "retry-after": "2" } });
  const policy = new Policy({ ...FIELDS, budget: 1 });
  assert.deepEqual(await attempts(20, policy, limited), Array(20).fill(3));
  assert.equal(policy.budgets.size, 0);
});

test("a number is the capacity of the budget, and needs no guards", async () => {
  const large = new Policy({ ...FIELDS, budget: 1000 });
  assert.equal(large.guards, undefined);
  assert.deepEqual(await attempts(51, large, timeout), [...Array(50).fill(3), 1]);
  assert.throws(() => new Policy({ budget: 0.5 }), /budget.capacity = 0.5/);
  assert.throws(() => new Policy({ budget: 1_000_001 }), /budget.capacity = 1000001/);
});

test("a preset has no budget unless one is named", async () => {
  assert.deepEqual(await attempts(20, new Policy("kubernetes"), timeout), Array(20).fill(4));
  const named = new Policy({ preset: "kubernetes", budget: "default" });
  assert.deepEqual(await attempts(3, named, timeout), [4, 1, 1]);
});

test("the outcome says what is spent, of which key, and when there is more", async () => {
  const clock = new VirtualClock();
  clock.setTimeout = (callback) => queueMicrotask(callback);
  const policy = new Policy(FIELDS);
  const options = { clock, key: "https://a:443" };
  await attempts(1, policy, timeout, options);
  const [, outcome] = await fails(policy, down, options);
  assert.deepEqual([outcome.reason, outcome.attempts], ["budget", 1]);
  const text = (tokens, price, time) =>
    `the budget for retries is spent (${tokens} of 20 tokens for "https://a:443"; a retry costs ${price}, there are enough again in ${time}; a larger \`budget\` allows more)`;
  assert.equal(outcome.description, text(19.9, 1, "33s"));
  assert.equal((await fails(policy, timeout, options))[1].description, text(19.9, 10, "333s"));
  clock.time += 700_000;
  const [made, { reason, description }] = await fails(policy, down, options);
  assert.deepEqual([made, reason, description], [3, "attempts", undefined]);
});

test("the outcome says it of a budget among guards, too", async () => {
  const told = async (budget) => {
    const policy = new Policy({ ...FIELDS, budget });
    return (await fails(policy, down))[1].description;
  };
  const spent = "the budget for retries is spent (1 of 1 tokens; a retry costs 1, ";
  const token = { kind: "token", capacity: 1, cost: 1 };
  assert.equal(await told(token), `${spent}only successes bring more; ${MORE}`);
  assert.equal(await told({ ...token, refill: 0.5 }), `${spent}there are enough again in 2s; ${MORE}`);
  assert.equal(await told({ ...token, refill: 1 / 120 }), `${spent}there are enough again in 2m; ${MORE}`);
  assert.equal(await told({ ...token, refill: 1 / 7200 }), `${spent}there are enough again in 2h; ${MORE}`);
  assert.equal(await told({ kind: "window", limit: 0 }), undefined);
});

test("a spent budget fills with time and with successes", async () => {
  const policy = new Policy(FIELDS);
  const clock = new VirtualClock();
  await attempts(11, policy, down, { clock });
  clock.time += 34_000;
  assert.equal((await fails(policy, down, { clock }))[0], 2);
  const wrapped = wrap(async () => 1, { policy, clock });
  const { signal } = new AbortController();
  for (const succeed of [
    () => policy.retry(() => 1, { clock }),
    () => wrapped(),
    () => policy.retry(() => 1, { signal, clock }),
    () => policy.retry(async () => 1, { whenResult: () => undefined, clock }),
  ]) {
    assert.equal(await succeed(), 1);
    assert.equal((await fails(policy, down, { clock }))[0], 2);
  }
  clock.time += 700_000;
  assert.deepEqual(await attempts(10, policy, down, { clock }), Array(10).fill(3));
});

test("a call that succeeds at once asks no clock while no budget lacks tokens", async () => {
  const policy = new Policy(FIELDS);
  const clock = new VirtualClock();
  let asked = 0;
  const now = () => {
    asked++;
    return clock.time;
  };
  const counting = { ...clock, now };
  assert.equal(await policy.retry(() => 1, { clock: counting, key: "a" }), 1);
  assert.equal(asked, 0);
  await fails(policy, down, { key: "b" });
  assert.equal(await policy.retry(() => 1, { clock: counting, key: "a" }), 1);
  assert.equal(asked, 1);
});

test("a retry that succeeds or is cancelled asleep is free", async () => {
  const policy = new Policy(FIELDS);
  for (let call = 0; call < 100; call++) {
    const clock = new VirtualClock();
    let failures = 1;
    const once = async () => {
      if (failures-- > 0) throw down();
      return 1;
    };
    assert.equal(await clock.settled(policy.retry(once, { clock })), 1);
    const aborted = new AbortController();
    const call = policy.retry(() => Promise.reject(down()), {
      clock: new VirtualClock(),
      signal: aborted.signal,
      onRetry: () => queueMicrotask(() => aborted.abort()),
    });
    await assert.rejects(call);
  }
  assert.equal(policy.budgets.size, 0);
});

test("each key and each policy has a budget of its own", async () => {
  const policy = new Policy(FIELDS);
  assert.deepEqual(await attempts(3, policy, timeout, { key: "https://a:443" }), ONE_OF_THREE);
  assert.equal((await fails(policy, timeout, { key: "https://b:443" }))[0], 3);
  assert.equal((await fails(policy, timeout))[0], 3);
  assert.equal((await fails(new Policy(FIELDS), timeout))[0], 3);
  assert.throws(() => wrap(() => 1, { key: 7 }), ConfigError);
});

test("only budgets that lack tokens are stored, of 1024 keys at most", async () => {
  const policy = new Policy({ ...FIELDS, attempts: 2 });
  const clock = new VirtualClock();
  for (let key = 0; key < 1100; key++) await fails(policy, timeout, { key: String(key), clock });
  // And the one that further keys share.
  assert.equal(policy.budgets.size, 1025);
  clock.time += 700_000;
  assert.equal(await policy.retry(() => 1, { key: "another", clock }), 1);
  assert.equal(policy.budgets.size, 0);
});

test("no number of other keys refills the budget of a key", async () => {
  const policy = new Policy({ ...FIELDS, attempts: 2 });
  const clock = new VirtualClock();
  const of = (key) => fails(policy, timeout, { key, clock });
  await of("mine");
  // The second in which every call may retry is over.
  clock.time += 2000;
  for (let call = 0; call < 40; call++) await of("mine");
  assert.equal((await of("mine"))[0], 1);
  for (let key = 0; key < 3000; key++) await of(String(key));
  assert.equal((await of("mine"))[0], 1);
  // The last ones share a budget, which is spent.
  assert.equal((await of("new"))[0], 1);
});

test("calls with options alone share one budget of the process for each key, however they are written", async () => {
  const clock = new VirtualClock();
  const call = async (options) => {
    let count = 0;
    const work = () => {
      count++;
      throw timeout();
    };
    await failure(clock.settled(retry(work, { clock, key: "identity", ...options })));
    return count;
  };
  assert.equal(await call({ ...FIELDS, attempts: 3 }), 3);
  clock.time += 1000;
  assert.equal(await call({ attempts: 4, ...FIELDS }), 1);
  for (let kind = 0; kind < 20; kind++)
    assert.equal(await call({ ...FIELDS, deadline: 60_000 + kind, attempts: 3 + kind }), 1);
  assert.equal(await call({ policy: { ...FIELDS } }), 1);
  assert.equal(await call(undefined), 1);
  assert.equal(await call({ ...FIELDS, key: "another" }), 3);
  assert.equal(await call({ policy: new Policy(FIELDS) }), 3);
});

test("each wrapped function with options of its own has a budget of its own", async () => {
  const clock = new VirtualClock();
  const wrapped = () => {
    let count = 0;
    const run = wrap(
      () => {
        count++;
        throw timeout();
      },
      { ...FIELDS, clock },
    );
    return async () => {
      count = 0;
      await failure(clock.settled(run()));
      return count;
    };
  };
  const [one, other] = [wrapped(), wrapped()];
  assert.equal(await one(), 3);
  clock.time += 1000;
  assert.equal(await one(), 1);
  assert.equal(await other(), 3);
});

test("a policy that goes on whatever the number of its attempts has no budget", async () => {
  const hundred = async (fields, options) => {
    const policy = new Policy({ ...FIELDS, ...fields });
    const clock = new VirtualClock();
    const work = ({ attempt }) => {
      if (attempt < 100) throw timeout();
      return attempt;
    };
    assert.equal(await clock.settled(policy.retry(work, { clock, ...options })), 100);
    assert.equal(policy.budgets.size, 0);
  };
  const guards = new Guards({ breaker: { failures: 1000 } });
  for (const options of [{}, { guards }]) {
    await hundred({ attempts: "forever" }, options);
    await hundred({ deadline: "10m" }, options);
    await hundred({ attempts: 2, deadline: "10m", limits: "last" }, options);
  }
  const counted = new Policy({ ...FIELDS, attempts: 100, deadline: "10m" });
  const clock = new VirtualClock();
  await attempts(1, counted, timeout, { clock });
  assert.deepEqual((await fails(counted, timeout, { clock }))[0], 1);
});

test("a policy without a budget says so", async () => {
  for (const budget of ["none", { kind: "none" }]) {
    const policy = new Policy({ ...FIELDS, budget });
    assert.deepEqual(await attempts(20, policy, timeout), Array(20).fill(3));
    assert.deepEqual(policy.toJSON().budget, budget);
  }
  for (const budget of [null, {}]) {
    assert.deepEqual(await attempts(3, new Policy({ ...FIELDS, budget }), timeout), ONE_OF_THREE);
  }
  const document = Policy.fromJson({ jitter: "none", budget: "none", backoff: { kind: "constant", delay: "1ms" } });
  assert.deepEqual(await attempts(20, document, timeout), Array(20).fill(3));
  const clock = new VirtualClock();
  let made = 0;
  const work = () => {
    made++;
    throw timeout();
  };
  for (let call = 0; call < 20; call++) await failure(clock.settled(retry(work, { ...FIELDS, budget: "none", clock })));
  assert.equal(made, 60);
});

test("a named budget takes the place of the loop's", async () => {
  const small = { kind: "token", capacity: 1, cost: 1 };
  assert.deepEqual(await attempts(3, new Policy({ ...FIELDS, budget: small }), down), [2, 1, 1]);
  const policy = new Policy(FIELDS);
  const none = new Guards({ budget: "none" });
  assert.deepEqual(await attempts(20, policy, timeout, { guards: none }), Array(20).fill(3));
  const shared = new Guards({ budget: new Budget(small) });
  assert.deepEqual(await attempts(3, policy, down, { guards: shared }), [2, 1, 1]);
  assert.equal(policy.budgets.size, 0);
  const aws = new Policy({ preset: "aws-standard-2.1", jitter: "none" });
  assert.deepEqual(await attempts(20, aws, timeout), [...Array(17).fill(3), ...[2, 1, 1]]);
});

test("other guards have the loop's budget beside them", async () => {
  const sections = [
    { breaker: { failures: 1000 } },
    { breaker: { kind: "time", window: "1m", minCalls: 1000 } },
    { limiter: { limit: 1000 } },
    { bulkhead: 5 },
    { breaker: { failures: 1000 }, limiter: { limit: 1000 } },
  ];
  for (const section of sections) {
    const policy = new Policy({ ...FIELDS, ...section });
    assert.deepEqual(await attempts(3, policy, timeout), ONE_OF_THREE, JSON.stringify(section));
    const later = new VirtualClock();
    later.time += 2000;
    const [, { description }] = await fails(policy, timeout, { clock: later });
    assert.match(
      description,
      /^the budget for retries is spent \((20|19.9) of 20 tokens; a retry costs 10, there are enough/,
    );
    const clock = new VirtualClock();
    clock.time += 340_000;
    assert.equal((await fails(policy, timeout, { clock }))[0], 2);
    for (let call = 0; call < 10; call++) assert.equal(await policy.retry(() => 1, { clock }), 1);
    assert.equal((await fails(policy, timeout, { clock }))[0], 2);
    const { signal } = new AbortController();
    for (let call = 0; call < 10; call++) assert.equal(await policy.retry(() => 1, { clock, signal, key: "" }), 1);
    assert.equal((await fails(policy, timeout, { clock }))[0], 2);
  }
});

test("a retry under guards that succeeds or is cancelled asleep is free", async () => {
  const policy = new Policy({ ...FIELDS, breaker: { failures: 1000 } });
  for (let call = 0; call < 70; call++) {
    const clock = new VirtualClock();
    const once = ({ attempt }) => (attempt === 1 ? Promise.reject(down()) : 1);
    assert.equal(await clock.settled(policy.retry(once, { clock })), 1);
    const aborted = new AbortController();
    const { signal } = aborted;
    const onRetry = () => queueMicrotask(() => aborted.abort());
    await assert.rejects(policy.retry(() => Promise.reject(down()), { clock, signal, onRetry }));
  }
  assert.equal(policy.budgets.size, 0);
});

test("calls with and without guards share the budget of their policy", async () => {
  const policy = new Policy(FIELDS);
  const guards = new Guards({ breaker: { failures: 1000 } });
  const clock = new VirtualClock();
  const made = [];
  for (let call = 0; call < 3; call++) {
    made.push((await fails(policy, timeout, { key: "a", clock, ...(call % 2 === 1 && { guards }) }))[0]);
    clock.time += 1000;
  }
  assert.deepEqual(made, ONE_OF_THREE);
  assert.deepEqual((await fails(policy, timeout, { guards, key: "b" }))[0], 3);
});

test("a budget of a loop leaves the budgets of sets as they were", async () => {
  const budget = new Budget({ kind: "token", capacity: 10, cost: 1 });
  const named = { guards: new Guards({ budget, breaker: { failures: 1000 } }) };
  const policy = new Policy({ ...FIELDS, breaker: { failures: 1000 } });
  for (let call = 0; call < 3; call++) {
    await fails(policy, down, named);
    await fails(policy, down);
  }
  assert.equal(budget.balance(), 4);
  assert.equal((await fails(policy, timeout))[0], 3);
});

test("a hedge is paid for by the budget of its loop", async () => {
  const policy = new Policy({ ...FIELDS, hedge: "1s" });
  await spend(policy);
  const clock = new VirtualClock();
  let made = 0;
  const slow = () => new Promise((resolve) => clock.setTimeout(resolve, 5000, ++made));
  await clock.settled(policy.retry(slow, { clock }));
  assert.equal(made, 1);
  clock.time += 600_000;
  await clock.settled(policy.retry(slow, { clock }));
  assert.equal(made, 3);
});

test("calls decide with the loop's budget as under guards with the same budget", async () => {
  const token = {
    kind: "token",
    capacity: 20,
    cost: 1,
    timeoutCost: 10,
    throttledCost: 10,
    hintedCost: 0,
    reward: 1,
    refill: 0.03,
    grace: "1s",
    returns: "all",
  };
  const errors = [down, timeout, () => Object.assign(down(), { status: 429 })];
  const play = async (policy, options) => {
    const clock = new VirtualClock();
    // Guards begin at the host's time, which is no later.
    clock.time = 1e9;
    const log = [];
    let random = 1;
    const draw = (below) => (random = (random * 48271) % 2147483647) % below;
    for (let call = 0; call < 400; call++) {
      clock.time += draw(10) === 0 ? draw(100_000) : draw(1000);
      const good = draw(6) === 0 ? draw(5) : 5;
      const error = errors[draw(3)];
      let made = 0;
      const work = () => {
        if (++made > good) return "up";
        throw error();
      };
      const ended = await clock.settled(policy.retry(work, { clock, ...options })).catch((error) => error);
      const { reason, description } = outcomeOf(ended) ?? {};
      log.push([made, reason, description]);
    }
    return log;
  };
  const fields = { ...FIELDS, attempts: 5 };
  const expected = await play(new Policy({ ...fields, budget: token }));
  assert.ok(expected.some(([, reason]) => reason === "budget") && expected.some(([made]) => made === 5));
  assert.deepEqual(await play(new Policy(fields)), expected);
  assert.deepEqual(await play(new Policy(fields), { guards: new Guards({ breaker: { failures: 1000 } }) }), expected);
  assert.deepEqual(await play(new Policy(fields), { signal: new AbortController().signal }), expected);
});

test("the switch for tests turns budgets off", async () => {
  const policy = new Policy(FIELDS);
  const guarded = new Policy({ ...FIELDS, breaker: { failures: 1000 } });
  const end = withoutBudgets();
  assert.deepEqual(await attempts(20, policy, timeout), Array(20).fill(3));
  assert.deepEqual(await attempts(20, guarded, timeout), Array(20).fill(3));
  end();
  assert.deepEqual(await attempts(3, policy, timeout), ONE_OF_THREE);
  assert.deepEqual(await attempts(3, guarded, timeout), ONE_OF_THREE);
});

test("policies that decide the same stay equal", async () => {
  const [one, other] = [new Policy(FIELDS), new Policy(FIELDS)];
  await fails(one, down);
  assert.deepEqual(one, other);
  assert.equal(guardedRetry, retry);
});

test("a budget of loops that is named beside guards is none of them", () => {
  for (const fields of [
    { breaker: "count", budget: "default" },
    { breaker: "count", budget: 7 },
    { breaker: "count", budget: { kind: "default", capacity: 7 } },
  ]) {
    const policy = new Policy(fields);
    assert.equal(policy.guards.budget, undefined);
    assert.notEqual(policy.guards.breaker, undefined);
    assert.equal(policy.budgets.capacity, fields.budget === "default" ? 20 : 7);
  }
  const quota = new Policy({ preset: "aws-standard-2.0" });
  assert.notEqual(quota.guards.budget, undefined);
  const named = new Policy({ preset: "aws-standard-2.0", budget: "default" });
  assert.equal(named.guards, undefined, "the budget takes the place of the preset's");
  assert.equal(named.budgets.capacity, 20);
});
