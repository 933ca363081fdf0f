//! A rate that follows the other side's throttling.

use super::{Guard, init, restored, saved};
use crate::boundary::{answer, drive, look, memory};
use crate::errors::status;
use crate::options::holdoff_options;
use crate::problem::holdoff_problem;
use core::ffi::{c_char, c_int};
use holdoff_core::{Adaptive, AdaptiveConfig, AdaptiveStart, ConfigError, ErrorCode, GuardsBuilder, Timestamp};

/// How many bytes a saved adaptive rate has.
pub const HOLDOFF_SAVED_ADAPTIVE: usize = 84;
const _: () = assert!(HOLDOFF_SAVED_ADAPTIVE == Adaptive::SAVED);

/// An adaptive rate, its configuration and its state: 136 bytes. May be copied and moved. Zeroed memory is none: it lets nobody
/// through. The content is the library's.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct holdoff_adaptive {
    magic: u64,
    state: [u64; 16],
}

memory!(holdoff_adaptive: Guard<AdaptiveConfig, Adaptive>, u64::from_be_bytes(*b"hoAdapt1"), ErrorCode::NotAGuard);

/// What a rate begins with that is carried over from another system. Rates are calls a second.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(C)]
pub struct holdoff_adaptive_start {
    /// The rate; raised to the lowest one.
    pub rate: f64,
    /// The tokens there are; at most one second's, or 1.
    pub tokens: f64,
    /// The measured rate of calls.
    pub measured: f64,
    /// The rate at which it was last throttled; 0 if never.
    pub last_max_rate: f64,
    /// When it was.
    pub throttled_at: u64,
    /// Whether it limits yet; not 0 for yes.
    pub limits: u32,
}

pub(crate) fn make(
    builder: &GuardsBuilder,
    now: Timestamp,
) -> Result<Option<Guard<AdaptiveConfig, Adaptive>>, ConfigError> {
    Ok(builder.adaptive()?.map(|config| Guard { config, state: Adaptive::new(&config, now) }))
}

/// Makes the adaptive rate that the options describe under "adaptive", which has seen nothing.
///
/// Returns 0 and writes `adaptive`; or a HOLDOFF_ERROR_ number and a problem, see holdoff_budget_init.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_adaptive_init(
    adaptive: *mut holdoff_adaptive,
    options: *const holdoff_options,
    now: u64,
    problem: *mut holdoff_problem,
) -> c_int {
    // SAFETY: the header's promise.
    unsafe { init(adaptive, options, problem, "adaptive", |builder| make(builder, Timestamp::from_nanos(now))) }
}

/// Lets a rate that was made begin at `now` with what another one knew.
///
/// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_adaptive_begin_with(
    adaptive: *mut holdoff_adaptive,
    start: *const holdoff_adaptive_start,
    now: u64,
) -> c_int {
    // SAFETY: the header's promise.
    status(unsafe { drive(adaptive) }.and_then(|Guard { config, state }| {
        if start.is_null() {
            return Err(ErrorCode::NullPointer);
        }
        // SAFETY: not null; the header's promise.
        let start = unsafe { start.read_unaligned() };
        let start = AdaptiveStart {
            rate: start.rate,
            tokens: start.tokens,
            measured: start.measured,
            last_max_rate: start.last_max_rate,
            throttled_at: Timestamp::from_nanos(start.throttled_at),
            limits: start.limits != 0,
        };
        *state = Adaptive::started(config, start, Timestamp::from_nanos(now));
        Ok(())
    }))
}

/// Takes `cost` tokens at `now`, 1 for an ordinary attempt, or says when they will be there: in `retry_at` (which may be NULL),
/// HOLDOFF_NEVER for more than there can be. A refusal takes nothing.
///
/// Returns whether they were there; false for memory that holds no rate, at HOLDOFF_NEVER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_adaptive_take(
    adaptive: *mut holdoff_adaptive,
    cost: f64,
    now: u64,
    retry_at: *mut u64,
) -> bool {
    // SAFETY: the header's promise.
    let adaptive = unsafe { drive(adaptive) }.map_err(|_| Timestamp::NEVER);
    let taken = adaptive.and_then(|Guard { config, state }| state.take(config, cost, Timestamp::from_nanos(now)));
    if let Err(again) = taken {
        // SAFETY: the header's promise.
        unsafe { answer(retry_at, again.as_nanos()) }
    }
    taken.is_ok()
}

/// Gives back tokens that were taken and not used.
///
/// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_adaptive_give_back(adaptive: *mut holdoff_adaptive, cost: f64, now: u64) -> c_int {
    // SAFETY: the header's promise.
    status(unsafe { drive(adaptive) }.map(|Guard { config, state }| {
        state.give_back(config, cost, Timestamp::from_nanos(now));
    }))
}

/// An answer came at `now`, throttled or not: moves the rate.
///
/// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_adaptive_update(adaptive: *mut holdoff_adaptive, now: u64, throttled: bool) -> c_int {
    // SAFETY: the header's promise.
    status(unsafe { drive(adaptive) }.map(|Guard { config, state }| {
        state.update(config, Timestamp::from_nanos(now), throttled);
    }))
}

/// The rate in calls a second; 0 for memory that holds none. One of the kind "cubic" has one before it limits, too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_adaptive_rate(adaptive: *const holdoff_adaptive) -> f64 {
    // SAFETY: the header's promise.
    unsafe { look(adaptive) }.map_or(0.0, |guard| guard.state.rate())
}

/// The measured rate of answers in calls a second; 0 for memory that holds no rate.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_adaptive_measured(adaptive: *const holdoff_adaptive) -> f64 {
    // SAFETY: the header's promise.
    unsafe { look(adaptive) }.map_or(0.0, |guard| guard.state.measured())
}

/// The tokens there are at `now`; 0 for memory that holds no rate.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_adaptive_tokens(adaptive: *const holdoff_adaptive, now: u64) -> f64 {
    // SAFETY: the header's promise.
    unsafe { look(adaptive) }.map_or(0.0, |guard| guard.state.tokens(Timestamp::from_nanos(now)))
}

/// Whether it limits: one of the kind "aimd" always, of the kind "cubic" from the first throttling on. False for memory that
/// holds no rate.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_adaptive_limits(adaptive: *const holdoff_adaptive) -> bool {
    // SAFETY: the header's promise.
    unsafe { look(adaptive) }.is_ok_and(|guard| guard.state.limits())
}

/// Writes the rate's state at `now` as bytes that last, HOLDOFF_SAVED_ADAPTIVE of them, to `bytes`, which has room for `size`.
///
/// Returns how many there are; 0 when they do not fit, and for memory that holds no rate.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_adaptive_save(
    adaptive: *const holdoff_adaptive,
    now: u64,
    bytes: *mut c_char,
    size: usize,
) -> usize {
    // SAFETY: the header's promise.
    let made = unsafe { look(adaptive) }.map(|Guard { config, state }| state.save(config, Timestamp::from_nanos(now)));
    // SAFETY: the header's promise.
    unsafe { saved(made, bytes, size) }
}

/// Gives a rate that was made the state that bytes say, on a clock that reads `now`; see holdoff_budget_restore.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_adaptive_restore(
    adaptive: *mut holdoff_adaptive,
    bytes: *const c_char,
    length: usize,
    now: u64,
    problem: *mut holdoff_problem,
) -> c_int {
    let now = Timestamp::from_nanos(now);
    // SAFETY: the header's promise.
    unsafe {
        restored(adaptive, bytes, length, problem, |bytes, Guard { config, state }| {
            Adaptive::restore(bytes, config, now).map(|restored| *state = restored)
        })
    }
}
