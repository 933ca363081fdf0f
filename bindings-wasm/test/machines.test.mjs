import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ConfigError, Policy } from "holdoff";
import {
  applyDrawn,
  applyJitter,
  Bucket,
  Call,
  GateConfig,
  Gates,
  Layered,
  Layers,
  LoopBackoff,
  Periodic,
  Retry,
  resumeCall,
  resumeRetry,
  save,
  saveJson,
  WaitBackoff,
} from "holdoff/tools";

const SECOND = 1_000_000_000;
const policy = new Policy({ attempts: 5, jitter: "equal" });

test("a saved retry decides on another clock what it would have decided", () => {
  const retry = new Retry(policy, 7n, 1000n);
  retry.onFailure(2000n, "transient");
  const bytes = save(retry, 5000n);
  assert.equal(bytes.length, 80);
  const json = saveJson(retry, 5000n);
  const expected = retry.onFailure(6000n, "throttled");
  for (const saved of [bytes, json, JSON.parse(json)]) {
    const again = resumeRetry(saved, policy, 1_005_000n).onFailure(1_006_000n, "throttled");
    assert.deepEqual(again, { ...expected, until: expected.until + 1_000_000n });
  }
});

test("an attempt in flight is abandoned when its call is saved", () => {
  const [call] = Call.begin(policy, 7, 0);
  const step = resumeCall(save(call, 5), policy, 100).tick(100);
  assert.equal(step.kind, "sleep");
  const done = resumeCall(save(Call.underway(new Policy({ attempts: 1 }), 7, 0), 5), new Policy({ attempts: 1 }), 0);
  assert.deepEqual(done.tick(0), { kind: "stop", outcome: "gave_up", reason: "attempts", retryAt: Infinity });
});

test("what is damaged or another's is refused by its number", () => {
  const retry = new Retry(policy, 7, 0);
  const bytes = save(retry, 5);
  const damaged = bytes.with(20, 1 ^ bytes[20]);
  const fields = JSON.parse(saveJson(retry, 5));
  for (const [saved, word, path] of [
    [damaged, "state_damaged", ""],
    [bytes.slice(1), "not_a_state", ""],
    [new Uint8Array(), "not_a_state", ""],
    [new Uint8Array(1 << 20), "not_a_state", ""],
    [bytes.slice(0, 50), "state_length", "length"],
    [{ ...fields, failures: -1 }, "wrong_type", "failures"],
    [{ ...fields, colour: 1 }, "unknown_state_field", "colour"],
    [{ ...fields, seed: undefined }, "missing_state_field", "seed"],
    ["{", "not_json", ""],
    [[], "wrong_type", ""],
  ]) {
    assert.throws(() => resumeRetry(saved, policy, 0), { word, path });
  }
  assert.throws(() => resumeCall(bytes, policy, 0), { word: "state_kind" });
  const other = new Policy({ attempts: 9 });
  assert.throws(() => resumeRetry(bytes, other, 0), { word: "state_policy" });
  assert.equal(resumeRetry(bytes, other, 0, { forced: true }).onFailure(0, "transient").kind, "sleep");
  assert.throws(() => save({}, 0), ConfigError);
});

test("time away can count against the deadline", () => {
  const short = new Policy({ deadline: "10s", backoff: { kind: "constant", delay: "1s" }, jitter: "none" });
  const bytes = save(new Retry(short, 7, 0), 0);
  assert.equal(resumeRetry(bytes, short, 0).onFailure(0, "transient").kind, "sleep");
  const late = resumeRetry(bytes, short, 0, { away: "10s" }).onFailure(0, "transient");
  assert.equal(late.reason, "deadline");
});

