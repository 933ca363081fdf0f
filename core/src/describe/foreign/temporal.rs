//! Temporal's RetryPolicy: exponential without jitter, and without an end unless it says so.

use super::Shape;
use super::said::{Item, Said};
use crate::decide::backoff::Backoff;
use crate::decide::jitter::Jitter;
use crate::decide::policy::Policy;
use crate::error::{Error, Quantity};
use crate::time::Span;
use core::time::Duration;

pub(super) const SHAPE: Shape = Shape {
    fields: &[
        ("initialInterval", Item::Initial),
        ("backoffCoefficient", Item::Factor),
        ("maximumInterval", Item::Max),
        ("maximumAttempts", Item::Attempts),
        ("nonRetryableErrorTypes", Item::Types),
    ],
    unknown: "is no field of a Temporal RetryPolicy",
    rule,
    policy,
    said,
};

const fn rule(item: Item) -> &'static str {
    match item {
        Item::Attempts => "must be a whole number from 0 to 2147483647, 0 for no limit",
        Item::Factor => "must be a number from 1 on, or 0 for 2",
        Item::Types => "must be a list of the names of types",
        Item::Max => "must be a time not below initialInterval in seconds, such as \"100s\"",
        _ => "must be a time from 0 on in seconds, such as \"0.1s\"",
    }
}

/// A missing field, or zero, has a default (docs.temporal.io, "Retry policies").
fn policy(said: &Said) -> Result<Policy, Error> {
    let initial = if said.initial == 0 { Span::from_secs(1).as_nanos() } else { said.initial };
    let max = if said.max == 0 { initial.saturating_mul(100).min(Span::MAX.as_nanos()) } else { said.max };
    let factor = if said.factor == 0.0 { 2.0 } else { said.factor };
    if !(factor >= 1.0 && factor.is_finite()) {
        return Err(Error::form_value("backoffCoefficient", rule(Item::Factor), Quantity::Number(factor)));
    }
    if said.is_beyond_int() {
        let given = Quantity::Number(said.attempts as f64);
        return Err(Error::form_value("maximumAttempts", rule(Item::Attempts), given));
    }
    if max < initial {
        return Err(Error::form_value("maximumInterval", rule(Item::Max), Quantity::Span(Span::from_nanos(max))));
    }
    let first = Duration::from_nanos(initial);
    let backoff = match super::kubernetes::is_steady(initial, factor) {
        true => Backoff::constant(first),
        false => Backoff::exponential(first, factor).max(Duration::from_nanos(max)),
    };
    let builder = Policy::options().backoff(backoff).jitter(Jitter::None);
    if said.attempts == 0 { builder.forever() } else { builder.attempts(said.count()) }.build()
}

fn said(policy: &Policy) -> Said {
    let mut said = super::write::exponential(policy);
    if said.max == 0 {
        said.max = said.initial;
    }
    said
}
