//! The tables of fields in docs/policy.md.

use anyhow::{Context as _, Result};
use conformance::fields::{default, kinds, range};
use holdoff_core::{Field, Takes};
use std::fmt::Write as _;

/// docs/policy.md with its tables of fields, each between `<!-- fields of GROUPS -->` and `<!-- end -->`. The fields of no group are
/// those of the group `policy`.
pub(super) fn page(page: &str) -> Result<String> {
    let mut out = String::new();
    let mut rest = page;
    while let Some((before, behind)) = rest.split_once("<!-- fields of ") {
        let (groups, behind) = behind.split_once(" -->\n").context("a marker has an end")?;
        let (_, after) = behind.split_once("<!-- end -->").context("a table has an end")?;
        let _ = write!(out, "{before}<!-- fields of {groups} -->\n{}<!-- end -->", table(groups));
        rest = after;
    }
    Ok(out + rest)
}

fn table(groups: &str) -> String {
    let mut out = "| field | meaning | takes | default |\n|---|---|---|---|\n".to_owned();
    let group = |field: &Field| field.path().split_once('.').map_or("policy", |path| path.0);
    for field in Field::ALL.iter().filter(|field| groups.split(' ').any(|name| name == group(field))) {
        let names: Vec<_> =
            Field::names().filter(|known| known.1 == *field).map(|known| format!("`{}`", known.0)).collect();
        let value = [takes(*field), kinds(*field)].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
        let default = if field.is_needed() { "needed".to_owned() } else { default(*field) };
        let _ = writeln!(out, "| {} | {} | {} | {default} |", names.join(", "), field.doc().trim(), value.join("; "));
    }
    out
}

/// The values of a field; the page has a table of the kinds of each group, and one of the presets.
fn takes(field: Field) -> String {
    if matches!(field.path().split_once('.'), Some((_, "kind"))) {
        return "a kind".into();
    }
    if field == Field::Preset {
        return "a preset".into();
    }
    let above = if range(field).is_empty() { "" } else { " above 0" };
    match field.takes() {
        Takes::Word(_) => field.words().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
        Takes::Span { .. } => format!("a time{above}"),
        Takes::SpanOrNone { .. } => format!("a time{above}, `none`"),
        Takes::Number(_) => format!("a number {}", range(field)),
        Takes::WholeNumber(..) => range(field),
        Takes::Attempts => format!("{}, `forever`", range(field)),
        Takes::Spans => "a list of times".into(),
        Takes::SpanOrSpans(most) => format!("a time, or up to {most}"),
        Takes::Version => "1".into(),
        Takes::Flag => "`true`, `false`".into(),
    }
}
