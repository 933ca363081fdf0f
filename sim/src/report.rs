//! Runs the tables, and prints them.

use crate::bounds::Figures;
use crate::contention::contention;
use crate::drawing::{Lane, draw};
use crate::fleet::run;
use crate::measure::Measures;
use crate::scenes::{Drawing, Row, Scenes, Table, scenes};
use crate::{bursts, picture, sweep};
use anyhow::{Context as _, Result};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Standard errors between two means, below which chance alone keeps 30 pairs of any seed; 499 of 500 times.
const FAR: f64 = 4.0;

/// A finished line.
struct Line {
    row: Row,
    measures: Measures,
    figures: Figures,
}

/// The report of all runs.
#[derive(Debug)]
pub struct Report {
    /// The tables and time lines.
    pub text: String,
    /// Each bound that does not hold.
    pub missed: Vec<String>,
    /// Drawings: each file, from the root of the repository, and its content.
    pub drawings: Vec<(String, String)>,
}

/// Runs everything with that seed.
///
/// # Errors
/// sim/storm.json is wrong.
pub fn report(seed: u64) -> Result<Report> {
    let Scenes { tables, sweeps, strategies } = read(seed)?;
    let mut lines = at_once(tables.iter().flat_map(|table| table.rows.clone()).collect()).into_iter();
    let mut report = Report { text: format!("seed {seed}\n"), missed: Vec::new(), drawings: Vec::new() };
    for Table { title, rows, is_drawn, drawings } in tables {
        let lines: Vec<_> = lines.by_ref().take(rows.len()).collect();
        let _ = write!(report.text, "\n{title}\n\n{}", shown(&lines));
        if is_drawn {
            report.text += "\nThe same, second by second: attempts (a full block: 2.5 times what the server can do), below them \
                            successes\n(a full block: all calls)\n\n";
            report.text += &time_lines(&lines);
        }
        report.missed.extend(lines.iter().flat_map(|line| missed(&title, line)));
        report.drawings.extend(drawings.into_iter().map(|drawing| drawn(drawing, &title, &lines)));
    }
    let (text, found) = sweep::sweeps(&sweeps, &strategies, seed, CALLS, false)?;
    report.text += &text;
    report.missed.extend(found);
    let (text, found) = bursts::table(seed)?;
    let _ =
        write!(report.text, "\nCalls at once that the budget of loops loses, of those that no budget saves\n\n{text}");
    report.missed.extend(found);
    let (text, worst) = contention(seed)?;
    let _ =
        write!(report.text, "\nClients that contend for one row, as in AWS's simulator: means of 100 runs\n\n{text}");
    if worst > FAR {
        report.missed.push(format!("contention: a mean is {worst:.1} standard errors from the recorded one"));
    }
    Ok(report)
}

/// The sweeps that tests play, with a thousand calls a second, and the bursts: only the bounds.
///
/// # Errors
/// sim/storm.json is wrong.
pub fn quick(seed: u64) -> Result<Report> {
    let Scenes { sweeps, strategies, .. } = read(seed)?;
    let (mut text, mut missed) = sweep::sweeps(&sweeps, &strategies, seed, QUICK_CALLS, true)?;
    let (table, found) = bursts::table(seed)?;
    text += &table;
    missed.extend(found);
    Ok(Report { text, missed, drawings: Vec::new() })
}

fn read(seed: u64) -> Result<Scenes> {
    scenes(include_str!("../storm.json"), seed).context("sim/storm.json")
}

/// Calls a second of all clients of a sweep.
const CALLS: f64 = 3000.0;
/// The same in tests.
const QUICK_CALLS: f64 = 1000.0;

/// Runs each row, as many at once as the machine can.
fn at_once(rows: Vec<Row>) -> Vec<Line> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let number = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(row) = rows.get(number)
                {
                    let measures = run(&row.scenario, &row.strategy);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((number, measures));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    rows.into_iter().zip(done).map(|(row, (_, measures))| Line::new(row, measures)).collect()
}

impl Line {
    fn new(row: Row, measures: Measures) -> Self {
        let figures = Figures::of(&row.scenario, &measures);
        Self { row, measures, figures }
    }

    fn name(&self) -> &str {
        self.row.name.as_ref().unwrap_or(&self.row.strategy.name)
    }

    /// The row of a drawing, with another name if one is given.
    fn lane<'a>(&'a self, name: Option<&'a str>) -> Lane<'a> {
        let Self { row, measures, figures } = self;
        Lane { name: name.unwrap_or(self.name()), scenario: &row.scenario, measures, figures }
    }
}

/// A drawing of some lines: its file and its content.
fn drawn(drawing: Drawing, title: &str, lines: &[Line]) -> (String, String) {
    let title = drawing.title.as_deref().unwrap_or(title);
    let lanes: Vec<_> = match &drawing.rows {
        None => lines.iter().map(|line| line.lane(None)).collect(),
        Some(rows) => {
            let names = drawing.names.iter().map(|name| Some(name.as_str())).chain(std::iter::repeat(None));
            let named = rows.iter().zip(names);
            named.filter_map(|(row, name)| Some(lines.iter().find(|line| line.name() == row)?.lane(name))).collect()
        }
    };
    let content = match drawing.half {
        Some(half) => picture::draw(half, title, &lanes),
        None => draw(title, &lanes, drawing.height),
    };
    (drawing.file, content)
}

/// The bounds that a line misses.
fn missed(title: &str, line: &Line) -> Vec<String> {
    let rate = line.row.scenario.rate;
    let missed = line.row.bounds.iter().filter_map(|bound| bound.missed(&line.figures));
    missed.map(|what| format!("{title}: {} at {rate} calls a second: {what}", line.name())).collect()
}

