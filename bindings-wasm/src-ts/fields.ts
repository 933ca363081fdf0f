/** What a policy can be given as. The core reads the values and says what is wrong. Generated from core/src/fields.rs by `cargo xtask generate`. */
import type { GuardFields, NestedFields } from "./guards/fields.js";
import type { Duration } from "./times.js";
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
  | "aws-adaptive";

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

type Retried = Exclude<FailureKind, "permanent">;

interface AnyBackoff {
  /** How delays grow from one failure to the next. Default: exponential. */
  kind?: Maybe<BackoffKind>;
  /** The first delay. Not for list. Default: 100ms. */
  initial?: Maybe<Duration>;
  /** Another name of `initial`. */
  delay?: Maybe<Duration>;
  /**
   * The number that each failure multiplies the delay by. From 0 on. For exponential, decorrelated. Default: 2;
   * decorrelated: 3.
   */
  factor?: Maybe<number>;
  /** The time that each failure adds to the delay. For linear. Default: the first delay. */
  increment?: Maybe<Duration>;
  /** The longest delay. Not for constant and list. Default: 5s. */
  max?: Maybe<Duration | "none">;
  /** The power that the delay grows with. From 0 on. For polynomial. Default: 2. */
  exponent?: Maybe<number>;
  /**
   * The number of delays before the next stage takes over. 1 to 536870911. Not for list. Default: the last stage stays.
   */
  times?: Maybe<number>;
  /** The one kind of failure that the stage is for. Default: every kind that has no stages of its own. */
  on?: Maybe<Retried>;
  /** The delays, one by one, up to 18. Unless `attempts` is given, there is one attempt more. For list. */
  delays?: Maybe<readonly Duration[]>;
}

/** How delays grow from one failure to the next; one stage of a chain. Each kind has fields of its own. */
export type BackoffFields =
  | Only<AnyBackoff, "constant", "initial" | "delay" | "times" | "on">
  | Only<AnyBackoff, "linear", "initial" | "delay" | "increment" | "max" | "times" | "on">
  | Only<AnyBackoff, "exponential" | "decorrelated", "initial" | "delay" | "factor" | "max" | "times" | "on">
  | Only<AnyBackoff, "polynomial", "initial" | "delay" | "max" | "exponent" | "times" | "on">
  | Only<AnyBackoff, "fibonacci" | "decorrelated_v2", "initial" | "delay" | "max" | "times" | "on">
  | Only<AnyBackoff, "list", "on" | "delays">;

interface AnyJitter {
  /** How delays are spread, so that clients do not come back at the same moment. Default: full. */
  kind?: Maybe<JitterKind>;
  /** The part of the delay that is spread. From 0 on. For additive, proportional, subtractive. Needed there. */
  factor?: Maybe<number>;
  /** The most that may be added to a delay. For bounded. Needed there. */
  bound?: Maybe<Duration>;
}

/** How delays are spread. Each kind has fields of its own. */
export type JitterFields =
  | Only<AnyJitter, "none" | "full" | "equal", never>
  | Only<AnyJitter, "additive" | "proportional" | "subtractive", "factor">
  | Only<AnyJitter, "bounded", "bound">;

/** What is done with a server's hint on when to come back. */
export interface HintFields {
  /**
   * The use of a server's hint: never come back before it, add the spread to it, ignore it, take it as it is, or take
   * the longer of it and the delay. Default: floor.
   */
  mode?: Maybe<"floor" | "replace" | "ignore" | "exact" | "at_least">;
  /** The longest hint that is obeyed. Default: 1m. */
  max?: Maybe<Duration | "none">;
  /** The use of a longer hint: give up, or wait for `hint.max`. Default: stop. */
  over?: Maybe<"stop" | "clamp">;
  /** How far a hint may move a delay beyond the policy's own. Default: none. */
  reach?: Maybe<Duration | "none">;
}

/** Which failures are worth another try. A list that is not given says nothing, an empty one names nothing. */
export interface RetryOnLists {
  /** Statuses, and classes of them: `[408, 429, "5xx"]`. */
  http?: Maybe<readonly (number | "1xx" | "2xx" | "3xx" | "4xx" | "5xx")[]>;
  /** Codes by number or name: `["UNAVAILABLE"]`. */
  grpc?: Maybe<readonly (number | string)[]>;
  /** Kinds of failures. */
  kinds?: Maybe<readonly Retried[]>;
  /** Texts, one of which a message must contain; case counts. */
  patterns?: Maybe<readonly string[]>;
}

/** The same, with lists of their own for operations that may not run twice (`idempotent: false`). */
export interface RetryOnFields extends RetryOnLists {
  /** The lists for operations that may not run twice. */
  nonIdempotent?: Maybe<RetryOnLists>;
}

type Backoff = BackoffKind | BackoffFields;

/** The fields of a policy. A field that is missing or null has its default. */
export interface PolicyFields extends GuardFields {
  /**
   * The value that `backoff.max` bounds: the jittered delay with its spread kept, the delay before jitter, or the
   * jittered delay cut off. Default: keep_spread.
   */
  cap?: Maybe<"keep_spread" | "before_jitter" | "clip">;
  /**
   * The number of attempts, the first one included. From 1 on. Default: 3; one more than the delays of a backoff that
   * ends.
   */
  attempts?: Maybe<number | "forever">;
  /** The time that the whole operation may take, sleeps included. Above 0. Default: none. */
  deadline?: Maybe<Duration | "none">;
  /** The time that an attempt must have left before the deadline to be worth starting. Default: 0s. */
  minAttempt?: Maybe<Duration>;
  /**
   * The behaviour when the next attempt would not fit before the deadline: give up at once, or sleep less for a last
   * attempt (needs `min_attempt`). Default: stop.
   */
  onDeadline?: Maybe<"stop" | "clip">;
  /** The time that one attempt may take. Above 0. Default: none. */
  attemptTimeout?: Maybe<Duration | "none">;
  /** The named policy that the other fields start from. Default: default. */
  preset?: Maybe<PresetName>;
  /** The version of the document's format. Default: 1. */
  version?: Maybe<1>;
  /** How delays grow: one backoff, or up to six stages of which each takes over from the one before. */
  backoff?: Maybe<Backoff | readonly Backoff[]>;
  /** How delays are spread. */
  jitter?: Maybe<JitterKind | JitterFields>;
  /** What is done with a server's hint on when to come back. */
  hint?: Maybe<HintFields["mode"] | HintFields>;
  /** Which failures are worth another try. */
  retryOn?: Maybe<RetryOnFields>;
  /** What a retry does inside another one, or around one; needs `holdoff/guards`, as the guards do. */
  nested?: Maybe<NestedFields["mode"] | NestedFields>;
}
