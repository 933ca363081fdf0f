//! Kubernetes' wait.Backoff as a policy. The machine that steps exactly as it does is [`crate::WaitBackoff`].

use super::Shape;
use super::said::{Item, Said};
use crate::decide::backoff::{Backoff, real, truncated};
use crate::decide::jitter::{Cap, Jitter};
use crate::decide::policy::Policy;
use crate::describe::options::Options;
use crate::error::{Error, Quantity};
use core::time::Duration;

pub(super) const SHAPE: Shape = Shape {
    fields: &[
        ("Duration", Item::Initial),
        ("Factor", Item::Factor),
        ("Jitter", Item::Jitter),
        ("Steps", Item::Attempts),
        ("Cap", Item::Max),
    ],
    unknown: "is no field of a Kubernetes wait.Backoff",
    rule,
    policy,
    said,
};

const fn rule(item: Item) -> &'static str {
    match item {
        Item::Attempts => "must be a whole number from 1 on",
        Item::Factor => "must be a finite number from 0 on",
        Item::Jitter => "must be a finite number",
        _ => "must be a time from 0 on: whole nanoseconds, or text such as \"1m30s\"",
    }
}

/// Steps count attempts; a cap that is not positive is none, and so is a jitter.
fn policy(said: &Said) -> Result<Policy, Error> {
    if said.attempts == 0 {
        return Err(Error::form_value("Steps", rule(Item::Attempts), Quantity::Number(0.0)));
    }
    if !(said.factor >= 0.0 && said.factor.is_finite()) {
        return Err(Error::form_value("Factor", rule(Item::Factor), Quantity::Number(said.factor)));
    }
    let first = Duration::from_nanos(said.initial);
    let builder = match () {
        () if said.factor == 0.0 => Policy::options().backoff(Backoff::constant(first)),
        () if said.max == 0 => Policy::options().backoff(Backoff::exponential(first, said.factor)),
        () => bounded(said.initial, said.factor, said.max, true),
    };
    let builder = if said.jitter > 0.0 {
        builder.jitter(Jitter::Additive { factor: said.jitter }).cap(Cap::BeforeJitter)
    } else {
        builder.jitter(Jitter::None)
    };
    builder.attempts(said.count()).build()
}

/// Exponential up to `max`, where `max` bounds the delays after the first one: a first delay above it comes once. If `ends`,
/// a product above `max` is the last there is, and the delay then stays.
pub(super) fn bounded(initial: u64, factor: f64, max: u64, ends: bool) -> Options {
    let (first, longest) = (Duration::from_nanos(initial), Duration::from_nanos(max));
    if initial <= max {
        return Policy::options().backoff(Backoff::exponential(first, factor).max(longest));
    }
    let product = truncated(real(initial) * factor);
    let next = Duration::from_nanos(product.min(max));
    let stays = if ends { product > max } else { product >= max && factor >= 1.0 };
    let then = if stays { Backoff::constant(longest) } else { Backoff::exponential(next, factor).max(longest) };
    Policy::options().backoff(Backoff::constant(first)).then(1, then)
}

/// True if multiplying by the factor leaves the delay as it is, in doubles too.
pub(super) fn is_steady(initial: u64, factor: f64) -> bool {
    factor == 1.0 && initial <= 1 << 53
}

fn said(policy: &Policy) -> Said {
    let mut said = super::write::exponential(policy);
    if said.factor == 1.0
        && policy.stages().count() == 1
        && matches!(policy.stages().next().map(|stage| stage.backoff), Some(Backoff::Constant { .. }))
    {
        said.factor = 0.0;
    }
    if let Jitter::Additive { factor } = policy.jitter() {
        said.jitter = factor;
    }
    said
}
