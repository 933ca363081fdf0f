//! An event field by field: what a reader of JSON feeds in, in whatever order it finds it.
//!
//! A host hands over what its JSON reader made of each field and keeps the texts, which it is told are its own. Numbers of
//! 64 bits are decimal text where they are times, seeds or fingerprints: most readers keep 53 bits.

use super::{Event, EventError, EventKind, VERSION};
use crate::decide::failure::FailureKind;
use crate::decide::hint::Hint;
use crate::decide::retry::Cause;
use crate::error::{ErrorCode, Given, StopReason};
use crate::nearest::nearest;
use crate::time::{Span, Timestamp};
use crate::value::{Value, Word};

/// What became of a field that was set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
    /// The event has it.
    Here,
    /// It is the name of the task, which the host keeps.
    Task,
    /// It is the text of the failure, which the host keeps.
    Failure,
}

impl Taken {
    /// The number, the same in every language: 0 the event has it, 1 the task, 2 the text of the failure.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Here => 0,
            Self::Task => 1,
            Self::Failure => 2,
        }
    }
}

/// The names, in the order in which they are written.
pub(super) const NAMES: [&str; 19] = [
    "version",
    "sequence",
    "type",
    "at",
    "attemptNumber",
    "backoffDelayMs",
    "failureReason",
    "payload",
    "payload.taskId",
    "payload.reason",
    "policy",
    "seed",
    "guarded",
    "failure",
    "hint",
    "until",
    "cause",
    "reason",
    "retryAt",
];

const OF_ALL: u32 = 0b1_1111;
const DELAY: u32 = 1 << 5;
const OF_STARTED: u32 = 0b111 << 10;
const OF_FAILED: u32 = 0b11 << 13;
const UNTIL: u32 = 1 << 15;
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

/// What a field takes, in words.
pub(super) fn takes(name: &str) -> &'static str {
    match name {
        "type" => EventKind::RULE,
        "failure" => FailureKind::RULE,
        "cause" => Cause::RULE,
        "reason" => StopReason::RULE,
        "at" | "until" => "must be a time from 0 to 18446744073709551614 in nanoseconds as decimal text",
        "retryAt" => "must be a time from 0 to 18446744073709551614 in nanoseconds as decimal text, or \"never\"",
        "hint" => {
            "must be a span from 0 to 9223372036854775807 in nanoseconds as decimal text, or \"none\" or \"never\""
        }
        "policy" | "seed" => "must be a number from 0 to 18446744073709551615 as decimal text",
        "guarded" => "must be 0 or 1",
        "sequence" => "must be a whole number from 1 on",
        "backoffDelayMs" => "must be a whole number from 0 on",
        "failureReason" | "payload.taskId" | "payload.reason" => "must be text",
        "payload" => "must be an object with taskId and reason",
        _ => "must be a whole number from 0 to 4294967295",
    }
}

