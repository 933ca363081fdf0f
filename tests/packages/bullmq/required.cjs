const assert = require("node:assert/strict");
const { outcomeOf } = require("holdoff");
const { BullRetries } = require("holdoff-bullmq");

async function main() {
  const queue = { getJobLogs: async () => ({ logs: [] }) };
  const retries = new BullRetries({ policy: { attempts: 1 }, queue });
  const job = { id: "1", attemptsStarted: 1, opts: retries.jobOptions(), log: async () => {} };
  const error = await retries
    .processor(() => Promise.reject(new Error("down")))(job)
    .catch((error) => error);
  assert.equal(outcomeOf(error).reason, "attempts");
}

main();
