//! The runs that are shown, what they must show, and the text that shows it.

use crate::fleet::{Scenario, run};
use crate::measure::Measures;
use crate::server::Fault;
use crate::strategy::{self, Claim, Strategy};
use anyhow::Result;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// The most attempts for each call under a budget.
const CALM: f64 = 1.2;
/// How many seconds after the fault the goodput must be back.
const BACK: u64 = 10;
/// From how many attempts a call on it is a storm.
const STORM: f64 = 2.0;
/// After how many seconds without the old goodput it is one.
const LOST: u64 = 20;
/// How many seconds the worst ones are.
const WORST: u64 = 10;
/// When the level before the fault is measured.
const BEFORE: std::ops::Range<u64> = 10..30;

/// One line of a table: who, what happens to the server, how often each client calls.
struct Row {
    strategy: Strategy,
    scenario: Scenario,
}

/// A finished line.
struct Line {
    row: Row,
    measures: Measures,
    figures: Figures,
}

/// The figures of a run.
struct Figures {
    calls: u64,
    attempts: u64,
    /// Attempts for each call: in the whole run, in the outage, in the worst seconds.
    load: [f64; 3],
    /// Successful calls of all calls, and of the calls that began during the fault.
    success: [f64; 2],
    /// Successes for each call in the first seconds after the fault.
    after: f64,
    recovery: Option<u64>,
    p99: f64,
    wasted: f64,
}

/// The report of all runs.
#[derive(Debug)]
pub struct Report {
    /// The tables and time lines.
    pub text: String,
    /// Each claim that does not hold.
    pub missed: Vec<String>,
}

/// Runs everything with that seed.
///
/// # Errors
/// None of the strategies is invalid; the core checks them all the same.
pub fn report(seed: u64) -> Result<Report> {
    let table = |strategies: Vec<Strategy>, rates: &[f64], fault| {
        let rows = rates.iter().flat_map(move |&rate| {
            let scenario = Scenario::of(rate, fault, seed);
            strategies.clone().into_iter().map(move |strategy| Row { strategy, scenario: scenario.clone() })
        });
        rows.collect::<Vec<_>>()
    };
    let small = vec![
        strategy::retries_only()?,
        strategy::budgeted()?.claiming(Claim::Recovers),
        strategy::purse()?.claiming(Claim::Recovers),
    ];
    let slow = [
        strategy::single(),
        strategy::retries_only(),
        strategy::budgeted(),
        strategy::budgeted_breaker(),
        strategy::purse(),
    ];
    let slow = slow.into_iter().map(|strategy| Ok(strategy?.claiming(Claim::None))).collect::<Result<Vec<_>>>()?;
    let tables = [
        table(strategy::all()?, &[1.0], Fault::Down),
        table(small, &[0.3, 0.1, 0.03], Fault::Down),
        table(slow, &[1.0, 0.1], Fault::Slow),
    ];
    let lengths = tables.each_ref().map(Vec::len);
    let mut lines = at_once(tables.into_iter().flatten().collect()).into_iter();
    let [outage, sizes, slow] = lengths.map(|length| lines.by_ref().take(length).collect::<Vec<_>>());

    let mut text = format!("10,000 clients, seed {seed}\n\n");
    text += "A server that is down for 30 s; each client makes 1 call a second\n\n";
    text += &shown(&outage);
    text += "\nThe same, second by second: attempts (a full block: 2.5 times what the server can do), below them successes\n";
    text += "(a full block: all calls)\n\n";
    text += &time_lines(&outage);
    text += "\nThe same outage, for clients that call less often\n\n";
    text += &shown(&sizes);
    text += "\nA server that is not down but works at half its speed for 30 s\n\n";
    text += &shown(&slow);
    let missed = [outage, sizes, slow].iter().flatten().flat_map(missed).collect();
    Ok(Report { text, missed })
}

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
        let ill = row.scenario.ill.clone();
        let figures = Figures {
            calls: measures.total_calls(),
            attempts: measures.total_attempts(),
            load: [
                measures.multiplier(measures.all()),
                measures.multiplier(ill.clone()),
                measures.worst_multiplier(WORST),
            ],
            success: [measures.success(measures.all()), measures.success(ill.clone())],
            after: measures.yielded(ill.end..ill.end + BACK),
            recovery: measures.recovery(ill.end, measures.yielded(BEFORE)),
            p99: measures.quantile(0.99),
            wasted: measures.wasted(),
        };
        Self { row, measures, figures }
    }
}

