/** Retries of BullMQ 5 jobs, decided by a policy and written down in the jobs' logs. */
import { letPoliciesHaveGuards } from "../guards/guards.js";

export type { JobLogs } from "./history.js";
export { BullRetries, type BullRetriesOptions, type JobWork } from "./retries.js";

letPoliciesHaveGuards();
