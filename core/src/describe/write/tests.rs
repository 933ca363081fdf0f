use super::*;
use crate::{Backoff, Cap, FailureKind, Jitter, Preset, Texts, Value};
use core::time::Duration;
use proptest::prelude::*;
use std::string::String;
use std::vec::Vec;

fn written(policy: &Policy) -> String {
    let mut out = String::new();
    policy.to_json(&mut out).unwrap();
    out
}

/// The policy and the rules that a document means, set value by value as a host does.
fn read(json: &str) -> (Policy, Rules, Texts) {
    fn set(builder: &mut crate::Options, kept: &mut Texts, path: &str, value: &serde_json::Value) {
        use serde_json::Value as Json;
        let value = match value {
            Json::Object(fields) if !fields.is_empty() => {
                for (name, value) in fields {
                    let path = if path.is_empty() { name.clone() } else { std::format!("{path}.{name}") };
                    set(builder, kept, &path, value);
                }
                return;
            }
            Json::Array(items) if !items.is_empty() => {
                for (index, value) in items.iter().enumerate() {
                    set(builder, kept, &std::format!("{path}[{index}]"), value);
                }
                return;
            }
            Json::Array(_) => Value::NoItems,
            Json::String(text) => Value::Text(text),
            Json::Object(_) => Value::Empty,
            Json::Bool(flag) => Value::Flag(*flag),
            Json::Number(number) => Value::Number { value: number.as_f64().unwrap(), unit: f64::NAN },
            _ => Value::Other,
        };
        if let Some(text) = builder.set(path, value).unwrap() {
            kept.store(text);
        }
    }
    let (mut builder, mut kept) = (Policy::options(), Texts::default());
    set(&mut builder, &mut kept, "", &serde_json::from_str(json).unwrap());
    (builder.build().unwrap(), builder.rules(), kept)
}

#[test]
fn every_preset_reads_back() {
    for preset in Preset::ALL {
        let json = written(&preset.policy());
        assert_eq!(read(&json).0, preset.policy(), "{json}");
    }
}

#[test]
fn what_always_matters_is_always_said() {
    let second = Duration::from_secs(1);
    for (builder, text) in [
        (
            Policy::options(),
            r#"{"version": 1, "backoff": {"kind": "exponential", "initial": "100ms", "factor": 2, "max": "5s"}, "jitter": "full", "attempts": 3}"#,
        ),
        (
            *Policy::options().delays(&[second; 5]).jitter(Jitter::Bounded { bound: Span::from_millis(1) }),
            r#"{"version": 1, "backoff": {"kind": "list", "delays": ["1s", "1s", "1s", "1s", "1s"]}, "jitter": {"kind": "bounded", "bound": "1ms"}, "attempts": 6}"#,
        ),
        (
            *Policy::options()
                .backoff(Backoff::constant(second))
                .then(2, Backoff::linear(second, second))
                .backoff_after(FailureKind::Throttled, Backoff::polynomial(second, 0.5))
                .cap(Cap::Clip)
                .hint_mode(crate::HintMode::Ignore)
                .forever(),
            r#"{"version": 1, "backoff": [{"kind": "constant", "delay": "1s", "times": 2}, {"kind": "linear", "initial": "1s", "increment": "1s", "max": "none"}], "jitter": "full", "cap": "clip", "attempts": "forever", "hint": {"mode": "ignore"}, "rules": [{"if": {"kinds": ["throttled"]}, "backoff": {"kind": "polynomial", "initial": "1s", "exponent": 0.5, "max": "none"}}]}"#,
        ),
    ] {
        assert_eq!(written(&builder.build().unwrap()), text);
    }
}

#[test]
fn rules_and_texts_read_back() {
    let json = r#"{"version": 1, "backoff": {"kind": "exponential", "initial": "100ms", "factor": 2, "max": "5s"}, "jitter": "full", "attempts": 3, "rules": [{"if": [{"http": [301, 408, 429, "5xx"], "patterns": ["a\"b\\\n", ""]}, {"grpc": [], "kinds": ["timeout", "permanent"], "codes": ["EAGAIN"], "types": ["A", "B"], "idempotent": false, "unsent": true}], "retry": true, "attempts": 4, "backoff": [{"kind": "list", "delays": ["1s", "5m", "1ms"], "floor": "1s"}, {"kind": "polynomial", "initial": "1s", "exponent": 4, "max": "none", "offset": "15s", "from": 0, "jitter": {"kind": "bounded", "bound": "9s", "grows": true}, "hint": {"mode": "exact", "max": "20s", "over": "ignore"}}], "jitter": "none", "cap": "clip"}, {"if": {}, "retry": false}, {}]}"#;
    let (policy, rules, texts) = read(json);
    let mut out = String::new();
    let get = &mut |alternative, list, put: &mut dyn FnMut(&str) -> fmt::Result| {
        texts.get(alternative, list).try_for_each(put)
    };
    write_document(&policy, &rules, &Options::NEW, get, &mut out).unwrap();
    assert_eq!(out, json);
    assert_eq!(read(&out), (policy, rules, texts));
}

