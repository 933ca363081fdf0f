//! The runs of a simulation as a table, as data and as a picture.

use crate::style::{BOLD, DIM, ERROR, GOOD, WARNING, styled};
use holdoff_sim::bounds::Figures;
use holdoff_sim::drawing::{Lane, cut, draw};
use holdoff_sim::measure::Measures;
use holdoff_sim::scenario::Scenario;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// A policy's run.
pub(crate) struct Run {
    pub(crate) name: String,
    pub(crate) figures: Figures,
    pub(crate) measures: Measures,
}

/// A figure: its group, its name and its value as text.
type Row = (&'static str, &'static str, fn(&Figures) -> String);

const ROWS: [Row; 10] = [
    ("", "calls", |of| of.calls.to_string()),
    ("", "attempts", |of| of.attempts.to_string()),
    ("attempts a call", "in the whole run", |of| format!("{:.2}", of.load)),
    ("attempts a call", "during the fault", |of| format!("{:.2}", of.load_in_fault)),
    ("attempts a call", "in the worst 10 s", |of| format!("{:.2}", of.load_at_worst)),
    ("calls that succeed", "in the whole run", |of| percent(of.success)),
    ("calls that succeed", "begun during the fault", |of| percent(of.success_in_fault)),
    ("after the fault", "recovered", |of| match of.back {
        None => "never".to_owned(),
        Some(0) => "at once".to_owned(),
        Some(after) => format!("after {after} s"),
    }),
    ("after the fault", "answers too late", |of| percent(of.wasted)),
    ("successes", "99 % of them within", |of| format!("{:.0} ms", of.p99)),
];

fn percent(part: f64) -> String {
    format!("{:.1} %", 100.0 * part)
}

/// The word of a fault.
fn kind(fault: &Value) -> &str {
    fault.get("kind").and_then(Value::as_str).unwrap_or_default()
}

/// The scenario in a sentence.
fn sentence(scenario: &Scenario, fault: &Value) -> String {
    let Scenario { clients, rate, load, begins, seed, .. } = scenario;
    let (up, end) = (scenario.ill().end, scenario.end());
    let kind = kind(fault);
    let share = fault.get("share").map_or(String::new(), |share| format!(" {share}"));
    let calls = if (rate - 1.0).abs() < f64::EPSILON { "a call".to_owned() } else { format!("{rate} calls") };
    format!(
        "{clients} clients, {calls} a second each, {:.0} % of what the server can do; fault `{kind}`{share} from second {begins} to {up} of \
         {end}; seed {seed}",
        100.0 * load
    )
}

/// The figures of the runs side by side, and below them second by second, within `width` columns.
pub(crate) fn text(scenario: &Scenario, fault: &Value, runs: &[Run], width: usize) -> String {
    let mut out =
        textwrap::fill(&sentence(scenario, fault), textwrap::Options::new(width).subsequent_indent("  ")) + "\n\n";
    let rows = ROWS.iter();
    let cells: Vec<Vec<String>> =
        rows.clone().map(|row| runs.iter().map(|run| row.2(&run.figures)).collect()).collect();
    let first = rows.clone().map(|row| row.1.len() + indent(row)).max().unwrap_or_default();
    let names: Vec<_> = runs.iter().map(|run| cut(&run.name, 24)).collect();
    let column = |number: usize| {
        let cells = cells.iter().filter_map(|row| row.get(number)).map(String::len);
        cells.chain(names.get(number).map(|name| name.chars().count())).max().unwrap_or_default()
    };
    // As many policies beside each other as there is room for, at least one.
    let mut from = 0;
    while from < runs.len() {
        let (mut to, mut used) = (from, first);
        while to < runs.len() && (to == from || used + 2 + column(to) <= width) {
            used += 2 + column(to);
            to += 1;
        }
        let line = |label: &str, cells: &[String]| {
            let cells =
                cells.iter().zip(from..to).map(|(cell, number)| format!("  {cell:>width$}", width = column(number)));
            format!("{label:first$}{}", cells.collect::<String>())
        };
        let _ = writeln!(out, "{}", styled(BOLD, line("", names.get(from..to).unwrap_or_default()).trim_end()));
        let mut group = "";
        for (row, cells) in rows.clone().zip(&cells) {
            if row.0 != group {
                group = row.0;
                let _ = writeln!(out, "{group}");
            }
            let label = format!("{:indent$}{}", "", row.1, indent = indent(row));
            let _ = writeln!(out, "{}", line(&label, cells.get(from..to).unwrap_or_default()));
        }
        out.push('\n');
        from = to;
    }
    time_lines(&mut out, scenario, runs, &names, width);
    for run in runs.iter().filter(|run| run.measures.cut) {
        let text = format!("{} made so many attempts that its run ended early", run.name);
        let _ = writeln!(out, "{}: {text}", styled(WARNING, "warning"));
    }
    out
}

