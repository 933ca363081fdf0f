//! The retry of an HTTPRoute of the Gateway API, and its budget of retries.

use super::exponential::with_retries;
use super::statuses::listed;
use super::values::{ANY, Entries, Item, Kind, Row, System, Values, row};
use crate::decide::backoff::Backoff;
use crate::decide::jitter::Jitter;
use crate::decide::policy::Policy;
use crate::describe::options::Options;
use crate::error::Error;
use crate::fields::Field;
use crate::time::Span;
use crate::value::Value;

pub(super) const SYSTEM: System = System {
    tables: &[&FIELDS],
    unknown: "is not a field of the retry of an HTTPRoute, or of an XBackendTrafficPolicy",
    inexpressible: "cannot be written: holdoff only reads the Gateway API",
    import,
    export: None,
    entries: Entries::Objects,
    wrappers: "spec.rules[*] items[*].spec.rules[*] rules[*] spec items[*].spec",
    strict: "retry timeouts retryConstraint",
    known: "",
    mixed: "",
    has_defaults: false,
    ignores_hints: true,
};

const TIME: &str = "must be a time, 0 or more, such as \"100ms\" or \"1m30s\"";
const LIMIT: &str = "must be a time, such as \"10s\", or \"0s\" for no limit";
const CODES: &str = "must be a list of HTTP statuses, such as [502, 503]";
const PER: &str = "must be a time from 1s to 1h, such as \"10s\"";
const SECOND: f64 = 1e9;
const HOUR: f64 = 3600.0 * SECOND;
const PERCENT: Row = row(
    "retryConstraint.budget.percent",
    Item::Share,
    Kind::Count,
    0.0..=100.0,
    "must be a whole number of percent from 0 to 100",
);
const FIELDS: [Row; 9] = [
    row("retry.codes", Item::Codes, Kind::Rule(listed), ANY, CODES),
    row("retry.attempts", Item::Attempts, Kind::Count, 1.0..=f64::MAX, "must be a whole number of retries, 1 or more"),
    row("retry.backoff", Item::Initial, Kind::Go, ANY, TIME),
    row("timeouts.request", Item::Deadline, Kind::Go, ANY, LIMIT),
    row("timeouts.backendRequest", Item::AttemptTimeout, Kind::Go, ANY, LIMIT),
    PERCENT,
    row("retryConstraint.budget.interval", Item::Window, Kind::Go, SECOND..=HOUR, PER),
    row(
        "retryConstraint.minRetryRate.count",
        Item::Least,
        Kind::Count,
        1.0..=1_000_000.0,
        "must be a whole number from 1 to 1000000",
    ),
    row("retryConstraint.minRetryRate.interval", Item::Per, Kind::Go, SECOND..=HOUR, PER),
];

fn import(values: &Values) -> Result<Options, Error> {
    values.check_set(&FIELDS)?;
    let mut options = Policy::options();
    let budget = [Item::Share, Item::Window, Item::Least, Item::Per].into_iter().any(|item| values.has(item));
    // A rule without `retry` is not retried. How often one without a number is, the gateway decides: Envoy retries it once.
    let usual = u64::from(values.has(Item::Codes) || values.has(Item::Initial));
    if values.has(Item::Attempts) || !budget {
        options = with_retries(options, values.get(Item::Attempts).or(Some(usual)));
    }
    if let Some(delay) = values.get(Item::Initial) {
        let delay = Span::from_nanos(delay).as_duration();
        options.backoff(Backoff::constant(delay)).jitter(Jitter::None);
    }
    values.put_limits(&mut options);
    if budget {
        let second = Span::from_secs(1).as_nanos();
        let per = values.get(Item::Per).unwrap_or(second) as f64 / SECOND;
        options.set_field("budget", Value::Text("ratio"))?;
        options.put(Field::BudgetRatio, (values.get(Item::Share).unwrap_or(20) as f64 / 100.0).to_bits());
        options.put(Field::BudgetWindow, values.get(Item::Window).unwrap_or(second.saturating_mul(10)));
        options.put(Field::BudgetMinPerSecond, (values.get(Item::Least).unwrap_or(10) as f64 / per).to_bits());
    }
    Ok(options)
}
