//! A saved state field by field: the table of fields, the values of a JSON reader, and the JSON that a machine writes.

use super::model::{CALL, KIND, NOTHING, OF_CALL, Phase, RETRY, Saved, needed};
use crate::decide::retry::Cause;
use crate::error::{Error, ErrorCode, StopReason, Subject};
use crate::record::field::{
    DECIMAL, DECIMAL_RULE, Field, INTEGER, INTEGER_RULE, Member, Takes, Written, find, first, member, of_bits,
    write_json,
};
use crate::saved_bytes::LAYOUT;
use crate::value::Value;
use core::fmt;

/// The count of a rule.
macro_rules! count {
    ($name:literal: $index:literal) => {
        Field(
            $name,
            Takes::Integer(0, u16::MAX as u64),
            "must be a whole number from 0 to 65535",
            Member {
                get: |saved| saved.used.counts[$index].into(),
                set: |saved, count| saved.used.counts[$index] = count as u16,
                width: 2,
            },
        )
    };
}

/// The fields, in the order in which they are written. A retry has those up to "rule8".
pub(super) const FIELDS: [Field<Saved>; 22] = [
    Field("kind", Takes::Word(&[("retry", RETRY), ("call", CALL)]), "must be one of retry, call", member!(kind: u8)),
    Field("layout", INTEGER, INTEGER_RULE, member!(layout: u32)),
    Field("policy", DECIMAL, DECIMAL_RULE, member!(policy: u64)),
    Field("seed", DECIMAL, DECIMAL_RULE, member!(seed: u64)),
    Field("elapsed", DECIMAL, DECIMAL_RULE, member!(elapsed: u64)),
    Field(
        "base",
        Takes::Decimal(u64::MAX, &[("none", NOTHING)]),
        "must be a number from 0 to 18446744073709551614 as decimal text, or \"none\"",
        member!(used.base: u64),
    ),
    Field("failures", INTEGER, INTEGER_RULE, member!(used.failures: u32)),
    Field("place", INTEGER, INTEGER_RULE, member!(used.count: u32)),
    Field("began", DECIMAL, DECIMAL_RULE, member!(used.began: u64)),
    count!("rule1": 0),
    count!("rule2": 1),
    count!("rule3": 2),
    count!("rule4": 3),
    count!("rule5": 4),
    count!("rule6": 5),
    count!("rule7": 6),
    count!("rule8": 7),
    Field("attempt", INTEGER, INTEGER_RULE, member!(attempt: u32)),
    Field("phase", Takes::Word(Phase::WORDS), Phase::RULE, member!(phase: u8)),
    Field(
        "remaining",
        Takes::Decimal(u64::MAX, &[("never", NOTHING)]),
        "must be a number from 0 to 18446744073709551614 as decimal text, or \"never\"",
        member!(remaining: u64),
    ),
    Field(
        "cause",
        Takes::WordOrNone(Cause::WORDS),
        "must be one of none, backoff, hint, clip, breaker, limiter, bulkhead",
        member!(cause: u8),
    ),
    Field(
        "reason",
        Takes::WordOrNone(StopReason::WORDS),
        "must be one of none, permanent, attempts, deadline, budget, breaker, limiter, bulkhead, hint, cancelled, body",
        member!(reason: u8),
    ),
];

impl Saved {
    /// The names of the fields, in the order in which JSON has them. A [`crate::Retry`] has the first seventeen.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FIELDS.iter().map(|field| field.0)
    }

    /// Sets the field called `name` to `value`, as a JSON reader gives it: text, or a number. Numbers of 64 bits are decimal
    /// text, but whole numbers that the host's type holds exactly are taken as well. Null is as good as not given.
    ///
    /// # Errors
    /// An unknown name, a value of the wrong type or out of range, an unknown word: see [`ErrorCode`].
    pub fn set(&mut self, name: &str, value: Value<'_>) -> Result<(), Error> {
        let (bit, field) = find(&FIELDS, name, Error::of_state(ErrorCode::UnknownStateField, ""))?;
        if value != Value::Nothing {
            let number = field.read(value, Subject::State)?;
            field.set(self, number);
            self.present |= bit;
        }
        Ok(())
    }

    /// Checks that the fields are those of the kind and do not contradict each other (spec 12.6).
    pub(super) fn check_fields(&self) -> Result<(), Error> {
        if self.layout != LAYOUT {
            return Err(Error::of_state(ErrorCode::StateVersion, "layout").found(self.layout));
        }
        let needed = needed(self.kind);
        if let Some(name) = first(&FIELDS, needed & !self.present) {
            return Err(Error::of_state(ErrorCode::MissingStateField, name));
        }
        if let Some(name) = first(&FIELDS, self.present & !needed) {
            return Err(Error::of_state(ErrorCode::NotForKind, name));
        }
        let sleeping = self.phase == Phase::Sleeping.code();
        let gave_up = self.phase == Phase::GaveUp.code();
        let fits = of_bits(&FIELDS, OF_CALL & !KIND).all(|field| field.fits(self))
            && (self.cause != 0) == sleeping
            && (self.reason != 0) == gave_up
            && (sleeping || gave_up || self.remaining == NOTHING);
        if self.kind == RETRY || fits {
            return Ok(());
        }
        Err(Error::of_state(ErrorCode::StateDamaged, ""))
    }

    /// Each field of the kind with its value, in order.
    pub(super) fn fields(&self) -> impl Iterator<Item = (&'static str, Written<'static>)> + Clone {
        of_bits(&FIELDS, needed(self.kind)).map(|field| (field.0, field.value(self)))
    }
}

/// The state as JSON, in one line.
impl fmt::Display for Saved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_json(f, self.fields())
    }
}
