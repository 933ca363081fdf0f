//! A retry inside another one: what is handed down, and what is made of it.

use crate::*;

/// Nesting: attempts multiply.
pub const HOLDOFF_NESTED_ALLOW: u32 = 0;
/// Nesting: what an inner retry has given up on is not tried again.
pub const HOLDOFF_NESTED_INNERMOST: u32 = 1;
/// Nesting: a retry inside another makes one attempt.
pub const HOLDOFF_NESTED_OUTERMOST: u32 = 2;
/// Nesting: at most so many attempts in all.
pub const HOLDOFF_NESTED_CAP: u32 = 3;

/// The rule for a retry inside another one. Zeroed it is HOLDOFF_NESTED_ALLOW, and so is an unknown mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct holdoff_nesting {
    /// A HOLDOFF_NESTED_ number.
    pub mode: u32,
    /// HOLDOFF_NESTED_CAP: the most attempts in all; 0 is as good as 1.
    pub cap: u32,
}

c_struct! {
    /// The token that an attempt hands down to the retries inside it: 12 bytes, plain numbers.
    holdoff_token from token: Token {
        /// The number of the attempt, from 1.
        attempt: u32 = token.attempt(),
        /// The most attempts of all retries around together; 4294967295 for no limit.
        allowed: u32 = token.allowed(),
        /// The number of retries around.
        depth: u32 = token.depth(),
    }
}

memory!(holdoff_token holds Token);

extern_c! {
    /// Makes the nesting that the options describe under "nested"; HOLDOFF_NESTED_ALLOW when they describe none.
    ///
    /// Returns 0 and writes `nesting`; or a HOLDOFF_ERROR_ number and leaves it as it was. Either way `problem` (which may
    /// be NULL) says what is wrong, with code 0 for nothing.
    report holdoff_nesting_init(nesting: *mut holdoff_nesting, options) = {
        let (mode, cap) = match sound(options)?.nested()?.unwrap_or_default() {
            Nesting::Allow => (HOLDOFF_NESTED_ALLOW, 0),
            Nesting::Innermost => (HOLDOFF_NESTED_INNERMOST, 0),
            Nesting::Outermost => (HOLDOFF_NESTED_OUTERMOST, 0),
            Nesting::Cap(cap) => (HOLDOFF_NESTED_CAP, cap),
        };
        write(not_null(nesting)?, holdoff_nesting { mode, cap });
    };

    /// Returns how many attempts, the first one included, a policy with `own` attempts (4294967295 for no limit, both)
    /// makes inside the retry of `token`: give that number to a copy of the policy by holdoff_policy_set_attempts. `token`
    /// is NULL for no retry around; a NULL nesting changes nothing.
    fn holdoff_nesting_attempts(nesting: *const holdoff_nesting, token: *const holdoff_token, own: u32) -> u32 =
        nesting_of(nesting).attempts(token_of(token), own);

    /// Returns the failure to report after an inner retry has given up: permanent for HOLDOFF_NESTED_INNERMOST, else the
    /// same.
    fn holdoff_nesting_after_inner(nesting: *const holdoff_nesting, failure) -> holdoff_failure =
        Failure::try_from(failure).map_or(failure, |failure| nesting_of(nesting).after_inner(failure).into());

    /// Returns the token that attempt `attempt` (from 1) of a policy with `attempts` attempts (4294967295 for no limit)
    /// hands down, inside the retry of `parent`; NULL for no retry around.
    fn holdoff_token_child(parent: *const holdoff_token, attempt: u32, attempts: u32) -> holdoff_token =
        Token::child(token_of(parent), attempt, attempts).into();

    /// Writes the value of the header x-retry-attempt into `text`, at most `size` bytes with the zero at its end: the
    /// number of the attempt, 1 for the first.
    ///
    /// Returns the length of the whole value without the zero, as snprintf does; 0 for a null pointer.
    fn holdoff_token_header(token: *const holdoff_token, text: *mut c_char, size) -> c_int =
        print(text, size, token_of(token).map(|token| token.attempt()));

    /// Writes the value of gRPC's metadata grpc-previous-rpc-attempts into `text`, at most `size` bytes with the zero at
    /// its end: the attempts before this one.
    ///
    /// Returns the length of the whole value without the zero, as snprintf does; 0 for the first attempt, which has no such
    /// metadata, and for a null pointer.
    fn holdoff_token_grpc(token: *const holdoff_token, text: *mut c_char, size) -> c_int =
        print(text, size, token_of(token).and_then(|token| token.grpc()));

    /// Reads a value of the header x-retry-attempt into `token` (which may be NULL): decimal digits for 1 to 4294967295.
    /// Read it only of a caller that you trust: a stranger who sends it turns your retries off.
    ///
    /// Returns whether it is one; false for NULL.
    fn holdoff_token_from_header(value: *const c_char, token: *mut holdoff_token) -> bool =
        write_some(token, c_bytes(value).and_then(Token::from_header).map(holdoff_token::from));

    /// Reads a value of gRPC's metadata grpc-previous-rpc-attempts into `token` (which may be NULL): decimal digits for 0
    /// to 4294967294.
    ///
    /// Returns whether it is one; false for NULL.
    fn holdoff_token_from_grpc(value: *const c_char, token: *mut holdoff_token) -> bool =
        write_some(token, c_bytes(value).and_then(Token::from_grpc).map(holdoff_token::from));
}

/// Returns the nesting of the caller's numbers; HOLDOFF_NESTED_ALLOW for a null pointer.
///
/// # Safety
/// `nesting` is null or points to a nesting.
pub(crate) unsafe fn nesting_of(nesting: *const holdoff_nesting) -> Nesting {
    // SAFETY: passed on.
    let Some(holdoff_nesting { mode, cap }) = (unsafe { read(nesting) }) else { return Nesting::Allow };
    Nesting::of(mode, cap)
}

unsafe fn token_of(token: *const holdoff_token) -> Option<Token> {
    // SAFETY: passed on.
    unsafe { get(token) }.ok().copied()
}
