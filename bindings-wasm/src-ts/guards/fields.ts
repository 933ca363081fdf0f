/** What guards can be given as: the sections of a policy document. Generated from core/src/fields.rs by `cargo xtask generate`. */
import type { Duration } from "../values.js";

type Maybe<T> = T | null | undefined;

/** The fields of some kinds alone: the others may not be given. */
type Only<All, Kind, Names> = {
  [Name in keyof All]: Name extends "kind" ? Maybe<Kind> : Name extends Names ? All[Name] : null | undefined;
};

/** The behaviour of a refused call: give up at once, or sleep until the guard would let it through. */
export type Refusal = "stop" | "wait";

interface AnyBudget {
  /** How the budget counts retries. Default: ratio. */
  kind?: Maybe<"none" | "token" | "throttle" | "ratio" | "share" | "requests" | "window" | "default">;
  /**
   * The most tokens, and the tokens at first. 0 to 1000000. For token, throttle, default. Default: 500; throttle: 10,
   * default: 20.
   */
  capacity?: Maybe<number>;
  /** The tokens that a retry costs. 0 to 1000000. For token. Default: 5. */
  cost?: Maybe<number>;
  /** The tokens that a retry costs after a timeout. 0 to 1000000. For token. Default: the cost. */
  timeoutCost?: Maybe<number>;
  /** The tokens that a retry costs after throttling. 0 to 1000000. For token. Default: the cost. */
  throttledCost?: Maybe<number>;
  /**
   * The tokens that a success gives, rounded to three decimals; if `returns` is `last`, only a success without a retry.
   * 0 or more. For token, throttle. Default: 1; throttle: 0.1.
   */
  reward?: Maybe<number>;
  /** The tokens that return each second. 0 or more. For token. Default: 0. */
  refill?: Maybe<number>;
  /** The retries allowed for each call. 0 or more. For ratio, share. Default: 0.1; share: 0.2. */
  ratio?: Maybe<number>;
  /** How far back calls count. Above 0. For ratio, requests, window. Default: 10s; requests: 2m. */
  window?: Maybe<Duration>;
  /** The retries per second that are always allowed. 0 or more. For ratio. Default: 0.1. */
  minPerSecond?: Maybe<number>;
  /** The concurrent retries that are always allowed. 0 or more. For share. Default: 3. */
  minConcurrency?: Maybe<number>;
  /** The requests allowed for each one that the server accepts. 0 or more. For requests. Default: 2. */
  k?: Maybe<number>;
  /** The retries in a window. 0 or more. For window. Needed there. */
  limit?: Maybe<number>;
  /**
   * The tokens that a retry costs if it waits for Retry-After. 0 to 1000000. For token. Default: the cost after its
   * failure.
   */
  hintedCost?: Maybe<number>;
  /**
   * For this long after the budget was full, every retry is allowed; it takes the tokens that are left. For token.
   * Default: 0s.
   */
  grace?: Maybe<Duration>;
  /**
   * The tokens that a success returns: the last cost of its call, or all of them and then the reward. For token.
   * Default: last.
   */
  returns?: Maybe<"last" | "all">;
}

/** How many retries there may be for the calls there are. Each kind has fields of its own. */
export type BudgetFields =
  | Only<AnyBudget, "none", never>
  | Only<AnyBudget, "token", "capacity" | "cost" | "timeoutCost" | "throttledCost" | "reward" | "refill" | "hintedCost" | "grace" | "returns">
  | Only<AnyBudget, "throttle", "capacity" | "reward">
  | Only<AnyBudget, "ratio", "ratio" | "window" | "minPerSecond">
  | Only<AnyBudget, "share", "ratio" | "minConcurrency">
  | Only<AnyBudget, "requests", "window" | "k">
  | Only<AnyBudget, "window", "window" | "limit">
  | Only<AnyBudget, "default", "capacity">;

interface AnyOpenFor {
  /** How the open time grows with each opening in a row. Default: constant. */
  kind?: Maybe<"constant" | "linear" | "exponential" | "polynomial" | "fibonacci">;
  /**
   * How long the breaker stays open; or a list with a time for each opening in a row, whose last one repeats. Default:
   * 30s.
   */
  initial?: Maybe<Duration | readonly Duration[]>;
  /** Another name of `initial`. */
  delay?: Maybe<Duration | readonly Duration[]>;
  /** Multiplies the open time at each opening in a row. 0 or more. For exponential. Default: 2. */
  factor?: Maybe<number>;
  /** Is added to the open time at each opening in a row. For linear. Default: the open time at first. */
  increment?: Maybe<Duration>;
  /** The exponent of the growing open time. 0 or more. For polynomial. Default: 2. */
  exponent?: Maybe<number>;
  /** The longest open time. Not for constant. Default: none. */
  max?: Maybe<Duration | "none">;
}

