use super::*;
use crate::decide::hint::{HintMode, HintOver};
use crate::decide::jitter::{Cap, Jitter};
use crate::decide::policy::OnDeadline;
use crate::decide::retry::{Decision, Retry};
use crate::decide::schedule::Schedule;
use crate::describe::options::Options;
use crate::describe::preset::Preset;
use crate::time::Timestamp;
use crate::value::Value;
use core::time::Duration;
use proptest::prelude::*;
use std::format;
use std::string::ToString;
use std::vec::Vec;

const SECOND: Duration = Duration::from_secs(1);

fn built(policy: Options) -> Policy {
    policy.build().unwrap()
}

#[test]
fn a_policy_is_debugged_as_one_line_of_its_words() {
    let text = format!("{:?}", Policy::default());
    let words = "exponential backoff from 100ms by 2 up to 5s, full jitter; 3 attempts, no deadline; hints: floor up to 1m, stop above";
    assert_eq!(text, format!("Policy({words})"));
}

#[test]
fn the_default_policy_explains_itself() {
    let text = "\
exponential backoff from 100ms by 2 up to 5s, full jitter
3 attempts, no deadline
hints: floor up to 1m, stop above
budget: 20 tokens, a retry costs 1, after a timeout or throttling 10, for a hint 0, a success returns what its call took and gives \
1, a second 0.03, none is refused for 1s after it was full, of the loop

retry         min     typical         max   total   min     typical         max
    1          0s        50ms       100ms            0s        50ms       100ms
    2          0s       100ms       200ms            0s       150ms       300ms";
    assert_eq!(Policy::default().explain().to_string(), text);
}

#[test]
fn a_deadline_adds_a_column_and_lints_come_last() {
    let mut policy =
        *Policy::options().backoff(Backoff::exponential(SECOND, 2.0)).jitter(Jitter::Proportional { factor: 0.5 });
    let policy = built(*policy.attempts(5).deadline(SECOND * 10).min_attempt(SECOND).attempt_timeout(SECOND * 10));
    let text = "\
exponential backoff from 1s by 2, proportional jitter 0.5
5 attempts, deadline 10s, at least 1s for an attempt, attempt timeout 10s
hints: floor up to 1m, stop above
budget: 20 tokens, a retry costs 1, after a timeout or throttling 10, for a hint 0, a success returns what its call took and gives \
1, a second 0.03, none is refused for 1s after it was full, of the loop

retry         min     typical         max   total   min     typical         max  in time
    1       500ms          1s        1.5s         500ms          1s        1.5s  always
    2          1s          2s          3s          1.5s          3s        4.5s  always
    3          2s          4s          6s          3.5s          7s       10.5s  sometimes
    4          4s          8s         12s          7.5s         15s       22.5s  sometimes

warning 305 wait_above_deadline: the sleeps alone take longer than the deadline, without jitter (15s, limit 10s)
warning 307 attempt_timeout_above_deadline: an attempt may take as long as the whole operation (10s, limit 10s)";
    assert_eq!(policy.explain().to_string(), text);
}

