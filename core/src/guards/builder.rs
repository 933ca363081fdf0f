//! The guards of a document in the making: fields are collected by name in any order, and each guard's are held against
//! each other when its configuration is asked for.
//!
//! A program that has no guards has no use for this, and pays nothing for it: [`PolicyBuilder::set`] only says
//! [`Kept::Guard`] of a name that belongs here, and a host that has guards hands the same pair on.
//!
//! [`PolicyBuilder::set`]: crate::PolicyBuilder::set
//! [`Kept::Guard`]: crate::Kept::Guard

use crate::error::{ConfigError, ErrorCode};
use crate::nearest::nearest;
use crate::policy::field::{indexed, shown, span, span_or_none, whole, word};
use crate::policy::{Field, Value};
use crate::time::Span;

mod table;
#[cfg(test)]
mod tests;
pub use table::Takes;
pub(crate) use table::{SECTIONS, is_guard};

/// How many fields guards have.
const FIELDS: usize = 60;
/// The number of the first one.
const FIRST: u8 = Field::BudgetKind.code();

/// The guards of a document in the making: 488 bytes of plain numbers, every bit pattern valid.
///
/// # Contract
/// [`GuardsBuilder::set`] takes the (name, value) pairs that [`PolicyBuilder::set`](crate::PolicyBuilder::set) calls
/// [`Kept::Guard`](crate::Kept::Guard), in any order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct GuardsBuilder {
    /// The value of each field as a number: a word's, nanoseconds, a whole number, or the bits of a double.
    values: [u64; FIELDS],
    /// One bit for each field that was given.
    given: u64,
}

impl Default for GuardsBuilder {
    fn default() -> Self {
        Self::NEW
    }
}

impl GuardsBuilder {
    /// No guards.
    pub const NEW: Self = Self { values: [0; FIELDS], given: 0 };

    /// Sets the field called `name` to `value` (spec 32.2). Whether the fields fit together is the question of each guard's
    /// configuration.
    ///
    /// # Errors
    /// An unknown name, a value of the wrong type or out of range, an unknown word: see [`ErrorCode`].
    pub fn set(&mut self, name: &str, value: Value<'_>) -> Result<(), ConfigError> {
        let (base, item) = indexed(name);
        let Some(&(_, field)) = table::NAMES.iter().find(|known| known.0 == base) else {
            let nearest = nearest(base, table::NAMES.iter().map(|known| known.0));
            return Err(ConfigError { nearest, ..ConfigError::of_use(ErrorCode::UnknownField) });
        };
        if item.is_some() {
            return Err(ConfigError::new(ErrorCode::WrongType, field, shown(value)));
        }
        if value == Value::Nothing || value == Value::Empty && is_group(base) {
            return Ok(());
        }
        let number = match table::takes(field) {
            Takes::Word => word(field, value, table::words(field))?.into(),
            Takes::Span => span(field, value)?,
            Takes::SpanOrNone => span_or_none(field, value, Span::MAX.as_nanos())?,
            Takes::Number => crate::policy::field::number(field, value)?.to_bits(),
            Takes::Whole { from, to } => whole(ErrorCode::CountRange, field, value, from, to)?.into(),
        };
        self.put(field, number);
        Ok(())
    }

    /// Whether no field was given.
    #[must_use]
    pub const fn is_new(&self) -> bool {
        self.given == 0
    }

    /// Every name that [`GuardsBuilder::set`] knows, with the field it means. The first of a field is its path.
    #[must_use]
    pub const fn names() -> &'static [(&'static str, Field)] {
        table::NAMES
    }

    /// What a field of a guard takes.
    #[must_use]
    pub const fn takes(field: Field) -> Takes {
        table::takes(field)
    }

    /// The words of a field of a guard; none where it takes no words.
    pub fn words(field: Field) -> impl Iterator<Item = &'static str> {
        table::words(field).iter().map(|word| word.0)
    }

    fn put(&mut self, field: Field, number: u64) {
        if let Some(place) = self.values.get_mut(usize::from(field.code().wrapping_sub(FIRST))) {
            *place = number;
            self.given |= bit(field);
        }
    }
}

/// The bit of a field of a guard.
const fn bit(field: Field) -> u64 {
    1_u64.wrapping_shl(field.code().wrapping_sub(FIRST) as u32)
}

/// Whether there are fields "`name`.something".
fn is_group(name: &str) -> bool {
    table::NAMES.iter().any(|known| known.0.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
}
