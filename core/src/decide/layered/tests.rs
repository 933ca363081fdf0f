use super::*;
use crate::decide::backoff::Backoff;
use crate::decide::hint::Hint;
use crate::decide::jitter::Jitter;
use crate::decide::retry::Cause;
use core::time::Duration;
use proptest::prelude::*;

const SECOND: Duration = Duration::from_secs(1);

fn at(seconds: u64) -> Timestamp {
    Timestamp::ZERO.after(Span::from_secs(seconds))
}

/// The same delay before each of `attempts` attempts but the first.
fn every(seconds: u64, attempts: u32) -> Policy {
    let backoff = Backoff::constant(Duration::from_secs(seconds));
    Policy::options().backoff(backoff).jitter(Jitter::None).attempts(attempts).build().unwrap()
}

fn limited(seconds: u64, attempts: u32, deadline: u64) -> Policy {
    let backoff = Backoff::constant(Duration::from_secs(seconds));
    let mut builder = *Policy::options().backoff(backoff).jitter(Jitter::None).attempts(attempts);
    builder.deadline(Duration::from_secs(deadline)).build().unwrap()
}

/// Two attempts, a second apart, in each of three that are ten seconds apart.
fn layers() -> Layers {
    Layers::new(every(10, 3), every(1, 2), None).unwrap()
}

/// Fails every attempt at once until it stops: when each began, and the last step.
fn run(layers: &Layers, failure: Failure) -> (std::vec::Vec<u64>, Step, Layered) {
    let mut now = Timestamp::ZERO;
    let (mut layered, mut step) = Layered::begin(layers, 7, now);
    let mut begun = std::vec::Vec::new();
    loop {
        step = match step {
            Step::Attempt { ticket, .. } => {
                begun.push(now.as_nanos() / 1_000_000_000);
                layered.fail(layers, ticket, now, failure)
            }
            Step::Sleep { until, .. } => {
                now = until;
                layered.tick(layers, now)
            }
            Step::Wait { .. } => panic!("no attempt is left unanswered here"),
            Step::Stop(_) => return (begun, step, layered),
        };
    }
}

fn gave_up(reason: StopReason, retry_at: Timestamp) -> Step {
    Step::Stop(Outcome::GaveUp { reason, retry_at })
}

fn used_up() -> Step {
    gave_up(StopReason::Attempts, Timestamp::NEVER)
}

#[test]
fn every_attempt_of_the_outer_level_is_a_run_of_the_inner() {
    let (begun, step, layered) = run(&layers(), Failure::TRANSIENT);
    assert_eq!(begun, [0, 1, 11, 12, 22, 23]);
    assert_eq!((step, layered.stopped_by()), (used_up(), Some(Level::Outer)));
    assert_eq!(layered.inner_reason(), Some(StopReason::Attempts));
    assert_eq!((layered.attempt(), layered.outer_attempt(), layered.inner_attempt()), (6, 3, 2));
    assert_eq!(layers().attempts(), Some(6));
}

#[test]
fn the_cap_holds_over_both_levels() {
    for (cap, begun) in [(1, &[0][..]), (2, &[0, 1]), (3, &[0, 1, 11]), (5, &[0, 1, 11, 12, 22])] {
        let layers = Layers::new(every(10, 3), every(1, 2), Some(cap)).unwrap();
        let (times, step, layered) = run(&layers, Failure::TRANSIENT);
        assert_eq!((&times[..], step, layered.stopped_by()), (begun, used_up(), Some(Level::Cap)), "{cap}");
        assert_eq!(layers.attempts(), Some(cap));
    }
    let layers = Layers::new(every(10, 3), every(1, 2), Some(6)).unwrap();
    assert_eq!(run(&layers, Failure::TRANSIENT).2.stopped_by(), Some(Level::Outer));
}

#[test]
fn a_cap_is_at_least_one_attempt() {
    for attempts in [0, u32::MAX] {
        let error = Layers::new(every(1, 1), every(1, 1), Some(attempts)).unwrap_err();
        assert_eq!((error.code, error.field), (ErrorCode::AttemptsRange, Some(Field::Attempts)));
    }
}

