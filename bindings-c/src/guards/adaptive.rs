//! A rate that follows the other side's throttling.

use crate::*;

c_struct! {
    /// The state of a rate that comes from another system. Rates are calls a second.
    holdoff_adaptive_start mirrors AdaptiveStart {
        /// The rate; raised to the lowest one.
        rate: f64 = rate,
        /// The tokens there are; at most one second's, or 1.
        tokens: f64 = tokens,
        /// The measured rate of calls.
        measured: f64 = measured,
        /// The rate at which it was last throttled; 0 if never.
        last_max_rate: f64 = last_max_rate,
        /// The time of that throttling.
        throttled_at: Timestamp = throttled_at,
        /// Not 0: the rate limits already.
        limits: u32 = limits,
    }
}

extern_c! {
    /// An adaptive rate, its configuration and its state: 152 bytes. May be copied and moved. Zeroed memory is none: it
    /// lets no call through. The content is the library's.
    guard holdoff_adaptive([u64; 18]) as adaptive = Guard { config, state, .. } in AdaptiveConfig, b"hoAdapt2";

    /// Makes the adaptive rate that the options describe under "adaptive", which has seen nothing.
    ///
    /// Returns 0 and writes `adaptive`; or a HOLDOFF_ERROR_ number and a problem, see holdoff_budget_init.
    make holdoff_adaptive_init(options, now) = section(options, 0, now)?;

    /// Lets a rate that was made begin at `now` with what another one knew.
    change holdoff_adaptive_begin_with(start: *const holdoff_adaptive_start, now) = {
        let start = read(start).ok_or(ErrorCode::NullPointer)?.try_into()?;
        *state = Adaptive::started(config, start, now);
    };

    /// Takes `cost` tokens at `now`, 1 for an ordinary attempt, or says when they will be there: in `retry_at` (which may
    /// be NULL), HOLDOFF_NEVER for more than there can be. A refusal takes nothing.
    ///
    /// Returns whether they were there; false for memory without a rate, at HOLDOFF_NEVER.
    get_mut holdoff_adaptive_take(cost: f64, now, retry_at: *mut Timestamp) -> bool =
        write_permission(&mut (), retry_at, state.take(config, cost, now)), else refuse(retry_at);

    /// Gives back tokens that were taken and not used.
    change holdoff_adaptive_give_back(cost: f64, now) = state.give_back(config, cost, now);

    /// Records an answer at `now`, throttled or not, which moves the rate.
    change holdoff_adaptive_update(now, throttled: bool) = state.update(config, now, throttled);

    /// Returns how many of the calls that wait in the line of the adaptive rate to wake: as holdoff_limiter_to_wake.
    get holdoff_adaptive_to_wake() -> u32 = state.to_wake(), else 0;

    /// Returns the rate in calls a second; 0 for memory without a rate. The kind "cubic" has a rate even before it limits.
    get holdoff_adaptive_rate() -> f64 = state.rate(), else 0.0;

    /// Returns the measured rate of answers in calls a second; 0 for memory without a rate.
    get holdoff_adaptive_measured() -> f64 = state.measured(), else 0.0;

    /// Returns the tokens at `now`; 0 for memory without a rate.
    get holdoff_adaptive_tokens(now) -> f64 = state.tokens(now), else 0.0;

    /// Tells whether the rate limits: the kind "aimd" always, the kind "cubic" from the first throttling on. False for
    /// memory without a rate.
    get holdoff_adaptive_limits() -> bool = state.limits(), else false;
}
