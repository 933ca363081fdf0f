import assert from "node:assert/strict";
import { test } from "node:test";
import { retry } from "holdoff";
import { VirtualClock } from "./virtual.mjs";

const down = new Error("down");

test("a sleeping operation goes on when another one makes holdoff take the module with powers", async () => {
  const clock = new VirtualClock();
  const delaysOf = (backoff) => {
    const delays = [];
    const onRetry = ({ delay }) => delays.push(delay);
    const options = { attempts: 4, jitter: "none", clock, onRetry };
    const ended = retry(() => Promise.reject(down), { ...options, backoff }).catch((error) =>
      assert.equal(error, down),
    );
    return { delays, ended };
  };
  const sleeping = delaysOf({ kind: "linear", initial: 10 });
  while (sleeping.delays.length === 0) await new Promise(setImmediate);
  await import("holdoff/powers");
  const squares = delaysOf({ kind: "polynomial", initial: 3, exponent: 2 });
  await clock.settled(Promise.all([sleeping.ended, squares.ended]));
  assert.deepEqual(sleeping.delays, [10, 20, 30]);
  assert.deepEqual(squares.delays, [3, 12, 27]);
});
