//! Guards from plain numbers, one function a kind; the fields that a function does not take have their defaults.

use crate::*;

extern_c! {
    /// Makes a closed breaker that opens for `open_ns` after `failures` failures in a row, at least 1.
    ///
    /// Returns 0 and writes `breaker`; or HOLDOFF_ERROR_COUNT_RANGE or HOLDOFF_ERROR_NULL_POINTER.
    status holdoff_breaker_init_consecutive(breaker: *mut holdoff_breaker, failures: u32, open_ns: u64, now) =
        put_guard(breaker, BreakerConfig::consecutive(failures, span(open_ns)), 0, now)?;

    /// Makes a closed breaker that opens for `open_ns` when at least the share `failure_rate` (above 0, at most 1) of the last
    /// `size` calls (1 to 128) failed, once there are `min_calls` (1 to `size`).
    ///
    /// Returns 0 and writes `breaker`; or HOLDOFF_ERROR_COUNT_RANGE, HOLDOFF_ERROR_SHARE_RANGE or HOLDOFF_ERROR_NULL_POINTER.
    status holdoff_breaker_init_count(breaker: *mut holdoff_breaker, size: u32, min_calls: u32, failure_rate: f64,
        open_ns: u64, now) =
        put_guard(breaker, BreakerConfig::count(size, min_calls, failure_rate, span(open_ns)), 0, now)?;

    /// Makes a closed breaker that opens for `open_ns` when at least the share `failure_rate` (above 0, at most 1) of the calls
    /// in the last `window_ns` (above 0, in 1 to 10 `slots`) failed, once there are `min_calls` (at least 1).
    ///
    /// Returns 0 and writes `breaker`; or HOLDOFF_ERROR_ZERO_LIMIT, HOLDOFF_ERROR_COUNT_RANGE, HOLDOFF_ERROR_SHARE_RANGE or
    /// HOLDOFF_ERROR_NULL_POINTER.
    status holdoff_breaker_init_time(breaker: *mut holdoff_breaker, window_ns: u64, slots: u32, min_calls: u32,
        failure_rate: f64, open_ns: u64, now) =
        put_guard(breaker, BreakerConfig::time(span(window_ns), slots, min_calls, failure_rate, span(open_ns)), 0, now)?;

    /// Lets a breaker that nobody uses yet open for `times_ns` one after the other in a row: `count` times, 1 to 8; the last one
    /// repeats.
    ///
    /// Returns 0; or HOLDOFF_ERROR_DELAYS_MISSING, HOLDOFF_ERROR_TOO_MANY_STAGES, HOLDOFF_ERROR_NULL_POINTER or
    /// HOLDOFF_ERROR_NOT_A_GUARD, and leaves `breaker` as it was.
    status holdoff_breaker_set_open_times(breaker: *mut holdoff_breaker, times_ns: *const u64, count: usize) = {
        let guard = get_mut(breaker)?;
        // One time more than there may be is enough to refuse them all.
        let count = count.min(9);
        let bytes = slice(times_ns.cast(), count.saturating_mul(8))?;
        let times = bytes.chunks_exact(8).filter_map(|time| time.try_into().ok()).map(u64::from_ne_bytes);
        let mut spans = [Span::ZERO; 9];
        spans.iter_mut().zip(times).for_each(|(slot, nanos)| *slot = span(nanos));
        guard.config = guard.config.with_open_times(spans.get(..count).unwrap_or(&[]))?;
    };

    /// Lets `probes` calls at once try a half-open breaker that nobody uses yet; `successes` of them close it (both at least 1),
    /// and it opens again when more than `failures` of them have failed.
    ///
    /// Returns 0; or HOLDOFF_ERROR_COUNT_RANGE, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD, and leaves `breaker` as
    /// it was.
    status holdoff_breaker_set_probes(breaker: *mut holdoff_breaker, probes: u32, successes: u32, failures: u32) = {
        let guard = get_mut(breaker)?;
        guard.config = guard.config.with_probes(probes, successes, failures)?;
    };

    /// Makes a full budget of `capacity` tokens. A retry costs `cost` of them, `timeout_cost` after a timeout and
    /// `throttled_cost` after throttling; a success brings `reward`, and each second `refill`, from 0 on.
    ///
    /// Returns 0 and writes `budget`; or HOLDOFF_ERROR_RATE_RANGE or HOLDOFF_ERROR_NULL_POINTER.
    status holdoff_budget_init_token(budget: *mut holdoff_budget, capacity: u32, cost: u32, timeout_cost: u32,
        throttled_cost: u32, reward: f64, refill: f64, now) =
        put_guard(budget, BudgetConfig::token(capacity, [cost, timeout_cost, throttled_cost], reward, refill), 0, now)?;

    /// Makes the budget that the loops of other languages bring to a policy that names none. When calls begin to fail, every one may retry
    /// for a second. After that they share 20 tokens: a retry costs 1, after a timeout or throttling 10; a success returns what its call
    /// took and adds 1; a sleep for a server's hint is free. holdoff_budget_init makes the same with another capacity of options with
    /// `{"budget": 1000}`.
    ///
    /// Returns 0 and writes `budget`; or HOLDOFF_ERROR_NULL_POINTER.
    status holdoff_budget_init_loops(budget: *mut holdoff_budget, now) =
        put_guard(budget, Ok(BudgetConfig::of_loops()), 0, now)?;

    /// Makes gRPC's throttle of `capacity` tokens (at least 1): a failure takes one token and a success brings `reward`.
    ///
    /// Returns 0 and writes `budget`; or HOLDOFF_ERROR_COUNT_RANGE, HOLDOFF_ERROR_RATE_RANGE or HOLDOFF_ERROR_NULL_POINTER.
    status holdoff_budget_init_throttle(budget: *mut holdoff_budget, capacity: u32, reward: f64, now) =
        put_guard(budget, BudgetConfig::throttle(capacity, reward), 0, now)?;

    /// Makes a budget of `ratio` retries a call of the last `window_ns` (above 0), and `min_per_second` retries besides.
    ///
    /// Returns 0 and writes `budget`; or HOLDOFF_ERROR_RATE_RANGE, HOLDOFF_ERROR_ZERO_LIMIT or HOLDOFF_ERROR_NULL_POINTER.
    status holdoff_budget_init_ratio(budget: *mut holdoff_budget, ratio: f64, window_ns: u64, min_per_second: f64,
        now) =
        put_guard(budget, BudgetConfig::ratio(ratio, span(window_ns), min_per_second), 0, now)?;

    /// Makes a budget in which at most the share `ratio` of the calls under way are retries, or `min_concurrency` of them.
    ///
    /// Returns 0 and writes `budget`; or HOLDOFF_ERROR_RATE_RANGE or HOLDOFF_ERROR_NULL_POINTER.
    status holdoff_budget_init_share(budget: *mut holdoff_budget, ratio: f64, min_concurrency: u32, now) =
        put_guard(budget, BudgetConfig::share(ratio, min_concurrency), 0, now)?;

    /// Makes client-side throttling: attempts are refused at random once there are more than `k` times as many as were
    /// accepted in the last `window_ns` (above 0). The seed is for these draws.
    ///
    /// Returns 0 and writes `budget`; or HOLDOFF_ERROR_RATE_RANGE, HOLDOFF_ERROR_ZERO_LIMIT or HOLDOFF_ERROR_NULL_POINTER.
    status holdoff_budget_init_requests(budget: *mut holdoff_budget, k: f64, window_ns: u64, seed, now) =
        put_guard(budget, BudgetConfig::requests(k, span(window_ns)), seed, now)?;

    /// Makes a budget of `limit` retries in each window of `window_ns` (above 0).
    ///
    /// Returns 0 and writes `budget`; or HOLDOFF_ERROR_ZERO_LIMIT or HOLDOFF_ERROR_NULL_POINTER.
    status holdoff_budget_init_window(budget: *mut holdoff_budget, limit: u32, window_ns: u64, now) =
        put_guard(budget, BudgetConfig::window(limit, span(window_ns)), 0, now)?;

    /// Makes a limiter of `limit` calls in each `per_ns`, evenly spread, and `burst` at once after a rest; all at least 1.
    ///
    /// Returns 0 and writes `limiter`; or HOLDOFF_ERROR_COUNT_RANGE, HOLDOFF_ERROR_ZERO_LIMIT or HOLDOFF_ERROR_NULL_POINTER.
    status holdoff_limiter_init_gcra(limiter: *mut holdoff_limiter, limit: u32, per_ns: u64, burst: u32, now) =
        put_guard(limiter, LimiterConfig::gcra(limit, span(per_ns), burst), 0, now)?;

    /// Makes a limiter by a bucket of `burst` tokens, into which `limit` drip in each `per_ns`.
    ///
    /// Returns 0 and writes `limiter`; or HOLDOFF_ERROR_RATE_RANGE, HOLDOFF_ERROR_COUNT_RANGE, HOLDOFF_ERROR_ZERO_LIMIT or
    /// HOLDOFF_ERROR_NULL_POINTER.
    status holdoff_limiter_init_bucket(limiter: *mut holdoff_limiter, limit: f64, per_ns: u64, burst: u32, now) =
        put_guard(limiter, LimiterConfig::bucket(limit, span(per_ns), burst), 0, now)?;

    /// Makes a limiter of about `limit` calls in any `per_ns`, by two windows; both at least 1.
    ///
    /// Returns 0 and writes `limiter`; or HOLDOFF_ERROR_COUNT_RANGE, HOLDOFF_ERROR_ZERO_LIMIT or HOLDOFF_ERROR_NULL_POINTER.
    status holdoff_limiter_init_window(limiter: *mut holdoff_limiter, limit: u32, per_ns: u64, now) =
        put_guard(limiter, LimiterConfig::window(limit, span(per_ns)), 0, now)?;

    /// Makes a limiter of exactly `limit` calls in any `per_ns`, by a log: `words` has room for `length` words, at least
    /// `limit`, for as long as the limiter is used.
    ///
    /// Returns 0 and writes `limiter`; or HOLDOFF_ERROR_COUNT_RANGE, HOLDOFF_ERROR_ZERO_LIMIT, HOLDOFF_ERROR_NO_ROOM or
    /// HOLDOFF_ERROR_NULL_POINTER.
    status holdoff_limiter_init_log(limiter: *mut holdoff_limiter, limit: u32, per_ns: u64, words, length, now) = {
        let guard = LimiterConfig::log(limit, span(per_ns))?.guard(0, now);
        put_with_words(limiter, guard, &mut Words::new(words, length))?;
    };

    /// Makes AWS's adaptive rate: no limit until the first throttling, then a cubic curve. `beta` is the factor of the rate for
    /// each throttling, `scale` how fast the curve grows, `smooth` the weight of the latest half second, `min_rate` the
    /// lowest rate in calls a second; all above 0, `beta` and `smooth` at most 1. AWS has 0.7, 0.4, 0.8 and 0.5.
    ///
    /// Returns 0 and writes `adaptive`; or HOLDOFF_ERROR_SHARE_RANGE, HOLDOFF_ERROR_RATE_RANGE or HOLDOFF_ERROR_NULL_POINTER.
    status holdoff_adaptive_init_cubic(adaptive: *mut holdoff_adaptive, beta: f64, scale: f64, smooth: f64, min_rate: f64,
        now) =
        put_guard(adaptive, AdaptiveConfig::cubic(beta, scale, smooth, min_rate), 0, now)?;

    /// Makes a rate that grows by `increase` with each answer and is multiplied by `beta` (above 0, at most 1) with each
    /// throttling, from `min_rate` (above 0) to `max_rate`, at first `initial_rate`, all in calls a second.
    ///
    /// Returns 0 and writes `adaptive`; or HOLDOFF_ERROR_SHARE_RANGE, HOLDOFF_ERROR_RATE_RANGE or HOLDOFF_ERROR_NULL_POINTER.
    status holdoff_adaptive_init_aimd(adaptive: *mut holdoff_adaptive, beta: f64, increase: f64, min_rate: f64,
        max_rate: f64, initial_rate: f64, now) =
        put_guard(adaptive, AdaptiveConfig::aimd(beta, increase, min_rate, max_rate, initial_rate), 0, now)?;

    /// Makes a bulkhead of `limit` calls at once (at least 1) and `queue` more that wait (at most 65,536), each `max_wait_ns` at
    /// most. A queue above 64 needs a word for each 64 places in `words`, for as long as the bulkhead is used; for a
    /// shorter one `words` may be NULL and `length` 0.
    ///
    /// Returns 0 and writes `bulkhead`; or HOLDOFF_ERROR_COUNT_RANGE, HOLDOFF_ERROR_NO_ROOM or HOLDOFF_ERROR_NULL_POINTER.
    status holdoff_bulkhead_init_limit(bulkhead: *mut holdoff_bulkhead, limit: u32, queue: u32, max_wait_ns: u64, words,
        length) = {
        let guard = BulkheadConfig::new(limit, queue, span(max_wait_ns))?.guard(0, Timestamp::ZERO);
        put_with_words(bulkhead, guard, &mut Words::new(words, length))?;
    };

    /// Makes a stretch of delays by up to `factor` (finite, from 1 on), which they are when every attempt of the last
    /// `window_ns` (above 0) failed and there were `min_calls` (at least 1) of them.
    ///
    /// Returns 0 and writes `stretch`; or HOLDOFF_ERROR_FACTOR_RANGE, HOLDOFF_ERROR_ZERO_LIMIT, HOLDOFF_ERROR_COUNT_RANGE or
    /// HOLDOFF_ERROR_NULL_POINTER.
    status holdoff_stretch_init_factor(stretch: *mut holdoff_stretch, factor: f64, window_ns: u64, min_calls: u32,
        now) =
        put_guard(stretch, StretchConfig::new(factor, span(window_ns), min_calls), 0, now)?;

    /// Makes a hedge that starts the next attempt `delay_ns` after the one before it or, for a `percentile` above 0 (at most 1),
    /// once that takes longer than such a share of attempts: `attempts` in all, the first included, 1 to 8.
    ///
    /// Returns 0 and writes `hedge`; or HOLDOFF_ERROR_SHARE_RANGE, HOLDOFF_ERROR_COUNT_RANGE or HOLDOFF_ERROR_NULL_POINTER.
    status holdoff_hedge_init_delay(hedge: *mut holdoff_hedge, delay_ns: u64, percentile: f64, attempts: u32) = {
        let percentile = Some(percentile).filter(|share| *share != 0.0);
        put_guard(hedge, HedgeConfig::new(span(delay_ns), percentile, attempts), 0, Timestamp::ZERO)?;
    };
}
