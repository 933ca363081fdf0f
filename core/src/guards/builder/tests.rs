use super::*;
use std::format;

fn number(value: f64) -> Value<'static> {
    Value::Number { value, unit: 1e9 }
}

fn set(name: &str, value: Value<'_>) -> GuardsBuilder {
    let mut builder = GuardsBuilder::NEW;
    builder.set(name, value).unwrap();
    builder
}

#[test]
fn fields_are_set_by_any_of_their_names() {
    assert_eq!(set("breaker", Value::Text("count")), set("breaker.kind", Value::Text("count")));
    assert_eq!(set("breaker.open_for", Value::Text("30s")), set("breaker.open_for.delay", number(30.0)));
    assert_eq!(set("bulkhead", number(10.0)), set("bulkhead.limit", number(10.0)));
    assert_eq!(set("hedge", Value::Text("100ms")), set("hedge.delay", Value::Nanos(100_000_000)));
    assert_eq!(set("stretch", number(4.0)), set("stretch.factor", number(4.0)));
    assert_ne!(set("stretch", number(4.0)), GuardsBuilder::NEW);
}

#[test]
fn every_field_of_a_guard_has_a_name_and_the_first_one_is_its_path() {
    let mut last = FIRST - 1;
    for &(name, field) in GuardsBuilder::names() {
        if field.code() != last {
            assert_eq!((name, field.code()), (field.path(), last + 1));
            last = field.code();
        }
        assert!(is_guard(name), "{name}");
        assert_eq!(GuardsBuilder::words(field).next().is_some(), GuardsBuilder::takes(field) == Takes::Word, "{name}");
    }
    assert_eq!(last, Field::NestedCap.code());
    assert_eq!(usize::from(last - FIRST) + 1, FIELDS);
}

#[test]
fn a_name_belongs_to_guards_by_its_section() {
    for (name, guard) in [
        ("budget", true),
        ("budget.colour", true),
        ("hedge[0].delay", true),
        ("nested[0]", true),
        ("budgets", false),
        ("backoff.kind", false),
        ("", false),
        (".budget", false),
    ] {
        assert_eq!(is_guard(name), guard, "{name}");
    }
}

#[test]
fn a_wrong_value_is_explained() {
    for (name, value, text) in [
        ("budget.capasity", number(1.0), "this name: is no field of a policy; did you mean \"budget.capacity\"?"),
        ("breaker.open_for.maks", number(1.0), "this name: is no field of a policy; did you mean \"breaker.open_for.max\"?"),
        (
            "budget",
            Value::Text("tokens"),
            "budget.kind: must be one of none, token, throttle, ratio, share, requests, window; did you mean \"token\"?",
        ),
        ("breaker.size", number(129.0), "breaker.size = 129: must be a whole number from 1 to 128"),
        ("breaker.size", number(1.5), "breaker.size = 1.5: must be a whole number from 1 to 128"),
        ("breaker.size", Value::Text("5"), "breaker.size: must be a whole number from 1 to 128"),
        ("budget[0]", number(1.0), "budget.kind = 1: must be one of none, token, throttle, ratio, share, requests, window"),
        (
            "hedge",
            Value::Text("soon"),
            "hedge.delay: must be a time from 0 to 292 years with its unit, such as \"250ms\", \"1.5s\" or \"2m\"",
        ),
        ("budget.ratio", Value::Other, "budget.ratio: must be a finite number from 0 on"),
        ("breaker.failure_rate", Value::Empty, "breaker.failure_rate: must be a number above 0 and at most 1"),
    ] {
        let error = GuardsBuilder::NEW.clone().set(name, value).unwrap_err();
        assert_eq!(format!("{error}"), text, "{name}");
    }
}

#[test]
fn nothing_is_as_good_as_not_given_under_a_name_that_is_one() {
    for (name, value) in
        [("budget", Value::Nothing), ("budget", Value::Empty), ("breaker.open_for", Value::Empty), ("hedge", Value::Empty)]
    {
        assert!(set(name, value).is_new(), "{name}");
    }
    for (name, value, code) in [
        ("budget.colour", Value::Nothing, ErrorCode::UnknownField),
        ("budget.limit", Value::Empty, ErrorCode::WrongType),
        ("budget", Value::NoItems, ErrorCode::WrongType),
    ] {
        assert_eq!(GuardsBuilder::NEW.clone().set(name, value).unwrap_err().code, code, "{name}");
    }
}
