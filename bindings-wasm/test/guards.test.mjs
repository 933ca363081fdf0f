import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ConfigError, Policy, retry, wrap } from "holdoff";
import {
  Adaptive,
  Breaker,
  Budget,
  Bulkhead,
  Guards,
  Hedge,
  KeyedGuards,
  Limiter,
  Pause,
  Stretch,
} from "holdoff/guards";
import { fromForm, restoreGuards, saveGuards, toForm, toJson } from "holdoff/tools";

const second = 1_000_000_000n;

test("a guard is made from fields as a document has them, in either case", () => {
  const breaker = new Breaker({ failures: 2, openFor: "10s" });
  const same = new Breaker({ failures: 2, open_for: { kind: "constant", delay: 10_000 } });
  assert.deepEqual(breaker.config, same.config);
  assert.equal(new Bulkhead(3).running, 0);
  assert.equal(new Hedge("50ms").delay, 50_000_000n);
  assert.equal(new Stretch(2).stretch(5n), 5n);
});

test("what is wrong is named with its whole path", () => {
  const refused = (make) => {
    try {
      make();
    } catch (error) {
      assert.ok(error instanceof ConfigError, String(error));
      return `${error.path}: ${error.word}`;
    }
    return "nothing";
  };
  assert.equal(
    refused(() => new Guards({ breaker: { open_for: -1 } })),
    "breaker.open_for: not_a_duration",
  );
  assert.equal(
    refused(() => new Guards({ breaker: { failurs: 1 } })),
    "breaker.failurs: unknown_field",
  );
  assert.equal(
    refused(() => new Guards({ braker: {} })),
    "braker: unknown_field",
  );
  assert.equal(
    refused(() => new Guards({ nested: "allow" })),
    "nested: unknown_field",
  );
  assert.equal(
    refused(() => new Guards({ budget: new Breaker() })),
    "budget: wrong_type",
  );
  assert.equal(
    refused(() => new Guards([])),
    "guards: wrong_type",
  );
  assert.equal(
    refused(() => new Limiter({ limit: 1.5 })),
    "limiter.limit: count_range",
  );
  assert.equal(
    refused(() => new Guards({ seed: -1 })),
    "seed: seed_range",
  );
  assert.equal(
    refused(() => new Policy({ budget: { kind: "token", ratio: 1 } })),
    "budget.ratio: not_for_kind",
  );
  assert.equal(
    refused(() => new Budget("token").admit(-1)),
    "now: time_range",
  );
});

test("a budget of tokens pays for retries and is paid back by success", () => {
  const budget = new Budget({ kind: "token", capacity: 12, cost: 5 });
  budget.begin(0);
  assert.equal(budget.admit(0), true);
  const held = budget.withdraw("transient", 0);
  assert.equal(budget.balance(0), 7);
  budget.withdraw("throttled", 0);
  assert.equal(budget.withdraw("timeout", 0), undefined);
  budget.succeed(held, 0);
  budget.end();
  assert.equal(budget.balance(0), 7);
});

test("a breaker opens, says until when, and closes by a probe", () => {
  const breaker = new Breaker({ failures: 1, openFor: "10s" }, { now: 0n });
  const { permit } = breaker.acquire(0n);
  breaker.record(permit, "failure", 0n, second);
  assert.deepEqual(breaker.acquire(2n * second), { retryAt: 11n * second });
  assert.equal(breaker.state(2n * second), "open");
  assert.equal(breaker.retryAt, 11e9);
  assert.equal(breaker.state(11n * second), "half_open");
  breaker.record(breaker.acquire(11n * second).permit, "success", 0n, 12n * second);
  assert.equal(breaker.state(12n * second), "closed");
  assert.equal(breaker.openings, 1);
  breaker.isolate(13n * second);
  assert.equal(breaker.acquire(13n * second).retryAt, 2n ** 64n - 1n);
  breaker.reset(14n * second);
  assert.equal(breaker.state(), "closed");
});

