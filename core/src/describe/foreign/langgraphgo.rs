//! langgraphgo's two levels of retry: a node's RetryConfig and a graph's RetryPolicy.

use super::said::{EXPONENTIAL, FIXED, Item, LINEAR, Said};
use super::{Shape, kubernetes};
use crate::decide::backoff::Backoff;
use crate::decide::jitter::Jitter;
use crate::decide::policy::Policy;
use crate::error::{Error, Quantity};
use core::time::Duration;

pub(super) const NODE: Shape = Shape {
    fields: &[
        ("MaxAttempts", Item::Attempts),
        ("InitialDelay", Item::Initial),
        ("MaxDelay", Item::Max),
        ("BackoffFactor", Item::Factor),
        ("RetryableErrors", Item::Function),
    ],
    unknown: "is no field of langgraphgo's RetryConfig",
    rule,
    policy: node,
    said: said_of_node,
};

pub(super) const GRAPH: Shape = Shape {
    fields: &[("MaxRetries", Item::Attempts), ("BackoffStrategy", Item::Strategy), ("RetryableErrors", Item::Patterns)],
    unknown: "is no field of langgraphgo's RetryPolicy",
    rule: rule_of_graph,
    policy: graph,
    said: said_of_graph,
};

const fn rule(item: Item) -> &'static str {
    match item {
        Item::Attempts => "must be a whole number from 1 on",
        Item::Factor => "must be a finite number from 0 on",
        Item::Function => {
            "is a function in langgraphgo, which no document holds: retry_on says which errors are retried"
        }
        _ => "must be a time from 0 on: whole nanoseconds, or text such as \"1m30s\"",
    }
}

const fn rule_of_graph(item: Item) -> &'static str {
    match item {
        Item::Attempts => "must be a whole number from 0 on",
        Item::Strategy => "must be 0 or \"fixed\", 1 or \"exponential\", 2 or \"linear\"",
        _ => "must be a list of texts",
    }
}

/// A missing field is zero, as in Go. `MaxDelay` bounds the delays after the first one.
fn node(said: &Said) -> Result<Policy, Error> {
    if said.attempts == 0 {
        return Err(Error::form_value("MaxAttempts", rule(Item::Attempts), Quantity::Number(0.0)));
    }
    if !(said.factor >= 0.0 && said.factor.is_finite()) {
        return Err(Error::form_value("BackoffFactor", rule(Item::Factor), Quantity::Number(said.factor)));
    }
    let builder = if said.initial <= said.max && kubernetes::is_steady(said.initial, said.factor) {
        Policy::options().backoff(Backoff::constant(Duration::from_nanos(said.initial)))
    } else {
        kubernetes::bounded(said.initial, said.factor, said.max, false)
    };
    builder.jitter(Jitter::None).attempts(said.count()).build()
}

fn said_of_node(policy: &Policy) -> Said {
    let mut said = super::write::exponential(policy);
    let constant = matches!(policy.stages().next().map(|stage| stage.backoff), Some(Backoff::Constant { .. }));
    if constant && policy.stages().count() == 1 {
        said.max = said.initial;
    }
    said
}

const SECOND: Duration = Duration::from_secs(1);

/// Every strategy starts from one second and has no limit.
fn graph(said: &Said) -> Result<Policy, Error> {
    let backoff = match said.strategy {
        EXPONENTIAL => Backoff::exponential(SECOND, 2.0),
        LINEAR => Backoff::linear(SECOND, SECOND),
        _ => Backoff::constant(SECOND),
    };
    let attempts = said.count().saturating_add(1).min(u32::MAX.wrapping_sub(1));
    Policy::options().backoff(backoff).jitter(Jitter::None).attempts(attempts).build()
}

fn said_of_graph(policy: &Policy) -> Said {
    let strategy = match policy.stages().next().map(|stage| stage.backoff) {
        Some(Backoff::Exponential { .. }) => EXPONENTIAL,
        Some(Backoff::Linear { .. }) => LINEAR,
        _ => FIXED,
    };
    let attempts = policy.attempts().unwrap_or(1).saturating_sub(1);
    Said { strategy, attempts: attempts.into(), ..Said::NOTHING }
}
