//! Aster's RetryPolicy of a workflow: exponential by 2 or linear, and up to half the base delay more.

use super::Shape;
use super::said::{EXPONENTIAL, Item, LINEAR, Said};
use crate::decide::backoff::Backoff;
use crate::decide::jitter::Jitter;
use crate::decide::policy::Policy;
use crate::error::{Error, Quantity};
use crate::time::Span;

pub(super) const SHAPE: Shape = Shape {
    fields: &[("maxAttempts", Item::Attempts), ("backoff", Item::Strategy), ("baseDelayMs", Item::Initial)],
    unknown: "is no field of Aster's RetryPolicy",
    rule,
    policy,
    said,
};

const fn rule(item: Item) -> &'static str {
    match item {
        Item::Attempts => "must be a whole number from 1 to 2147483647",
        Item::Strategy => "must be \"exponential\" or \"linear\"",
        _ => "must be whole milliseconds from 0 on",
    }
}

/// Milliseconds in nanoseconds.
pub(super) const MILLI: u64 = 1_000_000;

/// The base delay is a second unless given, as the language's compiler has it; a backoff that is not given is linear, as its
/// runtime has it.
fn policy(said: &Said) -> Result<Policy, Error> {
    if said.attempts == 0 || said.is_beyond_int() {
        let given = Quantity::Number(said.attempts as f64);
        return Err(Error::form_value("maxAttempts", rule(Item::Attempts), given));
    }
    let millis = if said.has(Item::Initial) { said.initial / MILLI } else { 1000 };
    let base = Span::from_millis(millis).as_duration();
    let backoff = match said.strategy {
        EXPONENTIAL => Backoff::exponential(base, 2.0),
        _ => Backoff::linear(base, base),
    };
    let bound = Span::from_millis(millis / 2);
    let jitter = if bound == Span::ZERO { Jitter::None } else { Jitter::Bounded { bound } };
    Policy::options().backoff(backoff).jitter(jitter).attempts(said.count()).build()
}

fn said(policy: &Policy) -> Said {
    let (initial, strategy) = match policy.stages().next().map(|stage| stage.backoff) {
        Some(Backoff::Exponential { initial, .. }) => (initial, EXPONENTIAL),
        Some(Backoff::Linear { initial, .. }) => (initial, LINEAR),
        _ => (Span::ZERO, LINEAR),
    };
    let attempts = policy.attempts().unwrap_or(1);
    let mut said = Said { initial: initial.as_nanos(), strategy, attempts: attempts.into(), ..Said::NOTHING };
    said.give(Item::Initial);
    said
}