/** How long a breaker stays open, longer with each opening in a row. Each kind has fields of its own. */
export type OpenForFields =
  | Only<AnyOpenFor, "constant", "initial" | "delay">
  | Only<AnyOpenFor, "linear", "initial" | "delay" | "increment" | "max">
  | Only<AnyOpenFor, "exponential", "initial" | "delay" | "factor" | "max">
  | Only<AnyOpenFor, "polynomial", "initial" | "delay" | "exponent" | "max">
  | Only<AnyOpenFor, "fibonacci", "initial" | "delay" | "max">;

interface AnyBreaker {
  /**
   * What opens the breaker: failures in a row, or a share of the latest calls or of the calls in a window. Default:
   * consecutive.
   */
  kind?: Maybe<"none" | "consecutive" | "count" | "time">;
  /** The failures in a row that open the breaker. 1 or more. For consecutive. Default: 5. */
  failures?: Maybe<number>;
  /** The number of latest calls that count. 1 to 128. For count. Default: 100. */
  size?: Maybe<number>;
  /** How far back calls count. Above 0. For time. Default: 30s. */
  window?: Maybe<Duration>;
  /** The number of parts of the window. 1 to 10. For time. Default: 10. */
  slots?: Maybe<number>;
  /** The share of failures that opens the breaker. Above 0, at most 1. For count, time. Default: 0.5. */
  failureRate?: Maybe<number>;
  /** A call that takes this long or longer is slow. For count, time. Default: none. */
  slowAfter?: Maybe<Duration | "none">;
  /**
   * The share of slow calls that opens the breaker; needs `slow_after`. Above 0, at most 1. For count, time. Default:
   * slow calls do not count.
   */
  slowRate?: Maybe<number>;
  /** With fewer calls, no share counts. 1 or more. For count, time. Default: 10; at most the size. */
  minCalls?: Maybe<number>;
  /**
   * How long the breaker stays open; or a list with a time for each opening in a row, whose last one repeats. Default:
   * 30s.
   */
  openFor?: Maybe<Duration | readonly Duration[] | OpenForFields>;
  /** An open time is lengthened at random by up to this part of itself. 0 or more. Default: 0. */
  jitter?: Maybe<number>;
  /** The calls that may try a half-open breaker at once. 1 or more. Default: 1. */
  probes?: Maybe<number>;
  /** The successes in a row that close a half-open breaker. 1 or more. Default: 1. */
  successes?: Maybe<number>;
  /**
   * The failed probes that do not open it again: 3, with 10 probes and 7 successes, if 3 of 10 may fail. 0 or more.
   * Default: 0.
   */
  probeFailures?: Maybe<number>;
  /**
   * What opens a half-open breaker again: the first failure, or as many in a row as `failures`. For consecutive.
   * Default: first.
   */
  reopen?: Maybe<"first" | "streak">;
  /** Whether the breaker refuses calls, or only counts what it would refuse. Default: enforce. */
  mode?: Maybe<"enforce" | "observe">;
  /** Whether a Retry-After opens the breaker. Default: ignore. */
  hint?: Maybe<"ignore" | "open">;
  /** A refused call gives up, or sleeps until the breaker lets it through. Default: stop. */
  refusal?: Maybe<Refusal>;
  /**
   * How waiting calls start when the breaker closes: one, two, four and so on as they succeed, at most 32 in 10 ms; or
   * all at once. Default: double.
   */
  ramp?: Maybe<"double" | "none">;
}

/** When a breaker stops calls to a server that keeps failing. Each kind has fields of its own. */
export type BreakerFields =
  | Only<AnyBreaker, "none", never>
  | Only<AnyBreaker, "consecutive", "failures" | "openFor" | "jitter" | "probes" | "successes" | "probeFailures" | "reopen" | "mode" | "hint" | "refusal" | "ramp">
  | Only<AnyBreaker, "count", "size" | "failureRate" | "slowAfter" | "slowRate" | "minCalls" | "openFor" | "jitter" | "probes" | "successes" | "probeFailures" | "mode" | "hint" | "refusal" | "ramp">
  | Only<AnyBreaker, "time", "window" | "slots" | "failureRate" | "slowAfter" | "slowRate" | "minCalls" | "openFor" | "jitter" | "probes" | "successes" | "probeFailures" | "mode" | "hint" | "refusal" | "ramp">;

interface AnyLimiter {
  /** How calls are counted. Default: gcra. */
  kind?: Maybe<"none" | "gcra" | "bucket" | "window" | "log">;
  /** The calls allowed in each `per`. 0 or more. Needed. */
  limit?: Maybe<number>;
  /** The period of the limit. Above 0. Default: 1s. */
  per?: Maybe<Duration>;
  /** The calls that may come at once. 1 or more. Not for window and log. Default: the limit. */
  burst?: Maybe<number>;
  /** A refused call gives up, or sleeps until the limiter lets it through. Default: stop. */
  refusal?: Maybe<Refusal>;
}

