import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { outcomeOf, Policy, Retry, retry, Schedule } from "holdoff";
import { Gates, resumeRetry, save } from "holdoff/machines";
import { explain, toJson } from "holdoff/tools";

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

// The other entries know the policies and machines of the first.
const policy = new Policy("kubernetes");
const machine = new Retry(policy, 7n, 0n);
const resumed = resumeRetry(save(machine, 5n), policy, 5n);
assert.deepEqual(resumed.onFailure(9n, "transient"), machine.onFailure(9n, "transient"));
assert.deepEqual(Policy.fromJson(toJson(policy)), policy);
assert.equal(new Gates({ initial: "1s" }).failure("host", 0), 1_000_000_000);
const command = execFileSync("npx", ["--no-install", "holdoff", "explain", "kubernetes"], { encoding: "utf8" });
assert.equal(command.trimEnd(), String(explain("kubernetes")));
