/** The exports that `holdoff` and `holdoff/guards` have in common. */
export { type AttemptAt, attempts } from "./attempts_loop.js";
export { givenUp, stop } from "./chain.js";
export type { Clock } from "./clock.js";
export type { DelayAnswer, DelayEvent } from "./delay.js";
export { ConfigError, HookError, OUTCOME, type Outcome, outcomeOf, RetryError } from "./errors.js";
export {
  classify,
  type Facts,
  type Failure,
  grpcFailure,
  type Hint,
  hintOf,
  httpFailure,
  type Judgement,
  type Verdict,
} from "./failure.js";
export type {
  BackoffFields,
  BackoffKind,
  Conditions,
  HintFields,
  JitterFields,
  JitterKind,
  NeverRule,
  PolicyFields,
  PresetName,
  RetryRule,
  Rule,
  StageFields,
} from "./fields.js";
export type { HeadersLike } from "./headers.js";
export type { AttemptEvent, ChangeEvent, ChangeHook, GiveUpEvent, Hooks, RetryEvent, SuccessEvent } from "./hooks.js";
export type { AttemptContext, CallOptions, HostOptions, Work } from "./host.js";
export { init } from "./hot.js";
export { Policy } from "./policy.js";
export { Registry } from "./registry.js";
export { type RetryOptions, retry, type WrapOptions, type Wrapped, wrap } from "./retry.js";
export { seed, seedAt } from "./seed.js";
export type { Step } from "./steps.js";
export { retryStream, type StreamOptions } from "./stream.js";
export { type Duration, parseDuration, parseNanos, type Same, type Time } from "./times.js";
export type { Cause, FailureKind, StopReason } from "./words.js";
