#![cfg_attr(not(all(feature = "powers", feature = "rules")), allow(unused_imports))]
use super::*;
use crate::decide::backoff::{Backoff, UNSTARTED};
use crate::decide::hint::{Hint, HintMode, HintOver};
use crate::decide::jitter::{Cap, Jitter};
use crate::decide::policy::{DeadlineFrom, Limits, OnDeadline};
use crate::describe::options::Options;
use core::time::Duration;
use proptest::prelude::*;
use std::vec::Vec;

const SECOND: Duration = Duration::from_secs(1);
const START: Timestamp = Timestamp::from_nanos(1_000);

/// Exponential from 1 s by 2, no jitter, ten attempts.
fn plain() -> Options {
    *Policy::options().backoff(Backoff::exponential(SECOND, 2.0).max(SECOND * 60)).jitter(Jitter::None).attempts(10)
}

fn at(seconds: u64) -> Timestamp {
    START.after(Span::from_secs(seconds))
}

fn sleep(seconds: u64, cause: Cause) -> Decision {
    Decision::Sleep { until: at(seconds), cause }
}

fn gave_up(reason: StopReason, seconds: u64) -> Decision {
    Decision::GiveUp { reason, retry_at: at(seconds) }
}

fn first(policy: Options, failure: Failure) -> Decision {
    Retry::new(0, START).on_failure(&policy.build().unwrap(), START, failure)
}

fn hinted(seconds: u64) -> Failure {
    Failure::THROTTLED.with_hint(Hint::after(Span::from_secs(seconds)))
}

#[test]
fn the_state_is_sixty_four_bytes() {
    assert_eq!(size_of::<Retry>(), 64);
    assert_eq!(size_of::<Decision>(), 16);
}

#[test]
fn delays_double_and_the_last_attempt_ends_it() {
    let policy = plain().attempts(4).build().unwrap();
    let mut retry = Retry::new(0, START);
    let got: Vec<_> = (0..4).map(|_| retry.on_failure(&policy, START, Failure::TRANSIENT)).collect();
    let end = Decision::GiveUp { reason: StopReason::Attempts, retry_at: Timestamp::NEVER };
    assert_eq!(got, [sleep(1, Cause::Backoff), sleep(2, Cause::Backoff), sleep(4, Cause::Backoff), end]);
}

#[test]
fn a_clock_that_runs_backwards_reads_as_the_latest_time() {
    let policy = plain().build().unwrap();
    let mut retry = Retry::new(0, at(10));
    assert_eq!(retry.on_failure(&policy, Timestamp::ZERO, Failure::TRANSIENT), sleep(11, Cause::Backoff));
    assert_eq!(
        retry.on_failure(&policy, Timestamp::NEVER, Failure::TRANSIENT),
        Decision::Sleep { until: Timestamp::LAST, cause: Cause::Backoff }
    );
}

#[test]
fn permanent_comes_before_attempts() {
    let end = Decision::GiveUp { reason: StopReason::Permanent, retry_at: Timestamp::NEVER };
    assert_eq!(first(*plain().attempts(1), Failure::PERMANENT), end);
    assert_eq!(first(*plain().attempts(1), Failure::THROTTLED.with_hint(Hint::NEVER)), end);
}

#[test]
fn a_hint_is_a_floor_and_the_spread_sits_on_it() {
    assert_eq!(first(plain(), hinted(5)), sleep(5, Cause::Hint));
    assert_eq!(first(plain(), hinted(1)), sleep(1, Cause::Backoff));
    let spread = first(*plain().jitter(Jitter::Full), hinted(5));
    let own = first(*plain().jitter(Jitter::Full), Failure::TRANSIENT);
    let (Decision::Sleep { until: hinted, .. }, Decision::Sleep { until: own, .. }) = (spread, own) else {
        panic!("both sleep");
    };
    assert_eq!(hinted, own.after(Span::from_secs(5)));
}