#[test]
fn a_permanent_failure_passes_outward_unless_the_outer_level_goes_on_after_it() {
    let (begun, step, layered) = run(&layers(), Failure::PERMANENT);
    assert_eq!((&begun[..], step), (&[0][..], gave_up(StopReason::Permanent, Timestamp::NEVER)));
    assert_eq!(layered.stopped_by(), Some(Level::Inner));
    let layers = layers().go_on_after(StopReason::Permanent, true);
    let (begun, step, layered) = run(&layers, Failure::PERMANENT);
    assert_eq!((&begun[..], step, layered.stopped_by()), (&[0, 10, 20][..], used_up(), Some(Level::Outer)));
    assert_eq!(layered.inner_reason(), Some(StopReason::Permanent));
}

#[test]
fn an_outer_level_that_does_not_go_on_leaves_the_reason_to_the_inner() {
    let layers = Layers::new(every(10, 3), limited(5, 9, 7), None).unwrap().go_on_after(StopReason::Deadline, false);
    let (begun, step, layered) = run(&layers, Failure::TRANSIENT);
    assert_eq!((&begun[..], step), (&[0, 5][..], gave_up(StopReason::Deadline, at(10))));
    assert_eq!(layered.stopped_by(), Some(Level::Inner));
}

#[test]
fn a_hint_too_long_for_the_inner_level_is_obeyed_by_the_outer() {
    let hinted = Failure::THROTTLED.with_hint(Hint::after(Span::from_secs(90)));
    let mut patient = *Policy::options().backoff(Backoff::constant(SECOND)).jitter(Jitter::None).hint_max(SECOND * 100);
    let layers = Layers::new(patient.attempts(2).build().unwrap(), every(1, 2), None).unwrap();
    let (mut layered, _) = Layered::begin(&layers, 0, at(0));
    let sleep = layered.fail(&layers, Ticket::FIRST, at(0), hinted);
    assert_eq!(sleep, Step::Sleep { until: at(90), cause: Cause::Hint });
    assert_eq!(layered.inner_reason(), Some(StopReason::Hint));
}

#[test]
fn the_inner_level_does_not_sleep_past_the_deadline_of_the_outer() {
    let layers = Layers::new(limited(10, 3, 16), every(4, 9), None).unwrap();
    let (begun, step, layered) = run(&layers, Failure::TRANSIENT);
    // At 12 the next attempt of the inner level would be at 16, and one of the outer at 22.
    assert_eq!((&begun[..], step), (&[0, 4, 8, 12][..], gave_up(StopReason::Deadline, at(22))));
    assert_eq!((layered.stopped_by(), layered.inner_reason()), (Some(Level::Outer), Some(StopReason::Deadline)));
}

#[test]
fn the_inner_level_ends_with_the_attempt_of_the_outer() {
    let mut outer = *Policy::options().backoff(Backoff::constant(SECOND * 10)).jitter(Jitter::None);
    let outer = outer.attempts(2).attempt_timeout(SECOND * 3).build().unwrap();
    let layers = Layers::new(outer, every(2, 9), None).unwrap();
    let (mut layered, step) = Layered::begin(&layers, 0, at(0));
    assert_eq!(step, Step::Attempt { ticket: Ticket::FIRST, abort_at: at(3), wake_at: Timestamp::NEVER });
    layered.fail(&layers, Ticket::FIRST, at(0), Failure::TRANSIENT);
    let second = layered.tick(&layers, at(2));
    assert_eq!(second, Step::Attempt { ticket: Ticket::from_raw(2), abort_at: at(3), wake_at: Timestamp::NEVER });
    let sleep = layered.fail(&layers, Ticket::from_raw(2), at(3), Failure::TIMEOUT);
    assert_eq!(sleep, Step::Sleep { until: at(13), cause: Cause::Backoff });
    let third = layered.tick(&layers, at(13));
    assert_eq!(third, Step::Attempt { ticket: Ticket::from_raw(3), abort_at: at(16), wake_at: Timestamp::NEVER });
}

