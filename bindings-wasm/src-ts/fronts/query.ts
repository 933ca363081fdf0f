/** Options of TanStack Query that leave its retries to a policy. */
import { frontOfSteps, type GivenOptions } from "./http.js";

/**
 * The options `retry` and `retryDelay` of a query or of a `QueryClient`. Query says which failure it is and not of which query, so the policy's
 * deadline counts from the failure.
 */
export function queryRetry(given?: GivenOptions) {
  const front = frontOfSteps(given);
  let latest: { count: number; error: unknown; delayMs: number | undefined } | undefined;
  /** Query asks twice about each failure, for the delay first. */
  const delayOf = (count: number, error: unknown): number | undefined => {
    if (latest?.count !== count || latest.error !== error) {
      const options = front.optionsOf({ method: "query", url: undefined, idempotent: true });
      latest = { count, error, delayMs: front.policy.start(options, count).failed(error)?.delayMs };
    }
    return latest.delayMs;
  };
  return {
    retry: (count: number, error: unknown): boolean => delayOf(count, error) !== undefined,
    retryDelay: (count: number, error: unknown): number => delayOf(count, error) ?? 0,
  };
}
