//! How many calls there may be at once.

use super::{Guard, init};
use crate::boundary::{answer, drive, look, memory};
use crate::errors::status;
use crate::options::holdoff_options;
use crate::problem::holdoff_problem;
use core::ffi::c_int;
use holdoff_core::{Bulkhead, BulkheadConfig, ConfigError, Entry, ErrorCode, GuardsBuilder, QueuePlace};

/// Entry: run, and say holdoff_bulkhead_leave afterwards.
pub const HOLDOFF_ENTERED: u32 = 1;
/// Entry: wait, and ask holdoff_bulkhead_enter_from when a call has left, or say holdoff_bulkhead_leave_queue.
pub const HOLDOFF_QUEUED: u32 = 2;
/// Entry: neither, as many run and wait as there may be.
pub const HOLDOFF_REFUSED: u32 = 3;

/// A bulkhead, its configuration and its state: 40 bytes. May be copied and moved. Zeroed memory is none: nobody enters. The
/// content is the library's.
///
/// Newcomers go behind those who wait, and of those the first ones enter first. There is no time here: who waits keeps it.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct holdoff_bulkhead {
    magic: u64,
    state: [u64; 4],
}

memory!(holdoff_bulkhead: Guard<BulkheadConfig, Bulkhead>, u64::from_be_bytes(*b"hoBulkh1"), ErrorCode::NotAGuard);

pub(crate) fn make(builder: &GuardsBuilder) -> Result<Option<Guard<BulkheadConfig, Bulkhead>>, ConfigError> {
    Ok(builder.bulkhead()?.map(|config| Guard { config, state: Bulkhead::new() }))
}

/// Makes the bulkhead that the options describe under "bulkhead", empty.
///
/// Returns 0 and writes `bulkhead`; or a HOLDOFF_ERROR_ number and a problem, see holdoff_budget_init.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_bulkhead_init(
    bulkhead: *mut holdoff_bulkhead,
    options: *const holdoff_options,
    problem: *mut holdoff_problem,
) -> c_int {
    // SAFETY: the header's promise.
    unsafe { init(bulkhead, options, problem, "bulkhead", make) }
}

unsafe fn entry(entry: Result<Entry, ErrorCode>, place: *mut u32) -> u32 {
    match entry {
        Ok(Entry::Entered) => HOLDOFF_ENTERED,
        Ok(Entry::Queued(given)) => {
            // SAFETY: passed on.
            unsafe { answer(place, given.as_raw()) };
            HOLDOFF_QUEUED
        }
        Ok(Entry::Refused) | Err(_) => HOLDOFF_REFUSED,
    }
}

/// A newcomer asks. A place in the queue is written to `place` (which may be NULL).
///
/// Returns HOLDOFF_ENTERED, HOLDOFF_QUEUED or HOLDOFF_REFUSED; the last for memory that holds no bulkhead.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_bulkhead_enter(bulkhead: *mut holdoff_bulkhead, place: *mut u32) -> u32 {
    // SAFETY: the header's promise.
    unsafe { entry(drive(bulkhead).map(|Guard { config, state }| state.enter(config)), place) }
}

/// One that waits asks again.
///
/// Returns HOLDOFF_ENTERED, HOLDOFF_QUEUED for the same place, or HOLDOFF_REFUSED for a place that nobody holds and for memory
/// that holds no bulkhead.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_bulkhead_enter_from(bulkhead: *mut holdoff_bulkhead, place: u32) -> u32 {
    // SAFETY: the header's promise.
    let bulkhead = unsafe { drive(bulkhead) };
    let asked = bulkhead.map(|Guard { config, state }| state.enter_from(config, QueuePlace::from_raw(place)));
    // SAFETY: nothing is written to a null pointer.
    unsafe { entry(asked, core::ptr::null_mut()) }
}

/// One that ran is done, however it ended.
///
/// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_bulkhead_leave(bulkhead: *mut holdoff_bulkhead) -> c_int {
    // SAFETY: the header's promise.
    status(unsafe { drive(bulkhead) }.map(|guard| guard.state.leave()))
}

/// One that waited waits no longer.
///
/// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_bulkhead_leave_queue(bulkhead: *mut holdoff_bulkhead, place: u32) -> c_int {
    // SAFETY: the header's promise.
    status(unsafe { drive(bulkhead) }.map(|guard| guard.state.leave_queue(QueuePlace::from_raw(place))))
}

/// How many run; 0 for memory that holds no bulkhead.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_bulkhead_running(bulkhead: *const holdoff_bulkhead) -> u32 {
    // SAFETY: the header's promise.
    unsafe { look(bulkhead) }.map_or(0, |guard| guard.state.running())
}

/// How many wait; 0 for memory that holds no bulkhead.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_bulkhead_waiting(bulkhead: *const holdoff_bulkhead) -> u32 {
    // SAFETY: the header's promise.
    unsafe { look(bulkhead) }.map_or(0, |guard| guard.state.waiting())
}

/// How many may run at once; 0 for memory that holds no bulkhead.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_bulkhead_limit(bulkhead: *const holdoff_bulkhead) -> u32 {
    // SAFETY: the header's promise.
    unsafe { look(bulkhead) }.map_or(0, |guard| guard.config.limit())
}

/// How long one waits at most, in nanoseconds; 0 for memory that holds no bulkhead.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_bulkhead_max_wait(bulkhead: *const holdoff_bulkhead) -> u64 {
    // SAFETY: the header's promise.
    unsafe { look(bulkhead) }.map_or(0, |guard| guard.config.max_wait().as_nanos())
}
