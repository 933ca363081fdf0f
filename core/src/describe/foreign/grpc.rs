//! gRPC's retryPolicy: exponential, a fifth more or less, a pushback obeyed to the letter (gRFC A6); its hedgingPolicy, and
//! the throttle for both.

use super::said::{Item, Said};
use super::{ANY, BARE, FormReader, Shape, indexed, same};
use crate::decide::backoff::Backoff;
use crate::decide::hint::HintMode;
use crate::decide::jitter::{Cap, Jitter};
use crate::decide::policy::Policy;
use crate::describe::options::Options;
use crate::error::{Error, ErrorCode, Quantity, Subject};
use crate::fields::Field;
use crate::time::Span;
use crate::value::Value;
use core::time::Duration;

/// gRPC makes at most five attempts, whatever a config says.
const MOST: u32 = 5;

const RETRY_POLICY: &str = "retryPolicy";
const HEDGING_POLICY: &str = "hedgingPolicy";
const THROTTLING: &str = "retryThrottling";
const METHOD_CONFIG: &str = "methodConfig";

/// The fields of a hedgingPolicy and of retryThrottling, the name that a retryPolicy has as well left out.
pub(super) const OTHERS: [(&str, Item); 6] = [
    ("hedgingDelay", Item::HedgeDelay),
    ("nonFatalStatusCodes", Item::NonFatal),
    (HEDGING_POLICY, Item::Group),
    ("maxTokens", Item::Tokens),
    ("tokenRatio", Item::Ratio),
    (THROTTLING, Item::Group),
];

pub(super) const SHAPE: Shape = Shape {
    fields: &[
        ("maxAttempts", Item::Attempts),
        ("initialBackoff", Item::Initial),
        ("maxBackoff", Item::Max),
        ("backoffMultiplier", Item::Factor),
        ("retryableStatusCodes", Item::Codes),
        ("timeout", Item::Deadline),
        (RETRY_POLICY, Item::Group),
        (METHOD_CONFIG, Item::Group),
    ],
    unknown: "is no field of a gRPC retryPolicy or of the service config around it",
    rule,
    policy,
    said,
};

const fn rule(item: Item) -> &'static str {
    match item {
        Item::Attempts | Item::Hedges => "must be a whole number from 2 on, of which more than 5 mean 5",
        Item::Tokens => "must be a whole number from 1 to 1000",
        Item::Ratio => "must be a number above 0, of which three decimals count",
        Item::HedgeDelay => "must be a time from 0 on in seconds, such as \"0.1s\"",
        Item::NonFatal => "must be a list of gRPC codes, such as [\"UNAVAILABLE\"]",
        Item::Factor => "must be a number above 0",
        Item::Codes => "must be a list of gRPC codes with at least one, such as [\"UNAVAILABLE\"]",
        Item::Group => "must be an object, or of methodConfig a list of them",
        _ => "must be a time above 0 in seconds, such as \"0.1s\"",
    }
}

/// Fields beside a retryPolicy that do not concern it, or not if they are null.
const IGNORED: [&str; 7] = [
    "name",
    "waitForReady",
    "maxRequestMessageBytes",
    "maxResponseMessageBytes",
    "loadBalancingPolicy",
    "loadBalancingConfig",
    "healthCheckConfig",
];

