//! A saved state field by field: what a reader of JSON feeds in, and the JSON that a machine writes.
//!
//! A host hands over whatever its JSON reader made of each field, so that looking a name up, reading a number of 64 bits
//! and saying what is wrong with it happens here once. Numbers of 64 bits are decimal text: most readers keep 53 bits.

use super::{CALL, NOTHING, RETRY, SaveError, Saved};
use crate::error::{ErrorCode, Given};
use crate::nearest::nearest;
use crate::value::Value;
use core::fmt;

/// The names, in the order in which they are written. A retry has those up to "place".
pub(super) const NAMES: [&str; 13] = [
    "kind",
    "layout",
    "policy",
    "seed",
    "elapsed",
    "base",
    "failures",
    "place",
    "attempt",
    "phase",
    "remaining",
    "cause",
    "reason",
];

pub(super) const POLICY: u32 = 1 << 2;
const OF_RETRY: u32 = (1 << 8) - 1;
const OF_CALL: u32 = (1 << 13) - 1;

type Word = (&'static str, u8);

const KINDS: &[Word] = &[("retry", RETRY), ("call", CALL)];
const PHASES: &[Word] = &[
    ("cancelled", super::CANCELLED),
    ("running", super::RUNNING),
    ("sleeping", super::SLEEPING),
    ("succeeded", super::SUCCEEDED),
    ("gave_up", super::GAVE_UP),
];
const CAUSES: &[Word] =
    &[("none", 0), ("backoff", 1), ("hint", 2), ("clip", 3), ("breaker", 5), ("limiter", 6), ("bulkhead", 7)];
const REASONS: &[Word] = &[
    ("none", 0),
    ("permanent", 1),
    ("attempts", 2),
    ("deadline", 3),
    ("budget", 4),
    ("breaker", 5),
    ("limiter", 6),
    ("bulkhead", 7),
    ("hint", 8),
    ("cancelled", 9),
];

/// One bit for each field that a kind has.
pub(super) const fn needed(kind: u8) -> u32 {
    if kind == CALL { OF_CALL } else { OF_RETRY }
}

/// Whether the fields of a kind are there, all of them and no others.
pub(super) fn complete(kind: u8, given: u32) -> Result<(), SaveError> {
    let first = |bits: u32| NAMES.iter().zip(0..).find(|(_, at)| bits & (1_u32 << at) != 0).map(|(name, _)| *name);
    let needed = needed(kind);
    if let Some(name) = first(needed & !given) {
        return Err(SaveError::new(ErrorCode::MissingStateField, Some(name)));
    }
    match first(given & !needed) {
        Some(name) => Err(SaveError::new(ErrorCode::NotForKind, Some(name))),
        None => Ok(()),
    }
}

/// What a field takes, in words.
fn takes(name: &str) -> &'static str {
    match name {
        "kind" => "must be one of retry, call",
        "phase" => "must be one of cancelled, running, sleeping, succeeded, gave_up",
        "cause" => "must be one of none, backoff, hint, clip, breaker, limiter, bulkhead",
        "reason" => {
            "must be one of none, permanent, attempts, deadline, budget, breaker, limiter, bulkhead, hint, cancelled"
        }
        "base" => "must be a number from 0 to 18446744073709551614 as decimal text, or \"none\"",
        "remaining" => "must be a number from 0 to 18446744073709551614 as decimal text, or \"never\"",
        "policy" | "seed" | "elapsed" => "must be a number from 0 to 18446744073709551615 as decimal text",
        _ => "must be a whole number from 0 to 4294967295",
    }
}

