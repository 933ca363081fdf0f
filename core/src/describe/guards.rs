//! The guards of a document in the making: fields are collected by name in any order, and each guard's are held against
//! each other when its configuration is asked for.
//!
//! A program that has no guards has no use for this, and pays nothing for it: [`PolicyBuilder::set`] only says
//! [`Kept::Guard`] of a name that belongs here, and a host that has guards hands the same pair on.
//!
//! A guard's section is given when one of its fields is. What is not given of it is the preset's, and else as the kind has
//! it.
//!
//! [`PolicyBuilder::set`]: crate::PolicyBuilder::set
//! [`Kept::Guard`]: crate::Kept::Guard

use crate::describe::preset::Preset;
use crate::describe::set::indexed;
use crate::error::{ConfigError, ErrorCode};
use crate::field::Field;
use crate::nearest::nearest;
use crate::time::Span;
use crate::value::Value;
use crate::value::{number, shown, span, span_or_none, whole, word};

mod checked;
pub(crate) mod table;
#[cfg(all(test, feature = "serde"))]
mod tests;
mod words;
mod write;
pub use table::Takes;
pub(crate) use table::{SECTIONS, is_guard};
pub use words::GuardWords;

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
            Takes::Number => number(field, value)?.to_bits(),
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

    /// The names of the sections of which something was given, but for a kind that is "none".
    pub(crate) fn sections(&self) -> impl Iterator<Item = &'static str> {
        let there = |first: Field, last: Field| {
            let none = first != Field::NestedMode && table::takes(first) == Takes::Word && self.given(first) == Some(0);
            self.any(first, last) && !none
        };
        table::RANGES
            .into_iter()
            .zip(table::SECTIONS)
            .filter(move |((first, last), _)| there(*first, *last))
            .map(|of| of.1)
    }

    /// What was not given is the preset's: all of a section of which nothing was given, and of one whose kind (or first field,
    /// where it has no kind) was not given the other fields (spec 32.6). To be called after the last [`GuardsBuilder::set`].
    #[must_use]
    pub fn upon(mut self, preset: Option<Preset>) -> Self {
        let Some(preset) = preset else { return self };
        let (own, base) = (self.given, preset.guards());
        for (first, last) in table::RANGES {
            if own & bit(first) != 0 {
                continue;
            }
            for &(_, field) in
                table::NAMES.iter().filter(|known| (first.code()..=last.code()).contains(&known.1.code()))
            {
                if base.has(field) && !self.has(field) {
                    self.put(field, base.at(field));
                }
            }
        }
        self
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
    pub fn words_of(field: Field) -> impl Iterator<Item = &'static str> {
        table::words(field).iter().map(|word| word.0)
    }

    /// The number of a field, 0 of any that no guard has.
    fn at(&self, field: Field) -> u64 {
        self.values.get(usize::from(field.code().wrapping_sub(FIRST))).copied().unwrap_or(0)
    }

    pub(crate) fn put(&mut self, field: Field, number: u64) {
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
