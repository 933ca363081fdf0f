const assert = require("node:assert/strict");
const { ConfigError, outcomeOf, Policy, retry, Schedule } = require("holdoff");

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

  // An error that one copy of the package has seen is understood by the other.
  const modules = await import("holdoff");
  const error = await modules.retry(() => Promise.reject(new TypeError("own mistake"))).catch((error) => error);
  assert.equal(outcomeOf(error).reason, "permanent");
}

main();