#[test]
fn an_inner_sleep_that_ends_too_late_is_a_failure_of_the_outer_level() {
    let layers = Layers::new(every(10, 2), limited(1, 9, 5), None).unwrap();
    let (mut layered, _) = Layered::begin(&layers, 0, at(0));
    layered.fail(&layers, Ticket::FIRST, at(0), Failure::THROTTLED);
    let sleep = layered.tick(&layers, at(6));
    assert_eq!(sleep, Step::Sleep { until: at(16), cause: Cause::Backoff });
    assert_eq!(layered.inner_reason(), Some(StopReason::Deadline));
}

#[test]
fn the_inner_level_is_clipped_to_the_deadline_of_the_outer() {
    let mut inner = *Policy::options().backoff(Backoff::constant(SECOND * 20)).jitter(Jitter::None).min_attempt(SECOND);
    let inner = inner.on_deadline(crate::decide::policy::OnDeadline::Clip).build().unwrap();
    let layers = Layers::new(limited(1, 3, 10), inner, None).unwrap();
    let (mut layered, _) = Layered::begin(&layers, 0, at(0));
    let sleep = layered.fail(&layers, Ticket::FIRST, at(0), Failure::TRANSIENT);
    assert_eq!(sleep, Step::Sleep { until: at(9), cause: Cause::Clip });
}

#[test]
fn a_host_may_judge_the_error_of_the_inner_level_anew() {
    let layers = layers();
    let (mut layered, _) = Layered::begin(&layers, 0, at(0));
    let give_up =
        |layered: &Layered, ticket, failure| layered.would_give_up(&layers, Ticket::from_raw(ticket), at(0), failure);
    assert_eq!(give_up(&layered, 1, Failure::TRANSIENT), None);
    assert_eq!(give_up(&layered, 1, Failure::PERMANENT), Some(StopReason::Permanent));
    assert_eq!(give_up(&layered, 2, Failure::PERMANENT), None);
    let sleep = layered.fail_as(&layers, Ticket::FIRST, at(0), Failure::PERMANENT, Some(Failure::TRANSIENT));
    assert_eq!(sleep, Step::Sleep { until: at(10), cause: Cause::Backoff });
    layered.tick(&layers, at(10));
    layered.fail_as(&layers, Ticket::from_raw(2), at(10), Failure::TRANSIENT, Some(Failure::PERMANENT));
    layered.tick(&layers, at(11));
    let stop = layered.fail_as(&layers, Ticket::from_raw(3), at(11), Failure::TRANSIENT, Some(Failure::PERMANENT));
    assert_eq!((stop, layered.stopped_by()), (used_up(), Some(Level::Inner)));
}

#[test]
fn the_state_is_its_bytes() {
    assert_eq!(size_of::<Layered>(), 2 * size_of::<Call>() + 24);
    assert_eq!(size_of::<Layers>(), 2 * size_of::<Policy>() + 8);
}

#[test]
fn what_is_out_of_order_changes_nothing() {
    let layers = layers();
    let (mut layered, _) = Layered::begin(&layers, 0, at(5));
    let wait = Step::Wait { until: Timestamp::NEVER };
    assert_eq!(layered.tick(&layers, at(9)), wait);
    assert_eq!(layered.succeed(Ticket::from_raw(2), at(9)), wait);
    let sleep = layered.fail(&layers, Ticket::FIRST, at(0), Failure::TRANSIENT);
    assert_eq!(sleep, Step::Sleep { until: at(10), cause: Cause::Backoff });
    assert_eq!(layered.fail(&layers, Ticket::FIRST, at(9), Failure::PERMANENT), sleep);
    assert_eq!(layered.tick(&layers, at(9)), sleep);
    assert_eq!(layered.remaining(at(9)), Span::from_secs(1));
    // Also on a clock that was set back.
    assert_eq!(layered.remaining(at(3)), Span::from_secs(1));
    assert!(matches!(layered.tick(&layers, at(10)), Step::Attempt { .. }));
    let done = layered.succeed(Ticket::from_raw(2), at(10));
    assert_eq!(done, Step::Stop(Outcome::Succeeded));
    assert_eq!((layered.cancel(at(10)), layered.stopped_by()), (done, None));
}

