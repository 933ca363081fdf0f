//! gRPC's retryPolicy: exponential, a fifth more or less, a pushback obeyed to the letter (gRFC A6).

use super::said::{Item, Said};
use super::{ANY, BARE, FormError, FormReader, Shape, indexed, same};
use crate::backoff::Backoff;
use crate::error::{ErrorCode, Given};
use crate::hint::HintMode;
use crate::jitter::{Cap, Jitter};
use crate::policy::Policy;
use crate::time::Span;
use core::time::Duration;

/// gRPC makes at most five attempts, whatever a config says.
const MOST: u32 = 5;

const RETRY_POLICY: &str = "retryPolicy";
const METHOD_CONFIG: &str = "methodConfig";

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
        Item::Attempts => "must be a whole number from 2 on, of which more than 5 mean 5",
        Item::Factor => "must be a number above 0",
        Item::Codes => "must be a list of gRPC codes with at least one, such as [\"UNAVAILABLE\"]",
        Item::Group => "must be an object, or of methodConfig a list of them",
        _ => "must be a time above 0 in seconds, such as \"0.1s\"",
    }
}

/// What stands beside a retryPolicy and does not concern it, or not if it is null.
const IGNORED: [&str; 9] = [
    "hedgingPolicy",
    "retryThrottling",
    "name",
    "waitForReady",
    "maxRequestMessageBytes",
    "maxResponseMessageBytes",
    "loadBalancingPolicy",
    "loadBalancingConfig",
    "healthCheckConfig",
];

/// What a path ends with, and the field.
type Named<'n> = (&'n str, Option<(&'static str, Item)>);

impl FormReader {
    /// The field of a service config that a path names, as its last name and what that is; nothing for what belongs to an
    /// entry that is not read.
    pub(super) fn grpc_item<'n>(&mut self, path: &'n str, is_null: bool) -> Result<Option<Named<'n>>, FormError> {
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
        if same("hedgingPolicy", base) && !is_null {
            return Err(FormError::new(ErrorCode::NotSupported, "hedgingPolicy", "hedging is not in this version"));
        }
        if same("retryThrottling", base) && entry == BARE && !is_null {
            let rule = "budgets are not in this version";
            return Err(FormError::new(ErrorCode::NotSupported, "retryThrottling", rule));
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
            Some(_) if self.found != ANY && self.found != entry => {
                let code = ErrorCode::SeveralPolicies;
                return Err(FormError::new(code, RETRY_POLICY, code.rule(None)));
            }
            Some(_) => self.found = entry,
            None => {}
        }
        Ok(Some((name, found)))
    }
}

/// A path's first name and the rest.
fn cut(path: &str) -> (&str, &str) {
    path.split_once('.').unwrap_or((path, ""))
}

/// A name with something behind it is none of a field's.
fn path_behind<'n>(first: &'n str, rest: &str) -> &'n str {
    if rest.is_empty() { first } else { "" }
}

fn policy(said: &Said) -> Result<Policy, FormError> {
    for (item, field) in [
        (Item::Attempts, "retryPolicy.maxAttempts"),
        (Item::Initial, "retryPolicy.initialBackoff"),
        (Item::Max, "retryPolicy.maxBackoff"),
        (Item::Factor, "retryPolicy.backoffMultiplier"),
        (Item::Codes, "retryPolicy.retryableStatusCodes"),
    ] {
        if !said.has(item) {
            return Err(FormError::missing(field));
        }
    }
    let wrong = |item, field, given| Err(FormError::value(field, rule(item), given));
    let span = |nanos| Given::Span(Span::from_nanos(nanos));
    match () {
        () if said.attempts < 2 => {
            return wrong(Item::Attempts, "retryPolicy.maxAttempts", Given::Number(said.attempts as f64));
        }
        () if said.initial == 0 => return wrong(Item::Initial, "retryPolicy.initialBackoff", span(0)),
        () if said.max == 0 => return wrong(Item::Max, "retryPolicy.maxBackoff", span(0)),
        () if !(said.factor > 0.0 && said.factor.is_finite()) => {
            return wrong(Item::Factor, "retryPolicy.backoffMultiplier", Given::Number(said.factor));
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
    let builder = Policy::builder()
        .backoff(backoff)
        .jitter(Jitter::Proportional { factor: 0.2 })
        .cap(Cap::BeforeJitter)
        .attempts(said.count().min(MOST))
        .hint_mode(HintMode::Exact)
        .hint_max(Duration::MAX);
    let limited = said.has(Item::Deadline);
    Ok(if limited { builder.deadline(Duration::from_nanos(said.deadline)) } else { builder }.build()?)
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
