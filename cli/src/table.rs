//! A table of retries that fits the terminal: a narrow one has fewer columns, a wide one bars.

use crate::style::{BOLD, DIM, RANGE, styled};
use holdoff_core::{InTime, Row, Span};

/// The columns of a table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Column {
    Retry,
    Min,
    Typical,
    Max,
    Total,
    InTime,
}

/// The columns in the order in which they find room.
const WANTED: [Column; 6] = [Column::Retry, Column::Typical, Column::Total, Column::InTime, Column::Max, Column::Min];
/// The fewest characters of a bar.
const LEAST_BAR: usize = 12;
/// The most.
const MOST_BAR: usize = 60;

impl Column {
    const fn name(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Min => "min",
            Self::Typical => "typical",
            Self::Max => "max",
            Self::Total => "total",
            Self::InTime => "in time",
        }
    }

    fn cell(self, row: &Row) -> String {
        match self {
            Self::Retry => row.retry.to_string(),
            Self::Min => row.min.rounded().to_string(),
            Self::Typical => row.typical.rounded().to_string(),
            Self::Max => row.max.rounded().to_string(),
            Self::Total => row.typical_total.rounded().to_string(),
            Self::InTime => row.in_time.name().to_owned(),
        }
    }
}

/// The rows as lines of at most `width` characters, if that is possible at all. `limited` says that there is a deadline.
pub(crate) fn table(rows: &[Row], limited: bool, width: usize) -> String {
    let width_of = |column: &Column| {
        let cells = rows.iter().map(|row| column.cell(row).len());
        cells.max().unwrap_or(0).max(column.name().len())
    };
    let (mut columns, mut used) = (Vec::new(), 0);
    for column in WANTED.into_iter().filter(|column| limited || *column != Column::InTime) {
        let more = width_of(&column) + if columns.is_empty() { 0 } else { 2 };
        if used + more > width && columns.len() > 1 {
            break;
        }
        used += more;
        columns.push(column);
    }
    columns.sort_unstable();
    let widths: Vec<_> = columns.iter().map(width_of).collect();
    let line = |cells: Vec<String>| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}"));
        padded.collect::<Vec<_>>().join("  ")
    };
    let bar = width.saturating_sub(used + 2).min(MOST_BAR);
    let longest = rows.iter().map(|row| row.max).max().filter(|_| bar >= LEAST_BAR);
    let mut out = styled(BOLD, line(columns.iter().map(|column| column.name().to_owned()).collect()));
    for row in rows {
        out.push('\n');
        let cells = line(columns.iter().map(|column| column.cell(row)).collect());
        // A retry behind the deadline never happens.
        let dead = row.in_time == InTime::Never;
        out.push_str(&if dead { styled(DIM, cells) } else { cells });
        if let Some(longest) = longest {
            out.push_str("  ");
            out.push_str(&styled(if dead { DIM } else { RANGE }, drawn(row, longest, bar)));
        }
    }
    out
}

/// The range of a delay as a line, and the typical delay as a dot, where the longest delay of the table is `width` away.
fn drawn(row: &Row, longest: Span, width: usize) -> String {
    let last = width - 1;
    let at = |span: Span| (span.as_nanos() as f64 / longest.as_nanos().max(1) as f64 * last as f64).round() as usize;
    let [min, typical, max] = [row.min, row.typical, row.max].map(at);
    let sign = |place| match place {
        _ if place == typical => '●',
        _ if (min..=max).contains(&place) => '━',
        _ => ' ',
    };
    (0..=max.max(typical)).map(sign).collect()
}