#[test]
fn cancelling_works_asleep_on_both_levels_and_in_flight() {
    let layers = layers();
    let mut running = Layered::underway(&layers, 0, at(0));
    let mut inner = running;
    inner.fail(&layers, Ticket::FIRST, at(0), Failure::TRANSIENT);
    let mut outer = inner;
    outer.tick(&layers, at(1));
    outer.fail(&layers, Ticket::from_raw(2), at(1), Failure::TRANSIENT);
    for layered in [&mut running, &mut inner, &mut outer] {
        assert_eq!(layered.cancel(at(1)), Step::Stop(Outcome::Cancelled));
        assert_eq!(layered.tick(&layers, at(99)), Step::Stop(Outcome::Cancelled));
    }
}

/// A policy with some of everything that a level can have.
fn policy() -> impl Strategy<Value = Policy> {
    let limit = || prop::option::of(1..60_000_000_000u64);
    (0..9_000_000_000u64, 1..6u32, limit(), limit(), 0..2_000_000_000u64, any::<(bool, bool)>()).prop_map(
        |(initial, attempts, deadline, timeout, min_attempt, (clip, full))| {
            let nanos = Duration::from_nanos;
            let mut builder = *Policy::options().backoff(Backoff::exponential(nanos(initial), 2.0));
            builder.attempts(attempts).jitter(if full { Jitter::Full } else { Jitter::None });
            if let Some(deadline) = deadline {
                builder.deadline(nanos(deadline + min_attempt)).min_attempt(nanos(min_attempt));
            }
            if let Some(timeout) = timeout {
                builder.attempt_timeout(nanos(timeout));
            }
            if clip && min_attempt > 0 && deadline.is_some() {
                builder.on_deadline(crate::decide::policy::OnDeadline::Clip);
            }
            builder.build().unwrap()
        },
    )
}

fn failure() -> impl Strategy<Value = Failure> {
    let hint = prop_oneof![4 => Just(Hint::NONE), 1 => (0..90_000_000_000u64).prop_map(Hint::from_raw)];
    (prop_oneof![9 => 1..4u32, 1 => Just(4)], hint)
        .prop_map(|(kind, hint)| Failure::new(FailureKind::from_code(kind).unwrap()).with_hint(hint))
}

/// What a host does with a step: the failure of an attempt and how long it took, and how late it wakes up.
type Move = (Failure, u64, u64);

fn moves() -> impl Strategy<Value = std::vec::Vec<Move>> {
    let late = prop_oneof![9 => Just(0), 1 => 0..20_000_000_000u64];
    prop::collection::vec((failure(), 0..3_000_000_000u64, late), 1..60)
}

