//! Records as tables of fields: from a JSON reader's value to a number, and from a number to the value that is written.
//!
//! Numbers of 64 bits are decimal text in JSON, because most readers keep 53 bits.

use crate::error::{Error, ErrorCode, Quantity, Subject};
use crate::json;
use crate::nearest::nearest;
use crate::value::Value;
use core::fmt;

/// A field of a record: its name, the values that it takes, the rule in words, and its number in memory.
#[derive(Clone, Copy)]
pub(crate) struct Field<R>(pub(crate) &'static str, pub(crate) Takes, pub(crate) &'static str, pub(crate) Member<R>);

/// The number of a field in memory.
#[derive(Clone, Copy)]
pub(crate) struct Member<R> {
    pub(crate) get: fn(&R) -> u64,
    pub(crate) set: fn(&mut R, u64),
    /// The number of bytes in a layout where fields have a fixed width.
    pub(crate) width: usize,
}

/// The member of a record with that name and type.
macro_rules! member {
    ($($name:ident).+: $type:ty) => {
        $crate::record::field::Member {
            get: |record| record.$($name).+ as u64,
            set: |record, number| record.$($name).+ = number as $type,
            width: size_of::<$type>(),
        }
    };
}
pub(crate) use member;

/// A word of a document and its number.
type Word = (&'static str, u8);

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
    /// Text or an object, whose content the host stores.
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

impl Takes {
    /// The words of a field that takes words.
    fn words(self) -> impl Iterator<Item = Word> {
        let (none, words): (&[Word], &[Word]) = match self {
            Self::Word(words) => (&[], words),
            Self::WordOrNone(words) => (&[("none", 0)], words),
            _ => (&[], &[]),
        };
        none.iter().chain(words).copied()
    }

    /// Says whether a number is the number of a value that the field takes.
    fn has(self, number: u64) -> bool {
        match self {
            Self::Word(_) | Self::WordOrNone(_) => self.words().any(|known| u64::from(known.1) == number),
            Self::Integer(from, to) => (from..=to).contains(&number),
            Self::Decimal(to, words) => number <= to || words.iter().any(|known| known.1 == number),
            Self::Other => true,
        }
    }
}

impl<R> Field<R> {
    /// The field's number.
    pub(crate) fn get(&self, record: &R) -> u64 {
        (self.3.get)(record)
    }

    /// Sets the field to a number, and says whether the field takes it.
    pub(crate) fn set(&self, record: &mut R, number: u64) -> bool {
        (self.3.set)(record, number);
        self.1.has(number)
    }

    /// Says whether the field takes its number.
    pub(crate) fn fits(&self, record: &R) -> bool {
        self.1.has(self.get(record))
    }

    /// The number that a value of the field stands for.
    pub(crate) fn read(&self, value: Value<'_>, subject: Subject) -> Result<u64, Error> {
        let wrong = |code| Error { special_rule: Some(self.2), ..Error::named(code, subject, self.0) };
        let number = match (self.1, value) {
            (Takes::Word(_) | Takes::WordOrNone(_), Value::Text(text)) => {
                let known = self.1.words().find(|known| known.0 == text).map(|known| known.1.into());
                let nearest = || nearest(text, self.1.words().map(|known| known.0));
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

    /// The field's value as it is written; "none" where no word has the number.
    pub(crate) fn value(&self, record: &R) -> Written<'static> {
        let number = self.get(record);
        match self.1 {
            Takes::Word(_) | Takes::WordOrNone(_) => {
                let known = self.1.words().find(|known| u64::from(known.1) == number);
                Written::Text(known.map_or("none", |known| known.0))
            }
            Takes::Decimal(_, words) => match words.iter().find(|known| known.1 == number) {
                Some(known) => Written::Text(known.0),
                None => Written::Decimal(number),
            },
            Takes::Integer(..) | Takes::Other => Written::Integer(number),
        }
    }
}

/// The value of a field as it is written. Its `Display` is JSON.
#[derive(Clone, Copy)]
pub(crate) enum Written<'t> {
    Text(&'t str),
    Integer(u64),
    Decimal(u64),
    /// An object with the texts that are there.
    Texts([(&'static str, Option<&'t str>); 2]),
}

impl fmt::Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => json::text(f, text),
            Self::Integer(number) => write!(f, "{number}"),
            Self::Decimal(number) => write!(f, "\"{number}\""),
            Self::Texts(texts) => write_json(f, present(*texts)),
        }
    }
}

/// The texts that are there, as they are written.
pub(crate) fn present<'t>(
    texts: [(&'static str, Option<&'t str>); 2],
) -> impl Iterator<Item = (&'static str, Written<'t>)> + Clone {
    texts.into_iter().filter_map(|(name, text)| Some((name, Written::Text(text?))))
}

/// Writes fields as a JSON object in one line.
pub(crate) fn write_json<'t>(
    f: &mut fmt::Formatter<'_>,
    fields: impl Iterator<Item = (&'static str, Written<'t>)>,
) -> fmt::Result {
    let mut before = "{";
    for (name, value) in fields {
        write!(f, "{before}\"{name}\":{value}")?;
        before = ",";
    }
    f.write_str("}")
}

/// The field with that name, and its bit; `unknown` with the nearest name if there is no such field.
pub(crate) fn find<R: Copy>(fields: &[Field<R>], name: &str, unknown: Error) -> Result<(u32, Field<R>), Error> {
    let mut bits = (0..).map(|place| 1_u32.wrapping_shl(place)).zip(fields);
    let known = bits.find(|(_, known)| known.0 == name).map(|(bit, field)| (bit, *field));
    known.ok_or_else(|| Error { nearest: nearest(name, fields.iter().map(|field| field.0)), ..unknown })
}

/// The fields whose bits are set.
pub(crate) fn of_bits<R: Copy>(fields: &[Field<R>], bits: u32) -> impl Iterator<Item = Field<R>> + Clone {
    let is_set = move |place: u32| bits.wrapping_shr(place) & 1 == 1;
    fields.iter().zip(0..).filter(move |(_, place)| is_set(*place)).map(|(field, _)| *field)
}

/// The name of the first field whose bit is set.
pub(crate) fn first<R: Copy>(fields: &[Field<R>], bits: u32) -> Option<&'static str> {
    of_bits(fields, bits).next().map(|field| field.0)
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