impl Saved {
    /// The names of the fields, in the order in which JSON has them. A [`crate::Retry`] has the first eight.
    #[must_use]
    pub const fn names() -> &'static [&'static str] {
        &NAMES
    }

    /// Sets the field called `name` to `value`, as a JSON reader gives it: text, or a number. Numbers of 64 bits are decimal
    /// text, but whole numbers that the host's type holds exactly are taken as well. Null is as good as not given.
    ///
    /// # Errors
    /// An unknown name, a value of the wrong type or out of range, an unknown word: see [`ErrorCode`].
    pub fn set(&mut self, name: &str, value: Value<'_>) -> Result<(), SaveError> {
        let Some((bit, name)) = (0_u32..).zip(NAMES).find(|(_, known)| *known == name) else {
            let nearest = nearest(name, NAMES.into_iter());
            return Err(SaveError { nearest, ..SaveError::new(ErrorCode::UnknownStateField, None) });
        };
        if value == Value::Nothing {
            return Ok(());
        }
        match name {
            "kind" => self.kind = word(name, value, KINDS)?,
            "layout" => self.layout = half(name, value)?,
            "policy" => self.policy = number(name, value, None)?,
            "seed" => self.seed = number(name, value, None)?,
            "elapsed" => self.elapsed = number(name, value, None)?,
            "base" => self.base = number(name, value, Some("none"))?,
            "failures" => self.failures = half(name, value)?,
            "place" => self.place = half(name, value)?,
            "attempt" => self.attempt = half(name, value)?,
            "phase" => self.phase = word(name, value, PHASES)?,
            "remaining" => self.remaining = number(name, value, Some("never"))?,
            "cause" => self.cause = word(name, value, CAUSES)?,
            _ => self.reason = word(name, value, REASONS)?,
        }
        self.given |= 1_u32.wrapping_shl(bit);
        Ok(())
    }

    /// Each field of the kind, in order.
    pub(super) fn each<E>(&self, mut tell: impl FnMut(&'static str, Told) -> Result<(), E>) -> Result<(), E> {
        tell("kind", Told::Word(named(self.kind, KINDS)))?;
        tell("layout", Told::Half(self.layout))?;
        tell("policy", Told::Number(self.policy))?;
        tell("seed", Told::Number(self.seed))?;
        tell("elapsed", Told::Number(self.elapsed))?;
        tell("base", told(self.base, "none"))?;
        tell("failures", Told::Half(self.failures))?;
        tell("place", Told::Half(self.place))?;
        if self.kind == CALL {
            tell("attempt", Told::Half(self.attempt))?;
            tell("phase", Told::Word(named(self.phase, PHASES)))?;
            tell("remaining", told(self.remaining, "never"))?;
            tell("cause", Told::Word(named(self.cause, CAUSES)))?;
            tell("reason", Told::Word(named(self.reason, REASONS)))?;
        }
        Ok(())
    }
}

/// A field's value on its way out.
#[derive(Clone, Copy)]
pub(super) enum Told {
    Word(&'static str),
    Half(u32),
    Number(u64),
}

const fn told(number: u64, nothing: &'static str) -> Told {
    if number == NOTHING { Told::Word(nothing) } else { Told::Number(number) }
}

/// The state as JSON, in one line.
impl fmt::Display for Saved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = "{";
        self.each(|name, value| {
            write!(f, "{before}\"{name}\":")?;
            before = ",";
            match value {
                Told::Word(word) => write!(f, "\"{word}\""),
                Told::Half(number) => write!(f, "{number}"),
                Told::Number(number) => write!(f, "\"{number}\""),
            }
        })?;
        f.write_str("}")
    }
}

fn named(number: u8, words: &'static [Word]) -> &'static str {
    words.iter().find(|known| known.1 == number).map_or("none", |known| known.0)
}

fn wrong(name: &'static str, value: Value<'_>) -> SaveError {
    let given = match value {
        Value::Number { value, .. } => Given::Number(value),
        Value::Nanos(number) => Given::Number(number as f64),
        _ => Given::Unshown,
    };
    SaveError { given, rule: takes(name), ..SaveError::new(ErrorCode::WrongType, Some(name)) }
}

fn word(name: &'static str, value: Value<'_>, words: &'static [Word]) -> Result<u8, SaveError> {
    let Value::Text(text) = value else { return Err(wrong(name, value)) };
    match words.iter().find(|known| known.0 == text) {
        Some(&(_, number)) => Ok(number),
        None => {
            let nearest = nearest(text, words.iter().map(|known| known.0));
            Err(SaveError { nearest, rule: takes(name), ..SaveError::new(ErrorCode::UnknownWord, Some(name)) })
        }
    }
}

fn number(name: &'static str, value: Value<'_>, nothing: Option<&str>) -> Result<u64, SaveError> {
    let number = match value {
        Value::Text(text) if nothing == Some(text) => Some(NOTHING),
        Value::Text(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        Value::Number { value, .. } => whole(value),
        Value::Nanos(number) => Some(number),
        _ => None,
    };
    number.ok_or(wrong(name, value))
}

fn half(name: &'static str, value: Value<'_>) -> Result<u32, SaveError> {
    number(name, value, None).ok().and_then(|number| u32::try_from(number).ok()).ok_or(wrong(name, value))
}

/// A double that is a whole number and was not rounded to one.
fn whole(value: f64) -> Option<u64> {
    let number = value as u64;
    if number as f64 == value && number <= 1 << 53 { Some(number) } else { None }
}