/// The end of a path, and its field.
type Named<'n> = (&'n str, Option<(&'static str, Item)>);

impl FormReader {
    /// The field of a service config that a path names, as its last name and what that is; nothing for what belongs to an
    /// entry that is not read.
    pub(super) fn grpc_item<'n>(&mut self, path: &'n str, is_null: bool) -> Result<Option<Named<'n>>, Error> {
        let (mut first, mut rest) = cut(path);
        let mut entry = BARE;
        if same(METHOD_CONFIG, indexed(first).0) && (!rest.is_empty() || indexed(first).1.is_some()) {
            entry = indexed(first).1.unwrap_or(BARE).min(BARE);
            if self.entry != ANY && self.entry != entry {
                return Ok(None);
            }
            if rest.is_empty() {
                return Ok(Some((METHOD_CONFIG, Some((METHOD_CONFIG, Item::Group)))));
            }
            (first, rest) = cut(rest);
        }
        let base = indexed(first).0;
        if same(THROTTLING, base) && entry == BARE {
            // It is for all methods, and so in no entry.
            let fields = &["maxTokens", "tokenRatio"];
            return Ok(if is_null { None } else { Some(inner(THROTTLING, first, rest, fields)) });
        }
        if same(HEDGING_POLICY, base) {
            if is_null {
                return Ok(None);
            }
            self.find_in(entry)?;
            let fields = &["maxAttempts", "hedgingDelay", "nonFatalStatusCodes"];
            let (name, item) = inner(HEDGING_POLICY, first, rest, fields);
            let counts =
                |known: (&'static str, Item)| if known.1 == Item::Attempts { (known.0, Item::Hedges) } else { known };
            return Ok(Some((name, item.map(counts))));
        }
        if IGNORED.into_iter().any(|known| same(known, base)) {
            return Ok(None);
        }
        let name = if same(RETRY_POLICY, first) && !rest.is_empty() { rest } else { path_behind(first, rest) };
        let found = super::find(&SHAPE, name);
        match found {
            _ if is_null => {}
            // The timeout of an entry that has no policy is that of other methods.
            Some((_, Item::Deadline)) if self.found != ANY && self.found != entry => return Ok(None),
            Some((_, Item::Deadline)) => self.limited = entry,
            Some(_) => self.find_in(entry)?,
            None => {}
        }
        Ok(Some((name, found)))
    }

    /// Notes that the policy is in that entry.
    fn find_in(&mut self, entry: u32) -> Result<(), Error> {
        if self.found != ANY && self.found != entry {
            return Err(Error::named(ErrorCode::SeveralPolicies, Subject::Policy, RETRY_POLICY));
        }
        self.found = entry;
        Ok(())
    }
}

/// The field of a group that a path names.
fn inner<'n>(group: &'static str, first: &'n str, rest: &'n str, fields: &[&str]) -> Named<'n> {
    if rest.is_empty() && indexed(first).1.is_none() {
        return (first, Some((group, Item::Group)));
    }
    let known = |name: &str| fields.iter().any(|field| same(field, name));
    let all = SHAPE.fields.iter().chain(&OTHERS).copied();
    (rest, all.filter(|field| known(field.0)).find(|field| same(field.0, indexed(rest).0)))
}

/// A path's first name and the rest.
fn cut(path: &str) -> (&str, &str) {
    path.split_once('.').unwrap_or((path, ""))
}

/// A name with something behind it is none of a field's.
fn path_behind<'n>(first: &'n str, rest: &str) -> &'n str {
    if rest.is_empty() { first } else { "" }
}

/// The guards of a service config.
pub(super) fn guards(said: &Said) -> Result<Options, Error> {
    let mut guards = Options::NEW;
    if said.has(Item::Tokens) || said.has(Item::Ratio) {
        let [tokens, ratio] = ["retryThrottling.maxTokens", "retryThrottling.tokenRatio"];
        match () {
            () if !said.has(Item::Tokens) => return Err(Error::missing(tokens)),
            () if !said.has(Item::Ratio) => return Err(Error::missing(ratio)),
            () if said.tokens == 0 || said.tokens > 1000 => {
                return Err(Error::form_value(tokens, rule(Item::Tokens), Quantity::Number(said.tokens as f64)));
            }
            () if !(said.ratio > 0.0 && said.ratio.is_finite()) => {
                return Err(Error::form_value(ratio, rule(Item::Ratio), Quantity::Number(said.ratio)));
            }
            () => {}
        }
        guards.set("budget", Value::Text("throttle"))?;
        guards.put(Field::BudgetCapacity, said.tokens);
        guards.put(Field::BudgetReward, said.ratio.to_bits());
    }
    if hedges(said) {
        guards.put(Field::HedgeDelay, said.delay);
        guards.put(Field::HedgeAttempts, said.count().min(MOST).into());
    }
    Ok(guards)
}

/// True if there is a hedgingPolicy.
fn hedges(said: &Said) -> bool {
    [Item::Hedges, Item::HedgeDelay, Item::NonFatal].into_iter().any(|item| said.has(item))
}

/// The policy around a hedge: all its attempts are in one round, so that there is no backoff.
fn hedged(said: &Said) -> Result<Policy, Error> {
    let attempts = "hedgingPolicy.maxAttempts";
    let alone = [Item::Attempts, Item::Initial, Item::Max, Item::Factor, Item::Codes];
    match () {
        () if alone.into_iter().any(|item| said.has(item)) => {
            let rule = "must not be there beside a retryPolicy";
            return Err(Error::form_value(HEDGING_POLICY, rule, Quantity::None));
        }
        () if !said.has(Item::Hedges) => return Err(Error::missing(attempts)),
        () if said.attempts < 2 => {
            return Err(Error::form_value(attempts, rule(Item::Hedges), Quantity::Number(said.attempts as f64)));
        }
        () if said.has(Item::Deadline) && said.deadline == 0 => {
            return Err(Error::form_value("timeout", rule(Item::Deadline), Quantity::Span(Span::ZERO)));
        }
        () => {}
    }
    let builder = Policy::options()
        .backoff(Backoff::constant(Duration::ZERO))
        .jitter(Jitter::None)
        .attempts(said.count().min(MOST))
        .hint_mode(HintMode::Exact)
        .hint_max(Duration::MAX);
    let limited = said.has(Item::Deadline);
    if limited { builder.deadline(Duration::from_nanos(said.deadline)) } else { builder }.build()
}

