//! A retry inside another one: what is handed down, and what is made of it.

use super::described;
use crate::boundary::{answer, bytes, look_plain};
use crate::failure::holdoff_failure;
use crate::options::holdoff_options;
use crate::problem::{holdoff_problem, report};
use crate::text::print;
use core::ffi::{c_char, c_int};
use core::fmt::Display;
use holdoff_core::{ErrorCode, Failure, GuardsBuilder, Nesting, Token};

/// Nesting: attempts multiply.
pub const HOLDOFF_NESTED_ALLOW: u32 = 0;
/// Nesting: what an inner retry has given up on is not tried again.
pub const HOLDOFF_NESTED_INNERMOST: u32 = 1;
/// Nesting: a retry inside another makes one attempt.
pub const HOLDOFF_NESTED_OUTERMOST: u32 = 2;
/// Nesting: at most so many attempts in all.
pub const HOLDOFF_NESTED_CAP: u32 = 3;

/// What a policy does inside another retry, or around one. Zeroed it is HOLDOFF_NESTED_ALLOW, and so is an unknown mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct holdoff_nesting {
    /// A HOLDOFF_NESTED_ number.
    pub mode: u32,
    /// HOLDOFF_NESTED_CAP: the most attempts in all; 0 is as good as 1.
    pub cap: u32,
}

/// What an attempt hands down to what runs inside it: 12 bytes, plain numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct holdoff_token {
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// How many attempts all retries around may make together; 4294967295 for ever.
    pub allowed: u32,
    /// How many retries there are around.
    pub depth: u32,
}

impl From<Token> for holdoff_token {
    fn from(token: Token) -> Self {
        Self { attempt: token.attempt(), allowed: token.allowed(), depth: token.depth() }
    }
}

/// Makes the nesting that the options describe under "nested"; HOLDOFF_NESTED_ALLOW when they describe none.
///
/// Returns 0 and writes `nesting`; or a HOLDOFF_ERROR_ number and leaves it as it was. Either way `problem` (which may be NULL)
/// says what is wrong, with code 0 for nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_nesting_init(
    nesting: *mut holdoff_nesting,
    options: *const holdoff_options,
    problem: *mut holdoff_problem,
) -> c_int {
    let make = |builder: &GuardsBuilder| Ok(Some(builder.nested()?.unwrap_or_default()));
    // SAFETY: the header's promise.
    let result = unsafe { described(options, "nested", make) }.and_then(|made| {
        let (mode, cap) = match made {
            Nesting::Allow => (HOLDOFF_NESTED_ALLOW, 0),
            Nesting::Innermost => (HOLDOFF_NESTED_INNERMOST, 0),
            Nesting::Outermost => (HOLDOFF_NESTED_OUTERMOST, 0),
            Nesting::Cap(cap) => (HOLDOFF_NESTED_CAP, cap),
        };
        if nesting.is_null() {
            return Err(holdoff_problem::of_use(ErrorCode::NullPointer));
        }
        // SAFETY: the header's promise.
        unsafe { answer(nesting, holdoff_nesting { mode, cap }) };
        Ok(())
    });
    // SAFETY: the header's promise.
    unsafe { report(problem, result.err().unwrap_or(holdoff_problem::NONE)) }
}

/// The nesting that the caller's numbers say; the one that changes nothing for a null pointer.
///
/// # Safety
/// `nesting` is null or points to a nesting.
pub(crate) unsafe fn nesting_of(nesting: *const holdoff_nesting) -> Nesting {
    if nesting.is_null() {
        return Nesting::Allow;
    }
    // SAFETY: not null; passed on.
    let holdoff_nesting { mode, cap } = unsafe { nesting.read_unaligned() };
    match mode {
        HOLDOFF_NESTED_INNERMOST => Nesting::Innermost,
        HOLDOFF_NESTED_OUTERMOST => Nesting::Outermost,
        HOLDOFF_NESTED_CAP => Nesting::Cap(cap),
        _ => Nesting::Allow,
    }
}

