//! Hedges, which start a second attempt beside a slow one.

use crate::*;

extern_c! {
    /// A hedge, which starts another attempt beside a slow one, and the latency of past attempts: 48 bytes. May be copied
    /// and moved. Zeroed memory is none. The content is the library's.
    guard holdoff_hedge([u64; 5]) as hedge = Guard { config, state, .. } in HedgeConfig, b"hoHedge1";

    /// Makes the hedge that the options describe under "hedge".
    ///
    /// Returns 0 and writes `hedge`; or a HOLDOFF_ERROR_ number and a problem, see holdoff_budget_init.
    make holdoff_hedge_init(options) = section(options, 0, Timestamp::ZERO)?;

    /// Records how long an attempt took that succeeded.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
    get_mut holdoff_hedge_record(took_ns: u64) = state.record(span(took_ns), config.percentile().unwrap_or(0.0));

    /// Writes the estimate of how long the hedge's percentile of attempts takes at most to `ns` (which may be NULL), in
    /// nanoseconds.
    ///
    /// Returns whether there is one: not before the first record, and not for memory without a hedge.
    get holdoff_hedge_quantile(ns: *mut Span) -> bool = write_some(ns, state.quantile()), else false;

    /// Returns how long after an attempt the next one starts beside it, in nanoseconds; HOLDOFF_LONGEST_NS for memory
    /// without a hedge.
    get holdoff_hedge_delay() -> Span = config.delay(state), else Span::MAX;
}
