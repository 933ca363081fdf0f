import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { ConfigError, retry } from "holdoff";
import { Timers, Wheel } from "holdoff/timers";
import { failure, VirtualClock } from "./virtual.mjs";

const NEVER = 2n ** 64n - 1n;

/** A wheel as anybody would write it down: an array that is sorted whenever it is asked. */
class Sorted {
  timers = [];
  latest = 0n;

  insert(at, key) {
    this.timers.push({ at, key });
  }

  cancel(key) {
    const known = this.timers.length;
    this.timers = this.timers.filter((timer) => timer.key !== key);
    return this.timers.length < known;
  }

  pop(now) {
    if (now > this.latest) this.latest = now === NEVER ? NEVER - 1n : now;
    const [first] = this.timers.toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
    if (first === undefined || first.at > this.latest) return undefined;
    this.timers.splice(this.timers.indexOf(first), 1);
    return first;
  }

  get nextWake() {
    const times = this.timers.map(({ at }) => at).filter((at) => at !== NEVER);
    return times.length === 0 ? undefined : times.reduce((a, b) => (a < b ? a : b));
  }
}

const time = fc.oneof(
  fc.bigInt(0n, 100n),
  fc.bigInt(0n, 5n << 20n),
  fc.bigInt(0n, 1n << 40n),
  fc.bigInt(0n, NEVER),
  fc.constant(NEVER),
);
const op = fc.oneof(
  fc.record({ op: fc.constant("insert"), at: time }),
  fc.record({ op: fc.constant("cancel"), which: fc.nat(40) }),
  fc.record({ op: fc.constant("pop"), now: time, times: fc.integer({ min: 1, max: 5 }) }),
  fc.record({ op: fc.constant("advance"), by: fc.bigInt(0n, 1n << 30n) }),
  fc.record({ op: fc.constant("clear") }),
);

test("a wheel answers as a sorted array does", () => {
  fc.assert(
    fc.property(fc.array(op, { maxLength: 80 }), (ops) => {
      const [wheel, sorted] = [new Wheel(), new Sorted()];
      const keys = [];
      let now = 0n;
      for (const { op, at, which, now: jump, times, by } of ops) {
        if (op === "insert") {
          const key = wheel.insert(at);
          assert.ok(!sorted.timers.some((timer) => Wheel.index(timer.key) === Wheel.index(key)));
          keys.push(key);
          sorted.insert(at, key);
        } else if (op === "cancel") {
          const key = keys[which % keys.length] ?? 5n;
          assert.equal(wheel.cancel(key), sorted.cancel(key));
        } else if (op === "clear") {
          wheel.clear();
          sorted.timers = [];
        } else {
          now = op === "pop" ? jump : now + by > NEVER ? NEVER : now + by;
          for (let n = 0; n < (times ?? 100); n++) assert.deepEqual(wheel.pop(now), sorted.pop(now));
        }
        assert.equal(wheel.nextWake, sorted.nextWake);
        assert.equal(wheel.size, sorted.timers.length);
      }
    }),
    { numRuns: 500 },
  );
});

test("times of a wheel may be numbers, which come back as such", () => {
  const wheel = new Wheel();
  const key = wheel.insert(5);
  wheel.insert(Infinity);
  assert.equal(wheel.nextWake, 5n);
  assert.equal(wheel.pop(4), undefined);
  assert.deepEqual(wheel.pop(7), { key, at: 5 });
  assert.equal(wheel.pop(Infinity), undefined);
  assert.throws(() => wheel.insert(-1), ConfigError);
  assert.throws(() => wheel.cancel(5), ConfigError);
});

test("memory that a wheel has grown to is read where it lies now", () => {
  const wheel = new Wheel();
  const keys = Array.from({ length: 200_000 }, (_, at) => wheel.insert(BigInt(200_000 - at) << 21n));
  assert.equal(new Set(keys).size, 200_000);
  for (let at = 199_999; at >= 0; at--) assert.equal(wheel.pop(1n << 62n).key, keys[at]);
});

