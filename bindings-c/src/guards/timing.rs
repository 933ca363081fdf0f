//! Guards that move the time at which an attempt begins.

use crate::*;

extern_c! {
    /// A stretch, which makes delays longer while many attempts fail: 176 bytes. May be copied and moved. Zeroed memory is
    /// none: it leaves delays as they are. The content is the library's.
    guard holdoff_stretch([u64; 21]) as stretch = Guard { config, state, .. } in StretchConfig, b"hoStret1";

    /// Makes the stretch that the options describe under "stretch".
    ///
    /// Returns 0 and writes `stretch`; or a HOLDOFF_ERROR_ number and a problem, see holdoff_budget_init.
    make holdoff_stretch_init(options, now) = section(options, 0, now)?;

    /// Records an attempt that ended at `now`, failed or not.
    change holdoff_stretch_record(now, failed: bool) = state.record(config, now, failed);

    /// Returns the stretched delay at `now`, in nanoseconds; the same delay for memory without a stretch.
    get holdoff_stretch_delay(now, delay_ns: u64) -> Span = state.stretch(config, now, span(delay_ns)), else span(delay_ns);
}

extern_c! {
    /// A hedge, which starts another attempt beside a slow one, and the latency of past attempts: 48 bytes. May be copied
    /// and moved. Zeroed memory is none. The content is the library's.
    guard holdoff_hedge([u64; 5]) as hedge = Guard { config, state, .. } in HedgeConfig, b"hoHedge1";

    /// Makes the hedge that the options describe under "hedge".
    ///
    /// Returns 0 and writes `hedge`; or a HOLDOFF_ERROR_ number and a problem, see holdoff_budget_init.
    make holdoff_hedge_init(options) = section(options, 0, Timestamp::ZERO)?;

    /// Records how long an attempt took that succeeded.
    change holdoff_hedge_record(took_ns: u64) = state.record(span(took_ns), config.percentile().unwrap_or(0.0));

    /// Writes the estimate of how long the hedge's percentile of attempts takes at most to `ns` (which may be NULL), in
    /// nanoseconds.
    ///
    /// Returns whether there is one: not before the first record, and not for memory without a hedge.
    get holdoff_hedge_quantile(ns: *mut Span) -> bool = write_some(ns, state.quantile()), else false;

    /// Returns how long after an attempt the next one starts beside it, in nanoseconds; HOLDOFF_LONGEST_NS for memory
    /// without a hedge.
    get holdoff_hedge_delay() -> Span = config.delay(state), else Span::MAX;
}

extern_c! {
    /// A pause, which closes for all calls while a server asks one of them to stay away: 40 bytes. May be copied and moved. Zeroed
    /// memory is none: it refuses no call. The content is the library's.
    guard holdoff_pause([u64; 4]) as pause = Guard { config, state, .. } in PauseConfig, b"hoPause1";

    /// Makes the pause that the options describe under "pause", which is open.
    ///
    /// Returns 0 and writes `pause`; or a HOLDOFF_ERROR_ number and a problem, see holdoff_budget_init.
    make holdoff_pause_init(options) = section(options, 0, Timestamp::ZERO)?;

    /// Closes the pause because a server said at `now` not to come before `span_ns` is over.
    change holdoff_pause_hint(now, span_ns: u64) = state.hint(config, now, span(span_ns));

    /// Tells whether an attempt at `at` would be refused, and writes until when to `retry_at` (which may be NULL).
    ///
    /// Returns whether it would be; false for memory without a pause.
    get holdoff_pause_refuses(at: Timestamp, retry_at: *mut Timestamp) -> bool = write_some(retry_at, state.refuses(at)), else false;
}

numbers! {
    /// The number of bytes of a saved pause.
    HOLDOFF_SAVED_PAUSE: usize = 36 is PauseConfig::SAVED;
}
