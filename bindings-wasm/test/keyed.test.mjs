/** A store of guards by key loses no guard that is in use, whatever keys a stranger chooses. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Policy } from "holdoff";
import { Bulkhead, KeyedGuards } from "holdoff/guards";
import { VirtualClock } from "./virtual.mjs";

const SECOND = 1_000_000_000;
const OF_ONE = { breaker: { failures: 1, openFor: "1s" }, bulkhead: 1 };

const traffic = fc.array(fc.record({ key: fc.nat(79), gap: fc.nat(200), ends: fc.boolean(), fails: fc.boolean() }), {
  minLength: 200,
  maxLength: 600,
});

test("with ten times more keys than room no breaker closes early and no bulkhead is exceeded", () => {
  let shared = 0;
  fc.assert(
    fc.property(traffic, fc.nat(3), (inputs, idle) => {
      let now = 10_000;
      const keyed = new KeyedGuards(OF_ONE, { most: 8, idle: idle * 1000, now: () => now });
      const [running, openUntil] = [[], new Map()];
      for (const { key, gap, ends, fails } of inputs) {
        now += gap;
        const at = now * 1_000_000;
        if (ends && running.length > 0) {
          const [one] = running.splice(key % running.length, 1);
          one.breaker.record(one.permit, fails ? "failure" : "success", 0n, at);
          one.bulkhead.leave();
          if (fails) openUntil.set(one.key, at + SECOND);
          continue;
        }
        const before = keyed.size;
        const { breaker, bulkhead } = keyed.of(key);
        if (before === 8 && keyed.size === 8) shared++;
        assert.ok(keyed.size <= 8);
        if (bulkhead.enter().kind !== "entered") continue;
        const { permit } = breaker.acquire(at);
        if (permit === undefined) {
          bulkhead.leave();
          continue;
        }
        assert.ok(at >= (openUntil.get(key) ?? 0), `the breaker of ${key} closed early`);
        assert.ok(!running.some((one) => one.key === key), `two calls of ${key}`);
        running.push({ key, breaker, bulkhead, permit });
      }
    }),
    { seed: 1, numRuns: 50 },
  );
  assert.ok(shared > 0);
});

test("a thousand other keys give no bulkhead and no breaker back", async () => {
  const clock = new VirtualClock();
  const policy = new Policy({ attempts: 1 });
  const keyed = new KeyedGuards(OF_ONE, { most: 10, now: () => clock.now() });
  const running = new Map();
  const work = (key) =>
    policy
      .retry(
        async () => {
          running.set(key, (running.get(key) ?? 0) + 1);
          assert.equal(running.get(key), 1);
          await null;
          await null;
          running.set(key, running.get(key) - 1);
          return "ran";
        },
        { guards: keyed.of(key), clock },
      )
      .catch((error) => error.name);
  const ends = await Promise.all(Array.from({ length: 1000 }, (_, call) => work(String(call % 100))));
  assert.deepEqual([...new Set(ends)].sort(), ["Refused", "ran"]);

  const fails = () => {
    throw new Error("down");
  };
  await assert.rejects(policy.retry(fails, { guards: keyed.of("mine"), clock }), /down/);
  for (let other = 0; other < 1000; other++) keyed.of(`other ${other}`);
  await assert.rejects(policy.retry(fails, { guards: keyed.of("mine"), clock }), { name: "Refused" });
});

test("keys that find no place share a set without a name, until it is at rest", () => {
  const names = [];
  const onChange = ({ name }) => names.push(name);
  let now = 0;
  const keyed = new KeyedGuards({ ...OF_ONE, onChange }, { most: 1, now: () => now });
  keyed.of("mine").bulkhead.enter();
  const shared = keyed.of("one");
  assert.equal(keyed.of("two"), shared);
  assert.equal(keyed.size, 1);
  shared.bulkhead.enter();
  keyed.of("mine").bulkhead.leave();
  assert.equal(keyed.of("three"), shared);
  shared.bulkhead.leave();
  assert.notEqual(keyed.of("one"), shared);
  now += 1;
  assert.equal(keyed.size, 1);
});

test("a guard that all keys share keeps no set", () => {
  const bulkhead = new Bulkhead(1);
  bulkhead.enter();
  const keyed = new KeyedGuards({ bulkhead, breaker: {} }, { most: 2 });
  const sets = ["a", "b", "c", "d"].map((key) => keyed.of(key));
  assert.equal(new Set(sets).size, 4);
  assert.equal(keyed.size, 2);
});
