use super::*;
use crate::decide::hint::Hint;
use crate::time::Span;
use proptest::prelude::*;
use std::string::String;
use std::vec::Vec;

fn number(value: u32) -> Value<'static> {
    Value::Number { value: f64::from(value), unit: 1.0 }
}

fn text(text: &str) -> Value<'_> {
    Value::Text(text)
}

/// Rules from entries.
fn rules(entries: &[(&str, Value<'_>)]) -> Rules {
    let mut rules = Rules::default();
    for (path, value) in entries {
        rules.set(path, *value).unwrap();
    }
    rules
}

fn http(status: u16) -> Facts {
    Facts { http: status, ..Facts::NONE }
}

fn grpc(code: GrpcCode) -> Facts {
    Facts { grpc: code.code(), ..Facts::NONE }
}

fn once(facts: Facts) -> Facts {
    Facts { idempotent: false, ..facts }
}

#[test]
fn rules_that_say_nothing_change_nothing() {
    for kind in FailureKind::ALL {
        let failure = Failure::new(kind).with_hint(Hint::after(Span::from_secs(3)));
        for facts in [Facts::NONE, http(503), grpc(GrpcCode::Internal), once(http(400))] {
            assert_eq!(Rules::default().judge(facts, failure), failure);
        }
    }
}

#[test]
fn a_listed_status_is_retried_and_another_is_not() {
    let rules = rules(&[("http[0]", number(409)), ("http[1]", text("5xx"))]);
    assert_eq!(rules.judge(http(409), Failure::PERMANENT), Failure::TRANSIENT);
    assert_eq!(rules.judge(http(500), Failure::TRANSIENT), Failure::TRANSIENT);
    assert_eq!(rules.judge(http(599), Failure::TRANSIENT), Failure::TRANSIENT);
    assert_eq!(rules.judge(http(504), Failure::TIMEOUT), Failure::TIMEOUT);
    assert_eq!(rules.judge(http(429), Failure::THROTTLED), Failure::PERMANENT);
    assert_eq!(rules.judge(http(499), Failure::TRANSIENT), Failure::PERMANENT);
    assert_eq!(rules.judge(http(600), Failure::TRANSIENT), Failure::PERMANENT);
}

#[test]
fn a_list_says_nothing_about_errors_of_another_sort() {
    let rules = rules(&[("http[0]", number(503)), ("grpc[0]", text("unavailable"))]);
    for failure in [Failure::TRANSIENT, Failure::PERMANENT] {
        assert_eq!(rules.judge(Facts::NONE, failure), failure);
    }
    assert_eq!(rules.judge(grpc(GrpcCode::Unavailable), Failure::PERMANENT), Failure::TRANSIENT);
    assert_eq!(rules.judge(grpc(GrpcCode::Aborted), Failure::TRANSIENT), Failure::PERMANENT);
    let both = Facts { http: 503, ..grpc(GrpcCode::Aborted) };
    assert_eq!(rules.judge(both, Failure::TRANSIENT), Failure::TRANSIENT);
}

#[test]
fn a_code_that_is_none_reads_as_unknown() {
    let rules = rules(&[("grpc[0]", text("UNKNOWN"))]);
    for code in [2, 17, 254] {
        assert_eq!(rules.judge(Facts { grpc: code, ..Facts::NONE }, Failure::PERMANENT), Failure::TRANSIENT);
    }
}

#[test]
fn an_empty_list_of_patterns_retries_nothing() {
    let rules = rules(&[("patterns", Value::NoItems)]);
    assert_eq!(rules.patterns(true), Some(Operations::All));
    assert_eq!(rules.judge(Facts::NONE, Failure::TRANSIENT), Failure::PERMANENT);
}

#[test]
fn kinds_speak_about_every_error() {
    let rules = rules(&[("kinds[0]", text("throttled"))]);
    let hinted = Failure::THROTTLED.with_hint(Hint::after(Span::from_secs(2)));
    assert_eq!(rules.judge(http(429), hinted), hinted);
    assert_eq!(rules.judge(Facts::NONE, Failure::TIMEOUT), Failure::PERMANENT);
}

#[test]
fn an_operation_that_may_not_run_twice_is_retried_for_what_is_said_to_be_safe_only() {
    let rules = rules(&[("http[0]", text("5xx")), ("non_idempotent.http[0]", number(503))]);
    assert_eq!(rules.judge(http(500), Failure::TRANSIENT), Failure::TRANSIENT);
    assert_eq!(rules.judge(once(http(500)), Failure::TRANSIENT), Failure::PERMANENT);
    assert_eq!(rules.judge(once(http(503)), Failure::TRANSIENT), Failure::TRANSIENT);
    assert_eq!(rules.judge(Facts::NONE, Failure::TIMEOUT), Failure::TIMEOUT);
    assert_eq!(rules.judge(once(Facts::NONE), Failure::TIMEOUT), Failure::PERMANENT);
}

#[test]
fn without_a_word_on_such_operations_the_rules_are_the_same() {
    let mut rules = rules(&[("http[0]", number(503))]);
    assert_eq!(rules.set("non_idempotent", Value::Empty), Ok(None));
    assert_eq!(rules.judge(once(http(503)), Failure::TRANSIENT), Failure::TRANSIENT);
    assert_eq!(rules.patterns(false), None);
}

#[test]
fn patterns_stay_with_the_host() {
    let mut rules = Rules::default();
    let mut set = |path, value| rules.set(path, value);
    let pattern = HostText::Pattern { operations: Operations::All, begins: false, text: "reset" };
    assert_eq!(set("patterns[7]", text("reset")), Ok(Some(pattern)));
    let pattern = HostText::Pattern { operations: Operations::NonIdempotent, begins: true, text: "" };
    assert_eq!(set("non_idempotent.patterns[0]", text("")), Ok(Some(pattern)));
    assert_eq!(rules.set("patterns", Value::NoItems), Ok(Some(HostText::NoPatterns(Operations::All))));
    assert_eq!((rules.patterns(true), rules.patterns(false)), (Some(Operations::All), Some(Operations::NonIdempotent)));
}

#[test]
fn a_later_list_replaces_an_earlier_one() {
    let rules =
        rules(&[("http[0]", number(500)), ("http[1]", number(501)), ("http[0]", number(502)), ("grpc[0]", number(2))]);
    let retried: Vec<_> =
        (0..=u16::MAX).filter(|s| rules.judge(http(*s), Failure::PERMANENT) == Failure::TRANSIENT).collect();
    assert_eq!(retried, [502]);
}

#[test]
fn an_answer_below_400_is_a_failure_when_it_is_listed() {
    let rules = rules(&[("http[0]", number(202)), ("non_idempotent.http[0]", number(429))]);
    for (status, idempotent, failure) in
        [(202, true, true), (202, false, false), (200, true, false), (404, false, true)]
    {
        assert_eq!(rules.is_failure(status, idempotent), failure, "{status}");
    }
    assert_eq!(rules.judge(http(202), Failure::TRANSIENT), Failure::TRANSIENT);
}

#[test]
fn what_is_wrong_is_named() {
    use ErrorCode::{GrpcCode, HttpStatus, NotAList, PatternText, RetryKind, UnknownField, WrongType};
    for (path, value, code, near) in [
        ("http[0]", number(99), HttpStatus, None),
        ("http[0]", number(600), HttpStatus, None),
        ("http[0]", Value::Number { value: 429.5, unit: 1.0 }, HttpStatus, None),
        ("http[0]", Value::Number { value: f64::NAN, unit: 1.0 }, HttpStatus, None),
        ("http[0]", text("5XX"), HttpStatus, Some("5xx")),
        ("http[0]", text("6xx"), HttpStatus, Some("1xx")),
        ("http[0]", text("429"), HttpStatus, None),
        ("http[0]", Value::Nothing, HttpStatus, None),
        ("http", number(429), NotAList, None),
        ("http", Value::Empty, NotAList, None),
        ("grpc[0]", number(17), GrpcCode, None),
        ("grpc[0]", text("UNAVAILBLE"), GrpcCode, Some("UNAVAILABLE")),
        ("grpc[0]", Value::Other, GrpcCode, None),
        ("kinds[0]", text("throtled"), RetryKind, Some("throttled")),
        ("kinds[0]", text("permanent"), RetryKind, None),
        ("kinds[0]", number(1), RetryKind, None),
        ("patterns[0]", number(1), PatternText, None),
        ("patterns", text("reset"), NotAList, None),
        ("patern[0]", text("reset"), UnknownField, Some("retry_on.patterns")),
        ("http[]", number(429), UnknownField, Some("retry_on.http")),
        ("http[+1]", number(429), UnknownField, Some("retry_on.http")),
        ("http[0].x", number(429), UnknownField, Some("retry_on.http")),
        ("statuses[0]", number(429), UnknownField, None),
        ("nonidempotent", Value::Empty, UnknownField, Some("retry_on.non_idempotent")),
        ("non_idempotent.htp[0]", number(429), UnknownField, Some("retry_on.non_idempotent.http")),
        ("non_idempotent", text("none"), WrongType, None),
        ("", text("always"), WrongType, None),
        ("", Value::NoItems, WrongType, None),
        ("non_idempotent", Value::NoItems, WrongType, None),
        ("http[0]", Value::NoItems, HttpStatus, None),
        ("patterns[0]", Value::NoItems, PatternText, None),
        ("httq", Value::NoItems, UnknownField, Some("retry_on.http")),
    ] {
        let mut rules = Rules::default();
        let error = rules.set(path, value).unwrap_err();
        assert_eq!((error.code, error.nearest), (code, near), "{path} {value:?}");
        assert_eq!(rules, Rules::default());
    }
}

#[test]
fn the_rules_are_their_bytes() {
    assert_eq!((size_of::<Rules>(), size_of::<Facts>()), (160, 6));
}

fn lists() -> impl Strategy<Value = Lists> {
    let fields = (any::<[u64; 8]>(), any::<u32>(), any::<u8>(), any::<u8>());
    fields.prop_map(|(http, grpc, kinds, listed)| Lists { http, grpc, kinds, listed, unused: [0; 10] })
}

fn facts() -> impl Strategy<Value = Facts> {
    (any::<u16>(), any::<u8>(), any::<bool>(), any::<bool>()).prop_map(|(http, grpc, matched, idempotent)| Facts {
        http,
        grpc,
        matched,
        idempotent,
    })
}

proptest! {
    #[test]
    fn no_memory_and_no_facts_panic(all in lists(), non_idempotent in lists(), facts in facts(), kind in 1u32..5, status: u32) {
        let rules = Rules { all, non_idempotent };
        let failure = Failure::new(FailureKind::from_code(kind).unwrap()).with_hint(Hint::from_raw(9));
        let judged = rules.judge(facts, failure);
        prop_assert_eq!(judged.hint, failure.hint);
        prop_assert!(judged.kind == failure.kind || failure.kind == FailureKind::Permanent || judged.kind == FailureKind::Permanent);
        let _ = rules.is_failure(status, facts.idempotent);
    }

    #[test]
    fn no_path_and_no_value_panics(path in "(http|grpc|kinds|patterns|non_idempotent)?[.\\[\\]a-z0-9]{0,12}", value: f64, word: String) {
        let mut rules = Rules::default();
        let _ = rules.set(&path, Value::Number { value, unit: 1.0 });
        let _ = rules.set(&path, Value::Text(&word));
        let _ = rules.set(&path, Value::NoItems);
    }

    #[test]
    fn exactly_the_listed_statuses_are_retried(listed in prop::collection::vec(100u16..600, 1..40), status in 0u16..700) {
        let mut rules = Rules::default();
        for (index, one) in listed.iter().enumerate() {
            rules.set(&std::format!("http[{index}]"), number(u32::from(*one))).unwrap();
        }
        let retried = rules.judge(http(status), Failure::PERMANENT) == Failure::TRANSIENT;
        prop_assert_eq!(retried, listed.contains(&status));
    }
}
