//! A value as a host's language has it, and reading it as what a field takes.
//!
//! Saying what is wrong with a value happens here once, so that the same mistake gets the same answer everywhere.

use crate::error::{Error, ErrorCode, Quantity};
use crate::fields::{Field, Range, Takes};
use crate::nearest::nearest;
use crate::time::Span;
use core::time::Duration;

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
    /// True or false.
    Flag(bool),
    /// Something that no field takes: a list, a date.
    Other,
    /// Null and the like: as good as not given, as long as the name is one.
    Nothing,
    /// An object without fields: as good as not given where fields may stand under the name, else like [`Value::Other`].
    Empty,
    /// A list without items. The items of others are set one by one, as `name[0]`, `name[1]` and so on.
    NoItems,
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl From<u32> for Value<'_> {
    fn from(number: u32) -> Self {
        f64::from(number).into()
    }
}

/// A time in seconds, for a field that is one.
impl From<f64> for Value<'_> {
    fn from(value: f64) -> Self {
        Self::Number { value, unit: 1e9 }
    }
}

impl From<Duration> for Value<'_> {
    fn from(time: Duration) -> Self {
        Self::Nanos(Span::from_duration(time).as_nanos())
    }
}

impl Value<'_> {
    /// The value as errors show it.
    pub(crate) fn shown(self) -> Quantity {
        match self {
            Value::Number { value, .. } => Quantity::Number(value),
            Value::Nanos(nanos) if nanos <= Span::MAX.as_nanos() => Quantity::Span(Span::from_nanos(nanos)),
            _ => Quantity::None,
        }
    }
}

/// A value held to the range of its field, `checked!(BreakerSize.count(size))`, or `checked!(BreakerSize.count in fields)` for the
/// field's own number: the range is read when the program is compiled,
/// so that a small program does not hold the table of all fields.
macro_rules! checked {
    ($field:ident.count in $fields:ident) => {
        checked!($field.count($fields.count($crate::fields::Field::$field)))
    };
    ($field:ident.number in $fields:ident) => {
        checked!($field.number($fields.real($crate::fields::Field::$field)))
    };
    ($field:ident.span in $fields:ident) => {
        checked!($field.span($fields.span($crate::fields::Field::$field)))
    };
    ($field:ident.count($number:expr)) => {
        checked!($field.count_of, $number)
    };
    ($field:ident.number($number:expr)) => {
        checked!($field.number_of, $number)
    };
    ($field:ident.span($span:expr)) => {
        checked!($field.span_of, $span)
    };
    ($field:ident.$check:ident, $value:expr) => {{
        const TAKES: $crate::fields::Takes = $crate::fields::Field::$field.takes();
        $crate::fields::Field::$field.$check(TAKES, $value)
    }};
}
pub(crate) use checked;

impl Field {
    /// The value as the number that options keep: nanoseconds, a word's number, a whole number or the bits of a double. A
    /// list is read item by item. [`Field::number_of`] and [`Field::span_of`] check the ranges.
    pub(crate) fn read(self, value: Value<'_>) -> Result<u64, Error> {
        let wrong = |code| Error::new(code, self, value.shown());
        match (self.takes(), value) {
            (Takes::Word(words), Value::Text(text)) => match words.iter().find(|known| known.0 == text) {
                Some((_, number)) => Ok(number.into()),
                None => Err(self.unknown(text, words.iter().map(|known| known.0))),
            },
            (Takes::SpanOrNone { none, .. }, Value::Text("none")) => Ok(none),
            (Takes::Span { .. } | Takes::SpanOrNone { .. } | Takes::Spans | Takes::SpanOrSpans(_), _) => {
                let span = match value {
                    Value::Text(text) => Span::parse(text),
                    Value::Number { value, unit } => Span::from_float(value, unit),
                    Value::Nanos(nanos) => Some(Span::from_nanos(nanos)).filter(|span| span.as_nanos() == nanos),
                    Value::Flag(_) | Value::Other | Value::Nothing | Value::Empty | Value::NoItems => {
                        return Err(wrong(ErrorCode::WrongType));
                    }
                };
                span.map(Span::as_nanos).ok_or_else(|| wrong(ErrorCode::NotADuration))
            }
            (Takes::Number(_), Value::Number { value, .. }) => Ok(value.to_bits()),
            (Takes::WholeNumber(from, to), Value::Number { value: number, .. }) => self.count_in(number, from, to),
            (Takes::Attempts, Value::Text("forever")) => Ok(u32::MAX.into()),
            (Takes::Attempts, Value::Text(text)) => Err(self.unknown(text, core::iter::once("forever"))),
            (Takes::Attempts, Value::Number { value: number, .. }) => self.count_in(number, 1, u32::MAX - 1),
            (Takes::Flag, Value::Flag(flag)) => Ok(flag.into()),
            (Takes::Flag, _) => Err(wrong(ErrorCode::NotAFlag)),
            (Takes::Version, Value::Number { value: 1.0, .. }) => Ok(1),
            (Takes::Version, _) => Err(wrong(ErrorCode::DocumentVersion)),
            _ => Err(wrong(ErrorCode::WrongType)),
        }
    }

