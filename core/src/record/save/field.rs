//! A saved state field by field: the values of a JSON reader, and the JSON that a machine writes.

use super::model::Saved;
use super::table::{CALL, FIELDS};
use crate::error::{Error, ErrorCode, Subject};
use crate::nearest::nearest;
use crate::record::field::Shown;
use crate::value::Value;
use core::fmt;

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
    pub fn set(&mut self, name: &str, value: Value<'_>) -> Result<(), Error> {
        let Some((bit, field)) = (0_u32..).zip(FIELDS).find(|(_, known)| known.0 == name) else {
            let nearest = nearest(name, Self::names());
            return Err(Error { nearest, ..Error::of_state(ErrorCode::UnknownStateField, "") });
        };
        if value == Value::Nothing {
            return Ok(());
        }
        let number = field.read(value, Subject::State)?;
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
