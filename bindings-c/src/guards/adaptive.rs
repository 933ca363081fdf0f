//! A rate that follows the other side's throttling.

use crate::*;

memory! {
    /// An adaptive rate, its configuration and its state: 136 bytes. May be copied and moved. Zeroed memory is none: it
    /// lets no call through. The content is the library's.
    holdoff_adaptive([u64; 16]) holds Guard<AdaptiveConfig, Adaptive>, b"hoAdapt1", NotAGuard
}

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

described!(holdoff_adaptive in adaptive: AdaptiveConfig, |config, _, now| Adaptive::new(config, now));

extern_c! {
    /// Makes the adaptive rate that the options describe under "adaptive", which has seen nothing.
    ///
    /// Returns 0 and writes `adaptive`; or a HOLDOFF_ERROR_ number and a problem, see holdoff_budget_init.
    fn holdoff_adaptive_init(adaptive: *mut holdoff_adaptive, options: *const holdoff_options, now: Timestamp,
        problem: *mut holdoff_problem) -> c_int =
        init(adaptive, options, 0, now, problem);

    /// Lets a rate that was made begin at `now` with what another one knew.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
    fn holdoff_adaptive_begin_with(adaptive: *mut holdoff_adaptive, start: *const holdoff_adaptive_start,
        now: Timestamp) -> c_int =
        status(get_mut(adaptive).and_then(|Guard { config, state }| {
            let start = read(start).ok_or(ErrorCode::NullPointer)?.try_into()?;
            *state = Adaptive::started(config, start, now);
            Ok(())
        }));

    /// Takes `cost` tokens at `now`, 1 for an ordinary attempt, or says when they will be there: in `retry_at` (which may
    /// be NULL), HOLDOFF_NEVER for more than there can be. A refusal takes nothing.
    ///
    /// Returns whether they were there; false for memory without a rate, at HOLDOFF_NEVER.
    fn holdoff_adaptive_take(adaptive: *mut holdoff_adaptive, cost: f64, now: Timestamp,
        retry_at: *mut Timestamp) -> bool = {
        let asked = change(adaptive, |config, state| state.take(config, cost, now));
        write_permission(core::ptr::null_mut(), retry_at, asked)
    };

    /// Gives back tokens that were taken and not used.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
    fn holdoff_adaptive_give_back(adaptive: *mut holdoff_adaptive, cost: f64, now: Timestamp) -> c_int =
        tell(adaptive, |config, state| state.give_back(config, cost, now));

    /// Records an answer at `now`, throttled or not, which moves the rate.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
    fn holdoff_adaptive_update(adaptive: *mut holdoff_adaptive, now: Timestamp, throttled: bool) -> c_int =
        tell(adaptive, |config, state| state.update(config, now, throttled));

    /// Returns the rate in calls a second; 0 for memory without a rate. The kind "cubic" has a rate even before it limits.
    fn holdoff_adaptive_rate(adaptive: *const holdoff_adaptive) -> f64 =
        get(adaptive).map_or(0.0, |guard| guard.state.rate());

    /// Returns the measured rate of answers in calls a second; 0 for memory without a rate.
    fn holdoff_adaptive_measured(adaptive: *const holdoff_adaptive) -> f64 =
        get(adaptive).map_or(0.0, |guard| guard.state.measured());

    /// Returns the tokens at `now`; 0 for memory without a rate.
    fn holdoff_adaptive_tokens(adaptive: *const holdoff_adaptive, now: Timestamp) -> f64 =
        get(adaptive).map_or(0.0, |guard| guard.state.tokens(now));

    /// Tells whether the rate limits: the kind "aimd" always, the kind "cubic" from the first throttling on. False for
    /// memory without a rate.
    fn holdoff_adaptive_limits(adaptive: *const holdoff_adaptive) -> bool =
        get(adaptive).is_ok_and(|guard| guard.state.limits());
}
