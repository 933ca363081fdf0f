//! An event field by field: the table of fields, the values of a JSON reader, in any order, and the JSON that is written.
//!
//! A host hands over what its JSON reader made of each field and keeps the texts, which it is told are its own. Numbers of
//! 64 bits are decimal text where they are times, seeds or fingerprints: most readers keep 53 bits.

use super::model::{DELAY, Event, EventKind, OF_ALL, RETRY_AT, TEXTS, UNTIL, VERSION, needed, possible};
use crate::decide::failure::FailureKind;
use crate::decide::hint::Hint;
use crate::decide::policy::RULES;
use crate::decide::retry::Cause;
use crate::error::{Error, ErrorCode, StopReason, Subject};
use crate::record::field::{
    DECIMAL, DECIMAL_RULE, Field, INTEGER, INTEGER_RULE, Member, Takes, Written, find, first, member, of_bits,
    write_json,
};
use crate::time::Span;
use crate::value::Value;
use core::fmt;

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
    Field("sequence", Takes::Integer(1, u64::MAX), "must be a whole number, 1 or more", member!(sequence: u64)),
    Field("type", Takes::Word(EventKind::WORDS), EventKind::RULE, KIND),
    Field("at", INSTANT, INSTANT_RULE, member!(at: u64)),
    Field("attemptNumber", INTEGER, INTEGER_RULE, member!(attempt: u32)),
    Field("backoffDelayMs", Takes::Integer(0, u64::MAX), "must be a whole number, 0 or more", MILLIS),
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

/// One more than the highest number of a rule.
const MOST_RULE: u8 = (RULES as u8).wrapping_add(1);

/// The owner of a value that was set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueOwner {
    /// The event.
    Event,
    /// The host: it is the name of the task.
    Task,
    /// The host: it is the text of the failure.
    Failure,
}

impl ValueOwner {
    /// The number, the same in every language: 0 the event has it, 1 the task, 2 the text of the failure.
    pub const fn code(self) -> u8 {
        self as u8
    }
}

/// The texts of an event, which the host lends: what is not given is not written.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Notes<'n> {
    /// The name of the task: `payload.taskId`.
    pub task: Option<&'n str>,
    /// The text of the failure: `failureReason` and `payload.reason`.
    pub failure: Option<&'n str>,
}

struct Json<'n>(Event, Notes<'n>);

impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_json(f, self.0.fields(&self.1))
    }
}

