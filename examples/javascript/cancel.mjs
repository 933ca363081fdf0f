// A signal cancels the operation wherever it is: here, in a sleep of an hour.
import { outcomeOf, retry } from "holdoff";

const error = await retry(() => Promise.reject(new Error("down")), {
  attempts: "forever",
  backoff: { kind: "constant", delay: "1h" },
  jitter: "none",
  signal: AbortSignal.timeout(20),
}).catch((error) => error);
const { reason, attempts, lastError } = outcomeOf(error);
console.log(`${error.name}: ${reason} after ${attempts} attempt, which failed with "${lastError.message}"`);
