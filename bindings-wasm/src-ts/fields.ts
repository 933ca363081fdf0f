/** What a policy can be given as. The core reads the values and says what is wrong. Generated from core/src/fields.rs by `cargo xtask generate`. */
import type { GuardFields, NestedFields } from "./guards/fields.js";
import type { Duration } from "./values.js";
import type { FailureKind } from "./words.js";

type Maybe<T> = T | null | undefined;

/** The fields of some kinds alone: the others may not be given. */
type Only<All, Kind, Names> = {
  [Name in keyof All]: Name extends "kind" ? Maybe<Kind> : Name extends Names ? All[Name] : null | undefined;
};

/** A named policy: what another system does when nobody tells it otherwise. */
export type PresetName =
  | "default"
  | "langgraphgo"
  | "langgraphgo-graph"
  | "kubernetes"
  | "aster"
  | "aws-standard-2.0"
  | "aws-standard-2.1"
  | "grpc"
  | "temporal"
  | "google-cloud"
  | "resilience4j"
  | "polly"
  | "chromium"
  | "tenacity-random-exponential"
  | "aws-adaptive"
  | "llm";

/** How delays grow. */
export type BackoffKind =
  | "constant"
  | "linear"
  | "exponential"
  | "polynomial"
  | "fibonacci"
  | "list"
  | "decorrelated"
  | "decorrelated_v2";

/** How delays are spread. */
export type JitterKind = "none" | "full" | "equal" | "additive" | "proportional" | "bounded" | "subtractive";

interface AnyBackoff {
  /** How delays grow from one failure to the next. Default: exponential. */
  kind?: Maybe<BackoffKind>;
  /** The first delay. Not for list. Default: 100ms. */
  initial?: Maybe<Duration>;
  /** Another name of `initial`. */
  delay?: Maybe<Duration>;
  /** Multiplies the delay after each failure. 0 or more. For exponential, decorrelated. Default: 2; decorrelated: 3. */
  factor?: Maybe<number>;
  /** Is added to the delay after each failure. For linear. Default: the first delay. */
  increment?: Maybe<Duration>;
  /** The longest delay. Not for constant and list. Default: 5s; at least ten times a first delay that is given. */
  max?: Maybe<Duration | "none">;
  /** The exponent of the growing delay. 0 or more. For polynomial. Default: 2. */
  exponent?: Maybe<number>;
  /**
   * The number of delays before the next stage takes over. 1 to 268435455. Not for list. Default: the last stage stays.
   */
  times?: Maybe<number>;
  /** The shortest delay; jitter stays uniform above it. Not for decorrelated and decorrelated_v2. Default: 0s. */
  floor?: Maybe<Duration>;
  /** Is added to each delay after the jitter, before the cap. Default: 0s. */
  offset?: Maybe<Duration>;
  /**
   * The base of the first power: the first delay is `initial` times this to the exponent. 0 to 65535. For polynomial.
   * Default: 1.
   */
  from?: Maybe<number>;
  /**
   * The time since the start after which the next stage takes over; that of the last stage ends the operation. Above 0.
   * Default: a stage ends by its delays only.
   */
  until?: Maybe<Duration>;
  /** Continues with the first stage after the last one. Default: false. */
  repeat?: Maybe<boolean>;
  /** The delays, at most 64. `attempts` defaults to one more. For list. */
  delays?: Maybe<readonly Duration[]>;
}

