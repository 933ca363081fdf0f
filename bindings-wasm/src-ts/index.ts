/** Retries decided by one tested core. */
export { init } from "./core.js";
export { ConfigError, OUTCOME, type Outcome, outcomeOf, RetryError } from "./errors.js";
export {
  classify,
  type Facts,
  type Failure,
  grpcFailure,
  type Hint,
  hintOf,
  httpFailure,
  type Verdict,
} from "./failure.js";
export type {
  BackoffFields,
  BackoffKind,
  Duration,
  HintFields,
  JitterFields,
  JitterKind,
  PolicyFields,
  PresetName,
  RetryOnFields,
  RetryOnLists,
} from "./fields.js";
export type { HeadersLike } from "./headers.js";
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
export { Policy } from "./policy.js";
export { type RetryOptions, retry, wrap } from "./retry.js";
export { seed, seedAt } from "./seed.js";
export type { Cause, FailureKind, StopReason } from "./words.js";
