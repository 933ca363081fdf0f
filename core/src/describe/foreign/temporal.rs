//! Temporal's RetryPolicy: exponential without jitter, and without an end unless it says so.

use super::exponential;
use super::values::{ANY, INT_MAX, Item, Kind, Row, System, Values, row};
use crate::describe::options::Options;
use crate::error::Error;
use crate::time::Span;

pub(super) const SYSTEM: System = System::alone(
    &[&FIELDS],
    ["is not a field of a Temporal RetryPolicy", "Temporal cannot express this"],
    import,
    exponential::export,
);

const ATTEMPTS: &str = "must be a whole number from 0 to 2147483647, 0 for no limit";
const MAX: Row = row(
    "maximumInterval",
    Item::Max,
    Kind::Seconds,
    ANY,
    "must be a time not below initialInterval in seconds, such as \"100s\"",
);
const FIELDS: [Row; 5] = [
    row("initialInterval", Item::Initial, Kind::Seconds, ANY, "must be a time in seconds, 0 or more, such as \"0.1s\""),
    row("backoffCoefficient", Item::Factor, Kind::Number, 1.0..=f64::MAX, "must be a number, 1 or more, or 0 for 2"),
    MAX,
    row("maximumAttempts", Item::Attempts, Kind::Count, 0.0..=INT_MAX, ATTEMPTS),
    row("nonRetryableErrorTypes", Item::ErrorTypes, Kind::ErrorTypes, ANY, "must be a list of the names of types"),
];

/// A missing field, or zero, has a default (docs.temporal.io, "Retry policies").
fn import(values: &Values) -> Result<Options, Error> {
    let mut values = *values;
    values.default(Item::Initial, Span::from_secs(1).as_nanos());
    values.default(Item::Max, values.at(Item::Initial).saturating_mul(100).min(Span::MAX.as_nanos()));
    if values.real(Item::Factor) == 0.0 {
        values.put(Item::Factor, 2.0_f64.to_bits());
    }
    values.check(&FIELDS)?;
    values.ensure(&MAX, values.at(Item::Max) >= values.at(Item::Initial))?;
    let mut options = exponential::import(&values, false);
    if values.at(Item::Attempts) == 0 {
        options.forever();
    }
    Ok(options)
}