/** How many attempts there may be in a time. Each kind has fields of its own. */
export type LimiterFields =
  | Only<AnyLimiter, "none", never>
  | Only<AnyLimiter, "gcra" | "bucket", "limit" | "per" | "burst" | "refusal">
  | Only<AnyLimiter, "window" | "log", "limit" | "per" | "refusal">;

/** How many attempts may run at once. */
export interface BulkheadFields {
  /** The attempts that may run at once. 1 or more. Needed. */
  limit?: Maybe<number>;
  /** The calls that may wait for a place. 0 to 65536. Default: 0. */
  queue?: Maybe<number>;
  /** The longest wait for a place. Default: none. */
  maxWait?: Maybe<Duration | "none">;
}

interface AnyAdaptive {
  /** How the rate moves. Default: cubic. */
  kind?: Maybe<"none" | "cubic" | "aimd">;
  /** Multiplies the rate at each throttling. Above 0, at most 1. Default: 0.7; aimd: 0.5. */
  beta?: Maybe<number>;
  /** How fast a cubic rate grows, in calls per second for each cubed second. Above 0. For cubic. Default: 0.4. */
  scale?: Maybe<number>;
  /** The weight of the latest half second in the measured rate. Above 0, at most 1. For cubic. Default: 0.8. */
  smooth?: Maybe<number>;
  /** The calls per second that each success adds to the rate. 0 or more. For aimd. Default: 1. */
  increase?: Maybe<number>;
  /** The lowest rate, in calls per second. Above 0. Default: 0.5. */
  minRate?: Maybe<number>;
  /** The highest rate, in calls per second. Above 0. For aimd. Default: 1000. */
  maxRate?: Maybe<number>;
  /** The first rate, in calls per second. Above 0. For aimd. Default: 10. */
  initialRate?: Maybe<number>;
  /** A refused call gives up, or sleeps until there is a token. Default: stop. */
  refusal?: Maybe<Refusal>;
}

/** A rate of attempts that follows the server's throttling. Each kind has fields of its own. */
export type AdaptiveFields =
  | Only<AnyAdaptive, "none", never>
  | Only<AnyAdaptive, "cubic", "beta" | "scale" | "smooth" | "minRate" | "refusal">
  | Only<AnyAdaptive, "aimd", "beta" | "increase" | "minRate" | "maxRate" | "initialRate" | "refusal">;

/** Longer delays while many attempts fail. */
export interface StretchFields {
  /** Multiplies delays when every attempt fails; in proportion when fewer fail. 1 or more. Needed. */
  factor?: Maybe<number>;
  /** How far back attempts count. Above 0. Default: 30s. */
  window?: Maybe<Duration>;
  /** With fewer attempts, delays stay as they are. 1 or more. Default: 10. */
  minCalls?: Maybe<number>;
}

/** A second attempt beside a slow one. */
export interface HedgeFields {
  /** How long an attempt runs before the next one starts beside it. Needed. */
  delay?: Maybe<Duration>;
  /**
   * The share of attempts that end before the next one starts; replaces `delay` once enough attempts are measured.
   * Above 0, at most 1. Default: the delay alone counts.
   */
  percentile?: Maybe<number>;
  /** The number of attempts in a round, including the first. 1 to 8. Default: 2. */
  attempts?: Maybe<number>;
}

/** A pause of all calls for as long as a server asks one of them to stay away. */
export interface PauseFields {
  /** The longest pause after a Retry-After. Default: 1m. */
  max?: Maybe<Duration | "none">;
  /** A call during a pause sleeps until its turn, or gives up. Default: wait. */
  refusal?: Maybe<Refusal>;
}

/** What a retry does inside another one. */
export interface NestedFields {
  /** What a retry does inside another one. Default: allow. */
  mode?: Maybe<"allow" | "innermost" | "outermost" | "cap">;
  /** The attempts that nested retries may make together. 1 or more. For cap. Needed there. */
  cap?: Maybe<number>;
}

/** The sections of guards: an object each, or its first field alone. */
export interface GuardFields {
  /** How many retries there may be for the calls there are. */
  budget?: Maybe<BudgetFields["kind"] | number | BudgetFields>;
  /** When a breaker stops calls to a server that keeps failing. */
  breaker?: Maybe<BreakerFields["kind"] | BreakerFields>;
  /** How many attempts there may be in a time. */
  limiter?: Maybe<LimiterFields["kind"] | LimiterFields>;
  /** How many attempts may run at once. */
  bulkhead?: Maybe<number | BulkheadFields>;
  /** A rate of attempts that follows the server's throttling. */
  adaptive?: Maybe<AdaptiveFields["kind"] | AdaptiveFields>;
  /** Longer delays while many attempts fail. */
  stretch?: Maybe<number | StretchFields>;
  /** A second attempt beside a slow one. */
  hedge?: Maybe<Duration | HedgeFields>;
  /** A pause of all calls for as long as a server asks one of them to stay away. */
  pause?: Maybe<Duration | "none" | PauseFields>;
}
