use super::*;
use crate::decide::failure::FailureKind;
use crate::describe::options::Options;
use core::time::Duration;
use std::string::ToString;
use std::vec::Vec;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

/// Delays that take next to no time, for long.
fn busy() -> Options {
    *Policy::options().backoff(Backoff::constant(Duration::from_millis(9))).forever().deadline(SECOND * 30)
}

/// Delays of 1 s, 2 s, 4 s and so on, without a maximum.
fn uncapped(attempts: u32) -> Options {
    *Policy::options().backoff(Backoff::exponential(SECOND, 2.0).max(Duration::MAX)).attempts(attempts)
}

fn found(policy: Options) -> Vec<u16> {
    policy.build().unwrap().lints().map(|lint| lint.kind.code()).collect()
}

#[test]
fn each_lint_has_its_reason() {
    let policy = Policy::options;
    let exponential = |factor| *policy().backoff(Backoff::exponential(SECOND, factor));
    for (policy, lints) in [
        (policy(), &[][..]),
        (*policy().attempts(1).jitter(Jitter::None), &[]),
        (*policy().forever(), &[301]),
        (*policy().forever().deadline(SECOND), &[]),
        (exponential(0.5), &[302]),
        (*policy().jitter(Jitter::None), &[303]),
        (*policy().backoff(Backoff::decorrelated(SECOND)), &[]),
        (*policy().attempts(10), &[]),
        (*policy().attempts(11), &[304]),
        (*exponential(2.0).attempts(4).deadline(SECOND * 7), &[]),
        (*exponential(2.0).attempts(4).deadline(SECOND * 6), &[305]),
        (*exponential(2.0).attempts(4).deadline(SECOND * 7).jitter(Jitter::Equal), &[]),
        (*exponential(2.0).attempts(4).deadline(SECOND * 3).jitter(Jitter::Equal), &[305, 306]),
        (*policy().deadline(SECOND).attempt_timeout(SECOND), &[307]),
        (*policy().attempts(5).deadline(SECOND * 30), &[]),
        (*policy().attempts(3).deadline(SECOND * 12).attempt_timeout(SECOND / 3), &[]),
        (*policy().attempts(3).deadline(SECOND * 14).attempt_timeout(SECOND / 3), &[318]),
        (*policy().attempts(3).deadline(SECOND * 4).attempt_timeout(SECOND), &[]),
        (*policy().attempts(3).deadline(SECOND * 3).attempt_timeout(SECOND), &[306]),
        (*policy().attempts(3).deadline(SECOND * 8).attempt_timeout(SECOND * 3), &[306]),
        (*policy().deadline(SECOND * 4), &[]),
        (*policy().reset_after(SECOND).attempt_timeout(SECOND), &[319]),
        (*policy().hint_max(HOUR), &[]),
        (*policy().hint_max(HOUR).hint_over(HintOver::Clamp), &[]),
        (*policy().hint_max(HOUR + SECOND), &[321]),
        (*policy().hint_max(HOUR + SECOND).hint_over(HintOver::Clamp), &[321]),
        (*policy().hint_max(Duration::MAX).hint_over(HintOver::Ignore), &[321]),
        (*policy().hint_max(Duration::MAX).hint_mode(HintMode::AtLeast), &[321]),
        (*policy().hint_max(Duration::MAX).hint_mode(HintMode::Ignore), &[]),
        (*policy().hint_max(Duration::MAX).hint_reach(SECOND), &[]),
        (*policy().hint_max(Duration::MAX).deadline(SECOND * 30), &[]),
        (*policy().forever().hint_mode(HintMode::Exact).deadline(SECOND * 30), &[]),
        (*busy().hint_mode(HintMode::Exact), &[322]),
        (*busy().hint_mode(HintMode::Replace), &[322]),
        (*busy().hint_mode(HintMode::Exact).hint_over(HintOver::Ignore), &[322]),
        (busy(), &[]),
        (*busy().hint_mode(HintMode::Exact).attempts(10), &[]),
        (*policy().reset_after(SECOND).attempt_timeout(SECOND * 2), &[]),
        (*policy().backoff_after(FailureKind::Timeout, Backoff::constant(SECOND)), &[]),
        (*policy().deadline(SECOND * 30).hint_over(HintOver::Clamp), &[308]),
        (*policy().deadline(SECOND * 30).hint_over(HintOver::Clamp).hint_mode(HintMode::Ignore), &[]),
        (*exponential(2.0).attempts(10), &[]),
        (*exponential(2.2).attempts(10), &[309, 323]),
        (*policy().backoff(Backoff::linear(SECOND, SECOND * 8)).attempts(10), &[]),
        (*policy().backoff(Backoff::linear(SECOND, SECOND * 9)).attempts(10), &[309]),
        (uncapped(9), &[]),
        (uncapped(11), &[304, 309, 323]),
        (*uncapped(11).deadline(SECOND * 60), &[304, 305, 309]),
        (*uncapped(3).forever(), &[301, 323]),
    ] {
        assert_eq!(found(policy), lints, "{policy:?}");
    }
}

