use crate::decide::backoff::Backoff;
use crate::decide::failure::FailureKind;
use crate::decide::hint::{HintMode, HintOver};
use crate::decide::jitter::{Cap, Jitter};
use crate::decide::policy::{DeadlineFrom, DelayFrom, Limits, OnDeadline, Policy};
use crate::decide::stage::Stage;
use crate::error::ErrorCode;
use crate::time::Span;
use core::time::Duration;
use std::vec::Vec;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn what_goes_in_comes_out() {
    let policy = Policy::options()
        .backoff(Backoff::linear(SECOND, SECOND * 2).max(SECOND * 9))
        .jitter(Jitter::Proportional { factor: 0.25 })
        .forever()
        .min_attempt(SECOND)
        .on_deadline(OnDeadline::Clip)
        .attempt_timeout(SECOND * 4)
        .hint_mode(HintMode::Replace)
        .hint_max(SECOND * 5)
        .hint_over(HintOver::Clamp)
        .build()
        .unwrap();
    let stages: Vec<_> = policy.stages().collect();
    let [Stage { backoff, times: None, .. }] = stages[..] else { panic!("{stages:?}") };
    assert_eq!(backoff, Backoff::linear(SECOND, SECOND * 2).max(SECOND * 9));
    assert_eq!(policy.jitter(), Jitter::Proportional { factor: 0.25 });
    assert_eq!(policy.attempts(), None);
    assert_eq!(policy.first_limit(), Some(Span::from_secs(4)));
    assert_eq!(policy.hint_mode(), HintMode::Replace);
    assert_eq!(policy.hint_over(), HintOver::Clamp);
    assert_eq!(policy.on_deadline(), OnDeadline::Clip);
}

#[test]
fn each_broken_rule_is_named() {
    let policy = Policy::options;
    let backoff = |backoff| *policy().backoff(backoff);
    let jitter = |jitter| *policy().jitter(jitter);
    for (builder, code, text) in [
        (*policy().attempts(0), 104, "attempts = 0: must be a whole number from 1 to 4294967294, or \"forever\""),
        (
            *policy().attempts(u32::MAX),
            104,
            "attempts = 0: must be a whole number from 1 to 4294967294, or \"forever\"",
        ),
        (*policy().deadline(Duration::ZERO), 107, "deadline = 0s: must be more than 0, or \"none\""),
        (*policy().attempt_timeout(Duration::ZERO), 107, "attempt_timeout = 0s: must be more than 0, or \"none\""),
        (*policy().deadline(SECOND).min_attempt(SECOND), 108, "min_attempt = 1s: must be below the deadline"),
        (*policy().on_deadline(OnDeadline::Clip), 109, "on_deadline: \"clip\" needs a min_attempt above 0"),
        (
            backoff(Backoff::exponential(SECOND * 2, 2.0).max(SECOND)),
            106,
            "backoff.max = 1s: must not be below the stage's initial delay (it is 5s unless given)",
        ),
        (
            backoff(Backoff::exponential(SECOND, -1.0)),
            105,
            "backoff.factor = -1: must be a finite number, 0 or more; for decorrelated backoff 1 or more",
        ),
        (
            backoff(Backoff::exponential(SECOND, f64::NAN)),
            105,
            "backoff.factor = NaN: must be a finite number, 0 or more; for decorrelated backoff 1 or more",
        ),
        (
            jitter(Jitter::Proportional { factor: 1.5 }),
            110,
            "jitter.factor = 1.5: must be a finite number, 0 or more; at most 1 unless the jitter is additive",
        ),
    ] {
        let error = builder.build().unwrap_err();
        assert_eq!((error.code.code(), std::format!("{error}").as_str()), (code, text));
    }
}

