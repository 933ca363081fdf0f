use super::*;
use crate::decide::call::Ticket;
use crate::decide::guarded::{GuardedCall, Guards};
use crate::decide::guards::breaker::{Breaker, BreakerState};
use crate::decide::hint::Hint;
use crate::decide::retry::{Cause, Decision};
use crate::describe::options::Options;
use crate::error::StopReason;
use crate::fields::Field;
use crate::value::Value;
use proptest::prelude::*;
use std::vec;
use std::vec::Vec;

fn number(value: u32) -> Value<'static> {
    Value::Number { value: f64::from(value), unit: 1.0 }
}

fn policy(fields: &[(&str, Value<'_>)]) -> Policy {
    let mut options = Options::NEW;
    for (name, value) in fields {
        options.set(name, *value).unwrap();
    }
    options.build().unwrap()
}

/// Two rules that count their attempts and their delays, beside the policy's own.
fn two_rules() -> Policy {
    policy(&[
        ("backoff.initial", Value::Text("1s")),
        ("jitter", Value::Text("none")),
        ("attempts", number(9)),
        ("rules[0].if.http[0]", number(429)),
        ("rules[0].attempts", number(5)),
        ("rules[0].backoff.initial", Value::Text("10s")),
        ("rules[1].if.http[0]", number(503)),
        ("rules[1].attempts", number(4)),
        ("rules[1].backoff", Value::Text("fibonacci")),
    ])
}

fn delays(policy: &Policy, rules: &[u8]) -> Vec<(u8, Option<u64>)> {
    let mut retry = Retry::new(0, Timestamp::ZERO);
    let mut delays = Vec::new();
    for rule in rules {
        let failure = Failure { rule: *rule, ..Failure::TRANSIENT };
        match retry.on_failure(policy, Timestamp::ZERO, failure) {
            Decision::Sleep { until, .. } => delays.push((*rule, Some(until.as_nanos()))),
            Decision::GiveUp { .. } => {
                delays.push((*rule, None));
                break;
            }
        }
    }
    delays
}

proptest! {
    #[test]
    fn the_counts_of_rules_are_independent(order in prop::collection::vec(prop::sample::select(vec![1, 2, Failure::NO_RULE]), 1..30)) {
        let policy = two_rules();
        let mixed = delays(&policy, &order);
        for rule in [1, 2, Failure::NO_RULE] {
            let of_rule: Vec<_> = mixed.iter().filter(|delay| delay.0 == rule).copied().collect();
            let alone = delays(&policy, &vec![rule; of_rule.len()]);
            prop_assert_eq!(of_rule, alone);
        }
    }

    #[test]
    fn a_delay_is_in_its_range_and_uniform_above_a_floor(draw: u32, kind in 0_usize..7, floor in 0_u32..9, offset in 0_u32..9, n in 0_usize..6) {
        let jitter = ["none", "full", "equal", "additive", "proportional", "bounded", "subtractive"][kind];
        let spans = ["0s", "1s", "2s", "3s", "4s", "5s", "6s", "7s", "8s"];
        let mut fields = vec![
            ("backoff.initial", Value::Text("1s")),
            ("backoff.max", Value::Text("20s")),
            ("backoff.floor", Value::Text(spans[floor as usize])),
            ("backoff.offset", Value::Text(spans[offset as usize])),
            ("jitter", Value::Text(jitter)),
            ("attempts", number(9)),
        ];
        match jitter {
            "additive" | "proportional" | "subtractive" => {
                fields.push(("jitter.factor", Value::Number { value: 0.5, unit: 1.0 }));
            }
            "bounded" => fields.push(("jitter.bound", Value::Text("3s"))),
            _ => {}
        }
        let policy = policy(&fields);
        let delay = |draw: u32| crate::Schedule::pinned(&policy, draw).nth(n).unwrap().as_nanos();
        let (low, high, drawn) = (delay(0), delay(u32::MAX), delay(draw));
        let (low, high) = (low.min(high), low.max(high));
        prop_assert!(low <= drawn && drawn <= high, "{drawn} of {low} to {high}");
        let least = Span::from_secs(floor.into()).as_nanos();
        prop_assert!(drawn >= least);
        if low == least && floor > 0 {
            // Draws at the floor are as many as at any other time: the delay is linear in the draw.
            let linear = least as f64 + (high - least) as f64 * f64::from(draw) / f64::from(u32::MAX);
            prop_assert!((drawn as f64 - linear).abs() < 2.0, "{drawn} and {linear}");
        }
    }
}

/// spec 7.17: a user's function answers no hint of a server, so no field about hints bounds it.
#[test]
fn a_chosen_delay_is_exact_whatever_policy_stages_and_rules_say_of_hints() {
    let policy = policy(&[
        ("hint", Value::Text("ignore")),
        ("hint.max", Value::Text("30s")),
        ("hint.reach", Value::Text("5s")),
        ("backoff[0].kind", Value::Text("constant")),
        ("backoff[0].hint", Value::Text("ignore")),
        ("rules[0].if.kinds[0]", Value::Text("transient")),
        ("rules[0].hint", Value::Text("floor")),
    ]);
    let exact = policy.with_exact_hints();
    for failure in [Failure::TRANSIENT, Failure::TIMEOUT] {
        for asked in [0, 7, 31, 7200] {
            let mut retry = Retry::new(1, Timestamp::ZERO);
            let failure = failure.with_hint(Hint::after(Span::from_secs(asked)));
            let until = Timestamp::from_nanos(Span::from_secs(asked).as_nanos());
            let cause = Cause::Hint;
            assert_eq!(retry.on_failure(&exact, Timestamp::ZERO, failure), Decision::Sleep { until, cause });
        }
        let mut retry = Retry::new(1, Timestamp::ZERO);
        let never = retry.on_failure(&exact, Timestamp::ZERO, failure.with_hint(Hint::NEVER));
        assert!(matches!(never, Decision::GiveUp { reason: StopReason::Permanent, .. }));
    }
}

/// spec 7.17: a delay that the program chose is no server's hint to a breaker either.
#[test]
fn a_chosen_delay_opens_no_breaker() {
    let options = Options::NEW.with_field(Field::BreakerFailures, 9).unwrap();
    let config = options.with_field(Field::BreakerHint, "open").unwrap().breaker().unwrap().unwrap();
    let policy = Policy::default();
    for (policy, state) in [(policy, BreakerState::Open), (policy.with_exact_hints(), BreakerState::Closed)] {
        let mut breaker = Breaker::new(&config, 0, Timestamp::ZERO);
        let guards = &mut Guards { breaker: Some((&config, &mut breaker)), ..Guards::none() };
        let (mut call, _) = GuardedCall::begin(&policy, guards, 0, Timestamp::ZERO);
        let asked = Failure::TRANSIENT.with_hint(Hint::after(Span::from_secs(3)));
        call.fail(&policy, guards, Ticket::FIRST, Timestamp::ZERO, asked);
        assert_eq!(breaker.state(&config, Timestamp::ZERO), state);
    }
}