#[test]
fn a_hint_can_replace_or_be_ignored() {
    assert_eq!(first(*plain().hint_mode(HintMode::Replace), hinted(0)), sleep(0, Cause::Hint));
    assert_eq!(first(*plain().hint_mode(HintMode::Ignore), hinted(5)), sleep(1, Cause::Backoff));
    let never = Failure::TRANSIENT.with_hint(Hint::NEVER);
    assert_eq!(first(*plain().hint_mode(HintMode::Ignore), never), sleep(1, Cause::Backoff));
}

#[test]
fn a_hint_above_its_maximum_stops_or_is_clamped() {
    assert_eq!(first(plain(), hinted(61)), gave_up(StopReason::Hint, 61));
    assert_eq!(first(*plain().hint_over(HintOver::Clamp), hinted(61)), sleep(60, Cause::Hint));
}

#[test]
fn a_sleep_that_reaches_the_deadline_is_not_slept() {
    assert_eq!(first(*plain().deadline(SECOND), Failure::TRANSIENT), gave_up(StopReason::Deadline, 1));
    let room = *plain().deadline(SECOND + Duration::from_nanos(1));
    assert_eq!(first(room, Failure::TRANSIENT), sleep(1, Cause::Backoff));
    let tight = *plain().deadline(SECOND * 3).min_attempt(SECOND * 2);
    assert_eq!(first(tight, Failure::TRANSIENT), sleep(1, Cause::Backoff));
    let tighter = *plain().deadline(SECOND * 3).min_attempt(SECOND * 2 + Duration::from_nanos(1));
    assert_eq!(first(tighter, Failure::TRANSIENT), gave_up(StopReason::Deadline, 1));
}

#[cfg(feature = "rules")]
#[test]
fn a_limit_around_is_a_deadline_that_nothing_extends() {
    let ten = SECOND * 10;
    let policies = [
        plain(),
        *plain().deadline(SECOND * 60),
        *plain().deadline(SECOND * 60).limits(Limits::Last),
        *plain().deadline(SECOND * 60).deadline_from(DeadlineFrom::FirstFailure),
        *plain().reset_after(SECOND),
        *plain().deadline(SECOND * 60).abort_at_deadline(false),
    ];
    for mut policy in policies {
        let policy = policy.backoff(Backoff::constant(SECOND * 4)).build().unwrap().within(Span::from_duration(ten));
        assert_eq!(policy.first_limit(), Some(Span::from_secs(10)));
        let mut retry = Retry::new(0, START);
        let got = [2, 6].map(|now| retry.on_failure(&policy, at(now), Failure::TRANSIENT));
        assert_eq!(got, [sleep(6, Cause::Backoff), gave_up(StopReason::Deadline, 10)]);
    }
    let nearer = plain().deadline(SECOND).build().unwrap().within(Span::from_duration(ten));
    assert_eq!(nearer, plain().deadline(SECOND).build().unwrap());
}

#[test]
fn clipping_leaves_room_for_one_attempt_but_not_below_a_hint() {
    let policy = *plain()
        .backoff(Backoff::constant(SECOND * 20))
        .deadline(SECOND * 10)
        .min_attempt(SECOND * 2)
        .on_deadline(OnDeadline::Clip);
    assert_eq!(first(policy, Failure::TRANSIENT), sleep(8, Cause::Clip));
    assert_eq!(first(policy, hinted(8)), sleep(8, Cause::Clip));
    assert_eq!(first(policy, hinted(9)), gave_up(StopReason::Deadline, 20));
}

#[test]
fn the_last_attempt_is_clipped_to_once() {
    let policy = plain()
        .backoff(Backoff::constant(SECOND * 20))
        .deadline(SECOND * 10)
        .min_attempt(SECOND * 2)
        .on_deadline(OnDeadline::Clip)
        .forever()
        .build()
        .unwrap();
    let mut retry = Retry::new(0, START);
    assert_eq!(retry.on_failure(&policy, at(0), Failure::TRANSIENT), sleep(8, Cause::Clip));
    assert_eq!(retry.on_failure(&policy, at(8), Failure::TRANSIENT), gave_up(StopReason::Deadline, 28));
}