/** How delays grow from one failure to the next; one stage of a chain. Each kind has fields of its own. */
export type BackoffFields =
  | Only<AnyBackoff, "constant", "initial" | "delay" | "times" | "floor" | "offset" | "until" | "repeat">
  | Only<AnyBackoff, "linear", "initial" | "delay" | "increment" | "max" | "times" | "floor" | "offset" | "until" | "repeat">
  | Only<AnyBackoff, "exponential", "initial" | "delay" | "factor" | "max" | "times" | "floor" | "offset" | "until" | "repeat">
  | Only<AnyBackoff, "polynomial", "initial" | "delay" | "max" | "exponent" | "times" | "floor" | "offset" | "from" | "until" | "repeat">
  | Only<AnyBackoff, "fibonacci", "initial" | "delay" | "max" | "times" | "floor" | "offset" | "until" | "repeat">
  | Only<AnyBackoff, "list", "floor" | "offset" | "until" | "repeat" | "delays">
  | Only<AnyBackoff, "decorrelated", "initial" | "delay" | "factor" | "max" | "times" | "offset" | "until" | "repeat">
  | Only<AnyBackoff, "decorrelated_v2", "initial" | "delay" | "max" | "times" | "offset" | "until" | "repeat">;

interface AnyJitter {
  /** How delays are randomised, so that clients do not retry at the same moment. Default: full. */
  kind?: Maybe<JitterKind>;
  /** The part of the delay that is random. 0 or more. For additive, proportional, subtractive. Needed there. */
  factor?: Maybe<number>;
  /** The most that is added to a delay. For bounded. Needed there. */
  bound?: Maybe<Duration>;
  /** Multiplies the bound by the number of the delay, from 1. For bounded. Default: false. */
  grows?: Maybe<boolean>;
}

/** How delays are spread. Each kind has fields of its own. */
export type JitterFields =
  | Only<AnyJitter, "none" | "full" | "equal", never>
  | Only<AnyJitter, "additive" | "proportional" | "subtractive", "factor">
  | Only<AnyJitter, "bounded", "bound" | "grows">;

/** What is done with a server's hint on when to come back. */
export interface HintFields {
  /**
   * How a server's Retry-After is used: the delay is never shorter; it replaces the delay and gets the jitter; it is
   * ignored; it is the delay exactly; or the longer of both counts. Default: floor.
   */
  mode?: Maybe<"floor" | "replace" | "ignore" | "exact" | "at_least">;
  /** The longest Retry-After that is obeyed. Default: 1m. */
  max?: Maybe<Duration | "none">;
  /**
   * What happens at a Retry-After above `hint.max`: give up, wait for `hint.max`, or ignore it, and a Retry-After of 0
   * too. Default: stop.
   */
  over?: Maybe<"stop" | "clamp" | "ignore">;
  /** How much longer than the policy's own delay Retry-After may make it. Default: none. */
  reach?: Maybe<Duration | "none">;
}

/** Conditions of a rule, which must all hold; of a list one entry. */
export interface Conditions {
  /** HTTP statuses, and classes of them: `[408, 429, "5xx"]`. */
  http?: Maybe<readonly (number | "1xx" | "2xx" | "3xx" | "4xx" | "5xx")[]>;
  /** gRPC codes by number or name: `["UNAVAILABLE"]`. */
  grpc?: Maybe<readonly (number | string)[]>;
  /** Kinds of failures. */
  kinds?: Maybe<readonly FailureKind[]>;
  /** Codes of errors: of Node (`"ECONNRESET"`), of a client, an SQLSTATE; `code` or `sqlState` of an error or of its causes. */
  codes?: Maybe<readonly string[]>;
  /** Names of classes of errors, and of classes that they derive from. */
  types?: Maybe<readonly string[]>;
  /** Texts, one of which the message must contain; case counts. */
  patterns?: Maybe<readonly string[]>;
  /** True for operations that can run twice, false for others. */
  idempotent?: Maybe<boolean>;
  /** True for requests that were never sent, false for others. */
  unsent?: Maybe<boolean>;
}

/** Fields that take the place of the policy's. */
interface Instead {
  /** How delays are spread. */
  jitter?: Maybe<JitterKind | JitterFields>;
  /** The value that the longest delay bounds. */
  cap?: PolicyFields["cap"];
  /** What is done with a server's hint on when to come back. */
  hint?: Maybe<HintFields["mode"] | HintFields>;
}

