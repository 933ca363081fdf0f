//! A state that outlives its process: as bytes, as JSON, and back.

use crate::boundary::{drive, look, memory, place, room, span};
use crate::call::holdoff_call;
use crate::errors::status;
use crate::policy::holdoff_policy;
use crate::problem::{holdoff_problem, report};
use crate::retry::holdoff_retry;
use crate::text::print;
use core::ffi::{c_char, c_int};
use core::fmt::Display;
use holdoff_core::{Call, ErrorCode, Retry, Saved, Span, Timestamp};

/// How many bytes a saved retry has.
pub const HOLDOFF_SAVED_RETRY: usize = 56;
/// How many bytes a saved call has; the most that holdoff_saved_bytes writes.
pub const HOLDOFF_SAVED_CALL: usize = 72;
const _: () = assert!(HOLDOFF_SAVED_RETRY == Retry::SAVED && HOLDOFF_SAVED_CALL == Call::SAVED);

/// A saved state between a machine and the bytes or the JSON that last: 72 bytes. It holds no instant, only how long ago the
/// operation began and how long its sleep still lasts, so that it resumes on another clock, machine and in another language
/// with the same next decision. The content is the library's.
///
/// An attempt in flight is not saved: resuming takes it for one that failed as a timeout.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct holdoff_saved {
    magic: u64,
    state: [u64; 8],
}

memory!(holdoff_saved: Saved, u64::from_be_bytes(*b"hoSaved1"), ErrorCode::NotACall);
const _: () = assert!(size_of::<Saved>() == 8 * 8);

/// Saves a retry as it is at `now` under its policy.
///
/// Returns 0, or a HOLDOFF_ERROR_ number from 200 on and leaves `saved` as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_retry_save(
    retry: *const holdoff_retry,
    policy: *const holdoff_policy,
    now: u64,
    saved: *mut holdoff_saved,
) -> c_int {
    // SAFETY: the header's promise.
    status(unsafe {
        look(retry).and_then(|retry| place(saved, retry.saved(look(policy)?, Timestamp::from_nanos(now))))
    })
}

/// Saves a call as it is at `now` under its policy.
///
/// Returns 0, or a HOLDOFF_ERROR_ number from 200 on and leaves `saved` as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_call_save(
    call: *const holdoff_call,
    policy: *const holdoff_policy,
    now: u64,
    saved: *mut holdoff_saved,
) -> c_int {
    // SAFETY: the header's promise.
    status(unsafe { look(call).and_then(|call| place(saved, call.saved(look(policy)?, Timestamp::from_nanos(now)))) })
}

/// Makes a retry of what holdoff_retry_save saved under the same policy, on a clock that reads `now`.
///
/// Returns 0 and writes `retry`; or HOLDOFF_ERROR_STATE_POLICY, HOLDOFF_ERROR_STATE_KIND or another HOLDOFF_ERROR_ number and
/// leaves it as it was. Either way `problem` (which may be NULL) says what is wrong, with code 0 for nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_retry_resume(
    retry: *mut holdoff_retry,
    saved: *const holdoff_saved,
    policy: *const holdoff_policy,
    now: u64,
    problem: *mut holdoff_problem,
) -> c_int {
    // SAFETY: the header's promise.
    let result = unsafe { both(saved, policy) }.and_then(|(saved, policy)| {
        let resumed =
            saved.retry(policy, Timestamp::from_nanos(now)).map_err(|error| holdoff_problem::of_state(&error))?;
        // SAFETY: the header's promise.
        unsafe { place(retry, resumed) }.map_err(holdoff_problem::of_use)
    });
    // SAFETY: the header's promise.
    unsafe { report(problem, result.err().unwrap_or(holdoff_problem::NONE)) }
}

/// Makes a call of what holdoff_call_save saved under the same policy, on a clock that reads `now`. What comes next is said by
/// holdoff_call_tick. An attempt that was in flight has failed now, as a timeout.
///
/// Returns 0 and writes `call`; or a HOLDOFF_ERROR_ number and a problem, see holdoff_retry_resume.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_call_resume(
    call: *mut holdoff_call,
    saved: *const holdoff_saved,
    policy: *const holdoff_policy,
    now: u64,
    problem: *mut holdoff_problem,
) -> c_int {
    // SAFETY: the header's promise.
    let result = unsafe { both(saved, policy) }.and_then(|(saved, policy)| {
        let resumed =
            saved.call(policy, Timestamp::from_nanos(now)).map_err(|error| holdoff_problem::of_state(&error))?;
        // SAFETY: the header's promise.
        unsafe { place(call, resumed) }.map_err(holdoff_problem::of_use)
    });
    // SAFETY: the header's promise.
    unsafe { report(problem, result.err().unwrap_or(holdoff_problem::NONE)) }
}

