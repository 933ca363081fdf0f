/** The fields of guards and the rules about them, for the checks in JavaScript. Generated from core/src/fields.rs by `cargo xtask generate`. */
import { LONGEST } from "../table.js";

/** The guards in the order of their bits. */
export const NAMES = ["budget", "breaker", "limiter", "bulkhead", "adaptive", "stretch", "hedge", "pause"] as const;

/**
 * A field: number, names, the kinds that have a use for it as bits, default, the values that it takes, and its rule where these
 * do not say it. The default is null for a field that its kinds need.
 */
export type Row = readonly [number, string, number, number | bigint | null | undefined, string, string?];

export const ROWS: readonly Row[] = [
  [25, "budget.kind budget", 65534, 3, "word 0 none token throttle ratio share requests window default"],
  [26, "budget.capacity", 134, 500, "whole 0 1000000", "must be a whole number from 0 to 1000000, for a throttle 1 or more"],
  [27, "budget.cost", 2, 5, "whole 0 1000000"],
  [28, "budget.timeout_cost", 2, undefined, "whole 0 1000000"],
  [29, "budget.throttled_cost", 2, undefined, "whole 0 1000000"],
  [30, "budget.reward", 6, 1, "number"],
  [31, "budget.refill", 2, 0, "number"],
  [32, "budget.ratio", 24, 0.1, "number"],
  [33, "budget.window", 104, 10000000000, "span above"],
  [34, "budget.min_per_second", 8, 0.1, "number"],
  [35, "budget.min_concurrency", 16, 3, "whole 0 4294967295"],
  [36, "budget.k", 32, 2, "number"],
  [37, "budget.limit", 64, null, "whole 0 4294967295"],
  [97, "budget.hinted_cost", 2, undefined, "whole 0 1000000"],
  [98, "budget.grace", 2, 0, "span"],
  [99, "budget.returns", 2, 0, "word 0 last all"],
  [38, "breaker.kind breaker", 65534, 1, "word 0 none consecutive count time"],
  [39, "breaker.failures", 2, 5, "whole 1 4294967295"],
  [40, "breaker.size", 4, 100, "whole 1 128"],
  [41, "breaker.window", 8, 30000000000, "span above"],
  [42, "breaker.slots", 8, 10, "whole 1 10"],
  [43, "breaker.failure_rate", 12, 0.5, "number share"],
  [44, "breaker.slow_after", 12, LONGEST, "longest"],
  [45, "breaker.slow_rate", 12, undefined, "number share"],
  [46, "breaker.min_calls", 12, 10, "whole 1 4294967295", "must be a whole number from 1 to 4294967295, at most the size of a count"],
  [47, "breaker.open_for.kind", 65534, 1, "word 1 constant linear exponential polynomial fibonacci"],
  [48, "breaker.open_for breaker.open_for.initial breaker.open_for.delay", 65534, 30000000000, "span list 8"],
  [49, "breaker.open_for.factor", 8, 2, "number"],
  [50, "breaker.open_for.increment", 4, undefined, "span"],
  [51, "breaker.open_for.exponent", 16, 2, "number"],
  [52, "breaker.open_for.max", 60, LONGEST, "longest"],
  [53, "breaker.jitter", 65534, 0, "number"],
  [54, "breaker.probes", 65534, 1, "whole 1 4294967295"],
  [55, "breaker.successes", 65534, 1, "whole 1 4294967295"],
  [96, "breaker.probe_failures", 65534, 0, "whole 0 4294967295"],
  [56, "breaker.reopen", 2, 0, "word 0 first streak"],
  [57, "breaker.mode", 65534, 0, "word 0 enforce observe"],
  [58, "breaker.hint", 65534, 0, "word 0 ignore open"],
  [59, "breaker.refusal", 65534, 0, "word 0 stop wait"],
  [100, "breaker.ramp", 65534, 0, "word 0 double none"],
  [60, "limiter.kind limiter", 65534, 1, "word 0 none gcra bucket window log"],
  [61, "limiter.limit", 65534, null, "number", "must be a whole number from 1 to 4294967295, for a log to 1000000, for a bucket any number, 0 or more"],
  [62, "limiter.per", 65534, 1000000000, "span above"],
  [63, "limiter.burst", 6, undefined, "whole 1 4294967295"],
  [64, "limiter.refusal", 65534, 0, "word 0 stop wait"],
  [65, "bulkhead.limit bulkhead", 65534, null, "whole 1 4294967295"],
  [66, "bulkhead.queue", 65534, 0, "whole 0 65536"],
  [67, "bulkhead.max_wait", 65534, LONGEST, "longest"],
  [68, "adaptive.kind adaptive", 65534, 1, "word 0 none cubic aimd"],
  [69, "adaptive.beta", 65534, 0.7, "number share"],
  [70, "adaptive.scale", 2, 0.4, "number above", "must be a finite number above 0"],
  [71, "adaptive.smooth", 2, 0.8, "number share"],
  [72, "adaptive.increase", 4, 1, "number"],
  [73, "adaptive.min_rate", 65534, 0.5, "number above", "must be a finite number above 0"],
  [74, "adaptive.max_rate", 4, 1000, "number above", "must be a finite number, not below min_rate"],
  [75, "adaptive.initial_rate", 4, 10, "number above", "must be a number from min_rate to max_rate"],
  [76, "adaptive.refusal", 65534, 0, "word 0 stop wait"],
  [77, "stretch.factor stretch", 65534, null, "number 1", "must be a finite number, 1 or more"],
  [78, "stretch.window", 65534, 30000000000, "span above"],
  [79, "stretch.min_calls", 65534, 10, "whole 1 4294967295"],
  [80, "hedge.delay hedge", 65534, null, "span"],
  [81, "hedge.percentile", 65534, undefined, "number share"],
  [82, "hedge.attempts", 65534, 2, "whole 1 8"],
  [101, "pause.max pause", 65534, 60000000000, "longest"],
  [102, "pause.refusal", 65534, 1, "word 0 stop wait"],
  [83, "nested.mode nested", 65534, 0, "word 0 allow innermost outermost cap"],
  [84, "nested.cap", 8, null, "whole 1 4294967295"],
];

