use super::*;
use crate::decide::backoff::Backoff;
use crate::decide::guards::Refusal;
use crate::decide::guards::breaker::Breaker;
use crate::decide::guards::breaker::config::BreakerConfig;
use crate::decide::guards::budget::{Budget, BudgetConfig};
use crate::decide::guards::bulkhead::{Bulkhead, BulkheadConfig};
use crate::decide::guards::latency::{HedgeConfig, Latency};
use crate::decide::jitter::Jitter;
use crate::error::StopReason;
use crate::record::replay::{Replay, ReplayMode};
use crate::time::Span;
use core::time::Duration;
use proptest::prelude::*;
use std::string::{String, ToString};
use std::vec::Vec;

const SECOND: Duration = Duration::from_secs(1);

fn at(millis: u64) -> Timestamp {
    Timestamp::from_nanos(millis * 1_000_000)
}

/// One second between attempts, four attempts, ten seconds for all.
fn policy() -> Policy {
    let mut builder = *Policy::options().backoff(Backoff::constant(SECOND)).jitter(Jitter::None);
    builder.attempts(4).deadline(SECOND * 10).build().unwrap()
}

fn ticket(number: u64) -> Ticket {
    Ticket::from_raw(number)
}

fn sleep(until: u64, cause: Cause) -> Step {
    Step::Sleep { until: at(until), cause }
}

fn attempt(number: u64, abort_at: u64) -> Step {
    Step::Attempt { ticket: ticket(number), abort_at: at(abort_at), wake_at: Timestamp::NEVER }
}

fn gave_up(reason: StopReason, retry_at: Option<u64>) -> Step {
    Step::Stop(Outcome::GaveUp { reason, retry_at: retry_at.map_or(Timestamp::NEVER, at) })
}

fn breaker(refusal: Refusal) -> BreakerConfig {
    let mut config = BreakerConfig { failures: 1, refusal: refusal.code(), ..BreakerConfig::default() };
    config.open.initial = 5_000_000_000;
    config
}

/// What a host has on its disk, in words.
#[derive(Default)]
struct Log(Vec<Event>);

impl Log {
    fn write(&mut self, recorded: Recorded) -> Step {
        self.0.extend_from_slice(&recorded.events);
        recorded.step
    }

    fn words(&self) -> Vec<String> {
        self.0.iter().map(ToString::to_string).collect()
    }

    /// The recorder that another process makes of it.
    fn replayed(&self) -> Recorder {
        let mut replay = Replay::new(ReplayMode::Verify);
        for event in &self.0 {
            replay.apply(&policy(), event).unwrap_or_else(|error| panic!("{error}"));
        }
        replay.finish().unwrap()
    }
}

fn begin(log: &mut Log, guards: &mut Guards<'_>) -> (Recorder, Step) {
    let (recorder, recorded) = Recorder::begin(&policy(), guards, 7, at(0));
    let step = log.write(recorded);
    (recorder, step)
}

#[test]
fn a_call_that_succeeds_at_the_second_attempt_writes_five_events() {
    let (guards, mut log) = (&mut Guards::none(), Log::default());
    let (mut call, step) = begin(&mut log, guards);
    assert_eq!(step, attempt(1, 10_000));
    let step = log.write(call.fail(&policy(), guards, ticket(1), at(300), Failure::TRANSIENT));
    assert_eq!(step, sleep(1300, Cause::Backoff));
    assert_eq!(log.write(call.tick(&policy(), guards, at(1300))), attempt(2, 10_000));
    assert_eq!(log.write(call.succeed(guards, ticket(2), at(1400))), Step::Stop(Outcome::Succeeded));
    assert_eq!(
        log.words(),
        [
            "event 1: STARTED, attempt 1",
            "event 2: ATTEMPT_FAILED, attempt 1, transient",
            "event 3: RETRY_SCHEDULED, attempt 2, in 1s (backoff)",
            "event 4: RESUMED, attempt 2",
            "event 5: SUCCEEDED, attempt 2",
        ]
    );
    assert_eq!(log.replayed(), call);
    assert_eq!((call.sequence(), call.attempt(), call.started(), call.reruns()), (5, 2, at(0), 0));
}