test("a gate closes for longer with each failure, key by key", () => {
  const gates = new Gates({ initial: "1s", max: "3s" });
  assert.equal(gates.failure("a", 0), SECOND);
  assert.equal(gates.failure("a", 0), 2 * SECOND);
  assert.equal(gates.failure("a", 0), 3 * SECOND);
  assert.equal(gates.isOpen("a", 3 * SECOND - 1), false);
  assert.equal(gates.isOpen("a", 3 * SECOND), true);
  assert.equal(gates.isOpen("b", 0), true);
  gates.success("a", 0);
  assert.equal(gates.look("a", 0).failures, 2);
  assert.equal(gates.look("a", 0n).release, 3_000_000_000n);
  gates.releaseAt("a", 5);
  assert.equal(gates.look("a", 0).release, 5);
  assert.equal(gates.forget("a"), true);
  assert.equal(gates.forget("a"), false);
});

test("the key that was used longest ago is given up for a new one", () => {
  const gates = new Gates({}, { most: 2 });
  gates.failure("a", 0);
  gates.failure("b", 0);
  gates.success("a", 0);
  gates.failure("c", 0);
  assert.deepEqual([...gates.keys()], ["a", "c"]);
  assert.equal(gates.collect(0), 0);
  assert.equal(gates.collect(1000 * SECOND), 2);
  assert.equal(gates.size, 0);
});

test("an item's gate can be Kubernetes' or Chromium's", () => {
  const items = new Gates(GateConfig.itemExponential("5ms", "1000s"));
  assert.deepEqual([items.failure(1, 0n), items.failure(1, 0n)], [5_000_000n, 10_000_000n]);
  const fast = new Gates(GateConfig.fastSlow("5ms", "10s", 1));
  assert.deepEqual([fast.failure(1, 0), fast.failure(1, 0)], [5_000_000, 10 * SECOND]);
  const flow = new Gates(GateConfig.flowcontrol({ initial: "1s", max: "1m" }));
  assert.equal(flow.failure("pod", 0), SECOND);
  assert.throws(() => GateConfig.flowcontrol({ initial: "1s", max: "1m", maxJitter: Number.NaN }), ConfigError);
  assert.throws(() => new GateConfig({ growth: "wild" }), ConfigError);
  assert.throws(() => new GateConfig({ initial: "soon" }), { path: "initial" });
});

test("a bucket lets a burst through and queues the rest up in time", () => {
  const bucket = new Bucket({ rate: 10, burst: 2 }, 0);
  assert.deepEqual([bucket.reserve(1, 0), bucket.reserve(1, 0), bucket.reserve(1, 0)], [0, 0, SECOND / 10]);
  assert.equal(bucket.reserve(3, 0), undefined);
  assert.equal(bucket.reserve(1, 0, 0), undefined);
  assert.equal(bucket.tokensAt(0), -1);
  assert.equal(bucket.reserve(1, BigInt(SECOND)), 0n);
  assert.throws(() => new Bucket({ rate: -1, burst: 1 }, 0), ConfigError);
});

test("a wait backoff says a delay and moves on", () => {
  const backoff = new WaitBackoff({ duration: "1s", factor: 2, steps: 2, cap: "3s" });
  assert.deepEqual([backoff.step(), backoff.step(), backoff.step()], [10n ** 9n, 2n * 10n ** 9n, 3n * 10n ** 9n]);
  assert.equal(backoff.state.steps, 0n);
  assert.throws(() => new WaitBackoff({ duration: "1s", factor: Infinity }), { word: "factor_range" });
});

test("a loopBackoff begins again after a quiet time", () => {
  const loopBackoff = new LoopBackoff({ duration: 100, factor: 2, steps: 9 }, { afterQuiet: "1s" });
  assert.deepEqual([loopBackoff.next(0), loopBackoff.next(0), loopBackoff.next(2 * SECOND)], [1e8, 2e8, 1e8]);
});

