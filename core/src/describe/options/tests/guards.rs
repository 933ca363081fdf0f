use crate::decide::backoff::{BackoffNumbers, EXPONENTIAL};
use crate::decide::guards::adaptive::AdaptiveConfig;
use crate::decide::guards::breaker::config::{BreakerConfig, COUNT, TIME};
use crate::decide::guards::budget::BudgetConfig;
use crate::decide::guards::bulkhead::BulkheadConfig;
use crate::decide::guards::latency::HedgeConfig;
use crate::decide::guards::limiter::LimiterConfig;
use crate::decide::guards::nested::Nesting;
use crate::decide::guards::stretch::StretchConfig;
use crate::describe::options::{NUMBERS, Options};
use crate::describe::preset::Place;
use crate::describe::preset::Preset;
use crate::error::{Error, ErrorCode, Quantity};
use crate::fields::{Field, Takes};
use crate::time::Span;
use crate::value::Value;
use crate::{Document, Refusal};
use proptest::prelude::*;
use std::format;
use std::string::{String, ToString as _};

fn number(value: f64) -> Value<'static> {
    Value::Number { value, unit: 1e9 }
}

fn set(name: &str, value: Value<'_>) -> Options {
    let mut builder = Options::NEW;
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
    assert_ne!(set("stretch", number(4.0)), Options::NEW);
}

#[test]
fn a_wrong_value_is_explained() {
    for (name, value, text) in [
        ("budget.capasity", number(1.0), "this name: is not a field of a policy; did you mean \"budget.capacity\"?"),
        (
            "breaker.open_for.maks",
            number(1.0),
            "this name: is not a field of a policy; did you mean \"breaker.open_for.max\"?",
        ),
        (
            "budget",
            Value::Text("tokens"),
            "budget.kind: must be one of none, token, throttle, ratio, share, requests, window, default; did you mean \"token\"?",
        ),
        ("breaker.size", number(129.0), "breaker.size = 129: must be a whole number from 1 to 128"),
        ("breaker.size", number(1.5), "breaker.size = 1.5: must be a whole number from 1 to 128"),
        ("breaker.size", Value::Text("5"), "breaker.size: must be a whole number from 1 to 128"),
        (
            "budget[0]",
            number(1.0),
            "budget.kind = 1: must be one of none, token, throttle, ratio, share, requests, window, default",
        ),
        (
            "hedge",
            Value::Text("soon"),
            "hedge.delay: must be a time from 0 to 292 years with its unit, such as \"250ms\", \"1.5s\" or \"2m\"",
        ),
        ("budget.ratio", Value::Other, "budget.ratio: must be a finite number, 0 or more"),
        ("breaker.failure_rate", Value::Empty, "breaker.failure_rate: must be a number above 0 and at most 1"),
    ] {
        let error = Options::NEW.clone().set(name, value).unwrap_err();
        assert_eq!(format!("{error}"), text, "{name}");
    }
}

#[test]
fn nothing_is_as_good_as_not_given_under_a_name_that_is_one() {
    for (name, value) in [
        ("budget", Value::Nothing),
        ("budget", Value::Empty),
        ("breaker.open_for", Value::Empty),
        ("hedge", Value::Empty),
    ] {
        assert!(set(name, value).has_no_guards(), "{name}");
    }
    for (name, value, code) in [
        ("budget.colour", Value::Nothing, ErrorCode::UnknownField),
        ("budget.limit", Value::Empty, ErrorCode::WrongType),
        ("budget", Value::NoItems, ErrorCode::WrongType),
    ] {
        assert_eq!(Options::NEW.clone().set(name, value).unwrap_err().code, code, "{name}");
    }
}

/// The guards of a document.
fn guards(json: &str) -> Options {
    Document::read(&mut serde_json::Deserializer::from_str(json)).unwrap().guards
}

fn budget(json: &str) -> Option<BudgetConfig> {
    let document = Document::read(&mut serde_json::Deserializer::from_str(json)).unwrap();
    document.guards.budget_of_loops(&document.policy)
}

fn wrong(json: &str) -> String {
    let error = Document::read(&mut serde_json::Deserializer::from_str(json)).unwrap_err();
    format!("{} {error}", error.error.code.code())
}