#[test]
fn every_field_of_a_policy_reads_back() {
    let json = r#"{"version": 1, "backoff": [{"kind": "constant", "delay": "15m", "until": "2h"}, {"kind": "exponential", "initial": "1h", "factor": 1.5, "max": "none", "until": "16h", "cap": "before_jitter"}], "jitter": {"kind": "bounded", "bound": "1s", "grows": true}, "attempts": 5, "total": 9, "deadline": "20h", "deadline_from": "first_failure", "limits": "last", "abort_at_deadline": false, "delay_from": "start", "reset_after": "10m"}"#;
    assert_eq!(written(&read(json).0), json);
    let json = r#"{"version": 1, "backoff": [{"kind": "constant", "delay": "1s", "times": 2}, {"kind": "fibonacci", "initial": "1s", "max": "1h", "times": 3, "repeat": true}], "jitter": "none", "attempts": "forever"}"#;
    assert_eq!(written(&read(json).0), json);
}

/// A value for each field of a stage and of a policy, or none, so that most combinations are wrong and many right.
fn any_policy() -> impl Strategy<Value = Option<Policy>> {
    let span = || prop_oneof![Just(0_u64), 0..10_000_000_000_u64, 0..=i64::MAX as u64, Just(i64::MAX as u64)];
    let factor = || prop_oneof![Just(0.0), 0.0..4.0_f64, 0.0..1e300_f64, Just(1.0)];
    let stage = (0..9_u8, span(), span(), factor(), prop::option::of(1..=268_435_455_u32), 0..6_u8, 1..7_usize);
    let limits = (prop::option::of(span()), prop::option::of(span()), prop::option::of(span()), 0..2_u8);
    let hints = (0..5_u8, span(), 0..2_u8, prop::option::of(span()));
    let jitter = (0..7_u8, 0.0..=1.0_f64, span(), 0..3_u8);
    (prop::collection::vec(stage, 0..7), jitter, prop::option::of(1..u32::MAX), limits, hints).prop_map(built)
}

type AnyStage = (u8, u64, u64, f64, Option<u32>, u8, usize);
type Limits = (Option<u64>, Option<u64>, Option<u64>, u8);

type Hints = (u8, u64, u8, Option<u64>);
type Any = (Vec<AnyStage>, (u8, f64, u64, u8), Option<u32>, Limits, Hints);

fn built((stages, jitter, attempts, limits, hints): Any) -> Option<Policy> {
    let mut b = Policy::options();
    let number = |value| Value::Number { value, unit: 1.0 };
    let count = stages.len();
    for (index, (kind, initial, max, factor, times, on, delays)) in stages.into_iter().enumerate() {
        let kinds: Vec<_> = Field::BackoffKind.words().collect();
        let kind = kinds[usize::from(kind) % kinds.len()];
        let mut set = |name: &str, value| b.set(&std::format!("backoff[{index}].{name}"), value).ok().map(|_| ());
        set("kind", Value::Text(kind))?;
        if kind == "list" {
            for delay in 0..delays {
                let _ = set(&std::format!("delays[{delay}]"), Value::Nanos(initial.wrapping_add(delay as u64) >> 1));
            }
        } else {
            set("initial", Value::Nanos(initial.min(max)))?;
            if let Some(times) = times.or((index + 1 < count).then_some(3)) {
                set("times", number(times.into()))?;
            }
        }
        match kind {
            "linear" => set("increment", Value::Nanos(max / 2))?,
            "exponential" => set("factor", number(factor))?,
            "decorrelated" => set("factor", number(1.0 + factor))?,
            "polynomial" => set("exponent", number(factor))?,
            _ => {}
        }
        if kind != "list" && kind != "constant" {
            set("max", Value::Nanos(max))?;
        }
        match on {
            0 => set("floor", Value::Nanos(initial.min(max) / 2))?,
            1 => set("offset", Value::Nanos(max / 3))?,
            2 if kind != "decorrelated" && kind != "decorrelated_v2" => set("jitter", Value::Text("equal"))?,
            3 => set("cap", Value::Text("before_jitter"))?,
            4 => set("hint", Value::Text("replace"))?,
            _ => {}
        }
    }
    let word = |field: Field, n: u8| field.words().nth(n.into()).map_or(Value::Nothing, Value::Text);
    b.set("jitter", word(Field::JitterKind, jitter.0)).ok()?;
    match jitter.0 {
        3 | 4 | 6 => b.set("jitter.factor", number(jitter.1)).ok().map(|_| ())?,
        5 => b.set("jitter.bound", Value::Nanos(jitter.2)).ok().map(|_| ())?,
        _ => {}
    }
    b.set("cap", word(Field::Cap, jitter.3)).ok()?;
    b = attempts.map_or(*b.forever(), |attempts| *b.attempts(attempts));
    for (name, nanos) in [("deadline", limits.0), ("min_attempt", limits.1), ("attempt_timeout", limits.2)] {
        b.set(name, nanos.map_or(Value::Nothing, Value::Nanos)).ok()?;
    }
    b.set("on_deadline", word(Field::OnDeadline, limits.3)).ok()?;
    b.set("hint", word(Field::HintMode, hints.0)).ok()?;
    b.set("hint.max", Value::Nanos(hints.1)).ok()?;
    b.set("hint.over", word(Field::HintOver, hints.2)).ok()?;
    b.set("hint.reach", hints.3.map_or(Value::Nothing, Value::Nanos)).ok()?;
    b.build().ok()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, max_global_rejects: 100_000, ..ProptestConfig::default() })]

    #[test]
    fn any_policy_reads_back_to_itself(policy in any_policy().prop_filter_map("not valid", |policy| policy)) {
        let json = written(&policy);
        prop_assert_eq!(read(&json).0, policy, "{}", json);
    }
}
