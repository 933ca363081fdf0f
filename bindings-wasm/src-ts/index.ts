/** Retries decided by one tested core. */
export { init } from "./core.js";
export { ConfigError, OUTCOME, type Outcome, outcomeOf, RetryError } from "./errors.js";
export { classify, type Failure, type Hint, httpFailure, type Verdict } from "./failure.js";
export type { AttemptContext, Clock, HostOptions, RetryInfo, Work } from "./host.js";
export {
  Call,
  type Decision,
  parseDuration,
  parseNanos,
  Retry,
  type Same,
  Schedule,
  type Step,
  type Time,
} from "./machine.js";
export {
  type BackoffFields,
  type Duration,
  type HintFields,
  type JitterFields,
  Policy,
  type PolicyFields,
} from "./policy.js";
export { type RetryOptions, retry, wrap } from "./retry.js";
export { seed, seedAt } from "./seed.js";
export type { Cause, FailureKind, StopReason } from "./words.js";
