//! An event field by field: what a reader of JSON feeds in, in whatever order it finds it.
//!
//! A host hands over what its JSON reader made of each field and keeps the texts, which it is told are its own. Numbers of
//! 64 bits are decimal text where they are times, seeds or fingerprints: most readers keep 53 bits.

use super::kind::{EventKind, VERSION};
use super::model::Event;
use super::table::{DELAY, FIELDS, OF_ALL, UNTIL, needed};
use crate::decide::hint::Hint;
use crate::decide::retry::Cause;
use crate::error::{Error, ErrorCode, StopReason, Subject};
use crate::nearest::nearest;
use crate::record::field::{Field, Shown, first};
use crate::time::{Span, Timestamp};
use crate::value::Value;
use core::ops::Range;

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

impl Event {
    /// The names of the fields, in the order in which JSON has them.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FIELDS.iter().map(|field| field.0)
    }

    /// Sets the field called `name` to `value`, as a JSON reader gives it; what is in `payload` is called `payload.taskId` and
    /// `payload.reason`. Null is as good as not given. Says whether it is one of the texts, which the host keeps.
    ///
    /// # Errors
    /// An unknown name, a value of the wrong type or out of range, an unknown word, another version: see [`ErrorCode`].
    pub fn set(&mut self, name: &str, value: Value<'_>) -> Result<ValueOwner, Error> {
        let Some((bit, field)) = (0_u32..).zip(FIELDS).find(|(_, known)| known.0 == name) else {
            let nearest = nearest(name, Self::names());
            return Err(self.expected(Error { nearest, ..Error::of_event(ErrorCode::UnknownEventField, "") }));
        };
        if value == Value::Nothing || (value == Value::Empty && name == "payload") {
            return Ok(ValueOwner::Event);
        }
        let taken = self.put(&field, value).map_err(|error| self.expected(error))?;
        self.given |= 1_u32.wrapping_shl(bit);
        Ok(taken)
    }

    /// An error with the number of the event, where that is known by now.
    const fn expected(&self, error: Error) -> Error {
        Error { subject: Subject::Event(self.sequence), ..error }
    }

    fn put(&mut self, field: &Field, value: Value<'_>) -> Result<ValueOwner, Error> {
        match (field.0, value) {
            ("failureReason" | "payload.reason", Value::Text(_)) => return Ok(ValueOwner::Failure),
            ("payload.taskId", Value::Text(_)) => return Ok(ValueOwner::Task),
            _ => {}
        }
        let number = field.read(value, Subject::Event(0))?;
        match field.0 {
            "version" if number != u64::from(VERSION) => {
                return Err(Error::of_event(ErrorCode::EventVersion, field.0).found(number as f64));
            }
            "version" => {}
            "sequence" => self.sequence = number,
            "type" => self.kind = number as u8,
            "at" => self.at = Timestamp::from_nanos(number),
            "attemptNumber" => self.attempt = number as u32,
            "backoffDelayMs" | "seed" => self.seed = number,
            "policy" => self.policy = number,
            "guarded" => self.guarded = number as u8,
            "failure" => self.failure = number as u8,
            "hint" => self.hint = Hint::from_raw(number),
            "cause" => self.cause = number as u8,
            "reason" => self.reason = number as u8,
            _ => self.until = Timestamp::from_nanos(number),
        }
        Ok(ValueOwner::Event)
    }

    /// Each field that the event has at these places, with its value, in order. Texts are the host's.
    pub(super) fn each(&self, places: Range<u32>) -> impl Iterator<Item = (&'static str, Shown)> {
        let (kind, until) = (self.kind(), self.until.as_nanos());
        let numbers = [
            VERSION.into(),
            self.sequence,
            kind.code().into(),
            self.at.as_nanos(),
            self.attempt.into(),
            self.delay_ms(),
            0,
            0,
            0,
            0,
            self.policy,
            self.seed,
            self.is_guarded().into(),
            self.as_failure().kind.code().into(),
            self.hint.as_raw(),
            until,
            Cause::read(self.cause).code().into(),
            StopReason::read(self.reason).code().into(),
            until,
        ];
        let is_there = move |place: &u32| places.contains(place) && needed(kind) & 1_u32.wrapping_shl(*place) != 0;
        let fields = (0..).zip(FIELDS.into_iter().zip(numbers)).filter(move |(place, _)| is_there(place));
        fields.map(|(_, (field, number))| (field.0, field.shown(number)))
    }

    /// The event, complete and without contradiction. A retry whose `until` was not given is due `backoffDelayMs` after the
    /// event; where both are given, `until` counts, which is exact.
    ///
    /// # Errors
    /// A field is missing, or has no use for the kind, or contradicts another: see [`ErrorCode`].
    pub fn check(&self) -> Result<Self, Error> {
        self.checked().map_err(|error| self.expected(error))
    }

    fn checked(mut self) -> Result<Self, Error> {
        let missing = |name| Error::of_event(ErrorCode::MissingEventField, name);
        if let Some(name) = first(&FIELDS, OF_ALL & !self.given) {
            return Err(missing(name));
        }
        let damaged = Error::of_event(ErrorCode::EventDamaged, "");
        let kind = EventKind::from_code(self.kind.into()).ok_or(damaged)?;
        let needed = needed(kind);
        // One of the two says when.
        let instead = if self.given & UNTIL != 0 { DELAY } else { UNTIL };
        let instead = if kind == EventKind::RetryScheduled && self.given & (DELAY | UNTIL) != 0 { instead } else { 0 };
        // Without both, the exact one is missing.
        let absent = needed & !self.given & !instead;
        if let Some(name) = first(&FIELDS, if absent & UNTIL != 0 { absent & !DELAY } else { absent }) {
            return Err(missing(name));
        }
        let texts = 0b1111 << 6;
        if let Some(name) = first(&FIELDS, self.given & !needed & !texts) {
            let own_rule = Some("has no meaning for an event of this type");
            return Err(Error { own_rule, ..Error::of_event(ErrorCode::NotForKind, name) });
        }
        if kind == EventKind::RetryScheduled {
            if self.given & UNTIL == 0 {
                self.until = self.at.after(Span::from_millis(self.seed));
            }
            self.seed = 0;
        }
        self.given = needed;
        if self.fits(kind) { Ok(self) } else { Err(damaged) }
    }

    /// Says if the event has the values of an event of that kind, and nothing else.
    fn fits(&self, kind: EventKind) -> bool {
        let Self { at, until, attempt, failure, cause, reason, guarded, .. } = *self;
        let plain = Self { sequence: self.sequence, ..Self::new(kind, at, attempt) };
        let known = Cause::ALL.iter().any(|known| known.code() == cause) == (cause != 0)
            && StopReason::ALL.iter().any(|known| known.code() == reason) == (reason != 0);
        let own = match kind {
            EventKind::Started => Self { policy: self.policy, seed: self.seed, guarded, ..plain },
            EventKind::AttemptFailed => Self { failure, hint: self.hint, ..plain },
            EventKind::RetryScheduled => Self { until, cause, ..plain },
            EventKind::GaveUp => Self { until, reason, ..plain },
            EventKind::Resumed | EventKind::Succeeded | EventKind::Cancelled => plain,
        };
        let possible = match kind {
            EventKind::Started => attempt <= 1 && guarded <= 1 && (attempt == 1 || guarded == 1),
            EventKind::AttemptFailed => attempt > 0 && self.failure().is_some(),
            EventKind::RetryScheduled => attempt > 0 && cause != 0 && until >= at && !until.is_never(),
            EventKind::GaveUp => reason != 0,
            EventKind::Resumed | EventKind::Succeeded => attempt > 0,
            EventKind::Cancelled => true,
        };
        own == *self && known && possible && self.sequence > 0 && !at.is_never()
    }
}
