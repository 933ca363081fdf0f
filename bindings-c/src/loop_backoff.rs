//! A wait backoff that begins again by itself.

use crate::*;
use holdoff_core::{LoopBackoff, Reset};

/// Reset of a loop backoff: it never begins again.
pub const HOLDOFF_RESET_NEVER: u32 = 0;
/// Reset of a loop backoff: when asked more than the limit after it was last asked (or made).
pub const HOLDOFF_RESET_AFTER_QUIET: u32 = 1;
/// Reset of a loop backoff: when asked more than the limit after it last began again (or was made), however busy it was
/// in between.
pub const HOLDOFF_RESET_EVERY: u32 = 2;

memory! {
    /// The delays between the runs of something that runs again and again: 88 bytes. Time is not clamped: a `now` before
    /// the last one reads as no time passed. The content is the library's.
    holdoff_loop_backoff([u64; 10]) holds LoopBackoff, b"hoPace_1", NotACall
}

extern_c! {
    /// Makes a loop backoff of the delays of `wait_backoff`, beginning again by the rule `reset` (HOLDOFF_RESET_NEVER,
    /// ...) after
    /// `limit_ns`, made at `now`. Copies the backoff.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER, HOLDOFF_ERROR_NOT_A_CALL, or HOLDOFF_ERROR_UNKNOWN_WORD for another rule.
    fn holdoff_loop_backoff_init(loop_backoff: *mut holdoff_loop_backoff, wait_backoff: *const holdoff_wait_backoff, reset: u32, limit_ns: u64,
        now: Timestamp) -> c_int = {
        let limit = Span::from_nanos(limit_ns);
        let reset = match reset {
            HOLDOFF_RESET_NEVER => Ok(Reset::Never),
            HOLDOFF_RESET_AFTER_QUIET => Ok(Reset::AfterQuiet(limit)),
            HOLDOFF_RESET_EVERY => Ok(Reset::Every(limit)),
            _ => Err(ErrorCode::UnknownWord),
        };
        status(pair(reset, get(wait_backoff)).and_then(|(reset, wait_backoff)| store(loop_backoff, LoopBackoff::new(*wait_backoff, reset, now))))
    };

    /// Makes a loop backoff of the same delay each time and up to `jitter` of it more: Kubernetes'
    /// NewJitteredBackoffManager, where a jitter that is not positive means none.
    ///
    /// Returns 0, HOLDOFF_ERROR_JITTER_FACTOR_RANGE unless it is finite, or HOLDOFF_ERROR_NULL_POINTER.
    fn holdoff_loop_backoff_init_jittered(loop_backoff: *mut holdoff_loop_backoff, period_ns: u64, jitter: f64) -> c_int =
        status(built(LoopBackoff::jittered(Span::from_nanos(period_ns), jitter)).and_then(|built| store(loop_backoff, built)));

    /// Makes a loop backoff that grows from `initial_ns` by `factor` up to `max_ns`, and begins again after more than
    /// `reset_ns` without being asked, made at `now`: Kubernetes' NewExponentialBackoffManager.
    ///
    /// Returns 0, HOLDOFF_ERROR_FACTOR_RANGE, HOLDOFF_ERROR_JITTER_FACTOR_RANGE or HOLDOFF_ERROR_NULL_POINTER.
    fn holdoff_loop_backoff_init_exponential(loop_backoff: *mut holdoff_loop_backoff, initial_ns: u64, max_ns: u64, reset_ns: u64, factor: f64,
        jitter: f64, now: Timestamp) -> c_int = {
        let [initial, max, reset] = [initial_ns, max_ns, reset_ns].map(Span::from_nanos);
        let made = LoopBackoff::exponential(initial, max, reset, factor, jitter, now);
        status(built(made).and_then(|built| store(loop_backoff, built)))
    };

    /// Makes a loop backoff that steps `wait_backoff` and begins again every `reset_ns`, made at `now`: Kubernetes'
    /// Backoff.DelayWithReset, where a reset of 0 means that it never steps at all. Copies the backoff.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_CALL.
    fn holdoff_loop_backoff_init_with_reset(loop_backoff: *mut holdoff_loop_backoff, wait_backoff: *const holdoff_wait_backoff, reset_ns: u64,
        now: Timestamp) -> c_int = {
        let reset = Span::from_nanos(reset_ns);
        status(get(wait_backoff).and_then(|wait_backoff| store(loop_backoff, LoopBackoff::with_reset(*wait_backoff, reset, now))))
    };

    /// Returns the delay to wait at `now` in nanoseconds, for the uniform `u` from [0, 1), which only jitter uses; moves
    /// on. HOLDOFF_NEVER for memory without a loop backoff.
    fn holdoff_loop_backoff_next(loop_backoff: *mut holdoff_loop_backoff, now: Timestamp, u: f64) -> u64 =
        get_mut(loop_backoff).map_or(u64::MAX, |loop_backoff| loop_backoff.next(now, u).as_nanos());

    /// Tells whether holdoff_loop_backoff_next uses its uniform `u`.
    fn holdoff_loop_backoff_draws(loop_backoff: *const holdoff_loop_backoff) -> bool = get(loop_backoff).is_ok_and(LoopBackoff::draws);

    /// Copies the backoff as it stands to `wait_backoff`.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_CALL.
    fn holdoff_loop_backoff_backoff(loop_backoff: *const holdoff_loop_backoff, wait_backoff: *mut holdoff_wait_backoff) -> c_int =
        status(get(loop_backoff).and_then(|loop_backoff| store(wait_backoff, *loop_backoff.backoff())));
}
