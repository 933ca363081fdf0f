//! What to do after a failure: built once, then shared and only read.

use crate::boundary::{look, memory, place};
use crate::numbers::status;
use crate::options::{built, holdoff_options};
use crate::problem::{holdoff_problem, report};
use core::ffi::c_int;
use holdoff_core::{ErrorCode, Policy, Span};

/// What a policy starts with; a library and a header of other layouts differ in it.
pub const HOLDOFF_POLICY_MAGIC: u64 = 0x686f_506f_6c69_6331;

/// A valid policy: 128 bytes, to be shared by any number of calls and threads, and never written to by them. May be
/// copied and moved. Made by holdoff_policy_default or holdoff_policy_build; the content is the library's.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct holdoff_policy {
    magic: u64,
    first_limit_ns: u64,
    state: [u64; 14],
}

memory!(holdoff_policy: Policy, HOLDOFF_POLICY_MAGIC, ErrorCode::NotAPolicy);

unsafe fn put(memory: *mut holdoff_policy, policy: Policy) -> Result<(), ErrorCode> {
    // SAFETY: the header's promise.
    unsafe { place(memory, policy)? };
    // SAFETY: the policy was just placed there.
    unsafe { (&raw mut (*memory).first_limit_ns).write(limit(&policy)) };
    Ok(())
}

fn limit(policy: &Policy) -> u64 {
    policy.first_limit().map_or(u64::MAX, Span::as_nanos)
}

/// Makes the default policy: 3 attempts, exponential backoff from 100 ms by 2 up to 5 s, full jitter, hints obeyed up to
/// 60 s, no deadline, no attempt timeout.
///
/// Returns 0, or HOLDOFF_ERROR_NULL_POINTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_policy_default(policy: *mut holdoff_policy) -> c_int {
    // SAFETY: the header's promise.
    status(unsafe { put(policy, Policy::default()) })
}

/// Makes the policy that the options describe.
///
/// Returns 0 and writes `policy`; or a HOLDOFF_ERROR_ number and leaves `policy` as it was. Either way `problem` (which may
/// be NULL) says what is wrong, with code 0 for nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_policy_build(
    policy: *mut holdoff_policy,
    options: *const holdoff_options,
    problem: *mut holdoff_problem,
) -> c_int {
    // SAFETY: the header's promise.
    let result = unsafe { built(options) }.and_then(|built| {
        // SAFETY: the header's promise.
        unsafe { put(policy, built) }.map_err(holdoff_problem::of_use)
    });
    // SAFETY: the header's promise.
    unsafe { report(problem, result.err().unwrap_or(holdoff_problem::NONE)) }
}

/// How long a call's first attempt may take, in nanoseconds: the smaller of deadline and attempt timeout; HOLDOFF_NEVER
/// without either, and for memory that holds no policy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_policy_first_limit(policy: *const holdoff_policy) -> u64 {
    // SAFETY: the header's promise.
    unsafe { look(policy) }.map_or(u64::MAX, limit)
}
