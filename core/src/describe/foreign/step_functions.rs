//! The Retry field of AWS Step Functions: retriers by the names of errors, each with attempts and delays of its own.

use super::values::{ANY, Entries, Item, Kind, ReadEntry, Row, System, Values, error, row};
use crate::decide::jitter::Jitter;
use crate::decide::policy::{Policy, RULES};
use crate::describe::options::Options;
use crate::describe::rules::Rules;
use crate::error::{Error, ErrorCode, Subject};
use crate::fields::Field;
use crate::time::Span;
use crate::value::Value;

pub(super) const SYSTEM: System = System {
    tables: &[&RETRIER],
    unknown: "is not a field of a retrier of Step Functions",
    inexpressible: "cannot be written: holdoff only reads Step Functions",
    import: |_| Ok(Options::NEW),
    export: None,
    entries: Entries::Retriers,
    wrappers: "",
    strict: "",
    known: "Comment",
    mixed: "",
    has_defaults: false,
    ignores_hints: true,
};

const LARGEST: f64 = 99_999_999.0;
const SECOND: f64 = 1e9;
const MAX_DELAY: Row = row(
    "MaxDelaySeconds",
    Item::Max,
    Kind::WholeSeconds,
    ANY,
    "must be whole seconds above IntervalSeconds and below 31622400",
);
const RETRIER: [Row; 6] = [
    row("ErrorEquals", Item::ErrorTypes, Kind::Rule(read_name), ANY, NAMES),
    row(
        "IntervalSeconds",
        Item::Initial,
        Kind::WholeSeconds,
        SECOND..=LARGEST * SECOND,
        "must be whole seconds from 1 to 99999999",
    ),
    row(
        "MaxAttempts",
        Item::Attempts,
        Kind::Count,
        0.0..=LARGEST,
        "must be a whole number of retries from 0 to 99999999",
    ),
    row("BackoffRate", Item::Factor, Kind::Number, 1.0..=f64::MAX, "must be a number, 1 or more"),
    MAX_DELAY,
    row("JitterStrategy", Item::Jitter, Kind::Word(&[("none", 0), ("full", 1)]), ANY, "must be \"FULL\" or \"NONE\""),
];
const NAMES: &str = "must be a list of names of errors with at least one, such as [\"States.Timeout\"]";
const ALL: &str = "States.ALL must stand alone, and in the last retrier";

/// The names that mean a kind of failure; other names are types of errors.
const KINDS: [(&str, &[&str]); 2] =
    [("States.Timeout", &["timeout"]), ("States.TaskFailed", &["transient", "throttled", "permanent"])];

fn read_name<'v>(rules: &mut Rules, rule: u8, index: Option<u32>, value: Value<'v>) -> ReadEntry<'v> {
    let (Value::Text(name), Some(_)) = (value, index) else {
        return Err(Error { value: value.shown(), ..error(ErrorCode::FormValue, "ErrorEquals", NAMES) });
    };
    let follows_all = (0..rule.saturating_add(1)).any(|index| rules.alternatives_of(index).1);
    if follows_all || name == "States.ALL" && rules.alternatives_of(rule).0 {
        return Err(error(ErrorCode::FormValue, "ErrorEquals", ALL));
    }
    if name == "States.ALL" {
        return rules.set_condition(rule, "", Value::Empty);
    }
    match KINDS.into_iter().find(|known| known.0 == name) {
        Some((_, kinds)) => {
            for kind in kinds {
                rules.add_entry(rule, "kinds", Value::Text(kind))?;
            }
            Ok(None)
        }
        None => rules.add_entry(rule, "types", value),
    }
}

/// The retriers as rules, and a last one that retries nothing else. If one retrier retries, its numbers are those of the policy.
pub(super) fn import(retriers: &[Values; RULES], mut rules: Rules, has_any: bool) -> Result<Options, Error> {
    let last = retriers.iter().rposition(|values| *values != Values::EMPTY);
    let count = last.map_or(u8::from(has_any), |last| (last as u8).saturating_add(1));
    let retriers = || (0..count).zip(retriers);
    for (rule, values) in retriers() {
        if !values.has(Item::ErrorTypes) {
            return Err(Error::named(ErrorCode::FormMissing, Subject::Policy, "ErrorEquals"));
        }
        rules.set_retry(rule, Value::Flag(attempts(values) > 1))?;
    }
    let retrying = || retriers().filter(|(_, values)| attempts(values) > 1);
    let mut options = *Policy::options().attempts(1).jitter(Jitter::None);
    if retrying().count() == 0 {
        return Ok(options);
    }
    // A retrier of all kinds of failures takes every error, as States.ALL does.
    if !(0..count).any(|rule| rules.kinds(rule) == u8::MAX) {
        // The last rule needs a place, too.
        rules.clone().begin(count).map_err(Error::of_use)?;
        rules = rules.and_nothing_else(false);
    }
    options.with_rules(rules);
    let is_only = retrying().count() == 1;
    for (rule, values) in retrying() {
        options = import_retrier(options, Some(rule).filter(|_| !is_only), values)?;
    }
    Ok(options)
}

/// The attempts of a retrier, which makes three retries unless it says otherwise.
fn attempts(values: &Values) -> u64 {
    if values.has(Item::Attempts) { values.at(Item::Attempts).saturating_add(1) } else { 4 }
}

/// Adds the numbers of a retrier, to its rule or to the policy.
fn import_retrier(mut options: Options, rule: Option<u8>, values: &Values) -> Result<Options, Error> {
    let mut values = *values;
    values.default(Item::Initial, Span::from_secs(1).as_nanos());
    if !values.has(Item::Factor) {
        values.put(Item::Factor, 2.0_f64.to_bits());
    }
    values.check(&RETRIER)?;
    let time = |item| Value::Nanos(values.at(item));
    let has_max = values.has(Item::Max);
    values.ensure(&MAX_DELAY, !has_max || values.at(Item::Max) > values.at(Item::Initial))?;
    let attempts = match attempts(&values) {
        many if rule.is_some() && many > u64::from(u16::MAX) => Value::Text("forever"),
        few => Value::Number { value: few as f64, unit: 1.0 },
    };
    let factor = Value::Number { value: values.real(Item::Factor), unit: 1.0 };
    let jitter = Value::Text(if values.at(Item::Jitter) == 0 { "none" } else { "full" });
    for (field, value) in [
        (Field::Attempts, attempts),
        (Field::BackoffInitial, time(Item::Initial)),
        (Field::BackoffFactor, factor),
        (Field::BackoffMax, if has_max { time(Item::Max) } else { Value::Text("none") }),
        (Field::JitterKind, jitter),
        (Field::Cap, Value::Text("before_jitter")),
    ] {
        match rule {
            Some(rule) => drop(options.set_in_rule(rule, field.path(), value)?),
            None => options.set_field(field.path(), value)?,
        }
    }
    Ok(options)
}
