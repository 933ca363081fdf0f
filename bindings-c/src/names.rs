//! The words of the numbers, the same in every language.

use core::ffi::c_char;
use holdoff_core::{Cause, ErrorCode, FailureKind, StopReason};

const fn terminated<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    let mut at = 0;
    while at < text.len() {
        bytes[at] = text.as_bytes()[at];
        at += 1;
    }
    bytes
}

/// A constant text of the core as one of C.
macro_rules! text {
    ($text:expr) => {{
        static BYTES: [u8; $text.len() + 1] = terminated($text);
        BYTES.as_ptr().cast::<c_char>()
    }};
}

/// The text of the variant with a number; every variant has to be listed.
macro_rules! text_of {
    ($number:expr, |$value:ident| $text:expr, $of:ident: $($variant:ident)*) => {{
        const _: () = assert!([$($of::$variant),*].len() == $of::ALL.len());
        match $number {
            $(number if number == $of::$variant as u32 => {
                const $value: $of = $of::$variant;
                text!($text)
            })*
            _ => text!("unknown"),
        }
    }};
}

/// The word of a HOLDOFF_REASON_ number, such as "attempts"; "unknown" for any other.
#[unsafe(no_mangle)]
pub extern "C" fn holdoff_reason_name(reason: u32) -> *const c_char {
    text_of!(reason, |REASON| REASON.name(), StopReason: Permanent Attempts Deadline Hint Cancelled)
}

/// A HOLDOFF_REASON_ number as a sentence, such as "all attempts are used"; "unknown" for any other.
#[unsafe(no_mangle)]
pub extern "C" fn holdoff_reason_text(reason: u32) -> *const c_char {
    text_of!(reason, |REASON| REASON.describe(), StopReason: Permanent Attempts Deadline Hint Cancelled)
}

/// The word of a HOLDOFF_CAUSE_ number: "backoff", "hint", "clip"; "unknown" for any other.
#[unsafe(no_mangle)]
pub extern "C" fn holdoff_cause_name(cause: u32) -> *const c_char {
    text_of!(cause, |CAUSE| CAUSE.name(), Cause: Backoff Hint Clip)
}

/// The word of a failure kind: "transient", "throttled", "timeout", "permanent"; "unknown" for any other.
#[unsafe(no_mangle)]
pub extern "C" fn holdoff_failure_kind_name(kind: u32) -> *const c_char {
    text_of!(kind, |KIND| KIND.name(), FailureKind: Transient Throttled Timeout Permanent)
}

/// The word of an outcome: "succeeded", "gave_up", "cancelled", "invalid"; "unknown" for any other.
#[unsafe(no_mangle)]
pub extern "C" fn holdoff_outcome_name(outcome: u32) -> *const c_char {
    match u8::try_from(outcome) {
        Ok(crate::HOLDOFF_SUCCEEDED) => text!("succeeded"),
        Ok(crate::HOLDOFF_GAVE_UP) => text!("gave_up"),
        Ok(crate::HOLDOFF_CANCELLED) => text!("cancelled"),
        Ok(crate::HOLDOFF_INVALID) => text!("invalid"),
        _ => text!("unknown"),
    }
}

/// The word of a step's kind: "attempt", "sleep", "wait", "stop"; "unknown" for any other.
#[unsafe(no_mangle)]
pub extern "C" fn holdoff_step_name(kind: u32) -> *const c_char {
    match u8::try_from(kind) {
        Ok(crate::HOLDOFF_ATTEMPT) => text!("attempt"),
        Ok(crate::HOLDOFF_SLEEP) => text!("sleep"),
        Ok(crate::HOLDOFF_WAIT) => text!("wait"),
        Ok(crate::HOLDOFF_STOP) => text!("stop"),
        _ => text!("unknown"),
    }
}

/// The word of a HOLDOFF_ERROR_ number, such as "attempts_range"; "unknown" for any other.
#[unsafe(no_mangle)]
pub extern "C" fn holdoff_error_name(error: u32) -> *const c_char {
    text_of!(error, |ERROR| ERROR.name(), ErrorCode:
        UnknownField WrongType UnknownWord NotADuration AttemptsRange FactorRange MaxBelowInitial ZeroLimit
        MinAttemptRange ClipNeedsMinAttempt JitterFactorRange NotForKind JitterFactorMissing SeedRange NullPointer
        NotAPolicy NotACall TimeRange UnknownFailureKind)
}

/// The rule that a HOLDOFF_ERROR_ number stands for, in words; "unknown" for any other number.
#[unsafe(no_mangle)]
pub extern "C" fn holdoff_error_rule(error: u32) -> *const c_char {
    text_of!(error, |ERROR| ERROR.rule(None), ErrorCode:
        UnknownField WrongType UnknownWord NotADuration AttemptsRange FactorRange MaxBelowInitial ZeroLimit
        MinAttemptRange ClipNeedsMinAttempt JitterFactorRange NotForKind JitterFactorMissing SeedRange NullPointer
        NotAPolicy NotACall TimeRange UnknownFailureKind)
}

/// The version of the library, such as "0.1.0"; that of the header is HOLDOFF_VERSION.
#[unsafe(no_mangle)]
pub extern "C" fn holdoff_version() -> *const c_char {
    text!(env!("CARGO_PKG_VERSION"))
}
