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
   * The most tokens there are, and how many there are at first. 0 to 1000000. For token, throttle, default. Default:
   * 500; throttle: 10, default: 20.
   */
  capacity?: Maybe<number>;
  /** The tokens that a retry costs. 0 to 1000000. For token. Default: 5. */
  cost?: Maybe<number>;
  /** The tokens that a retry after a timeout costs. 0 to 1000000. For token. Default: the cost. */
  timeoutCost?: Maybe<number>;
  /** The tokens that a retry after throttling costs. 0 to 1000000. For token. Default: the cost. */
  throttledCost?: Maybe<number>;
  /**
   * The tokens that a success gives; of a token budget that returns `last` only a success without a retry. From 0 on.
   * For token, throttle. Default: 1; throttle: 0.1.
   */
  reward?: Maybe<number>;
  /** The tokens that come back by themselves each second. From 0 on. For token. Default: 0. */
  refill?: Maybe<number>;
  /** The retries for each call. From 0 on. For ratio, share. Default: 0.1; share: 0.2. */
  ratio?: Maybe<number>;
  /** How far back calls count. Above 0. For ratio, requests, window. Default: 10s; requests: 2m. */
  window?: Maybe<Duration>;
  /** The retries a second that are allowed in any case. From 0 on. For ratio. Default: 0.1. */
  minPerSecond?: Maybe<number>;
  /** The retries at once that are allowed in any case. From 0 on. For share. Default: 3. */
  minConcurrency?: Maybe<number>;
  /** The requests that are let through for each one that is accepted. From 0 on. For requests. Default: 2. */
  k?: Maybe<number>;
  /** The retries in a window. From 0 on. For window. Needed there. */
  limit?: Maybe<number>;
  /**
   * The tokens that a retry costs that sleeps for a server's hint. 0 to 1000000. For token. Default: the cost after its
   * failure.
   */
  hintedCost?: Maybe<number>;
  /**
   * The time after the budget was full in which it refuses no retry: the retry takes what tokens are left. For token.
   * Default: 0s.
   */
  grace?: Maybe<Duration>;
  /**
   * The withdrawals that a success returns: the latest of its call, or all of them, and then it gives the reward, too.
   * For token. Default: last.
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
   * The time that the breaker stays open at first; or a list of the times of one opening in a row after the other,
   * whose last one repeats. Default: 30s.
   */
  initial?: Maybe<Duration | readonly Duration[]>;
  /** Another name of `initial`. */
  delay?: Maybe<Duration | readonly Duration[]>;
  /** The number that each opening in a row multiplies the open time by. From 0 on. For exponential. Default: 2. */
  factor?: Maybe<number>;
  /** The time that each opening in a row adds to the open time. For linear. Default: the open time at first. */
  increment?: Maybe<Duration>;
  /** The power that the open time grows with. From 0 on. For polynomial. Default: 2. */
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
   * The condition that opens the breaker: failures in a row, or a share of the latest calls or of the calls of a
   * sliding time. Default: consecutive.
   */
  kind?: Maybe<"none" | "consecutive" | "count" | "time">;
  /** The failures in a row that open the breaker. From 1 on. For consecutive. Default: 5. */
  failures?: Maybe<number>;
  /** The number of latest calls that count. 1 to 128. For count. Default: 100. */
  size?: Maybe<number>;
  /** How far back calls count. Above 0. For time. Default: 30s. */
  window?: Maybe<Duration>;
  /** The number of parts that the window is cut into. 1 to 10. For time. Default: 10. */
  slots?: Maybe<number>;
  /** The share of failures that opens the breaker. Above 0, at most 1. For count, time. Default: 0.5. */
  failureRate?: Maybe<number>;
  /** The time from which on a call is slow. For count, time. Default: none. */
  slowAfter?: Maybe<Duration | "none">;
  /**
   * The share of slow calls that opens the breaker; needs `slow_after`. Above 0, at most 1. For count, time. Default:
   * slow calls do not count.
   */
  slowRate?: Maybe<number>;
  /** The number of calls below which no share counts. From 1 on. For count, time. Default: 10; at most the size. */
  minCalls?: Maybe<number>;
  /**
   * The time that the breaker stays open at first; or a list of the times of one opening in a row after the other,
   * whose last one repeats. Default: 30s.
   */
  openFor?: Maybe<Duration | readonly Duration[] | OpenForFields>;
  /** The part of itself that an open time is lengthened by at most. From 0 on. Default: 0. */
  jitter?: Maybe<number>;
  /** The calls at once that may try a half-open breaker. From 1 on. Default: 1. */
  probes?: Maybe<number>;
  /** The successes in a row that close a half-open breaker. From 1 on. Default: 1. */
  successes?: Maybe<number>;
  /**
   * The failures of calls that try a half-open breaker which do not open it again: 3, with 7 successes, if 3 of 10 may
   * fail. From 0 on. Default: 0.
   */
  probeFailures?: Maybe<number>;
  /**
   * The condition that opens a half-open breaker again: its first failure, or as many in a row as `failures`. For
   * consecutive. Default: first.
   */
  reopen?: Maybe<"first" | "streak">;
  /** `enforce` makes the breaker refuse calls, `observe` only counts what it would refuse. Default: enforce. */
  mode?: Maybe<"enforce" | "observe">;
  /** With `open` a server's hint opens the breaker. Default: ignore. */
  hint?: Maybe<"ignore" | "open">;
  /**
   * The behaviour of a call that the breaker refuses: give up, or sleep until the breaker would let it through.
   * Default: stop.
   */
  refusal?: Maybe<Refusal>;
  /**
   * How calls that waited begin when the breaker closes: first one, then as many as have succeeded, doubled each round;
   * or all at once. Default: double.
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
  /** The number of calls in each `per`. From 0 on. Needed. */
  limit?: Maybe<number>;
  /** The time that the limit is for. Above 0. Default: 1s. */
  per?: Maybe<Duration>;
  /** The number of calls that may come at once. From 1 on. Not for window and log. Default: the limit. */
  burst?: Maybe<number>;
  /**
   * The behaviour of a call that the limiter refuses: give up, or sleep until the limiter would let it through.
   * Default: stop.
   */
  refusal?: Maybe<Refusal>;
}

