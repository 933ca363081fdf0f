//! langgraphgo's two levels of retry: a node's RetryConfig and a graph's RetryPolicy.

use super::exponential;
use super::values::{ANY, EXPONENTIAL, FIXED, FROM_ZERO, Item, Kind, LINEAR, Row, System, Values, row};
use crate::decide::backoff::Backoff;
use crate::decide::jitter::Jitter;
use crate::decide::policy::Policy;
use crate::describe::options::Options;
use crate::error::Error;
use core::time::Duration;

pub(super) const NODE: System = System::alone(
    &[&NODE_FIELDS],
    ["is not a field of langgraphgo's RetryConfig", "langgraphgo's RetryConfig cannot express this"],
    // A missing field is zero, as in Go. `MaxDelay` bounds the delays after the first one.
    |values| values.check(&NODE_FIELDS).map(|()| exponential::import(values, false)),
    exponential::export,
);

pub(super) const GRAPH: System = System::alone(
    &[&GRAPH_FIELDS],
    ["is not a field of langgraphgo's RetryPolicy", "langgraphgo's RetryPolicy cannot express this"],
    import_graph,
    export_graph,
);

const TIME: &str = "must be a time, 0 or more: whole nanoseconds, or text such as \"1m30s\"";
const FUNCTION: &str = "is a function, which no document can hold: use rules";
const NODE_FIELDS: [Row; 5] = [
    row("MaxAttempts", Item::Attempts, Kind::Count, 1.0..=f64::MAX, "must be a whole number, 1 or more"),
    row("InitialDelay", Item::Initial, Kind::Nanos, ANY, TIME),
    row("MaxDelay", Item::Max, Kind::Nanos, ANY, TIME),
    row("BackoffFactor", Item::Factor, Kind::Number, FROM_ZERO, "must be a finite number, 0 or more"),
    row("RetryableErrors", Item::NoValue, Kind::Function, ANY, FUNCTION),
];

const STRATEGY: &str = "must be 0 or \"fixed\", 1 or \"exponential\", 2 or \"linear\"";
const WORDS: &[(&str, u64)] = &[
    ("fixed", FIXED),
    ("exponential", EXPONENTIAL),
    ("linear", LINEAR),
    ("FixedBackoff", FIXED),
    ("ExponentialBackoff", EXPONENTIAL),
    ("LinearBackoff", LINEAR),
];
const GRAPH_FIELDS: [Row; 3] = [
    row("MaxRetries", Item::Attempts, Kind::Count, ANY, "must be a whole number, 0 or more"),
    row("BackoffStrategy", Item::Strategy, Kind::WordNumber(WORDS), ANY, STRATEGY),
    row("RetryableErrors", Item::Patterns, Kind::Patterns, ANY, "must be a list of texts"),
];

const SECOND: Duration = Duration::from_secs(1);

/// Every strategy starts from one second and has no limit.
fn import_graph(values: &Values) -> Result<Options, Error> {
    let backoff = match values.at(Item::Strategy) {
        EXPONENTIAL => Backoff::exponential(SECOND, 2.0),
        LINEAR => Backoff::linear(SECOND, SECOND),
        _ => Backoff::constant(SECOND),
    };
    let attempts = values.attempts(Item::Attempts).saturating_add(1).min(u32::MAX.wrapping_sub(1));
    Ok(*Policy::options().backoff(backoff).jitter(Jitter::None).attempts(attempts))
}

fn export_graph(policy: &Policy) -> Values {
    let mut values = exponential::export(policy);
    values.put(Item::Attempts, values.at(Item::Attempts).saturating_sub(1));
    values.put(Item::Patterns, 0);
    values
}
