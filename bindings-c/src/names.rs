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

/// Declares the lists of words, each with the number of the list and the core's table of it, and how a word is found.
macro_rules! lists {
    ($($(#[$meta:meta])* $list:ident = $number:literal is $table:ident::$text:ident;)*) => {
        $(
            $(#[$meta])*
            pub const $list: u32 = $number;
        )*

        fn word(list: u32, number: u32) -> *const c_char {
            match list {
                $($list => {
                    const TEXTS: [&str; $table::ALL.len()] = {
                        let (mut texts, mut at) = ([""; $table::ALL.len()], 0);
                        while at < texts.len() {
                            (texts[at], at) = ($table::$text($table::ALL[at]), at + 1);
                        }
                        texts
                    };
                    text_at(joined!(&TEXTS), $table::ALL.iter().position(|known| u32::from(known.code()) == number))
                })*
                HOLDOFF_WORD_OUTCOME => text_at(joined!(&OUTCOMES), usize::try_from(number).ok()),
                HOLDOFF_WORD_STEP => text_at(joined!(&STEPS), usize::try_from(number).ok()),
                _ => text_at(&[], None),
            }
        }
    };
}

lists! {
    /// List of words: HOLDOFF_REASON_ numbers, such as "attempts".
    HOLDOFF_WORD_REASON = 1 is StopReason::name;
    /// List of words: HOLDOFF_REASON_ numbers as sentences, such as "all attempts are used".
    HOLDOFF_WORD_REASON_TEXT = 2 is StopReason::text;
    /// List of words: HOLDOFF_CAUSE_ numbers: "backoff", "hint", "clip", "breaker", "limiter", "bulkhead".
    HOLDOFF_WORD_CAUSE = 3 is Cause::name;
    /// List of words: failure kinds: "transient", "throttled", "timeout", "permanent".
    HOLDOFF_WORD_FAILURE = 4 is FailureKind::name;
    /// List of words: HOLDOFF_ERROR_ numbers, such as "attempts_range".
    HOLDOFF_WORD_ERROR = 5 is ErrorCode::name;
    /// List of words: the rules that HOLDOFF_ERROR_ numbers stand for.
    HOLDOFF_WORD_ERROR_RULE = 6 is ErrorCode::text;
    /// List of words: presets, counted from 1: "default", "langgraphgo" and so on; a loop from 1 to "unknown" sees all.
    HOLDOFF_WORD_PRESET = 7 is Preset::name;
    /// List of words: HOLDOFF_LINT_ numbers, such as "no_jitter".
    HOLDOFF_WORD_LINT = 8 is LintKind::name;
    /// List of words: HOLDOFF_ENDED_ numbers: "cancelled", "done", "failed", "deadline", "steps".
    HOLDOFF_WORD_ENDED = 9 is Ended::name;
    /// List of words: HOLDOFF_BREAKER_ numbers: "closed", "open", "half_open", "isolated".
    HOLDOFF_WORD_BREAKER = 10 is BreakerState::name;
    /// List of words: HOLDOFF_EVENT_ numbers: "STARTED", "ATTEMPT_FAILED", "RETRY_SCHEDULED", "RESUMED", "SUCCEEDED",
    /// "GAVE_UP", "CANCELLED".
    HOLDOFF_WORD_EVENT = 11 is EventKind::name;
}

/// List of words: outcomes: "succeeded", "gave_up", "cancelled", "invalid".
pub const HOLDOFF_WORD_OUTCOME: u32 = 12;
/// List of words: the kinds of steps: "attempt", "sleep", "wait", "stop".
pub const HOLDOFF_WORD_STEP: u32 = 13;

const OUTCOMES: [&str; 5] = ["unknown", "succeeded", "gave_up", "cancelled", "invalid"];
const STEPS: [&str; 5] = ["unknown", "attempt", "sleep", "wait", "stop"];

extern_c! {
    /// Returns the word of a number in a list (HOLDOFF_WORD_REASON, ...), the same in every language; "unknown" for a number
    /// that the list does not have, and for any other list.
    fn holdoff_word(list: u32, number: u32) -> *const c_char = word(list, number);

    /// The version of the library, such as "0.1.0"; that of the header is HOLDOFF_VERSION.
    fn holdoff_version() -> *const c_char = text_at(joined!(&[env!("CARGO_PKG_VERSION")]), Some(0));
}
