use super::*;
use crate::describe::preset::Preset;
use crate::describe::rules::TextList;
use crate::{Backoff, GrpcCode, Jitter, Schedule, Span};
use crate::{Facts, Failure, FailureKind};
use core::time::Duration;
use std::string::String;
use std::vec::Vec;

fn number(value: f64) -> Value<'static> {
    Value::Number { value, unit: 1e9 }
}

fn read(form: Form, fields: &[(&str, Value<'_>)]) -> Result<Policy, Error> {
    let mut reader = form.reader();
    for (name, value) in fields {
        reader.set(name, *value)?;
    }
    reader.options()?.build()
}

fn written(form: Form, policy: &Policy) -> Result<String, Error> {
    let mut out = String::new();
    form.export(policy, &Rules::NONE, &Options::NEW)?.write([], [], &mut out).unwrap();
    Ok(out)
}

const RETRY_POLICY: [(&str, Value<'_>); 5] = [
    ("methodConfig[0].retryPolicy.maxAttempts", Value::Number { value: 4.0, unit: 1.0 }),
    ("methodConfig[0].retryPolicy.initialBackoff", Value::Text(".1s")),
    ("methodConfig[0].retryPolicy.maxBackoff", Value::Text("1s")),
    ("methodConfig[0].retryPolicy.backoffMultiplier", Value::Number { value: 2.0, unit: 1.0 }),
    ("methodConfig[0].retryPolicy.retryableStatusCodes[0]", Value::Text("unavailable")),
];

#[test]
fn the_numbers_of_each_system_read_as_its_preset() {
    let text = Value::Text;
    for (form, fields, preset) in [
        (Form::Grpc, &RETRY_POLICY[..], Preset::Grpc),
        (Form::Temporal, &[], Preset::Temporal),
        (
            Form::Kubernetes,
            &[("steps", number(4.0)), ("Duration", number(1e7)), ("Factor", number(5.0)), ("Jitter", number(0.1))],
            Preset::Kubernetes,
        ),
        (
            Form::Langgraphgo,
            &[
                ("MaxAttempts", number(3.0)),
                ("InitialDelay", text("100ms")),
                ("MaxDelay", number(5e9)),
                ("BackoffFactor", number(2.0)),
            ],
            Preset::Langgraphgo,
        ),
        (
            Form::LanggraphgoGraph,
            &[("MaxRetries", number(3.0)), ("BackoffStrategy", number(1.0))],
            Preset::LanggraphgoGraph,
        ),
        (Form::Aster, &[("max_attempts", number(3.0)), ("backoff", text("Exponential"))], Preset::Aster),
    ] {
        assert_eq!(read(form, fields), Ok(preset.policy()), "{form:?}");
    }
}

#[test]
fn codes_and_patterns_are_rules_and_types_are_the_hosts() {
    let mut grpc = Form::Grpc.reader();
    for (name, value) in RETRY_POLICY {
        grpc.set(name, value).unwrap();
    }
    let mut rules = Rules::NONE;
    rules.set_condition(0, ".grpc[0]", Value::Text("UNAVAILABLE")).unwrap();
    rules.set_retry(0, Value::Flag(true)).unwrap();
    assert_eq!(grpc.options().unwrap().rules(), rules.and_nothing_else(true));

    let list = TextList::Patterns;
    let pattern = |begins, text| HostText::Text { alternative: 0, list, begins, text };
    let mut graph = Form::LanggraphgoGraph.reader();
    assert_eq!(graph.set("RetryableErrors[0]", Value::Text("timeout")), Ok(Some(pattern(true, "timeout"))));
    assert_eq!(graph.set("RetryableErrors[1]", Value::Text("")), Ok(Some(pattern(false, ""))));
    assert!(graph.options().unwrap().rules().has_texts(list));
    let judged = |rules: Rules, patterns| rules.judge(Facts { patterns, ..Facts::NONE }, Failure::TRANSIENT).kind;
    assert_eq!(
        [0, 1].map(|patterns| judged(graph.options().unwrap().rules(), patterns)),
        [FailureKind::Permanent, FailureKind::Transient]
    );
    let none = Form::LanggraphgoGraph.reader().options().unwrap().rules();
    assert_eq!(judged(none, 0), FailureKind::Permanent, "nothing is retried");

    let mut temporal = Form::Temporal.reader();
    let text = temporal.set("nonRetryableErrorTypes[0]", Value::Text("ValidationError"));
    assert_eq!(text, Ok(Some(HostText::ErrorType("ValidationError"))));
    assert_eq!(temporal.options().unwrap().rules(), Rules::NONE);
}

fn seconds(policy: &Policy, count: usize) -> Vec<f64> {
    Schedule::pinned(policy, 0).take(count).map(|delay| delay.as_nanos() as f64 / 1e9).collect()
}

#[test]
fn a_limit_below_the_first_delay_bounds_those_after_it() {
    let node = |initial, max, factor| {
        let fields = [
            ("MaxAttempts", number(5.0)),
            ("InitialDelay", Value::Text(initial)),
            ("MaxDelay", Value::Text(max)),
            ("BackoffFactor", number(factor)),
        ];
        seconds(&read(Form::Langgraphgo, &fields).unwrap(), 9)
    };
    assert_eq!(node("10s", "4s", 2.0), [10.0, 4.0, 4.0, 4.0]);
    assert_eq!(node("5ms", "0s", 1.5), [0.005, 0.0, 0.0, 0.0]);
    assert_eq!(node("10s", "6s", 0.5), [10.0, 5.0, 2.5, 1.25]);
    assert_eq!(node("10s", "6s", 0.0), [10.0, 0.0, 0.0, 0.0]);

    let wait = |duration, cap, factor| {
        let fields = [
            ("Steps", number(5.0)),
            ("Duration", Value::Text(duration)),
            ("Cap", Value::Text(cap)),
            ("Factor", number(factor)),
        ];
        seconds(&read(Form::Kubernetes, &fields).unwrap(), 9)
    };
    assert_eq!(wait("10s", "4s", 2.0), [10.0, 4.0, 4.0, 4.0]);
    assert_eq!(wait("10s", "6s", 0.7), [10.0, 6.0, 6.0, 6.0]);
    assert_eq!(wait("10s", "6s", 0.5), [10.0, 5.0, 2.5, 1.25]);
    assert_eq!(wait("10s", "6s", 0.0), [10.0; 4]);
    assert_eq!(wait("10s", "0s", 2.0), [10.0, 20.0, 40.0, 80.0]);
}

#[test]
fn what_is_wrong_is_said_in_the_forms_own_words() {
    let text = Value::Text;
    for (form, name, value, error) in [
        (
            Form::Grpc,
            "retryPolicy.maxAttemps",
            number(3.0),
            "this name: is not a field of a gRPC retryPolicy or of the service config around it; did you mean \
             \"maxAttempts\"?",
        ),
        (
            Form::Grpc,
            "initialBackoff",
            text("100ms"),
            "initialBackoff: must be a time above 0 in seconds, such as \"0.1s\"",
        ),
        (
            Form::Grpc,
            "retryableStatusCodes[0]",
            text("UNAVAILABEL"),
            "this name: must be a gRPC code from 0 to 16, or its name, such as \"UNAVAILABLE\"; did you mean \
             \"UNAVAILABLE\"?",
        ),
        (
            Form::Grpc,
            "retryThrottling.maxTokens",
            number(1.5),
            "maxTokens = 1.5: must be a whole number from 1 to 1000",
        ),
        (
            Form::Grpc,
            "methodConfig[0].hedgingPolicy.hedgingDelai",
            number(3.0),
            "this name: is not a field of a gRPC retryPolicy or of the service config around it; did you mean \
             \"hedgingDelay\"?",
        ),
        (
            Form::Temporal,
            "maximumAttempts",
            number(-1.0),
            "maximumAttempts = -1: must be a whole number from 0 to 2147483647, 0 for no limit",
        ),
        (
            Form::Kubernetes,
            "Duration",
            text("-1s"),
            "Duration: must be a time, 0 or more: whole nanoseconds, or text such as \"1m30s\"",
        ),
        (
            Form::Langgraphgo,
            "RetryableErrors",
            Value::Other,
            "RetryableErrors: is a function, which no document can hold: use rules",
        ),
        (
            Form::LanggraphgoGraph,
            "BackoffStrategy",
            number(7.0),
            "BackoffStrategy = 7: must be 0 or \"fixed\", 1 or \"exponential\", 2 or \"linear\"",
        ),
        (Form::Aster, "baseDelayMs", number(0.5), "baseDelayMs = 0.5: must be whole milliseconds, 0 or more"),
    ] {
        let got = form.reader().set(name, value).unwrap_err();
        assert_eq!(std::format!("{got}"), error);
    }
    for (form, fields, error) in [
        (Form::Grpc, &RETRY_POLICY[..4], "methodConfig[0].retryPolicy.retryableStatusCodes: is needed"),
        (
            Form::Temporal,
            &[("maximumInterval", text("0.5s"))],
            "maximumInterval = 500ms: must be a time not below initialInterval in seconds, such as \"100s\"",
        ),
        (
            Form::Temporal,
            &[("backoffCoefficient", number(0.5))],
            "backoffCoefficient = 0.5: must be a number, 1 or more, or 0 for 2",
        ),
        (Form::Kubernetes, &[], "Steps = 0: must be a whole number, 1 or more"),
        (Form::Langgraphgo, &[], "MaxAttempts = 0: must be a whole number, 1 or more"),
        (Form::Aster, &[], "maxAttempts = 0: must be a whole number from 1 to 2147483647"),
    ] {
        assert_eq!(std::format!("{}", read(form, fields).unwrap_err()), error);
    }
}

#[test]
fn one_entry_of_a_service_config_is_read() {
    let second = |name: &str| name.replace("[0].", "[1].");
    let mut two = Form::Grpc.reader();
    two.set("loadBalancingConfig[0].round_robin", Value::Empty).unwrap();
    two.set("methodConfig[0].name[0].service", Value::Text("a.B")).unwrap();
    two.set("methodConfig[0].timeout", Value::Text("9s")).unwrap();
    two.set("methodConfig[0].retryPolicy", Value::Nothing).unwrap();
    for (name, value) in RETRY_POLICY {
        two.set(&second(name), value).unwrap();
    }
    two.set("methodConfig[1].timeout", Value::Text("30s")).unwrap();
    assert_eq!(two.options().unwrap().build().unwrap().deadline(), Some(Span::from_secs(30)));
    assert_eq!(two.set(RETRY_POLICY[0].0, RETRY_POLICY[0].1).unwrap_err().code, ErrorCode::SeveralPolicies);

    let mut chosen = Form::Grpc.reader().entry(0);
    for (name, value) in RETRY_POLICY {
        chosen.set(name, value).unwrap();
        chosen.set(&second(name), Value::Other).unwrap();
    }
    assert_eq!(chosen.options().unwrap().build(), Ok(Preset::Grpc.policy()));
}

#[test]
fn more_than_five_attempts_mean_five_in_grpc() {
    let fields = RETRY_POLICY
        .map(|(name, value)| if name.ends_with("maxAttempts") { (name, number(9.0)) } else { (name, value) });
    assert_eq!(read(Form::Grpc, &fields).unwrap().attempts(), Some(5));
}

#[test]
fn each_form_is_written_as_its_system_reads_it() {
    for (form, preset, text) in [
        (
            Form::Grpc,
            Preset::Grpc,
            r#"{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 4, "initialBackoff": "0.100s", "maxBackoff": "1s", "backoffMultiplier": 2, "retryableStatusCodes": ["DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "UNAVAILABLE"]}}]}"#,
        ),
        (
            Form::Temporal,
            Preset::Temporal,
            r#"{"initialInterval": "1s", "backoffCoefficient": 2, "maximumInterval": "100s", "maximumAttempts": 0}"#,
        ),
        (
            Form::Kubernetes,
            Preset::Kubernetes,
            r#"{"Duration": 10000000, "Factor": 5, "Jitter": 0.1, "Steps": 4, "Cap": 0}"#,
        ),
        (
            Form::Langgraphgo,
            Preset::Langgraphgo,
            r#"{"MaxAttempts": 3, "InitialDelay": 100000000, "MaxDelay": 5000000000, "BackoffFactor": 2}"#,
        ),
        (Form::Aster, Preset::Aster, r#"{"maxAttempts": 3, "backoff": "exponential", "baseDelayMs": 1000}"#),
    ] {
        assert_eq!(written(form, &preset.policy()).unwrap(), text);
    }
    let mut rules = Rules::NONE;
    let _ = rules.set_condition(0, ".patterns[0]", Value::Text("reset")).unwrap();
    rules.set_retry(0, Value::Flag(true)).unwrap();
    rules = rules.and_nothing_else(false);
    let mut out = String::new();
    let graph = Form::LanggraphgoGraph.export(&Preset::LanggraphgoGraph.policy(), &rules, &Options::NEW).unwrap();
    graph.write(["reset"], [], &mut out).unwrap();
    assert_eq!(out, r#"{"MaxRetries": 3, "BackoffStrategy": 1, "RetryableErrors": ["reset"]}"#);
}

#[test]
fn what_cannot_be_said_is_named() {
    let second = Duration::from_secs(1);
    for (form, builder, error) in [
        (Form::Kubernetes, Policy::options(), "jitter.kind: Kubernetes cannot express this"),
        (
            Form::Langgraphgo,
            *Policy::options().jitter(Jitter::None).attempts(3).deadline(second),
            "deadline: langgraphgo's RetryConfig cannot express this",
        ),
        (
            Form::Temporal,
            *Policy::options().jitter(Jitter::None).backoff(Backoff::fibonacci(second)),
            "backoff: Temporal cannot express this",
        ),
        (Form::Grpc, *Policy::options().preset(Preset::Grpc).attempts(6), "attempts: gRPC cannot express this"),
        (Form::Grpc, *Policy::options().preset(Preset::Grpc).forever(), "attempts: gRPC cannot express this"),
        (
            Form::Kubernetes,
            *Policy::options().preset(Preset::Kubernetes).forever(),
            "attempts: Kubernetes cannot express this",
        ),
        (
            Form::Aster,
            *Policy::options().preset(Preset::Aster).jitter(Jitter::Bounded { bound: Span::from_secs(9) }),
            "jitter.bound: Aster cannot express this",
        ),
    ] {
        let got = form.export(&builder.build().unwrap(), &Rules::NONE, &Options::NEW).unwrap_err();
        assert_eq!(std::format!("{got}"), error);
    }
    let mut rules = Rules::NONE;
    let _ = rules.set_condition(0, ".grpc[0]", number(f64::from(GrpcCode::Internal.code()))).unwrap();
    rules.set_retry(0, Value::Flag(true)).unwrap();
    rules = rules.and_nothing_else(true);
    assert!(Form::Grpc.export(&Preset::Grpc.policy(), &rules, &Options::NEW).is_ok());
    assert_eq!(Form::Temporal.export(&Preset::Temporal.policy(), &rules, &Options::NEW).unwrap_err().name, "rules");
}

#[test]
fn a_service_config_has_a_throttle_and_a_hedge() {
    let text = Value::Text;
    let fields = [
        ("retryThrottling.maxTokens", number(10.0)),
        ("retryThrottling.tokenRatio", number(0.1)),
        ("methodConfig[0].timeout", text("9s")),
        ("methodConfig[0].hedgingPolicy.maxAttempts", number(7.0)),
        ("methodConfig[0].hedgingPolicy.hedgingDelay", text("0.5s")),
        ("methodConfig[0].hedgingPolicy.nonFatalStatusCodes[0]", text("UNAVAILABLE")),
    ];
    let mut reader = Form::Grpc.reader();
    for (name, value) in fields {
        assert_eq!(reader.set(name, value), Ok(None), "{name}");
    }
    let options = reader.options().unwrap();
    let (policy, guards) = (options.build().unwrap(), options.guards());
    assert_eq!((policy.attempts(), policy.deadline()), (Some(5), Some(Span::from_secs(9))));
    let hedge = guards.hedge().unwrap().unwrap();
    assert_eq!((hedge.attempts(), hedge.fixed_delay()), (5, Span::from_millis(500)));
    assert!(guards.budget().unwrap().is_some());
    let mut out = String::new();
    let formed = Form::Grpc.export(&policy, &reader.options().unwrap().rules(), &guards).unwrap();
    formed.write([], [], &mut out).unwrap();
    assert_eq!(
        out,
        r#"{"retryThrottling": {"maxTokens": 10, "tokenRatio": 0.1}, "methodConfig": [{"name": [{}], "timeout": "9s", "hedgingPolicy": {"maxAttempts": 5, "hedgingDelay": "0.500s", "nonFatalStatusCodes": ["UNAVAILABLE"]}}]}"#
    );

    let mut bare = Form::Grpc.reader();
    bare.set("hedgingPolicy.maxAttempts", number(2.0)).unwrap();
    assert_eq!(bare.options().unwrap().rules().only_codes(), Some(0), "any failure ends it");
    bare.set("retryPolicy.maxAttempts", number(2.0)).unwrap();
    assert_eq!(
        std::format!("{}", bare.options().unwrap_err()),
        "hedgingPolicy: must not be there beside a retryPolicy"
    );
    let mut half = Form::Grpc.reader();
    half.set("hedgingPolicy.maxAttempts", number(2.0)).unwrap();
    half.set("retryThrottling.maxTokens", number(10.0)).unwrap();
    assert_eq!(std::format!("{}", half.options().unwrap_err()), "retryThrottling.tokenRatio: is needed");
}

#[test]
fn guards_that_cannot_be_said_are_named() {
    let policy = Preset::Grpc.policy();
    for (form, fields, error) in [
        (Form::Grpc, &[("breaker", "count")][..], "breaker: gRPC cannot express this"),
        (Form::Grpc, &[("budget", "ratio")], "budget: gRPC cannot express this"),
        (Form::Grpc, &[("hedge", "1s")], "hedge.attempts: gRPC cannot express this"),
        (Form::Temporal, &[("budget", "throttle")], "budget: Temporal cannot express this"),
    ] {
        let mut guards = Options::NEW;
        for (name, word) in fields {
            guards.set(name, Value::Text(word)).unwrap();
        }
        let got = form.export(&policy, &Rules::NONE, &guards).unwrap_err();
        assert_eq!(std::format!("{got}"), error);
    }
    let mut none = Options::NEW;
    none.set("budget", Value::Text("none")).unwrap();
    assert!(Form::Temporal.export(&Preset::Temporal.policy(), &Rules::NONE, &none).is_ok());
}