    fn unknown(self, text: &str, words: impl Iterator<Item = &'static str>) -> Error {
        Error { nearest: nearest(text, words), ..Error::new(ErrorCode::UnknownWord, self, Quantity::None) }
    }

    fn count_in(self, number: f64, from: u32, to: u32) -> Result<u64, Error> {
        // The cast saturates, so that whatever is no whole number in range does not come back equal.
        let whole = number as u32;
        if f64::from(whole) == number && whole >= from && whole <= to {
            return Ok(whole.into());
        }
        let code = match self {
            Self::Attempts => ErrorCode::AttemptsRange,
            Self::BackoffTimes => ErrorCode::TimesRange,
            _ => ErrorCode::CountRange,
        };
        Err(Error::new(code, self, Quantity::Number(number)))
    }

    /// A whole number, if it is in the field's range.
    pub(crate) fn count(self, number: u32) -> Result<u32, Error> {
        self.count_of(self.takes(), number)
    }

    /// The same of a field whose values are known when the program is compiled, see `checked`.
    pub(crate) fn count_of(self, takes: Takes, number: u32) -> Result<u32, Error> {
        let Takes::WholeNumber(from, to) = takes else { return Ok(number) };
        self.count_in(number.into(), from, to).map(|_| number)
    }

    /// A number, if it is in the field's range; `takes` is known when the program is compiled, see `checked`.
    pub(crate) fn number_of(self, takes: Takes, number: f64) -> Result<f64, Error> {
        let (fits, code) = match (takes, self) {
            (Takes::Number(Range::From(least)), Self::StretchFactor) => (number >= least, ErrorCode::FactorRange),
            (Takes::Number(Range::From(least)), _) => (number >= least, ErrorCode::RateRange),
            (Takes::Number(Range::AboveZero), _) => (number >= f64::MIN_POSITIVE, ErrorCode::RateRange),
            (Takes::Number(Range::Share), _) => (number > 0.0 && number <= 1.0, ErrorCode::ShareRange),
            _ => (true, ErrorCode::RateRange),
        };
        if fits && number.is_finite() { Ok(number) } else { Err(Error::new(code, self, Quantity::Number(number))) }
    }

    /// A time in nanoseconds, if it is not below the field's shortest.
    pub(crate) fn span_of(self, takes: Takes, span: Span) -> Result<u64, Error> {
        match takes {
            Takes::Span { from: 1 } if span == Span::ZERO => {
                Err(Error::new(ErrorCode::ZeroLimit, self, Quantity::Span(span)))
            }
            _ => Ok(span.as_nanos()),
        }
    }

    /// The rule of the field, in words.
    pub(crate) const fn rule(self) -> &'static str {
        let row = self.row_rule();
        if !row.is_empty() {
            return row;
        }
        let code = match (self.takes(), self) {
            (_, Self::BackoffFactor) => ErrorCode::FactorRange,
            (_, Self::JitterFactor) => ErrorCode::JitterFactorRange,
            (Takes::Number(Range::Share), _) => ErrorCode::ShareRange,
            (Takes::Number(_), _) => ErrorCode::RateRange,
            (Takes::Attempts, _) => ErrorCode::AttemptsRange,
            (Takes::Spans, _) => ErrorCode::DelaysMissing,
            (Takes::Version, _) => ErrorCode::DocumentVersion,
            (Takes::Flag, _) => ErrorCode::NotAFlag,
            _ => ErrorCode::NotADuration,
        };
        code.text()
    }
}
