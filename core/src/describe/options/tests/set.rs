use crate::decide::policy::Policy;
use crate::error::ErrorCode;
use crate::time::Span;
use crate::value::Value;
use std::format;

fn seconds(value: f64) -> Value<'static> {
    Value::Number { value, unit: 1e9 }
}

#[test]
fn fields_are_set_by_name() {
    let mut builder = Policy::options();
    for (name, value) in [
        ("backoff", Value::Text("linear")),
        ("backoff.initial", Value::Text("250ms")),
        ("backoff.max", Value::Text("none")),
        ("jitter", Value::Text("none")),
        ("attempts", Value::Text("forever")),
        ("deadline", seconds(1.5)),
        ("attempt_timeout", Value::Nanos(7)),
    ] {
        builder.set(name, value).unwrap();
    }
    let policy = builder.build().unwrap();
    assert_eq!(
        format!("{:?}", policy.stages().next().unwrap().backoff),
        "Linear { initial: 250ms, increment: 250ms, max: 9223372036.854775807s }"
    );
    assert_eq!(policy.attempts(), None);
    assert_eq!(policy.deadline(), Some(Span::from_millis(1500)));
    assert_eq!(policy.attempt_timeout(), Some(Span::from_nanos(7)));
}

#[test]
fn a_wrong_value_is_explained() {
    for (name, value, text) in [
        ("max_attempts", seconds(1.0), "this name: is not a field of a policy; did you mean \"attempts\"?"),
        ("atempts", seconds(1.0), "this name: is not a field of a policy; did you mean \"attempts\"?"),
        ("backoff.maxx", seconds(1.0), "this name: is not a field of a policy; did you mean \"backoff.max\"?"),
        ("initial", seconds(1.0), "this name: is not a field of a policy; did you mean \"backoff.initial\"?"),
        ("max", seconds(1.0), "this name: is not a field of a policy; did you mean \"backoff.max\"?"),
        ("over", seconds(1.0), "this name: is not a field of a policy; did you mean \"hint.over\"?"),
        ("colour", seconds(1.0), "this name: is not a field of a policy"),
        (
            "jitter",
            Value::Text("ful"),
            "jitter.kind: must be one of none, full, equal, additive, proportional, bounded, subtractive; did you mean \"full\"?",
        ),
        ("attempts", seconds(2.5), "attempts = 2.5: must be a whole number from 1 to 4294967294, or \"forever\""),
        ("attempts", seconds(-1.0), "attempts = -1: must be a whole number from 1 to 4294967294, or \"forever\""),
        ("attempts", Value::Other, "attempts: must be a whole number from 1 to 4294967294, or \"forever\""),
        (
            "deadline",
            seconds(f64::INFINITY),
            "deadline = inf: must be a time from 0 to 292 years with its unit, such as \"250ms\", \"1.5s\" or \"2m\"",
        ),
        (
            "backoff.factor",
            Value::Text("2"),
            "backoff.factor: must be a finite number, 0 or more; for decorrelated backoff 1 or more",
        ),
    ] {
        let error = Policy::options().set(name, value).unwrap_err();
        assert_eq!(format!("{error}"), text);
    }
}

#[test]
fn a_field_that_its_kind_has_no_use_for_is_an_error() {
    for (kind, name, value) in [
        ("constant", "backoff.factor", seconds(2.0)),
        ("exponential", "backoff.increment", seconds(2.0)),
        ("constant", "backoff.max", seconds(9.0)),
    ] {
        let mut builder = Policy::options();
        builder.set("backoff", Value::Text(kind)).unwrap();
        builder.set(name, value).unwrap();
        assert_eq!(builder.build().unwrap_err().code, ErrorCode::NotForKind);
    }
}

#[test]
fn nothing_is_as_good_as_not_given_under_a_name_that_is_one() {
    let mut builder = Policy::options();
    for (name, value) in [("attempts", Value::Nothing), ("hint", Value::Nothing), ("hint", Value::Empty)] {
        builder.set(name, value).unwrap();
    }
    assert_eq!(builder, Policy::options());
    for (name, value, code) in [
        ("atempts", Value::Nothing, ErrorCode::UnknownField),
        ("colour", Value::Empty, ErrorCode::UnknownField),
        ("deadline", Value::Empty, ErrorCode::WrongType),
        ("hint.mode", Value::Empty, ErrorCode::WrongType),
    ] {
        assert_eq!(builder.set(name, value).unwrap_err().code, code, "{name}");
    }
}