test("a wheel that nobody holds takes its memory with it", async () => {
  const gone = [];
  const registry = new FinalizationRegistry((name) => gone.push(name));
  for (let n = 0; n < 20; n++) {
    const wheel = new Wheel();
    for (let at = 0; at < 10_000; at++) wheel.insert(at);
    registry.register(wheel.core.memory, n);
  }
  for (let turn = 0; turn < 20 && gone.length < 19; turn++) {
    globalThis.gc();
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.ok(gone.length >= 19, `${gone.length} of 20`);
  // A registry that is collected itself tells nothing.
  registry.unregister({});
});

/** Timers on a clock of their own that counts what it is asked. */
function virtual(options) {
  const clock = new VirtualClock();
  return { clock, timers: new Timers({ clock, ...options }) };
}

test("sleepers wake in the order of their times, on one timer of the host", async () => {
  const { clock, timers } = virtual();
  const woken = [];
  const sleeps = Array.from({ length: 1000 }, (_, n) => {
    const long = (n * 7919) % 1000;
    return timers.sleep(long).then(() => woken.push([long, clock.time - 1000]));
  });
  assert.equal(clock.timers.size, 1);
  assert.equal(timers.size, 1000);
  await clock.settled(Promise.all(sleeps));
  assert.deepEqual(
    woken,
    Array.from({ length: 1000 }, (_, n) => [n, n]),
  );
  assert.deepEqual([clock.timers.size, timers.size], [0, 0]);
});

test("the one timer is set again only for a sleep that ends earlier", () => {
  const { clock, timers } = virtual();
  let set = 0;
  const { setTimeout } = clock;
  clock.setTimeout = (...args) => {
    set++;
    return setTimeout(...args);
  };
  for (const long of [500, 600, 500, 400, 450, 1e9]) timers.sleep(long);
  assert.equal(set, 2);
  assert.equal(clock.timers.size, 1);
});

test("a sleep ends with its signal, and leaves no listener and no timer", async () => {
  const { clock, timers } = virtual();
  const controller = new AbortController();
  const { signal } = controller;
  let listeners = 0;
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...args) => {
    listeners++;
    addEventListener.apply(signal, args);
  };
  signal.removeEventListener = (...args) => {
    listeners--;
    removeEventListener.apply(signal, args);
  };
  const [one, other] = [timers.sleep("1h", { signal }), timers.sleep(5, { signal })];
  assert.equal(listeners, 1);
  await clock.settled(other);
  const reason = new Error("enough");
  controller.abort(reason);
  assert.equal(await failure(one), reason);
  assert.deepEqual([listeners, clock.timers.size, timers.size], [0, 0, 0]);
  assert.equal(await failure(timers.sleep(5, { signal })), reason);
  assert.equal(timers.size, 0);
});

test("a sleep may last for years", async () => {
  const { clock, timers } = virtual();
  await clock.settled(timers.sleep(100 * 24 * 3600 * 1000));
  assert.equal(clock.time, 1000 + 100 * 24 * 3600 * 1000);
  assert.equal(clock.longest, 2 ** 31 - 1);
  timers.setTimeout(() => assert.fail("never is never"), Infinity);
  assert.deepEqual([timers.size, clock.timers.size], [1, 0]);
});

test("a timer that is taken back does not fire, also by one that fires at the same time", async () => {
  const { clock, timers } = virtual();
  const fired = [];
  const first = timers.setTimeout(() => {
    fired.push("first");
    timers.clearTimeout(second);
    timers.clearTimeout(first);
    timers.setTimeout(() => fired.push("later"), 0);
  }, 5);
  const second = timers.setTimeout(() => fired.push("second"), 5);
  timers.setTimeout(() => fired.push("third"), 5);
  timers.clearTimeout(timers.setTimeout(() => fired.push("gone"), 1));
  timers.clearTimeout(undefined);
  timers.clearTimeout({});
  new Timers().clearTimeout(second);
  await clock.settled(timers.sleep(6));
  timers.clearTimeout(second);
  assert.deepEqual(fired, ["first", "third", "later"]);
  assert.equal(timers.size, 0);
});

test("another's timer is not taken back, were it due", async () => {
  const [one, other] = [new Timers(), new Timers()];
  const fired = [];
  let due;
  one.setTimeout(() => {
    other.clearTimeout(due);
    fired.push(1);
  }, 1);
  due = one.setTimeout(() => fired.push(2), 1);
  await other.sleep(5);
  assert.deepEqual([fired, one.size, other.size], [[1, 2], 0, 0]);
});