/** How many attempts there may be in a time. Each kind has fields of its own. */
export type LimiterFields =
  | Only<AnyLimiter, "none", never>
  | Only<AnyLimiter, "gcra" | "bucket", "limit" | "per" | "burst" | "refusal">
  | Only<AnyLimiter, "window" | "log", "limit" | "per" | "refusal">;

/** How many attempts may run at once. */
export interface BulkheadFields {
  /** The number of attempts that may run at once. From 1 on. Needed. */
  limit?: Maybe<number>;
  /** The number of calls that may wait for a place. 0 to 65536. Default: 0. */
  queue?: Maybe<number>;
  /** The time that a call waits for a place at most. Default: none. */
  maxWait?: Maybe<Duration | "none">;
}

interface AnyAdaptive {
  /** How the rate moves. Default: cubic. */
  kind?: Maybe<"none" | "cubic" | "aimd">;
  /** The number that throttling multiplies the rate by. Above 0, at most 1. Default: 0.7; aimd: 0.5. */
  beta?: Maybe<number>;
  /** How fast a cubic rate grows, in calls a second for each cubed second. Above 0. For cubic. Default: 0.4. */
  scale?: Maybe<number>;
  /** The weight of the latest half second in the measured rate. Above 0, at most 1. For cubic. Default: 0.8. */
  smooth?: Maybe<number>;
  /** The calls a second that each success adds to the rate. From 0 on. For aimd. Default: 1. */
  increase?: Maybe<number>;
  /** The lowest rate, in calls a second. Above 0. Default: 0.5. */
  minRate?: Maybe<number>;
  /** The highest rate, in calls a second. Above 0. For aimd. Default: 1000. */
  maxRate?: Maybe<number>;
  /** The rate at first, in calls a second. Above 0. For aimd. Default: 10. */
  initialRate?: Maybe<number>;
  /** The behaviour of a call that finds no token: give up, or sleep until there is one. Default: stop. */
  refusal?: Maybe<Refusal>;
}

/** A rate of attempts that follows the server's throttling. Each kind has fields of its own. */
export type AdaptiveFields =
  | Only<AnyAdaptive, "none", never>
  | Only<AnyAdaptive, "cubic", "beta" | "scale" | "smooth" | "minRate" | "refusal">
  | Only<AnyAdaptive, "aimd", "beta" | "increase" | "minRate" | "maxRate" | "initialRate" | "refusal">;

/** Longer delays while many attempts fail. */
export interface StretchFields {
  /** The number that delays are multiplied by when every attempt fails. From 1 on. Needed. */
  factor?: Maybe<number>;
  /** How far back attempts count. Above 0. Default: 30s. */
  window?: Maybe<Duration>;
  /** The number of attempts below which delays stay as they are. From 1 on. Default: 10. */
  minCalls?: Maybe<number>;
}

/** A second attempt beside a slow one. */
export interface HedgeFields {
  /** The time after an attempt's start at which the next one starts beside it. Needed. */
  delay?: Maybe<Duration>;
  /**
   * The share of attempts that end before the next one starts; takes the place of `delay` once enough attempts were
   * measured. Above 0, at most 1. Default: the delay alone counts.
   */
  percentile?: Maybe<number>;
  /** The number of attempts in a round, the first one included. 1 to 8. Default: 2. */
  attempts?: Maybe<number>;
}

/** A pause of all calls for as long as a server asks one of them to stay away. */
export interface PauseFields {
  /** The longest pause, from the hint on. Default: 1m. */
  max?: Maybe<Duration | "none">;
  /** The behaviour of a call that meets the pause: sleep until its turn behind it, or give up. Default: wait. */
  refusal?: Maybe<Refusal>;
}

/** What a retry does inside another one. */
export interface NestedFields {
  /** The behaviour of a retry inside another one, or around one. Default: allow. */
  mode?: Maybe<"allow" | "innermost" | "outermost" | "cap">;
  /** The number of attempts that nested retries may make together. From 1 on. For cap. Needed there. */
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
