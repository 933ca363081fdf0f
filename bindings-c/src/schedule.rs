//! A policy's delays without outcomes.

use crate::boundary::{answer, drive, look, memory, place};
use crate::errors::status;
use crate::policy::holdoff_policy;
use core::ffi::c_int;
use holdoff_core::{ErrorCode, FailureKind, Schedule};

/// The delays an operation would sleep if every attempt failed at once without a hint: one fewer than the attempts. For
/// previews and for other people's loops. The content is the library's.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct holdoff_schedule {
    magic: u64,
    state: [u64; 37],
}

memory!(holdoff_schedule: Schedule, u64::from_be_bytes(*b"hoSched2"), ErrorCode::NotACall);

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

/// Makes the schedule of a policy whose every draw is this number: 0 shows the bottom of every range, 2^31 its middle, 2^32-1
/// its top.
///
/// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_POLICY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_schedule_init_pinned(
    schedule: *mut holdoff_schedule,
    policy: *const holdoff_policy,
    draw: u32,
) -> c_int {
    // SAFETY: the header's promise.
    status(unsafe { look(policy).and_then(|policy| place(schedule, Schedule::pinned(policy, draw))) })
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

/// Writes the next delay after a failure of `kind` (HOLDOFF_TRANSIENT, ...) to `ns` (which may be NULL) if the draw were `u`
/// from [0, 1): for recordings of other systems, and for policies with a backoff for some kinds of failure.
///
/// Returns whether there was one: false at the end, for another kind, and for memory that holds no schedule.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_schedule_next_at(
    schedule: *mut holdoff_schedule,
    kind: u32,
    u: f64,
    ns: *mut u64,
) -> bool {
    // SAFETY: the header's promise.
    let schedule = unsafe { drive(schedule) }.ok().zip(FailureKind::from_code(kind));
    match schedule.and_then(|(schedule, kind)| schedule.next_at(kind, u)) {
        Some(delay) => {
            // SAFETY: the header's promise.
            unsafe { answer(ns, delay.as_nanos()) };
            true
        }
        None => false,
    }
}

/// The base delay, before jitter, after failure `n` (from 0) under a policy, whether or not there is an attempt after it, in
/// nanoseconds; of a backoff that is its own jitter the shortest. 0 for memory that holds no policy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_policy_base_at(policy: *const holdoff_policy, n: u32) -> u64 {
    // SAFETY: the header's promise.
    unsafe { look(policy) }.map_or(0, |policy| Schedule::base_at(policy, n).as_nanos())
}