test("a breaker opens for listed times and lets some of the calls fail that try it", () => {
  const fields = { failures: 1, openFor: ["1s", 5000], probes: 3, successes: 2, probeFailures: 1 };
  const breaker = new Breaker(fields, { now: 0n });
  breaker.record(breaker.acquire(0n).permit, "failure", 0n, 0n);
  assert.equal(breaker.acquire(0n).retryAt, second);
  const probes = [1, 2, 3].map(() => breaker.acquire(second).permit);
  const states = probes.map((permit) => {
    breaker.record(permit, "failure", 0n, second);
    return breaker.state(second);
  });
  assert.deepEqual(states, ["half_open", "open", "open"]);
  assert.equal(breaker.acquire(second).retryAt, 6n * second);
  const full = { openFor: Array(9).fill("1s") };
  assert.throws(() => new Breaker(full), { message: /openFor\[8\]|open_for\[8\].*limit of 8 open times/ });
  assert.throws(() => new Breaker({ openFor: [] }), ConfigError);
  assert.throws(() => new Breaker({ reopen: "streak", probeFailures: 1 }), ConfigError);
});

test("many guards take turns on one desk and none of them learns another's state", () => {
  const action = fc.tuple(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 0, max: 3 }), fc.nat(2_000));
  fc.assert(
    fc.property(fc.array(action, { maxLength: 120 }), (actions) => {
      const make = () => new Limiter({ kind: "log", limit: 3, per: "1s" }, { now: 0 });
      const together = [0, 1, 2, 3, 4].map(make);
      const seen = [[], [], [], [], []];
      let now = 0;
      for (const [index, what, later] of actions) {
        now += later * 1e6;
        seen[index].push([what, now, what === 0 ? together[index].giveBack(1, now) : together[index].take(1, now)]);
      }
      for (const events of seen) {
        const alone = make();
        for (const [what, now, got] of events) {
          assert.equal(what === 0 ? alone.giveBack(1, now) : alone.take(1, now), got);
        }
      }
    }),
  );
});

test("a state is saved and goes on elsewhere, on another clock", () => {
  const fields = { kind: "token", capacity: 50 };
  const options = { budget: fields, breaker: { failures: 1 }, limiter: { kind: "log", limit: 2000 }, bulkhead: 1 };
  const guards = new Guards({
    ...options,
    now: 5n,
    adaptive: "cubic",
    stretch: 2,
    hedge: { delay: 1, percentile: 0.9 },
  });
  guards.budget.withdraw("transient", 5n);
  guards.breaker.record(guards.breaker.acquire(5n).permit, "failure", 0, 5n);
  for (let n = 0; n < 2000; n++) assert.equal(guards.limiter.take(1, 5n), undefined);
  const saved = saveGuards(guards, 5n);
  assert.deepEqual(Object.keys(saved), ["budget", "breaker", "limiter", "adaptive", "stretch", "hedge"]);
  const now = 1_000n * second;
  const restored = new Guards({ ...options, now });
  restoreGuards(restored, saved, now);
  assert.equal(restored.budget.balance(1_000n * second), 45);
  assert.equal(restored.breaker.state(1_000n * second), "open");
  assert.equal(restored.limiter.take(1, 1_000n * second), 1_001n * second);
  const refused = (options, saved, word, path) =>
    assert.throws(() => restoreGuards(new Guards(options), saved), { name: "ConfigError", word, path });
  refused(options, { budget: saved.breaker }, "not_a_guard", "kind");
  refused({ budget: "ratio" }, { budget: saved.budget }, "guard_config", "kind");
  refused(options, { limiter: new Uint8Array(1 << 20) }, "not_a_state", "saved.limiter");
  refused({ limiter: { kind: "log", limit: 3 } }, { limiter: saved.limiter }, "guard_length", "length");
  assert.throws(() => restoreGuards(restored, { budget: saved.budget, breaker: saved.budget }, now));
  assert.equal(restored.breaker.state(now), "open");
});

