//! The retries of a route of Istio, which are Envoy's, and the budget of its DestinationRule.

use super::exponential::with_retries;
use super::statuses::and_no_other;
use super::values::{ANY, Entries, Item, Kind, ReadEntry, Row, System, Values, error, row};
use crate::decide::backoff::Backoff;
use crate::decide::jitter::Cap;
use crate::decide::policy::Policy;
use crate::describe::options::Options;
use crate::describe::rules::Rules;
use crate::error::{Error, ErrorCode, Subject};
use crate::fields::Field;
use crate::nearest::nearest;
use crate::time::Span;
use crate::value::Value;

pub(super) const SYSTEM: System = System {
    tables: &[&FIELDS],
    unknown: "is not a field of the retries of an Istio VirtualService, or of the retryBudget of a DestinationRule",
    inexpressible: "cannot be written: holdoff only reads Istio",
    import,
    export: None,
    entries: Entries::Objects,
    wrappers: "spec.http[*] items[*].spec.http[*] http[*] spec.subsets[*] items[*].spec.subsets[*] spec items[*].spec",
    strict: "retries trafficPolicy.retryBudget",
    known: "retries.retryRemoteLocalities retries.retryIgnorePreviousHosts",
    mixed: "",
    has_defaults: false,
    ignores_hints: true,
};

const TIME: &str = "must be a time above 0, such as \"2s\" or \"250ms\"";
const ON: &str = "must be a text of Envoy's words and of HTTP statuses, such as \"503,connect-failure,reset\"";
const ABOVE: core::ops::RangeInclusive<f64> = 1.0..=f64::MAX;
const CONCURRENCY: &str = "must be a whole number from 0 to 4294967295";
const FIELDS: [Row; 8] = [
    row("retries.attempts", Item::Attempts, Kind::Count, ANY, "must be a whole number of retries, 0 or more"),
    row("retries.perTryTimeout", Item::AttemptTimeout, Kind::Go, ABOVE, TIME),
    row("retries.retryOn", Item::Codes, Kind::Rule(read_on), ANY, ON),
    row("retries.backoff", Item::Initial, Kind::Go, ABOVE, TIME),
    row("timeout", Item::Deadline, Kind::Go, ANY, "must be a time, such as \"10s\", or \"0s\" for no limit"),
    row("trafficPolicy.retryBudget.percent", Item::Share, Kind::Number, 0.0..=100.0, "must be a number from 0 to 100"),
    row("trafficPolicy.retryBudget.minRetryConcurrency", Item::Least, Kind::Count, 0.0..=4_294_967_295.0, CONCURRENCY),
    row("trafficPolicy.connectionPool.http.maxRetries", Item::Per, Kind::Count, 0.0..=2_147_483_647.0, CONCURRENCY),
];

/// The failures that are retried when a route does not say it.
const USUAL: &str = "connect-failure,refused-stream,unavailable,cancelled";

/// Envoy's words and what they retry: statuses, gRPC codes, and requests that were never sent. Words for headers of Envoy are not
/// among them.
const WORDS: [(&str, &str); 13] = [
    ("5xx", "unsent 5xx"),
    ("gateway-error", "502 503 504 unsent"),
    ("reset", ""),
    ("reset-before-request", "unsent"),
    ("connect-failure", "unsent"),
    ("refused-stream", "unsent"),
    ("retriable-4xx", "409"),
    ("cancelled", "CANCELLED"),
    ("deadline-exceeded", "DEADLINE_EXCEEDED"),
    ("internal", "INTERNAL"),
    ("resource-exhausted", "RESOURCE_EXHAUSTED"),
    ("unavailable", "UNAVAILABLE"),
    // Istio has the statuses in the same text.
    ("retriable-status-codes", ""),
];

fn read_on<'v>(rules: &mut Rules, rule: u8, index: Option<u32>, value: Value<'v>) -> ReadEntry<'v> {
    let (Value::Text(text), None) = (value, index) else {
        return Err(Error { value: value.shown(), ..error(ErrorCode::FormValue, "retryOn", ON) });
    };
    let mut has_resets = false;
    // Istio takes an empty text as none.
    let text = if text.trim().is_empty() { USUAL } else { text };
    for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        has_resets |= ["5xx", "gateway-error", "reset"].contains(&word);
        read_word(rules, rule, word)?;
    }
    rules.set_retry(rule, Value::Flag(true))?;
    *rules = if has_resets { and_no_other(*rules).and_nothing_else(true) } else { rules.and_nothing_else(false) };
    Ok(None)
}

/// Adds what a word means to the rule. A failure without any answer is one of a lost connection or of time.
fn read_word(rules: &mut Rules, rule: u8, word: &str) -> Result<(), Error> {
    let Some((_, entries)) = WORDS.into_iter().find(|known| known.0 == word) else {
        let near = nearest(word, WORDS.into_iter().map(|known| known.0));
        let status: u32 =
            word.parse().map_err(|_| Error { nearest: near, ..error(ErrorCode::FormValue, "retryOn", ON) })?;
        return rules.add_entry(rule, "http", status.into()).map(|_| ());
    };
    for entry in entries.split_ascii_whitespace() {
        let (list, value) = match (entry, entry.parse::<u32>()) {
            (_, Ok(status)) => ("http", status.into()),
            ("unsent", _) => ("unsent", Value::Flag(true)),
            ("5xx", _) => ("http", Value::Text(entry)),
            (code, _) => ("grpc", Value::Text(code)),
        };
        rules.add_entry(rule, list, value)?;
    }
    Ok(())
}

/// True for a route that does not say which failures are retried. Istio retries every route, unless told otherwise.
pub(super) fn is_usual(values: &Values) -> bool {
    !values.has(Item::Codes) && (values.has(Item::Attempts) || values.has(Item::Deadline))
}

/// The rules of such a route.
pub(super) fn usual_rules() -> Rules {
    let mut rules = Rules::NONE;
    let _ = read_on(&mut rules, 0, None, Value::Text(USUAL));
    rules
}

/// Envoy doubles 25 ms up to ten times as much, and waits for any part of it.
fn import(values: &Values) -> Result<Options, Error> {
    values.check_set(&FIELDS)?;
    let own = [Item::AttemptTimeout, Item::Codes, Item::Initial];
    if own.into_iter().any(|item| values.has(item)) && !values.has(Item::Attempts) {
        return Err(Error::named(ErrorCode::FormMissing, Subject::Policy, "retries.attempts"));
    }
    let base = Span::from_nanos(values.get(Item::Initial).unwrap_or(25_000_000)).as_duration();
    let backoff = Backoff::exponential(base, 2.0).max(base.saturating_mul(10));
    let retries = values.get(Item::Attempts).or(Some(2));
    let mut options = with_retries(Policy::options(), retries);
    options.backoff(backoff).cap(Cap::BeforeJitter);
    values.put_limits(&mut options);
    let has_budget = values.has(Item::Share) || values.has(Item::Least);
    if has_budget && values.has(Item::Per) {
        return Err(error(ErrorCode::FormValue, "maxRetries", "must not be there beside a retryBudget"));
    }
    if has_budget || values.has(Item::Per) {
        let percent = values.get(Item::Share).map_or(20.0, f64::from_bits);
        let (ratio, least) = match values.get(Item::Per) {
            Some(most) => (0.0, most),
            None => (percent / 100.0, values.get(Item::Least).unwrap_or(3)),
        };
        options.set_field("budget", Value::Text("share"))?;
        options.put(Field::BudgetRatio, ratio.to_bits());
        options.put(Field::BudgetMinConcurrency, least);
    }
    Ok(options)
}
