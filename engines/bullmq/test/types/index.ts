/** What consumers see: compiled, never run. */
import type { Job, Queue, WorkerOptions } from "bullmq";
import { BullRetries } from "holdoff-bullmq";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const check = <A, B>(_: Same<A, B> extends true ? true : false): void => {};

declare const queue: Queue<{ amount: number }, string>;
const retries = new BullRetries({
  policy: "temporal",
  queue,
  when: (error) => error !== undefined,
  seed: ({ id }) => BigInt(id ?? 0),
});
queue.add("charge", { amount: 5 }, retries.jobOptions({ priority: 2 }));
const processor = retries.processor(async (job: Job<{ amount: number }, string>, { attempt, signal, token }) => {
  check<typeof attempt, number>(true);
  check<typeof signal, AbortSignal>(true);
  check<typeof token, string | undefined>(true);
  return String(job.data.amount);
});
check<ReturnType<typeof processor>, Promise<string>>(true);
const workerOptions: Partial<WorkerOptions> = { ...retries.workerOptions };
check<typeof workerOptions, Partial<WorkerOptions>>(true);