test("bulkhead, adaptive rate, stretch and hedge answer by themselves", () => {
  const bulkhead = new Bulkhead({ limit: 1, queue: 1 });
  assert.deepEqual(bulkhead.enter(), { kind: "entered" });
  const { place } = bulkhead.enter();
  assert.deepEqual([bulkhead.enter().kind, bulkhead.running, bulkhead.waiting], ["refused", 1, 1]);
  bulkhead.leave();
  assert.deepEqual(bulkhead.enterFrom(place), { kind: "entered" });
  assert.deepEqual(saveGuards(new Guards({ bulkhead })), {});
  const adaptive = new Adaptive({ kind: "aimd", initialRate: 2, minRate: 1, maxRate: 8 }, { now: 0 });
  assert.deepEqual([adaptive.take(2, 0), adaptive.take(1, 0), adaptive.rate], [undefined, 5e8, 2]);
  const stretch = new Stretch({ factor: 3, minCalls: 1 }, { now: 0 });
  stretch.record(true, 0);
  assert.deepEqual([stretch.stretch(10, 0), stretch.counts(0)], [30, { calls: 1, failed: 1 }]);
  const hedge = new Hedge({ delay: 5, percentile: 0.5 });
  assert.equal(hedge.quantile, undefined);
  hedge.record(7);
  assert.deepEqual([hedge.quantile, hedge.records, hedge.delay], [7n, 1, 5_000_000n]);
});

test("a policy makes its guards once, from its sections or its preset", () => {
  const policy = new Policy({ attempts: 4, breaker: { failures: 3 }, bulkhead: 2 });
  assert.equal(policy.guards, policy.guards);
  assert.ok(policy.guards.breaker instanceof Breaker);
  assert.equal(policy.guards.budget, undefined);
  assert.equal(new Policy().guards, undefined);
  assert.equal(new Policy("kubernetes").guards, undefined);
  assert.equal(new Policy("aws-standard-2.1").guards.budget.balance(), 500);
  assert.ok(new Policy({ preset: "aws-adaptive", budget: "none" }).guards.adaptive.limits === false);
  assert.equal(new Policy({ preset: "aws-adaptive", budget: "none" }).guards.budget, undefined);
  const read = Policy.fromJson('{"budget":{"kind":"window","limit":7,"window":"1s"}}');
  assert.equal(read.guards.budget.balance(), 7);
});

test("a section that says nothing is no guard", async () => {
  for (const nothing of [undefined, null, {}]) {
    assert.equal(new Policy({ breaker: nothing }).guards, undefined);
    assert.equal(await retry(() => 1, { budget: nothing, attempts: 2 }), 1);
  }
  assert.throws(() => new Policy({ breaker: { colour: null } }), { path: "breaker.colour" });
});

test("a document keeps its guards, and so do other systems' forms", () => {
  const document = {
    version: 1,
    breaker: { kind: "count", size: 20, open_for: { kind: "exponential", initial: "1s" } },
  };
  const written = JSON.parse(toJson(Policy.fromJson(document)));
  assert.deepEqual(written.breaker, { kind: "count", size: 20, open_for: { kind: "exponential", initial: "1s" } });
  const config = {
    methodConfig: [
      {
        name: [{}],
        retryPolicy: {
          maxAttempts: 4,
          initialBackoff: "0.1s",
          maxBackoff: "1s",
          backoffMultiplier: 2,
          retryableStatusCodes: ["UNAVAILABLE"],
        },
      },
    ],
    retryThrottling: { maxTokens: 10, tokenRatio: 0.1 },
  };
  const { policy } = fromForm("grpc", JSON.stringify(config));
  assert.equal(policy.guards.budget.balance(), 10);
  assert.deepEqual(JSON.parse(toForm("grpc", policy)).retryThrottling, config.retryThrottling);
});

test("guards are of a policy or a function, and not of one call", async () => {
  await assert.rejects(
    retry(() => 1, { breaker: { failures: 1 } }),
    { path: "options", word: "not_supported" },
  );
  await assert.rejects(
    retry(() => 1, { policy: "aws-standard-2.1" }),
    { path: "options" },
  );
  assert.equal(await retry(() => 1, { policy: "aws-standard-2.1", guards: new Guards({}) }), 1);
  const down = () => {
    throw new Error("down");
  };
  const options = { attempts: 1, breaker: { failures: 1 } };
  const [one, other] = [wrap(down, options), wrap(down, options)];
  await assert.rejects(one(), /down/);
  await assert.rejects(one(), { name: "Refused", reason: "breaker" });
  await assert.rejects(other(), /down/);
});

