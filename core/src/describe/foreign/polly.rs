//! Polly's retry as .NET's configuration has it, with the timeouts and the circuit breaker of a pipeline.

use super::exponential::with_retries;
use super::values::{ANY, EXPONENTIAL, Entries, FIXED, Item, Kind, LINEAR, Row, System, Values, row};
use crate::decide::backoff::{self, Backoff};
use crate::decide::hint::HintMode;
use crate::decide::jitter::{Cap, Jitter};
use crate::decide::policy::Policy;
use crate::describe::options::Options;
use crate::describe::preset::LONGEST_HINT;
use crate::error::Error;
use crate::fields::Field;
use crate::time::Span;
use crate::value::Value;
use core::time::Duration;

pub(super) const SYSTEM: System = System {
    tables: &[&RETRY, &AROUND],
    unknown: "is not a field of Polly's RetryStrategyOptions, or of the pipeline around it",
    inexpressible: "Polly cannot express this",
    import,
    export: Some(export),
    entries: Entries::Pipelines,
    wrappers: "",
    strict: "",
    known: "Name",
    mixed: "has a field that is none of Polly's RetryStrategyOptions, beside those of them",
    has_defaults: true,
    // ShouldRetryAfterHeader says it.
    ignores_hints: false,
};

const WORDS: &[(&str, u64)] = &[("constant", FIXED), ("linear", LINEAR), ("exponential", EXPONENTIAL)];
const DAY: f64 = 86_400e9;
const TIME: &str = "must be a time from 0 to a day, such as \"00:00:02\"";
const LIMIT: &str = "must be a time from 10 ms to a day, such as \"00:00:30\"";
const BREAK: &str = "must be a time from 500 ms to a day, such as \"00:00:05\"";
const FLAG: &str = "must be true or false";
const FUNCTION: &str = "is a function, which no policy can hold: use rules";
const RETRY: [Row; 9] = [
    row(
        "MaxRetryAttempts",
        Item::Attempts,
        Kind::Count,
        1.0..=2_147_483_647.0,
        "must be a whole number of retries, 1 or more",
    ),
    row("Delay", Item::Initial, Kind::TimeSpan, 0.0..=DAY, TIME),
    row("BackoffType", Item::Strategy, Kind::Word(WORDS), ANY, "must be \"Constant\", \"Linear\" or \"Exponential\""),
    row("UseJitter", Item::Switch, Kind::Flag, ANY, FLAG),
    row("MaxDelay", Item::Max, Kind::TimeSpan, 0.0..=DAY, TIME),
    row("ShouldRetryAfterHeader", Item::OtherSwitch, Kind::Flag, ANY, FLAG),
    row("ShouldHandle", Item::NoValue, Kind::Function, ANY, FUNCTION),
    row("DelayGenerator", Item::NoValue, Kind::Function, ANY, FUNCTION),
    row("OnRetry", Item::NoValue, Kind::Function, ANY, FUNCTION),
];
const AROUND: [Row; 6] = [
    row("AttemptTimeout.Timeout", Item::AttemptTimeout, Kind::TimeSpan, 1e7..=DAY, LIMIT),
    row("TotalRequestTimeout.Timeout", Item::Deadline, Kind::TimeSpan, 1e7..=DAY, LIMIT),
    row(
        "CircuitBreaker.FailureRatio",
        Item::Share,
        Kind::Number,
        f64::MIN_POSITIVE..=1.0,
        "must be above 0 and at most 1",
    ),
    row(
        "CircuitBreaker.MinimumThroughput",
        Item::Least,
        Kind::Count,
        2.0..=2_147_483_647.0,
        "must be a whole number, 2 or more",
    ),
    row("CircuitBreaker.SamplingDuration", Item::Window, Kind::TimeSpan, 5e8..=DAY, BREAK),
    row("CircuitBreaker.BreakDuration", Item::Per, Kind::TimeSpan, 5e8..=DAY, BREAK),
];

fn import(values: &Values) -> Result<Options, Error> {
    values.check_set(&RETRY)?;
    values.check_set(&AROUND)?;
    // Only the standard handler of .NET's HTTP clients has timeouts and a breaker beside the retry, and it has defaults of its own.
    let is_standard = values.has_any(&AROUND);
    let or_standard = |item, standard| values.get(item).unwrap_or(if is_standard { standard } else { 0 });
    let delay = values.get(Item::Initial).map_or(Duration::from_secs(2), Duration::from_nanos);
    let max = values.get(Item::Max).map_or(Duration::MAX, Duration::from_nanos);
    let has_jitter = or_standard(Item::Switch, 1) == 1;
    let mut options = with_retries(Policy::options(), Some(values.get(Item::Attempts).unwrap_or(3)));
    options.cap(Cap::Clip);
    // A quarter more or less; growing delays have a jitter of their own.
    let jitter = if has_jitter { Jitter::Proportional { factor: 0.25 } } else { Jitter::None };
    let shortened = delay.min(max);
    match or_standard(Item::Strategy, EXPONENTIAL) {
        EXPONENTIAL if has_jitter => options.backoff(Backoff::decorrelated_v2(shortened).max(max)),
        EXPONENTIAL => options.backoff(Backoff::exponential(shortened, 2.0).max(max)).jitter(jitter),
        LINEAR => options.backoff(Backoff::linear(shortened, delay).max(max)).jitter(jitter),
        _ => options.backoff(Backoff::constant(shortened)).jitter(jitter),
    };
    match values.get(Item::OtherSwitch).or(is_standard.then_some(1)) {
        Some(1) => options.hint_mode(HintMode::Exact).hint_max(LONGEST_HINT),
        // Polly itself knows no HTTP.
        _ => options.hint_mode(HintMode::Ignore),
    };
    let seconds = |seconds| Span::from_secs(seconds).as_nanos();
    if is_standard {
        options.put(Field::AttemptTimeout, seconds(10));
        options.put(Field::Deadline, seconds(30));
    }
    values.put_limits(&mut options);
    if values.has_any(&AROUND)
        && [Item::Share, Item::Least, Item::Window, Item::Per].iter().any(|item| values.has(*item))
    {
        options.set_field("breaker", Value::Text("time"))?;
        options.put(Field::BreakerFailureRate, values.get(Item::Share).unwrap_or(0.1_f64.to_bits()));
        options.put(Field::BreakerMinCalls, values.get(Item::Least).unwrap_or(100));
        options.put(Field::BreakerWindow, values.get(Item::Window).unwrap_or(seconds(30)));
        options.put(Field::BreakerOpenFor, values.get(Item::Per).unwrap_or(seconds(5)));
    }
    Ok(options)
}

fn export(policy: &Policy) -> Values {
    let (mut values, stage) = (Values::EMPTY, policy.first().stage);
    let strategy = match stage.kind {
        backoff::LINEAR => LINEAR,
        backoff::EXPONENTIAL | backoff::DECORRELATED_V2 => EXPONENTIAL,
        _ => FIXED,
    };
    let has_jitter = stage.kind == backoff::DECORRELATED_V2 || policy.jitter() != Jitter::None;
    values.put(Item::Attempts, policy.attempts().map_or(u64::MAX, |attempts| u64::from(attempts).saturating_sub(1)));
    values.put(Item::Initial, stage.initial);
    values.put(Item::Strategy, strategy);
    values.put(Item::Switch, has_jitter.into());
    if strategy != FIXED && stage.max != Span::MAX.as_nanos() {
        values.put(Item::Max, stage.max);
    }
    if policy.hint_mode() == HintMode::Exact {
        values.put(Item::OtherSwitch, 1);
    }
    values
}
