import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigError, outcomeOf, Policy, retry, wrap } from "holdoff";
import { Budget, Guards, retry as guardedRetry } from "holdoff/guards";
import { withoutBudgets } from "holdoff/testing";
import "holdoff/classify";
import "holdoff/presets";
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

/** The attempts of calls that fail one after the other. */
async function attempts(times, policy, error, options) {
  const made = [];
  for (let call = 0; call < times; call++) made.push((await fails(policy, error, options))[0]);
  return made;
}

const spend = async (policy, options) => {
  while ((await fails(policy, down, options))[0] > 1);
};

const SIX_OF_EIGHT = [3, 3, 3, 3, 3, 3, 1, 1];

test("thirty calls in a row that fail fast get all attempts", async () => {
  const policy = new Policy(FIELDS);
  assert.deepEqual(await attempts(33, policy, down), [...Array(30).fill(3), 1, 1, 1]);
  assert.equal((await fails(policy, down))[1].reason, "budget");
});

test("six calls that time out get all attempts", async () => {
  assert.deepEqual(await attempts(8, new Policy(FIELDS), timeout), SIX_OF_EIGHT);
  const limited = new Policy({ ...FIELDS, attemptTimeout: 1000 });
  assert.deepEqual(await attempts(8, limited, timeout), SIX_OF_EIGHT);
});

test("the outcome says what is spent and when there is more", async () => {
  const clock = new VirtualClock();
  clock.setTimeout = (callback) => queueMicrotask(callback);
  const policy = new Policy(FIELDS);
  const options = { clock };
  await spend(policy, options);
  const [, outcome] = await fails(policy, down, options);
  assert.deepEqual([outcome.reason, outcome.attempts], ["budget", 1]);
  const text = "the budget for retries is spent (60 of 60 tokens; a retry costs 1, there are enough again in 10s)";
  assert.equal(outcome.description, text);
  clock.time += 1000;
  assert.equal(
    (await fails(policy, timeout, options))[1].description,
    "the budget for retries is spent (59.9 of 60 tokens; a retry costs 5, there are enough again in 49s)",
  );
  clock.time += 600_000;
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
  assert.equal(await told(token), `${spent}only successes bring more)`);
  assert.equal(await told({ ...token, refill: 0.5 }), `${spent}there are enough again in 2s)`);
  assert.equal(await told({ ...token, refill: 1 / 120 }), `${spent}there are enough again in 2m)`);
  assert.equal(await told({ ...token, refill: 1 / 7200 }), `${spent}there are enough again in 2h)`);
  assert.equal(await told({ kind: "window", limit: 0 }), undefined);
});

test("a spent budget fills with time and with successes", async () => {
  const policy = new Policy(FIELDS);
  const clock = new VirtualClock();
  await spend(policy, { clock });
  clock.time += 10_000;
  assert.equal((await fails(policy, down, { clock }))[0], 2);
  const wrapped = wrap(async () => 1, { policy, clock });
  const { signal } = new AbortController();
  for (let call = 0; call < 4; call++) {
    assert.equal(await policy.retry(() => 1, { clock }), 1);
    assert.equal(await wrapped(), 1);
  }
  assert.equal(await policy.retry(() => 1, { signal, clock }), 1);
  assert.equal(await policy.retry(async () => 1, { whenResult: () => undefined, clock }), 1);
  assert.equal((await fails(policy, down, { clock }))[0], 2);
  clock.time += 600_000;
  assert.deepEqual(await attempts(30, policy, down, { clock }), Array(30).fill(3));
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
  assert.deepEqual(await attempts(31, policy, down), [...Array(30).fill(3), 1]);
});

test("each key and each policy has a budget of its own", async () => {
  const policy = new Policy(FIELDS);
  await attempts(7, policy, timeout, { key: "https://a:443" });
  assert.equal((await fails(policy, timeout, { key: "https://a:443" }))[0], 1);
  assert.equal((await fails(policy, timeout, { key: "https://b:443" }))[0], 3);
  assert.equal((await fails(policy, timeout))[0], 3);
  assert.equal((await fails(new Policy(FIELDS), timeout))[0], 3);
  assert.throws(() => wrap(() => 1, { key: 7 }), ConfigError);
});

test("only budgets that lack tokens are stored, of 1024 keys at most", async () => {
  const policy = new Policy({ ...FIELDS, attempts: 2 });
  const clock = new VirtualClock();
  for (let key = 0; key < 1100; key++) await fails(policy, timeout, { key: String(key), clock });
  assert.equal(policy.budgets.size, 1024);
  clock.time += 600_000;
  assert.equal(await policy.retry(() => 1, { key: "another", clock }), 1);
  assert.equal(policy.budgets.size, 0);
});

test("options that say the same share one budget, whatever their deadline", async () => {
  for (const fields of [FIELDS, { ...FIELDS, rules: [{ if: { http: [404] }, retry: false }] }]) {
    const made = [];
    for (let call = 0; call < 8; call++) {
      const clock = new VirtualClock();
      let count = 0;
      const options = { ...fields, attempts: 3, deadline: 60_000 + call, clock };
      const work = () => {
        count++;
        throw timeout();
      };
      await failure(clock.settled(retry(work, options)));
      made.push(count);
    }
    assert.deepEqual(made, SIX_OF_EIGHT);
  }
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
  assert.deepEqual((await fails(counted, timeout))[0], 13);
});

test("a policy without a budget says so", async () => {
  for (const budget of ["none", { kind: "none" }]) {
    const policy = new Policy({ ...FIELDS, budget });
    assert.deepEqual(await attempts(20, policy, timeout), Array(20).fill(3));
    assert.deepEqual(policy.toJSON().budget, budget);
  }
  for (const budget of [null, {}]) {
    assert.deepEqual(await attempts(8, new Policy({ ...FIELDS, budget }), timeout), SIX_OF_EIGHT);
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
    assert.deepEqual(await attempts(8, policy, timeout), SIX_OF_EIGHT, JSON.stringify(section));
    const [, { description }] = await fails(policy, timeout);
    assert.match(description, /^the budget for retries is spent \(60 of 60 tokens; a retry costs 5, there are enough/);
    const clock = new VirtualClock();
    clock.time += 100_000;
    assert.equal((await fails(policy, timeout, { clock }))[0], 3);
    for (let call = 0; call < 50; call++) assert.equal(await policy.retry(() => 1, { clock }), 1);
    assert.equal((await fails(policy, timeout, { clock }))[0], 2);
    const { signal } = new AbortController();
    for (let call = 0; call < 50; call++) assert.equal(await policy.retry(() => 1, { clock, signal, key: "" }), 1);
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
  const made = [];
  for (let call = 0; call < 8; call++) {
    made.push((await fails(policy, timeout, { key: "a", ...(call % 2 === 1 && { guards }) }))[0]);
  }
  assert.deepEqual(made, SIX_OF_EIGHT);
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
  const token = { kind: "token", capacity: 60, cost: 1, timeoutCost: 5, throttledCost: 1, reward: 0.1, refill: 0.1 };
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
      const good = draw(3) === 0 ? 0 : draw(5);
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
  assert.deepEqual(await attempts(8, policy, timeout), SIX_OF_EIGHT);
  assert.deepEqual(await attempts(8, guarded, timeout), SIX_OF_EIGHT);
});

test("policies that decide the same stay equal", async () => {
  const [one, other] = [new Policy(FIELDS), new Policy(FIELDS)];
  await fails(one, down);
  assert.deepEqual(one, other);
  assert.equal(guardedRetry, retry);
});