#[test]
fn a_deadline_draws_as_if_it_were_not_there() {
    let policy = plain().jitter(Jitter::Full).build().unwrap();
    let limited = plain().jitter(Jitter::Full).deadline(SECOND * 1_000_000).build().unwrap();
    let (mut a, mut b) = (Retry::new(9, START), Retry::new(9, START));
    for _ in 0..9 {
        let failure = Failure::TRANSIENT;
        assert_eq!(a.on_failure(&policy, START, failure), b.on_failure(&limited, START, failure));
    }
}

#[test]
fn a_state_that_knows_only_the_number_of_its_delays_goes_on_with_the_next_one() {
    let policy = Policy::options()
        .backoff(Backoff::exponential(Duration::from_nanos(1 << 20), 2.0))
        .jitter(Jitter::Full)
        .forever()
        .build()
        .unwrap();
    for count in 0..9 {
        let mut retry = Retry::new(7, START);
        retry.used.count = count;
        assert!(retry.at_once(&policy, START).is_some());
        assert_eq!(retry.used.base, 1 << (20 + count));
    }
}

proptest! {
    #[cfg(feature = "powers")]
    #[test]
    fn the_fast_path_decides_as_the_rules_do(
        seed: u64,
        times in (0..1u64 << 45, 0..1u64 << 45, prop_oneof![0..1u64 << 46, u64::MAX - 9..=u64::MAX]),
        base in prop_oneof![Just(UNSTARTED), 0..=Span::MAX.as_nanos()],
        failures in prop_oneof![0u32..9, u32::MAX - 9..u32::MAX],
        count in prop_oneof![0u32..9, any::<u32>()],
        attempts in prop_oneof![Just(None), (1u32..9).prop_map(Some)],
        stage in (0..1u64 << 41, 0..1u64 << 41),
        deadline in prop_oneof![Just(None), (0..1u64 << 46).prop_map(Some)],
        min_attempt in 0..1u64 << 30,
        clip: bool,
        kind in 1u32..5,
        (backoff, jitter, cap, factor) in (0u8..8, 0u8..7, 0usize..3, 0.0..=1.0f64),
    ) {
        let (initial, max) = (stage.0.min(stage.1), stage.0.max(stage.1));
        let (first, longest) = (Duration::from_nanos(initial), Duration::from_nanos(max));
        let backoff = match backoff {
            0 => Backoff::exponential(first, 2.0),
            1 => Backoff::exponential(first, 1.0 + factor),
            2 => Backoff::linear(first, first),
            3 => Backoff::constant(first),
            4 => Backoff::polynomial(first, 1.0 + factor),
            5 => Backoff::fibonacci(first),
            6 => Backoff::decorrelated(first),
            _ => Backoff::decorrelated_v2(first),
        };
        let random = matches!(backoff, Backoff::Decorrelated { .. } | Backoff::DecorrelatedV2 { .. });
        let jitter = match jitter {
            _ if random => Jitter::None,
            0 => Jitter::None,
            1 => Jitter::Full,
            2 => Jitter::Equal,
            3 => Jitter::Additive { factor },
            4 => Jitter::Proportional { factor },
            5 => Jitter::Bounded { bound: Span::from_nanos(initial) },
            _ => Jitter::Subtractive { factor },
        };
        let cap = [Cap::KeepSpread, Cap::BeforeJitter, Cap::Clip][cap];
        let mut policy = *Policy::options().backoff(backoff.max(longest)).jitter(jitter).cap(cap);
        match attempts {
            Some(attempts) => policy.attempts(attempts),
            None => policy.forever(),
        };
        if let Some(room) = deadline {
            let deadline = Duration::from_nanos(room + min_attempt + 1);
            policy.deadline(deadline).min_attempt(Duration::from_nanos(min_attempt));
            if clip && min_attempt > 0 {
                policy.on_deadline(OnDeadline::Clip);
            }
        }
        let policy = policy.build().unwrap();
        let (started, latest) = (times.0.min(times.1), times.0.max(times.1));
        let mut retry = Retry::new(seed, Timestamp::from_nanos(started));
        retry.latest = Timestamp::from_nanos(latest);
        (retry.used.base, retry.used.failures, retry.used.count) = (base, failures, count);
        let (now, failure) = (Timestamp::from_nanos(times.2), Failure::new(FailureKind::from_code(kind).unwrap()));
        let mut slow = retry;
        let decision = slow.decide(&policy, now, failure, None);
        let mut fast = retry;
        match fast.at_once(&policy, now) {
            Some(until) if failure.kind != FailureKind::Permanent => {
                prop_assert_eq!((fast, Decision::Sleep { until, cause: Cause::Backoff }), (slow, decision));
            }
            Some(_) => {}
            None => prop_assert_eq!(fast, retry),
        }
        prop_assert_eq!((retry.on_failure(&policy, now, failure), retry), (decision, slow));
    }

    #[test]
    fn no_state_and_no_input_panics(words: [u64; 7], now: u64, hint: u64, kind in 1u32..5, deadline: u64) {
        let mut retry = Retry {
            rng: crate::decide::rng::Rng::new(words[0]),
            started: Timestamp::from_nanos(words[1]),
            latest: Timestamp::from_nanos(words[2]),
            used: Used {
                began: words[5],
                base: words[3],
                failures: words[4] as u32,
                count: (words[4] >> 32) as u32,
                counts: words[6].to_le_bytes().map(u16::from),
            },
        };
        let policy = plain().deadline(Duration::from_nanos(deadline.max(1))).build().unwrap();
        let kind = FailureKind::from_code(kind).unwrap();
        let failure = Failure::new(kind).with_hint(Hint::from_raw(hint));
        if let Decision::Sleep { until, .. } = retry.on_failure(&policy, Timestamp::from_nanos(now), failure) {
            prop_assert!(until >= Timestamp::from_nanos(now).as_now());
        }
    }

    #[test]
    fn no_hint_drives_many_attempts_faster_than_the_policy(
        seed: u64, nanos in 0u64..3_000_000_000, attempts in 1u32..40, mode in prop::sample::select(&[HintMode::Replace, HintMode::Exact][..])
    ) {
        let policy = plain().jitter(Jitter::Full).attempts(attempts).hint_mode(mode).build().unwrap();
        let hint = Failure::THROTTLED.with_hint(Hint::after(Span::from_nanos(nanos)));
        let (mut hinted, mut own) = (Retry::new(seed, START), Retry::new(seed, START));
        for _ in 0..attempts {
            let decisions = [(&mut hinted, hint), (&mut own, Failure::THROTTLED)].map(|(retry, failure)| retry.on_failure(&policy, START, failure));
            let [Decision::Sleep { until, .. }, Decision::Sleep { until: without, .. }] = decisions else { break };
            let floor = if attempts > 10 { without.min(at(1)) } else { START };
            prop_assert!(until >= floor.max(START.after(Span::from_nanos(nanos)))) ;
        }
    }

    #[test]
    fn a_hinted_sleep_is_never_before_the_hint(seed: u64, seconds in 0u64..60, failures in 1usize..9, factor in 0.0..=1.0f64) {
        for jitter in [Jitter::None, Jitter::Full, Jitter::Equal, Jitter::Additive { factor }, Jitter::Proportional { factor }] {
            let policy = plain().jitter(jitter).build().unwrap();
            let mut retry = Retry::new(seed, START);
            for _ in 0..failures {
                let Decision::Sleep { until, .. } = retry.on_failure(&policy, START, hinted(seconds)) else {
                    panic!("there are attempts left");
                };
                prop_assert!(until >= at(seconds));
            }
        }
    }
}
