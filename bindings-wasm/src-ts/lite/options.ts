/** The options of `holdoff/lite`: a part of those of `holdoff`, with the same names. */
import type { Clock } from "../clock.js";
import type { RetryEvent } from "../hooks.js";
import type { AttemptContext as Context } from "../host.js";
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

/** The use of a server's hint, which a `when` returns: the sleep is never shorter. */
export interface HintFields {
  /** The longest hint that is obeyed; a longer hint ends the operation; 60 s unless given. */
  max?: Maybe<number | "none">;
}

/** The fields of a policy, as in `holdoff`. A field that is missing or null has its default. */
export interface PolicyFields {
  backoff?: Maybe<BackoffKind | BackoffFields>;
  jitter?: Maybe<JitterKind>;
  /** How many attempts there may be, the first one included; 3 unless given. */
  attempts?: Maybe<number | "forever">;
  /** How long the whole operation may take, sleeps included; no limit unless given. */
  deadline?: Maybe<number | "none">;
  /** The least time before the deadline in which an attempt is worth starting. */
  minAttempt?: Maybe<number>;
  /** When the next attempt would not fit: give up at once, or sleep less for one last attempt; stop unless given. */
  onDeadline?: Maybe<"stop" | "clip">;
  /** How long one attempt may take; no limit unless given. */
  attemptTimeout?: Maybe<number | "none">;
  hint?: Maybe<HintFields>;
}

/** The answer of a `when`: true to retry, false not to, a kind, a kind with a hint, or undefined for the default. */
export type Verdict =
  | boolean
  | FailureKind
  | { readonly kind: FailureKind; readonly hint?: Maybe<number | "never"> }
  | null
  | undefined;

/** A failed attempt, and the sleep after it. */
export type RetriedEvent = Omit<RetryEvent, "operation" | "elapsedMs" | "value" | "wake">;

/** The context of an attempt. */
export type AttemptContext = Pick<Context, "attempt" | "signal">;

/** The operation: called once for each attempt. */
export type Work<T> = (context: AttemptContext) => T;

/** How to run an operation, as in `holdoff`. */
export interface HostOptions {
  /** Cancels the operation, in an attempt and in a sleep alike; it then rejects with the signal's reason. */
  signal?: Maybe<AbortSignal>;
  /** Judges an error: retry it or not, and as which kind. */
  when?: Maybe<(error: unknown) => Verdict>;
  /** Called before each sleep. An error it throws ends the operation. */
  onRetry?: Maybe<(event: RetriedEvent) => void>;
  /** Makes the jitter repeatable: a whole number from 0, as a bigint up to 2^64-1. */
  seed?: Maybe<number | bigint>;
  clock?: Maybe<Clock>;
  /**
   * True if no attempt follows one that was over its limit.
   * @internal
   */
  isOnce?: boolean;
}

export interface RetryOptions extends PolicyFields, HostOptions {}
