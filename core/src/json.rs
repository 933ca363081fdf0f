//! JSON: written without a heap, objects and lists as they come, to anything that takes text; read for serde.

use crate::time::Span;
use core::fmt::{self, Write};

#[cfg(feature = "serde")]
mod decimal;
#[cfg(feature = "serde")]
pub(crate) mod read;

/// The destination of the text.
pub(crate) type Out<'w> = &'w mut dyn Write;

/// A list or an object that is being written.
pub(crate) struct Open<'w> {
    out: Out<'w>,
    empty: bool,
}

impl<'w> Open<'w> {
    /// Begins a list with `[`, an object with `{`.
    pub(crate) fn new(out: Out<'w>, bracket: char) -> Result<Self, fmt::Error> {
        out.write_char(bracket)?;
        Ok(Self { out, empty: true })
    }

    /// Where the next item of a list goes.
    pub(crate) fn item(&mut self) -> Result<Out<'_>, fmt::Error> {
        if !core::mem::take(&mut self.empty) {
            self.out.write_str(", ")?;
        }
        Ok(&mut *self.out)
    }

    /// Where the value under `name` goes.
    pub(crate) fn field(&mut self, name: &str) -> Result<Out<'_>, fmt::Error> {
        let out = self.item()?;
        text(out, name)?;
        out.write_str(": ")?;
        Ok(out)
    }

    /// A field that is text.
    pub(crate) fn text(&mut self, name: &str, value: &str) -> fmt::Result {
        text(self.field(name)?, value)
    }

    /// A field that is a number.
    pub(crate) fn number(&mut self, name: &str, value: f64) -> fmt::Result {
        number(self.field(name)?, value)
    }

    /// A field that is a whole number.
    pub(crate) fn integer(&mut self, name: &str, value: u64) -> fmt::Result {
        write!(self.field(name)?, "{value}")
    }

    /// A field that is a time as text with its unit.
    pub(crate) fn span(&mut self, name: &str, span: Span) -> fmt::Result {
        write!(self.field(name)?, "\"{span}\"")
    }

    /// Ends it with `]` or `}`.
    pub(crate) fn end(self, bracket: char) -> fmt::Result {
        self.out.write_char(bracket)
    }
}

/// A list of texts.
pub(crate) fn texts<'t>(out: Out<'_>, items: impl Iterator<Item = &'t str>) -> fmt::Result {
    let mut list = Open::new(out, '[')?;
    for item in items {
        text(list.item()?, item)?;
    }
    list.end(']')
}

/// Text between quotes (RFC 8259 section 7).
pub(crate) fn text(out: Out<'_>, text: &str) -> fmt::Result {
    out.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' => out.write_str("\\\"")?,
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            c if c < ' ' => write!(out, "\\u{:04x}", u32::from(c))?,
            c => out.write_char(c)?,
        }
    }
    out.write_char('"')
}

/// The shortest digits that a double is read back from; `null` for what is no number in JSON.
pub(crate) fn number(out: Out<'_>, number: f64) -> fmt::Result {
    let size = if number < 0.0 { -number } else { number };
    match () {
        () if !number.is_finite() => out.write_str("null"),
        () if size == 0.0 || (1e-5..1e16).contains(&size) => write!(out, "{number}"),
        () => write!(out, "{number:e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::string::String;

    fn written(write: impl FnOnce(Out<'_>) -> fmt::Result) -> String {
        let mut out = String::new();
        write(&mut out).unwrap();
        out
    }

    #[test]
    fn numbers_have_the_fewest_digits() {
        for (value, shown) in
            [(2.0, "2"), (0.1, "0.1"), (1e300, "1e300"), (5e-324, "5e-324"), (0.0, "0"), (f64::NAN, "null")]
        {
            assert_eq!(written(|out| number(out, value)), shown);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_back(given in "\\PC*|[\\x00-\\x7f]*") {
            let json = written(|out| text(out, &given));
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), given);
        }

        #[test]
        fn any_number_is_read_back(given: f64) {
            prop_assume!(given.is_finite());
            let json = written(|out| number(out, given));
            prop_assert_eq!(serde_json::from_str::<f64>(&json).unwrap().to_bits(), given.to_bits());
        }
    }
}
