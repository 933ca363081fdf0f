//! The core with the feature `powers` and without `rules`: plain policies decide as always, others are refused.
#![cfg(all(feature = "powers", not(feature = "rules")))]

use core::time::Duration;
use holdoff_core::{Backoff, Decision, ErrorCode, Failure, Jitter, Options, Policy, Retry, Timestamp, Value};

/// The delays of a policy whose every attempt fails at once, in milliseconds.
fn delays(policy: &Policy) -> Vec<u64> {
    let mut retry = Retry::new(7, Timestamp::ZERO);
    let mut delays = Vec::new();
    while let Decision::Sleep { until, .. } = retry.on_failure(policy, Timestamp::ZERO, Failure::TRANSIENT) {
        delays.push(until.as_nanos() / 1_000_000);
    }
    delays
}

#[test]
fn chains_and_lists_are_decided() {
    let millis = Duration::from_millis;
    let chain = Policy::options()
        .backoff(Backoff::constant(millis(5)))
        .then(2, Backoff::exponential(millis(10), 2.0))
        .jitter(Jitter::None)
        .attempts(6)
        .build()
        .expect("a chain is no rule");
    assert_eq!(delays(&chain), [5, 5, 10, 20, 40]);
    let list = Policy::options().delays(&[millis(3), millis(1), millis(4)]).jitter(Jitter::None).build();
    assert_eq!(delays(&list.expect("a list is no rule")), [3, 1, 4]);
}

#[test]
fn what_needs_rules_is_refused_by_its_name() {
    let number = |value: f64| Value::Number { value, unit: 1.0 };
    for (name, value, path) in [
        ("total", number(5.0), "total"),
        ("limits", Value::Text("last"), "limits"),
        ("reset_after", Value::Text("1m"), "reset_after"),
        ("backoff.floor", Value::Text("10ms"), "backoff.floor"),
        ("backoff.jitter", Value::Text("none"), "backoff.jitter.kind"),
        ("rules[0].attempts", number(2.0), "rules[0].attempts"),
        ("rules[0].backoff", Value::Text("constant"), "rules[0].backoff.kind"),
        ("rules[0].jitter", Value::Text("none"), "rules[0].jitter.kind"),
        ("preset", Value::Text("aws-standard-2.1"), "preset"),
    ] {
        let mut options = Options::NEW;
        options.set("deadline", Value::Text("1h")).expect("a deadline");
        if path == "limits" {
            options.set("attempts", number(3.0)).expect("attempts");
        }
        options.set(name, value).unwrap_or_else(|error| panic!("{name}: {error}"));
        let error = options.build().expect_err(name);
        assert_eq!((error.code, error.path().to_string()), (ErrorCode::NotSupported, path.to_owned()));
    }
}