/**
 * The numbers of configurations in their order: a double, or a whole number of 64, 32 or 8 bits, and its name.
 */
export const LAYOUTS: Readonly<Record<string, string>> = {
  budget: "w kind, w cost, w timeout_cost, w throttled_cost, l capacity, l reward, l withdrawal, l reserve, d rate, l slot",
  breaker: "l open.initial, l open.step, l open.max, w open.times, b open.kind, b, b, b, d failure_rate, d slow_rate, d jitter, l slow_after, l window, l slot_length, w failures, w size, w min_calls, w probes, w successes, b kind, b reopen, b mode, b hint, b refusal, b ramp, b, b, w probe_failures, l more_open.0, l more_open.1, l more_open.2, l more_open.3, l more_open.4, l more_open.5, l more_open.6",
  limiter: "d rate, l per, l interval, l capacity, w interval_rest, w capacity_rest, w limit, w burst, b kind, b refusal, b, b, b, b, b, b",
  bulkhead: "l max_wait, w limit, w queue",
  adaptive: "d beta, d scale, d smooth, d increase, d min_rate, d max_rate, d initial_rate, b kind, b refusal, b, b, b, b, b, b",
  stretch: "d factor, l window, w min_calls, w",
  hedge: "l delay, d percentile, w attempts, w",
  pause: "l max, l refusal",
};

/** The rules that have other words for a field of a guard. */
export const NOT_ZERO = "must be more than 0";
export const OPEN_MAX = "must not be below the open time at first (it is 30s unless given)";
export const OPEN_FULL = "exceeds the limit of 8 open times";

/** The word and the rule of each error about guards and their lists, by its number. */
export const GUARD_RULES: Readonly<Record<number, string>> = {
  150: "count_range must be a whole number in the range of its field",
  151: "share_range must be a number above 0 and at most 1",
  152: "rate_range must be a finite number, 0 or more",
  153: "field_missing is needed by the chosen kind",
  115: "delays_missing must list at least one delay",
  118: "too_many_stages exceeds the limit of 16 stages and 64 listed delays",
};
