//! Longer delays while much fails.

use super::{Guard, init, restored, saved};
use crate::boundary::{drive, look, memory};
use crate::errors::status;
use crate::options::holdoff_options;
use crate::problem::holdoff_problem;
use core::ffi::{c_char, c_int};
use holdoff_core::{ConfigError, ErrorCode, GuardsBuilder, Span, Stretch, StretchConfig, Timestamp};

/// How many bytes a saved stretch has.
pub const HOLDOFF_SAVED_STRETCH: usize = 160;
const _: () = assert!(HOLDOFF_SAVED_STRETCH == Stretch::SAVED);

/// What stretches delays, its configuration and its state: 176 bytes. May be copied and moved. Zeroed memory is none: it leaves
/// delays as they are. The content is the library's.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct holdoff_stretch {
    magic: u64,
    state: [u64; 21],
}

memory!(holdoff_stretch: Guard<StretchConfig, Stretch>, u64::from_be_bytes(*b"hoStret1"), ErrorCode::NotAGuard);

pub(crate) fn make(
    builder: &GuardsBuilder,
    now: Timestamp,
) -> Result<Option<Guard<StretchConfig, Stretch>>, ConfigError> {
    Ok(builder.stretch()?.map(|config| Guard { config, state: Stretch::new(&config, now) }))
}

/// Makes the stretch that the options describe under "stretch".
///
/// Returns 0 and writes `stretch`; or a HOLDOFF_ERROR_ number and a problem, see holdoff_budget_init.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_stretch_init(
    stretch: *mut holdoff_stretch,
    options: *const holdoff_options,
    now: u64,
    problem: *mut holdoff_problem,
) -> c_int {
    // SAFETY: the header's promise.
    unsafe { init(stretch, options, problem, "stretch", |builder| make(builder, Timestamp::from_nanos(now))) }
}

/// An attempt ended at `now`, failed or not.
///
/// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_stretch_record(stretch: *mut holdoff_stretch, now: u64, failed: bool) -> c_int {
    // SAFETY: the header's promise.
    status(unsafe { drive(stretch) }.map(|Guard { config, state }| {
        state.record(config, Timestamp::from_nanos(now), failed);
    }))
}

/// What a delay becomes at `now`, in nanoseconds; the delay for memory that holds no stretch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_stretch_delay(stretch: *const holdoff_stretch, now: u64, delay_ns: u64) -> u64 {
    // SAFETY: the header's promise.
    unsafe { look(stretch) }.map_or(delay_ns, |Guard { config, state }| {
        state.stretch(config, Timestamp::from_nanos(now), Span::from_nanos(delay_ns)).as_nanos()
    })
}

/// Writes the stretch's state at `now` as bytes that last, HOLDOFF_SAVED_STRETCH of them, to `bytes`, which has room for `size`.
///
/// Returns how many there are; 0 when they do not fit, and for memory that holds no stretch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_stretch_save(
    stretch: *const holdoff_stretch,
    now: u64,
    bytes: *mut c_char,
    size: usize,
) -> usize {
    // SAFETY: the header's promise.
    let made = unsafe { look(stretch) }.map(|Guard { config, state }| state.save(config, Timestamp::from_nanos(now)));
    // SAFETY: the header's promise.
    unsafe { saved(made, bytes, size) }
}

/// Gives a stretch that was made the state that bytes say, on a clock that reads `now`; see holdoff_budget_restore.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_stretch_restore(
    stretch: *mut holdoff_stretch,
    bytes: *const c_char,
    length: usize,
    now: u64,
    problem: *mut holdoff_problem,
) -> c_int {
    let now = Timestamp::from_nanos(now);
    // SAFETY: the header's promise.
    unsafe {
        restored(stretch, bytes, length, problem, |bytes, Guard { config, state }| {
            Stretch::restore(bytes, config, now).map(|restored| *state = restored)
        })
    }
}
