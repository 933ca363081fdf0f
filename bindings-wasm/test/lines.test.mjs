import assert from "node:assert/strict";
import { test } from "node:test";
import { retry } from "holdoff";
import { Guards } from "holdoff/guards";
import { failure, VirtualClock } from "./virtual.mjs";

const limited = (limit, others) =>
  new Guards({ limiter: { limit, per: "1s", burst: 1, refusal: "wait" }, now: 0, ...others });

/** Starts a call that notes when its attempt begins. */
const call = (begun, number, options, takes = 0) =>
  retry(
    async () => {
      begun.push([number, options.clock.time - 1000]);
      if (takes) await new Promise((resolve) => options.clock.setTimeout(resolve, takes));
    },
    { attempts: 1, ...options },
  );

test("a thousand calls wait for a limit in order, each for its slot", async () => {
  const [clock, guards, begun] = [new VirtualClock(), limited(500), []];
  const calls = Array.from({ length: 1000 }, (_, number) => call(begun, number, { clock, guards }));
  await clock.settled(Promise.all(calls));
  assert.equal(begun.length, 1000);
  for (const [at, [number, time]] of begun.entries()) {
    assert.equal(number, at);
    assert.ok(time >= number * 2 && time <= number * 2 + 2, `${number} at ${time}`);
  }
});

test("a call that is cancelled gives its slot to the next", async () => {
  const [clock, guards, begun, leaving] = [new VirtualClock(), limited(10), [], new AbortController()];
  const calls = Array.from({ length: 8 }, (_, number) => {
    const leaves = [2, 4, 5].includes(number);
    const running = call(begun, number, { clock, guards, signal: leaves ? leaving.signal : undefined });
    return leaves ? failure(running) : running;
  });
  clock.setTimeout(() => leaving.abort(), 150);
  await clock.settled(Promise.all(calls));
  assert.deepEqual(begun, [
    [0, 0],
    [1, 100],
    [3, 200],
    [6, 300],
    [7, 400],
  ]);
});

test("a limit before a queue holds in every second", async () => {
  const [clock, begun] = [new VirtualClock(), []];
  const guards = limited(10, { bulkhead: { limit: 1, queue: 200 } });
  const calls = [call(begun, 0, { clock, guards }, 6000)];
  for (let number = 1; number < 60; number++) calls.push(call(begun, number, { clock, guards }, 1));
  await clock.settled(Promise.all(calls));
  assert.deepEqual(
    begun.map(([number]) => number),
    Array.from({ length: 60 }, (_, number) => number),
  );
  for (let at = 10; at < 60; at++) assert.ok(begun[at][1] - begun[at - 10][1] >= 1000, String(begun[at]));
});

/** When attempts begin, after a failure that opens the breaker, of a thousand calls that wait at it; each takes that long. */
async function behind(ramp, takes) {
  const [clock, begun] = [new VirtualClock(), []];
  const guards = new Guards({ breaker: { failures: 1, openFor: "10s", refusal: "wait", ramp }, now: 0 });
  const fails = () => Promise.reject(new Error("down"));
  await failure(retry(fails, { attempts: 1, clock, guards }));
  const calls = Array.from({ length: 1000 }, (_, number) => call(begun, number, { clock, guards }, takes));
  await clock.settled(Promise.all(calls));
  assert.equal(begun.length, 1000);
  return begun.map(([, time]) => time);
}

test("of a thousand calls behind a probe at most 32 begin within 10 ms", async () => {
  for (const takes of [0, 1, 5, 20]) {
    const [probe, ...others] = await behind("double", takes);
    const early = others.filter((time) => time <= probe + takes + 10).length;
    assert.ok(early >= 1 && early <= 32, `${early} of ${takes}`);
    assert.ok(others.at(-1) < probe + 1000, String(others.at(-1)));
  }
  const [probe, ...others] = await behind("none", 20);
  assert.ok(others.every((time) => time <= probe + 20));
});
