use super::*;
use crate::decide::hint::Hint;
use crate::error::ErrorCode;
use crate::time::Span;
use crate::value::Value;
use proptest::prelude::*;
use std::vec::Vec;

fn number(value: u32) -> Value<'static> {
    Value::Number { value: f64::from(value), unit: 1.0 }
}

fn text(text: &str) -> Value<'_> {
    Value::Text(text)
}

/// Rules from their parts: `0.if.http[0]`, `1.retry`.
fn rules(parts: &[(&str, Value<'_>)]) -> Rules {
    let mut rules = Rules::default();
    for (path, value) in parts {
        let (rule, rest) = path.split_once('.').unwrap();
        let rule = rule.parse().unwrap();
        rules.begin(rule).unwrap();
        match rest.strip_prefix("if") {
            Some(rest) => rules.set_condition(rule, rest, *value).map(|_| ()).unwrap(),
            None => rules.set_retry(rule, *value).unwrap(),
        }
    }
    rules
}

/// One rule that retries, and one that never retries anything else.
fn only(parts: &[(&str, Value<'_>)]) -> Rules {
    let mut all: Vec<_> = parts.to_vec();
    all.extend([("0.retry", Value::Flag(true)), ("1.if", Value::Empty), ("1.retry", Value::Flag(false))]);
    rules(&all)
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

fn judged(rules: &Rules, facts: Facts, failure: Failure) -> (FailureKind, u8) {
    let judged = rules.judge(facts, failure);
    assert_eq!(judged.hint, failure.hint);
    (judged.kind, judged.rule)
}

use FailureKind::{Permanent, Throttled, Timeout, Transient};

const NO_RULE: u8 = Failure::NO_RULE;

#[test]
fn without_rules_a_failure_stays_what_it_is() {
    for kind in FailureKind::ALL {
        let failure = Failure::new(kind).with_hint(Hint::after(Span::from_secs(3)));
        for facts in [Facts::NONE, http(503), grpc(GrpcCode::Internal)] {
            assert_eq!(judged(&Rules::NONE, facts, failure), (kind, NO_RULE));
        }
    }
}

#[test]
fn an_operation_that_may_not_run_twice_is_retried_only_if_nothing_was_done() {
    let rules = Rules::NONE;
    for (facts, failure, kind) in [
        (http(503), Failure::TRANSIENT, Permanent),
        (Facts::NONE, Failure::TIMEOUT, Permanent),
        (http(429), Failure::THROTTLED, Throttled),
        (Facts { unsent: true, ..Facts::NONE }, Failure::TRANSIENT, Transient),
    ] {
        assert_eq!(judged(&rules, once(facts), failure), (kind, NO_RULE));
    }
}

#[test]
fn the_first_rule_that_holds_takes_the_failure() {
    let rules = rules(&[
        ("0.if.http[0]", number(409)),
        ("0.retry", Value::Flag(false)),
        ("1.if.http[0]", text("4xx")),
        ("1.retry", Value::Flag(true)),
        ("2.if.kinds[0]", text("throttled")),
    ]);
    for (facts, failure, judgement) in [
        (http(409), Failure::TRANSIENT, (Permanent, 1)),
        (http(404), Failure::PERMANENT, (Transient, 2)),
        (http(408), Failure::TIMEOUT, (Timeout, 2)),
        (http(503), Failure::THROTTLED, (Throttled, 3)),
        (http(503), Failure::TRANSIENT, (Transient, NO_RULE)),
        (http(600), Failure::PERMANENT, (Permanent, NO_RULE)),
    ] {
        assert_eq!(judged(&rules, facts, failure), judgement, "{facts:?}");
    }
}

#[test]
fn all_conditions_of_an_alternative_hold_and_one_alternative_of_a_rule() {
    let rules = only(&[
        ("0.if[0].http[0]", number(409)),
        ("0.if[0].patterns[0]", text("lock")),
        ("0.if[1].grpc[0]", text("unavailable")),
        ("0.if[1].unsent", Value::Flag(true)),
    ]);
    let locked = |facts| Facts { patterns: 1, ..facts };
    let unsent = |facts| Facts { unsent: true, ..facts };
    for (facts, kind) in [
        (http(409), Permanent),
        (locked(http(409)), Transient),
        (Facts { patterns: 2, ..http(409) }, Permanent),
        (locked(http(500)), Permanent),
        (grpc(GrpcCode::Unavailable), Permanent),
        (unsent(grpc(GrpcCode::Unavailable)), Transient),
        (unsent(grpc(GrpcCode::Aborted)), Permanent),
    ] {
        assert_eq!(judged(&rules, facts, Failure::PERMANENT).0, kind, "{facts:?}");
    }
}

#[test]
fn no_alternative_never_holds_and_no_condition_always() {
    let never = rules(&[("0.if", Value::NoItems), ("0.retry", Value::Flag(false))]);
    let always = rules(&[("0.if", Value::Empty), ("0.retry", Value::Flag(false))]);
    let unsaid = rules(&[("0.retry", Value::Flag(false))]);
    for (rules, judgement) in [(never, (Transient, NO_RULE)), (always, (Permanent, 1)), (unsaid, (Permanent, 1))] {
        assert_eq!(judged(&rules, http(503), Failure::TRANSIENT), judgement);
    }
    let empty = only(&[("0.if.grpc", Value::NoItems)]);
    assert_eq!(judged(&empty, grpc(GrpcCode::Unavailable), Failure::TRANSIENT), (Permanent, 2));
}

#[test]
fn a_rule_must_name_operations_that_may_not_run_twice() {
    let rules = rules(&[
        ("0.if.http[0]", number(500)),
        ("0.if.idempotent", Value::Flag(false)),
        ("0.retry", Value::Flag(true)),
        ("1.if.http[0]", text("5xx")),
        ("1.retry", Value::Flag(true)),
    ]);
    assert_eq!(judged(&rules, once(http(500)), Failure::TRANSIENT), (Transient, 1));
    assert_eq!(judged(&rules, http(500), Failure::TRANSIENT), (Transient, 2));
    assert_eq!(judged(&rules, once(http(503)), Failure::TRANSIENT), (Permanent, 2));
    assert_eq!(judged(&rules, once(http(503)), Failure::THROTTLED), (Throttled, 2));
}

#[test]
fn a_servers_word_comes_before_the_rules_and_a_users_no_after_it() {
    let rules = rules(&[("0.if.types[0]", text("CardDeclined")), ("0.retry", Value::Flag(false))]);
    let said = |should_retry, types| Facts { should_retry, types, ..http(400) };
    assert_eq!(judged(&rules, said(1, 0), Failure::PERMANENT), (Transient, NO_RULE));
    assert_eq!(judged(&rules, said(1, 1), Failure::PERMANENT), (Permanent, 1));
    assert_eq!(judged(&rules, said(2, 0), Failure::TRANSIENT), (Permanent, NO_RULE));
    assert_eq!(judged(&rules, said(3, 0), Failure::TRANSIENT), (Transient, NO_RULE));
    let never = Failure::TRANSIENT.with_hint(Hint::NEVER);
    assert_eq!(judged(&rules, said(0, 0), never), (Transient, NO_RULE), "the machine knows if hints are obeyed");
}

#[test]
fn a_fault_of_the_program_is_permanent_unless_a_rule_names_its_type() {
    let rules = rules(&[
        ("0.if.types[0]", text("KeyError")),
        ("0.retry", Value::Flag(true)),
        ("1.if", Value::Empty),
        ("1.retry", Value::Flag(true)),
    ]);
    let fault = |types| Facts { program_fault: true, types, ..Facts::NONE };
    assert_eq!(judged(&rules, fault(1), Failure::PERMANENT), (Transient, 1));
    assert_eq!(judged(&rules, fault(0), Failure::TRANSIENT), (Permanent, NO_RULE));
}

#[test]
fn a_code_that_is_none_reads_as_unknown() {
    let rules = only(&[("0.if.grpc[0]", text("UNKNOWN"))]);
    for code in [2, 17, 254] {
        assert_eq!(judged(&rules, Facts { grpc: code, ..Facts::NONE }, Failure::PERMANENT), (Transient, 1));
    }
}

#[test]
fn texts_stay_with_the_host() {
    let mut rules = Rules::default();
    let text_of = |alternative, list, begins, text| Some(HostText::Text { alternative, list, begins, text });
    for (path, value, stored) in [
        (".patterns[0]", text("reset"), text_of(0, TextList::Patterns, true, "reset")),
        (".patterns[1]", text(""), text_of(0, TextList::Patterns, false, "")),
        ("[1].codes[0]", text("EAGAIN"), text_of(1, TextList::Codes, true, "EAGAIN")),
        ("[1].types", Value::NoItems, Some(HostText::NoTexts { alternative: 1, list: TextList::Types })),
    ] {
        assert_eq!(rules.set_condition(0, path, value), Ok(stored), "{path}");
    }
    assert!(TextList::ALL.into_iter().all(|list| rules.has_texts(list)));
}

#[test]
fn a_later_list_replaces_an_earlier_one() {
    let rules = only(&[
        ("0.if.http[0]", number(500)),
        ("0.if.http[1]", number(501)),
        ("0.if.http[0]", number(502)),
        ("0.if.grpc[0]", number(2)),
    ]);
    let facts = |status| Facts { http: status, ..grpc(GrpcCode::Unknown) };
    let retried: Vec<_> =
        (0..=u16::MAX).filter(|status| judged(&rules, facts(*status), Failure::PERMANENT).0 == Transient).collect();
    assert_eq!(retried, [502]);
}

#[test]
fn an_answer_below_400_is_a_failure_when_a_rule_that_retries_names_it() {
    let rules = rules(&[
        ("0.if.http[0]", number(202)),
        ("0.if.idempotent", Value::Flag(true)),
        ("0.retry", Value::Flag(true)),
        ("1.if.http[0]", text("2xx")),
        ("1.retry", Value::Flag(false)),
    ]);
    for (status, idempotent, failure) in
        [(202, true, true), (202, false, false), (200, true, false), (404, false, true)]
    {
        assert_eq!(rules.is_failure(status, idempotent), failure, "{status}");
    }
}

#[test]
fn a_rule_holds_for_a_kind_alone_if_it_has_no_other_condition() {
    let rules = rules(&[
        ("0.if[0].kinds[0]", text("throttled")),
        ("0.if[1].kinds[0]", text("timeout")),
        ("0.if[1].idempotent", Value::Flag(true)),
        ("0.if[2].http[0]", number(503)),
        ("1.if.idempotent", Value::Flag(false)),
        ("2.retry", Value::Flag(true)),
    ]);
    let bits = |kinds: &[FailureKind]| kinds.iter().map(|kind| 1 << (kind.code() - 1)).sum::<u8>();
    assert_eq!(rules.kinds(0), bits(&[Throttled, Timeout]) | bits(&[Throttled]) << 4);
    assert_eq!(rules.kinds(1), 0xf0);
    assert_eq!(rules.kinds(2), 0xff);
}

#[test]
fn what_is_wrong_is_named() {
    use ErrorCode::{GrpcCode, HttpStatus, NotAFlag, NotAList, PatternText, RetryKind, UnknownField, WrongType};
    for (path, value, code, near) in [
        (".http[0]", number(99), HttpStatus, None),
        (".http[0]", number(600), HttpStatus, None),
        (".http[0]", Value::Number { value: 429.5, unit: 1.0 }, HttpStatus, None),
        (".http[0]", Value::Number { value: f64::NAN, unit: 1.0 }, HttpStatus, None),
        (".http[0]", text("5XX"), HttpStatus, Some("5xx")),
        (".http[0]", text("6xx"), HttpStatus, Some("1xx")),
        (".http[0]", text("429"), HttpStatus, None),
        (".http[0]", Value::Nothing, HttpStatus, None),
        (".http", number(429), NotAList, None),
        (".http", Value::Empty, NotAList, None),
        (".grpc[0]", number(17), GrpcCode, None),
        (".grpc[0]", text("UNAVAILBLE"), GrpcCode, Some("UNAVAILABLE")),
        (".grpc[0]", Value::Other, GrpcCode, None),
        (".kinds[0]", text("throtled"), RetryKind, Some("throttled")),
        (".kinds[0]", number(1), RetryKind, None),
        (".patterns[0]", number(1), PatternText, None),
        (".codes[0]", number(1), PatternText, None),
        (".patterns", text("reset"), NotAList, None),
        (".patern[0]", text("reset"), UnknownField, Some("patterns")),
        (".http[]", number(429), UnknownField, Some("http")),
        (".http[+1]", number(429), UnknownField, Some("http")),
        (".http[0].x", number(429), UnknownField, Some("http")),
        (".statuses[0]", number(429), UnknownField, None),
        (".idempotent", text("no"), NotAFlag, None),
        (".unsent[0]", Value::Flag(true), NotAFlag, None),
        ("", text("always"), WrongType, None),
        ("[0]", Value::NoItems, WrongType, None),
        (".http[0]", Value::NoItems, HttpStatus, None),
    ] {
        let mut rules = Rules::default();
        let error = rules.set_condition(0, path, value).unwrap_err();
        assert_eq!((error.code, error.nearest), (code, near), "{path} {value:?}");
        assert_eq!(rules, Rules::default());
    }
}

#[test]
fn there_is_room_for_eight_rules_sixteen_alternatives_and_eight_sets_of_statuses() {
    let mut rules = Rules::default();
    assert!((0..8).all(|rule| rules.begin(rule).is_ok()));
    assert_eq!(rules.begin(8).unwrap_err(), ErrorCode::TooManyRules);
    for place in 0..16 {
        rules.set_condition(0, &std::format!("[{place}]"), Value::Empty).unwrap();
    }
    assert_eq!(rules.set_condition(0, "[16]", Value::Empty).unwrap_err().code, ErrorCode::TooManyRules);
    let mut rules = Rules::default();
    for place in 0..8 {
        rules.set_condition(0, &std::format!("[{place}].http[0]"), text("5xx")).unwrap();
    }
    assert_eq!(rules.set_condition(0, "[8].http[0]", text("5xx")).unwrap_err().code, ErrorCode::TooManyRules);
    assert_eq!(Rules::default().begin(1).unwrap_err(), ErrorCode::WrongType);
}

#[test]
fn the_rules_are_their_bytes() {
    assert_eq!((size_of::<Rules>(), size_of::<Facts>()), (720, 14));
}

fn alternative() -> impl Strategy<Value = Alternative> {
    (any::<u32>(), any::<[u8; 6]>()).prop_map(|(grpc, [rule, index, conditions, kinds, set, flags])| Alternative {
        grpc,
        rule,
        index,
        conditions,
        kinds,
        set,
        flags,
        unused: [0; 2],
    })
}

fn facts() -> impl Strategy<Value = Facts> {
    (any::<[u16; 4]>(), any::<[u8; 2]>(), any::<[bool; 3]>()).prop_map(
        |([http, codes, types, patterns], [grpc, should_retry], [idempotent, unsent, program_fault])| Facts {
            http,
            codes,
            types,
            patterns,
            grpc,
            should_retry,
            idempotent,
            unsent,
            program_fault,
            unused: false,
        },
    )
}

proptest! {
    #[test]
    fn no_memory_and_no_facts_panic(
        alternatives in proptest::array::uniform16(alternative()),
        words: [u64; 8],
        bytes: [u8; 12],
        facts in facts(),
        kind in 1u32..5,
        status: u32,
    ) {
        let [a, b, c, d, e, f, g, h, rules, used, sets, conditioned] = bytes;
        let rules = Rules {
            statuses: [words; SETS],
            alternatives,
            retry: [a, b, c, d, e, f, g, h],
            rules,
            used,
            sets,
            conditioned,
            unused: [0; 4],
        };
        let failure = Failure::new(FailureKind::from_code(kind).unwrap()).with_hint(Hint::from_raw(9));
        let judged = rules.judge(facts, failure);
        prop_assert_eq!(judged.hint, failure.hint);
        prop_assert_ne!(judged.rule, 0);
        let _ = (rules.kinds(facts.grpc), rules.is_failure(status, facts.idempotent));
    }
}