#[test]
fn what_changes_nothing_is_not_written_and_leaves_no_trace() {
    let (guards, mut log) = (&mut Guards::none(), Log::default());
    let (mut call, _) = begin(&mut log, guards);
    let unchanged = |call: &mut Recorder, input: &mut dyn FnMut(&mut Recorder) -> Recorded| {
        let before = *call;
        let recorded = input(call);
        assert!(recorded.events.is_empty());
        assert_eq!((*call, recorded.step), (before, call.step()));
    };
    unchanged(&mut call, &mut |call| call.tick(&policy(), &mut Guards::none(), at(400)));
    unchanged(&mut call, &mut |call| call.succeed(&mut Guards::none(), ticket(2), at(500)));
    log.write(call.fail(&policy(), guards, ticket(1), at(300), Failure::TRANSIENT));
    unchanged(&mut call, &mut |call| call.tick(&policy(), &mut Guards::none(), at(1299)));
    unchanged(&mut call, &mut |call| {
        call.fail(&policy(), &mut Guards::none(), ticket(1), at(9000), Failure::TRANSIENT)
    });
    unchanged(&mut call, &mut |call| call.resume(&policy(), &mut Guards::none(), at(9000), 3));
    log.write(call.cancel(guards, at(1000)));
    unchanged(&mut call, &mut |call| call.cancel(&mut Guards::none(), at(2000)));
    unchanged(&mut call, &mut |call| call.abandon(&mut Guards::none(), ticket(1), at(2000)));
    unchanged(&mut call, &mut |call| call.resume(&policy(), &mut Guards::none(), at(9000), 0));
    assert_eq!(log.words().last().unwrap(), "event 4: CANCELLED, attempt 1");
    assert_eq!(log.0[3].at(), at(1000), "the later times before it did not count");
    assert_eq!(log.replayed(), call);
}

#[test]
fn events_have_the_time_of_the_machine_which_never_goes_back() {
    let (guards, mut log) = (&mut Guards::none(), Log::default());
    let (mut call, _) = begin(&mut log, guards);
    log.write(call.fail(&policy(), guards, ticket(1), at(2000), Failure::TRANSIENT));
    log.write(call.cancel(guards, at(100)));
    assert_eq!(log.0.iter().map(Event::at).collect::<Vec<_>>(), [0, 2000, 2000, 2000].map(at));
}

#[test]
fn a_fault_of_ones_own_program_is_a_permanent_failure_in_the_log() {
    let (guards, mut log) = (&mut Guards::none(), Log::default());
    let (mut call, _) = begin(&mut log, guards);
    assert_eq!(log.write(call.abandon(guards, ticket(1), at(5))), gave_up(StopReason::Permanent, None));
    assert_eq!(
        log.words()[1..],
        ["event 2: ATTEMPT_FAILED, attempt 1, permanent", "event 3: GAVE_UP, attempt 1, permanent"]
    );
    assert_eq!(log.replayed(), call);
}

#[test]
fn an_interrupted_attempt_runs_again_under_its_own_number_with_a_new_limit() {
    let policy = Policy::options().attempt_timeout(SECOND).build().unwrap();
    let guards = &mut Guards::none();
    let (mut call, first) = Recorder::begin(&policy, guards, 7, at(0));
    assert_eq!(first.step, attempt(1, 1000));
    let again = call.resume(&policy, guards, at(50_000), 1);
    assert_eq!(again.step, attempt(1, 51_000));
    assert_eq!(again.events[0].to_string(), "event 2: RESUMED, attempt 1");
    assert_eq!((call.attempt(), call.reruns()), (1, 1));
    let failed = call.resume(&policy, guards, at(60_000), 1);
    assert!(matches!(failed.step, Step::Sleep { .. }), "{:?}", failed.step);
    assert_eq!(failed.events[0].to_string(), "event 3: ATTEMPT_FAILED, attempt 1, timeout");
    assert_eq!(failed.events[1].kind(), EventKind::RetryScheduled);
    assert_eq!((call.attempt(), call.reruns()), (1, 0));
}

#[test]
fn an_attempt_that_was_interrupted_until_after_the_deadline_is_the_last_one() {
    let (guards, mut log) = (&mut Guards::none(), Log::default());
    let (mut call, _) = begin(&mut log, guards);
    let step = log.write(call.resume(&policy(), guards, at(10_000), 3));
    assert_eq!(step, gave_up(StopReason::Deadline, Some(10_000)));
    assert_eq!(log.words()[1..], ["event 2: GAVE_UP, attempt 1, deadline"]);
    assert_eq!(log.replayed(), call);
}

