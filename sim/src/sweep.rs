//! Sweeps: one strategy under outages of several lengths, at several rates of calls, each beside the same outage without retries or
//! without a budget.

use crate::bounds::{Bound, Figures};
use crate::fleet::run;
use crate::scenario::Scenario;
use crate::strategy::Strategy;
use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// A sweep of sim/storm.json.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    title: String,
    /// The name of the strategy that is measured, and of the one beside it.
    strategy: String,
    beside: String,
    /// Fields of [`Scenario`].
    #[serde(default)]
    scenario: Map<String, Value>,
    /// The lengths of the outage, in seconds.
    lasts: Vec<f64>,
    /// Calls a second of each client.
    rates: Vec<f64>,
    bounds: Vec<FromRate>,
    /// Played by the tests, too.
    #[serde(default)]
    quick: bool,
}

/// A bound, and from which rate of calls on it holds.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FromRate {
    bound: SweepBound,
    #[serde(default)]
    from: f64,
}

/// A bound of one figure, or of one figure beside the other strategy.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
enum SweepBound {
    Absolute(Bound),
    Beside(Beside),
}

/// A bound beside the other strategy.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Beside {
    /// The share of successful calls in the whole run may be less by so much.
    SuccessLess(f64),
    /// The share of successful calls among those of the outage is at least so many times that of the other.
    #[serde(rename = "kept_times")]
    Ratio(f64),
}

impl SweepBound {
    fn missed(self, figures: &Figures, beside: &Figures) -> Option<String> {
        let (share, least) = match self {
            Self::Absolute(bound) => return bound.missed(figures),
            Self::Beside(Beside::SuccessLess(less)) => (figures.success, beside.success - less),
            Self::Beside(Beside::Ratio(times)) => (figures.success_in_fault, beside.success_in_fault * times),
        };
        (share < least)
            .then(|| format!("{:.2} % of the calls succeed, fewer than {:.2} %", 100.0 * share, 100.0 * least))
    }
}

/// Runs sweeps, only the ones of the tests if `quick`, with that many calls a second of all clients. Returns the tables, and each bound that
/// is missed.
///
/// # Errors
/// A sweep is wrong.
pub fn sweeps(
    sweeps: &[Sweep],
    strategies: &BTreeMap<String, Strategy>,
    seed: u64,
    calls: f64,
    quick: bool,
) -> Result<(String, Vec<String>)> {
    let (mut text, mut missed) = (String::new(), Vec::new());
    for sweep in sweeps.iter().filter(|sweep| sweep.quick || !quick) {
        let (table, found) = sweep.run(strategies, seed, calls).with_context(|| format!("sweep `{}`", sweep.title))?;
        let _ = write!(text, "\n{}\n\n{table}", sweep.title);
        missed.extend(found);
    }
    Ok((text, missed))
}

impl Sweep {
    fn run(&self, strategies: &BTreeMap<String, Strategy>, seed: u64, calls: f64) -> Result<(String, Vec<String>)> {
        let strategy = |name: &str| strategies.get(name).with_context(|| format!("there is no strategy `{name}`"));
        let (own, beside) = (strategy(&self.strategy)?, strategy(&self.beside)?);
        let shared: Scenario = serde_json::from_value(Value::Object(self.scenario.clone()))?;
        let mut cells = Vec::new();
        for lasts in &self.lasts {
            for rate in &self.rates {
                let clients = ((calls / rate) as u32).max(1);
                let scenario = Scenario { lasts: *lasts, rate: *rate, clients, seed, ..shared.clone() };
                scenario.check()?;
                cells.push(scenario);
            }
        }
        let figures = at_once(&cells, own, beside);
        let mut text = format!("{:<9}", "lasts");
        for rate in &self.rates {
            let _ = write!(text, " {:>24}", format!("{rate} calls/s"));
        }
        text.push('\n');
        let mut missed = Vec::new();
        for (row, lasts) in figures.chunks(self.rates.len()).zip(&self.lasts) {
            let _ = write!(text, "{:<9}", format!("{lasts} s"));
            for ((figures, other), rate) in row.iter().zip(&self.rates) {
                let cell =
                    format!("{} {:.2} {} [{}]", back(figures), figures.load_in_fault, success(figures), success(other));
                let _ = write!(text, " {cell:>24}");
                let bounds = self.bounds.iter().filter(|held| *rate >= held.from);
                missed.extend(
                    bounds
                        .filter_map(|held| held.bound.missed(figures, other))
                        .map(|what| format!("{}: {lasts} s at {rate} calls a second: {what}", self.title)),
                );
            }
            text.push('\n');
        }
        Ok((text, missed))
    }
}

fn back(figures: &Figures) -> String {
    figures.back.map_or("never".to_owned(), |after| format!("{after} s"))
}

fn success(figures: &Figures) -> String {
    format!("{:.1}", 100.0 * figures.success)
}

/// The figures of each scenario under both strategies, as many at once as the machine can.
fn at_once(cells: &[Scenario], own: &Strategy, beside: &Strategy) -> Vec<(Figures, Figures)> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let number = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(scenario) = cells.get(number)
                {
                    let figures = |strategy| Figures::of(scenario, &run(scenario, strategy));
                    let both = (figures(own), figures(beside));
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((number, both));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, both)| both).collect()
}
