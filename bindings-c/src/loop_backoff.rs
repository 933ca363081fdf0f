//! A wait backoff that begins again by itself.

use crate::*;

/// Reset of a loop backoff: it never begins again.
pub const HOLDOFF_RESET_NEVER: u32 = 0;
/// Reset of a loop backoff: when asked more than the limit after it was last asked (or made).
pub const HOLDOFF_RESET_AFTER_QUIET: u32 = 1;
/// Reset of a loop backoff: when asked more than the limit after it last began again (or was made), however busy it was
/// in between.
pub const HOLDOFF_RESET_EVERY: u32 = 2;
/// Reset of a loop backoff: as HOLDOFF_RESET_EVERY, but with a limit of 0 it never steps at all: Kubernetes'
/// Backoff.DelayWithReset.
pub const HOLDOFF_RESET_OR_HOLD: u32 = 3;

extern_c! {
    /// The delays between the runs of something that runs again and again: 88 bytes. Time is not clamped: a `now` before
    /// the last one reads as no time passed. The content is the library's.
    memory holdoff_loop_backoff([u64; 10]) as loop_backoff holds LoopBackoff, b"hoPace_1", NotACall;

    /// Makes a loop backoff of the delays of `wait_backoff`, beginning again by the rule `reset` (HOLDOFF_RESET_NEVER, ...)
    /// after `limit_ns`, made at `now`. Copies the backoff.
    ///
    /// Kubernetes' NewJitteredBackoffManager is one of holdoff_wait_backoff_init_kubernetes(b, period_ns, 0, jitter, 0, 0) that
    /// never begins again, NewExponentialBackoffManager one of (b, initial_ns, factor, jitter, INT32_MAX, max_ns) with
    /// HOLDOFF_RESET_AFTER_QUIET.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER, HOLDOFF_ERROR_NOT_A_CALL, or HOLDOFF_ERROR_UNKNOWN_WORD for another rule.
    init holdoff_loop_backoff_init(wait_backoff: *const holdoff_wait_backoff, reset: u32, limit_ns: u64, now) = {
        let (wait_backoff, limit) = (*get(wait_backoff)?, span(limit_ns));
        let reset = match reset {
            HOLDOFF_RESET_NEVER => Reset::Never,
            HOLDOFF_RESET_AFTER_QUIET => Reset::AfterQuiet(limit),
            HOLDOFF_RESET_EVERY => Reset::Every(limit),
            HOLDOFF_RESET_OR_HOLD => return store(loop_backoff, LoopBackoff::with_reset(wait_backoff, limit, now)),
            _ => return Err(ErrorCode::UnknownWord),
        };
        LoopBackoff::new(wait_backoff, reset, now)
    };

    /// Returns the delay to wait at `now` in nanoseconds, for the uniform `u` from [0, 1), which only jitter uses; moves
    /// on. HOLDOFF_NEVER for memory without a loop backoff.
    get_mut holdoff_loop_backoff_next(now, u: f64) -> u64 = loop_backoff.next(now, u).as_nanos(), else u64::MAX;

    /// Tells whether holdoff_loop_backoff_next uses its uniform `u`.
    get holdoff_loop_backoff_draws() -> bool = loop_backoff.draws(), else false;

    /// Copies the backoff as it stands to `wait_backoff`.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_CALL.
    get holdoff_loop_backoff_backoff(wait_backoff: *mut holdoff_wait_backoff) =
        store(wait_backoff, *loop_backoff.backoff())?;
}
