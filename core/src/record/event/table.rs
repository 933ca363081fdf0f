//! The fields of an event.

use super::kind::EventKind;
use crate::decide::failure::FailureKind;
use crate::decide::hint::Hint;
use crate::decide::retry::Cause;
use crate::error::StopReason;
use crate::record::field::{DECIMAL, DECIMAL_RULE, Field, INTEGER, INTEGER_RULE, Takes};
use crate::time::Span;
use core::ops::Range;

const INSTANT: Takes = Takes::Decimal(u64::MAX - 1, &[]);
const INSTANT_RULE: &str = "must be a time from 0 to 18446744073709551614 in nanoseconds as decimal text";

/// The places of the fields before the texts, and of those after them.
pub(super) const BEFORE_TEXTS: Range<u32> = 0..6;
pub(super) const AFTER_TEXTS: Range<u32> = 6..19;

/// The fields, in the order in which they are written.
pub(super) const FIELDS: [Field; 19] = [
    Field("version", Takes::Integer(0, u64::MAX), INTEGER_RULE),
    Field("sequence", Takes::Integer(1, u64::MAX), "must be a whole number from 1 on"),
    Field("type", Takes::Word(EventKind::WORDS), EventKind::RULE),
    Field("at", INSTANT, INSTANT_RULE),
    Field("attemptNumber", INTEGER, INTEGER_RULE),
    Field("backoffDelayMs", Takes::Integer(0, u64::MAX), "must be a whole number from 0 on"),
    Field("failureReason", Takes::Other, "must be text"),
    Field("payload", Takes::Other, "must be an object with taskId and reason"),
    Field("payload.taskId", Takes::Other, "must be text"),
    Field("payload.reason", Takes::Other, "must be text"),
    Field("policy", DECIMAL, DECIMAL_RULE),
    Field("seed", DECIMAL, DECIMAL_RULE),
    Field("guarded", Takes::Integer(0, 1), "must be 0 or 1"),
    Field("failure", Takes::Word(FailureKind::WORDS), FailureKind::RULE),
    Field(
        "hint",
        Takes::Decimal(Span::MAX.as_nanos(), &[("none", Hint::NONE.as_raw()), ("never", Hint::NEVER.as_raw())]),
        "must be a span from 0 to 9223372036854775807 in nanoseconds as decimal text, or \"none\" or \"never\"",
    ),
    Field("until", INSTANT, INSTANT_RULE),
    Field("cause", Takes::Word(Cause::WORDS), Cause::RULE),
    Field("reason", Takes::Word(StopReason::WORDS), StopReason::RULE),
    Field(
        "retryAt",
        Takes::Decimal(u64::MAX - 1, &[("never", u64::MAX)]),
        "must be a time from 0 to 18446744073709551614 in nanoseconds as decimal text, or \"never\"",
    ),
];

pub(super) const OF_ALL: u32 = 0b1_1111;
pub(super) const DELAY: u32 = 1 << 5;
const OF_STARTED: u32 = 0b111 << 10;
const OF_FAILED: u32 = 0b11 << 13;
pub(super) const UNTIL: u32 = 1 << 15;
const CAUSE: u32 = 1 << 16;
const OF_GAVE_UP: u32 = 0b11 << 17;

/// One bit for each field that an event of that kind has.
pub(super) const fn needed(kind: EventKind) -> u32 {
    OF_ALL
        | match kind {
            EventKind::Started => OF_STARTED,
            EventKind::AttemptFailed => OF_FAILED,
            EventKind::RetryScheduled => DELAY | UNTIL | CAUSE,
            EventKind::GaveUp => OF_GAVE_UP,
            EventKind::Resumed | EventKind::Succeeded | EventKind::Cancelled => 0,
        }
}
