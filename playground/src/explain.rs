//! A policy's delays as the page draws them.

use holdoff_core::{Document, InTime};
use serde::Serialize;

/// The most retries that are drawn.
const MOST_ROWS: u32 = 20;

/// An explanation; times in milliseconds.
#[derive(Debug, Serialize)]
pub(crate) struct Explained {
    /// The core's own words, with its lints.
    text: String,
    /// The document as the core writes it.
    document: String,
    rows: Vec<DelayRow>,
    deadline: Option<f64>,
    /// Retries that are not in `rows`; `None` for ever.
    more: Option<u32>,
}

#[derive(Debug, Serialize)]
struct DelayRow {
    retry: u32,
    min: f64,
    typical: f64,
    max: f64,
    typical_total: f64,
    max_total: f64,
    in_time: &'static str,
}

/// The explanation of a policy with its guards.
pub(crate) fn explained(document: &Document) -> Explained {
    let millis = |span: holdoff_core::Span| span.as_nanos() as f64 / 1e6;
    let policy = &document.policy;
    let explanation = document.explain();
    let rows: Vec<_> = explanation.rows(MOST_ROWS).iter().collect();
    let rows = rows.into_iter().map(|row| DelayRow {
        retry: row.retry,
        min: millis(row.min),
        typical: millis(row.typical),
        max: millis(row.max),
        typical_total: millis(row.typical_total),
        max_total: millis(row.max_total),
        in_time: InTime::name(row.in_time),
    });
    Explained {
        text: explanation.to_string(),
        document: document.to_json(),
        rows: rows.collect(),
        deadline: policy.deadline().map(millis),
        more: policy.attempts().map(|attempts| attempts.saturating_sub(1).saturating_sub(MOST_ROWS)),
    }
}
