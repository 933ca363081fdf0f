//! The words of the numbers, the same in every language.

use core::ffi::c_char;
use holdoff_core::{BreakerState, Cause, Ended, ErrorCode, EventKind, FailureKind, LintKind, Preset, StopReason};

const fn terminated<const N: usize>(text: &str) -> [u8; N] {
    assert!(text.len() < N);
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

/// Constant texts of the core as ones of C, all of them in rooms of one size.
struct Table<const SIZE: usize, const COUNT: usize>([[u8; SIZE]; COUNT]);

impl<const SIZE: usize, const COUNT: usize> Table<SIZE, COUNT> {
    fn text(&'static self, at: Option<usize>) -> *const c_char {
        let bytes = at.and_then(|at| self.0.get(at));
        bytes.map_or(text!("unknown"), |bytes| bytes.as_ptr().cast())
    }
}

/// The texts of every variant, in their order.
macro_rules! table {
    ($of:ident; $size:literal, |$value:ident| $text:expr) => {{
        const {
            let mut texts = [[0; $size]; $of::ALL.len()];
            let mut at = 0;
            while at < texts.len() {
                let $value = $of::ALL[at];
                texts[at] = terminated($text);
                at += 1;
            }
            Table(texts)
        }
    }};
}

/// The word of a HOLDOFF_REASON_ number, such as "attempts"; "unknown" for any other.
#[unsafe(no_mangle)]
pub extern "C" fn holdoff_reason_name(reason: u32) -> *const c_char {
    static TEXTS: Table<16, { StopReason::ALL.len() }> = table!(StopReason; 16, |known| known.name());
    TEXTS.text(StopReason::ALL.iter().position(|known| u32::from(known.code()) == reason))
}

/// A HOLDOFF_REASON_ number as a sentence, such as "all attempts are used"; "unknown" for any other.
#[unsafe(no_mangle)]
pub extern "C" fn holdoff_reason_text(reason: u32) -> *const c_char {
    static TEXTS: Table<64, { StopReason::ALL.len() }> = table!(StopReason; 64, |known| known.text());
    TEXTS.text(StopReason::ALL.iter().position(|known| u32::from(known.code()) == reason))
}

/// The word of a HOLDOFF_CAUSE_ number: "backoff", "hint", "clip", "breaker", "limiter", "bulkhead"; "unknown" for any other.
#[unsafe(no_mangle)]
pub extern "C" fn holdoff_cause_name(cause: u32) -> *const c_char {
    static TEXTS: Table<16, { Cause::ALL.len() }> = table!(Cause; 16, |known| known.name());
    TEXTS.text(Cause::ALL.iter().position(|known| u32::from(known.code()) == cause))
}

/// The word of a failure kind: "transient", "throttled", "timeout", "permanent"; "unknown" for any other.
#[unsafe(no_mangle)]
pub extern "C" fn holdoff_failure_kind_name(kind: u32) -> *const c_char {
    static TEXTS: Table<16, { FailureKind::ALL.len() }> = table!(FailureKind; 16, |known| known.name());
    TEXTS.text(FailureKind::ALL.iter().position(|known| u32::from(known.code()) == kind))
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
    static TEXTS: Table<32, { ErrorCode::ALL.len() }> = table!(ErrorCode; 32, |error| error.name());
    TEXTS.text(ErrorCode::ALL.iter().position(|known| u32::from(known.code()) == error))
}

/// The rule that a HOLDOFF_ERROR_ number stands for, in words; "unknown" for any other number.
#[unsafe(no_mangle)]
pub extern "C" fn holdoff_error_rule(error: u32) -> *const c_char {
    static TEXTS: Table<112, { ErrorCode::ALL.len() }> = table!(ErrorCode; 112, |error| error.rule(None));
    TEXTS.text(ErrorCode::ALL.iter().position(|known| u32::from(known.code()) == error))
}

/// The name of preset number `preset`, counted from 1: "default", "langgraphgo" and so on; "unknown" for any other number,
/// so that a loop from 1 on sees all.
#[unsafe(no_mangle)]
pub extern "C" fn holdoff_preset_name(preset: u32) -> *const c_char {
    static TEXTS: Table<32, { Preset::ALL.len() }> = table!(Preset; 32, |preset| preset.name());
    TEXTS.text(Preset::ALL.iter().position(|known| u32::from(known.code()) == preset))
}

/// The word of a HOLDOFF_LINT_ number, such as "no_jitter"; "unknown" for any other.
#[unsafe(no_mangle)]
pub extern "C" fn holdoff_lint_name(lint: u32) -> *const c_char {
    static TEXTS: Table<32, { LintKind::ALL.len() }> = table!(LintKind; 32, |lint| lint.name());
    TEXTS.text(LintKind::ALL.iter().position(|known| u32::from(known.code()) == lint))
}

/// The word of how a periodic ended, a HOLDOFF_ENDED_ number: "cancelled", "done", "failed", "deadline", "steps";
/// "unknown" for any other.
#[unsafe(no_mangle)]
pub extern "C" fn holdoff_ended_name(ended: u32) -> *const c_char {
    static TEXTS: Table<16, { Ended::ALL.len() }> = table!(Ended; 16, |ended| ended.name());
    TEXTS.text(Ended::ALL.iter().position(|known| u32::from(known.code()) == ended))
}

/// The word of how a breaker stands, a HOLDOFF_BREAKER_ number: "closed", "open", "half_open", "isolated"; "unknown" for any
/// other.
#[unsafe(no_mangle)]
pub extern "C" fn holdoff_breaker_state_name(state: u32) -> *const c_char {
    match state {
        crate::HOLDOFF_BREAKER_CLOSED => text!(BreakerState::Closed.name()),
        crate::HOLDOFF_BREAKER_OPEN => text!(BreakerState::Open.name()),
        crate::HOLDOFF_BREAKER_HALF_OPEN => text!(BreakerState::HalfOpen.name()),
        crate::HOLDOFF_BREAKER_ISOLATED => text!(BreakerState::Isolated.name()),
        _ => text!("unknown"),
    }
}

/// The word of a HOLDOFF_EVENT_ number: "STARTED", "ATTEMPT_FAILED", "RETRY_SCHEDULED", "RESUMED", "SUCCEEDED", "GAVE_UP",
/// "CANCELLED"; "unknown" for any other.
#[unsafe(no_mangle)]
pub extern "C" fn holdoff_event_kind_name(kind: u32) -> *const c_char {
    static TEXTS: Table<16, { EventKind::ALL.len() }> = table!(EventKind; 16, |known| known.name());
    TEXTS.text(EventKind::ALL.iter().position(|known| u32::from(known.code()) == kind))
}

/// The version of the library, such as "0.1.0"; that of the header is HOLDOFF_VERSION.
#[unsafe(no_mangle)]
pub extern "C" fn holdoff_version() -> *const c_char {
    text!(env!("CARGO_PKG_VERSION"))
}
