//! A policy in a notebook: its words, a small table of its retries, and a picture.

use holdoff_core::Explanation;
use std::fmt::Write as _;

/// The most rows of the table.
const MOST: usize = 20;

/// HTML without script, style or link. All texts are the core's own words and numbers, and escaped all the same.
pub(crate) fn html(explanation: &Explanation) -> String {
    let mut out = format!("<div><pre>{}</pre>", escaped(explanation.words().to_string().trim_end()));
    out.push_str(
        "<table><thead><tr><th>retry</th><th>min</th><th>typical</th><th>max</th><th>total</th></tr></thead><tbody>",
    );
    let mut rows = explanation.iter();
    for row in rows.by_ref().take(MOST) {
        let [min, typical, max, total] = [row.min, row.typical, row.max, row.typical_total].map(|span| span.rounded());
        let cells = format!("<td>{min}</td><td>{typical}</td><td>{max}</td><td>{total}</td>");
        let _ = write!(out, "<tr><td>{}</td>{cells}</tr>", row.retry);
    }
    out.push_str("</tbody></table>");
    match rows.count() {
        0 => {}
        more => {
            let _ = write!(out, "<p>and {more} more</p>");
        }
    }
    for lint in explanation.lints() {
        let _ = write!(out, "<p>{}</p>", escaped(&lint.to_string()));
    }
    let _ = write!(out, "{}</div>", explanation.drawing());
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