unsafe fn token_of(token: *const holdoff_token) -> Option<Token> {
    // SAFETY: passed on.
    unsafe { look_plain::<_, Token>(token) }.ok().copied()
}

/// How many attempts a policy that may make `own` of them (4294967295 for ever, both) makes inside the retry that `token` tells
/// of, the first one included: what to give a copy of the policy by holdoff_policy_set_attempts. `token` is NULL for no retry
/// around; a NULL nesting changes nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_nesting_attempts(
    nesting: *const holdoff_nesting,
    token: *const holdoff_token,
    own: u32,
) -> u32 {
    // SAFETY: the header's promise.
    unsafe { nesting_of(nesting).attempts(token_of(token), own) }
}

/// What a failure is that a retry inside has already given up on: permanent for HOLDOFF_NESTED_INNERMOST, else what it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_nesting_after_inner(
    nesting: *const holdoff_nesting,
    failure: holdoff_failure,
) -> holdoff_failure {
    // SAFETY: the header's promise.
    let nesting = unsafe { nesting_of(nesting) };
    Failure::try_from(failure).map_or(failure, |failure| nesting.after_inner(failure).into())
}

/// What attempt `attempt` (from 1) of a policy that may make `attempts` of them (4294967295 for ever) hands down, inside the
/// retry that `parent` tells of; NULL for none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_token_child(
    parent: *const holdoff_token,
    attempt: u32,
    attempts: u32,
) -> holdoff_token {
    // SAFETY: the header's promise.
    Token::child(unsafe { token_of(parent) }, attempt, attempts).into()
}

/// Writes the value of the header x-retry-attempt into `text`, at most `size` bytes with the zero at its end: the number of the
/// attempt, 1 for the first.
///
/// Returns the length of the whole value without the zero, as snprintf does; 0 for a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_token_header(token: *const holdoff_token, text: *mut c_char, size: usize) -> c_int {
    // SAFETY: the header's promise.
    let value = unsafe { token_of(token) }.map(|token| token.header());
    // SAFETY: the header's promise.
    unsafe { print(text, size, value.as_ref().map(|value| value as &dyn Display)) }
}

/// Writes the value of gRPC's metadata grpc-previous-rpc-attempts into `text`, at most `size` bytes with the zero at its end: the
/// attempts before this one.
///
/// Returns the length of the whole value without the zero, as snprintf does; 0 for the first attempt, which has no such metadata,
/// and for a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_token_grpc(token: *const holdoff_token, text: *mut c_char, size: usize) -> c_int {
    // SAFETY: the header's promise.
    let value = unsafe { token_of(token) }.and_then(|token| token.grpc());
    // SAFETY: the header's promise.
    unsafe { print(text, size, value.as_ref().map(|value| value as &dyn Display)) }
}

unsafe fn told(read: Option<Token>, token: *mut holdoff_token) -> bool {
    if let Some(read) = read {
        // SAFETY: passed on.
        unsafe { answer(token, read.into()) }
    }
    read.is_some()
}

/// Reads a value of the header x-retry-attempt into `token` (which may be NULL): decimal digits for 1 to 4294967295.
///
/// Returns whether it is one; false for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_token_from_header(value: *const c_char, token: *mut holdoff_token) -> bool {
    // SAFETY: the header's promise.
    unsafe { told(bytes(value).and_then(Token::from_header), token) }
}

/// Reads a value of gRPC's metadata grpc-previous-rpc-attempts into `token` (which may be NULL): decimal digits for 0 to
/// 4294967294.
///
/// Returns whether it is one; false for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_token_from_grpc(value: *const c_char, token: *mut holdoff_token) -> bool {
    // SAFETY: the header's promise.
    unsafe { told(bytes(value).and_then(Token::from_grpc), token) }
}
