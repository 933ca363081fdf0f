//! A value as a host's language has it, and reading it as what a field takes.
//!
//! Saying what is wrong with a value happens here once, so that the same mistake gets the same answer everywhere.

use crate::error::{ConfigError, ErrorCode, Given};
use crate::field::Field;
use crate::nearest::nearest;
use crate::time::Span;

/// A value as a host's language has it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value<'a> {
    /// A word, or a time with its unit.
    Text(&'a str),
    /// A number. For a time it counts the host's customary unit, given in nanoseconds: 1e9 where people write seconds.
    Number {
        /// The number.
        value: f64,
        /// Nanoseconds in one, for the fields that are times.
        unit: f64,
    },
    /// A time, exactly: from a type of the host's that is one. Above [`Span::MAX`] it is out of range.
    Nanos(u64),
    /// Something that no field takes: a list, a truth value.
    Other,
    /// Null and the like: as good as not given, as long as the name is one.
    Nothing,
    /// An object without fields: as good as not given where fields may stand under the name, else like [`Value::Other`].
    Empty,
    /// A list without items. The items of others are set one by one, as `name[0]`, `name[1]` and so on.
    NoItems,
}

/// A word of a document and its number in a policy's flat form.
pub(crate) type Word = (&'static str, u8);

/// A whole number from `from` to `to`, or the error of a number that is none.
pub(crate) fn whole(code: ErrorCode, field: Field, value: Value<'_>, from: u32, to: u32) -> Result<u32, ConfigError> {
    let Value::Number { value: number, .. } = value else {
        return Err(ConfigError::new(ErrorCode::WrongType, field, shown(value)));
    };
    // The cast saturates, so that whatever is no whole number in range does not come back equal.
    let whole = number as u32;
    if f64::from(whole) == number && whole >= from && whole <= to {
        Ok(whole)
    } else {
        Err(ConfigError::new(code, field, shown(value)))
    }
}

pub(crate) fn word(field: Field, value: Value<'_>, words: &'static [Word]) -> Result<u8, ConfigError> {
    let Value::Text(text) = value else {
        return Err(ConfigError::new(ErrorCode::WrongType, field, shown(value)));
    };
    match words.iter().find(|known| known.0 == text) {
        Some(&(_, number)) => Ok(number),
        None => {
            let nearest = nearest(text, words.iter().map(|known| known.0));
            Err(ConfigError { nearest, ..ConfigError::new(ErrorCode::UnknownWord, field, Given::Unshown) })
        }
    }
}

pub(crate) fn number(field: Field, value: Value<'_>) -> Result<f64, ConfigError> {
    match value {
        Value::Number { value, .. } => Ok(value),
        _ => Err(ConfigError::new(ErrorCode::WrongType, field, shown(value))),
    }
}

pub(crate) fn span(field: Field, value: Value<'_>) -> Result<u64, ConfigError> {
    let span = match value {
        Value::Text(text) => Span::parse(text),
        Value::Number { value, unit } => Span::from_float(value, unit),
        Value::Nanos(nanos) if nanos <= Span::MAX.as_nanos() => Some(Span::from_nanos(nanos)),
        Value::Nanos(_) => None,
        Value::Other | Value::Nothing | Value::Empty | Value::NoItems => {
            return Err(ConfigError::new(ErrorCode::WrongType, field, Given::Unshown));
        }
    };
    match span {
        Some(span) => Ok(span.as_nanos()),
        None => Err(ConfigError::new(ErrorCode::NotADuration, field, shown(value))),
    }
}

/// A time, or the word "none" for `unlimited`.
pub(crate) fn span_or_none(field: Field, value: Value<'_>, unlimited: u64) -> Result<u64, ConfigError> {
    if value == Value::Text("none") { Ok(unlimited) } else { span(field, value) }
}

pub(crate) fn shown(value: Value<'_>) -> Given {
    match value {
        Value::Number { value, .. } => Given::Number(value),
        Value::Nanos(nanos) if nanos <= Span::MAX.as_nanos() => Given::Span(Span::from_nanos(nanos)),
        _ => Given::Unshown,
    }
}
