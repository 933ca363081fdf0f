/** The exports that `holdoff` and `holdoff/guards` have in common. */

export type { HeadersLike } from "./answers.js";
export type { Clock } from "./clock.js";
export {
  ConfigError,
  givenUp,
  HookError,
  OUTCOME,
  type Outcome,
  outcomeOf,
  parseDuration,
  parseNanos,
  RetryError,
  seed,
  seedAt,
  stop,
} from "./errors.js";
export { classify, grpcFailure, hintOf, httpFailure } from "./failure.js";
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
export type {
  AttemptEvent,
  ChangeEvent,
  ChangeHook,
  DelayAnswer,
  DelayEvent,
  Facts,
  Failure,
  GiveUpEvent,
  Hint,
  Hooks,
  Judgement,
  RetryEvent,
  SuccessEvent,
  Verdict,
} from "./hooks.js";
export type { AttemptContext, AttemptToken, CallOptions, HostOptions, Work } from "./host.js";
export { init } from "./hot.js";
export type { Step } from "./policy.js";
export { Policy } from "./policy.js";
export {
  type AttemptAt,
  attempts,
  Registry,
  type RetryOptions,
  retry,
  retryStream,
  type StreamOptions,
  type WrapOptions,
  type Wrapped,
  wrap,
} from "./retry.js";
export type { Steps } from "./steps.js";
export type { Duration, Same, Time } from "./values.js";
export type { Cause, FailureKind, StopReason } from "./words.js";
