//! The fields of an event.

use super::kind::{EventKind, VERSION};
use super::model::Event;
use crate::decide::failure::FailureKind;
use crate::decide::hint::Hint;
use crate::decide::policy::RULES;
use crate::decide::retry::Cause;
use crate::error::StopReason;
use crate::record::field::{DECIMAL, DECIMAL_RULE, Field, INTEGER, INTEGER_RULE, Member, Takes, member};
use crate::time::Span;

const INSTANT: Takes = Takes::Decimal(u64::MAX - 1, &[]);
const INSTANT_RULE: &str = "must be a time from 0 to 18446744073709551614 in nanoseconds as decimal text";

/// The version and the texts, which no event stores.
const UNSTORED: Member<Event> = Member { get: |_| VERSION as u64, set: |_, _| {}, width: 0 };
const KIND: Member<Event> =
    Member { get: |event| event.kind().code() as u64, set: |event, number| event.kind = number as u8, width: 1 };
/// The delay, which stands in the seed until the event is checked.
const MILLIS: Member<Event> = Member { get: Event::delay_ms, set: |event, number| event.seed = number, width: 8 };

/// The number of the rule, 0 for none.
const RULE: Member<Event> = Member {
    get: |event| event.rule.saturating_sub(1).into(),
    set: |event, number| event.rule = (number as u8).saturating_add(1),
    width: 1,
};

/// The fields, in the order in which they are written.
pub(super) const FIELDS: [Field<Event>; 20] = [
    Field("version", Takes::Integer(0, u64::MAX), INTEGER_RULE, UNSTORED),
    Field("sequence", Takes::Integer(1, u64::MAX), "must be a whole number from 1 on", member!(sequence: u64)),
    Field("type", Takes::Word(EventKind::WORDS), EventKind::RULE, KIND),
    Field("at", INSTANT, INSTANT_RULE, member!(at: u64)),
    Field("attemptNumber", INTEGER, INTEGER_RULE, member!(attempt: u32)),
    Field("backoffDelayMs", Takes::Integer(0, u64::MAX), "must be a whole number from 0 on", MILLIS),
    Field("failureReason", Takes::Other, "must be text", UNSTORED),
    Field("payload", Takes::Other, "must be an object with taskId and reason", UNSTORED),
    Field("payload.taskId", Takes::Other, "must be text", UNSTORED),
    Field("payload.reason", Takes::Other, "must be text", UNSTORED),
    Field("policy", DECIMAL, DECIMAL_RULE, member!(policy: u64)),
    Field("seed", DECIMAL, DECIMAL_RULE, member!(seed: u64)),
    Field("guarded", Takes::Integer(0, 1), "must be 0 or 1", member!(guarded: u8)),
    Field("failure", Takes::Word(FailureKind::WORDS), FailureKind::RULE, member!(failure: u8)),
    Field(
        "hint",
        Takes::Decimal(Span::MAX.as_nanos(), &[("none", Hint::NONE.as_raw()), ("never", Hint::NEVER.as_raw())]),
        "must be a span from 0 to 9223372036854775807 in nanoseconds as decimal text, or \"none\" or \"never\"",
        member!(hint: u64),
    ),
    Field("until", INSTANT, INSTANT_RULE, member!(until: u64)),
    Field("cause", Takes::Word(Cause::WORDS), Cause::RULE, member!(cause: u8)),
    Field("reason", Takes::Word(StopReason::WORDS), StopReason::RULE, member!(reason: u8)),
    Field(
        "retryAt",
        Takes::Decimal(u64::MAX - 1, &[("never", u64::MAX)]),
        "must be a time from 0 to 18446744073709551614 in nanoseconds as decimal text, or \"never\"",
        member!(until: u64),
    ),
    Field("rule", Takes::Integer(0, RULES as u64), "must be a whole number from 0 to 8", RULE),
];
