//! Kubernetes' wait.Backoff as a policy. The machine that steps exactly as it does is [`crate::WaitBackoff`].

use super::exponential;
use super::values::{ANY, Item, Kind, Row, System, Values, row};
use crate::decide::backoff::{self, Backoff};
use crate::decide::jitter::{Cap, Jitter};
use crate::decide::policy::Policy;
use crate::describe::options::Options;
use crate::error::Error;
use crate::time::Span;

pub(super) const SYSTEM: System = System::alone(
    &[&FIELDS],
    ["is not a field of a Kubernetes wait.Backoff", "Kubernetes cannot express this"],
    import,
    export,
);

const TIME: &str = "must be a time, 0 or more: whole nanoseconds, or text such as \"1m30s\"";
const FACTOR: Row = row("Factor", Item::Factor, Kind::Number, ANY, "must be a finite number, 0 or more");
const FIELDS: [Row; 5] = [
    row("Duration", Item::Initial, Kind::Nanos, ANY, TIME),
    FACTOR,
    row("Jitter", Item::Jitter, Kind::Number, ANY, "must be a finite number"),
    row("Steps", Item::Attempts, Kind::Count, 1.0..=f64::MAX, "must be a whole number, 1 or more"),
    row("Cap", Item::Max, Kind::NanosOrNegative, ANY, TIME),
];

/// Steps count attempts; a cap that is not positive is none, and so is a jitter.
fn import(values: &Values) -> Result<Options, Error> {
    values.check(&FIELDS)?;
    values.ensure(&FACTOR, values.real(Item::Factor) >= 0.0)?;
    let mut values = *values;
    values.default(Item::Max, Span::MAX.as_nanos());
    let mut options = exponential::import(&values, true);
    if values.real(Item::Factor) == 0.0 {
        options.backoff(Backoff::constant(Span::from_nanos(values.at(Item::Initial)).as_duration()));
    }
    let jitter = values.real(Item::Jitter);
    if jitter > 0.0 {
        options.jitter(Jitter::Additive { factor: jitter }).cap(Cap::BeforeJitter);
    }
    Ok(options)
}

fn export(policy: &Policy) -> Values {
    let mut values = exponential::export(policy);
    let is_constant = policy.first().stage.kind == backoff::CONSTANT && policy.stages().count() == 1;
    if is_constant {
        values.put(Item::Factor, 0);
    }
    if is_constant || values.at(Item::Max) == Span::MAX.as_nanos() {
        values.put(Item::Max, 0);
    }
    let jitter = if let Jitter::Additive { factor } = policy.jitter() { factor } else { 0.0 };
    values.put(Item::Jitter, jitter.to_bits());
    values
}
