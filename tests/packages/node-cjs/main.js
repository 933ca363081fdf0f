const assert = require("node:assert/strict");
const { ConfigError, outcomeOf, Policy, retry } = require("holdoff");
const { applyJitter, explain, Schedule } = require("holdoff/tools");

async function main() {
  // Guards need their own entry, and a policy that has some says so.
  const policy = new Policy({ attempts: 1, breaker: { failures: 1 } });
  const down = () => Promise.reject(new Error("down"));
  await assert.rejects(policy.retry(down), { word: "not_supported", message: /needs import "holdoff\/guards"/ });
  const { Guards, Refused } = require("holdoff/guards");
  assert.equal(policy.guards.breaker.state(), "closed");
  await assert.rejects(policy.retry(down), /down/);
  await assert.rejects(policy.retry(down), Refused);
  assert.equal(await retry(() => 1, { guards: new Guards({ hedge: "10ms" }) }), 1);
  assert.equal(require("holdoff/node").currentToken(), undefined);
  assert.equal(await require("holdoff/lite").retry(({ attempt }) => attempt, { deadline: 1000 }), 1);

  // The module with logs takes the place of the guards' own.
  const { Recorder, replay } = require("holdoff/tools");
  const open = new Guards({ breaker: { failures: 1 } });
  const [recorder, { events }] = Recorder.begin(new Policy(), 7, 0, { guards: open });
  assert.equal(recorder.fail(1, 5, "transient").step.reason, "breaker");
  assert.equal(replay(new Policy(), events).sequence, 1);
  assert.equal(policy.guards.breaker.state(), "open");
  await new (require("holdoff/timers").Timers)().sleep(1);

  const told = [];
  const remove = require("holdoff/telemetry").listen({ onSuccess: ({ value }) => told.push(value) });
  await retry(() => 1);
  await require("holdoff/guards").retry(() => 2, { guards: new Guards({ bulkhead: 1 }) });
  remove();
  await retry(() => 3);
  assert.deepEqual(told, [1, 2]);

  const result = await retry(
    ({ attempt }) => {
      if (attempt < 3) throw new Error("not yet");
      return attempt;
    },
    { attempts: 5, backoff: { initial: "1ms" } },
  );
  assert.equal(result, 3);
  assert.deepEqual([...new Schedule(new Policy(), 7)], [29650168, 195638392]);
  assert.throws(() => new Policy({ attempts: 0 }), ConfigError);

  assert.equal(applyJitter(new Policy(), 1000, 9000, 0.5), 500);
  assert.equal(explain(new Policy()).rows.length, 2);

  // An error that one copy of the package has seen is understood by the other.
  const modules = await import("holdoff");
  const error = await modules.retry(() => Promise.reject(new TypeError("own mistake"))).catch((error) => error);
  assert.equal(outcomeOf(error).reason, "permanent");
}

main();
