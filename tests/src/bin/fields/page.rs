//! The tables of fields in docs/policy.md.

use anyhow::{Context as _, Result};
use conformance::fields::{default, kinds, range};
use holdoff_core::{Field, Takes};
use std::fmt::Write as _;

/// docs/policy.md with its tables of fields, each between `<!-- fields of GROUP -->` and `<!-- end -->`.
pub(super) fn page(page: &str) -> Result<String> {
    let mut out = String::new();
    let mut rest = page;
    while let Some((before, behind)) = rest.split_once("<!-- fields of ") {
        let (group, behind) = behind.split_once(" -->\n").context("a marker has an end")?;
        let (_, after) = behind.split_once("<!-- end -->").context("a table has an end")?;
        let _ = write!(out, "{before}<!-- fields of {group} -->\n{}<!-- end -->", table(group));
        rest = after;
    }
    Ok(out + rest)
}

fn table(group: &str) -> String {
    let mut out = "| field | meaning | takes | default |\n|---|---|---|---|\n".to_owned();
    for field in Field::ALL.iter().filter(|field| field.path().starts_with(&format!("{group}."))) {
        let names: Vec<_> =
            Field::names().filter(|known| known.1 == *field).map(|known| format!("`{}`", known.0)).collect();
        let value = match field.takes() {
            Takes::Word(_) => field.words().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
            Takes::Span { .. } => "a time".into(),
            Takes::SpanOrNone { .. } => "a time or `none`".into(),
            Takes::Number(_) => "a number".into(),
            Takes::WholeNumber(..) => "a whole number".into(),
            Takes::Attempts => "a whole number or `forever`".into(),
            Takes::Spans => "a list of times".into(),
            Takes::SpanOrSpans(most) => format!("a time, or a list of up to {most}"),
            Takes::Version => "1".into(),
            Takes::Flag => "`true`, `false`".into(),
        };
        let value = [value, range(*field)].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
        let value = [value, kinds(*field)].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ");
        let default = if field.is_needed() { "needed".to_owned() } else { default(*field) };
        let _ = writeln!(out, "| {} | {} | {value} | {default} |", names.join(", "), field.doc().trim());
    }
    out
}