/// A hedge in one round in the form, as far as the form can express it; and a throttle.
pub(super) fn said_guarded(policy: &Policy, guards: &Options) -> Result<Said, &'static str> {
    let broken = |error: Error| error.field.map_or("", Field::path);
    let hedge = guards.hedge().map_err(broken)?;
    let mut said = match hedge {
        None => said(policy),
        Some(hedge) => {
            let attempts = policy.attempts().unwrap_or(0);
            match () {
                () if hedge.percentile().is_some() => return Err(Field::HedgePercentile.path()),
                () if attempts != hedge.attempts() => return Err(Field::HedgeAttempts.path()),
                () => {}
            }
            let mut said = Said { attempts: attempts.into(), delay: hedge.fixed_delay().as_nanos(), ..Said::NOTHING };
            said.give(Item::Hedges);
            said.give(Item::NonFatal);
            if let Some(deadline) = policy.deadline() {
                said.deadline = deadline.as_nanos();
                said.give(Item::Deadline);
            }
            said
        }
    };
    if guards.budget().map_err(broken)?.is_some() {
        (said.tokens, said.ratio) = (guards.or_default(Field::BudgetCapacity), guards.real(Field::BudgetReward));
        if !guards.is(Field::BudgetKind, "throttle") || said.tokens > 1000 || said.ratio <= 0.0 {
            return Err("budget");
        }
        said.give(Item::Tokens);
        said.give(Item::Ratio);
    }
    Ok(said)
}

fn policy(said: &Said) -> Result<Policy, Error> {
    if hedges(said) {
        return hedged(said);
    }
    for (item, field) in [
        (Item::Attempts, "retryPolicy.maxAttempts"),
        (Item::Initial, "retryPolicy.initialBackoff"),
        (Item::Max, "retryPolicy.maxBackoff"),
        (Item::Factor, "retryPolicy.backoffMultiplier"),
        (Item::Codes, "retryPolicy.retryableStatusCodes"),
    ] {
        if !said.has(item) {
            return Err(Error::missing(field));
        }
    }
    let wrong = |item, field, given| Err(Error::form_value(field, rule(item), given));
    let span = |nanos| Quantity::Span(Span::from_nanos(nanos));
    match () {
        () if said.attempts < 2 => {
            return wrong(Item::Attempts, "retryPolicy.maxAttempts", Quantity::Number(said.attempts as f64));
        }
        () if said.initial == 0 => return wrong(Item::Initial, "retryPolicy.initialBackoff", span(0)),
        () if said.max == 0 => return wrong(Item::Max, "retryPolicy.maxBackoff", span(0)),
        () if !(said.factor > 0.0 && said.factor.is_finite()) => {
            return wrong(Item::Factor, "retryPolicy.backoffMultiplier", Quantity::Number(said.factor));
        }
        () if said.has(Item::Deadline) && said.deadline == 0 => return wrong(Item::Deadline, "timeout", span(0)),
        () => {}
    }
    // A6 bounds the first delay by the longest as well.
    let initial = Duration::from_nanos(said.initial.min(said.max));
    let backoff = match super::kubernetes::is_steady(said.initial.min(said.max), said.factor) {
        true => Backoff::constant(initial),
        false => Backoff::exponential(initial, said.factor).max(Duration::from_nanos(said.max)),
    };
    let builder = Policy::options()
        .backoff(backoff)
        .jitter(Jitter::Proportional { factor: 0.2 })
        .cap(Cap::BeforeJitter)
        .attempts(said.count().min(MOST))
        .hint_mode(HintMode::Exact)
        .hint_max(Duration::MAX);
    let limited = said.has(Item::Deadline);
    if limited { builder.deadline(Duration::from_nanos(said.deadline)) } else { builder }.build()
}

fn said(policy: &Policy) -> Said {
    let mut said = super::write::exponential(policy);
    said.give(Item::Codes);
    if said.max == 0 {
        said.max = said.initial;
    }
    if let Some(deadline) = policy.deadline() {
        said.deadline = deadline.as_nanos();
        said.give(Item::Deadline);
    }
    said
}
