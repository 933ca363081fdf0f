// A worker in a process of its own: `node worker.mjs PORT`. Says on its standard output when the job is in flight that
// it is going to be killed in, and never ends that attempt.
import { Queue, Worker } from "bullmq";
import { BullRetries } from "holdoff-bullmq";
import { failuresOf, HANGING, policy } from "./jobs.mjs";

const connection = { host: "127.0.0.1", port: Number(process.argv[2]), maxRetriesPerRequest: null };
const isVictim = process.argv[3] === "victim";
const queue = new Queue("killed", { connection });
const retries = new BullRetries({ policy, queue, seed: ({ data }) => data.number });
const work = async ({ data: { number } }, { attempt }) => {
  if (isVictim && number === HANGING.number && attempt === HANGING.attempt) {
    process.stdout.write("in flight\n");
    await new Promise(() => {});
  }
  const failure = failuresOf(number)[attempt - 1];
  if (failure) throw Object.assign(new Error("not yet"), failure);
  return number;
};
const worker = new Worker("killed", retries.processor(work), {
  connection,
  ...retries.workerOptions,
  concurrency: 4,
  lockDuration: 1000,
  stalledInterval: 300,
});
worker.on("error", () => {});
process.on("SIGTERM", async () => {
  await worker.close();
  await queue.close();
  process.exit();
});
