import assert from "node:assert/strict";
import { Policy } from "holdoff";
import { BullRetries } from "holdoff-bullmq";

// The engine knows the policies of the installed library, and loads nothing of BullMQ itself.
const fields = {};
const client = { hgetall: async () => fields, hset: async (_, more) => Object.assign(fields, more) };
const queue = { toKey: (id) => `bull:q:${id}`, client: Promise.resolve(client) };
const retries = new BullRetries({ policy: new Policy("kubernetes"), queue });
const job = { id: "1", attemptsStarted: 1, opts: retries.jobOptions() };
assert.equal(await retries.processor(async (_, { attempt }) => attempt)(job), 1);
assert.equal(Object.keys(fields).length, 2);