#[test]
fn every_kind_of_policy_has_words() {
    let backoff = |backoff: Backoff| built(*Policy::options().backoff(backoff));
    let jitter = |jitter: Jitter| built(*Policy::options().jitter(jitter));
    for (policy, text) in [
        (backoff(Backoff::constant(SECOND)), "constant backoff of 1s, full jitter\n"),
        (
            backoff(Backoff::linear(SECOND, SECOND * 2).max(SECOND * 9)),
            "linear backoff from 1s by 2s up to 9s, full jitter\n",
        ),
        (backoff(Backoff::polynomial(SECOND, 2.5)), "polynomial backoff from 1s with exponent 2.5, full jitter\n"),
        (backoff(Backoff::fibonacci(SECOND)), "Fibonacci backoff from 1s, full jitter\n"),
        (backoff(Backoff::decorrelated(SECOND)), "decorrelated backoff from 1s by 3, its own jitter\n"),
        (backoff(Backoff::decorrelated_v2(SECOND)), "decorrelated backoff v2 of 1s, its own jitter\n"),
        (jitter(Jitter::None), "exponential backoff from 100ms by 2 up to 5s, no jitter\n"),
        (jitter(Jitter::Equal), ", equal jitter\n"),
        (jitter(Jitter::Additive { factor: 0.25 }), ", additive jitter 0.25\n"),
        (jitter(Jitter::Bounded { bound: Span::from_millis(500) }), ", bounded jitter 500ms\n"),
        (jitter(Jitter::Subtractive { factor: 0.4 }), ", subtractive jitter 0.4\n"),
        (built(*Policy::options().cap(Cap::BeforeJitter)), ", full jitter, capped before jitter\n"),
        (built(*Policy::options().cap(Cap::Clip)), ", full jitter, clipped after jitter\n"),
        (built(*Policy::options().hint_mode(HintMode::Ignore)), "\nhints: ignored"),
        (
            built(*Policy::options().hint_mode(HintMode::AtLeast).hint_reach(SECOND).hint_over(HintOver::Clamp)),
            "\nhints: at_least up to 1m, clamp above, at most 1s beyond the delay",
        ),
        (
            built(*Policy::options().deadline(SECOND).min_attempt(SECOND / 2).on_deadline(OnDeadline::Clip).forever()),
            "\nattempts for ever, deadline 1s, at least 500ms for an attempt, the last sleep clipped\n",
        ),
        (
            built(
                *Policy::options()
                    .backoff(Backoff::constant(Duration::ZERO))
                    .then(1, Backoff::constant(SECOND))
                    .then(3, Backoff::fibonacci(SECOND))
                    .backoff_after(FailureKind::Throttled, Backoff::constant(SECOND * 9)),
            ),
            "constant backoff of 0s once, then constant backoff of 1s 3 times, then Fibonacci backoff from 1s; \
             after throttled: constant backoff of 9s, full jitter\n",
        ),
    ] {
        assert!(policy.to_string().contains(text), "{policy} has no {text}");
    }
}

#[test]
fn failures_with_delays_of_their_own_have_a_table_of_their_own() {
    let policy = Preset::AwsStandard21.policy();
    let text = policy.explain().to_string();
    assert!(text.contains("\n\nafter failures of kind throttled\nretry "), "{text}");
    let throttled: Vec<_> = policy.explain().after(FailureKind::Throttled).iter().map(|row| row.max).collect();
    assert_eq!(throttled, [Span::from_nanos(999_999_999), Span::from_nanos(1_999_999_999)]);
}

#[test]
fn a_rule_has_a_table_of_its_own_with_its_attempts() {
    let text = |value: &'static str| Value::Text(value);
    let mut options = *Policy::options().backoff(Backoff::constant(SECOND)).jitter(Jitter::None).attempts(3);
    for (name, value) in [
        ("rules[0].if.http[0]", Value::Number { value: 429.0, unit: 1.0 }),
        ("rules[0].attempts", text("forever")),
        ("rules[0].backoff.initial", text("2s")),
        ("rules[1].if.kinds[0]", text("timeout")),
        ("rules[1].if.kinds[1]", text("throttled")),
        ("rules[1].attempts", Value::Number { value: 2.0, unit: 1.0 }),
        ("rules[2].if.http[0]", Value::Number { value: 503.0, unit: 1.0 }),
    ] {
        options.set(name, value).unwrap();
    }
    let shown = built(options).explain().rows(2).to_string();
    let tables: Vec<_> = shown.split("\n\n").skip(1).collect();
    let head = "retry         min     typical         max   total   min     typical         max";
    let wanted = [
        format!(
            "{head}
    1          1s          1s          1s            1s          1s          1s
    2          1s          1s          1s            2s          2s          2s"
        ),
        format!(
            "after failures that rule 1 takes\n{head}
    1          2s          2s          2s            2s          2s          2s
    2          4s          4s          4s            6s          6s          6s
and so on, for ever"
        ),
        format!(
            "after failures of kind throttled and timeout\n{head}
    1          1s          1s          1s            1s          1s          1s"
        ),
    ];
    assert_eq!(tables.get(..3), Some(&wanted.each_ref().map(|table| table.as_str())[..]), "{shown}");
    assert!(tables.iter().skip(3).all(|lints| lints.starts_with("warning")), "{shown}");
    assert_eq!(built(options).explain().to_string().matches("\n   10 ").count(), 1);
}

