//! A saved state field by field: the values of a JSON reader, and the JSON that a machine writes.

use super::{CALL, NOTHING, RETRY, SaveError, Saved};
use crate::decide::retry::Cause;
use crate::error::{ErrorCode, StopReason};
use crate::nearest::nearest;
use crate::record::field::{DECIMAL, DECIMAL_RULE, Field, Shown, Takes, WHOLE, WHOLE_RULE, first};
use crate::value::{Value, Word};
use core::fmt;

/// The fields, in the order in which they are written. A retry has those up to "place".
pub(super) const FIELDS: [Field; 13] = [
    Field("kind", Takes::Word(&[("retry", RETRY), ("call", CALL)]), "must be one of retry, call"),
    Field("layout", WHOLE, WHOLE_RULE),
    Field("policy", DECIMAL, DECIMAL_RULE),
    Field("seed", DECIMAL, DECIMAL_RULE),
    Field("elapsed", DECIMAL, DECIMAL_RULE),
    Field(
        "base",
        Takes::Decimal(u64::MAX, &[("none", NOTHING)]),
        "must be a number from 0 to 18446744073709551614 as decimal text, or \"none\"",
    ),
    Field("failures", WHOLE, WHOLE_RULE),
    Field("place", WHOLE, WHOLE_RULE),
    Field("attempt", WHOLE, WHOLE_RULE),
    Field("phase", Takes::Word(PHASES), "must be one of cancelled, running, sleeping, succeeded, gave_up"),
    Field(
        "remaining",
        Takes::Decimal(u64::MAX, &[("never", NOTHING)]),
        "must be a number from 0 to 18446744073709551614 as decimal text, or \"never\"",
    ),
    Field(
        "cause",
        Takes::WordOrNone(Cause::WORDS),
        "must be one of none, backoff, hint, clip, breaker, limiter, bulkhead",
    ),
    Field(
        "reason",
        Takes::WordOrNone(StopReason::WORDS),
        "must be one of none, permanent, attempts, deadline, budget, breaker, limiter, bulkhead, hint, cancelled",
    ),
];

pub(super) const POLICY: u32 = 1 << 2;
const OF_RETRY: u32 = (1 << 8) - 1;
const OF_CALL: u32 = (1 << 13) - 1;

const PHASES: &[Word] = &[
    ("cancelled", super::CANCELLED),
    ("running", super::RUNNING),
    ("sleeping", super::SLEEPING),
    ("succeeded", super::SUCCEEDED),
    ("gave_up", super::GAVE_UP),
];

/// One bit for each field that a kind has.
pub(super) const fn needed(kind: u8) -> u32 {
    if kind == CALL { OF_CALL } else { OF_RETRY }
}

/// Checks that the fields of a kind are there, all of them and no others.
pub(super) fn complete(kind: u8, given: u32) -> Result<(), SaveError> {
    let needed = needed(kind);
    if let Some(name) = first(&FIELDS, needed & !given) {
        return Err(SaveError::new(ErrorCode::MissingStateField, Some(name)));
    }
    match first(&FIELDS, given & !needed) {
        Some(name) => Err(SaveError::new(ErrorCode::NotForKind, Some(name))),
        None => Ok(()),
    }
}

impl Saved {
    /// The names of the fields, in the order in which JSON has them. A [`crate::Retry`] has the first eight.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FIELDS.iter().map(|field| field.0)
    }

    /// Sets the field called `name` to `value`, as a JSON reader gives it: text, or a number. Numbers of 64 bits are decimal
    /// text, but whole numbers that the host's type holds exactly are taken as well. Null is as good as not given.
    ///
    /// # Errors
    /// An unknown name, a value of the wrong type or out of range, an unknown word: see [`ErrorCode`].
    pub fn set(&mut self, name: &str, value: Value<'_>) -> Result<(), SaveError> {
        let Some((bit, field)) = (0_u32..).zip(FIELDS).find(|(_, known)| known.0 == name) else {
            let nearest = nearest(name, Self::names());
            return Err(SaveError { nearest, ..SaveError::new(ErrorCode::UnknownStateField, None) });
        };
        if value == Value::Nothing {
            return Ok(());
        }
        let number = field.read(value).map_err(|fault| SaveError {
            given: fault.given,
            nearest: fault.nearest,
            rule: field.2,
            ..SaveError::new(fault.code, Some(field.0))
        })?;
        match field.0 {
            "kind" => self.kind = number as u8,
            "layout" => self.layout = number as u32,
            "policy" => self.policy = number,
            "seed" => self.seed = number,
            "elapsed" => self.elapsed = number,
            "base" => self.base = number,
            "failures" => self.failures = number as u32,
            "place" => self.place = number as u32,
            "attempt" => self.attempt = number as u32,
            "phase" => self.phase = number as u8,
            "remaining" => self.remaining = number,
            "cause" => self.cause = number as u8,
            _ => self.reason = number as u8,
        }
        self.given |= 1_u32.wrapping_shl(bit);
        Ok(())
    }

    /// Each field of the kind with its value, in order.
    pub(super) fn each(&self) -> impl Iterator<Item = (&'static str, Shown)> {
        let numbers = [
            self.kind.into(),
            self.layout.into(),
            self.policy,
            self.seed,
            self.elapsed,
            self.base,
            self.failures.into(),
            self.place.into(),
            self.attempt.into(),
            self.phase.into(),
            self.remaining,
            self.cause.into(),
            self.reason.into(),
        ];
        let count = if self.kind == CALL { FIELDS.len() } else { 8 };
        FIELDS.into_iter().zip(numbers).take(count).map(|(field, number)| (field.0, field.shown(number)))
    }
}

/// The state as JSON, in one line.
impl fmt::Display for Saved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = "{";
        for (name, value) in self.each() {
            write!(f, "{before}\"{name}\":{value}")?;
            before = ",";
        }
        f.write_str("}")
    }
}
