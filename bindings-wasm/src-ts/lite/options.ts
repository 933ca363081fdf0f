/** What `holdoff/lite` takes: a part of what `holdoff` does, under the same names. */
import type { Clock } from "../clock.js";
import type { RetryInfo } from "../host.js";
import type { FailureKind } from "../words.js";

type Maybe<T> = T | null | undefined;

export type BackoffKind = "constant" | "linear" | "exponential" | "decorrelated";
/** How delays are spread. */
export type JitterKind = "none" | "full" | "equal";

/** How delays grow. Times are milliseconds. */
export interface BackoffFields {
  kind?: Maybe<BackoffKind>;
  /** The first delay; 100 ms unless given. */
  initial?: Maybe<number>;
  /** Another name of `initial`, for constant delays. */
  delay?: Maybe<number>;
  /** Exponential: what each failure multiplies the delay by; 2 unless given. Decorrelated: 3. */
  factor?: Maybe<number>;
  /** Linear: what each failure adds; as much as `initial` unless given. */
  increment?: Maybe<number>;
  /** The longest delay; 5 s unless given. */
  max?: Maybe<number | "none">;
}

/** What is done with a server's word on when to come back, which a `when` says: the sleep is never shorter. */
export interface HintFields {
  /** The longest one that is obeyed, and a longer one is the end; 60 s unless given. */
  max?: Maybe<number | "none">;
}

/** The fields of a policy, as in `holdoff`. What is not given (or null) has its default. */
export interface PolicyFields {
  backoff?: Maybe<BackoffKind | BackoffFields>;
  jitter?: Maybe<JitterKind>;
  /** How many attempts there may be, the first one included; 3 unless given. */
  attempts?: Maybe<number | "forever">;
  /** How long the whole operation may take, sleeps included; no limit unless given. */
  deadline?: Maybe<number | "none">;
  /** What an attempt must have left before the deadline to be worth starting. */
  minAttempt?: Maybe<number>;
  /** When the next attempt would not fit: give up at once, or sleep less for one last attempt; stop unless given. */
  onDeadline?: Maybe<"stop" | "clip">;
  /** How long one attempt may take; no limit unless given. */
  attemptTimeout?: Maybe<number | "none">;
  hint?: Maybe<HintFields>;
}

/** What a `when` answers: true to retry, false not to, a kind, a kind with a hint, or undefined for "as by default". */
export type Verdict =
  | boolean
  | FailureKind
  | { readonly kind: FailureKind; readonly hint?: Maybe<number | "never"> }
  | null
  | undefined;

/** How to run an operation, as in `holdoff`. */
export interface HostOptions {
  /** Cancels the operation, in an attempt and in a sleep alike; it then rejects with the signal's reason. */
  signal?: Maybe<AbortSignal>;
  /** Whether and as what an error is retried. */
  when?: Maybe<(error: unknown) => Verdict>;
  /** Called before each sleep. An error it throws ends the operation. */
  onRetry?: Maybe<(info: Omit<RetryInfo, "result">) => void>;
  /** Makes the jitter repeatable: a whole number from 0, as a bigint up to 2^64-1. */
  seed?: Maybe<number | bigint>;
  clock?: Maybe<Clock>;
}

export interface RetryOptions extends PolicyFields, HostOptions {}