/// The part of a line's claim that does not hold.
fn missed(line: &Line) -> Vec<String> {
    let Figures { load, recovery, .. } = &line.figures;
    let mut missed = Vec::new();
    let claim = line.row.strategy.claim;
    if claim == Claim::Calm {
        for (what, load) in ["in the whole run", "in the outage", "in the worst 10 s"].into_iter().zip(load) {
            if *load > CALM {
                missed.push(format!("{load:.3} attempts a call {what}, more than {CALM}"));
            }
        }
    }
    if matches!(claim, Claim::Calm | Claim::Recovers) && recovery.is_none_or(|after| after > BACK) {
        missed.push(format!("the goodput is not back within {BACK} s"));
    }
    if claim == Claim::Storm && load[0] <= STORM && recovery.is_some_and(|after| after <= LOST) {
        missed.push("there is no storm, so the other rows prove nothing".to_owned());
    }
    let Row { strategy, scenario } = &line.row;
    missed.into_iter().map(|what| format!("{} at {} calls a second: {what}", strategy.name, scenario.rate)).collect()
}

/// The two lines above each table: its columns, and last the first one.
const HEAD: [[&str; 13]; 2] = [
    ["calls", "", "", "load", "load", "load", "kept", "kept", "next", "back", "p99", "", ""],
    ["/s", "calls", "attempts", "run", "outage", "worst", "run", "outage", "10 s", "after", "ms", "wasted", "client"],
];

/// A table of lines.
fn shown(lines: &[Line]) -> String {
    let mut text = String::new();
    for [rate, calls, attempts, run, outage, worst, kept, kept_ill, next, back, p99, wasted, name] in HEAD {
        let line = format!(
            "{name:<19} {rate:>5} {calls:>9} {attempts:>9}  {run:>5} {outage:>6} {worst:>5}  {kept:>6} {kept_ill:>6}  \
             {next:>6} {back:>6}  {p99:>6} {wasted:>6}"
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    for Line { row, figures, .. } in lines {
        let Figures { calls, attempts, load, success, after, recovery, p99, wasted } = figures;
        let back = recovery.map_or("never".to_owned(), |after| format!("{after} s"));
        let part = |part: f64| format!("{:.1} %", 100.0 * part);
        let _ = writeln!(
            text,
            "{:<19} {:>5} {calls:>9} {attempts:>9}  {:>5.3} {:>6.3} {:>5.3}  {:>6} {:>6}  {:>6.3} {back:>6}  {p99:>6.0} {:>6}",
            row.strategy.name,
            row.scenario.rate,
            load[0],
            load[1],
            load[2],
            part(success[0]),
            part(success[1]),
            after,
            part(*wasted),
        );
    }
    text
}

/// How much a full block of the load is, in the server's capacity.
const FULL: f64 = 2.5;

fn time_lines(lines: &[Line]) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{:<19} {:<30}{:<30}up", "", "0 s", "down");
    for Line { row, measures, .. } in lines {
        let capacity = row.scenario.capacity();
        let load = measures.attempts.iter().map(|&n| f64::from(n) / (FULL * capacity));
        let calls = f64::from(row.scenario.clients) * row.scenario.rate;
        let good = measures.goodput.iter().map(|&n| f64::from(n) / calls);
        let _ = writeln!(text, "{:<19} {}", row.strategy.name, sparkline(load));
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

    #[test]
    fn a_line_shows_its_numbers_in_eighths() {
        assert_eq!(sparkline([0.0, 0.125, 0.5, 1.0, 7.0, 0.01].into_iter()), " ▁▄██");
    }

    #[test]
    fn a_run_is_a_function_of_its_seed() {
        let scenario = Scenario { clients: 200, end: 70, ..Scenario::of(1.0, Fault::Down, 7) };
        let strategy = strategy::budgeted_breaker().unwrap();
        let shown = |seed| {
            let scenario = Scenario { seed, ..scenario.clone() };
            let measures = run(&scenario, &strategy);
            shown(&[Line::new(Row { strategy: strategy.clone(), scenario }, measures)])
        };
        assert_eq!(shown(7), shown(7));
        assert_ne!(shown(7), shown(8));
    }

    #[test]
    fn a_missed_bound_is_said() {
        let scenario = Scenario { clients: 200, ..Scenario::of(1.0, Fault::Down, 7) };
        let line = |strategy: Strategy| {
            let measures = run(&scenario, &strategy);
            Line::new(Row { strategy, scenario: scenario.clone() }, measures)
        };
        assert_eq!(missed(&line(strategy::retries_only().unwrap().claiming(Claim::Calm))).len(), 4);
        assert_eq!(missed(&line(strategy::retries_only().unwrap())), Vec::<String>::new());
        assert_eq!(missed(&line(strategy::single().unwrap().claiming(Claim::Storm))).len(), 1);
    }

    #[test]
    fn the_guide_shows_the_table_of_the_snapshot() {
        let snapshot = include_str!("../storm.txt");
        let guide = include_str!("../../docs/storm.md");
        let (_, shown) = snapshot.split_once("\n\n").unwrap();
        assert!(guide.contains(shown.trim_end()), "docs/storm.md is stale");
    }
}
