//! The retry of a Serverless Workflow: a delay that grows in one of three ways, and a jitter on top of it.

use super::exponential::with_retries;
use super::values::{ANY, Entries, Item, Kind, Row, System, Values, error, row};
use crate::decide::backoff::{self, Backoff};
use crate::decide::jitter::Jitter;
use crate::decide::policy::Policy;
use crate::describe::options::Options;
use crate::error::{Error, ErrorCode};
use crate::fields::Field;
use crate::time::Span;
use crate::value::Value;

pub(super) const SYSTEM: System = System {
    tables: &[&FIELDS],
    unknown: "is not a field of the retry of a Serverless Workflow",
    inexpressible: "Serverless Workflow cannot express this",
    import,
    export: Some(export),
    entries: Entries::Objects,
    wrappers: "retry use.retries.* **.catch.retry",
    strict: ".",
    known: "",
    mixed: "has a field that is none of a retry, beside those of one",
    has_defaults: true,
    ignores_hints: true,
};

const TIME: &str = "must be a time, 0 or more, such as \"PT1M30S\" or {\"minutes\": 1, \"seconds\": 30}";
const EXPRESSION: &str = "is an expression, which no policy can hold: use rules";
const BACKOFF: &str = "must be an object with one of constant, exponential and linear, each an object without fields";
const TO: Row = row("jitter.to", Item::Jitter, Kind::Iso, ANY, "must be a time not below jitter.from");
const FIELDS: [Row; 11] = [
    row("delay", Item::Initial, Kind::Iso, ANY, TIME),
    row("backoff.constant", Item::Mode, Kind::Group, ANY, BACKOFF),
    row("backoff.exponential", Item::Switch, Kind::Group, ANY, BACKOFF),
    row("backoff.linear", Item::OtherSwitch, Kind::Group, ANY, BACKOFF),
    row("limit.attempt.count", Item::Attempts, Kind::Count, ANY, "must be a whole number of retries, 0 or more"),
    row("limit.attempt.duration", Item::AttemptTimeout, Kind::Iso, 1.0..=f64::MAX, "must be a time above 0"),
    row("limit.duration", Item::Deadline, Kind::Iso, 1.0..=f64::MAX, "must be a time above 0"),
    row("jitter.from", Item::Share, Kind::Iso, ANY, TIME),
    TO,
    row("when", Item::NoValue, Kind::Function, ANY, EXPRESSION),
    row("exceptWhen", Item::NoValue, Kind::Function, ANY, EXPRESSION),
];

fn import(values: &Values) -> Result<Options, Error> {
    values.check_set(&FIELDS)?;
    let kinds = [Item::Mode, Item::Switch, Item::OtherSwitch].into_iter().filter(|item| values.has(*item));
    if kinds.count() > 1 {
        return Err(error(ErrorCode::FormValue, "backoff", BACKOFF));
    }
    values.ensure(&TO, values.at(Item::Jitter) >= values.at(Item::Share))?;
    let time = |item| Span::from_nanos(values.at(item)).as_duration();
    let delay = time(Item::Initial);
    let backoff = match () {
        () if values.has(Item::Switch) => Backoff::exponential(delay, 2.0),
        () if values.has(Item::OtherSwitch) => Backoff::linear(delay, delay),
        () => Backoff::constant(delay),
    };
    let from = values.at(Item::Share);
    let bound = Span::from_nanos(values.at(Item::Jitter).saturating_sub(from));
    let jitter = if bound == Span::ZERO { Jitter::None } else { Jitter::Bounded { bound } };
    let retries = values.has(Item::Attempts).then(|| values.at(Item::Attempts));
    let mut options = with_retries(*Policy::options().backoff(backoff).jitter(jitter), retries);
    if from > 0 {
        options.set_field(Field::BackoffOffset.path(), Value::Nanos(from))?;
    }
    values.put_limits(&mut options);
    Ok(options)
}

fn export(policy: &Policy) -> Values {
    let (mut values, stage) = (Values::EMPTY, policy.first());
    let kind = match stage.stage.kind {
        backoff::EXPONENTIAL => Item::Switch,
        backoff::LINEAR => Item::OtherSwitch,
        _ => Item::Mode,
    };
    values.put(kind, 0);
    values.put(Item::Initial, stage.stage.initial);
    if let Jitter::Bounded { bound } = policy.jitter() {
        values.put(Item::Jitter, bound.as_nanos().saturating_add(stage.offset));
    }
    for (item, number) in [
        (Item::Share, (stage.offset > 0).then_some(stage.offset)),
        (Item::Attempts, policy.attempts().map(|attempts| u64::from(attempts).saturating_sub(1))),
        (Item::AttemptTimeout, policy.attempt_timeout().map(Span::as_nanos)),
        (Item::Deadline, policy.deadline().map(Span::as_nanos)),
    ] {
        if let Some(number) = number {
            values.put(item, number);
        }
    }
    values
}