test("nobody sleeps by a signal that is none", async () => {
  const timers = new Timers();
  await assert.rejects(timers.sleep("1h", { signal: {} }), TypeError);
  assert.equal(timers.size, 0);
});

test("a number that is no key cancels nothing", () => {
  const wheel = new Wheel();
  const key = wheel.insert(5n);
  for (const wrong of [key + 2n ** 64n, key - 2n ** 64n, -key, 0n]) assert.equal(wheel.cancel(wrong), false);
  assert.equal(wheel.cancel(key), true);
});

test("an error of a callback is the host's, and the others are called all the same", async () => {
  const { clock, timers } = virtual();
  const fired = [];
  const raised = [];
  const { setTimeout } = clock;
  clock.setTimeout = (callback, milliseconds) =>
    setTimeout(() => {
      try {
        callback();
      } catch (error) {
        raised.push(error);
      }
    }, milliseconds);
  for (const n of [1, 2, 3]) {
    timers.setTimeout(() => {
      fired.push(n);
      throw n;
    }, 5);
  }
  await clock.settled(timers.sleep(5));
  assert.deepEqual(
    [fired, raised],
    [
      [1, 2, 3],
      [1, 2, 3],
    ],
  );
});

test("timers take any times in any order, and never fire early", async () => {
  const action = fc.record({ after: fc.nat(50), long: fc.nat(3000), drop: fc.option(fc.nat(20)) });
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 60 }), async (actions) => {
      const { clock, timers } = virtual();
      const sleepers = [];
      const woken = [];
      for (const { after, long, drop } of actions) {
        clock.time += after;
        const due = clock.time + long;
        const sleeper = { due, timer: timers.setTimeout(() => woken.push([due, clock.time]), long) };
        sleepers.push(sleeper);
        if (drop !== null) {
          const other = sleepers[drop % sleepers.length];
          timers.clearTimeout(other.timer);
          other.due = undefined;
        }
      }
      await clock.settled(timers.sleep(10_000));
      const expected = sleepers.map(({ due }) => due).filter((due) => due !== undefined);
      assert.deepEqual(
        woken.map(([due]) => due),
        expected.sort((a, b) => a - b),
      );
      for (const [due, at] of woken) assert.ok(at >= due);
    }),
    { numRuns: 50 },
  );
});

test("a great many leave no memory behind", async () => {
  const { clock, timers } = virtual();
  const sleeps = Array.from({ length: 70_000 }, () => timers.sleep(5));
  const { memory } = timers.wheel.core;
  assert.ok(memory.buffer.byteLength > 1_000_000);
  await clock.settled(Promise.all(sleeps));
  assert.ok(timers.wheel.core.memory.buffer.byteLength < 300_000);
  await clock.settled(timers.sleep(5));
});

test("retries sleep on them", async () => {
  const { clock, timers } = virtual();
  const options = { attempts: 4, backoff: { initial: "1s" }, jitter: "none", budget: "none", clock: timers };
  const work = ({ attempt }) => {
    if (attempt < 4) throw new Error("not yet");
    return clock.time;
  };
  const all = Promise.all(Array.from({ length: 100 }, () => retry(work, options)));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(clock.timers.size, 1);
  assert.deepEqual(await clock.settled(all), Array(100).fill(8000));
});

test("what is no time and no callback is refused", async () => {
  const { timers } = virtual();
  assert.ok((await failure(timers.sleep("soon"))) instanceof ConfigError);
  assert.ok((await failure(timers.sleep(-1))) instanceof ConfigError);
  assert.throws(() => timers.setTimeout("", 5), ConfigError);
  assert.equal(timers.size, 0);
});

test("on the host's clock nobody wakes early, and sleepers may let the process end", async () => {
  const timers = new Timers();
  const begun = performance.now();
  await Promise.all([1, 5, 20].map((long) => timers.sleep(long)));
  assert.ok(performance.now() - begun >= 20);
  const program = `
    import { Timers } from "holdoff/timers";
    new Timers({ unref: true }).sleep("1h");
    await new Timers().sleep(20);
    console.log("slept");`;
  const cwd = fileURLToPath(new URL("..", import.meta.url));
  const out = execFileSync(process.execPath, ["--input-type=module", "--eval", program], { cwd, timeout: 20_000 });
  assert.equal(String(out), "slept\n");
});