#[test]
fn there_are_as_many_rows_as_retries_or_as_asked_for() {
    let attempts = |attempts| built(*Policy::options().attempts(attempts)).explain();
    assert_eq!(attempts(1).iter().count(), 0);
    assert!(attempts(1).to_string().ends_with("\nno retries"));
    assert_eq!(attempts(8).iter().count(), 7);
    assert!(attempts(150).to_string().contains("\nand 49 more\n\nwarning 304"));
    let forever = built(*Policy::options().forever()).explain();
    assert_eq!(forever.iter().count(), 10);
    assert_eq!(forever.rows(3).iter().count(), 3);
    assert!(forever.to_string().contains("\nand so on, for ever\n\nwarning 301"));
}

#[test]
fn the_last_sleep_is_shown_clipped() {
    let mut policy = *Policy::options().backoff(Backoff::constant(SECOND * 20)).jitter(Jitter::None).attempts(3);
    let policy = built(*policy.deadline(SECOND * 10).min_attempt(SECOND).on_deadline(OnDeadline::Clip));
    let rows: Vec<_> = policy.explain().iter().map(|row| (row.typical, row.in_time)).collect();
    assert_eq!(rows, [(Span::from_secs(9), InTime::Always), (Span::from_secs(20), InTime::Never)]);
}

#[test]
fn sums_are_exact_and_saturate() {
    let total = |policy: Options| built(policy).total_wait();
    let policy = || *Policy::options().backoff(Backoff::exponential(SECOND, 2.0));
    assert_eq!(total(*policy().attempts(1)), Some(Span::ZERO));
    assert_eq!(total(*policy().attempts(11)), Some(Span::from_secs(1023)));
    assert_eq!(total(*policy().attempts(1000)), Some(Span::MAX));
    assert_eq!(total(*policy().forever()), None);
    let mut constant = *Policy::options().backoff(Backoff::constant(Duration::from_millis(1)));
    assert_eq!(total(*constant.attempts(1_000_001)), Some(Span::from_secs(1000)));
    assert_eq!(total(*constant.attempts(u32::MAX - 1).deadline(SECOND)), Some(Span::from_nanos(4_294_967_293_000_000)));
}

#[test]
fn a_linear_sum_is_exact_for_any_number_of_attempts() {
    let linear = |max, attempts| {
        let backoff = Backoff::linear(SECOND, SECOND).max(SECOND * max);
        built(*Policy::options().backoff(backoff).attempts(attempts)).total_wait()
    };
    assert_eq!(linear(9, 1), Some(Span::ZERO));
    assert_eq!(linear(9, 12), Some(Span::from_secs(45 + 9 + 9)));
    assert_eq!(linear(1_000_000, 100_001), Some(Span::from_secs(5_000_050_000)));
    assert_eq!(linear(u32::MAX, u32::MAX - 1), Some(Span::MAX));
    let still = built(*Policy::options().backoff(Backoff::linear(SECOND, Duration::ZERO)).attempts(9));
    assert_eq!(still.total_wait(), Some(Span::from_secs(8)));
    let first = Backoff::linear(SECOND * 9, SECOND).max(SECOND * 2);
    let clipped = built(*Policy::options().backoff(first).cap(Cap::Clip).jitter(Jitter::None).attempts(3));
    assert_eq!(clipped.total_wait(), Some(Span::from_secs(4)));
}

proptest! {
    #[test]
    fn a_linear_sum_is_that_of_its_delays(initial in 0..99u64, by in 0..9u64, more in 0..200u64, times: u8, attempts in 1..60u32) {
        let backoff = Backoff::linear(Duration::from_nanos(initial), Duration::from_nanos(by));
        let backoff = backoff.max(Duration::from_nanos(initial + more));
        let mut policy = *Policy::options().backoff(backoff).jitter(Jitter::None).attempts(attempts);
        if times > 0 {
            policy.set("backoff.times", Value::Number { value: f64::from(times % 60 + 1), unit: 1.0 }).unwrap();
        }
        let policy = built(policy);
        let sum = Schedule::new(&policy, 0).map(Span::as_nanos).sum();
        prop_assert_eq!(policy.total_wait(), Some(Span::from_nanos(sum)));
    }
}

#[test]
fn four_digits_are_enough_for_people() {
    for (nanos, text) in [
        (0, "0s"),
        (9_999, "9.999us"),
        (10_001, "10us"),
        (99_999_999, "100ms"),
        (1_234_567_891, "1.235s"),
        (i64::MAX as u64, "9223000000s"),
    ] {
        assert_eq!(Span::from_nanos(nanos).rounded().to_string(), text);
    }
}

