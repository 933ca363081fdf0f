/** Retries of BullMQ 5 jobs, decided by a holdoff policy and recorded in the jobs' hashes in Redis. */
export type { JobStore } from "./history.js";
export { BullRetries, type BullRetriesOptions, type JobWork } from "./retries.js";
