//! The whole loop as a machine.

use crate::boundary::{both, drive, is_zeroed, look, memory, place};
use crate::errors::status;
use crate::failure::holdoff_failure;
use crate::policy::holdoff_policy;
use crate::step::holdoff_step;
use core::ffi::c_int;
use holdoff_core::{Call, Cause, ErrorCode, Failure, Outcome, Step, Ticket, Timestamp};

/// One call of an operation, from its first attempt to its end: 64 bytes. May be copied and moved; one thread at a time.
/// Memory that is all zero reads as a call that was cancelled. The content is the library's.
///
/// Each attempt is said exactly once; asked again while it runs the answer is HOLDOFF_WAIT. An input that is out of order,
/// too early, after the end, or with the ticket of another attempt changes nothing but the latest time seen, and is
/// answered with the step that still holds. HOLDOFF_STOP is final. A `now` before the latest one seen reads as that one,
/// and HOLDOFF_NEVER as the last instant before it. Wrong use (a null pointer, memory without a call or a policy, an
/// unknown failure kind) changes nothing and is answered with HOLDOFF_STOP, HOLDOFF_INVALID and the number of the error as
/// the reason.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct holdoff_call {
    magic: u64,
    state: [u64; 7],
}

memory!(holdoff_call: Call, u64::from_be_bytes(*b"hoCall\0\x31"), ErrorCode::NotACall);

unsafe fn drive_call<'a>(call: *mut holdoff_call) -> Result<&'a mut Call, Wrong> {
    // SAFETY: the header's promise.
    unsafe { drive(call) }.map_err(|error| {
        // SAFETY: the header's promise.
        if unsafe { is_zeroed(call) } { Wrong::Zeroed } else { Wrong::Use(error) }
    })
}

/// Why there is no call to drive.
enum Wrong {
    Zeroed,
    Use(ErrorCode),
}

impl From<ErrorCode> for Wrong {
    fn from(error: ErrorCode) -> Self {
        Self::Use(error)
    }
}

#[inline(always)]
fn said(result: Result<Step, Wrong>) -> holdoff_step {
    match result {
        Ok(step) => step.into(),
        Err(Wrong::Zeroed) => Step::Stop(Outcome::Cancelled).into(),
        Err(Wrong::Use(error)) => error.into(),
    }
}

/// Begins a call at `now`. The seed decides its jitter: draw it from the operating system, or give a fixed one to repeat a
/// run.
///
/// Returns the first step: attempt 1, to be aborted at `at`. Without a policy the call is left zeroed, which is a call
/// that has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_call_begin(
    call: *mut holdoff_call,
    policy: *const holdoff_policy,
    seed: u64,
    now: u64,
) -> holdoff_step {
    // SAFETY: the header's promise.
    let result = match unsafe { look(policy) } {
        Ok(policy) => {
            let (begun, step) = Call::begin(policy, seed, Timestamp::from_nanos(now));
            // SAFETY: the header's promise.
            unsafe { place(call, begun) }.map(|()| step)
        }
        Err(error) => {
            // SAFETY: the header's promise.
            unsafe { crate::boundary::answer(call, holdoff_call { magic: 0, state: [0; 7] }) };
            Err(error)
        }
    };
    result.into()
}

/// Makes a call whose first attempt, HOLDOFF_FIRST_TICKET, already runs since `started`: the lazy way in, after a failure,
/// so that an operation that succeeds at once needs no call at all.
///
/// Returns 0, or HOLDOFF_ERROR_NULL_POINTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_call_underway(call: *mut holdoff_call, seed: u64, started: u64) -> c_int {
    // SAFETY: the header's promise.
    status(unsafe { place(call, Call::underway(seed, Timestamp::from_nanos(started))) })
}

/// The attempt with this ticket succeeded at `now`. A success after a limit is a success.
///
/// Returns the step that holds now: HOLDOFF_STOP, HOLDOFF_SUCCEEDED when the attempt was the one in flight.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_call_succeed(call: *mut holdoff_call, ticket: u64, now: u64) -> holdoff_step {
    // SAFETY: the header's promise.
    said(unsafe { drive_call(call) }.map(|call| call.succeed(Ticket::from_raw(ticket), Timestamp::from_nanos(now))))
}

