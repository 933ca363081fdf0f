//! Reading JSON text (RFC 8259) as serde's formats do. Every number is the nearest double to its digits.

use super::decimal::nearest_double;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

/// JSON text that is read from its beginning, for [`read_values`](crate::read_values).
#[derive(Debug)]
pub struct JsonText<'t> {
    text: &'t str,
    /// The number of bytes that were read.
    at: usize,
}

/// The place where a text is no JSON: the first character that cannot stand there, or the last one of a text that ends too early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotJson {
    /// The line, from 1.
    pub line: usize,
    /// The number of bytes of that line, with those of the character.
    pub column: usize,
}

impl fmt::Display for NotJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} column {}", self.line, self.column)
    }
}

impl core::error::Error for NotJson {}

/// The place is not known: the error of a visitor, which knows itself what is wrong.
impl Error for NotJson {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self { line: 0, column: 0 }
    }
}

/// A number of 64 bits, or a double.
enum Number {
    Natural(u64),
    Negative(i64),
    Double(f64),
}

/// The digits of a number and its power of ten.
struct Parts<'t> {
    is_negative: bool,
    integer: &'t str,
    fraction: Option<&'t str>,
    exponent: Option<i32>,
}

impl<'t> JsonText<'t> {
    /// A text before its first byte is read.
    pub const fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// Reads all of the text, and keeps nothing of it.
    ///
    /// # Errors
    /// The place where it is no JSON, or goes on behind its value.
    pub fn check(mut self) -> Result<(), NotJson> {
        self.skip()?;
        if self.peek().is_some() { Err(self.wrong()) } else { Ok(()) }
    }

    fn wrong(&self) -> NotJson {
        let bytes = self.text.as_bytes();
        let read = bytes.split_at_checked(self.at.saturating_add(1)).map_or(bytes, |(read, _)| read);
        let lines = read.iter().filter(|byte| **byte == b'\n').count();
        let column = read.iter().rev().take_while(|byte| **byte != b'\n').count();
        NotJson { line: lines.saturating_add(1), column }
    }

