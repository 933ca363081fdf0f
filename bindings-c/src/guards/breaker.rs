//! Whether the other side is well enough to be called.

use super::{Guard, init, restored, saved};
use crate::boundary::{answer, drive, look, memory};
use crate::errors::status;
use crate::options::holdoff_options;
use crate::problem::holdoff_problem;
use core::ffi::{c_char, c_int};
use holdoff_core::{
    Breaker, BreakerConfig, BreakerState, ConfigError, ErrorCode, GuardsBuilder, Permit, Span, Timestamp, Verdict,
};

/// How many bytes a saved breaker has.
pub const HOLDOFF_SAVED_BREAKER: usize = 216;
const _: () = assert!(HOLDOFF_SAVED_BREAKER == Breaker::SAVED);

/// State of a breaker: calls run and are counted.
pub const HOLDOFF_BREAKER_CLOSED: u32 = 0;
/// State of a breaker: no call runs.
pub const HOLDOFF_BREAKER_OPEN: u32 = 1;
/// State of a breaker: a few calls may try it.
pub const HOLDOFF_BREAKER_HALF_OPEN: u32 = 2;
/// State of a breaker: open by hand, until it is closed by hand.
pub const HOLDOFF_BREAKER_ISOLATED: u32 = 3;
/// State of a breaker: the memory holds none.
pub const HOLDOFF_BREAKER_NONE: u32 = 4294967295;

macro_rules! same {
    ($($header:ident = $core:ident),* $(,)?) => { $(const _: () = assert!($header == BreakerState::$core as u32);)* };
}

same! {
    HOLDOFF_BREAKER_CLOSED = Closed,
    HOLDOFF_BREAKER_OPEN = Open,
    HOLDOFF_BREAKER_HALF_OPEN = HalfOpen,
    HOLDOFF_BREAKER_ISOLATED = Isolated,
}

/// A circuit breaker, its configuration and its state: 328 bytes. May be copied and moved. Zeroed memory is no breaker: it lets
/// nobody through. The content is the library's.
///
/// Who was let through says holdoff_breaker_record once, or holdoff_breaker_abandon. A holdoff_guarded does all of that.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct holdoff_breaker {
    magic: u64,
    state: [u64; 40],
}

memory!(holdoff_breaker: Guard<BreakerConfig, Breaker>, u64::from_be_bytes(*b"hoBreak1"), ErrorCode::NotAGuard);

pub(crate) fn make(
    builder: &GuardsBuilder,
    seed: u64,
    now: Timestamp,
) -> Result<Option<Guard<BreakerConfig, Breaker>>, ConfigError> {
    Ok(builder.breaker()?.map(|config| Guard { config, state: Breaker::new(&config, seed, now) }))
}

/// Makes the breaker that the options describe under "breaker", closed. The seed is for the jitter of its open times.
///
/// Returns 0 and writes `breaker`; or a HOLDOFF_ERROR_ number and a problem, see holdoff_budget_init.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_breaker_init(
    breaker: *mut holdoff_breaker,
    options: *const holdoff_options,
    seed: u64,
    now: u64,
    problem: *mut holdoff_problem,
) -> c_int {
    // SAFETY: the header's promise.
    unsafe { init(breaker, options, problem, "breaker", |builder| make(builder, seed, Timestamp::from_nanos(now))) }
}

/// May a call run at `now`? If so its permit is written to `permit`; if not, when to ask again to `retry_at` (each may be NULL).
///
/// Returns whether it may. For memory that holds no breaker it may not, at HOLDOFF_NEVER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_breaker_acquire(
    breaker: *mut holdoff_breaker,
    now: u64,
    permit: *mut u32,
    retry_at: *mut u64,
) -> bool {
    // SAFETY: the header's promise.
    let given = unsafe { drive(breaker) }.map_err(|_| Timestamp::NEVER);
    match given.and_then(|Guard { config, state }| state.acquire(config, Timestamp::from_nanos(now))) {
        Ok(given) => {
            // SAFETY: the header's promise.
            unsafe { answer(permit, given.as_raw()) };
            true
        }
        Err(again) => {
            // SAFETY: the header's promise.
            unsafe { answer(retry_at, again.as_nanos()) };
            false
        }
    }
}

/// The same for a breaker that is closed, which takes no clock: if the answer is false ask holdoff_breaker_acquire.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_breaker_acquire_closed(breaker: *const holdoff_breaker, permit: *mut u32) -> bool {
    // SAFETY: the header's promise.
    let given = unsafe { look(breaker) }.ok().and_then(|guard| guard.state.acquire_closed());
    if let Some(given) = given {
        // SAFETY: the header's promise.
        unsafe { answer(permit, given.as_raw()) }
    }
    given.is_some()
}

/// Whether a call at `at` would be refused, as things stand, and then until when, which is written to `retry_at` (which may be
/// NULL). A half-open breaker does not say so beforehand. True for memory that holds no breaker.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_breaker_refuses(breaker: *const holdoff_breaker, at: u64, retry_at: *mut u64) -> bool {
    // SAFETY: the header's promise.
    let breaker = unsafe { look(breaker) };
    let refused = breaker
        .map_or(Some(Timestamp::NEVER), |Guard { config, state }| state.refuses(config, Timestamp::from_nanos(at)));
    if let Some(again) = refused {
        // SAFETY: the header's promise.
        unsafe { answer(retry_at, again.as_nanos()) }
    }
    refused.is_some()
}