#[test]
fn a_chain_is_stages_one_after_the_other() {
    let chain = Policy::options()
        .backoff(Backoff::constant(Duration::ZERO))
        .then(1, Backoff::linear(SECOND, SECOND))
        .then(3, Backoff::exponential(SECOND * 8, 2.0).max(SECOND * 60))
        .jitter(Jitter::None)
        .attempts(9)
        .build()
        .unwrap();
    let delays: Vec<_> = crate::Schedule::new(&chain, 0).map(|delay| delay.as_nanos() / 1_000_000_000).collect();
    assert_eq!(delays, [0, 1, 2, 3, 8, 16, 32, 60]);
    assert_eq!(chain.stages().map(|stage| stage.times).collect::<Vec<_>>(), [Some(1), Some(3), None]);
}

#[test]
fn a_list_says_its_delays_and_how_many_attempts_there_are() {
    let listed = [5, 300, 1800, 7200, 18000].map(Duration::from_secs);
    let list = Policy::options().delays(&listed).jitter(Jitter::None).build().unwrap();
    assert_eq!(list.attempts(), Some(6));
    assert_eq!(crate::Schedule::new(&list, 0).map(|delay| delay.as_duration()).collect::<Vec<_>>(), listed);
    let longer = Policy::options().delays(&listed).jitter(Jitter::None).attempts(9).build().unwrap();
    assert_eq!(crate::Schedule::new(&longer, 0).last().unwrap().as_duration(), listed[4]);
    assert!(Policy::options().delays(&[SECOND; 64]).build().is_ok());
    let error = Policy::options().delays(&[SECOND; 65]).build().unwrap_err();
    assert_eq!(error.code, ErrorCode::TooManyStages);
}

#[test]
fn a_last_stage_that_is_its_own_jitter_goes_on() {
    let smooth = *Policy::options().backoff(Backoff::decorrelated_v2(SECOND)).forever();
    let mut ended = smooth;
    ended.set("backoff.times", crate::value::Value::Number { value: 2.0, unit: 1.0 }).unwrap();
    let [smooth, ended] = [smooth, ended].map(|policy| crate::Schedule::new(&policy.build().unwrap(), 7));
    assert!(smooth.take(20).eq(ended.take(20)));
}

#[test]
fn a_kind_of_failure_may_have_a_backoff_of_its_own() {
    let policy = Policy::options()
        .backoff(Backoff::exponential(SECOND, 2.0))
        .backoff_after(FailureKind::Throttled, Backoff::exponential(SECOND * 10, 3.0))
        .jitter(Jitter::None)
        .forever()
        .build()
        .unwrap();
    let mut retry = crate::Retry::new(0, crate::Timestamp::ZERO);
    use crate::Failure;
    let mut seconds = |failure| match retry.on_failure(&policy, crate::Timestamp::ZERO, failure) {
        crate::Decision::Sleep { until, .. } => until.as_nanos() / 1_000_000_000,
        crate::Decision::GiveUp { .. } => 0,
    };
    let got = [Failure::TRANSIENT, Failure::THROTTLED, Failure::THROTTLED, Failure::TRANSIENT].map(&mut seconds);
    assert_eq!(got, [1, 30, 90, 8]);
}