/// The attempt with this ticket failed at `now`.
///
/// Returns the step that holds now: HOLDOFF_SLEEP until `at`, or HOLDOFF_STOP, HOLDOFF_GAVE_UP with the reason and, in
/// `at`, when another try might succeed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_call_fail(
    call: *mut holdoff_call,
    policy: *const holdoff_policy,
    ticket: u64,
    now: u64,
    failure: holdoff_failure,
) -> holdoff_step {
    if failure.is_plain()
        // SAFETY: the header's promise.
        && let Some((call, policy)) = unsafe { both(call, policy) }
        && let Some(until) = call.fail_at_once(policy, Ticket::from_raw(ticket), Timestamp::from_nanos(now))
    {
        return Step::Sleep { until, cause: Cause::Backoff }.into();
    }
    // SAFETY: passed on.
    unsafe { fail(call, policy, ticket, now, failure) }
}

/// Any step after a failure, and any error. Out of line, as what follows, so that the common step needs no room on the stack.
#[cold]
#[inline(never)]
unsafe extern "C" fn fail(
    call: *mut holdoff_call,
    policy: *const holdoff_policy,
    ticket: u64,
    now: u64,
    failure: holdoff_failure,
) -> holdoff_step {
    // SAFETY: the header's promise.
    said(unsafe { drive_call(call) }.and_then(|call| {
        // SAFETY: the header's promise.
        let policy = unsafe { look(policy) }?;
        let failure = Failure::try_from(failure)?;
        Ok(call.fail(policy, Ticket::from_raw(ticket), Timestamp::from_nanos(now), failure))
    }))
}

/// Nothing but time has passed.
///
/// Returns the step that holds at `now`: the next HOLDOFF_ATTEMPT when its sleep is over, the same HOLDOFF_SLEEP when it is
/// not, HOLDOFF_STOP when the deadline passed meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_call_tick(
    call: *mut holdoff_call,
    policy: *const holdoff_policy,
    now: u64,
) -> holdoff_step {
    // SAFETY: the header's promise.
    if let Some((call, policy)) = unsafe { both(call, policy) }
        && let Some((ticket, abort_at)) = call.tick_at_once(policy, Timestamp::from_nanos(now))
    {
        return Step::Attempt { ticket, abort_at, wake_at: Timestamp::NEVER }.into();
    }
    // SAFETY: passed on.
    unsafe { tick(call, policy, now) }
}

/// Any step that a time leads to, and any error.
#[cold]
#[inline(never)]
unsafe extern "C" fn tick(call: *mut holdoff_call, policy: *const holdoff_policy, now: u64) -> holdoff_step {
    // SAFETY: the header's promise.
    said(unsafe { drive_call(call) }.and_then(|call| {
        // SAFETY: the header's promise.
        let policy = unsafe { look(policy) }?;
        Ok(call.tick(policy, Timestamp::from_nanos(now)))
    }))
}

/// The caller wants no more of it, whatever is going on.
///
/// Returns HOLDOFF_STOP: HOLDOFF_CANCELLED, or how the call had ended before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_call_cancel(call: *mut holdoff_call, now: u64) -> holdoff_step {
    // SAFETY: the header's promise.
    said(unsafe { drive_call(call) }.map(|call| call.cancel(Timestamp::from_nanos(now))))
}

/// Returns the number of the attempt in flight or, asleep or at the end, of the last one that ran; from 1. 0 for memory
/// that holds no call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_call_attempt(call: *const holdoff_call) -> u32 {
    // SAFETY: the header's promise.
    unsafe { look(call) }.map_or(0, Call::attempt)
}

/// Returns how long to sleep from `now` for a call that sleeps, in nanoseconds; 0 for any other and for memory that holds
/// no call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_call_remaining(call: *const holdoff_call, now: u64) -> u64 {
    // SAFETY: the header's promise.
    unsafe { look(call) }.map_or(0, |call| call.remaining(Timestamp::from_nanos(now)).as_nanos())
}