    /// The next byte.
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn advance(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes);
    }

    /// The next byte that is no space.
    fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.byte() {
            self.advance(1);
        }
        self.byte()
    }

    /// Reads a byte if it is the next one.
    fn takes(&mut self, wanted: u8) -> bool {
        let is_next = self.byte() == Some(wanted);
        self.advance(is_next.into());
        is_next
    }

    /// Reads these bytes.
    fn literal(&mut self, word: &str) -> Result<(), NotJson> {
        if word.bytes().all(|byte| self.takes(byte)) { Ok(()) } else { Err(self.wrong()) }
    }

    /// Reads a byte behind spaces.
    fn mark(&mut self, mark: u8) -> Result<(), NotJson> {
        self.peek();
        if self.takes(mark) { Ok(()) } else { Err(self.wrong()) }
    }

    /// The rest of the text up to the first character that is one of those.
    fn until(&mut self, ends: impl Fn(char) -> bool) -> &'t str {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let found = rest.find(ends).and_then(|end| rest.get(..end)).unwrap_or(rest);
        self.advance(found.len());
        found
    }

    fn digits(&mut self) -> Result<&'t str, NotJson> {
        let digits = self.until(|c| !c.is_ascii_digit());
        if digits.is_empty() { Err(self.wrong()) } else { Ok(digits) }
    }

    fn parts(&mut self) -> Result<Parts<'t>, NotJson> {
        let is_negative = self.takes(b'-');
        // A zero stands alone.
        let integer = if self.takes(b'0') { "0" } else { self.digits()? };
        if integer == "0" && self.byte().is_some_and(|byte| byte.is_ascii_digit()) {
            return Err(self.wrong());
        }
        let fraction = if self.takes(b'.') { Some(self.digits()?) } else { None };
        let exponent = if self.takes(b'e') || self.takes(b'E') {
            let is_below = self.takes(b'-');
            if !is_below {
                self.takes(b'+');
            }
            // A power beyond all is as good as any other.
            let power = self.digits()?.parse().unwrap_or(1 << 24);
            Some(if is_below { 0_i32.saturating_sub(power) } else { power })
        } else {
            None
        };
        Ok(Parts { is_negative, integer, fraction, exponent })
    }

    fn number(&mut self) -> Result<Number, NotJson> {
        let Parts { is_negative, integer, fraction, exponent } = self.parts()?;
        if (fraction, exponent) == (None, None)
            && let Ok(number) = integer.parse::<u64>()
        {
            match (is_negative, 0_i64.checked_sub_unsigned(number)) {
                (false, _) => return Ok(Number::Natural(number)),
                (true, Some(negative @ ..0)) => return Ok(Number::Negative(negative)),
                (true, _) => {}
            }
        }
        match nearest_double(integer, fraction.unwrap_or_default(), exponent.unwrap_or_default()) {
            Some(double) => Ok(Number::Double(if is_negative { -double } else { double })),
            None => {
                self.at = self.at.saturating_sub(1);
                Err(self.wrong())
            }
        }
    }

    fn string(&mut self) -> Result<String, NotJson> {
        self.mark(b'"')?;
        let mut read = String::new();
        loop {
            read.push_str(self.until(|c| c < ' ' || c == '"' || c == '\\'));
            if self.takes(b'"') {
                return Ok(read);
            }
            self.literal("\\")?;
            read.push(self.escaped()?);
        }
    }

    /// The character behind a backslash.
    fn escaped(&mut self) -> Result<char, NotJson> {
        let character = match self.byte() {
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(),
            Some(byte @ (b'"' | b'\\' | b'/')) => byte.into(),
            _ => return Err(self.wrong()),
        };
        self.advance(1);
        Ok(character)
    }

    /// The character with a number of 16 bits, or of 20 bits in two halves.
    fn unicode(&mut self) -> Result<char, NotJson> {
        let first = self.hexadecimal()?;
        let number = if matches!(first, 0xd800..=0xdbff) {
            self.literal("\\")?;
            let second = self.hexadecimal()?;
            let is_low = matches!(second, 0xdc00..=0xdfff);
            let number = (first & 0x3ff).wrapping_shl(10) | second & 0x3ff;
            if is_low { number.wrapping_add(0x1_0000) } else { first }
        } else {
            first
        };
        char::from_u32(number).ok_or_else(|| self.wrong())
    }

    fn hexadecimal(&mut self) -> Result<u32, NotJson> {
        self.literal("u")?;
        (0..4).try_fold(0_u32, |number, _| {
            let digit = self.byte().and_then(|byte| char::from(byte).to_digit(16)).ok_or_else(|| self.wrong())?;
            self.advance(1);
            Ok(number.wrapping_mul(16).wrapping_add(digit))
        })
    }

    fn key(&mut self) -> Result<(), NotJson> {
        self.string()?;
        self.mark(b':')
    }

    /// Passes over a value, however deep it is.
    fn skip(&mut self) -> Result<(), NotJson> {
        let mut open = Vec::new();
        loop {
            match self.peek() {
                Some(bracket @ (b'{' | b'[')) => {
                    self.advance(1);
                    // The brackets of a pair are two apart.
                    let close = bracket.wrapping_add(2);
                    if self.peek() != Some(close) {
                        open.push(close);
                        if bracket == b'{' {
                            self.key()?;
                        }
                        continue;
                    }
                    self.advance(1);
                }
                Some(b'"') => _ = self.string()?,
                Some(b'n') => self.literal("null")?,
                Some(b't') => self.literal("true")?,
                Some(b'f') => self.literal("false")?,
                _ => _ = self.parts()?,
            }
            while let Some(close) = open.last().copied() {
                self.peek();
                if self.takes(b',') {
                    if close == b'}' {
                        self.key()?;
                    }
                    break;
                }
                self.mark(close)?;
                open.pop();
            }
            if open.is_empty() {
                return Ok(());
            }
        }
    }

    /// Begins an object or a list.
    fn inside(&mut self, close: u8) -> Inside<'_, 't> {
        self.advance(1);
        Inside { text: self, close, begun: false }
    }
}

impl<'de> Deserializer<'de> for &mut JsonText<'de> {
    type Error = NotJson;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotJson> {
        match self.peek() {
            Some(b'{') => visitor.visit_map(self.inside(b'}')),
            Some(b'[') => visitor.visit_seq(self.inside(b']')),
            Some(b'"') => visitor.visit_string(self.string()?),
            Some(b'n') => self.literal("null").and_then(|()| visitor.visit_unit()),
            Some(b't') => self.literal("true").and_then(|()| visitor.visit_bool(true)),
            Some(b'f') => self.literal("false").and_then(|()| visitor.visit_bool(false)),
            _ => match self.number()? {
                Number::Natural(number) => visitor.visit_u64(number),
                Number::Negative(number) => visitor.visit_i64(number),
                Number::Double(number) => visitor.visit_f64(number),
            },
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotJson> {
        self.skip()?;
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct seq tuple
        tuple_struct map struct enum identifier
    }
}

/// An object or a list whose items are read one by one.
struct Inside<'r, 't> {
    text: &'r mut JsonText<'t>,
    close: u8,
    begun: bool,
}

impl Inside<'_, '_> {
    /// True if there is an item more; else the end was read.
    fn goes_on(&mut self) -> Result<bool, NotJson> {
        self.text.peek();
        if self.text.takes(self.close) {
            return Ok(false);
        }
        if core::mem::replace(&mut self.begun, true) {
            self.text.mark(b',')?;
        }
        Ok(true)
    }
}

impl<'t> MapAccess<'t> for Inside<'_, 't> {
    type Error = NotJson;

    fn next_key_seed<K: DeserializeSeed<'t>>(&mut self, seed: K) -> Result<Option<K::Value>, NotJson> {
        if !self.goes_on()? {
            return Ok(None);
        }
        if self.text.peek() == Some(b'"') {
            seed.deserialize(&mut *self.text).map(Some)
        } else {
            Err(self.text.wrong())
        }
    }

    fn next_value_seed<V: DeserializeSeed<'t>>(&mut self, seed: V) -> Result<V::Value, NotJson> {
        self.text.mark(b':')?;
        seed.deserialize(&mut *self.text)
    }
}

