//! Longer delays while much fails.

use crate::*;

memory! {
    /// A stretch, which makes delays longer while many attempts fail: 176 bytes. May be copied and moved. Zeroed memory is
    /// none: it leaves delays as they are. The content is the library's.
    holdoff_stretch([u64; 21]) holds Guard<StretchConfig, Stretch>, b"hoStret1", NotAGuard
}

described!(holdoff_stretch in stretch: StretchConfig, |config, _, now| Stretch::new(config, now));

extern_c! {
    /// Makes the stretch that the options describe under "stretch".
    ///
    /// Returns 0 and writes `stretch`; or a HOLDOFF_ERROR_ number and a problem, see holdoff_budget_init.
    fn holdoff_stretch_init(stretch: *mut holdoff_stretch, options: *const holdoff_options, now: Timestamp,
        problem: *mut holdoff_problem) -> c_int =
        init(stretch, options, 0, now, problem);

    /// Records an attempt that ended at `now`, failed or not.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
    fn holdoff_stretch_record(stretch: *mut holdoff_stretch, now: Timestamp, failed: bool) -> c_int =
        tell(stretch, |config, state| state.record(config, now, failed));

    /// Returns the stretched delay at `now`, in nanoseconds; the same delay for memory without a stretch.
    fn holdoff_stretch_delay(stretch: *const holdoff_stretch, now: Timestamp, delay_ns: u64) -> Span = {
        let delay = span(delay_ns);
        get(stretch).map_or(delay, |guard| guard.state.stretch(&guard.config, now, delay))
    };
}
