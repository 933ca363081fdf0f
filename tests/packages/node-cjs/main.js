const assert = require("node:assert/strict");
const { ConfigError, outcomeOf, Policy, retry, Schedule } = require("holdoff");
const { applyJitter } = require("holdoff/machines");
const { explain } = require("holdoff/tools");

async function main() {
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