proptest! {
    #[test]
    fn no_attempt_is_beyond_the_cap_or_past_the_deadline(
        outer in policy(), inner in policy(), cap in 1..20u32, seed: u64, start in 0..1u64 << 40, moves in moves(), goes_on: bool,
    ) {
        let layers = Layers::new(outer, inner, Some(cap)).unwrap().go_on_after(StopReason::Permanent, goes_on);
        let start = Timestamp::from_nanos(start);
        let end = start.as_nanos().saturating_add(outer.deadline);
        let mut now = start;
        let (mut layered, mut step) = Layered::begin(&layers, seed, now);
        let mut begun = 0;
        for (failure, took, late) in moves {
            step = match step {
                Step::Attempt { ticket, abort_at, .. } => {
                    begun += 1;
                    prop_assert_eq!(ticket.attempt(), begun);
                    prop_assert!(begun <= layers.attempts().unwrap() && now.as_nanos() < end);
                    prop_assert!(abort_at.as_nanos() <= end && abort_at > now);
                    now = now.after(Span::from_nanos(took)).min(abort_at);
                    layered.fail(&layers, ticket, now, failure)
                }
                Step::Sleep { until, .. } => {
                    prop_assert!(until >= now && until.as_nanos() < end);
                    now = until.after(Span::from_nanos(late));
                    layered.tick(&layers, now)
                }
                Step::Wait { .. } => return Err(TestCaseError::fail("nothing is in flight")),
                Step::Stop(_) => {
                    prop_assert!(layered.stopped_by().is_some());
                    prop_assert_eq!(layered.tick(&layers, now), step);
                    break;
                }
            };
        }
    }

    #[test]
    fn an_inner_level_of_one_attempt_is_not_there(outer in policy(), seed: u64, moves in moves()) {
        let layers = Layers::new(outer, every(1, 1), None).unwrap();
        let mut now = Timestamp::from_nanos(5);
        let (mut layered, mut step) = Layered::begin(&layers, seed, now);
        let (mut call, expected) = Call::begin(&outer, seed, now);
        prop_assert_eq!(step, expected);
        for (failure, took, late) in moves {
            // A hint that the inner level would stop at is one that the outer one may obey.
            let failure = Failure::new(failure.kind);
            let expected = match step {
                Step::Attempt { ticket, .. } => {
                    now = now.after(Span::from_nanos(took));
                    step = layered.fail(&layers, ticket, now, failure);
                    call.fail(&outer, ticket, now, failure)
                }
                Step::Sleep { until, .. } => {
                    now = until.after(Span::from_nanos(late));
                    step = layered.tick(&layers, now);
                    call.tick(&outer, now)
                }
                _ => break,
            };
            prop_assert_eq!(step, expected);
        }
    }

    #[test]
    fn an_outer_level_of_one_attempt_leaves_the_inner_as_it_is(inner in policy(), seed: u64, moves in moves()) {
        let layers = Layers::new(every(1, 1), inner, None).unwrap();
        let mut now = Timestamp::from_nanos(5);
        let (mut layered, mut step) = Layered::begin(&layers, seed, now);
        let (mut call, expected) = Call::begin(&inner, seed_at(seed, 0), now);
        prop_assert_eq!(step, expected);
        for (failure, took, late) in moves {
            let expected = match step {
                Step::Attempt { ticket, .. } => {
                    now = now.after(Span::from_nanos(took));
                    step = layered.fail(&layers, ticket, now, failure);
                    call.fail(&inner, ticket, now, failure)
                }
                Step::Sleep { until, .. } => {
                    now = until.after(Span::from_nanos(late));
                    step = layered.tick(&layers, now);
                    call.tick(&inner, now)
                }
                _ => break,
            };
            match expected {
                Step::Stop(Outcome::GaveUp { reason, .. }) => {
                    prop_assert!(matches!(step, Step::Stop(Outcome::GaveUp { .. })), "it goes on");
                    prop_assert_eq!(layered.inner_reason(), Some(reason));
                }
                expected => prop_assert_eq!(step, expected),
            }
        }
    }

    #[test]
    fn no_state_and_no_input_panics(
        numbers: [u64; 4], bytes: [u8; 5], attempts in prop_oneof![0..4u32, u32::MAX - 3..=u32::MAX], ticket: u64, now: u64,
        failure in failure(), prelude in moves(), outer in policy(), inner in policy(),
    ) {
        let layers = Layers::new(outer, inner, Some(9)).unwrap();
        let (mut layered, mut step) = Layered::begin(&layers, numbers[0], Timestamp::from_nanos(numbers[1]));
        for (failure, took, _) in prelude.iter().take(usize::from(bytes[0] % 8)) {
            step = match step {
                Step::Attempt { ticket, .. } => layered.fail(&layers, ticket, layered.outer.retry.latest().after(Span::from_nanos(*took)), *failure),
                step => layered.tick(&layers, if let Step::Sleep { until, .. } = step { until } else { Timestamp::NEVER }),
            };
        }
        layered.limit = Timestamp::from_nanos(numbers[2]);
        layered.outer.at = Timestamp::from_nanos(numbers[3]);
        layered.attempts = attempts;
        [layered.outer.phase, layered.inner.phase, layered.level, layered.inner_reason, layered.kind] = bytes.map(|byte| byte % 12);
        let now = Timestamp::from_nanos(now);
        let tickets = [Ticket::from_raw(ticket), Ticket::from_raw(u64::from(attempts))];
        for ticket in tickets {
            let _ = layered.would_give_up(&layers, ticket, now, failure);
            layered.fail(&layers, ticket, now, failure);
            layered.fail_as(&layers, ticket, now, failure, Some(failure));
            layered.tick(&layers, now);
            layered.tick(&layers, Timestamp::NEVER);
            layered.succeed(ticket, now);
            let _ = (layered.remaining(now), layered.stopped_by(), layered.inner_reason());
        }
        layered.cancel(now);
    }
}
