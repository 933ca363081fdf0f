//! An event field by field: the values of a JSON reader, in any order, and the JSON that is written.
//!
//! A host hands over what its JSON reader made of each field and keeps the texts, which it is told are its own. Numbers of
//! 64 bits are decimal text where they are times, seeds or fingerprints: most readers keep 53 bits.

use super::kind::{EventKind, VERSION};
use super::model::{DELAY, Event, OF_ALL, RETRY_AT, TEXTS, UNTIL, needed, possible};
use super::table::FIELDS;
use crate::decide::policy::RULES;
use crate::error::{Error, ErrorCode, Subject};
use crate::record::field::{Written, find, first, of_bits, write_json};
use crate::time::Span;
use crate::value::Value;
use core::fmt;

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
        match self {
            Self::Event => 0,
            Self::Task => 1,
            Self::Failure => 2,
        }
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
