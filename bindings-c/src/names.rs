//! The words of the numbers, the same in every language.

use crate::*;

/// Returns the text at a place of texts that each have a zero at their end.
fn text_at(texts: &'static str, place: Option<usize>) -> *const c_char {
    let found = place.and_then(|place| texts.split_inclusive('\0').nth(place));
    found.unwrap_or("unknown\0").as_ptr().cast()
}

/// Declares the lists of words, each with the number of the list and the core's table of it, and how a word is found. A list
/// has "none" for 0, unless 0 is one of its numbers.
macro_rules! lists {
    ($($(#[$meta:meta])* $list:ident = $number:literal is $table:ident::$texts:ident;)*) => {
        $(
            $(#[$meta])*
            pub const $list: u32 = $number;
        )*

        fn word(list: u32, number: u32) -> *const c_char {
            let place = usize::try_from(number).ok();
            match list {
                $($list => {
                    let place = $table::ALL.iter().position(|known| u32::from(known.code()) == number);
                    if number == 0 && place.is_none() { text_at(NONE, Some(0)) } else { text_at($table::$texts, place) }
                })*
                HOLDOFF_WORD_OUTCOME => text_at(OUTCOMES, place),
                HOLDOFF_WORD_STEP => text_at(STEPS, place),
                _ => text_at(NONE, None),
            }
        }
    };
}

lists! {
    /// List of words: HOLDOFF_REASON_ numbers, such as "attempts".
    HOLDOFF_WORD_REASON = 1 is StopReason::NAMES;
    /// List of words: HOLDOFF_REASON_ numbers as sentences, such as "all attempts are used".
    HOLDOFF_WORD_REASON_TEXT = 2 is StopReason::TEXTS;
    /// List of words: HOLDOFF_CAUSE_ numbers: "backoff", "hint", "clip", "breaker", "limiter", "bulkhead".
    HOLDOFF_WORD_CAUSE = 3 is Cause::NAMES;
    /// List of words: failure kinds: "transient", "throttled", "timeout", "permanent".
    HOLDOFF_WORD_FAILURE = 4 is FailureKind::NAMES;
    /// List of words: HOLDOFF_ERROR_ numbers, such as "attempts_range".
    HOLDOFF_WORD_ERROR = 5 is ErrorCode::NAMES;
    /// List of words: the rules that HOLDOFF_ERROR_ numbers stand for.
    HOLDOFF_WORD_ERROR_RULE = 6 is ErrorCode::TEXTS;
    /// List of words: presets, counted from 1: "default", "langgraphgo" and so on; a loop from 1 to "unknown" sees all.
    HOLDOFF_WORD_PRESET = 7 is Preset::NAMES;
    /// List of words: HOLDOFF_LINT_ numbers, such as "no_jitter".
    HOLDOFF_WORD_LINT = 8 is LintKind::NAMES;
    /// List of words: HOLDOFF_ENDED_ numbers: "cancelled", "done", "failed", "deadline", "steps".
    HOLDOFF_WORD_ENDED = 9 is Ended::NAMES;
    /// List of words: HOLDOFF_BREAKER_ numbers: "closed", "open", "half_open", "isolated".
    HOLDOFF_WORD_BREAKER = 10 is BreakerState::NAMES;
    /// List of words: HOLDOFF_EVENT_ numbers: "STARTED", "ATTEMPT_FAILED", "RETRY_SCHEDULED", "RESUMED", "SUCCEEDED",
    /// "GAVE_UP", "CANCELLED".
    HOLDOFF_WORD_EVENT = 11 is EventKind::NAMES;
}

/// List of words: outcomes: "succeeded", "gave_up", "cancelled", "invalid".
pub const HOLDOFF_WORD_OUTCOME: u32 = 12;
/// List of words: the kinds of steps: "attempt", "sleep", "wait", "stop".
pub const HOLDOFF_WORD_STEP: u32 = 13;

const NONE: &str = "none\0";
const OUTCOMES: &str = "none\0succeeded\0gave_up\0cancelled\0invalid\0";
const STEPS: &str = "none\0attempt\0sleep\0wait\0stop\0";

extern_c! {
    /// Returns the word of a number in a list (HOLDOFF_WORD_REASON, ...), the same in every language; "none" for 0 where 0 is
    /// none of the numbers, and "unknown" for any other number that the list does not have, and for any other list.
    fn holdoff_word(list: u32, number: u32) -> *const c_char = word(list, number);

    /// The version of the library, such as "0.1.0"; that of the header is HOLDOFF_VERSION.
    fn holdoff_version() -> *const c_char = text_at(concat!(env!("CARGO_PKG_VERSION"), "\0"), Some(0));
}