test("a million keys stay as many as are allowed, and memory stays as it is", () => {
  let now = 0;
  const keyed = new KeyedGuards({ breaker: { failures: 1 } }, { most: 1000, idle: "1s", now: () => now });
  const first = keyed.of("host 0");
  assert.equal(keyed.of("host 0"), first);
  for (let n = 0; n < 1_000_000; n++) {
    now += 0.001;
    keyed.of(`host ${n}`);
    if (n % 50_000 === 0) assert.ok(keyed.size <= 1000);
  }
  assert.equal(keyed.size, 1000);
  assert.notEqual(keyed.of("host 0"), first);
  const latest = keyed.of("host 999999");
  now += 999;
  assert.equal(keyed.of("host 999999"), latest);
  now += 1001;
  assert.notEqual(keyed.of("host 999999"), latest);
  assert.equal(keyed.size, 1);
  assert.equal(keyed.delete("host 999999"), true);
});

test("guards that nobody holds any more leave nothing behind", async () => {
  const heap = () => {
    // The memory of arrays is given back in the background, which the next collection waits for.
    global.gc();
    global.gc();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const many = (n) => {
    for (let k = 0; k < n; k++) new Limiter({ kind: "log", limit: 1000 }).take();
  };
  many(100);
  await new Promise(setImmediate);
  const before = heap();
  many(20_000);
  await new Promise(setImmediate);
  assert.ok(heap() - before < 4 << 20, `${heap() - before} bytes more`);
});

test("keys share what is given as an object, and nothing else", () => {
  const budget = new Budget("ratio");
  const keyed = new KeyedGuards({ budget, breaker: "consecutive" }, { most: 5 });
  assert.equal(keyed.of("a").budget, keyed.of("b").budget);
  assert.notEqual(keyed.of("a").breaker, keyed.of("b").breaker);
  assert.throws(() => new KeyedGuards({}, { most: 0 }), { path: "most" });
});

test("a name that is no guard's is not looked over in what was saved", () => {
  const options = { breaker: { failures: 3 } };
  const guards = new Guards(options);
  const saved = saveGuards(guards);
  assert.throws(() => restoreGuards(guards, { braker: saved.breaker }), {
    name: "ConfigError",
    path: "saved.braker",
  });
  assert.throws(() => restoreGuards(guards, null), { name: "ConfigError", path: "saved" });
  assert.throws(() => restoreGuards(guards, { breaker: "" }), { name: "ConfigError", path: "saved.breaker" });
  assert.throws(() => saveGuards({}), { name: "ConfigError", path: "guards" });
  assert.throws(() => saveGuards(guards, -1), { name: "ConfigError", path: "now" });
});

test("more breakers by turns than stay in memory keep their own states", () => {
  const breakers = Array.from({ length: 40 }, (_, at) => new Breaker({ failures: (at % 5) + 1 }, { seed: at, now: 0 }));
  for (let round = 1; round <= 4; round++) {
    for (const [at, breaker] of breakers.entries()) {
      const { permit } = breaker.acquire(round);
      if (permit !== undefined) breaker.record(permit, "failure", round % 2 ? 0n : 0, round);
      assert.equal(breaker.state(round), round > at % 5 ? "open" : "closed", `breaker ${at}, round ${round}`);
    }
    const late = new Breaker({ failures: 1 });
    assert.equal(late.state(round), "closed");
  }
  const [first] = breakers;
  const saved = new Breaker({ failures: 1 });
  restoreGuards(new Guards({ breaker: saved }), saveGuards(new Guards({ breaker: first }), 4), 4);
  assert.deepEqual([saved.state(5), saved.openings], ["open", first.openings]);
});

test("a pause closes for a hint and opens by itself", () => {
  const pause = new Pause("2s", { now: 0 });
  assert.equal(pause.refuses(0), undefined);
  pause.hint(5000, 100_000_000n);
  assert.equal(pause.refuses(2_099_999_999n), 2_100_000_000n);
  assert.equal(pause.refuses(2_100_000_000n), undefined);
  const other = new Guards({ pause: { max: "2s", refusal: "stop" } });
  restoreGuards(other, saveGuards(new Guards({ pause }), 100_000_000n), 0);
  assert.equal(other.pause.refuses(0n), 2_000_000_000n);
});