/// The two lines above each table: its columns, and last the first one.
const HEAD: [[&str; 14]; 2] = [
    ["calls", "", "", "load", "load", "load", "load", "kept", "kept", "next", "back", "p99", "", ""],
    [
        "/s", "calls", "attempts", "run", "fault", "worst", "later", "run", "fault", "10 s", "after", "ms", "wasted",
        "client",
    ],
];

/// A table of lines.
fn shown(lines: &[Line]) -> String {
    let mut text = String::new();
    for [rate, calls, attempts, run, fault, worst, later, kept, kept_in_fault, next, back, p99, wasted, name] in HEAD {
        let line = format!(
            "{name:<19} {rate:>5} {calls:>8} {attempts:>8}  {run:>5} {fault:>5} {worst:>5} {later:>5}  {kept:>7} \
             {kept_in_fault:>7}  {next:>6} {back:>6}  {p99:>6} {wasted:>6}"
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    for line in lines {
        let figures = &line.figures;
        let back = figures.back.map_or("never".to_owned(), |after| format!("{after} s"));
        let _ = writeln!(
            text,
            "{:<19} {:>5} {:>8} {:>8}  {:>5.3} {:>5.3} {:>5.3} {:>5.3}  {:>5.2} % {:>5.2} %  {:>6.3} {back:>6}  {:>6.0} {:>4.1} %",
            line.name(),
            line.row.scenario.rate,
            figures.calls,
            figures.attempts,
            figures.load,
            figures.load_in_fault,
            figures.load_at_worst,
            figures.load_later,
            100.0 * figures.success,
            100.0 * figures.success_in_fault,
            figures.next,
            figures.p99,
            100.0 * figures.wasted,
        );
    }
    text
}

/// How much a full block of the load is, in the server's capacity.
const FULL: f64 = 2.5;

fn time_lines(lines: &[Line]) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{:<19} {:<30}{:<30}up", "", "0 s", "down");
    for line in lines {
        let capacity = line.row.scenario.capacity();
        let load = line.measures.attempts.iter().map(|&n| f64::from(n) / (FULL * capacity));
        let calls = line.row.scenario.measured_rate();
        let good = line.measures.goodput.iter().map(|&n| f64::from(n) / calls);
        let _ = writeln!(text, "{:<19} {}", line.name(), sparkline(load));
        let _ = writeln!(text, "{:<19} {}", "", sparkline(good));
    }
    text
}

/// A block for each part from 0 to 1, in eighths; a blank only for next to nothing.
fn sparkline(parts: impl Iterator<Item = f64>) -> String {
    const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let line: String = parts.map(|part| BLOCKS[((8.0 * part + 0.5) as usize).min(8)]).collect();
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;
    use crate::strategy::Strategy;

    #[test]
    fn a_line_shows_its_numbers_in_eighths() {
        assert_eq!(sparkline([0.0, 0.125, 0.5, 1.0, 7.0, 0.01].into_iter()), " ▁▄██");
    }

    #[test]
    fn a_run_is_a_function_of_its_seed() {
        let strategy = Strategy::read("both", r#"{"budget": "ratio", "breaker": "consecutive"}"#).unwrap();
        let shown = |seed| {
            let scenario = Scenario { clients: 200, after: 10, seed, ..Scenario::default() };
            let measures = run(&scenario, &strategy);
            shown(&[Line::new(Row { name: None, strategy: strategy.clone(), scenario, bounds: Vec::new() }, measures)])
        };
        assert_eq!(shown(7), shown(7));
        assert_ne!(shown(7), shown(8));
    }

    /// A row of the table of docs/storm.md: load in the outage, calls that succeed, and when the server is back.
    fn row(line: &str) -> Option<String> {
        let (name, figures) = line.split_at_checked(19)?;
        let figures: Vec<&str> = figures.split_whitespace().collect();
        let [_, _, _, _, load, _, _, kept, "%", _, "%", _, back @ ..] = figures.as_slice() else { return None };
        let back = if back.first() == Some(&"never") { "never".to_owned() } else { back[..2].join(" ") };
        Some(format!("| {} | {load} | {kept} % | {back} |", name.trim_end()))
    }

    #[test]
    fn the_pages_show_the_tables_of_the_snapshot() {
        let snapshot = include_str!("../storm.txt");
        let (_, tables) = snapshot.split_once("\n\n").unwrap();
        let (first, rest) = tables.split_once("\n\nOther systems: ").unwrap();
        let (peers, rest) = rest.split_once("\n\nShort outages").unwrap();
        let (sweeps, contention) = rest.split_once("\n\nClients that contend").unwrap();
        let page = include_str!("../../docs/internals/storm-tables.md");
        for part in [first, sweeps, contention.trim_end()] {
            assert!(page.contains(part), "docs/internals/storm-tables.md is stale");
        }
        let page = include_str!("../../docs/storm.md");
        let rows: Vec<String> = first.lines().skip_while(|line| !line.starts_with("no retry")).map_while(row).collect();
        let shown: Vec<&str> = page.lines().skip_while(|line| !line.starts_with("| no retry")).take(10).collect();
        assert_eq!(shown.len(), 10);
        assert!(shown.iter().all(|line| rows.iter().any(|row| row == line)), "docs/storm.md is stale: {rows:#?}");
        let page = include_str!("../../docs/internals/storm-peers.md");
        assert!(page.contains(peers), "docs/internals/storm-peers.md is stale");
    }
}