#[test]
fn guards_quiet_one_lint_and_add_others() {
    use crate::value::Value;
    let text = Value::Text;
    let number = |value| Value::Number { value, unit: 1e9 };
    let policy = Policy::options;
    for (policy, guards, lints) in [
        (*policy().forever(), &[][..], &[301][..]),
        (*policy().forever(), &[("budget", text("ratio"))], &[]),
        (policy(), &[("hedge", text("1s"))], &[310]),
        (policy(), &[("hedge", text("1s")), ("budget", text("token"))], &[]),
        (policy(), &[("hedge", text("1s")), ("hedge.attempts", number(4.0))], &[310, 311]),
        (*policy().attempt_timeout(SECOND), &[("hedge", text("1s")), ("budget", text("share"))], &[312]),
        (*policy().deadline(SECOND * 9), &[("hedge", text("9s")), ("budget", text("share"))], &[312]),
        (policy(), &[("nested", text("cap")), ("nested.cap", number(2.0))], &[313]),
        (policy(), &[("nested", text("cap")), ("nested.cap", number(3.0))], &[]),
        (*policy().deadline(SECOND * 9), &[("breaker", text("count"))], &[]),
        (*policy().deadline(SECOND * 9), &[("breaker.refusal", text("wait"))], &[314]),
        (*policy().deadline(SECOND * 30), &[("breaker.refusal", text("wait"))], &[]),
        (policy(), &[("budget", text("window")), ("budget.limit", number(0.0))], &[315]),
        (policy(), &[("budget", text("token")), ("budget.capacity", number(4.0))], &[315]),
        (policy(), &[("budget", text("token")), ("budget.capacity", number(4.0)), ("budget.grace", text("1s"))], &[]),
        (policy(), &[("budget", number(0.0))], &[315]),
        (policy(), &[("budget", number(1.0))], &[]),
        (policy(), &[("budget.ratio", number(0.0)), ("budget.min_per_second", number(0.0))], &[315]),
        (policy(), &[("budget", text("window"))], &[]),
    ] {
        let mut builder = Options::NEW;
        for (name, value) in guards {
            builder.set(name, *value).unwrap();
        }
        let got: Vec<_> = builder.lints(&policy.build().unwrap()).map(|lint| lint.kind.code()).collect();
        assert_eq!(got, lints, "{guards:?}");
    }
}

#[test]
fn a_lint_says_what_it_found_and_what_it_expected() {
    let mut policy = *Policy::options().backoff(Backoff::constant(SECOND)).jitter(Jitter::None);
    let policy = policy.attempts(12).deadline(SECOND * 5).build().unwrap();
    let texts: Vec<_> = policy.lints().map(|lint| lint.to_string()).collect();
    let expected = [
        "warning 303 no_jitter: without jitter, clients that fail together retry together",
        "warning 304 many_attempts: many attempts keep a caller waiting and a struggling server busy (12, limit 10)",
        "warning 305 wait_above_deadline: the sleeps alone take longer than the deadline, without jitter (11s, limit 5s)",
        "warning 306 unreachable_attempts: not all attempts fit before the deadline, even with the shortest sleeps (5 of 12)",
    ];
    assert_eq!(texts, expected);
}