test("a periodic loop runs, sleeps and ends", () => {
  const loop = new Periodic(new LoopBackoff({ duration: "1s" }), { deadline: "3s" }, 7, 0);
  const starts = [];
  let [now, step] = [0, loop.tick(0)];
  while (step.kind !== "stop") {
    if (step.kind === "run") {
      starts.push(now);
      step = loop.finish(step.run, now, "again");
    } else {
      now = step.until;
      step = loop.tick(now);
    }
  }
  assert.deepEqual(starts, [0, SECOND, 2 * SECOND]);
  assert.equal(step.ended, "deadline");
  assert.equal(loop.state.runs, 3);
  assert.deepEqual(new Periodic(new LoopBackoff({ duration: 1 }), {}, 7, 0).cancel().kind, "sleep");
});

test("a retry inside a retry has one cap over both levels", () => {
  const quick = new Policy({ attempts: 3, jitter: "none", backoff: { kind: "constant", delay: 1 } });
  const layers = new Layers(quick, quick, { attempts: 5 });
  assert.equal(layers.attempts, 5);
  let [layered, step] = Layered.begin(layers, 7, 0);
  while (step.kind !== "stop") {
    step = step.kind === "attempt" ? layered.fail(step.ticket, 0, "transient") : layered.tick(step.until);
  }
  const { attempt, outerAttempt, innerAttempt, stoppedBy } = layered.state;
  assert.deepEqual([attempt, outerAttempt, innerAttempt, stoppedBy], [5, 2, 2, "cap"]);
  const permanent = Layered.underway(layers, 7, 0);
  assert.equal(permanent.wouldGiveUp(1, 0, "permanent"), "permanent");
  assert.equal(permanent.fail(1, 0, "permanent").reason, "permanent");
  const told = Layered.underway(layers, 7, 0);
  assert.equal(told.fail(1, 0, "permanent", "transient").kind, "sleep");
  assert.deepEqual([told.remaining(400_000), told.remaining(400_000n), told.remaining(2e6)], [600_000, 600_000n, 0]);
  assert.throws(() => told.remaining(-1), { path: "now" });
  assert.throws(() => new Layers(quick, quick, { attempts: 0 }), { word: "attempts_range" });
  assert.throws(() => new Layers(quick, quick, { goOnAfter: { often: true } }), ConfigError);
});

test("an object of another class is refused by its name, and one that was freed says so", () => {
  const layers = new Layers(policy, policy);
  for (const [attempt, path] of [
    [() => Layered.begin({}, 7, 0), "layers"],
    [() => Layered.begin(policy, 7, 0), "layers"],
    [() => new Periodic(new WaitBackoff({ duration: 1 }), {}, 7, 0), "loopBackoff"],
    [() => new Periodic(undefined, {}, 7, 0), "loopBackoff"],
    [() => new Layers({}, policy), "policy"],
    [() => applyJitter({}, 1, 1, 0.5), "policy"],
    [() => save({}, 0), "machine"],
  ]) {
    assert.throws(
      attempt,
      (error) => error instanceof ConfigError && error.word === "wrong_type" && error.path === path,
    );
  }
  layers.free();
  for (const attempt of [() => layers.attempts, () => Layered.begin(layers, 7, 0), () => layers.free()]) {
    assert.throws(attempt, /^Error: this object of holdoff\/tools was freed$/);
  }
  const gates = new Gates();
  gates[Symbol.dispose ?? "free"]();
  assert.throws(() => gates.failure("key", 0), /freed/);
  assert.throws(() => new Gates({}, { most: 0 }), { path: "most" });
});

test("machines that nobody frees do not stay", async () => {
  const turns = 40;
  const used = () => process.memoryUsage().arrayBuffers;
  const make = () => {
    for (let i = 0; i < 2000; i++) Layered.underway(new Layers(policy, policy), i, 0).fail(1, 0, "transient");
  };
  const rest = async () => {
    globalThis.gc();
    await new Promise((resolve) => setTimeout(resolve));
  };
  for (let i = 0; i < 5; i++) {
    make();
    await rest();
  }
  const before = used();
  for (let i = 0; i < turns; i++) {
    make();
    await rest();
  }
  // All of them together would take 150 MB.
  assert.ok(used() - before < 10_000_000, `${used() - before}`);
});