#[test]
fn what_is_wrong_with_a_chain_is_said_with_its_index() {
    use crate::value::Value;
    let text = |value: &'static str| Value::Text(value);
    for (fields, error) in [
        (
            &[("backoff[0].kind", text("constant")), ("backoff[1].kind", text("linear"))][..],
            "backoff[0].times: is needed by each stage but the last",
        ),
        (
            &[("backoff[0].initial", text("9s")), ("backoff[0].max", text("5s"))],
            "backoff[0].max = 5s: must not be below the stage's initial delay (it is 5s unless given)",
        ),
        (
            &[("rules[0].backoff[0].repeat", Value::Flag(true))],
            "rules[0].backoff[0].repeat: is for the last stage, which needs times or a list of delays",
        ),
        (
            &[("rules[0].retry", Value::Flag(false)), ("rules[0].attempts", Value::Number { value: 3.0, unit: 1.0 })],
            "rules[0].attempts: has no meaning in a rule with \"retry\": false",
        ),
        (
            &[("rules[0].backoff.until", text("1h"))],
            "rules[0].backoff.until: must be later than in the stages before; rules and backoffs that repeat have none",
        ),
        (
            &[("backoff[0].until", text("2h")), ("backoff[1].until", text("1h"))],
            "backoff[1].until: must be later than in the stages before; rules and backoffs that repeat have none",
        ),
        (
            &[("backoff.floor", text("6s"))],
            "backoff.floor = 6s: must not be above the stage's longest delay (it is 5s unless given)",
        ),
        (
            &[
                ("backoff[0].jitter", text("bounded")),
                ("backoff[0].times", Value::Number { value: 1.0, unit: 1.0 }),
                ("backoff[1]", text("linear")),
            ],
            "backoff[0].jitter.bound: is needed by bounded jitter",
        ),
        (
            &[("backoff.offset", text("5s"))],
            "backoff.offset = 5s: must be below the stage's longest delay (it is 5s unless given)",
        ),
        (
            &[("limits", text("last")), ("deadline", text("1m"))],
            "limits: \"last\" needs attempts and a deadline, and no clipped sleep",
        ),
        (
            &[("preset", text("chromium")), ("backoff.max", text("9s"))],
            "backoff.kind: has several stages in this preset: give a whole backoff, with its kind, or none of its fields",
        ),
        (&[("backoff.kind", text("list"))], "backoff.delays: must list at least one delay"),
        (
            &[
                ("backoff.exponent", Value::Number { value: 3.0, unit: 1.0 }),
                ("backoff.factor", Value::Number { value: 2.0, unit: 1.0 }),
            ],
            "backoff.exponent = 3: has no meaning for the chosen kind",
        ),
        (
            &[
                ("jitter", text("bounded")),
                ("jitter.factor", Value::Number { value: 0.5, unit: 1.0 }),
                ("jitter.bound", text("1s")),
            ],
            "jitter.factor = 0.5: has no meaning for the chosen kind",
        ),
        (&[("jitter", text("bounded"))], "jitter.bound: is needed by bounded jitter"),
        (
            &[("backoff", text("decorrelated")), ("jitter", text("full"))],
            "jitter.kind: has no meaning for the chosen kind",
        ),
    ] {
        let mut builder = Policy::options();
        for (name, value) in fields {
            builder.set(name, *value).unwrap();
        }
        assert_eq!(std::format!("{}", builder.build().unwrap_err()), error);
    }
}

#[test]
fn a_list_of_one_stage_replaces_the_backoff_of_a_preset() {
    use crate::value::Value;
    let mut builder = Policy::options();
    builder.set("preset", Value::Text("kubernetes")).unwrap();
    builder.set("backoff[0].initial", Value::Text("20ms")).unwrap();
    let policy = builder.build().unwrap();
    let second = crate::Schedule::base_at(&policy, 1);
    assert_eq!((second, policy.cap()), (Span::from_millis(40), Cap::BeforeJitter));
}

