//! A retry of Dapr's Resiliency: constant, or exponential as cenkalti/backoff has it.

use super::exponential::with_retries;
use super::statuses::{and_no_other, ranges};
use super::values::{
    ANY, EXPONENTIAL, Entries, FIXED, Item, Kind, NO_LIMIT, ReadEntry, Row, System, Values, error, row,
};
use crate::decide::backoff::{self, Backoff};
use crate::decide::jitter::{Cap, Jitter};
use crate::decide::policy::Policy;
use crate::describe::options::Options;
use crate::describe::rules::Rules;
use crate::error::{Error, ErrorCode};
use crate::value::Value;
use core::time::Duration;

pub(super) const SYSTEM: System = System {
    tables: &[&FIELDS],
    unknown: "is not a field of a retry of Dapr",
    inexpressible: "Dapr cannot express this",
    import,
    export: Some(export),
    entries: Entries::Objects,
    wrappers: "spec.policies.retries.* items[*].spec.policies.retries.*",
    strict: ".",
    known: "",
    mixed: "has a field that is none of a retry of Dapr, beside those of one",
    has_defaults: true,
    ignores_hints: true,
};

const WORDS: &[(&str, u64)] = &[("constant", FIXED), ("exponential", EXPONENTIAL)];
const TIME: &str = "must be a time, 0 or more, such as \"5s\" or \"1m30s\"";
const HTTP: &str = "must be a text of statuses from 100 to 599 and ranges of them, such as \"429,500-599\"";
const GRPC: &str = "must be a text of codes from 0 to 16 and ranges of them, such as \"1-4,14\"";
const FIELDS: [Row; 6] = [
    row("policy", Item::Strategy, Kind::Word(WORDS), ANY, "must be \"constant\" or \"exponential\""),
    row("duration", Item::Initial, Kind::Go, ANY, TIME),
    row("maxInterval", Item::Max, Kind::Go, ANY, TIME),
    row("maxRetries", Item::Attempts, Kind::Retries, ANY, "must be a whole number of retries, -1 for no limit"),
    row("matching.httpStatusCodes", Item::Codes, Kind::Rule(read_http), ANY, HTTP),
    row("matching.gRPCStatusCodes", Item::NonFatal, Kind::Rule(read_grpc), ANY, GRPC),
];

/// The defaults of cenkalti/backoff: 500 ms by 1.5 with half of it more or less, for a quarter of an hour.
const INITIAL: Duration = Duration::from_millis(500);
const FACTOR: f64 = 1.5;
const SPREAD: f64 = 0.5;
const ELAPSED: Duration = Duration::from_secs(900);

fn read_http<'v>(rules: &mut Rules, _: u8, index: Option<u32>, value: Value<'v>) -> ReadEntry<'v> {
    let wrong = error(ErrorCode::FormValue, "httpStatusCodes", HTTP);
    let (Value::Text(text), None) = (value, index) else { return Err(Error { value: value.shown(), ..wrong }) };
    ranges(rules, "http", 100..=599, text, wrong)?;
    if !rules.is_none() {
        *rules = and_no_other(*rules);
    }
    Ok(None)
}

fn read_grpc<'v>(rules: &mut Rules, _: u8, index: Option<u32>, value: Value<'v>) -> ReadEntry<'v> {
    let wrong = error(ErrorCode::FormValue, "gRPCStatusCodes", GRPC);
    let (Value::Text(text), None) = (value, index) else { return Err(Error { value: value.shown(), ..wrong }) };
    let before = rules.count();
    ranges(rules, "grpc", 0..=16, text, wrong)?;
    if rules.count() > before {
        *rules = rules.and_nothing_else(true);
    }
    Ok(None)
}

fn import(values: &Values) -> Result<Options, Error> {
    values.check_set(&FIELDS)?;
    let time = |item, default| values.get(item).map_or(default, Duration::from_nanos);
    let retries = values.get(Item::Attempts).filter(|retries| *retries != NO_LIMIT);
    let mut options = with_retries(Policy::options(), retries);
    if values.at(Item::Strategy) == FIXED {
        let delay = time(Item::Initial, Duration::from_secs(5));
        return Ok(*options.backoff(Backoff::constant(delay)).jitter(Jitter::None));
    }
    let max = time(Item::Max, Duration::from_secs(60));
    if max < INITIAL {
        // The first interval is not cut down to the longest.
        options.backoff(Backoff::constant(INITIAL)).then(1, Backoff::constant(max));
    } else {
        options.backoff(Backoff::exponential(INITIAL, FACTOR).max(max));
    }
    Ok(*options.jitter(Jitter::Proportional { factor: SPREAD }).cap(Cap::BeforeJitter).deadline(ELAPSED))
}

fn export(policy: &Policy) -> Values {
    let (mut values, stage) = (Values::EMPTY, policy.first().stage);
    if stage.kind == backoff::EXPONENTIAL {
        values.put(Item::Strategy, EXPONENTIAL);
        values.put(Item::Max, stage.max);
    } else {
        values.put(Item::Strategy, FIXED);
        values.put(Item::Initial, stage.initial);
    }
    let retries = policy.attempts().map_or(NO_LIMIT, |attempts| u64::from(attempts).saturating_sub(1));
    values.put(Item::Attempts, retries);
    values
}