#[test]
fn a_word_alone_takes_the_defaults() {
    let second = Span::from_secs;
    assert_eq!(Options::NEW.budget(), Ok(None));
    for (word, config) in [
        ("token", BudgetConfig::token(500, [5, 5, 5], 1.0, 0.0)),
        ("throttle", BudgetConfig::throttle(10, 0.1)),
        ("ratio", BudgetConfig::ratio(0.1, second(10), 0.1)),
        ("default", Ok(BudgetConfig::of_loops())),
        ("share", BudgetConfig::share(0.2, 3)),
        ("requests", BudgetConfig::requests(2.0, second(120))),
    ] {
        assert_eq!(set("budget", Value::Text(word)).budget(), config.map(Some), "{word}");
    }
    let breaker = |word| set("breaker", Value::Text(word)).breaker().unwrap().unwrap();
    assert_eq!(breaker("consecutive"), BreakerConfig::default());
    let BreakerConfig { kind, size, min_calls, failure_rate, slow_rate, .. } = breaker("count");
    assert_eq!((kind, size, min_calls, failure_rate, slow_rate), (COUNT, 100, 10, 0.5, f64::INFINITY));
    let BreakerConfig { kind, size, slot_length, min_calls, failure_rate, slow_rate, .. } = breaker("time");
    let slot = second(3).as_nanos();
    assert_eq!((kind, size, slot_length, min_calls, failure_rate, slow_rate), (TIME, 10, slot, 10, 0.5, f64::INFINITY));
    let limiter = |config: Result<LimiterConfig, Error>| config.map(Some);
    assert_eq!(guards(r#"{"limiter": {"limit": 10}}"#).limiter(), limiter(LimiterConfig::gcra(10, second(1), 10)));
    assert_eq!(
        guards(r#"{"limiter": {"kind": "bucket", "limit": 2.5}}"#).limiter(),
        limiter(LimiterConfig::bucket(2.5, second(1), 2))
    );
    assert_eq!(guards(r#"{"bulkhead": 7}"#).bulkhead(), BulkheadConfig::new(7, 0, Span::MAX).map(Some));
    let aimd = AdaptiveConfig::aimd(0.5, 1.0, 0.5, 1000.0, 10.0);
    for (word, config) in [("cubic", Ok(AdaptiveConfig::default())), ("aimd", aimd)] {
        assert_eq!(set("adaptive", Value::Text(word)).adaptive(), config.map(Some), "{word}");
    }
    assert_eq!(guards(r#"{"stretch": 4}"#).stretch(), StretchConfig::new(4.0, second(30), 10).map(Some));
    assert_eq!(guards(r#"{"hedge": "100ms"}"#).hedge(), HedgeConfig::new(Span::from_millis(100), None, 2).map(Some));
    assert_eq!(guards(r#"{"nested": "innermost"}"#).nested(), Ok(Some(Nesting::Innermost)));
    assert_eq!(guards(r#"{"nested": {"mode": "cap", "cap": 6}}"#).nested(), Ok(Some(Nesting::Cap(6))));
}

#[test]
fn every_field_arrives() {
    let all = guards(
        r#"{ "breaker": { "kind": "time", "window": "1m", "slots": 6, "min_calls": 20, "failure_rate": 0.4,
               "slow_after": "2s", "slow_rate": 0.8, "jitter": 0.1, "probes": 3, "successes": 2, "mode": "observe",
               "hint": "open", "refusal": "wait",
               "open_for": { "kind": "exponential", "initial": "5s", "factor": 3, "max": "2m" } },
             "adaptive": { "kind": "aimd", "min_rate": 20, "refusal": "wait" } }"#,
    );
    let (initial, max) = (Span::from_secs(5).as_nanos(), Span::from_secs(120).as_nanos());
    let expected = BreakerConfig {
        open: BackoffNumbers { kind: EXPONENTIAL, initial, step: 3_f64.to_bits(), max, ..BackoffNumbers::EMPTY },
        kind: TIME,
        window: Span::from_secs(60).as_nanos(),
        slot_length: Span::from_secs(10).as_nanos(),
        size: 6,
        min_calls: 20,
        failure_rate: 0.4,
        slow_rate: 0.8,
        slow_after: Span::from_secs(2).as_nanos(),
        jitter: 0.1,
        probes: 3,
        successes: 2,
        mode: 1,
        hint: 1,
        refusal: 1,
        ..BreakerConfig::default()
    };
    assert_eq!(all.breaker(), Ok(Some(expected)));
    let rate = AdaptiveConfig::aimd(0.5, 1.0, 20.0, 1000.0, 20.0).unwrap();
    assert_eq!(all.adaptive(), Ok(Some(rate.with_refusal(Refusal::Wait))));
}

#[test]
fn what_does_not_fit_together_is_named() {
    for (json, error) in [
        (r#"{"budget": {"capacity": 5}}"#, "111 budget.capacity = 5: has no meaning for the chosen kind"),
        (r#"{"budget": {"kind": "none", "k": 5}}"#, "111 budget.k = 5: has no meaning for the chosen kind"),
        (r#"{"budget": "window"}"#, "153 budget.limit: is needed by the chosen kind"),
        (
            r#"{"budget": {"kind": "throttle", "capacity": 0}}"#,
            "150 budget.capacity = 0: must be a whole number from 0 to 1000000, for a throttle 1 or more",
        ),
        (r#"{"budget": {"window": "0s"}}"#, "107 budget.window = 0s: must be more than 0"),
        (r#"{"budget": {"ratio": -1}}"#, "152 budget.ratio = -1: must be a finite number, 0 or more"),
        (
            r#"{"breaker": {"kind": "count", "size": 5, "min_calls": 6}}"#,
            "150 breaker.min_calls = 6: must be a whole number from 1 to 4294967295, at most the size of a count",
        ),
        (r#"{"breaker": {"slow_after": "1s"}}"#, "111 breaker.slow_after = 1s: has no meaning for the chosen kind"),
        (r#"{"breaker": {"kind": "count", "slow_rate": 0.5}}"#, "153 breaker.slow_after: is needed by the chosen kind"),
        (
            r#"{"breaker": {"open_for": {"factor": 2}}}"#,
            "111 breaker.open_for.factor = 2: has no meaning for the chosen kind",
        ),
        (
            r#"{"breaker": {"open_for": {"kind": "exponential", "factor": -2}}}"#,
            "105 breaker.open_for.factor = -2: must be a finite number, 0 or more",
        ),
        (
            r#"{"breaker": {"open_for": {"kind": "fibonacci", "max": "1s"}}}"#,
            "106 breaker.open_for.max = 1s: must not be below the open time at first (it is 30s unless given)",
        ),
        (r#"{"limiter": "gcra"}"#, "153 limiter.limit: is needed by the chosen kind"),
        (
            r#"{"limiter": {"limit": 2.5}}"#,
            "150 limiter.limit = 2.5: must be a whole number from 1 to 4294967295, for a log to 1000000, for a bucket any \
             number, 0 or more",
        ),
        (
            r#"{"limiter": {"kind": "window", "limit": 2, "burst": 1}}"#,
            "111 limiter.burst = 1: has no meaning for the chosen kind",
        ),
        (r#"{"bulkhead": {"queue": 1}}"#, "153 bulkhead.limit: is needed by the chosen kind"),
        (r#"{"stretch": 0.5}"#, "105 stretch.factor = 0.5: must be a finite number, 1 or more"),
        (r#"{"hedge": {"attempts": 3}}"#, "153 hedge.delay: is needed by the chosen kind"),
        (
            r#"{"hedge": {"delay": "1s", "percentile": 95}}"#,
            "151 hedge.percentile = 95: must be a number above 0 and at most 1",
        ),
        (r#"{"nested": "cap"}"#, "153 nested.cap: is needed by the chosen kind"),
        (r#"{"nested": {"cap": 6}}"#, "111 nested.cap = 6: has no meaning for the chosen kind"),
        (
            r#"{"adaptive": {"kind": "aimd", "max_rate": 5, "initial_rate": 6}}"#,
            "152 adaptive.initial_rate = 6: must be a number from min_rate to max_rate",
        ),
        (r#"{"adaptive": {"min_rate": 0}}"#, "152 adaptive.min_rate = 0: must be a finite number above 0"),
        (r#"{"braker": "count"}"#, "100 braker = \"count\": is not a field of a policy; did you mean \"breaker\"?"),
        (
            r#"{"budgets": {"kind": "token"}}"#,
            "100 budgets.kind = \"token\": is not a field of a policy; did you mean \"budget\"?",
        ),
        (
            r#"{"hedge": {"dealy": "1s"}}"#,
            "100 hedge.dealy = \"1s\": is not a field of a policy; did you mean \"hedge.delay\"?",
        ),
        (r#"{"breaker": true}"#, "101 breaker.kind = true: must be one of none, consecutive, count, time"),
    ] {
        assert_eq!(wrong(json), error);
    }
}

#[test]
fn a_presets_guards_are_where_a_document_starts() {
    let quota =
        |capacity, cost, timeout_cost| BudgetConfig::token(capacity, [cost, timeout_cost, 5], 1.0, 0.0).map(Some);
    assert_eq!(guards(r#"{"preset": "aws-standard-2.0"}"#).budget(), quota(500, 5, 10));
    assert_eq!(guards(r#"{"preset": "aws-standard-2.1"}"#).budget(), quota(500, 14, 14));
    assert_eq!(guards(r#"{"budget": {"capacity": 90}, "preset": "aws-standard-2.1"}"#).budget(), quota(90, 14, 14));
    assert_eq!(guards(r#"{"budget": "none", "preset": "aws-standard-2.1"}"#).budget(), Ok(None));
    let ratio = guards(r#"{"budget": "ratio", "preset": "aws-adaptive"}"#);
    assert_eq!(ratio.budget(), BudgetConfig::ratio(0.1, Span::from_secs(10), 0.1).map(Some));
    assert_eq!(ratio.adaptive(), Ok(Some(AdaptiveConfig::default().with_refusal(Refusal::Wait))));
    for preset in Preset::ALL {
        assert_eq!(preset.guards().check_guards(), Ok(()), "{preset:?}");
    }
}

#[test]
fn an_error_of_two_fields_shows_the_value() {
    let mut builder = set("budget", Value::Text("ratio"));
    builder.set("budget.cost", number(3.0)).unwrap();
    let error = builder.budget().unwrap_err();
    assert_eq!(
        (error.code, error.field, error.value),
        (ErrorCode::NotForKind, Some(Field::BudgetCost), Quantity::Number(3.0))
    );
}

/// A value for a field that is often right.
fn value(field: Field, number: f64, nanos: u64, pick: usize) -> Value<'static> {
    match field.takes() {
        Takes::Word(_) => Value::Text(field.words().nth(pick).or(field.words().next()).unwrap()),
        Takes::SpanOrNone { .. } if pick == 0 => Value::Text("none"),
        Takes::Span { .. } | Takes::SpanOrNone { .. } | Takes::SpanOrSpans(_) => Value::Nanos(nanos),
        Takes::WholeNumber(..) => Value::Number { value: number.trunc(), unit: 1.0 },
        _ => Value::Number { value: number, unit: 1.0 },
    }
}

fn names() -> impl Iterator<Item = (&'static str, Field)> + Clone {
    Field::names().filter(|known| known.1.is_guards())
}

proptest! {
    #[test]
    fn what_was_set_is_written_and_read_back(
        fields in prop::collection::vec((0..names().count(), 0.0..20.0_f64, 1_u64..1 << 40, 0_usize..8), 0..12),
    ) {
        let mut options = Options::NEW;
        for (of, number, nanos, pick) in fields {
            let (name, field) = names().nth(of).unwrap();
            let _ = options.set(name, value(field, number, nanos, pick));
            if matches!(field.takes(), Takes::SpanOrSpans(_)) {
                for item in 0..pick {
                    let _ = options.set(&std::format!("{name}[{item}]"), Value::Nanos(nanos + item as u64));
                }
            }
        }
        let mut json = String::new();
        crate::write_document(&crate::Policy::DEFAULT, &crate::Rules::NONE, &options, &mut |_, _, _| Ok(()), &mut json).unwrap();
        match Document::read(&mut serde_json::Deserializer::from_str(&json)) {
            Ok(document) => prop_assert_eq!(document.guards, options, "{}", json),
            Err(error) => {
                prop_assert_eq!(Some(error.to_string()), options.check_guards().err().map(|e| e.to_string()), "{}", json);
            }
        }
    }

    #[test]
    fn no_bits_panic(
        given in prop::collection::vec((0_u8..4, prop_oneof![0_u8..3, Just(255_u8), any::<u8>()], any::<u8>(), any::<u64>()), 0..NUMBERS),
        (count, overflow) in (any::<u16>(), any::<u8>()), name in "[a-z._\\[\\]0-9]{0,20}",
    ) {
        let mut options = Options { count, overflow: overflow & 1, ..Options::NEW };
        let slots = options.places.iter_mut().zip(&mut options.numbers);
        for ((slot, number), (rule, stage, field, value)) in slots.zip(given) {
            (*slot, *number) = (Place { rule, stage, field }, value);
        }
        let _ = (options.budget(), options.breaker(), options.limiter(), options.bulkhead(), options.adaptive());
        let _ = (options.stretch(), options.hedge(), options.nested(), options.build(), options.guards());
        let mut out = String::new();
        crate::write_document(&crate::Policy::DEFAULT, &crate::Rules::NONE, &options, &mut |_, _, _| Ok(()), &mut out).unwrap();
        let _ = options.set(&name, Value::Empty);
    }
}

#[test]
fn a_loop_brings_a_budget_where_none_is_named() {
    for of_loops in
        ["{}", r#"{"attempts": 9}"#, r#"{"budget": {}}"#, r#"{"breaker": "time"}"#, r#"{"preset": "default"}"#]
    {
        assert_eq!(budget(of_loops), Some(BudgetConfig::of_loops()), "{of_loops}");
    }
    for named in [r#"{"budget": "none"}"#, r#"{"budget": "ratio"}"#, r#"{"preset": "aws-standard-2.1"}"#] {
        assert_eq!(budget(named), None, "{named}");
    }
}

#[test]
fn a_loop_brings_no_budget_to_the_preset_of_another_system_unless_one_is_named() {
    for preset in Preset::ALL {
        let document = format!(r#"{{"preset": "{}", "attempts": 4}}"#, preset.name());
        let brought = match preset {
            Preset::Default => Some(BudgetConfig::of_loops()),
            Preset::Llm => BudgetConfig::of_loops_with(100).ok(),
            _ => None,
        };
        assert_eq!(budget(&document), brought, "{preset:?}");
        let named = document.replace('}', r#", "budget": "default"}"#);
        assert_eq!(budget(&named), Some(BudgetConfig::of_loops()), "{preset:?}");
    }
}

#[test]
fn a_number_is_the_capacity_of_the_budget_of_loops() {
    let config = BudgetConfig::of_loops_with(1000).unwrap();
    for document in [r#"{"budget": 1000}"#, r#"{"budget": {"kind": "default", "capacity": 1000}}"#] {
        assert_eq!(budget(document), Some(config), "{document}");
        assert_eq!(guards(document).budget(), Ok(Some(config)), "{document}");
    }
    assert_eq!(budget(r#"{"deadline": "5m", "budget": 1000}"#), Some(config));
    let (most, least) = (r#"{"budget": 1000001}"#, r#"{"budget": 0.5}"#);
    let range = "must be a whole number from 0 to 1000000, for a throttle 1 or more";
    assert_eq!(wrong(most), format!("150 budget.capacity = 1000001: {range}"));
    assert_eq!(wrong(least), format!("150 budget.capacity = 0.5: {range}"));
}

#[test]
fn a_token_budget_has_a_grace_returns_and_a_price_of_hints_where_they_are_given() {
    let token = BudgetConfig::token(500, [5, 5, 5], 1.0, 0.0).unwrap();
    let given = r#"{"budget": {"kind": "token", "grace": "2s", "returns": "all", "hinted_cost": 3}}"#;
    let config = token.with_grace(Span::from_secs(2)).with_all_returned().with_hinted_cost(3);
    assert_eq!(guards(given).budget(), config.map(Some));
    let none = r#"{"budget": {"kind": "token", "grace": "0s", "returns": "last"}}"#;
    assert_eq!(guards(none).budget(), Ok(Some(token)));
    let default = r#"{"budget": {"kind": "default", "grace": "2s"}}"#;
    assert_eq!(wrong(default), "111 budget.grace = 2s: has no meaning for the chosen kind");
}

#[test]
fn a_loop_brings_no_budget_to_a_policy_that_goes_on_whatever_the_number_of_its_attempts() {
    let last = r#"{"attempts": 5, "deadline": "5m", "limits": "last"}"#;
    for endless in [r#"{"deadline": "5m"}"#, r#"{"attempts": "forever"}"#, last] {
        assert_eq!(budget(endless), None, "{endless}");
    }
    assert!(budget(r#"{"attempts": 5, "deadline": "5m"}"#).is_some());
}
