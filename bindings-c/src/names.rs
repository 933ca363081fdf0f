//! The words of the numbers, the same in every language.

use crate::*;
use holdoff_core::{BreakerState, Cause, Ended, ErrorCode, EventKind, FailureKind, LintKind, Preset, StopReason};

/// Texts one after the other, each with a zero at its filled.
const fn joined<const N: usize>(texts: &[&str]) -> [u8; N] {
    let (mut bytes, mut filled, mut text) = ([0; N], 0, 0);
    while text < texts.len() {
        let mut at = 0;
        while at < texts[text].len() {
            bytes[filled] = texts[text].as_bytes()[at];
            (filled, at) = (filled + 1, at + 1);
        }
        (filled, text) = (filled + 1, text + 1);
    }
    bytes
}

/// The number of bytes of joined texts.
const fn joined_length(texts: &[&str]) -> usize {
    let (mut bytes, mut text) = (0, 0);
    while text < texts.len() {
        (bytes, text) = (bytes + texts[text].len() + 1, text + 1);
    }
    bytes
}

/// Constant texts of the core as texts of C: without pointers between them, which would have to be relocated.
macro_rules! joined {
    ($texts:expr) => {{
        static BYTES: [u8; joined_length($texts)] = joined($texts);
        &BYTES
    }};
}

/// Returns the text at a place of joined texts; "unknown" beyond them.
fn text_at(texts: &'static [u8], at: Option<usize>) -> *const c_char {
    let found = at.and_then(|at| texts.split_inclusive(|byte| *byte == 0).nth(at));
    found.unwrap_or(b"unknown\0").as_ptr().cast()
}

/// Declares functions from a number to a text of the core's table.
macro_rules! texts {
    ($($(#[$meta:meta])* fn $function:ident($number:ident) is $table:ident::$text:ident;)*) => { $(
        $(#[$meta])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $function($number: u32) -> *const c_char {
            const TEXTS: [&str; $table::ALL.len()] = {
                let (mut texts, mut at) = ([""; $table::ALL.len()], 0);
                while at < texts.len() {
                    (texts[at], at) = ($table::$text($table::ALL[at]), at + 1);
                }
                texts
            };
            text_at(joined!(&TEXTS), $table::ALL.iter().position(|known| u32::from(known.code()) == $number))
        }
    )* };
}

texts! {
    /// The word of a HOLDOFF_REASON_ number, such as "attempts"; "unknown" for any other.
    fn holdoff_reason_name(reason) is StopReason::name;
    /// A HOLDOFF_REASON_ number as a sentence, such as "all attempts are used"; "unknown" for any other.
    fn holdoff_reason_text(reason) is StopReason::text;
    /// The word of a HOLDOFF_CAUSE_ number: "backoff", "hint", "clip", "breaker", "limiter", "bulkhead"; "unknown" for any
    /// other.
    fn holdoff_cause_name(cause) is Cause::name;
    /// The word of a failure kind: "transient", "throttled", "timeout", "permanent"; "unknown" for any other.
    fn holdoff_failure_kind_name(kind) is FailureKind::name;
    /// The word of a HOLDOFF_ERROR_ number, such as "attempts_range"; "unknown" for any other.
    fn holdoff_error_name(error) is ErrorCode::name;
    /// The rule that a HOLDOFF_ERROR_ number stands for, in words; "unknown" for any other number.
    fn holdoff_error_rule(error) is ErrorCode::text;
    /// The name of preset number `preset`, counted from 1: "default", "langgraphgo" and so on; "unknown" for any other
    /// number, so that a loop from 1 on sees all.
    fn holdoff_preset_name(preset) is Preset::name;
    /// The word of a HOLDOFF_LINT_ number, such as "no_jitter"; "unknown" for any other.
    fn holdoff_lint_name(lint) is LintKind::name;
    /// The word of how a periodic ended, a HOLDOFF_ENDED_ number: "cancelled", "done", "failed", "deadline", "steps";
    /// "unknown" for any other.
    fn holdoff_ended_name(ended) is Ended::name;
    /// The word of how a breaker stands, a HOLDOFF_BREAKER_ number: "closed", "open", "half_open", "isolated"; "unknown"
    /// for any other.
    fn holdoff_breaker_state_name(state) is BreakerState::name;
    /// The word of a HOLDOFF_EVENT_ number: "STARTED", "ATTEMPT_FAILED", "RETRY_SCHEDULED", "RESUMED", "SUCCEEDED",
    /// "GAVE_UP", "CANCELLED"; "unknown" for any other.
    fn holdoff_event_kind_name(kind) is EventKind::name;
}

extern_c! {
    /// The word of an outcome: "succeeded", "gave_up", "cancelled", "invalid"; "unknown" for any other.
    fn holdoff_outcome_name(outcome: u32) -> *const c_char =
        text_at(joined!(&["unknown", "succeeded", "gave_up", "cancelled", "invalid"]), usize::try_from(outcome).ok());

    /// The word of a step's kind: "attempt", "sleep", "wait", "stop"; "unknown" for any other.
    fn holdoff_step_name(kind: u32) -> *const c_char =
        text_at(joined!(&["unknown", "attempt", "sleep", "wait", "stop"]), usize::try_from(kind).ok());

    /// The version of the library, such as "0.1.0"; that of the header is HOLDOFF_VERSION.
    fn holdoff_version() -> *const c_char = text_at(joined!(&[env!("CARGO_PKG_VERSION")]), Some(0));
}
