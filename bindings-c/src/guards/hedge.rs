//! A second attempt beside one that takes long.

use super::{Guard, init, restored, saved};
use crate::boundary::{answer, drive, look, memory};
use crate::errors::status;
use crate::options::holdoff_options;
use crate::problem::holdoff_problem;
use core::ffi::{c_char, c_int};
use holdoff_core::{ConfigError, ErrorCode, GuardsBuilder, HedgeConfig, Latency, Span};

/// How many bytes the saved latency of a hedge has.
pub const HOLDOFF_SAVED_HEDGE: usize = 32;
const _: () = assert!(HOLDOFF_SAVED_HEDGE == Latency::SAVED);

/// When the next attempt starts beside one that still runs, and what is known of how long attempts take: 48 bytes. May be copied
/// and moved. Zeroed memory is none. The content is the library's.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct holdoff_hedge {
    magic: u64,
    state: [u64; 5],
}

memory!(holdoff_hedge: Guard<HedgeConfig, Latency>, u64::from_be_bytes(*b"hoHedge1"), ErrorCode::NotAGuard);

pub(crate) fn make(builder: &GuardsBuilder) -> Result<Option<Guard<HedgeConfig, Latency>>, ConfigError> {
    Ok(builder.hedge()?.map(|config| Guard { config, state: Latency::new() }))
}

/// Makes the hedge that the options describe under "hedge".
///
/// Returns 0 and writes `hedge`; or a HOLDOFF_ERROR_ number and a problem, see holdoff_budget_init.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_hedge_init(
    hedge: *mut holdoff_hedge,
    options: *const holdoff_options,
    problem: *mut holdoff_problem,
) -> c_int {
    // SAFETY: the header's promise.
    unsafe { init(hedge, options, problem, "hedge", make) }
}

/// An attempt that succeeded took that long.
///
/// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_hedge_record(hedge: *mut holdoff_hedge, took_ns: u64) -> c_int {
    // SAFETY: the header's promise.
    status(unsafe { drive(hedge) }.map(|Guard { config, state }| {
        state.record(Span::from_nanos(took_ns), config.percentile().unwrap_or(0.0));
    }))
}

/// Writes the estimate of how long the hedge's percentile of attempts takes at most to `ns` (which may be NULL), in nanoseconds.
///
/// Returns whether there is one: not before the first record, and not for memory that holds no hedge.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_hedge_quantile(hedge: *const holdoff_hedge, ns: *mut u64) -> bool {
    // SAFETY: the header's promise.
    let quantile = unsafe { look(hedge) }.ok().and_then(|guard| guard.state.quantile());
    if let Some(quantile) = quantile {
        // SAFETY: the header's promise.
        unsafe { answer(ns, quantile.as_nanos()) }
    }
    quantile.is_some()
}

/// How long after an attempt the next one starts beside it, in nanoseconds; HOLDOFF_LONGEST_NS for memory that holds no hedge.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_hedge_delay(hedge: *const holdoff_hedge) -> u64 {
    // SAFETY: the header's promise.
    unsafe { look(hedge) }.map_or(Span::MAX.as_nanos(), |Guard { config, state }| config.delay(state).as_nanos())
}

/// Writes what is known of how long attempts take as bytes that last, HOLDOFF_SAVED_HEDGE of them, to `bytes`, which has room for
/// `size`.
///
/// Returns how many there are; 0 when they do not fit, and for memory that holds no hedge.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_hedge_save(hedge: *const holdoff_hedge, bytes: *mut c_char, size: usize) -> usize {
    // SAFETY: the header's promise.
    let made = unsafe { look(hedge) }.map(|guard| guard.state.save());
    // SAFETY: the header's promise.
    unsafe { saved(made, bytes, size) }
}

/// Gives a hedge that was made the state that bytes say; see holdoff_budget_restore.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_hedge_restore(
    hedge: *mut holdoff_hedge,
    bytes: *const c_char,
    length: usize,
    problem: *mut holdoff_problem,
) -> c_int {
    // SAFETY: the header's promise.
    unsafe {
        restored(hedge, bytes, length, problem, |bytes, guard| {
            Latency::restore(bytes).map(|restored| guard.state = restored)
        })
    }
}
