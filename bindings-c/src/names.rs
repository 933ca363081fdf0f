//! The words of the numbers, the same in every language.

use crate::*;
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

/// Declares functions from a number to a text of the core's table, and the most bytes of a text with its zero.
macro_rules! texts {
    ($($(#[$meta:meta])* fn $function:ident($number:ident) is $table:ident::$text:ident, $size:literal;)*) => { $(
        $(#[$meta])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $function($number: u32) -> *const c_char {
            static TEXTS: [[u8; $size]; $table::ALL.len()] = {
                let mut texts = [[0; $size]; $table::ALL.len()];
                let mut at = 0;
                while at < texts.len() {
                    texts[at] = terminated($table::$text($table::ALL[at]));
                    at += 1;
                }
                texts
            };
            let known = $table::ALL.iter().zip(&TEXTS).find(|(known, _)| u32::from(known.code()) == $number);
            known.map_or(text!("unknown"), |(_, text)| text.as_ptr().cast())
        }
    )* };
}

texts! {
    /// The word of a HOLDOFF_REASON_ number, such as "attempts"; "unknown" for any other.
    fn holdoff_reason_name(reason) is StopReason::name, 16;
    /// A HOLDOFF_REASON_ number as a sentence, such as "all attempts are used"; "unknown" for any other.
    fn holdoff_reason_text(reason) is StopReason::text, 64;
    /// The word of a HOLDOFF_CAUSE_ number: "backoff", "hint", "clip", "breaker", "limiter", "bulkhead"; "unknown" for any
    /// other.
    fn holdoff_cause_name(cause) is Cause::name, 16;
    /// The word of a failure kind: "transient", "throttled", "timeout", "permanent"; "unknown" for any other.
    fn holdoff_failure_kind_name(kind) is FailureKind::name, 16;
    /// The word of a HOLDOFF_ERROR_ number, such as "attempts_range"; "unknown" for any other.
    fn holdoff_error_name(error) is ErrorCode::name, 32;
    /// The rule that a HOLDOFF_ERROR_ number stands for, in words; "unknown" for any other number.
    fn holdoff_error_rule(error) is ErrorCode::text, 112;
    /// The name of preset number `preset`, counted from 1: "default", "langgraphgo" and so on; "unknown" for any other
    /// number, so that a loop from 1 on sees all.
    fn holdoff_preset_name(preset) is Preset::name, 32;
    /// The word of a HOLDOFF_LINT_ number, such as "no_jitter"; "unknown" for any other.
    fn holdoff_lint_name(lint) is LintKind::name, 32;
    /// The word of how a periodic ended, a HOLDOFF_ENDED_ number: "cancelled", "done", "failed", "deadline", "steps";
    /// "unknown" for any other.
    fn holdoff_ended_name(ended) is Ended::name, 16;
    /// The word of how a breaker stands, a HOLDOFF_BREAKER_ number: "closed", "open", "half_open", "isolated"; "unknown"
    /// for any other.
    fn holdoff_breaker_state_name(state) is BreakerState::name, 16;
    /// The word of a HOLDOFF_EVENT_ number: "STARTED", "ATTEMPT_FAILED", "RETRY_SCHEDULED", "RESUMED", "SUCCEEDED",
    /// "GAVE_UP", "CANCELLED"; "unknown" for any other.
    fn holdoff_event_kind_name(kind) is EventKind::name, 16;
}

/// Returns the text at a place, or "unknown".
fn word(words: &[*const c_char], at: u32) -> *const c_char {
    usize::try_from(at).ok().and_then(|at| words.get(at)).copied().unwrap_or(words[0])
}

extern_c! {
    /// The word of an outcome: "succeeded", "gave_up", "cancelled", "invalid"; "unknown" for any other.
    fn holdoff_outcome_name(outcome: u32) -> *const c_char =
        word(&[text!("unknown"), text!("succeeded"), text!("gave_up"), text!("cancelled"), text!("invalid")], outcome);

    /// The word of a step's kind: "attempt", "sleep", "wait", "stop"; "unknown" for any other.
    fn holdoff_step_name(kind: u32) -> *const c_char =
        word(&[text!("unknown"), text!("attempt"), text!("sleep"), text!("wait"), text!("stop")], kind);

    /// The version of the library, such as "0.1.0"; that of the header is HOLDOFF_VERSION.
    fn holdoff_version() -> *const c_char = text!(env!("CARGO_PKG_VERSION"));
}
