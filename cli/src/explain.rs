//! `explain`: the delays of a policy, as a table, as data and as a picture.

use crate::finding::Finding;
use crate::host::{Answer, Host, Output};
use crate::input::{Format, Input};
use crate::scan;
use crate::style::{BOLD, DIM, WARNING, styled, wrapped};
use crate::table::table;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use holdoff_core::{Explanation, FailureKind, Preset, Row, Span};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Show what a policy does: the shortest, typical and longest delay of each retry, and their sum.
#[derive(Args)]
pub(crate) struct Explain {
    /// A preset, or a JSON file with a policy (`-`: the standard input).
    #[arg(value_hint = clap::ValueHint::FilePath)]
    policy: String,
    #[command(flatten)]
    form: Format,
    /// The number of retries to show (default: at most 100, or 10 for a policy without an end).
    #[arg(long, value_name = "NUMBER")]
    rows: Option<u32>,
    /// The kind of the failures (default: transient, and a table for each rule).
    #[arg(long, value_name = "KIND", value_parser = kind())]
    after: Option<FailureKind>,
    #[command(flatten)]
    style: Style,
}

/// The output of a command that draws: text unless one of these is given.
#[derive(Args, Clone, Copy)]
pub(crate) struct Style {
    /// Print data; times are milliseconds.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print a picture: `holdoff explain grpc --svg > grpc.svg`.
    #[arg(long, conflicts_with = "json")]
    pub(crate) svg: bool,
}

fn kind() -> impl TypedValueParser<Value = FailureKind> {
    PossibleValuesParser::new(FailureKind::ALL.map(FailureKind::name))
        .try_map(|name| FailureKind::from_name(&name).ok_or("is no kind of failures"))
}

impl Explain {
    pub(crate) fn run(&self, host: &Host<'_>) -> Answer {
        let input = self.form.policy(&self.policy, host).map_err(|problem| problem.render(host))?;
        let explanation = input.document.explain();
        let explanation = self.rows.map_or(explanation, |rows| explanation.rows(rows));
        let explanation = self.after.map_or(explanation, |kind| explanation.after(kind));
        let out = match self.style {
            Style { json: true, .. } => data(&explanation, &input),
            Style { svg: true, .. } => format!("{}\n", explanation.drawing()),
            _ => text(&explanation, &input, host.width),
        };
        let note =
            |note: &String| wrapped(&format!("{}: {}: {note}", styled(DIM, "note"), input.name), host.width) + "\n";
        let err = input.notes.iter().map(note).collect();
        Ok(Output { out, err, ..Output::default() })
    }
}

/// The text about a preset.
pub(crate) fn preset(preset: Preset, width: usize) -> String {
    let input = Input::of(preset);
    text(&input.document.explain(), &input, width)
}

fn text(explanation: &Explanation, input: &Input, width: usize) -> String {
    let limited = input.document.policy.deadline().is_some();
    let mut out: String = explanation.words().to_string().lines().map(|line| wrapped(line, width) + "\n").collect();
    for each in explanation.tables() {
        out.push('\n');
        if let Some(title) = each.title() {
            let _ = writeln!(out, "{}", styled(BOLD, title));
        }
        let rows: Vec<_> = each.rows().collect();
        if !rows.is_empty() {
            out.push_str(&table(&rows, limited, width));
            out.push('\n');
        }
        let ending = each.ending().to_string();
        if !ending.is_empty() {
            let _ = writeln!(out, "{ending}");
        }
    }
    let mut before = "\n";
    for finding in &scan::findings(input) {
        let text = wrapped(&words(finding), width);
        let rest = text.strip_prefix("warning").unwrap_or(&text);
        let _ = writeln!(out, "{before}{}{rest}", styled(WARNING, "warning"));
        before = "";
    }
    out
}

/// A finding as the core writes its lint.
fn words(finding: &Finding) -> String {
    format!("warning {} {}: {}", finding.code, finding.name, finding.message)
}

fn data(explanation: &Explanation, input: &Input) -> String {
    let tables = explanation.tables().map(|table| {
        json!({
            "after": table.title().map(|title| title.to_string()),
            "retries": table.rows().map(row).collect::<Vec<_>>(),
            "ending": table.ending().to_string(),
        })
    });
    let lints = scan::findings(input);
    let lints = lints.iter().map(|of| json!({ "code": of.code, "name": of.name, "message": words(of) }));
    let all = json!({
        "policy": input.name,
        "words": explanation.words().to_string().lines().collect::<Vec<_>>(),
        "total_wait_ms": input.document.policy.total_wait().map(millis),
        "tables": tables.collect::<Vec<_>>(),
        "lints": lints.collect::<Vec<_>>(),
    });
    format!("{all:#}\n")
}

fn row(row: Row) -> Value {
    json!({
        "retry": row.retry,
        "min_ms": millis(row.min),
        "typical_ms": millis(row.typical),
        "max_ms": millis(row.max),
        "min_total_ms": millis(row.min_total),
        "typical_total_ms": millis(row.typical_total),
        "max_total_ms": millis(row.max_total),
        "in_time": row.in_time.name(),
    })
}

/// A span in milliseconds.
pub(crate) fn millis(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e6
}