impl<'t> SeqAccess<'t> for Inside<'_, 't> {
    type Error = NotJson;

    fn next_element_seed<T: DeserializeSeed<'t>>(&mut self, seed: T) -> Result<Option<T::Value>, NotJson> {
        if self.goes_on()? { seed.deserialize(&mut *self.text).map(Some) } else { Ok(None) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::Deserialize as _;
    use serde_json::Value;

    /// The value of a text; first all of the text is checked.
    fn read(text: &str) -> Result<Value, NotJson> {
        JsonText::new(text).check()?;
        Value::deserialize(&mut JsonText::new(text))
    }

    fn same(text: &str) {
        let known = serde_json::from_str::<Value>(text);
        let place = |error: serde_json::Error| NotJson { line: error.line(), column: error.column() };
        assert_eq!(read(text), known.map_err(place), "{text:?}");
    }

    #[test]
    fn a_text_means_what_it_means_to_other_readers_and_fails_at_the_same_place() {
        // Texts with a tilde between two.
        let texts = "~ ~null~ true ~false~nul~tru1~0~-0~-1~01~-~1.~.5~1.5~1e5~1E+2~1e-2~1e~1e+~18446744073709551615~0.1~1 2~\u{feff}1~\
            18446744073709551616~-9223372036854775808~-9223372036854775809~1e400~-1e400~0e99999999999~1e-99999999999~\"\"~\"a~\
            \"a\nb\"~\"\\n\\u00e9\\ud83d\\ude00\\/\"~\"\\x\"~\"\u{1F600}\"~\"\u{7f}\"~[]~[ ]~[1]~[1,]~[,1]~[1 2]~[1, 2]~[~[1~]~\n\n  [1,\n x]~\
            {}~{ }~{\"a\": 1}~{\"a\": 1,}~{\"a\" 1}~{a: 1}~{\"a\": }~{\"a\"~{\"a\": 1~{1: 2}~{\"a\": 1}}~{\"a\": 1]~{\"a\":1,\"a\":2}~\
            [1}~[[{\"a\": [1, {\"b\": null}]}]]";
        for text in texts.split('~') {
            same(text);
        }
        for text in ["\"\\ud83d\"", "\"\\ude00\"", "\"\\ud83d\\u0041\"", "\"\\u12g4\"", "\"\\u12"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_deep_text_is_read_without_recursion() {
        let deep = |open: &str, close: &str| [open.repeat(100_000), close.repeat(100_000)].concat();
        assert_eq!(JsonText::new(&deep("[", "]")).check(), Ok(()));
        assert_eq!(JsonText::new(&deep("{\"a\":[", "]}")).check(), Ok(()));
        assert_eq!(JsonText::new(&deep("[", "")).check(), Err(NotJson { line: 1, column: 100_000 }));
    }

    proptest! {
        #[test]
        fn any_text_is_the_same_to_both_readers(text in "[\\[\\]{}:,\" 0-9a\\\\eE.+-]{0,12}|(\\{\"a\": ?([0-9.e-]{1,5}|true|\"[a\\\\nu0]*\"),?\\}?){1,2}") {
            let known = serde_json::from_str::<Value>(&text);
            prop_assert_eq!(read(&text).ok(), known.ok(), "{}", text);
        }

        #[test]
        fn any_value_is_read_back(text: String, number: f64, integer: i64, natural: u64) {
            let value = serde_json::json!({"text": text, &text: [number, integer, natural, {"": null}, [], true]});
            prop_assert_eq!(read(&std::format!("{value}")), Ok(value));
        }
    }
}
