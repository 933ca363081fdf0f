//! An instance of resilience4j's retry, as Spring's configuration has it.

use super::exponential::with_retries;
use super::values::{ABOVE_ZERO, ANY, Entries, Item, Kind, ReadEntry, Row, System, Values, error, hash, row};
use crate::decide::backoff::{self, Backoff};
use crate::decide::jitter::{self, Cap, Jitter};
use crate::decide::policy::{Policy, RULES};
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
    entries: Entries::Objects,
    wrappers: "resilience4j.retry.instances.* resilience4j.retry.backends.* resilience4j.retry.configs.* \
        retry.instances.* retry.backends.* retry.configs.* instances.* backends.* configs.*",
    strict: ".",
    known: "eventConsumerBufferSize failAfterMaxAttempts registerHealthIndicator",
    mixed: "has a field that is none of an instance of resilience4j's retry, beside those of one",
    has_defaults: true,
    ignores_hints: true,
};

const TIME: &str = "must be a time in whole milliseconds, such as \"500ms\", \"PT0.5S\" or 500";
const FLAG: &str = "must be true or false";
const FUNCTION: &str = "is a class, which no policy can hold: use rules";
const BASE: &str = "names a configuration that is not in the document: write its values here";
const INHERITED: &str = "of a configuration are read only if it is the one with such a list, and the policy builds on it: write the types into the policy";
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
    row("ignoreExceptions", Item::NonFatal, Kind::Rule(|_, _, _, _| Ok(None)), ANY, TYPES),
    row("retryExceptions", Item::ErrorTypes, Kind::Rule(|_, _, _, _| Ok(None)), ANY, TYPES),
    row("retryExceptionPredicate", Item::NoValue, Kind::Function, ANY, FUNCTION),
    row("resultPredicate", Item::NoValue, Kind::Function, ANY, FUNCTION),
    row("intervalFunction", Item::NoValue, Kind::Function, ANY, FUNCTION),
    row("intervalBiFunction", Item::NoValue, Kind::Function, ANY, FUNCTION),
    row("consumeResultBeforeRetryAttempt", Item::NoValue, Kind::Function, ANY, FUNCTION),
    row("baseConfig", BASE_NAME, Kind::Name, ANY, BASE),
];

/// The hash of a configuration's name, and that of the configuration on which it builds.
const OWN_NAME: Item = Item::Patterns;
const BASE_NAME: Item = Item::Codes;

/// The place of the configuration with that name among the values.
pub(super) fn slot_of(values: &mut [Values; RULES], name: u64) -> Result<u8, Error> {
    for (slot, values) in (0..).zip(values).skip(1) {
        if *values == Values::EMPTY {
            values.put(OWN_NAME, name);
        }
        if values.at(OWN_NAME) == name {
            return Ok(slot);
        }
    }
    Err(error(ErrorCode::NotSupported, "configs", "are too many: there is room for 7"))
}

/// The values of the policy with those of the configurations on which it builds. `config` is the name of the configuration that
/// is the policy itself, or 0; without an instance they are the policy if there is one.
pub(super) fn merged(slots: &[Values; RULES], config: u64, has_instance: bool) -> Result<Values, Error> {
    let [own, configs @ ..] = slots;
    let configs = || configs.iter().filter(|config| **config != Values::EMPTY);
    let own = match config {
        0 if !has_instance => {
            let mut all = configs();
            match (all.next(), all.next()) {
                (Some(_), Some(_)) => {
                    let code = ErrorCode::SeveralPolicies;
                    return Err(error(code, "configs", code.rule(None)));
                }
                (only, _) => only.unwrap_or(own),
            }
        }
        0 => own,
        name => configs().find(|config| config.at(OWN_NAME) == name).unwrap_or(own),
    };
    let values = with_base(*own, slots, MOST_BASES)?;
    if values.has(Item::NoValue) {
        return Err(error(ErrorCode::FormValue, "configs", FUNCTION));
    }
    Ok(values)
}

