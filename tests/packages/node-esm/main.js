import assert from "node:assert/strict";
import { outcomeOf, Policy, retry, Schedule } from "holdoff";

let calls = 0;
const result = await retry(
  async ({ attempt, signal }) => {
    calls++;
    if (attempt < 3) throw new Error("not yet");
    return [attempt, signal.aborted];
  },
  { attempts: 5, backoff: { initial: "1ms" }, deadline: 5_000 },
);
assert.deepEqual(result, [3, false]);
assert.equal(calls, 3);

const error = await retry(() => Promise.reject(new TypeError("own mistake"))).catch((error) => error);
assert.equal(outcomeOf(error).reason, "permanent");
assert.deepEqual([...new Schedule(new Policy(), 7)], [29650168, 195638392]);
