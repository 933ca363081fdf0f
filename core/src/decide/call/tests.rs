use super::*;
use crate::decide::backoff::Backoff;
use crate::decide::hint::Hint;
use crate::decide::jitter::Jitter;
use core::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn at(seconds: u64) -> Timestamp {
    Timestamp::ZERO.after(Span::from_secs(seconds))
}

/// One second between attempts, three attempts, two seconds for each, twenty for all.
fn policy() -> Policy {
    let backoff = Backoff::constant(SECOND);
    let mut builder = *Policy::options().backoff(backoff).jitter(Jitter::None);
    builder.attempt_timeout(SECOND * 2).deadline(SECOND * 20).build().unwrap()
}

fn attempt(number: u32, abort_at: u64) -> Step {
    Step::Attempt { ticket: Ticket(number), abort_at: at(abort_at), wake_at: Timestamp::NEVER }
}

const SLEEP_TO_1: Step = Step::Sleep { until: Timestamp::from_nanos(1_000_000_000), cause: Cause::Backoff };
const WAIT: Step = Step::Wait { until: Timestamp::NEVER };

#[test]
fn the_sizes_are_small() {
    assert_eq!((size_of::<Call>(), size_of::<Step>(), size_of::<Policy>()), (80, 24, 2464));
}

#[test]
fn a_call_goes_from_attempt_to_sleep_to_attempt_to_success() {
    let policy = policy();
    let (mut call, step) = Call::begin(&policy, 0, at(0));
    assert_eq!(step, attempt(1, 2));
    assert_eq!(call.fail(&policy, Ticket(1), at(0), Failure::TRANSIENT), SLEEP_TO_1);
    assert_eq!(call.tick(&policy, at(1)), attempt(2, 3));
    assert_eq!(call.succeed(Ticket(2), at(2)), Step::Stop(Outcome::Succeeded));
    assert_eq!(call.attempt(), 2);
}

#[test]
fn an_attempt_is_said_once() {
    let policy = policy();
    let (mut call, _) = Call::begin(&policy, 0, at(0));
    assert_eq!(call.tick(&policy, at(9)), WAIT);
    assert_eq!(call.tick(&policy, at(9)), WAIT);
}

#[test]
fn a_tick_that_comes_early_is_told_to_sleep_on() {
    let policy = policy();
    let (mut call, _) = Call::begin(&policy, 0, at(0));
    call.fail(&policy, Ticket(1), at(0), Failure::TRANSIENT);
    assert_eq!(call.tick(&policy, Timestamp::from_nanos(999_999_999)), SLEEP_TO_1);
}

#[test]
fn a_retry_that_is_refused_ends_the_call_and_only_asleep() {
    let policy = policy();
    let (mut call, _) = Call::begin(&policy, 0, at(0));
    assert_eq!(call.refuse(), WAIT);
    call.fail(&policy, Ticket(1), at(0), Failure::TRANSIENT);
    let stop = Step::Stop(Outcome::GaveUp { reason: StopReason::Budget, retry_at: at(1) });
    assert_eq!(call.refuse(), stop);
    assert_eq!(call.tick(&policy, at(1)), stop);
    assert_eq!(call.refuse(), stop);
}

#[test]
fn a_call_in_a_hurry_sleeps_no_longer_unless_the_server_asked_for_it() {
    let policy = policy();
    let (mut call, _) = Call::begin(&policy, 0, at(0));
    call.hurry(at(0));
    assert_eq!(call.tick(&policy, at(0)), WAIT);
    call.fail(&policy, Ticket(1), at(2), Failure::TRANSIENT);
    call.hurry(at(2));
    assert_eq!(call.tick(&policy, at(2)), attempt(2, 4));
    let hinted = call.fail(&policy, Ticket(2), at(3), Failure::TRANSIENT.with_hint(Hint::after(Span::from_secs(5))));
    assert_eq!(hinted, Step::Sleep { until: at(8), cause: Cause::Hint });
    call.hurry(at(4));
    assert_eq!(call.tick(&policy, at(4)), hinted);
    assert_eq!(call.tick(&policy, at(8)), attempt(3, 10));
}

#[test]
fn an_old_or_foreign_ticket_changes_nothing() {
    let policy = policy();
    let (mut call, _) = Call::begin(&policy, 0, at(0));
    assert_eq!(call.succeed(Ticket(7), at(0)), WAIT);
    call.fail(&policy, Ticket(1), at(0), Failure::TRANSIENT);
    assert_eq!(call.fail(&policy, Ticket(1), at(0), Failure::PERMANENT), SLEEP_TO_1);
    assert_eq!(call.succeed(Ticket(1), at(0)), SLEEP_TO_1);
    call.tick(&policy, at(1));
    assert_eq!(call.succeed(Ticket(1), at(1)), WAIT);
    assert_eq!(Ticket::from_raw(u64::MAX), Ticket(0));
}