/// How many configurations may build on one another: they may do so in a circle.
const MOST_BASES: u32 = 16;

/// The values that make an interval beside `waitDuration`.
const INTERVAL: [Item; 5] = [Item::Jitter, Item::Switch, Item::Factor, Item::Max, Item::OtherSwitch];

/// Values with those that they inherit: of the configuration that they name, or of `default`.
fn with_base(mut own: Values, slots: &[Values; RULES], most: u32) -> Result<Values, Error> {
    let name = own.get(BASE_NAME).unwrap_or(hash("default"));
    let base = slots.iter().find(|base| base.at(OWN_NAME) == name && base.has(OWN_NAME));
    let base = match base {
        Some(base) if most > 0 && own.get(OWN_NAME) != Some(name) => with_base(*base, slots, most.saturating_sub(1))?,
        None if own.has(BASE_NAME) => return Err(error(ErrorCode::FormValue, "baseConfig", BASE)),
        _ => return Ok(own),
    };
    // The one that says `waitDuration` makes the interval: with its own values, or with those that it inherits but for the factor.
    let waits = own.has(Item::Initial);
    if base.has(Item::Initial) && !waits {
        INTERVAL.into_iter().for_each(|item| own.remove(item));
    }
    own.inherit(&base, if waits { &[OWN_NAME, BASE_NAME, Item::Jitter] } else { &[OWN_NAME, BASE_NAME] });
    Ok(own)
}

/// The rule of types that are never retried comes before the rule of types that are retried.
const IGNORED: u8 = 0;
const RETRIED: u8 = 1;

/// Whose lists of types are the rules: one more than the slot of the values, for `ignoreExceptions` and `retryExceptions`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Lists([u8; 2]);

impl Lists {
    pub(super) const NONE: Self = Self([0; 2]);

    /// Reads an entry of a list. The policy's own list comes before that of any configuration.
    pub(super) fn read<'v>(
        &mut self,
        rules: &mut Rules,
        [slot, item]: [u64; 2],
        index: Option<u32>,
        value: Value<'v>,
    ) -> ReadEntry<'v> {
        let is_retried = item == Item::ErrorTypes as u64;
        let (rule, name) = if is_retried { (RETRIED, "retryExceptions") } else { (IGNORED, "ignoreExceptions") };
        let index = match (index, value) {
            (None, Value::NoItems) => return Ok(None),
            (Some(index), Value::Text(_)) => index,
            _ => return Err(Error { value: value.shown(), ..error(ErrorCode::FormValue, name, TYPES) }),
        };
        let [ignored, retried] = &mut self.0;
        let owner = if is_retried { retried } else { ignored };
        let slot = (slot as u8).saturating_add(1);
        if *owner != 0 && *owner != slot && slot != 1 {
            return Ok(None);
        }
        *owner = slot;
        if is_retried && rules.is_none() {
            // A rule that never holds, should none be ignored.
            rules.set_condition(IGNORED, ".types", Value::NoItems)?;
        }
        let text = rules.set_condition(rule, if index == 0 { ".types[0]" } else { ".types[1]" }, value)?;
        rules.set_retry(rule, Value::Flag(is_retried))?;
        Ok(text)
    }

    /// The rules of a policy with those values. An instance that names the types to retry retries no others.
    pub(super) fn rules(&self, rules: Rules, values: &Values) -> Result<Rules, Error> {
        let is_of = |(item, owner): (Item, &u8)| {
            let wanted = values.get(item).map_or(0, |slot| (slot as u8).saturating_add(1));
            wanted == *owner
        };
        let items = [Item::NonFatal, Item::ErrorTypes];
        match () {
            () if items.into_iter().zip(&self.0).all(is_of) => {}
            () if !items.into_iter().any(|item| values.has(item)) => return Ok(Rules::NONE),
            () => return Err(error(ErrorCode::NotSupported, "ignoreExceptions, retryExceptions", INHERITED)),
        }
        Ok(if rules.count() > RETRIED { rules.and_nothing_else(false) } else { rules })
    }
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