/** A stage of a chain. */
export type StageFields = BackoffFields & Instead;

interface If {
  /** The failures that the rule takes: conditions, or a list of such objects of which one must hold. Default: every failure. */
  if?: Maybe<Conditions | readonly Conditions[]>;
}

/** A rule that makes failures permanent. */
export interface NeverRule extends If {
  retry: false;
}

/** A rule about failures that are retried. */
export interface RetryRule extends If, Instead {
  /** True retries permanent failures, too. */
  retry?: Maybe<true>;
  /** The number of attempts, counted by the failures of this rule alone. Default: they count in the policy's. */
  attempts?: Maybe<number | "forever">;
  /** How the delays grow. */
  backoff?: Maybe<BackoffKind | StageFields | readonly StageFields[]>;
}

/** What is done about some failures: the first rule that holds takes a failure. */
export type Rule = NeverRule | RetryRule;

type Backoff = BackoffKind | StageFields;

/** The fields of a policy. A field that is missing or null has its default. */
export interface PolicyFields extends GuardFields {
  /**
   * How `backoff.max` limits a delay: after jitter with its spread kept, before jitter, or by cutting off the jittered
   * delay. Default: keep_spread.
   */
  cap?: Maybe<"keep_spread" | "before_jitter" | "clip">;
  /**
   * The number of attempts, including the first. 1 or more. Default: 3; one more than the delays of a backoff that
   * ends; forever with a deadline.
   */
  attempts?: Maybe<number | "forever">;
  /** The number of attempts in all, including failures that rules count themselves. 1 or more. Default: forever. */
  total?: Maybe<number | "forever">;
  /** The time limit of the whole operation, sleeps included. Above 0. Default: none. */
  deadline?: Maybe<Duration | "none">;
  /** When the deadline begins to count: at the first attempt, or at the first failure. Default: start. */
  deadlineFrom?: Maybe<"start" | "first_failure">;
  /** Whether the operation ends when the `first` of attempts and deadline is used up, or the `last`. Default: first. */
  limits?: Maybe<"first" | "last">;
  /** An attempt starts only if this much time is left before the deadline. Default: 0s. */
  minAttempt?: Maybe<Duration>;
  /**
   * If the next attempt would start too late: give up at once, or sleep less for a last attempt (needs `min_attempt`).
   * Default: stop.
   */
  onDeadline?: Maybe<"stop" | "clip">;
  /** The time limit of one attempt. Above 0. Default: none. */
  attemptTimeout?: Maybe<Duration | "none">;
  /**
   * Aborts the running attempt at the deadline. If false, the deadline only prevents further attempts. Default: true.
   */
  abortAtDeadline?: Maybe<boolean>;
  /** When a delay begins to count: at the failure, or at the start of the failed attempt. Default: failure. */
  delayFrom?: Maybe<"failure" | "start">;
  /** If an attempt runs this long before it fails, counts, delays and deadline start anew. Above 0. Default: none. */
  resetAfter?: Maybe<Duration | "none">;
  /** The named policy that the other fields change. Default: default. */
  preset?: Maybe<PresetName>;
  /** The version of the document's format. Default: 1. */
  version?: Maybe<1>;
  /** How delays grow: one backoff, or up to sixteen stages of which each takes over from the one before. */
  backoff?: Maybe<Backoff | readonly Backoff[]>;
  /** How delays are spread. */
  jitter?: Maybe<JitterKind | JitterFields>;
  /** What is done with a server's hint on when to come back. */
  hint?: Maybe<HintFields["mode"] | HintFields>;
  /** What is done about which failure: the first rule that holds takes it. */
  rules?: Maybe<readonly Rule[]>;
  /** What a retry does inside another one, or around one; needs `holdoff/guards`, as the guards do. */
  nested?: Maybe<NestedFields["mode"] | NestedFields>;
}
