//! Fields that the memory of several modules has: text, and an error.
#![allow(unsafe_code)]

pub(crate) use crate::memory::Shared;
use holdoff_core::{Error, Quantity};

/// How much text fits: longer names, words and headers are no valid ones.
const NAME: usize = 1024;
const TEXT: usize = 4096;

/// Text on its way in or out.
#[repr(transparent)]
pub(crate) struct Text<const N: usize>([u8; N]);

/// A field's or a header's name.
pub(crate) type Name = Text<NAME>;
/// A value, or a message.
pub(crate) type Value = Text<TEXT>;

/// The parts of an error that are not text.
#[repr(C)]
pub(crate) struct Problem {
    code: u32,
    /// The kind of the broken value: 0 not known here, 1 `span`, 2 `number`.
    value_kind: u32,
    span: u64,
    number: f64,
    /// The index of the stage and of the item in it, from 1; 0 for none.
    stage: u32,
    item: u32,
}

impl Problem {
    /// Writes an error: its numbers, and as text its word, the field's path without indexes, its rule and the nearest
    /// name, one a line. The length of the text.
    pub(crate) fn explain(&mut self, text: &mut Value, error: &Error) -> u32 {
        let (value_kind, span, number) = match error.value {
            Quantity::None => (0, 0, 0.0),
            Quantity::Span(span) => (1, span.as_nanos(), 0.0),
            Quantity::Number(number) => (2, 0, number),
        };
        let place = |index: Option<u8>| index.map_or(0, |index| u32::from(index) + 1);
        *self = Self {
            code: error.code.code().into(),
            value_kind,
            span,
            number,
            stage: place(error.stage),
            item: place(error.item),
        };
        let path = path_of(error);
        text.lines([name_of(error), path, rule_of(error), error.nearest.unwrap_or_default()])
    }
}

/// The word of an error.
const fn name_of(error: &Error) -> &'static str {
    error.code.name()
}

/// The path or the name of the field that an error is about.
fn path_of(error: &Error) -> &'static str {
    error.field.map_or(error.name, holdoff_core::Field::path)
}

/// The rule that it breaks.
const fn rule_of(error: &Error) -> &'static str {
    error.rule()
}

impl<const N: usize> Text<N> {
    /// The first `len` bytes.
    pub(crate) fn bytes(&self, len: u32) -> &[u8] {
        self.0.get(..len as usize).unwrap_or_default()
    }

    /// The same as text.
    pub(crate) fn get(&self, len: u32) -> &str {
        // SAFETY: JavaScript writes text with nothing but a TextEncoder, which makes nothing but UTF-8, and says the length
        // that it wrote. Checking that again would be a tenth of the module.
        unsafe { core::str::from_utf8_unchecked(self.bytes(len)) }
    }

    /// Writes lines that fit, and returns their length.
    fn lines(&mut self, lines: [&str; 4]) -> u32 {
        let mut at = 0;
        for line in lines {
            self.write(&mut at, line);
            self.write(&mut at, "\n");
        }
        at as u32
    }

    /// The first bytes, to be written.
    #[cfg(feature = "guards")]
    pub(crate) fn put(&mut self, bytes: &[u8]) -> u32 {
        self.0.get_mut(..bytes.len()).map_or(0, |room| {
            room.copy_from_slice(bytes);
            bytes.len() as u32
        })
    }

    #[inline(never)]
    fn write(&mut self, at: &mut usize, part: &str) {
        if let Some(room) = self.0.get_mut(*at..*at + part.len()) {
            room.copy_from_slice(part.as_bytes());
            *at += part.len();
        }
    }
}