#[test]
fn a_decision_that_the_log_was_cut_before_is_the_first_thing_to_be_written() {
    let (guards, mut log) = (&mut Guards::none(), Log::default());
    let (mut live, _) = begin(&mut log, guards);
    log.write(live.fail(&policy(), guards, ticket(1), at(300), Failure::TRANSIENT));
    let whole = log.0.clone();
    log.0.truncate(2);
    let cut = log.replayed();
    assert_eq!((cut.step(), cut.sequence()), (sleep(1300, Cause::Backoff), 2));
    let mut resumed = cut;
    let recorded = resumed.resume(&policy(), guards, at(900), 3);
    assert_eq!((recorded.step, recorded.events[0]), (sleep(1300, Cause::Backoff), whole[2]));
    assert_eq!(resumed, live, "as if nothing had been cut");
    let mut ticked = cut;
    let recorded = ticked.tick(&policy(), guards, at(1300));
    assert_eq!(recorded.step, attempt(2, 10_000));
    assert_eq!(recorded.events[0], whole[2]);
    assert_eq!(recorded.events[1].to_string(), "event 4: RESUMED, attempt 2");
    let mut cancelled = cut;
    let kinds: Vec<_> = cancelled.cancel(guards, at(1)).events.iter().map(Event::kind).collect();
    assert_eq!(kinds, [EventKind::RetryScheduled, EventKind::Cancelled]);
}

#[test]
fn a_guard_that_refuses_the_first_attempt_is_in_the_log() {
    let config = breaker(Refusal::Wait);
    let mut state = Breaker::new(&config, 0, at(0));
    state.isolate(at(0));
    let guards = &mut Guards { breaker: Some((&config, &mut state)), ..Guards::none() };
    let mut log = Log::default();
    let (call, step) = begin(&mut log, guards);
    assert!(matches!(step, Step::Stop(_)), "{step:?}");
    assert_eq!(log.words(), ["event 1: STARTED, attempt 0", "event 2: GAVE_UP, attempt 0, breaker"]);
    assert_eq!(log.replayed().call(), call.call());

    let mut state = Breaker::new(&config, 0, at(0));
    let guards = &mut Guards { breaker: Some((&config, &mut state)), ..Guards::none() };
    let (mut other, _) = GuardedCall::begin(&policy(), guards, 0, at(0));
    other.fail(&policy(), guards, ticket(1), at(0), Failure::TRANSIENT);
    let mut log = Log::default();
    let (mut call, step) = begin(&mut log, guards);
    assert_eq!(step, sleep(5000, Cause::Breaker));
    assert_eq!(log.write(call.tick(&policy(), guards, at(5000))), attempt(1, 10_000));
    assert_eq!(
        log.words(),
        [
            "event 1: STARTED, attempt 0",
            "event 2: RETRY_SCHEDULED, attempt 1, in 5s (breaker)",
            "event 3: RESUMED, attempt 1",
        ]
    );
    assert!(log.0[0].is_guarded());
    assert_eq!(log.replayed().call(), call.call());
}

#[test]
fn a_sleep_for_a_guard_is_asked_again_by_the_first_tick_after_a_crash() {
    let config = breaker(Refusal::Wait);
    let mut state = Breaker::new(&config, 0, at(0));
    let mut log = Log::default();
    let guards = &mut Guards { breaker: Some((&config, &mut state)), ..Guards::none() };
    let (mut call, _) = begin(&mut log, guards);
    let step = log.write(call.fail(&policy(), guards, ticket(1), at(1000), Failure::TRANSIENT));
    assert_eq!(step, sleep(6000, Cause::Breaker));
    // Another process, whose breaker knows nothing of it.
    let mut fresh = Breaker::new(&config, 0, at(2000));
    let guards = &mut Guards { breaker: Some((&config, &mut fresh)), ..Guards::none() };
    let mut resumed = log.replayed();
    let recorded = resumed.resume(&policy(), guards, at(2000), 3);
    assert_eq!((recorded.step, recorded.events.len()), (sleep(1000, Cause::Breaker), 0), "it is due");
    assert_eq!(resumed.step(), recorded.step);
    assert_eq!(resumed.call(), call.call(), "the log says the same as before");
    assert_eq!(log.write(resumed.tick(&policy(), guards, at(2000))), attempt(2, 10_000));
    assert_eq!(log.words().last().unwrap(), "event 4: RESUMED, attempt 2");
    assert_eq!(log.replayed().call(), resumed.call());
    // One whose breaker is as open as the first one was: nothing has changed.
    let guards = &mut Guards { breaker: Some((&config, &mut state)), ..Guards::none() };
    let mut resumed = {
        log.0.truncate(3);
        log.replayed()
    };
    resumed.resume(&policy(), guards, at(2000), 3);
    let recorded = resumed.tick(&policy(), guards, at(2000));
    assert_eq!((recorded.step, recorded.events.len()), (sleep(6000, Cause::Breaker), 0));
    assert_eq!(resumed.step(), sleep(6000, Cause::Breaker));
}