#[test]
fn cancelling_works_asleep_and_in_flight_and_not_after_the_end() {
    let policy = policy();
    let (mut running, _) = Call::begin(&policy, 0, at(0));
    let mut asleep = running;
    asleep.fail(&policy, Ticket(1), at(0), Failure::TRANSIENT);
    let mut done = running;
    done.succeed(Ticket(1), at(0));
    assert_eq!(running.cancel(at(0)), Step::Stop(Outcome::Cancelled));
    assert_eq!(asleep.cancel(at(0)), Step::Stop(Outcome::Cancelled));
    assert_eq!(done.cancel(at(0)), Step::Stop(Outcome::Succeeded));
    assert_eq!(running.succeed(Ticket(1), at(0)), Step::Stop(Outcome::Cancelled));
}

#[test]
fn waking_up_after_the_deadline_stops() {
    let policy = policy();
    let (mut call, _) = Call::begin(&policy, 0, at(0));
    call.fail(&policy, Ticket(1), at(0), Failure::TRANSIENT);
    let stop = Step::Stop(Outcome::GaveUp { reason: StopReason::Deadline, retry_at: at(1) });
    assert_eq!(call.tick(&policy, at(20)), stop);
    assert_eq!(call.tick(&policy, at(0)), stop);
}

#[test]
fn the_deadline_aborts_an_attempt_that_its_own_limit_would_not() {
    let policy = policy();
    let (mut call, _) = Call::begin(&policy, 0, at(0));
    call.fail(&policy, Ticket(1), at(0), Failure::TRANSIENT);
    assert_eq!(call.tick(&policy, at(19)), attempt(2, 20));
}

#[test]
fn a_call_underway_waits_for_its_first_attempt() {
    let policy = policy();
    let mut call = Call::underway(0, at(0));
    assert_eq!(call.tick(&policy, at(0)), WAIT);
    assert_eq!(call.fail(&policy, Ticket::FIRST, at(0), Failure::TRANSIENT), SLEEP_TO_1);
}

#[test]
fn at_the_end_of_time_it_still_ends() {
    let policy = policy();
    let (mut call, step) = Call::begin(&policy, 0, Timestamp::NEVER);
    assert_eq!(step, Step::Attempt { ticket: Ticket(1), abort_at: Timestamp::NEVER, wake_at: Timestamp::NEVER });
    let sleep = Step::Sleep { until: Timestamp::LAST, cause: Cause::Backoff };
    assert_eq!(call.fail(&policy, Ticket(1), Timestamp::NEVER, Failure::TRANSIENT), sleep);
    assert!(matches!(call.tick(&policy, Timestamp::NEVER), Step::Attempt { .. }));
}

#[test]
fn a_clock_that_was_set_back_makes_no_sleep_longer() {
    let policy = policy();
    let (mut call, _) = Call::begin(&policy, 0, at(7200));
    call.fail(&policy, Ticket(1), at(7200), Failure::TRANSIENT);
    for (now, left) in [(7200, 1), (3600, 1), (0, 1), (7201, 0)] {
        assert_eq!(call.remaining(at(now)), Span::from_secs(left), "at {now} s");
    }
    call.tick(&policy, at(3600));
    assert_eq!(call.remaining(at(3600)), Span::from_secs(1));
}

#[test]
fn a_tick_counter_that_wraps_in_a_sleep_ends_it_in_time() {
    let policy = policy();
    let mut latest = u64::from(u32::MAX - 700);
    let ms = |latest: u64| Timestamp::from_nanos(latest * 1_000_000);
    let (mut call, _) = Call::begin(&policy, 0, ms(latest));
    let mut step = call.fail(&policy, Ticket(1), ms(latest), Failure::TRANSIENT);
    let mut passed = 0;
    while matches!(step, Step::Sleep { .. }) {
        passed += 100;
        // Every other look reads the counter a little back, as of two processors.
        latest = crate::widen_tick(latest, (u32::MAX - 700).wrapping_add(passed - passed % 200 / 100 * 3));
        step = call.tick(&policy, ms(latest));
    }
    assert_eq!(
        (passed, step),
        (1000, Step::Attempt { ticket: Ticket(2), abort_at: ms(latest + 2000), wake_at: Timestamp::NEVER })
    );
}
