//! Longer delays while much fails.

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
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
    get_mut holdoff_stretch_record(now, failed: bool) = state.record(config, now, failed);

    /// Returns the stretched delay at `now`, in nanoseconds; the same delay for memory without a stretch.
    get holdoff_stretch_delay(now, delay_ns: u64) -> Span = state.stretch(config, now, span(delay_ns)), else span(delay_ns);
}