#[test]
fn a_guard_that_does_not_let_an_interrupted_attempt_run_again_makes_it_wait() {
    let config = breaker(Refusal::Wait);
    let mut log = Log::default();
    let mut state = Breaker::new(&config, 0, at(0));
    let guards = &mut Guards { breaker: Some((&config, &mut state)), ..Guards::none() };
    begin(&mut log, guards);
    let (mut other, _) = GuardedCall::begin(&policy(), guards, 0, at(0));
    other.fail(&policy(), guards, ticket(1), at(1000), Failure::TRANSIENT);
    let mut resumed = log.replayed();
    assert_eq!(log.write(resumed.resume(&policy(), guards, at(2000), 3)), sleep(6000, Cause::Breaker));
    assert_eq!(log.replayed().call(), resumed.call());
    assert_eq!(log.write(resumed.tick(&policy(), guards, at(6000))), attempt(1, 10_000));
    assert_eq!((resumed.attempt(), resumed.reruns()), (1, 1));
    assert_eq!(
        log.words()[1..],
        ["event 2: RETRY_SCHEDULED, attempt 1, in 4s (breaker)", "event 3: RESUMED, attempt 1"]
    );
    assert_eq!(log.replayed().call(), resumed.call());
}

#[test]
fn what_a_retry_paid_is_not_paid_again_by_an_attempt_that_was_interrupted() {
    let config = BudgetConfig::token(10, [5, 5, 5], 0.0, 0.0).unwrap();
    let mut budget = Budget::new(&config, 0, at(0));
    let mut log = Log::default();
    let guards = &mut Guards { budget: Some((&config, &mut budget)), ..Guards::none() };
    let (mut call, _) = begin(&mut log, guards);
    log.write(call.fail(&policy(), guards, ticket(1), at(0), Failure::TRANSIENT));
    log.write(call.tick(&policy(), guards, at(1000)));
    let mut resumed = log.replayed();
    assert_eq!(log.write(resumed.resume(&policy(), guards, at(1500), 3)), attempt(2, 10_000));
    assert_eq!(guards.budget.as_ref().map(|(config, budget)| budget.balance(config, at(1500))), Some(5.0));
    log.write(resumed.fail(&policy(), guards, ticket(2), at(2000), Failure::TRANSIENT));
    assert_eq!(guards.budget.as_ref().map(|(config, budget)| budget.balance(config, at(2000))), Some(0.0));
    log.write(resumed.tick(&policy(), guards, at(3000)));
    let step = log.write(resumed.fail(&policy(), guards, ticket(3), at(3000), Failure::TRANSIENT));
    assert_eq!(step, gave_up(StopReason::Budget, Some(4000)));
    assert_eq!(log.replayed().call(), resumed.call());
}

#[test]
fn the_place_of_an_interrupted_attempt_is_taken_and_given_back_once() {
    let config = BulkheadConfig::new(1, 1, Span::from_millis(700)).unwrap();
    let mut log = Log::default();
    let mut bulkhead = Bulkhead::new();
    let guards = &mut Guards { bulkhead: Some((&config, &mut bulkhead, &mut [])), ..Guards::none() };
    begin(&mut log, guards);
    // The process is another one, and so is its bulkhead.
    let mut bulkhead = Bulkhead::new();
    let guards = &mut Guards { bulkhead: Some((&config, &mut bulkhead, &mut [])), ..Guards::none() };
    let mut resumed = log.replayed();
    resumed.resume(&policy(), guards, at(10), 3);
    let (mut waits, step) = GuardedCall::begin(&policy(), guards, 0, at(10));
    assert_eq!(step, sleep(710, Cause::Bulkhead));
    resumed.succeed(guards, ticket(1), at(20));
    assert!(matches!(waits.tick(&policy(), guards, at(20)), Step::Attempt { .. }));
    waits.cancel(guards, at(20));
    assert_eq!((bulkhead.running(), bulkhead.waiting()), (0, 0));
}

