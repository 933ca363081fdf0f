//! Hedges, which start a second attempt beside a slow one.

use crate::*;

memory! {
    /// A hedge, which starts another attempt beside a slow one, and the latency of past attempts: 48 bytes. May be copied
    /// and moved. Zeroed memory is none. The content is the library's.
    holdoff_hedge([u64; 5]) holds Guard<HedgeConfig, Latency>, b"hoHedge1", NotAGuard
}

described!(holdoff_hedge in hedge: HedgeConfig, |_, _, _| Latency::new());

extern_c! {
    /// Makes the hedge that the options describe under "hedge".
    ///
    /// Returns 0 and writes `hedge`; or a HOLDOFF_ERROR_ number and a problem, see holdoff_budget_init.
    fn holdoff_hedge_init(hedge: *mut holdoff_hedge, options: *const holdoff_options,
        problem: *mut holdoff_problem) -> c_int =
        init(hedge, options, 0, Timestamp::ZERO, problem);

    /// Records how long an attempt took that succeeded.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
    fn holdoff_hedge_record(hedge: *mut holdoff_hedge, took_ns: u64) -> c_int =
        status(change(hedge, |config, state| {
            state.record(span(took_ns), config.percentile().unwrap_or(0.0));
        }));

    /// Writes the estimate of how long the hedge's percentile of attempts takes at most to `ns` (which may be NULL), in
    /// nanoseconds.
    ///
    /// Returns whether there is one: not before the first record, and not for memory without a hedge.
    fn holdoff_hedge_quantile(hedge: *const holdoff_hedge, ns: *mut Span) -> bool =
        write_some(ns, get(hedge).ok().and_then(|guard| guard.state.quantile()));

    /// Returns how long after an attempt the next one starts beside it, in nanoseconds; HOLDOFF_LONGEST_NS for memory
    /// without a hedge.
    fn holdoff_hedge_delay(hedge: *const holdoff_hedge) -> Span =
        get(hedge).map_or(Span::MAX, |guard| guard.config.delay(&guard.state));
}
