//! A stepped backoff that begins again by itself.

use crate::*;
use holdoff_core::{Pace, Reset};

/// Reset of a pace: it never begins again.
pub const HOLDOFF_RESET_NEVER: u32 = 0;
/// Reset of a pace: when asked more than the limit after it was last asked (or made).
pub const HOLDOFF_RESET_AFTER_QUIET: u32 = 1;
/// Reset of a pace: when asked more than the limit after it last began again (or was made), however busy it was in between.
pub const HOLDOFF_RESET_EVERY: u32 = 2;

memory! {
    /// The delays between the runs of something that runs again and again: 88 bytes. Time is not clamped: a `now` before
    /// the last one reads as no time passed. The content is the library's.
    holdoff_pace([u64; 10]) holds Pace, b"hoPace_1", NotACall
}
const _: () = assert!(size_of::<Pace>() == 10 * 8);

extern_c! {
    /// Makes a pace of the delays of `stepped`, beginning again by the rule `reset` (HOLDOFF_RESET_NEVER, ...) after
    /// `limit_ns`, made at `now`. Copies the backoff.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER, HOLDOFF_ERROR_NOT_A_CALL, or HOLDOFF_ERROR_UNKNOWN_WORD for another rule.
    fn holdoff_pace_init(pace: *mut holdoff_pace, stepped: *const holdoff_stepped, reset: u32, limit_ns: u64,
        now: Timestamp) -> c_int = {
        let limit = Span::from_nanos(limit_ns);
        let reset = match reset {
            HOLDOFF_RESET_NEVER => Ok(Reset::Never),
            HOLDOFF_RESET_AFTER_QUIET => Ok(Reset::AfterQuiet(limit)),
            HOLDOFF_RESET_EVERY => Ok(Reset::Every(limit)),
            _ => Err(ErrorCode::UnknownWord),
        };
        status(pair(reset, get(stepped)).and_then(|(reset, stepped)| store(pace, Pace::new(*stepped, reset, now))))
    };

    /// Makes a pace of the same delay each time and up to `jitter` of it more: Kubernetes' NewJitteredBackoffManager, where
    /// a jitter that is not positive means none.
    ///
    /// Returns 0, HOLDOFF_ERROR_JITTER_FACTOR_RANGE unless it is finite, or HOLDOFF_ERROR_NULL_POINTER.
    fn holdoff_pace_init_jittered(pace: *mut holdoff_pace, period_ns: u64, jitter: f64) -> c_int =
        status(built(Pace::jittered(Span::from_nanos(period_ns), jitter)).and_then(|built| store(pace, built)));

    /// Makes a pace that grows from `initial_ns` by `factor` up to `max_ns`, and begins again after more than `reset_ns`
    /// without being asked, made at `now`: Kubernetes' NewExponentialBackoffManager.
    ///
    /// Returns 0, HOLDOFF_ERROR_FACTOR_RANGE, HOLDOFF_ERROR_JITTER_FACTOR_RANGE or HOLDOFF_ERROR_NULL_POINTER.
    fn holdoff_pace_init_exponential(pace: *mut holdoff_pace, initial_ns: u64, max_ns: u64, reset_ns: u64, factor: f64,
        jitter: f64, now: Timestamp) -> c_int = {
        let [initial, max, reset] = [initial_ns, max_ns, reset_ns].map(Span::from_nanos);
        let made = Pace::exponential(initial, max, reset, factor, jitter, now);
        status(built(made).and_then(|built| store(pace, built)))
    };

    /// Makes a pace that steps `stepped` and begins again every `reset_ns`, made at `now`: Kubernetes'
    /// Backoff.DelayWithReset, where a reset of 0 means that it never steps at all. Copies the backoff.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_CALL.
    fn holdoff_pace_init_with_reset(pace: *mut holdoff_pace, stepped: *const holdoff_stepped, reset_ns: u64,
        now: Timestamp) -> c_int = {
        let reset = Span::from_nanos(reset_ns);
        status(get(stepped).and_then(|stepped| store(pace, Pace::with_reset(*stepped, reset, now))))
    };

    /// Returns the delay to wait at `now` in nanoseconds, for the uniform `u` from [0, 1), which only jitter uses; moves
    /// on. HOLDOFF_NEVER for memory without a pace.
    fn holdoff_pace_next(pace: *mut holdoff_pace, now: Timestamp, u: f64) -> u64 =
        get_mut(pace).map_or(u64::MAX, |pace| pace.next(now, u).as_nanos());

    /// Tells whether holdoff_pace_next uses its uniform `u`.
    fn holdoff_pace_draws(pace: *const holdoff_pace) -> bool = get(pace).is_ok_and(Pace::draws);

    /// Copies the backoff as it stands to `stepped`.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_CALL.
    fn holdoff_pace_backoff(pace: *const holdoff_pace, stepped: *mut holdoff_stepped) -> c_int =
        status(get(pace).and_then(|pace| store(stepped, *pace.backoff())));
}
