//! The fields of policies in words: the docs of the typed options, of the tables in docs/policy.md and of the JSON Schema.

use holdoff_core::{Field, Range, Span, Takes};
use serde_json::Value;
use std::fmt::Write as _;

/// A group of fields: the prefix of their paths, the name of their type, and its doc.
pub type Group = (&'static str, &'static str, &'static str);

macro_rules! guards {
    ($($(#[doc = $doc:literal])* $name:ident: $class:ident $memory:ident, $config:ty, $state:ty $(, $words:ident)?;)*) => {
        /// The guards in the order of the core's table.
        pub const GUARDS: &[Group] = &[$((stringify!($name), stringify!($class), concat!($($doc),*).split_at(1).1),)*];
    };
}
holdoff_core::each_guard!(guards);

/// The groups of fields.
pub fn groups() -> impl Iterator<Item = &'static Group> {
    let first: &[Group] = &[
        ("backoff", "Backoff", "How delays grow from one failure to the next; one stage of a chain."),
        ("jitter", "Jitter", "How delays are spread."),
        ("hint", "Hint", "What is done with a server's hint on when to come back."),
    ];
    let open: &[Group] =
        &[("breaker.open_for", "OpenFor", "How long a breaker stays open, longer with each opening in a row.")];
    let nested: &[Group] = &[("nested", "Nested", "What a retry does inside another one.")];
    let is_open = |group: &&Group| group.0 == "budget";
    let budget = GUARDS.iter().filter(is_open);
    first.iter().chain(budget).chain(open).chain(GUARDS.iter().filter(move |group| !is_open(group))).chain(nested)
}

/// The names in a group, without its prefix, each with its field. A group within it has a type of its own.
#[must_use]
pub fn names(group: &str) -> Vec<(&'static str, Field)> {
    let prefix = format!("{group}.");
    let own = Field::names().filter_map(|(name, field)| Some((name.strip_prefix(&prefix)?, field)));
    own.filter(|(name, _)| !name.contains('.')).collect()
}

/// The default of a field as a document has it, if it is one value.
#[must_use]
pub fn default_value(field: Field) -> Option<Value> {
    let number = field.default()?;
    let value = match field.takes() {
        Takes::Word(words) => words.iter().find(|word| u64::from(word.1) == number)?.0.into(),
        Takes::SpanOrNone { none, .. } if number == none => "none".into(),
        Takes::Span { .. } | Takes::SpanOrNone { .. } | Takes::SpanOrSpans(_) => {
            Span::from_nanos(number).to_string().into()
        }
        Takes::Number(_) => match f64::from_bits(number) {
            whole if whole.fract() == 0.0 => (whole as u64).into(),
            other => other.into(),
        },
        Takes::Attempts if number == u64::from(u32::MAX) => "forever".into(),
        Takes::Flag => (number != 0).into(),
        _ => number.into(),
    };
    Some(value)
}

/// The default of a field in words; empty where there is none.
#[must_use]
pub fn default(field: Field) -> String {
    let value = default_value(field).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    let parts = [value, Some(field.default_note().to_owned())];
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}

/// The range of a field; empty where any value of its type will do.
#[must_use]
pub fn range(field: Field) -> String {
    match field.takes() {
        Takes::WholeNumber(from, u32::MAX) => format!("{from} or more"),
        Takes::WholeNumber(from, to) => format!("{from} to {to}"),
        Takes::Number(Range::From(from)) => format!("{from} or more"),
        Takes::Number(Range::AboveZero) | Takes::Span { from: 1 } | Takes::SpanOrNone { from: 1, .. } => {
            "above 0".into()
        }
        Takes::Number(Range::Share) => "above 0, at most 1".into(),
        Takes::Attempts => "1 or more".into(),
        _ => String::new(),
    }
}

/// The kinds that a field is for; empty where it is for all of its group.
#[must_use]
pub fn kinds(field: Field) -> String {
    let group = field.path().rsplit_once('.').map_or("", |path| path.0);
    let group = if field == Field::BreakerOpenFor { "breaker.open_for" } else { group };
    // Every mode of a hint has a use for all of its fields.
    let first = names(group).first().copied().filter(|first| matches!(first.0, "kind" | "mode") && group != "hint");
    let Some((_, kind)) = first else { return String::new() };
    let Takes::Word(words) = kind.takes() else { return String::new() };
    let all: Vec<_> = words.iter().filter(|word| word.0 != "none").collect();
    let fits: Vec<_> = all.iter().filter(|word| field.fits(word.1)).map(|word| word.0).collect();
    if field == kind || fits.len() == all.len() {
        return String::new();
    }
    if fits.len() + 2 >= all.len() && all.len() > 3 {
        let others: Vec<_> = all.iter().filter(|word| !field.fits(word.1)).map(|word| word.0).collect();
        return format!("not for {}", others.join(" and "));
    }
    format!("for {}", fits.join(", "))
}

/// The doc of a field with its range, its kinds and its default, in sentences.
#[must_use]
pub fn described(field: Field) -> String {
    let capital = |text: String| text[..1].to_uppercase() + &text[1..];
    let mut doc = field.doc().trim().to_owned();
    for (lead, text) in [("", range(field)), ("", kinds(field)), ("Default: ", default(field))] {
        if !text.is_empty() {
            let _ = write!(doc, " {}.", if lead.is_empty() { capital(text) } else { format!("{lead}{text}") });
        }
    }
    if field.is_needed() && !matches!(field.path(), "backoff.delays") {
        doc += if kinds(field).is_empty() { " Needed." } else { " Needed there." };
    }
    doc
}
