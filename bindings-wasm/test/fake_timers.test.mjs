// Guards outlive a test, so they live through clocks that tests install and take away.
import assert from "node:assert/strict";
import { test } from "node:test";
import { withGlobal } from "@sinonjs/fake-timers";
import { retry } from "holdoff";
import { Guards, Refused } from "holdoff/guards";
import * as lite from "holdoff/lite";
import { failure } from "./virtual.mjs";

const TIMERS = ["setTimeout", "clearTimeout", "Date"];
const down = () => Promise.reject(new Error("down"));

test("a breaker closes again under the fake clock of each test, and under the real one after them", async () => {
  const guards = new Guards({ breaker: { failures: 1, openFor: "30s" } });
  const quick = new Guards({ breaker: { failures: 1, openFor: "5ms" } });
  await failure(retry(down, { guards, attempts: 1 }));
  for (let turn = 0; turn < 3; turn++) {
    const clock = withGlobal(globalThis).install({ toFake: [...TIMERS, "performance"] });
    try {
      if (turn < 2) assert.ok((await failure(retry(down, { guards, attempts: 1 }))) instanceof Refused);
      await clock.tickAsync(30_000);
      assert.equal(await retry(() => "up", { guards }), "up");
      assert.equal(guards.breaker.state(), "closed");
      await clock.tickAsync(3_600_000);
      for (const breaker of [guards, quick]) await failure(retry(down, { guards: breaker, attempts: 1 }));
    } finally {
      clock.uninstall();
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
    assert.equal(await retry(() => "up", { guards: quick }), "up");
  }
});

for (const [name, run] of [
  ["holdoff", retry],
  ["holdoff/lite", lite.retry],
]) {
  const options = { attempts: 4, backoff: { kind: "constant", delay: 60_000 }, jitter: "none" };

  test(`${name}: a sleep ends with its timer where only timers are fake`, async () => {
    const clock = withGlobal(globalThis).install({ toFake: TIMERS });
    try {
      const both = [run(down, options)];
      // The second one begins later by the real clock.
      await new Promise(setImmediate);
      for (const begun = performance.now(); performance.now() - begun < 30; );
      both.push(run(down, { ...options, deadline: 150_000 }), run(down, options));
      const ended = Promise.all(both.map(failure));
      await clock.tickAsync(180_000);
      const reasons = (await ended).map((error) => lite.outcomeOf(error).reason);
      assert.deepEqual(reasons, ["attempts", "deadline", "attempts"]);
      assert.equal(clock.countTimers(), 0);
    } finally {
      clock.uninstall();
    }
  });

  test(`${name}: a setTimeout that calls back at once grows no stack`, async (context) => {
    context.mock.method(globalThis, "setTimeout", (callback) => callback());
    let attempts = 0;
    const work = () => {
      if (++attempts < 20_000) throw new Error("down");
      return "up";
    };
    assert.equal(await run(work, { ...options, attempts: "forever" }), "up");
  });
}

test("a sleep ends with its timer under the mock timers of node:test", async ({ mock }) => {
  mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const third = ({ attempt }) => (attempt < 3 ? down() : attempt);
  const options = { backoff: { kind: "constant", delay: "30s" }, jitter: "none", deadline: "90s" };
  const both = Promise.all([retry(third, options), failure(retry(down, options))]);
  for (let turn = 0; turn < 3; turn++) {
    await new Promise(setImmediate);
    mock.timers.tick(30_000);
  }
  const [value, error] = await both;
  assert.deepEqual([value, lite.outcomeOf(error).reason, lite.outcomeOf(error).attempts], [3, "deadline", 3]);
});
