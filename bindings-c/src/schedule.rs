//! A policy's delays without outcomes.

use crate::boundary::{answer, drive, look, memory, place};
use crate::numbers::status;
use crate::policy::holdoff_policy;
use core::ffi::c_int;
use holdoff_core::{ErrorCode, Schedule};

/// The delays an operation would sleep if every attempt failed at once without a hint: one fewer than the attempts. For
/// previews and for other people's loops. The content is the library's.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct holdoff_schedule {
    magic: u64,
    state: [u64; 18],
}

memory!(holdoff_schedule: Schedule, u64::from_be_bytes(*b"hoSched1"), ErrorCode::NotACall);

/// Makes the schedule of a policy for the operation with this seed.
///
/// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_POLICY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_schedule_init(
    schedule: *mut holdoff_schedule,
    policy: *const holdoff_policy,
    seed: u64,
) -> c_int {
    // SAFETY: the header's promise.
    status(unsafe { look(policy).and_then(|policy| place(schedule, Schedule::new(policy, seed))) })
}

/// Writes the next delay in nanoseconds to `ns` (which may be NULL).
///
/// Returns whether there was one: false at the end, and for memory that holds no schedule.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_schedule_next(schedule: *mut holdoff_schedule, ns: *mut u64) -> bool {
    // SAFETY: the header's promise.
    match unsafe { drive(schedule) }.ok().and_then(Iterator::next) {
        Some(delay) => {
            // SAFETY: the header's promise.
            unsafe { answer(ns, delay.as_nanos()) };
            true
        }
        None => false,
    }
}