#[test]
fn what_cannot_be_set_is_said_with_its_index() {
    use crate::value::Value;
    for (name, value, error) in [
        ("backoff[1].maxx", Value::Nothing, "this name: is not a field of a policy; did you mean \"backoff.max\"?"),
        ("backoff[16]", Value::Text("linear"), "backoff[16].kind: exceeds the limit of 16 stages and 64 listed delays"),
        (
            "backoff[2].initial",
            Value::Text("soon"),
            "backoff[2].initial: must be a time from 0 to 292 years with its unit, such as \"250ms\", \"1.5s\" or \"2m\"",
        ),
        ("backoff.delays", Value::NoItems, "backoff.delays: must list at least one delay"),
        ("backoff.delays[1]", Value::Text("1s"), "backoff.delays[1]: must list at least one delay"),
        (
            "backoff.delays[0]",
            Value::Nothing,
            "backoff.delays[0]: must be a time from 0 to 292 years with its unit, such as \"250ms\", \"1.5s\" or \"2m\"",
        ),
        ("backoff[00].max", Value::Nothing, "this name: is not a field of a policy"),
        ("backoff[+0].max", Value::Nothing, "this name: is not a field of a policy"),
        (
            "max_retries",
            Value::Nothing,
            "this name: is not a field of a policy; attempts count the first one: give one more than the retries; did you mean \"attempts\"?",
        ),
        ("stop_max_attempt", Value::Nothing, "this name: is not a field of a policy; did you mean \"attempts\"?"),
        (
            "backoff.initialDelay",
            Value::Nothing,
            "this name: is not a field of a policy; did you mean \"backoff.initial\"?",
        ),
        (
            "backoff[1].multiplier",
            Value::Nothing,
            "this name: is not a field of a policy; did you mean \"backoff.factor\"?",
        ),
        ("status_forcelist[0]", Value::Nothing, "this name: is not a field of a policy; did you mean \"rules\"?"),
        ("maxDelay", Value::Nothing, "this name: is not a field of a policy; did you mean \"backoff.max\"?"),
        ("wait", Value::Nothing, "this name: is not a field of a policy; did you mean \"backoff\"?"),
        ("min", Value::Nothing, "this name: is not a field of a policy; did you mean \"backoff.initial\"?"),
        ("rules[1].if", Value::Empty, "this name: has the wrong type"),
        ("rules[0].atempts", Value::Nothing, "this name: is not a field of a policy; did you mean \"attempts\"?"),
        ("rules[0].if.htp", Value::NoItems, "this name: is not a field of a policy; did you mean \"http\"?"),
        (
            "retry_on.http[0]",
            Value::Number { value: 409.0, unit: 1.0 },
            "this name = 409: is a rule: \"rules\": [{\"if\": {\"http\": [...]}, \"retry\": true}, {\"if\": {}, \"retry\": \
             false}]; did you mean \"rules\"?",
        ),
        (
            "backoff[1].on",
            Value::Text("throttled"),
            "this name: is a rule: \"rules\": [{\"if\": {\"kinds\": [...]}, \"backoff\": {...}}]; did you mean \"rules\"?",
        ),
        (
            "attempts[0]",
            Value::Number { value: 3.0, unit: 1.0 },
            "attempts = 3: must be a whole number from 1 to 4294967294, or \"forever\"",
        ),
        (
            "preset",
            Value::Text("kubernets"),
            "preset: must be one of default, langgraphgo, langgraphgo-graph, kubernetes, aster, aws-standard-2.0, \
             aws-standard-2.1, grpc, temporal, google-cloud, resilience4j, polly, chromium, \
             tenacity-random-exponential, aws-adaptive, llm; did you mean \"kubernetes\"?",
        ),
    ] {
        assert_eq!(std::format!("{}", Policy::options().set(name, value).unwrap_err()), error);
    }
}

#[test]
fn the_words_of_fields_are_those_of_their_types() {
    use crate::decide::guards::Refusal;
    use crate::describe::preset::Preset;
    use crate::fields::{Field, Takes};
    for (field, words) in [
        (Field::Cap, Cap::WORDS),
        (Field::OnDeadline, OnDeadline::WORDS),
        (Field::HintMode, HintMode::WORDS),
        (Field::HintOver, HintOver::WORDS),
        (Field::Preset, Preset::WORDS),
        (Field::Limits, Limits::WORDS),
        (Field::DeadlineFrom, DeadlineFrom::WORDS),
        (Field::DelayFrom, DelayFrom::WORDS),
        (Field::BreakerRefusal, Refusal::WORDS),
        (Field::LimiterRefusal, Refusal::WORDS),
        (Field::AdaptiveRefusal, Refusal::WORDS),
    ] {
        let Takes::Word(known) = field.takes() else { panic!("{field:?}") };
        assert_eq!(known.iter().collect::<Vec<_>>(), words, "{field:?}");
    }
}

#[test]
fn the_default_of_each_field_is_the_default_policys() {
    use crate::fields::Field;
    let mut all = Policy::options();
    for field in Field::ALL.iter().filter(|field| !field.is_guards() && !field.is_stages()) {
        if let Some(default) = field.default() {
            all.put(*field, default);
        }
    }
    assert_eq!(all.backoff(Backoff::exponential(SECOND / 10, 2.0).max(SECOND * 5)).build(), Ok(Policy::DEFAULT));
}
