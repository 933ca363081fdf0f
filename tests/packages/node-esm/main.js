import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { outcomeOf, Policy, retry } from "holdoff";
import "holdoff/policies";
import { Guards, Token } from "holdoff/guards";
import * as lite from "holdoff/lite";
import { currentToken } from "holdoff/node";
import { Timers, Wheel } from "holdoff/timers";
import { Event, explain, Gates, Recorder, Retry, replay, resumeRetry, Schedule, save, toJson } from "holdoff/tools";

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

// The small entry stands alone, and says how it ended in the same place.
const third = ({ attempt }) => (attempt < 3 ? Promise.reject(new Error("not yet")) : attempt);
assert.equal(await lite.retry(third, { backoff: { initial: 1 } }), 3);
const refused = await lite
  .wrap(third, { attempts: 1 })({ attempt: 1 })
  .catch((error) => error);
assert.deepEqual([lite.outcomeOf(refused), outcomeOf(refused).reason], [outcomeOf(refused), "attempts"]);

// The other entries know the policies and machines of the first.
const policy = new Policy("kubernetes");
const machine = new Retry(policy, 7n, 0n);
const resumed = resumeRetry(save(machine, 5n), policy, 5n);
assert.deepEqual(resumed.onFailure(9n, "transient"), machine.onFailure(9n, "transient"));
assert.deepEqual(Policy.fromJson(toJson(policy)).words, policy.words);
assert.equal(new Gates({ initial: "1s" }).failure("host", 0), 1_000_000_000);
// So do the guards, which the first entry runs without knowing them.
const guarded = new Policy({ attempts: 1, breaker: { failures: 1 }, nested: "allow" });
const down = () => Promise.reject(new Error("down"));
assert.equal((await guarded.retry(down).catch((error) => error)).message, "down");
assert.equal((await guarded.retry(down).catch((error) => error)).name, "Refused");
assert.equal(await retry(down, { guards: new Guards({ bulkhead: 1 }), attempts: 1, fallback: () => "old" }), "old");
const seen = await guarded.retry(() => currentToken(), { guards: new Guards({}) });
assert.ok(seen instanceof Token && seen.header === "1");
assert.equal(JSON.parse(toJson(guarded)).breaker.failures, 1);

// A call's log makes the call again; timers know the durations of the first entry.
const shared = new Guards({ breaker: { failures: 2 } });
const [recorder, { events }] = Recorder.begin(policy, 7n, 0n, { guards: shared });
const log = [...events, ...recorder.fail(1, 5n, "transient", "down").events];
const replayed = replay(policy, Buffer.concat(log.map((event) => Event.toBytes(event))), { mode: "verify" });
assert.deepEqual(replayed.step, recorder.step);
assert.deepEqual(save(replayed.call, 5n), save(recorder.call, 5n));
const timers = new Timers();
await timers.sleep("1ms");
assert.equal(await retry(({ attempt }) => attempt, { clock: timers }), 1);
assert.equal(new Wheel().nextWake, undefined);
const command = execFileSync("npx", ["--no-install", "holdoff", "explain", "kubernetes"], { encoding: "utf8" });
assert.ok(command.startsWith(String(explain("kubernetes")).split("\n\n")[0]), command);
// A debugger shows the TypeScript of each file, for `import` and for `require`.
for (const path of ["shared.js.map", "../cjs/shared.js.map"]) {
  const map = JSON.parse(readFileSync(new URL(path, import.meta.resolve("holdoff")), "utf8"));
  const at = map.sources.findIndex((name) => name.endsWith("src-ts/operation.ts"));
  assert.match(map.sourcesContent[at], /class Operation/);
}
