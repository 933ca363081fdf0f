//! The trace of a host: the one JSON document that it prints.

use serde::Deserialize;

/// The whole document.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct Trace {
    /// The runs, in the order of the plan.
    pub runs: Vec<Run>,
}

/// One call of one path.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct Run {
    /// The path of the plan.
    pub path: String,
    /// The attempts, in order.
    pub attempts: Vec<Attempt>,
}

/// One attempt and the decision after it. Times are decimal numbers in strings.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Attempt {
    /// The number, from 1.
    pub attempt: u32,
    /// A status, `lost` for a broken connection, `timeout` for an attempt that was aborted.
    pub saw: String,
    /// The kind of failure, unless it was none.
    pub failure: Option<String>,
    /// `none`, `never`, or the nanoseconds the server asked for.
    pub hint: Option<String>,
    /// `sleep`, `gave_up` or `succeeded`.
    pub decision: String,
    /// How long the sleep is, in nanoseconds.
    pub delay_ns: Option<String>,
    /// Why it is that long.
    pub cause: Option<String>,
    /// Why there is no other attempt.
    pub reason: Option<String>,
}
