/** Retries for pages to which every kilobyte counts: the same decisions as `holdoff`, without its reader of anything but numbers. */
import { bareCopy } from "../values.js";
import type { RetryOptions, Work } from "./options.js";
import { noTime, policyOf } from "./policy.js";
import { run } from "./run.js";

export type { Clock } from "../clock.js";
export type { Cause, FailureKind, StopReason } from "../words.js";
export type * from "./options.js";
export { ConfigError, OUTCOME, type Outcome, outcomeOf, RetryError } from "./policy.js";

/**
 * Runs `fn` until it succeeds or the policy says stop; then the last error comes out as it was thrown, with its outcome
 * attached (see {@link outcomeOf}). Options that break a rule reject with a {@link ConfigError} before `fn` runs.
 */
export function retry<T>(fn: Work<T>, options: RetryOptions = {}): Promise<Awaited<T>> {
  try {
    return run(fn, policyOf(options), bareCopy(options));
  } catch (error) {
    return Promise.reject(error);
  }
}

/** A function that retries `fn`, with its arguments and its `this`. Throws a {@link ConfigError} at once. */
export function wrap<This, Args extends readonly unknown[], T>(
  fn: (this: This, ...args: Args) => T,
  options: RetryOptions = {},
): (this: This, ...args: Args) => Promise<Awaited<T>> {
  const policy = policyOf(options);
  const own = bareCopy(options);
  if (policy.limit === 0) throw noTime(options.deadline);
  return function (this: This, ...args: Args) {
    return run(() => fn.apply(this, args as never), policy, own);
  };
}
