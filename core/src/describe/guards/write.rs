//! Guards as part of a document: every field that was given, so that it is read back to the same.

use super::{GuardsBuilder, table};
use crate::field::Field;
use crate::json::Open;
use crate::time::Span;
use core::fmt;

impl GuardsBuilder {
    /// Writes each section of which something was given.
    pub(crate) fn write(&self, document: &mut Open<'_>) -> fmt::Result {
        for ((first, last), name) in table::RANGES.into_iter().zip(table::SECTIONS) {
            if !self.any(first, last) {
                continue;
            }
            let mut section = Open::new(document.field(name)?, '{')?;
            self.write_fields(first, last, name, &mut section)?;
            section.end('}')?;
        }
        Ok(())
    }

    /// Writes the fields from the first to the last that were given, without the name of their group; groups in it as
    /// objects.
    fn write_fields(&self, first: Field, last: Field, group: &str, out: &mut Open<'_>) -> fmt::Result {
        let inner = Field::BreakerOpenKind.code()..=Field::BreakerOpenMax.code();
        let mut latest = 0;
        for &(path, field) in table::NAMES {
            let code = field.code();
            if code <= latest || code < first.code() || code > last.code() || !self.has(field) {
                continue;
            }
            if first == Field::BreakerKind && inner.contains(&code) {
                let mut times = Open::new(out.field("open_for")?, '{')?;
                self.write_fields(Field::BreakerOpenKind, Field::BreakerOpenMax, "breaker.open_for", &mut times)?;
                times.end('}')?;
                latest = Field::BreakerOpenMax.code();
                continue;
            }
            latest = code;
            // The time alone stands for the group; in the group it has a name.
            let name = path.strip_prefix(group).map_or(path, |rest| rest.strip_prefix('.').unwrap_or("initial"));
            self.write_field(field, name, out)?;
        }
        Ok(())
    }

    fn write_field(&self, field: Field, name: &str, out: &mut Open<'_>) -> fmt::Result {
        let number = self.at(field);
        match table::takes(field) {
            table::Takes::Word => {
                let word = table::words(field).iter().find(|word| u64::from(word.1) == number);
                word.map_or(Ok(()), |word| out.text(name, word.0))
            }
            table::Takes::Span => out.span(name, Span::from_nanos(number)),
            table::Takes::SpanOrNone => out.span_or_none(name, Span::from_nanos(number)),
            table::Takes::Number => out.number(name, f64::from_bits(number)),
            table::Takes::Whole { .. } => out.whole(name, number),
        }
    }
}
