//! A saved state field by field: the values of a JSON reader, and the JSON that a machine writes.

use super::model::{KIND, NOTHING, OF_CALL, Phase, RETRY, Saved, needed};
use super::table::FIELDS;
use crate::error::{Error, ErrorCode, Subject};
use crate::record::field::{Written, find, first, of_bits, write_json};
use crate::saved_bytes::LAYOUT;
use crate::value::Value;
use core::fmt;

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
