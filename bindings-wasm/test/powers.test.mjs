import assert from "node:assert/strict";
import { test } from "node:test";
import { Policy, retry } from "holdoff";
import { VirtualClock } from "./virtual.mjs";

const down = new Error("down");

/** The delays of an operation that fails, as it makes them. */
function delaysOf(clock, options) {
  const delays = [];
  const onRetry = ({ delayMs }) => delays.push(delayMs);
  const ended = retry(() => Promise.reject(down), { jitter: "none", clock, onRetry, ...options }).catch((error) =>
    assert.equal(error, down),
  );
  return { delays, ended };
}

const sleeps = async ({ delays }) => {
  while (delays.length === 0) await new Promise(setImmediate);
};

test("sleeping operations go on when others make holdoff take the module of policies", async () => {
  const clock = new VirtualClock();
  const first = delaysOf(clock, { attempts: 4, backoff: { kind: "linear", initial: 10 } });
  await sleeps(first);
  await import("holdoff/policies");
  const squares = delaysOf(clock, { attempts: 4, backoff: { kind: "polynomial", initial: 3, exponent: 2 } });
  await sleeps(squares);
  assert.ok(new Policy({ preset: "aws-standard-2.1", budget: "none" }));
  await import("holdoff/rules");
  const rules = [{ if: { kinds: ["transient"] }, attempts: 3, backoff: { kind: "constant", delay: 7 } }];
  const ruled = delaysOf(clock, { attempts: 9, backoff: { kind: "polynomial", initial: 3, exponent: 2 }, rules });
  await clock.settled(Promise.all([first.ended, squares.ended, ruled.ended]));
  assert.deepEqual(first.delays, [10, 20, 30]);
  assert.deepEqual(squares.delays, [3, 12, 27]);
  assert.deepEqual(ruled.delays, [7, 7]);
});
