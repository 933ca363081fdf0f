//! An instance of resilience4j's retry, as Spring's configuration has it.

use super::exponential::with_retries;
use super::values::{ABOVE_ZERO, ANY, Item, Kind, ReadEntry, Row, System, Values, error, row};
use crate::decide::backoff::{self, Backoff};
use crate::decide::jitter::{self, Cap, Jitter};
use crate::decide::policy::Policy;
use crate::describe::options::Options;
use crate::describe::rules::Rules;
use crate::error::{Error, ErrorCode};
use crate::time::Span;
use crate::value::Value;

pub(super) const SYSTEM: System = System {
    tables: &[&FIELDS],
    unknown: "is not a field of an instance of resilience4j's retry",
    inexpressible: "resilience4j cannot express this",
    import,
    export: Some(export),
    wrappers: "resilience4j.retry.instances.* resilience4j.retry.configs.* retry.instances.* retry.configs.* \
        instances.* configs.*",
    ignored: "eventConsumerBufferSize failAfterMaxAttempts registerHealthIndicator",
    has_rules: false,
};

const TIME: &str = "must be a time in whole milliseconds, such as \"500ms\", \"PT0.5S\" or 500";
const FLAG: &str = "must be true or false";
const FUNCTION: &str = "is a class, which no policy can hold: use rules";
const BASE: &str = "names another configuration: write its values here";
const TYPES: &str = "must be a list of names of types";
const MILLI: f64 = 1e6;
const FIELDS: [Row; 15] = [
    row("maxAttempts", Item::Attempts, Kind::Count, 1.0..=2_147_483_647.0, "must be a whole number, 1 or more"),
    row("waitDuration", Item::Initial, Kind::Spring, ANY, TIME),
    row("enableExponentialBackoff", Item::Switch, Kind::Flag, ANY, FLAG),
    row("exponentialBackoffMultiplier", Item::Factor, Kind::Number, 1.0..=f64::MAX, "must be a number, 1 or more"),
    row("exponentialMaxWaitDuration", Item::Max, Kind::Spring, MILLI..=f64::MAX, TIME),
    row("enableRandomizedWait", Item::OtherSwitch, Kind::Flag, ANY, FLAG),
    row("randomizedWaitFactor", Item::Jitter, Kind::Number, ABOVE_ZERO, "must be a number above 0 and below 1"),
    row("ignoreExceptions", Item::NonFatal, Kind::Rule(read_ignored), ANY, TYPES),
    row("retryExceptions", Item::ErrorTypes, Kind::Rule(read_retried), ANY, TYPES),
    row("retryExceptionPredicate", Item::NoValue, Kind::Function, ANY, FUNCTION),
    row("resultPredicate", Item::NoValue, Kind::Function, ANY, FUNCTION),
    row("intervalFunction", Item::NoValue, Kind::Function, ANY, FUNCTION),
    row("intervalBiFunction", Item::NoValue, Kind::Function, ANY, FUNCTION),
    row("consumeResultBeforeRetryAttempt", Item::NoValue, Kind::Function, ANY, FUNCTION),
    row("baseConfig", Item::NoValue, Kind::Function, ANY, BASE),
];

/// The rule of types that are never retried comes before the rule of types that are retried.
const IGNORED: u8 = 0;
const RETRIED: u8 = 1;

fn read_ignored<'v>(rules: &mut Rules, _: u8, index: Option<u32>, value: Value<'v>) -> ReadEntry<'v> {
    read_type(rules, IGNORED, "ignoreExceptions", index, value)
}

fn read_retried<'v>(rules: &mut Rules, _: u8, index: Option<u32>, value: Value<'v>) -> ReadEntry<'v> {
    if rules.is_none() {
        // A rule that never holds, should none be ignored.
        rules.add_entry(IGNORED, "types", Value::NoItems)?;
    }
    read_type(rules, RETRIED, "retryExceptions", index, value)
}

fn read_type<'v>(
    rules: &mut Rules,
    rule: u8,
    name: &'static str,
    index: Option<u32>,
    value: Value<'v>,
) -> ReadEntry<'v> {
    match (index, value) {
        (None, Value::NoItems) => Ok(None),
        (Some(_), Value::Text(_)) => {
            let text = rules.add_entry(rule, "types", value)?;
            rules.set_retry(rule, Value::Flag(rule == RETRIED))?;
            Ok(text)
        }
        _ => Err(Error { value: value.shown(), ..error(ErrorCode::FormValue, name, TYPES) }),
    }
}

/// The rules with a last one: an instance that names the types to retry retries no others.
pub(super) fn rules(rules: Rules) -> Rules {
    if rules.count() > RETRIED { rules.and_nothing_else(false) } else { rules }
}

/// As resilience4j reads it: without `waitDuration` nothing else about delays counts, and a longest delay only beside a multiplier.
fn import(values: &Values) -> Result<Options, Error> {
    values.check_set(&FIELDS)?;
    let delay = Span::from_nanos(values.get(Item::Initial).unwrap_or(500_000_000)).as_duration();
    let mut options = with_retries(Policy::options(), Some(values.get(Item::Attempts).unwrap_or(3).saturating_sub(1)));
    let is_on = |item| values.has(Item::Initial) && values.at(item) == 1;
    let factor = values.get(Item::Factor).map(f64::from_bits);
    // Together, both switches take all their values, or those up to the first that is not given: the multiplier, the factor, the longest.
    let both = is_on(Item::Switch) && is_on(Item::OtherSwitch);
    let takes_max = factor.is_some() && (!both || values.has(Item::Jitter));
    let max = values.get(Item::Max).filter(|_| takes_max).map_or(Span::MAX, Span::from_nanos);
    let backoff = match is_on(Item::Switch) {
        // A first delay above the longest is cut down to it, too.
        true => Backoff::exponential(delay.min(max.as_duration()), factor.unwrap_or(1.5)).max(max.as_duration()),
        false => Backoff::constant(delay),
    };
    let spread = values.get(Item::Jitter).filter(|_| !both || factor.is_some()).map_or(0.5, f64::from_bits);
    let jitter = if is_on(Item::OtherSwitch) { Jitter::Proportional { factor: spread } } else { Jitter::None };
    Ok(*options.backoff(backoff).jitter(jitter).cap(Cap::Clip))
}

fn export(policy: &Policy) -> Values {
    let (mut values, stage) = (Values::EMPTY, policy.first().stage);
    values.put(Item::Attempts, policy.attempts().map_or(0, u64::from));
    values.put(Item::Initial, stage.initial);
    if stage.kind == backoff::EXPONENTIAL {
        values.put(Item::Switch, 1);
        values.put(Item::Factor, stage.factor().to_bits());
        if stage.max != Span::MAX.as_nanos() {
            values.put(Item::Max, stage.max);
        }
    }
    if policy.own.jitter == jitter::PROPORTIONAL {
        values.put(Item::OtherSwitch, 1);
        values.put(Item::Jitter, policy.own.jitter_by);
    }
    values
}
