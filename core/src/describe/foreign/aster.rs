//! Aster's RetryPolicy of a workflow: exponential by 2 or linear, and up to half the base delay more.

use super::exponential;
use super::values::{ANY, EXPONENTIAL, INT_MAX, Item, Kind, LINEAR, MILLI, Row, System, Values, row};
use crate::decide::backoff::Backoff;
use crate::decide::jitter::Jitter;
use crate::decide::policy::Policy;
use crate::describe::options::Options;
use crate::error::Error;
use crate::time::Span;

pub(super) const SYSTEM: System =
    System::alone(&[&FIELDS], ["is not a field of Aster's RetryPolicy", "Aster cannot express this"], import, export);

const WORDS: &[(&str, u64)] = &[("exponential", EXPONENTIAL), ("linear", LINEAR)];
const FIELDS: [Row; 3] = [
    row("maxAttempts", Item::Attempts, Kind::Count, 1.0..=INT_MAX, "must be a whole number from 1 to 2147483647"),
    row("backoff", Item::Strategy, Kind::Word(WORDS), ANY, "must be \"exponential\" or \"linear\""),
    row("baseDelayMs", Item::Initial, Kind::Millis, ANY, "must be whole milliseconds, 0 or more"),
];

/// The base delay is a second unless given, as the language's compiler has it; a backoff that is not given is linear, as its
/// runtime has it.
fn import(values: &Values) -> Result<Options, Error> {
    values.check(&FIELDS)?;
    let millis = if values.has(Item::Initial) { values.at(Item::Initial) / MILLI } else { 1000 };
    let base = Span::from_millis(millis).as_duration();
    let backoff = match values.at(Item::Strategy) {
        EXPONENTIAL => Backoff::exponential(base, 2.0),
        _ => Backoff::linear(base, base),
    };
    let bound = Span::from_millis(millis / 2);
    let jitter = if bound == Span::ZERO { Jitter::None } else { Jitter::Bounded { bound } };
    Ok(*Policy::options().backoff(backoff).jitter(jitter).attempts(values.attempts(Item::Attempts)))
}

fn export(policy: &Policy) -> Values {
    let mut values = exponential::export(policy);
    values.default(Item::Attempts, 1);
    values
}