#[test]
fn sleeps_are_held_against_the_time_that_somebody_waits() {
    let policy = || *Policy::options().backoff(Backoff::exponential(SECOND, 2.0)).attempts(4);
    let within = |policy: Options, seconds| -> Vec<_> {
        policy.build().unwrap().lints_within(Span::from_secs(seconds)).map(|lint| lint.to_string()).collect()
    };
    let text = "warning 316 wait_above_timeout: the sleeps alone take longer than the caller waits, without jitter";
    assert_eq!(within(policy(), 7), Vec::<&str>::new());
    assert_eq!(within(policy(), 6), [std::format!("{text} (7s, limit 6s)")]);
    assert_eq!(within(*policy().deadline(SECOND * 6), 6).len(), 1, "the deadline ends them");
    assert_eq!(within(*policy().forever().deadline(SECOND * 9), 8), [std::format!("{text} (9s, limit 8s)")]);
    assert_eq!(within(*policy().forever(), 8)[2], std::format!("{text} (without an end, limit 8s)"));
    let budget = Options::NEW;
    let policy = policy().build().unwrap();
    let codes: Vec<_> = budget.lints_within(&policy, Span::from_secs(6)).map(|lint| lint.kind.code()).collect();
    assert_eq!(codes, [316]);
}

#[test]
fn retries_inside_retries_multiply_unless_their_nesting_says_otherwise() {
    let (one, three, ever) = (Some(1), Some(3), None);
    let (allow, inner, outer) = (Nesting::Allow, Nesting::Innermost, Nesting::Outermost);
    for (retries, attempts, is_questioned) in [
        (&[][..], Some(1), false),
        (&[(three, allow)], Some(3), false),
        (&[(three, inner)], Some(3), false),
        (&[(three, allow), (one, allow), (one, allow)], Some(3), false),
        (&[(three, allow), (three, allow)], Some(9), true),
        (&[(three, allow); 3], Some(27), true),
        (&[(three, allow); 90], Some(u64::MAX), true),
        (&[(ever, allow), (three, allow)], None, true),
        (&[(ever, allow), (one, allow)], None, false),
        (&[(three, inner), (three, allow)], Some(3), false),
        (&[(three, inner), (three, inner), (three, inner)], Some(3), false),
        (&[(three, allow), (three, outer)], Some(3), false),
        (&[(three, outer), (three, allow)], Some(9), true),
        (&[(three, allow), (three, Nesting::Cap(5))], Some(3), false),
        (&[(three, allow), (three, Nesting::Cap(7))], Some(6), true),
        (&[(ever, inner), (three, Nesting::Cap(7))], Some(1), false),
    ] {
        assert_eq!(nested_attempts(retries.iter().copied()), attempts, "{retries:?}");
        assert_eq!(Lint::nested(retries.iter().copied()).is_some(), is_questioned, "{retries:?}");
    }
    let text = |retries: &[_]| Lint::nested(retries.iter().copied()).unwrap().to_string();
    let start = "warning 317 nested_retries: a retry inside a retry multiplies attempts";
    assert_eq!(text(&[(three, allow); 2]), std::format!("{start} (at most 9 in all)"));
    assert_eq!(text(&[(three, allow), (ever, allow)]), std::format!("{start} (without an end)"));
}

#[test]
fn a_rule_behind_one_that_takes_all_is_named() {
    let mut options = Policy::options();
    for (name, value) in [("rules[0].if", crate::Value::Empty), ("rules[1].attempts", crate::Value::from(3_u32))] {
        options.set(name, value).unwrap();
    }
    let texts: Vec<_> = options.build().unwrap().lints().map(|lint| lint.to_string()).collect();
    let text =
        "warning 320 hidden_rule: a rule after one that matches every failure never applies (rule 2 after rule 1)";
    assert_eq!(texts, [text]);
}

