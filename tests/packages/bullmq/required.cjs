const assert = require("node:assert/strict");
const { outcomeOf } = require("holdoff");
const { BullRetries } = require("holdoff-bullmq");

async function main() {
  const client = Promise.resolve({ hgetall: async () => ({}), hset: async () => {} });
  const queue = { toKey: (id) => `bull:q:${id}`, client };
  const retries = new BullRetries({ policy: { attempts: 1 }, queue });
  const job = { id: "1", attemptsStarted: 1, opts: retries.jobOptions() };
  const error = await retries
    .processor(() => Promise.reject(new Error("down")))(job)
    .catch((error) => error);
  assert.equal(outcomeOf(error).reason, "attempts");
}

main();
