//! Files recorded from the reference systems, in their own formats: which core machine runs which kind.
//!
//! `{ kind, source, schema, cases: [{ name, config, inputs, expected, note? }] }`. A runner reads a case's configuration
//! into a core machine, hands it the inputs, and compares; it decides nothing itself.

mod aster;
mod aster_estimate;
mod aster_log;
mod k8s;
mod k8s_keyed;
mod k8s_periodic;
mod langgraphgo;
mod langgraphgo_extras;
mod langgraphgo_graph;

use crate::run::Tally;
use serde::Deserialize;
use serde_json::Value;

/// A recorded file.
#[derive(Deserialize)]
pub struct Recorded {
    /// Which system and machine it was recorded from.
    pub kind: String,
    /// The recordings.
    pub cases: Vec<Recording>,
}

/// What one run of the original was given and what it did.
#[derive(Deserialize)]
pub struct Recording {
    /// What the case shows.
    pub name: String,
    /// The original's configuration.
    #[serde(default)]
    pub config: Value,
    /// What happened to it, in order.
    #[serde(default)]
    pub inputs: Vec<Value>,
    /// What it did.
    #[serde(default)]
    pub expected: Vec<Value>,
}

impl Recorded {
    /// Reads a recorded file. A recorder may write a whole number as 2.0.
    ///
    /// # Errors
    /// For a text that is no recorded file.
    pub fn read(text: &str) -> serde_json::Result<Self> {
        let mut content = serde_json::from_str(text)?;
        whole_numbers(&mut content);
        serde_json::from_value(content)
    }
}

/// Makes whole numbers of those that are written with a fraction of nothing.
fn whole_numbers(value: &mut Value) {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) if number.is_f64() => {
            if let Some(whole) = number.as_f64().filter(|real| real.fract() == 0.0 && real.abs() <= EXACT) {
                *value = Value::from(whole as i64);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(fields) => fields.values_mut().for_each(whole_numbers),
        _ => {}
    }
}

impl Recording {
    /// Whether the recorded result depends on the processor.
    fn is_impl_defined(&self) -> bool {
        self.config["impl_defined"] == true
    }

    /// Each input with what was recorded for it.
    fn steps(&self) -> Result<impl Iterator<Item = (usize, (&Value, &Value))>, String> {
        let (inputs, expected) = (self.inputs.len(), self.expected.len());
        if inputs != expected {
            return Err(format!("{inputs} inputs, but {expected} results"));
        }
        Ok(self.inputs.iter().zip(&self.expected).enumerate())
    }
}

/// What became of a recording.
pub enum Verdict {
    /// All inputs match, but for this many of which the original's result is no example (docs/internals/compat.md).
    Same {
        /// Inputs whose original result wraps, is out of range or depends on the processor.
        deviations: usize,
    },
    /// The configuration is outside the declared domain (docs/internals/compat.md), and what is promised there holds.
    OutOfDomain,
}

impl Verdict {
    /// Every input matches.
    pub const SAME: Self = Self::Same { deviations: 0 };
}

/// Runs one recording.
pub type Runner = fn(&Recording) -> Result<Verdict, String>;

/// The runner of a kind.
pub fn runner(kind: &str) -> Option<Runner> {
    RUNNERS.iter().find(|known| known.0 == kind).map(|known| known.1)
}

const RUNNERS: &[(&str, Runner)] = &[
    ("aster", aster::aster),
    ("aster_estimate", aster_estimate::estimate),
    ("k8s_backoff", k8s::backoff),
    ("k8s_backoffuntil", k8s_periodic::until),
    ("k8s_exponential_backoff", k8s_periodic::condition),
    ("k8s_flowcontrol", k8s_keyed::flowcontrol),
    ("k8s_manager", k8s_periodic::manager),
    ("k8s_poll", k8s_periodic::poll),
    ("k8s_workqueue", k8s_keyed::workqueue),
    ("langgraphgo_extras", langgraphgo_extras::extras),
    ("langgraphgo_graph", langgraphgo_graph::graph),
    ("langgraphgo_retrynode", langgraphgo::retry_node),
];

/// Runs the recordings of a file.
pub fn run(file: &Recorded, runner: Runner) -> Tally {
    let mut tally = Tally::default();
    for case in &file.cases {
        let has_config = case.config.is_object() || case.config.is_null();
        let verdict = if has_config { runner(case) } else { Err(format!("no configuration: {}", case.config)) };
        match verdict {
            Ok(Verdict::Same { deviations }) => {
                tally.passed += 1;
                tally.deviations += deviations;
            }
            Ok(Verdict::OutOfDomain) => tally.deviations += 1,
            Err(why) => tally.failed.push(format!("{}: {why}", case.name)),
        }
    }
    tally
}