fn any_policy() -> impl Strategy<Value = Policy> {
    let span = || (0..5_000_000_000u64).prop_map(Duration::from_nanos);
    let backoff = prop_oneof![
        span().prop_map(Backoff::constant),
        (span(), span()).prop_map(|(initial, by)| Backoff::linear(initial, by).max(SECOND * 30)),
        (span(), 0.0..4.0f64).prop_map(|(initial, factor)| Backoff::exponential(initial, factor).max(SECOND * 60)),
        span().prop_map(Backoff::fibonacci),
    ];
    let random = prop_oneof![
        span().prop_map(|initial| Backoff::decorrelated(initial).max(SECOND * 20)),
        span().prop_map(|initial| Backoff::decorrelated_v2(initial).max(SECOND * 200)),
    ];
    let jitter = prop_oneof![
        Just(Jitter::None),
        Just(Jitter::Full),
        Just(Jitter::Equal),
        (0.0..2.0f64).prop_map(|factor| Jitter::Additive { factor }),
        (0.0..1.0f64).prop_map(|factor| Jitter::Proportional { factor }),
        (0.0..1.0f64).prop_map(|factor| Jitter::Subtractive { factor }),
        (0..5_000_000_000u64).prop_map(|bound| Jitter::Bounded { bound: Span::from_nanos(bound) }),
    ];
    let cap = prop_oneof![Just(Cap::KeepSpread), Just(Cap::BeforeJitter), Just(Cap::Clip)];
    let spread = (backoff, jitter, cap);
    let policy = prop_oneof![
        4 => spread.prop_map(|(backoff, jitter, cap)| *Policy::options().backoff(backoff).jitter(jitter).cap(cap)),
        1 => random.prop_map(|backoff| *Policy::options().backoff(backoff)),
    ];
    (policy, 1..12u32).prop_map(|(mut policy, attempts)| built(*policy.attempts(attempts)))
}

proptest! {
    #[test]
    fn what_happens_is_within_what_is_shown(policy in any_policy(), seed: u64) {
        let mut total = 0;
        let mut schedule = Schedule::new(&policy, seed);
        let mut typical = Schedule::pinned(&policy, 1 << 31);
        for row in policy.explain().iter() {
            let delay = schedule.next().unwrap();
            total += delay.as_nanos();
            prop_assert!(row.min <= delay && delay <= row.max, "{delay:?} {row:?}");
            // The smooth form's delays make up for one another, unless the cap cuts one of them.
            let adds_up = policy.first().stage.kind != crate::decide::backoff::DECORRELATED_V2;
            let within = row.min_total.as_nanos() <= total && total <= row.max_total.as_nanos();
            prop_assert!(within || !adds_up, "{total} {row:?}");
            prop_assert_eq!(Some(row.typical), typical.next());
        }
        prop_assert_eq!(schedule.next(), None);
    }

    #[test]
    fn a_retry_is_in_time_as_it_is_said(policy in any_policy(), seed: u64, deadline in 1..30_000_000_000u64) {
        let mut policy = Policy { deadline, ..policy };
        policy.prepare();
        let (mut retry, mut now, mut over) = (Retry::new(seed, Timestamp::ZERO), Timestamp::ZERO, false);
        for row in policy.explain().iter() {
            let decision = retry.on_failure(&policy, now, Failure::TRANSIENT);
            let (until, slept) = match decision {
                Decision::Sleep { until, .. } => (until, true),
                Decision::GiveUp { retry_at, .. } => (retry_at, false),
            };
            now = until;
            over |= !slept;
            let adds_up = policy.first().stage.kind != crate::decide::backoff::DECORRELATED_V2;
            prop_assume!(adds_up);
            prop_assert!(row.in_time != InTime::Always || !over, "{decision:?} {row:?}");
            prop_assert!(row.in_time != InTime::Never || !slept, "{decision:?} {row:?}");
        }
    }

    #[test]
    fn no_policy_is_beyond_explanation(policy in any_policy(), initial: u64, attempts: u32, deadline: u64) {
        let first = crate::decide::backoff::BackoffNumbers { initial, max: u64::MAX, ..policy.first().stage };
        let stages = crate::decide::policy::one(first);
        let mut policy = Policy { stages, own_count: 1, attempts, deadline, ..policy };
        policy.prepare();
        prop_assert!(policy.explain().to_string().len() > 100);
    }
}