impl Event {
    /// The names of the fields, in the order in which JSON has them.
    #[must_use]
    pub const fn names() -> &'static [&'static str] {
        &NAMES
    }

    /// Sets the field called `name` to `value`, as a JSON reader gives it; what is in `payload` is called `payload.taskId` and
    /// `payload.reason`. Null is as good as not given. Says whether it is one of the texts, which the host keeps.
    ///
    /// # Errors
    /// An unknown name, a value of the wrong type or out of range, an unknown word, another version: see [`ErrorCode`].
    pub fn set(&mut self, name: &str, value: Value<'_>) -> Result<Taken, EventError> {
        let Some((bit, name)) = (0_u32..).zip(NAMES).find(|(_, known)| *known == name) else {
            let nearest = nearest(name, NAMES.into_iter());
            return Err(self.expected(EventError { nearest, ..EventError::new(ErrorCode::UnknownEventField, None) }));
        };
        if matches!(value, Value::Nothing | Value::Empty) && (value == Value::Nothing || name == "payload") {
            return Ok(Taken::Here);
        }
        let taken = self.put(name, value).map_err(|error| self.expected(error))?;
        self.given |= 1_u32.wrapping_shl(bit);
        Ok(taken)
    }

    /// An error with the number of the event, where that is known by now.
    const fn expected(&self, error: EventError) -> EventError {
        EventError { sequence: self.sequence, ..error }
    }

    fn put(&mut self, name: &'static str, value: Value<'_>) -> Result<Taken, EventError> {
        match name {
            "version" => match number(name, value, None)? {
                version if version == u64::from(VERSION) => {}
                version => {
                    let error = EventError::new(ErrorCode::EventVersion, Some(name));
                    return Err(EventError { given: Given::Number(version as f64), ..error });
                }
            },
            "sequence" => match number(name, value, None)? {
                0 => return Err(wrong(name, value)),
                sequence => self.sequence = sequence,
            },
            "type" => self.kind = word(name, value, EventKind::WORDS)?,
            "at" => self.at = instant(name, value)?,
            "attemptNumber" => self.attempt = half(name, value)?,
            "backoffDelayMs" => self.seed = number(name, value, None)?,
            "failureReason" | "payload.reason" => return text(name, value, Taken::Failure),
            "payload.taskId" => return text(name, value, Taken::Task),
            "payload" => return Err(wrong(name, value)),
            "policy" => self.policy = number(name, value, None)?,
            "seed" => self.seed = number(name, value, None)?,
            "guarded" => match number(name, value, None)? {
                guarded @ 0..=1 => self.guarded = guarded as u8,
                _ => return Err(wrong(name, value)),
            },
            "failure" => {
                self.failure = word(name, value, FailureKind::WORDS)?;
            }
            "hint" => self.hint = hint(name, value)?,
            "until" => self.until = instant(name, value)?,
            "cause" => self.cause = word(name, value, Cause::WORDS)?,
            "reason" => {
                self.reason = word(name, value, StopReason::WORDS)?;
            }
            _ => self.until = Timestamp::from_nanos(number(name, value, Some("never"))?),
        }
        Ok(Taken::Here)
    }

    /// The event, complete and without contradiction. A retry whose `until` was not given is due `backoffDelayMs` after the
    /// event; where both are given, `until` counts, which is exact.
    ///
    /// # Errors
    /// A field is missing, or has no use for the kind, or contradicts another: see [`ErrorCode`].
    pub fn check(&self) -> Result<Self, EventError> {
        self.whole().map_err(|error| self.expected(error))
    }

    fn whole(mut self) -> Result<Self, EventError> {
        let first = |bits: u32| NAMES.iter().zip(0..).find(|(_, at)| bits & (1_u32 << at) != 0).map(|(name, _)| *name);
        let missing = |name| EventError::new(ErrorCode::MissingEventField, Some(name));
        if let Some(name) = first(OF_ALL & !self.given) {
            return Err(missing(name));
        }
        let damaged = EventError::new(ErrorCode::EventDamaged, None);
        let kind = EventKind::from_code(self.kind.into()).ok_or(damaged)?;
        let needed = needed(kind);
        // One of the two says when.
        let instead = if self.given & UNTIL != 0 { DELAY } else { UNTIL };
        let instead = if kind == EventKind::RetryScheduled && self.given & (DELAY | UNTIL) != 0 { instead } else { 0 };
        // Without both, the one that is exact is missed.
        let absent = needed & !self.given & !instead;
        if let Some(name) = first(if absent & UNTIL != 0 { absent & !DELAY } else { absent }) {
            return Err(missing(name));
        }
        let texts = 0b1111 << 6;
        if let Some(name) = first(self.given & !needed & !texts) {
            return Err(EventError::new(ErrorCode::NotForKind, Some(name)));
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

    /// Whether it says what an event of that kind can say, and nothing else.
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

fn wrong(name: &'static str, value: Value<'_>) -> EventError {
    let given = match value {
        Value::Number { value, .. } => Given::Number(value),
        Value::Nanos(number) => Given::Number(number as f64),
        _ => Given::Unshown,
    };
    EventError { given, ..EventError::new(ErrorCode::WrongType, Some(name)) }
}

fn text(name: &'static str, value: Value<'_>, taken: Taken) -> Result<Taken, EventError> {
    if matches!(value, Value::Text(_)) { Ok(taken) } else { Err(wrong(name, value)) }
}

fn word(name: &'static str, value: Value<'_>, words: &'static [Word]) -> Result<u8, EventError> {
    let Value::Text(text) = value else { return Err(wrong(name, value)) };
    match words.iter().find(|known| known.0 == text) {
        Some(&(_, number)) => Ok(number),
        None => {
            let nearest = nearest(text, words.iter().map(|known| known.0));
            Err(EventError { nearest, ..EventError::new(ErrorCode::UnknownWord, Some(name)) })
        }
    }
}

fn number(name: &'static str, value: Value<'_>, nothing: Option<&str>) -> Result<u64, EventError> {
    let number = match value {
        Value::Text(text) if nothing == Some(text) => Some(u64::MAX),
        Value::Text(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => match text.parse() {
            Ok(u64::MAX) if nothing.is_some() => None,
            parsed => parsed.ok(),
        },
        Value::Number { value, .. } => whole(value),
        Value::Nanos(u64::MAX) if nothing.is_some() => None,
        Value::Nanos(number) => Some(number),
        _ => None,
    };
    number.ok_or(wrong(name, value))
}

fn instant(name: &'static str, value: Value<'_>) -> Result<Timestamp, EventError> {
    match number(name, value, None)? {
        u64::MAX => Err(wrong(name, value)),
        nanos => Ok(Timestamp::from_nanos(nanos)),
    }
}

fn hint(name: &'static str, value: Value<'_>) -> Result<Hint, EventError> {
    match value {
        Value::Text("none") => Ok(Hint::NONE),
        Value::Text("never") => Ok(Hint::NEVER),
        _ => match number(name, value, None)? {
            nanos if nanos <= Span::MAX.as_nanos() => Ok(Hint::after(Span::from_nanos(nanos))),
            _ => Err(wrong(name, value)),
        },
    }
}

fn half(name: &'static str, value: Value<'_>) -> Result<u32, EventError> {
    number(name, value, None).ok().and_then(|number| u32::try_from(number).ok()).ok_or(wrong(name, value))
}

/// A double that is a whole number and was not rounded to one.
fn whole(value: f64) -> Option<u64> {
    let number = value as u64;
    if number as f64 == value && number <= 1 << 53 { Some(number) } else { None }
}