impl Event {
    /// The names of the fields, in the order in which JSON has them.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FIELDS.iter().map(|field| field.0)
    }

    /// The event as JSON in one line (spec 33.4), without a line's end.
    pub const fn json<'n>(&self, notes: &Notes<'n>) -> impl fmt::Display + use<'n> {
        Json(*self, *notes)
    }

    /// Sets the field called `name` to `value`, as a JSON reader gives it; what is in `payload` is called `payload.taskId` and
    /// `payload.reason`. Null is as good as not given. Says whether it is one of the texts, which the host keeps.
    ///
    /// # Errors
    /// An unknown name, a value of the wrong type or out of range, an unknown word, another version: see [`ErrorCode`].
    pub fn set(&mut self, name: &str, value: Value<'_>) -> Result<ValueOwner, Error> {
        let subject = Subject::Event(self.sequence);
        let (bit, field) = find(&FIELDS, name, Error::named(ErrorCode::UnknownEventField, subject, ""))?;
        if value == Value::Nothing || (value == Value::Empty && name == "payload") {
            return Ok(ValueOwner::Event);
        }
        let owner = match (field.0, value) {
            ("failureReason" | "payload.reason", Value::Text(_)) => ValueOwner::Failure,
            ("payload.taskId", Value::Text(_)) => ValueOwner::Task,
            _ => ValueOwner::Event,
        };
        if owner == ValueOwner::Event {
            let number = field.read(value, subject)?;
            if field.0 == "version" && number != u64::from(VERSION) {
                return Err(Error::named(ErrorCode::EventVersion, subject, field.0).found(number as f64));
            }
            field.set(self, number);
        }
        self.present |= bit;
        Ok(owner)
    }

    /// The fields and texts that the event has, as they are written, in order.
    pub(super) fn fields<'n>(&self, notes: &Notes<'n>) -> impl Iterator<Item = (&'static str, Written<'n>)> + Clone {
        let (event, notes) = (*self, *notes);
        let texts = [("taskId", notes.task), ("reason", notes.failure)];
        let rule = if self.rule == 0 { 0 } else { possible(self.kind()) };
        of_bits(&FIELDS, needed(self.kind()) | rule | TEXTS).filter_map(move |field| {
            let value = match field.0 {
                "failureReason" => Written::Text(notes.failure?),
                "payload" => notes.task.or(notes.failure).map(|_| Written::Texts(texts))?,
                "payload.taskId" | "payload.reason" => return None,
                _ => field.value(&event),
            };
            Some((field.0, value))
        })
    }

    /// The event, complete and without contradiction. A retry whose `until` was not given is due `backoffDelayMs` after the
    /// event; where both are given, `until` counts, which is exact.
    ///
    /// # Errors
    /// A field is missing, or has no use for the kind, or contradicts another: see [`ErrorCode`].
    pub fn check(&self) -> Result<Self, Error> {
        self.checked().map_err(|error| Error { subject: Subject::Event(self.sequence), ..error })
    }

    fn checked(mut self) -> Result<Self, Error> {
        let missing = |name| Error::of_event(ErrorCode::MissingEventField, name);
        if let Some(name) = first(&FIELDS, OF_ALL & !self.present) {
            return Err(missing(name));
        }
        let damaged = Error::of_event(ErrorCode::EventDamaged, "");
        let kind = EventKind::from_code(self.kind.into()).ok_or(damaged)?;
        let needed = needed(kind);
        // One of the two says when.
        let instead = if self.present & UNTIL != 0 { DELAY } else { UNTIL };
        let instead =
            if kind == EventKind::RetryScheduled && self.present & (DELAY | UNTIL) != 0 { instead } else { 0 };
        // Without both, the exact one is missing.
        let absent = needed & !self.present & !instead;
        if let Some(name) = first(&FIELDS, if absent & UNTIL != 0 { absent & !DELAY } else { absent }) {
            return Err(missing(name));
        }
        if let Some(name) = first(&FIELDS, self.present & !needed & !possible(kind) & !TEXTS) {
            let special_rule = Some("has no meaning for an event of this type");
            return Err(Error { special_rule, ..Error::of_event(ErrorCode::NotForKind, name) });
        }
        if kind == EventKind::RetryScheduled {
            if self.present & UNTIL == 0 {
                self.until = self.at().after(Span::from_millis(self.seed)).as_nanos();
            }
            self.seed = 0;
        }
        self.present = needed;
        if self.fits(kind) { Ok(self) } else { Err(damaged) }
    }

    /// Says if the event has the values of an event of that kind, and nothing else.
    fn fits(&self, kind: EventKind) -> bool {
        let needed = needed(kind);
        // Both fields are the same number in memory.
        let same = if needed & (UNTIL | RETRY_AT) == 0 { 0 } else { UNTIL | RETRY_AT };
        let mut others = of_bits(&FIELDS, !(needed | same | possible(kind)));
        let rule = if possible(kind) == 0 { 0 } else { MOST_RULE };
        let attempt = self.attempt;
        let possible = match kind {
            EventKind::Started => attempt <= 1 && (attempt == 1 || self.is_guarded()),
            EventKind::RetryScheduled => attempt > 0 && self.until >= self.at,
            EventKind::AttemptFailed | EventKind::Resumed | EventKind::Succeeded => attempt > 0,
            EventKind::GaveUp | EventKind::Cancelled => true,
        };
        possible
            && self.unused == [0; 2]
            && self.rule <= rule
            && of_bits(&FIELDS, needed).all(|field| field.fits(self))
            && others.all(|field| field.get(self) == field.get(&Self::EMPTY))
    }
}
