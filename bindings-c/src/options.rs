//! A policy in the making: (path, value) pairs, read by the core.

use crate::boundary::{Memory, drive, memory, place, text};
use crate::numbers::status;
use crate::problem::holdoff_problem;
use core::ffi::{c_char, c_int};
use holdoff_core::{ErrorCode, Policy, PolicyBuilder, Value};

/// A policy in the making. Begin with holdoff_options_init, set what differs from the default, end with
/// holdoff_policy_build. The first problem is kept, so checking the build is enough. The content is the library's.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct holdoff_options {
    magic: u64,
    state: [u64; 16],
    problem: holdoff_problem,
}

memory!(holdoff_options: PolicyBuilder, u64::from_be_bytes(*b"hoOptio1"), ErrorCode::NotAPolicy);
const _: () = assert!(size_of::<PolicyBuilder>() <= 16 * 8);

/// Makes the options of the default policy.
///
/// Returns 0, or HOLDOFF_ERROR_NULL_POINTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_options_init(options: *mut holdoff_options) -> c_int {
    // SAFETY: the header's promise.
    status(unsafe { place(options, Policy::builder()) })
}

/// Sets a field to a word ("exponential", "forever", "none") or to a time with its unit ("250ms", "1.5s", "2m").
///
/// `path` is the field's name in a policy document: "backoff" (constant, linear, exponential), "backoff.initial",
/// "backoff.factor", "backoff.increment", "backoff.max", "jitter" (none, full, equal, additive, proportional),
/// "jitter.factor", "attempts", "deadline", "min_attempt", "on_deadline" (stop, clip), "attempt_timeout", "hint"
/// (floor, replace, ignore), "hint.max", "hint.over" (stop, clamp).
///
/// Returns 0 or a HOLDOFF_ERROR_ number; holdoff_policy_build says the first one again, with an explanation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_options_set_text(
    options: *mut holdoff_options,
    path: *const c_char,
    value: *const c_char,
) -> c_int {
    // SAFETY: the header's promise.
    unsafe { set(options, path, text(value).map(Value::Text)) }
}

/// Sets a field to a number: attempts or a factor. For a time the number counts nanoseconds.
///
/// Returns 0 or a HOLDOFF_ERROR_ number, see holdoff_options_set_text. Not a number, negative and infinite are errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_options_set_number(
    options: *mut holdoff_options,
    path: *const c_char,
    value: f64,
) -> c_int {
    // SAFETY: the header's promise.
    unsafe { set(options, path, Some(Value::Number { value, unit: 1.0 })) }
}

/// Sets a field that is a time to so many nanoseconds, exactly: 0 to HOLDOFF_LONGEST_NS. No limit is the text "none".
///
/// Returns 0 or a HOLDOFF_ERROR_ number, see holdoff_options_set_text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_options_set_ns(options: *mut holdoff_options, path: *const c_char, ns: u64) -> c_int {
    // SAFETY: the header's promise.
    unsafe { set(options, path, Some(Value::Nanos(ns))) }
}

/// For readers of documents: a field has a value of a type that no field takes, such as a list or a truth value.
///
/// Returns the HOLDOFF_ERROR_ number that this is, see holdoff_options_set_text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_options_set_other(options: *mut holdoff_options, path: *const c_char) -> c_int {
    // SAFETY: the header's promise.
    unsafe { set(options, path, Some(Value::Other)) }
}

/// For readers of documents: a field has no value (null), which is as good as not set, if the name is one.
///
/// Returns 0, or HOLDOFF_ERROR_UNKNOWN_FIELD and the like, see holdoff_options_set_text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_options_set_nothing(options: *mut holdoff_options, path: *const c_char) -> c_int {
    // SAFETY: the header's promise.
    unsafe { set(options, path, Some(Value::Nothing)) }
}

unsafe fn set(options: *mut holdoff_options, path: *const c_char, value: Option<Value<'_>>) -> c_int {
    // SAFETY: the header's promise.
    let builder = match unsafe { drive(options) } {
        Ok(builder) => builder,
        Err(error) => return status(Err(error)),
    };
    // SAFETY: the header's promise.
    let problem = match (unsafe { text(path) }, value) {
        (Some(path), Some(value)) => match builder.set(path, value) {
            Ok(()) => return 0,
            Err(error) => holdoff_problem::of_setting(path, value, &error),
        },
        (path, _) => holdoff_problem::of_use(ErrorCode::NullPointer).at(path.unwrap_or("")),
    };
    // SAFETY: the options are there, or there would be no builder; the builder is not used again.
    let kept = unsafe { &mut (*options).problem };
    if kept.code == 0 {
        *kept = problem;
    }
    problem.code as c_int
}

/// The policy of some options, or what is wrong with them.
///
/// # Safety
/// `options` is null or points to options.
pub(crate) unsafe fn built(options: *const holdoff_options) -> Result<Policy, holdoff_problem> {
    // SAFETY: passed on.
    let builder: &<holdoff_options as Memory>::Inner =
        unsafe { crate::boundary::look(options) }.map_err(holdoff_problem::of_use)?;
    // SAFETY: the options are there, or there would be no builder.
    let kept = unsafe { &raw const (*options).problem };
    // SAFETY: as above.
    if unsafe { (*kept).code } != 0 {
        // SAFETY: as above.
        return Err(unsafe { *kept });
    }
    builder.build().map_err(|error| holdoff_problem::of_building(&error))
}