#[test]
fn a_recorded_call_does_not_hedge_and_gives_the_hedge_back() {
    let config = HedgeConfig::new(Span::from_millis(100), None, 3).unwrap();
    let mut latency = Latency::new();
    let guards = &mut Guards { hedge: Some((&config, &mut latency)), ..Guards::none() };
    let mut log = Log::default();
    let (mut call, step) = begin(&mut log, guards);
    assert_eq!(step, attempt(1, 10_000), "without a time to wake up");
    assert!(guards.hedge.is_some());
    assert!(log.write(call.tick(&policy(), guards, at(200))) == Step::Wait { until: Timestamp::NEVER });
    assert!(guards.hedge.is_some() && !log.0[0].is_guarded());
}

#[test]
fn guards_that_are_lent_to_a_call_that_began_without_are_not_asked() {
    let config = breaker(Refusal::Stop);
    let mut state = Breaker::new(&config, 0, at(0));
    state.isolate(at(0));
    let mut log = Log::default();
    let (mut call, _) = begin(&mut log, &mut Guards::none());
    let guards = &mut Guards { breaker: Some((&config, &mut state)), ..Guards::none() };
    assert_eq!(log.write(call.resume(&policy(), guards, at(5), 3)), attempt(1, 10_000));
    assert_eq!(log.replayed(), call);
}

proptest! {
    #[test]
    fn no_state_panics_or_says_more_than_two_things(
        fields: (u64, u32, u32, u8, u8), failed: bool, inputs in prop::collection::vec((0..7u8, 0..4u64, any::<u64>()), 0..12)
    ) {
        let (policy, guards) = (policy(), &mut Guards::none());
        let (mut call, _) = Recorder::begin(&policy, guards, 7, at(0));
        if failed {
            call.fail(&policy, guards, ticket(1), at(1), Failure::TRANSIENT);
        }
        let (sequence, ran, reruns, guarded, pending) = fields;
        call = Recorder { sequence, ran, reruns, guarded, pending: pending % 4, ..call };
        for (what, number, now) in inputs {
            let now = Timestamp::from_nanos(now);
            let said = match what {
                0 => call.succeed(guards, ticket(number), now),
                1 => call.fail(&policy, guards, ticket(number), now, Failure::THROTTLED),
                2 => call.abandon(guards, ticket(number), now),
                3 => call.tick(&policy, guards, now),
                4 => call.cancel(guards, now),
                _ => call.resume(&policy, guards, now, number as u32),
            };
            prop_assert!(said.events.len() <= 2);
        }
        prop_assert!(!matches!(call.step(), Step::Attempt { .. }), "an attempt is said once");
        prop_assert!(Call::resume(&call.call().save(&policy, at(9)), &policy, at(9)).is_ok());
    }
}

#[test]
fn a_clock_that_was_set_back_an_hour_prolongs_no_sleep() {
    let (policy, none) = (policy(), &mut Guards::none());
    let (mut log, noon) = (Log::default(), 12 * 3_600_000);
    let eleven = noon - 3_600_000;
    let (mut call, begun) = Recorder::begin(&policy, none, 7, at(noon));
    log.write(begun);
    assert_eq!(
        log.write(call.fail(&policy, none, ticket(1), at(noon), Failure::TRANSIENT)),
        sleep(noon + 1000, Cause::Backoff)
    );
    // Live, and in the next process.
    assert_eq!(call.remaining(at(eleven)), Span::from_secs(1));
    let mut replay = Replay::new(ReplayMode::Verify);
    log.0.iter().for_each(|event| replay.apply(&policy, event).unwrap());
    let mut call = replay.finish().unwrap();
    log.write(call.resume(&policy, none, at(eleven), 3));
    assert_eq!(call.remaining(at(eleven)), Span::from_secs(1));
    // The host has slept for a second, and its clock says so.
    let next = log.write(call.tick(&policy, none, at(eleven + 1000).max(at(noon + 1000))));
    assert_eq!(next, attempt(2, noon + 10_000));
    let next = log.write(call.fail(&policy, none, ticket(2), at(eleven + 1001), Failure::TRANSIENT));
    assert_eq!((next, call.remaining(at(eleven + 1001))), (sleep(noon + 2000, Cause::Backoff), Span::from_secs(1)));
    let mut replay = Replay::new(ReplayMode::Verify);
    log.0.iter().for_each(|event| replay.apply(&policy, event).unwrap());
    assert_eq!(replay.finish().unwrap(), call);
}