#[test]
fn each_guard_has_a_line() {
    let mut guards = Options::NEW;
    for (name, value) in [
        ("budget", "ratio"),
        ("breaker", "time"),
        ("breaker.open_for.kind", "exponential"),
        ("breaker.open_for.max", "5m"),
        ("breaker.refusal", "wait"),
        ("limiter.per", "1m"),
        ("bulkhead.max_wait", "2s"),
        ("adaptive", "cubic"),
        ("hedge", "100ms"),
        ("nested", "outermost"),
    ] {
        guards.set(name, crate::Value::Text(value)).unwrap();
    }
    for (name, value) in [
        ("limiter.limit", 600.0),
        ("bulkhead", 10.0),
        ("bulkhead.queue", 5.0),
        ("stretch", 4.0),
        ("hedge.percentile", 0.95),
    ] {
        guards.set(name, crate::Value::Number { value, unit: 1e9 }).unwrap();
    }
    guards.check_guards().unwrap();
    assert_eq!(
        guards.guard_words(&Policy::DEFAULT).to_string(),
        "budget: 0.1 retries a call of the last 10s, and 0.1 a second\n\
         breaker: opens when of the calls of 30s 0.5 failed, from 10 calls on; for exponential backoff from 30s by 2 up to \
         5m; 1 at once try, 1 in a row close it; calls wait for it, and begin in \
         growing numbers\n\
         limiter: 600 evenly in 1m, 600 at once\n\
         bulkhead: 10 at once, 5 wait at most 2s\n\
         adaptive: a cubic rate after throttling, times 0.7, growing by 0.4, from 0.5 a second on\n\
         stretch: delays up to 4 times as long, by the failures of 30s, from 10 attempts on\n\
         hedge: 2 attempts, each 100ms after the one before, then after what 0.95 of attempts take\n\
         nested: the outermost retries\n"
    );
    let policy = Policy::options().forever().build().unwrap();
    let text = policy.explain().rows(1).guarded(&guards).to_string();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(
        lines.get(2..5),
        Some(
            &[
                "hints: floor up to 1m, stop above",
                "budget: 0.1 retries a call of the last 10s, and 0.1 a second",
                lines[4]
            ][..]
        )
    );
    assert!(text.contains("nested: the outermost retries\n\nretry"), "{text}");
    assert!(text.ends_with("and so on, for ever"), "a budget quiets the linter: {text}");
    let bare = Options::NEW;
    assert_eq!(policy.explain().guarded(&bare).to_string(), policy.explain().to_string());
}

#[test]
#[cfg(feature = "serde")]
fn the_budget_that_acts_is_a_line_of_every_explanation() {
    let line = |json: &str| {
        let document = crate::Document::read(&mut serde_json::Deserializer::from_str(json)).unwrap();
        let text = document.explain().to_string();
        let lines: Vec<_> =
            text.lines().filter_map(|line| line.strip_prefix("budget: ")).map(std::borrow::ToOwned::to_owned).collect();
        assert_eq!(lines.len(), 1, "{json}");
        lines[0].clone()
    };
    let of_loops = line("{}");
    assert!(of_loops.starts_with("20 tokens, a retry costs 1, ") && of_loops.ends_with(", of the loop"), "{of_loops}");
    assert_eq!(line(r#"{"preset": "default", "breaker": "time"}"#), of_loops);
    for none in [r#"{"budget": "none"}"#, r#"{"deadline": "5m"}"#, r#"{"preset": "polly"}"#] {
        assert_eq!(line(none), "none", "{none}");
    }
    assert!(line(r#"{"preset": "polly", "budget": 100}"#).starts_with("100 tokens, a retry costs 1, "));
    assert!(line(r#"{"preset": "aws-adaptive"}"#).starts_with("500 tokens, a retry costs 5, "));
    let told = r#"{"budget": {"kind": "token", "capacity": 20, "cost": 1, "timeout_cost": 10, "throttled_cost": 10, "hinted_cost": 0,
        "reward": 1, "refill": 0.03, "grace": "1s", "returns": "all"}}"#;
    assert_eq!(
        line(told),
        "20 tokens, a retry costs 1, after a timeout 10, after throttling 10, for a hint 0, a success returns what its call took and \
         gives 1, a second 0.03, none is refused for 1s after it was full"
    );
}