#[test]
fn the_delays_of_a_rule_are_looked_at() {
    let of = |fields: &[(&str, crate::Value<'_>)]| -> Vec<_> {
        let mut options = *Policy::options().attempts(1);
        for (name, value) in fields {
            options.set(name, *value).unwrap();
        }
        let policy = options.build().unwrap();
        policy.lints().map(|lint| lint.to_string()).collect()
    };
    let (text, number) = (crate::Value::Text, |value| crate::Value::Number { value, unit: 1.0 });
    let retrier = [
        ("rules[0].if.kinds[0]", text("transient")),
        ("rules[0].attempts", number(6.0)),
        ("rules[0].backoff.initial", text("20s")),
        ("rules[0].backoff.factor", number(10.0)),
        ("rules[0].backoff.max", text("none")),
    ];
    let long = [
        "warning 309 long_wait: the sleeps take long, without jitter (61.7h, limit 15m)",
        "warning 323 no_cap: without a maximum, delays keep growing (55.6h, limit 5m)",
    ];
    assert_eq!(of(&retrier), long);
    let plain = [&retrier[..2], &[("rules[0].jitter", text("none"))]].concat();
    assert_eq!(of(&plain), ["warning 303 no_jitter: without jitter, clients that fail together retry together"]);
    assert_eq!(of(&retrier[..2]), Vec::<std::string::String>::new());
}

#[test]
fn rules_that_retry_too_much_are_questioned() {
    use crate::Value;
    let of = |fields: &[(&str, Value<'_>)]| -> Vec<_> {
        let mut options = Policy::options();
        for (name, value) in fields {
            options.set(name, *value).unwrap();
        }
        options.rules().lints().map(|lint| lint.to_string()).collect()
    };
    let retry = |list, value| [(list, value), ("rules[0].retry", Value::Flag(true))];
    let none: [std::string::String; 0] = [];
    let wrong = "warning 325 retries_client_errors: an answer is retried although the request is wrong";
    let http = "rules[0].if.http[0]";
    assert_eq!(of(&retry(http, 503_u32.into())), none);
    assert_eq!(of(&retry(http, 429_u32.into())), none);
    assert_eq!(of(&retry(http, 404_u32.into())), [std::format!("{wrong} (404)")]);
    assert_eq!(of(&retry(http, Value::Text("4xx"))), [std::format!("{wrong} (400)")]);
    assert_eq!(of(&retry("rules[0].if.grpc[0]", Value::Text("UNAVAILABLE"))), none);
    assert_eq!(of(&retry("rules[0].if.grpc[0]", Value::Text("NOT_FOUND"))), [std::format!("{wrong} (NOT_FOUND)")]);
    let everything = "warning 324 retries_everything: every failure is retried, even one that will fail again";
    assert_eq!(of(&retry("rules[0].if", Value::Empty)), [everything]);
    assert_eq!(of(&[("rules[0].if", Value::Empty), ("rules[0].retry", Value::Flag(false))]), none);
    let all_others = [
        ("rules[0].if.types[0]", Value::Text("Lambda.Unknown")),
        ("rules[0].retry", Value::Flag(false)),
        ("rules[1].if", Value::Empty),
        ("rules[1].retry", Value::Flag(true)),
    ];
    assert_eq!(of(&all_others), none);
}

#[test]
fn looking_is_quick_whatever_the_policy() {
    let mut policy = *Policy::options().backoff(Backoff::linear(Duration::ZERO, Duration::from_nanos(1)));
    let policy = policy.attempts(u32::MAX - 1).deadline(Duration::MAX).build().unwrap();
    let kinds: Vec<_> = policy.lints().map(|lint| lint.kind).collect();
    assert_eq!(kinds, [LintKind::ManyAttempts, LintKind::LongWait]);
}

#[test]
fn numbers_are_in_order() {
    assert!(LintKind::ALL.is_sorted_by(|a, b| a.code() < b.code()));
}

#[test]
#[cfg(feature = "serde")]
fn a_policy_whose_last_stage_ends_by_time_is_not_endless() {
    let lints = |json: &str| {
        let document = crate::Document::read(&mut serde_json::Deserializer::from_str(json)).unwrap();
        document.lints().map(|lint| lint.kind.code()).collect::<Vec<_>>()
    };
    assert_eq!(
        lints(r#"{"attempts": "forever", "backoff": [{"until": "1h"}], "deadline_from": "first_failure"}"#),
        Vec::<u16>::new()
    );
    assert_eq!(lints(r#"{"attempts": "forever", "backoff": [{"until": "1h"}, {"max": "1m"}]}"#), [301_u16]);
}
