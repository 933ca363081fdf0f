//! The errors of names of lists, in whose place a policy has rules.

use crate::error::{Error, ErrorCode};
use crate::value::Value;

/// The rule in words in the place of a list of that name.
macro_rules! condition {
    ($name:literal) => {
        concat!(
            "is a rule: \"rules\": [{\"if\": {\"",
            $name,
            "\": [...]}, \"retry\": true}, {\"if\": {}, \"retry\": false}]"
        )
    };
    (once $name:literal) => {
        concat!(
            "is a rule: \"rules\": [{\"if\": {\"",
            $name,
            "\": [...], \"idempotent\": false}, \"retry\": true}, {\"if\": {\"idempotent\": false}, \"retry\": false}]"
        )
    };
}

/// Names of lists, each with the rule in words.
const NAMES: [(&str, &str); 9] = [
    ("retry_on.non_idempotent.http", condition!(once "http")),
    ("retry_on.non_idempotent.grpc", condition!(once "grpc")),
    ("retry_on.non_idempotent.kinds", condition!(once "kinds")),
    ("retry_on.non_idempotent.patterns", condition!(once "patterns")),
    ("retry_on.http", condition!("http")),
    ("retry_on.grpc", condition!("grpc")),
    ("retry_on.kinds", condition!("kinds")),
    ("retry_on.patterns", condition!("patterns")),
    ("retry_on", ANY),
];

const ANY: &str = "is a list of rules: \"rules\": [{\"if\": {...}, \"retry\": true}]";
const ON: &str = "is a rule: \"rules\": [{\"if\": {\"kinds\": [...]}, \"backoff\": {...}}]";

/// The error of a name that is written as a rule; `None` of every other name.
pub(crate) fn replaced(name: &str, value: Value<'_>) -> Option<Error> {
    let is = |known: &str| name.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
    let (stage, field) = name.split_once('.').unwrap_or((name, ""));
    let is_on = stage.starts_with("backoff") && (field == "on" || field.starts_with("on["));
    let rule = match NAMES.into_iter().find(|known| is(known.0)) {
        Some((_, rule)) => rule,
        None if is_on => ON,
        None => return None,
    };
    let error = Error::of_use(ErrorCode::Replaced);
    Some(Error { special_rule: Some(rule), value: value.shown(), nearest: Some("rules"), ..error })
}
