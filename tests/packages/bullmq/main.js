import assert from "node:assert/strict";
import { Policy } from "holdoff";
import { BullRetries } from "holdoff-bullmq";

// The engine knows the policies of the installed library, and loads nothing of BullMQ itself.
const lines = [];
const queue = { getJobLogs: async () => ({ logs: lines }) };
const retries = new BullRetries({ policy: new Policy("kubernetes"), queue });
const job = { id: "1", attemptsStarted: 1, opts: retries.jobOptions(), log: async (line) => lines.push(line) };
assert.equal(await retries.processor(async (_, { attempt }) => attempt)(job), 1);
assert.equal(lines.length, 2);
