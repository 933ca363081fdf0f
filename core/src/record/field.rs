//! Fields of events and of saved states: from a JSON reader's value to a number, and from a number to the value that is written.
//!
//! Numbers of 64 bits are decimal text in JSON, because most readers keep 53 bits.

use crate::error::{Error, ErrorCode, Quantity, Subject};
use crate::nearest::nearest;
use crate::value::{Value, Word};
use core::fmt;

/// A field: its name, the values that it takes, and the rule in words.
#[derive(Clone, Copy)]
pub(crate) struct Field(pub(crate) &'static str, pub(crate) Takes, pub(crate) &'static str);

/// The values that a field takes.
#[derive(Clone, Copy)]
pub(crate) enum Takes {
    /// One of the words.
    Word(&'static [Word]),
    /// One of the words, or "none" for 0.
    WordOrNone(&'static [Word]),
    /// A whole number in this range, written as a number.
    Integer(u64, u64),
    /// A number up to this one, written as decimal text, or one of the words that stand for numbers.
    Decimal(u64, &'static [(&'static str, u64)]),
    /// Text or an object, whose content the host keeps.
    Other,
}

/// The range of a field of 32 bits.
pub(crate) const INTEGER: Takes = Takes::Integer(0, u32::MAX as u64);
/// The range of a field of 64 bits.
pub(crate) const DECIMAL: Takes = Takes::Decimal(u64::MAX, &[]);
/// The rule of [`INTEGER`].
pub(crate) const INTEGER_RULE: &str = "must be a whole number from 0 to 4294967295";
/// The rule of [`DECIMAL`].
pub(crate) const DECIMAL_RULE: &str = "must be a number from 0 to 18446744073709551615 as decimal text";

impl Field {
    /// The number that a value of the field stands for.
    pub(crate) fn read(&self, value: Value<'_>, subject: Subject) -> Result<u64, Error> {
        let wrong = |code| Error { own_rule: Some(self.2), ..Error::named(code, subject, self.0) };
        let number = match (self.1, value) {
            (Takes::Word(_) | Takes::WordOrNone(_), Value::Text(text)) => {
                let known = self.words().find(|known| known.0 == text).map(|known| known.1.into());
                let nearest = || nearest(text, self.words().map(|known| known.0));
                return known.ok_or_else(|| Error { nearest: nearest(), ..wrong(ErrorCode::UnknownWord) });
            }
            (Takes::Integer(from, to), _) => number(value).filter(|number| (from..=to).contains(number)),
            (Takes::Decimal(to, words), _) => match words.iter().find(|known| value == Value::Text(known.0)) {
                Some(known) => Some(known.1),
                None => number(value).filter(|number| *number <= to),
            },
            _ => None,
        };
        let value = match value {
            Value::Number { value, .. } => Quantity::Number(value),
            Value::Nanos(number) => Quantity::Number(number as f64),
            _ => Quantity::None,
        };
        number.ok_or(Error { value, ..wrong(ErrorCode::WrongType) })
    }

    fn words(&self) -> impl Iterator<Item = Word> {
        let (none, words): (&[Word], &[Word]) = match self.1 {
            Takes::Word(words) => (&[], words),
            Takes::WordOrNone(words) => (&[("none", 0)], words),
            _ => (&[], &[]),
        };
        none.iter().chain(words).copied()
    }

    /// The value that stands for a number of the field; "none" where no word does.
    pub(crate) fn shown(&self, number: u64) -> Shown {
        match self.1 {
            Takes::Word(_) | Takes::WordOrNone(_) => {
                Shown::Word(self.words().find(|known| u64::from(known.1) == number).map_or("none", |known| known.0))
            }
            Takes::Decimal(_, words) => match words.iter().find(|known| known.1 == number) {
                Some(known) => Shown::Word(known.0),
                None => Shown::Decimal(number),
            },
            Takes::Integer(..) | Takes::Other => Shown::Integer(number),
        }
    }
}

/// The value of a field as it is written. Its `Display` is JSON.
#[derive(Clone, Copy)]
pub(crate) enum Shown {
    Word(&'static str),
    Integer(u64),
    Decimal(u64),
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => write!(f, "\"{word}\""),
            Self::Integer(number) => write!(f, "{number}"),
            Self::Decimal(number) => write!(f, "\"{number}\""),
        }
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Shown {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Word(word) => out.serialize_str(word),
            Self::Integer(number) => out.serialize_u64(*number),
            Self::Decimal(number) => out.collect_str(number),
        }
    }
}

/// The first of the fields that `bits` names, each by a bit at its place.
pub(crate) fn first(fields: &[Field], bits: u32) -> Option<&'static str> {
    fields.iter().zip(0..).find(|(_, place)| bits & (1_u32 << place) != 0).map(|(field, _)| field.0)
}

/// A whole number that the host's type holds exactly, or decimal text.
fn number(value: Value<'_>) -> Option<u64> {
    match value {
        Value::Text(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        Value::Number { value, .. } => {
            let number = value as u64;
            (number as f64 == value && number <= 1 << 53).then_some(number)
        }
        Value::Nanos(number) => Some(number),
        _ => None,
    }
}