const fn indent(row: &Row) -> usize {
    if row.0.is_empty() { 0 } else { 2 }
}

/// Lines of blocks: attempts, and successes below them, a column for some seconds.
fn time_lines(out: &mut String, scenario: &Scenario, runs: &[Run], names: &[String], width: usize) {
    let label = names.iter().map(|name| name.chars().count()).max().unwrap_or_default() + 2;
    let most_columns = width.saturating_sub(label).clamp(10, 100);
    let seconds = (scenario.end() as usize).div_ceil(most_columns).max(1);
    let most = runs.iter().flat_map(|run| parts(&run.measures.attempts, seconds)).fold(0.0, f64::max);
    let calls = scenario.measured_rate();
    let times = most / calls;
    let _ = writeln!(out, "{}", styled(BOLD, format!("attempts, up to {times:.1} a call, and calls that succeed")));
    let columns = (scenario.end() as usize).div_ceil(seconds);
    let ill = scenario.begins as usize / seconds..(scenario.ill().end as usize).div_ceil(seconds);
    let mark = |column| if ill.contains(&column) { '━' } else { '·' };
    let _ =
        writeln!(out, "{}{}", styled(DIM, format!("{:label$}", "fault")), (0..columns).map(mark).collect::<String>());
    for (run, name) in runs.iter().zip(names) {
        let style = if run.figures.back.is_some() { GOOD } else { ERROR };
        let attempts = blocks(parts(&run.measures.attempts, seconds).map(|count| count / most.max(1.0)));
        let good = blocks(parts(&run.measures.goodput, seconds).map(|count| count / calls));
        let _ = writeln!(out, "{name:label$}{attempts}\n{:label$}{}", "", styled(style, good));
    }
}

/// The mean of each so many seconds.
fn parts(counts: &[u32], seconds: usize) -> impl Iterator<Item = f64> {
    counts.chunks(seconds).map(|chunk| chunk.iter().map(|&count| f64::from(count)).sum::<f64>() / chunk.len() as f64)
}

/// A block for each part from 0 to 1, in eighths.
fn blocks(parts: impl Iterator<Item = f64>) -> String {
    const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let line: String = parts.map(|part| BLOCKS.get((8.0 * part + 0.5) as usize).copied().unwrap_or('█')).collect();
    line.trim_end().to_owned()
}

/// The runs as JSON.
pub(crate) fn data(scenario: &Scenario, fault: &Value, runs: &[Run]) -> String {
    let Scenario { clients, rate, load, begins, lasts, after, patience, seed, .. } = scenario;
    let runs = runs.iter().map(|Run { name, figures, measures }| {
        json!({
            "policy": name, "figures": figures, "cut": measures.cut, "calls": measures.calls, "attempts": measures.attempts,
            "goodput": measures.goodput, "successes": measures.successes,
        })
    });
    let runs: Vec<_> = runs.collect();
    let scenario = json!({
        "clients": clients, "rate": rate, "load": load, "fault": fault, "begins": begins, "lasts": lasts, "after": after,
        "patience": patience, "seed": seed.to_string(), "capacity": scenario.capacity(),
    });
    format!("{}\n", json!({ "scenario": scenario, "runs": runs }))
}

/// The height of a policy's row in the picture, in pixels.
const ROW: f64 = 72.0;

/// The runs as SVG, a row each.
pub(crate) fn drawing(scenario: &Scenario, fault: &Value, runs: &[Run]) -> String {
    let lanes = runs.iter().map(|Run { name, figures, measures }| Lane { name, scenario, measures, figures });
    let title = format!("{} clients, fault {}", scenario.clients, kind(fault));
    draw(&title, &lanes.collect::<Vec<_>>(), ROW)
}