unsafe fn both<'a>(
    saved: *const holdoff_saved,
    policy: *const holdoff_policy,
) -> Result<(&'a Saved, &'a holdoff_core::Policy), holdoff_problem> {
    // SAFETY: passed on.
    unsafe { look(saved).and_then(|saved| Ok((saved, look(policy)?))) }.map_err(holdoff_problem::of_use)
}

/// Reads the bytes that holdoff_saved_bytes or another language's save made.
///
/// Returns 0 and writes `saved`; or HOLDOFF_ERROR_NOT_A_STATE, HOLDOFF_ERROR_STATE_LENGTH, HOLDOFF_ERROR_STATE_VERSION,
/// HOLDOFF_ERROR_STATE_KIND, HOLDOFF_ERROR_STATE_DAMAGED or HOLDOFF_ERROR_NULL_POINTER, and leaves it as it was. Either way
/// `problem` (which may be NULL) says what is wrong, with code 0 for nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_saved_from_bytes(
    saved: *mut holdoff_saved,
    bytes: *const c_char,
    length: usize,
    problem: *mut holdoff_problem,
) -> c_int {
    // SAFETY: the header's promise.
    let bytes = unsafe { span(bytes, length) }.ok_or(holdoff_problem::of_use(ErrorCode::NullPointer));
    let result = bytes.and_then(|bytes| {
        let read = Saved::from_bytes(bytes).map_err(|error| holdoff_problem::of_state(&error))?;
        // SAFETY: the header's promise.
        unsafe { place(saved, read) }.map_err(holdoff_problem::of_use)
    });
    // SAFETY: the header's promise.
    unsafe { report(problem, result.err().unwrap_or(holdoff_problem::NONE)) }
}

/// Writes the state as bytes that last, HOLDOFF_SAVED_RETRY or HOLDOFF_SAVED_CALL of them, to `bytes`, which has room for
/// `size`.
///
/// Returns how many there are; 0 when they do not fit, and for memory that holds no saved state.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_saved_bytes(saved: *const holdoff_saved, bytes: *mut c_char, size: usize) -> usize {
    // SAFETY: the header's promise.
    let (saved, room) = unsafe { (look(saved), room(bytes, size)) };
    let Ok((made, length)) = saved.map_err(|_| ()).and_then(|saved| saved.to_bytes().map_err(|_| ())) else { return 0 };
    match (room.get_mut(..length), made.get(..length)) {
        (Some(room), Some(made)) => {
            room.copy_from_slice(made);
            length
        }
        _ => 0,
    }
}

/// Writes the state as JSON in one line into `text`, at most `size` bytes with the zero at its end; 512 are always enough.
///
/// Returns the length of the whole line without the zero, as snprintf does; 0 for memory that holds no saved state.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_saved_json(saved: *const holdoff_saved, text: *mut c_char, size: usize) -> c_int {
    // SAFETY: the header's promise.
    let saved = unsafe { look(saved) }.ok();
    // SAFETY: the header's promise.
    unsafe { print(text, size, saved.map(|saved| saved as &dyn Display)) }
}

/// Lets the `away_ns` nanoseconds that the state lay somewhere count: against the deadline, and as sleep. Without it they do
/// not.
///
/// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_CALL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_saved_age(saved: *mut holdoff_saved, away_ns: u64) -> c_int {
    // SAFETY: the header's promise.
    status(unsafe { drive(saved) }.map(|saved| *saved = saved.aged(Span::from_nanos(away_ns))))
}

/// Makes the state one that was saved under this policy, for a policy that is known to have changed harmlessly.
///
/// Returns 0, or a HOLDOFF_ERROR_ number from 200 on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_saved_force(saved: *mut holdoff_saved, policy: *const holdoff_policy) -> c_int {
    // SAFETY: the header's promise.
    status(unsafe { drive(saved).and_then(|saved| look(policy).map(|policy| *saved = saved.forced(policy))) })
}

/// Whether it is the state of a call; false for that of a retry, and for memory that holds no saved state.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_saved_is_call(saved: *const holdoff_saved) -> bool {
    // SAFETY: the header's promise.
    unsafe { look(saved) }.is_ok_and(Saved::is_call)
}

/// The fingerprint of the policy that it was saved under, see holdoff_policy_fingerprint; 0 for memory that holds no saved
/// state.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_saved_fingerprint(saved: *const holdoff_saved) -> u64 {
    // SAFETY: the header's promise.
    unsafe { look(saved) }.map_or(0, Saved::policy)
}