test("jitter is a function of one draw", () => {
  assert.equal(applyJitter(new Policy(), 1000n, 10_000n, 0.5), 500n);
  assert.equal(applyJitter(new Policy({ jitter: { kind: "additive", factor: 1 } }), 1000, 1500, 0.5), 1000);
});

test("a drawn number is added to the last bit", () => {
  const policy = Policy.fromJson({ jitter: { kind: "bounded", bound: `${2n ** 61n - 1n}ns` } });
  assert.equal(applyDrawn(policy, 1n, 2n ** 60n + 1n), 2n ** 60n + 2n);
  assert.equal(applyDrawn(policy, 0n, -1), 2n ** 61n - 2n);
  assert.equal(applyDrawn(new Policy({ jitter: "full" }), 1000, 7), 1000);
  for (const drawn of [0.5, Number.NaN, 2 ** 53, 2n ** 63n, "7", undefined])
    assert.throws(() => applyDrawn(policy, 1n, drawn), ConfigError);
});

test("no value makes a machine do anything but answer or refuse", () => {
  const odd = fc.oneof(
    fc.double(),
    fc.bigInt({ min: -1n, max: 1n << 65n }),
    fc.constantFrom("1s", "", null, undefined, {}, [], true),
  );
  fc.assert(
    fc.property(odd, odd, odd, fc.uint8Array({ maxLength: 100 }), (a, b, c, bytes) => {
      for (const attempt of [
        () => new WaitBackoff({ duration: a, factor: b, jitter: c, steps: a }).step(b),
        () => new LoopBackoff({ duration: a, factor: 2, steps: 3 }, { every: b }, c).next(a, 0.5),
        () => new Periodic(new LoopBackoff({ duration: a }), { deadline: b }, 7, c).tick(a),
        () => new Gates({ initial: a, factor: b, jitter: c, grace: a }).failure("key", a, b, c),
        () => new Bucket({ rate: a, per: b, burst: c }, a).reserve(b, c, a),
        () => Layered.begin(new Layers(policy, policy, { attempts: a }), b, c)[0].fail(a, b, "transient"),
        () => resumeRetry(bytes, policy, a),
        () => resumeCall({ kind: a, seed: b, layout: c }, policy, 0),
      ]) {
        try {
          attempt();
        } catch (error) {
          if (!(error instanceof ConfigError)) throw error;
        }
      }
    }),
    { numRuns: 1000 },
  );
});

test("a call that is saved at any moment goes on as if it had not been", () => {
  const kinds = fc.constantFrom("transient", "throttled", "timeout");
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }), fc.array(kinds), (seed, failures) => {
      const one = Call.underway(policy, seed, 0n);
      let other = Call.underway(policy, seed, 0n);
      let [now, ticket] = [0n, 1];
      for (const kind of failures) {
        const step = one.fail(ticket, now, kind);
        assert.deepEqual(other.fail(ticket, now, kind), step);
        if (step.kind !== "sleep") break;
        other = resumeCall(save(other, now), policy, now);
        now = step.until;
        const next = one.tick(now);
        assert.deepEqual(other.tick(now), next);
        ticket = next.ticket;
      }
    }),
  );
});

test("a clock that was set back makes no sleep longer", () => {
  const policy = new Policy({ attempts: 3, backoff: { kind: "constant", delay: "5s" }, jitter: "none" });
  const layers = new Layers(policy, policy);
  const [layered] = Layered.begin(layers, 1, 7200 * SECOND);
  layered.fail(1, 7200 * SECOND, "transient");
  const left = [7200, 3600, 0, 7204].map((now) => layered.remaining(now * SECOND) / SECOND);
  assert.deepEqual(left, [5, 5, 5, 1]);
});
