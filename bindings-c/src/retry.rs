//! One decision a failure, for hosts that write their own loop.

use crate::boundary::{both, drive, look, memory, place};
use crate::errors::status;
use crate::failure::holdoff_failure;
use crate::policy::holdoff_policy;
use crate::step::holdoff_step;
use core::ffi::c_int;
use holdoff_core::{Cause, Decision, ErrorCode, Failure, Outcome, Retry, Step, Timestamp};

/// The state of one operation that may fail, without its loop: 48 bytes. May be copied and moved; one thread at a time.
/// The content is the library's.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct holdoff_retry {
    magic: u64,
    state: [u64; 5],
}

memory!(holdoff_retry: Retry, u64::from_be_bytes(*b"hoRetry1"), ErrorCode::NotACall);

/// Makes an operation whose first attempt began at `started`.
///
/// Returns 0, or HOLDOFF_ERROR_NULL_POINTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_retry_init(retry: *mut holdoff_retry, seed: u64, started: u64) -> c_int {
    // SAFETY: the header's promise.
    status(unsafe { place(retry, Retry::new(seed, Timestamp::from_nanos(started))) })
}

/// Decides what to do about an attempt that failed at `now`; once for each failed attempt, in the order of their ends.
///
/// Returns HOLDOFF_SLEEP until `at`, or HOLDOFF_STOP: HOLDOFF_GAVE_UP with the reason and, in `at`, when another try might
/// succeed; or HOLDOFF_INVALID with the number of an error for wrong use, zeroed memory included.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_retry_on_failure(
    retry: *mut holdoff_retry,
    policy: *const holdoff_policy,
    now: u64,
    failure: holdoff_failure,
) -> holdoff_step {
    if failure.is_plain()
        // SAFETY: the header's promise.
        && let Some((retry, policy)) = unsafe { both(retry, policy) }
        && let Some(until) = retry.at_once(policy, Timestamp::from_nanos(now))
    {
        return Step::Sleep { until, cause: Cause::Backoff }.into();
    }
    // SAFETY: passed on.
    unsafe { on_any_failure(retry, policy, now, failure) }
}

/// Any decision, and any error. Out of line, so that the common one needs no room on the stack.
#[cold]
#[inline(never)]
unsafe extern "C" fn on_any_failure(
    retry: *mut holdoff_retry,
    policy: *const holdoff_policy,
    now: u64,
    failure: holdoff_failure,
) -> holdoff_step {
    // SAFETY: the header's promise.
    let decision = unsafe { drive(retry) }.and_then(|retry| {
        // SAFETY: the header's promise.
        let policy = unsafe { look(policy) }?;
        Ok(retry.on_failure(policy, Timestamp::from_nanos(now), Failure::try_from(failure)?))
    });
    decision
        .map(|decision| match decision {
            Decision::Sleep { until, cause } => Step::Sleep { until, cause },
            Decision::GiveUp { reason, retry_at } => Step::Stop(Outcome::GaveUp { reason, retry_at }),
        })
        .into()
}