/// The call with this permit ended at `now`, well or as a failure of the other side, after it took `took_ns`. An old permit
/// changes nothing.
///
/// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_breaker_record(
    breaker: *mut holdoff_breaker,
    permit: u32,
    now: u64,
    failed: bool,
    took_ns: u64,
) -> c_int {
    let verdict = if failed { Verdict::Failure } else { Verdict::Success };
    let (permit, took) = (Permit::from_raw(permit), Span::from_nanos(took_ns));
    // SAFETY: the header's promise.
    status(unsafe { drive(breaker) }.map(|Guard { config, state }| {
        state.record(config, permit, Timestamp::from_nanos(now), verdict, took);
    }))
}

/// The call with this permit ended, or never ran, and nothing is known of it: its place comes back.
///
/// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_breaker_abandon(breaker: *mut holdoff_breaker, permit: u32, now: u64) -> c_int {
    // SAFETY: the header's promise.
    status(unsafe { drive(breaker) }.map(|Guard { config, state }| {
        state.abandon(config, Permit::from_raw(permit), Timestamp::from_nanos(now));
    }))
}

/// The server said at `now` not to come before `span_ns` are over: a breaker that listens to hints is open until then.
///
/// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_breaker_hint(breaker: *mut holdoff_breaker, now: u64, span_ns: u64) -> c_int {
    // SAFETY: the header's promise.
    status(unsafe { drive(breaker) }.map(|Guard { config, state }| {
        state.hint(config, Timestamp::from_nanos(now), Span::from_nanos(span_ns));
    }))
}

/// Opens it by hand, until holdoff_breaker_force_close or holdoff_breaker_reset.
///
/// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_breaker_isolate(breaker: *mut holdoff_breaker, now: u64) -> c_int {
    // SAFETY: the header's promise.
    status(unsafe { drive(breaker) }.map(|guard| guard.state.isolate(Timestamp::from_nanos(now))))
}

/// Closes it by hand, as successes would have.
///
/// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_breaker_force_close(breaker: *mut holdoff_breaker, now: u64) -> c_int {
    // SAFETY: the header's promise.
    status(unsafe { drive(breaker) }.map(|guard| guard.state.force_close(Timestamp::from_nanos(now))))
}

/// Makes it as new: closed, and its openings forgotten.
///
/// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_breaker_reset(breaker: *mut holdoff_breaker, now: u64) -> c_int {
    // SAFETY: the header's promise.
    status(unsafe { drive(breaker) }.map(|guard| guard.state.reset(Timestamp::from_nanos(now))))
}

/// How it stands at `now`: a HOLDOFF_BREAKER_ number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_breaker_state(breaker: *const holdoff_breaker, now: u64) -> u32 {
    // SAFETY: the header's promise.
    let breaker = unsafe { look(breaker) };
    breaker
        .map_or(HOLDOFF_BREAKER_NONE, |Guard { config, state }| state.state(config, Timestamp::from_nanos(now)) as u32)
}

/// Until when it is open; of a half-open one when the permits that are out expire, of an isolated one and for memory that holds
/// no breaker HOLDOFF_NEVER, of a closed one 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_breaker_retry_at(breaker: *const holdoff_breaker) -> u64 {
    // SAFETY: the header's promise.
    unsafe { look(breaker) }.map_or(u64::MAX, |guard| guard.state.retry_at().as_nanos())
}

/// Writes how many calls count at `now`, how many of them failed and how many were slow (each pointer may be NULL). Of a
/// consecutive breaker the first two are the failures in a row.
///
/// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_breaker_rates(
    breaker: *const holdoff_breaker,
    now: u64,
    calls: *mut u32,
    failed: *mut u32,
    slow: *mut u32,
) -> c_int {
    // SAFETY: the header's promise.
    status(unsafe { look(breaker) }.map(|Guard { config, state }| {
        let counts = state.rates(config, Timestamp::from_nanos(now));
        // SAFETY: the header's promise.
        unsafe {
            answer(calls, counts.0);
            answer(failed, counts.1);
            answer(slow, counts.2);
        }
    }))
}

/// How often it has opened, by itself or by a hint, since it was made or reset; 0 for memory that holds no breaker.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_breaker_openings(breaker: *const holdoff_breaker) -> u32 {
    // SAFETY: the header's promise.
    unsafe { look(breaker) }.map_or(0, |guard| guard.state.openings())
}

/// Writes the breaker's state at `now` as bytes that last, HOLDOFF_SAVED_BREAKER of them, to `bytes`, which has room for `size`.
///
/// Returns how many there are; 0 when they do not fit, and for memory that holds no breaker.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_breaker_save(
    breaker: *const holdoff_breaker,
    now: u64,
    bytes: *mut c_char,
    size: usize,
) -> usize {
    // SAFETY: the header's promise.
    let made = unsafe { look(breaker) }.map(|Guard { config, state }| state.save(config, Timestamp::from_nanos(now)));
    // SAFETY: the header's promise.
    unsafe { saved(made, bytes, size) }
}

/// Gives a breaker that was made the state that bytes say, on a clock that reads `now`; see holdoff_budget_restore.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_breaker_restore(
    breaker: *mut holdoff_breaker,
    bytes: *const c_char,
    length: usize,
    now: u64,
    problem: *mut holdoff_problem,
) -> c_int {
    let now = Timestamp::from_nanos(now);
    // SAFETY: the header's promise.
    unsafe {
        restored(breaker, bytes, length, problem, |bytes, Guard { config, state }| {
            Breaker::restore(bytes, config, now).map(|restored| *state = restored)
        })
    }
}
