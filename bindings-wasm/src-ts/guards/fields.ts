/** The types of guards' fields: the sections of a policy document. The core knows the names and the ranges. */
import type { Duration } from "../times.js";

type Maybe<T> = T | null | undefined;

/** The behaviour of a refused call: give up at once, or sleep until the guard would let it through. */
export type Refusal = "stop" | "wait";

/** How many retries there may be for the calls there are. */
export interface BudgetFields {
  /** Ratio unless given. */
  kind?: Maybe<"none" | "token" | "throttle" | "ratio" | "share" | "requests" | "window">;
  capacity?: Maybe<number>;
  cost?: Maybe<number>;
  timeoutCost?: Maybe<number>;
  timeout_cost?: Maybe<number>;
  throttledCost?: Maybe<number>;
  throttled_cost?: Maybe<number>;
  reward?: Maybe<number>;
  refill?: Maybe<number>;
  ratio?: Maybe<number>;
  window?: Maybe<Duration>;
  minPerSecond?: Maybe<number>;
  min_per_second?: Maybe<number>;
  minConcurrency?: Maybe<number>;
  min_concurrency?: Maybe<number>;
  k?: Maybe<number>;
  limit?: Maybe<number>;
}

/** How long a breaker stays open, opening after opening. */
export interface OpenForFields {
  kind?: Maybe<"constant" | "linear" | "exponential" | "polynomial" | "fibonacci">;
  initial?: Maybe<Duration>;
  delay?: Maybe<Duration>;
  factor?: Maybe<number>;
  increment?: Maybe<Duration>;
  exponent?: Maybe<number>;
  max?: Maybe<Duration>;
}

/** When the other side is left alone. */
export interface BreakerFields {
  /** Consecutive unless given. */
  kind?: Maybe<"none" | "consecutive" | "count" | "time">;
  failures?: Maybe<number>;
  size?: Maybe<number>;
  window?: Maybe<Duration>;
  slots?: Maybe<number>;
  failureRate?: Maybe<number>;
  failure_rate?: Maybe<number>;
  slowAfter?: Maybe<Duration>;
  slow_after?: Maybe<Duration>;
  slowRate?: Maybe<number>;
  slow_rate?: Maybe<number>;
  minCalls?: Maybe<number>;
  min_calls?: Maybe<number>;
  openFor?: Maybe<Duration | OpenForFields>;
  open_for?: Maybe<Duration | OpenForFields>;
  jitter?: Maybe<number>;
  probes?: Maybe<number>;
  successes?: Maybe<number>;
  reopen?: Maybe<"first" | "streak">;
  mode?: Maybe<"enforce" | "observe">;
  hint?: Maybe<"ignore" | "open">;
  refusal?: Maybe<Refusal>;
}

/** How many attempts there may be in a time. */
export interface LimiterFields {
  /** GCRA unless given. */
  kind?: Maybe<"none" | "gcra" | "bucket" | "window" | "log">;
  limit?: Maybe<number>;
  per?: Maybe<Duration>;
  burst?: Maybe<number>;
  refusal?: Maybe<Refusal>;
}

/** How many attempts there may be at once. */
export interface BulkheadFields {
  limit?: Maybe<number>;
  queue?: Maybe<number>;
  maxWait?: Maybe<Duration>;
  max_wait?: Maybe<Duration>;
}

/** A rate that follows the other side's throttling. */
export interface AdaptiveFields {
  /** Cubic unless given. */
  kind?: Maybe<"none" | "cubic" | "aimd">;
  beta?: Maybe<number>;
  scale?: Maybe<number>;
  smooth?: Maybe<number>;
  increase?: Maybe<number>;
  minRate?: Maybe<number>;
  min_rate?: Maybe<number>;
  maxRate?: Maybe<number>;
  max_rate?: Maybe<number>;
  initialRate?: Maybe<number>;
  initial_rate?: Maybe<number>;
  refusal?: Maybe<Refusal>;
}

/** Longer delays while much fails. */
export interface StretchFields {
  factor?: Maybe<number>;
  window?: Maybe<Duration>;
  minCalls?: Maybe<number>;
  min_calls?: Maybe<number>;
}

/** A second attempt beside a slow one. */
export interface HedgeFields {
  delay?: Maybe<Duration>;
  percentile?: Maybe<number>;
  attempts?: Maybe<number>;
}

/** A retry inside another one. */
export interface NestedFields {
  mode?: Maybe<"allow" | "innermost" | "outermost" | "cap">;
  cap?: Maybe<number>;
}

/** The sections of guards: an object each, or its first field alone. */
export interface GuardFields {
  budget?: Maybe<BudgetFields["kind"] | BudgetFields>;
  breaker?: Maybe<BreakerFields["kind"] | BreakerFields>;
  limiter?: Maybe<LimiterFields["kind"] | LimiterFields>;
  bulkhead?: Maybe<number | BulkheadFields>;
  adaptive?: Maybe<AdaptiveFields["kind"] | AdaptiveFields>;
  stretch?: Maybe<number | StretchFields>;
  hedge?: Maybe<Duration | HedgeFields>;
}
