/** The types of a policy's fields. The core knows the names, reads the values and reports errors. */
import type { GuardFields, NestedFields } from "./guards/fields.js";
import type { Duration } from "./times.js";
import type { FailureKind } from "./words.js";

type Maybe<T> = T | null | undefined;

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
  | "aws-adaptive"
  | "tenacity-random-exponential";

export type BackoffKind =
  | "constant"
  | "linear"
  | "exponential"
  | "polynomial"
  | "fibonacci"
  | "list"
  | "decorrelated"
  | "decorrelated_v2";

export type JitterKind = "none" | "full" | "equal" | "additive" | "proportional" | "bounded" | "subtractive";

type Retried = Exclude<FailureKind, "permanent">;

/** How delays grow, before jitter: one stage of it, when there are several. */
export interface BackoffFields {
  kind?: Maybe<BackoffKind>;
  /** The first delay; 100 ms unless given. */
  initial?: Maybe<Duration>;
  /** Another name of `initial`, for constant delays. */
  delay?: Maybe<Duration>;
  /** Exponential: what each failure multiplies the delay by; 2 unless given. Decorrelated: 3. */
  factor?: Maybe<number>;
  /** Linear: what each failure adds; as much as `initial` unless given. */
  increment?: Maybe<Duration>;
  /** Polynomial: the power that the delay grows with; 2 unless given. */
  exponent?: Maybe<number>;
  /** The longest delay; 5 s unless given, `"none"` for no limit. */
  max?: Maybe<Duration>;
  /** List: the delays, one by one, up to 18. Unless `attempts` says otherwise there is one attempt more. */
  delays?: Maybe<readonly Duration[]>;
  /** For how many delays, before the next stage takes over. */
  times?: Maybe<number>;
  /** The one kind of failure that the stage is for; every kind without stages of its own unless given. */
  on?: Maybe<Retried>;
}

/** How delays are spread. */
export interface JitterFields {
  kind?: Maybe<JitterKind>;
  /** Additive, proportional and subtractive: the part of the delay that is spread. */
  factor?: Maybe<number>;
  /** Bounded: what may be added. */
  bound?: Maybe<Duration>;
}

/** The use of a server's hint. */
export interface HintFields {
  /** Never before it, it and the spread, not at all, it alone, or the longer of both; floor unless given. */
  mode?: Maybe<"floor" | "replace" | "ignore" | "exact" | "at_least">;
  /** The longest hint that is obeyed; 60 s unless given, `"none"` for any. */
  max?: Maybe<Duration>;
  /** The use of a longer hint; stop unless given. */
  over?: Maybe<"stop" | "clamp">;
  /** How far one may move a delay beyond the policy's own; no limit unless given. */
  reach?: Maybe<Duration>;
}

/** Which failures are worth another try. A list that is not given says nothing, an empty one names nothing. */
export interface RetryOnLists {
  /** Statuses, and classes of them: `[408, 429, "5xx"]`. */
  http?: Maybe<readonly (number | "1xx" | "2xx" | "3xx" | "4xx" | "5xx")[]>;
  /** Codes by number or name: `["UNAVAILABLE"]`. */
  grpc?: Maybe<readonly (number | string)[]>;
  kinds?: Maybe<readonly Retried[]>;
  /** Texts that a message must contain, in this case of letters. */
  patterns?: Maybe<readonly string[]>;
}

/** The same, with lists of their own for operations that may not run twice (`idempotent: false`). */
export interface RetryOnFields extends RetryOnLists {
  nonIdempotent?: Maybe<RetryOnLists>;
  non_idempotent?: Maybe<RetryOnLists>;
}

type Backoff = BackoffKind | BackoffFields;

/** The fields of a policy. A field that is missing or null has its default. Names in snake_case are accepted too. */
export interface PolicyFields extends GuardFields {
  /** The named policy whose fields those are that are not given. */
  preset?: Maybe<PresetName>;
  /** One backoff, or up to six stages; each takes over from the one before. */
  backoff?: Maybe<Backoff | readonly Backoff[]>;
  jitter?: Maybe<JitterKind | JitterFields>;
  /** The value that the longest delay bounds: the jittered delay, its spread kept, the delay before jitter, or the jittered alone. */
  cap?: Maybe<"keep_spread" | "before_jitter" | "clip">;
  /** How many attempts there may be, the first one included; 3 unless given. */
  attempts?: Maybe<number | "forever">;
  /** How long the whole operation may take, sleeps included; no limit unless given. */
  deadline?: Maybe<Duration>;
  /** The least time before the deadline in which an attempt is worth starting. */
  minAttempt?: Maybe<Duration>;
  min_attempt?: Maybe<Duration>;
  /** When the next attempt would not fit: give up at once, or sleep less for one last attempt; stop unless given. */
  onDeadline?: Maybe<"stop" | "clip">;
  on_deadline?: Maybe<"stop" | "clip">;
  /** How long one attempt may take; no limit unless given. */
  attemptTimeout?: Maybe<Duration>;
  attempt_timeout?: Maybe<Duration>;
  hint?: Maybe<HintFields["mode"] | HintFields>;
  retryOn?: Maybe<RetryOnFields>;
  retry_on?: Maybe<RetryOnFields>;
  /** The behaviour inside another retry, or around one; needs `holdoff/guards`, as the guards do. */
  nested?: Maybe<NestedFields["mode"] | NestedFields>;
  /** Of the document's format: 1. */
  version?: Maybe<1>;
}
