use super::*;
use crate::decide::backoff::Backoff;
use crate::decide::call::Step;
use crate::decide::failure::Failure;
use crate::decide::guarded::Guards;
use crate::decide::hint::Hint;
use crate::decide::jitter::Jitter;
use crate::decide::retry::Cause;
use crate::error::StopReason;
use crate::record::recorder::Recorded;
use crate::time::{Span, Timestamp};
use crate::{Outcome, Ticket};
use core::time::Duration;
use std::string::ToString;
use std::vec::Vec;

#[cfg(all(feature = "powers", feature = "rules"))]
mod random;

const SECOND: Duration = Duration::from_secs(1);

fn at(millis: u64) -> Timestamp {
    Timestamp::from_nanos(millis * 1_000_000)
}

fn with_delay(delay: Duration) -> Policy {
    let mut builder = *Policy::options().backoff(Backoff::constant(delay)).jitter(Jitter::None);
    builder.attempts(4).deadline(SECOND * 10).build().unwrap()
}

/// One second between attempts, four attempts, ten seconds for all.
fn policy() -> Policy {
    with_delay(SECOND)
}

/// Two failures and a success: eight events.
fn log() -> Vec<Event> {
    let (policy, guards) = (policy(), &mut Guards::none());
    let mut log = Vec::new();
    let mut write = |recorded: Recorded| log.extend_from_slice(&recorded.events);
    let (mut call, first) = Recorder::begin(&policy, guards, 7, at(0));
    write(first);
    write(call.fail(&policy, guards, Ticket::from_raw(1), at(300), Failure::TRANSIENT));
    write(call.tick(&policy, guards, at(1300)));
    let hinted = Failure::THROTTLED.with_hint(Hint::after(Span::from_secs(3)));
    write(call.fail(&policy, guards, Ticket::from_raw(2), at(1400), hinted));
    write(call.tick(&policy, guards, at(4400)));
    write(call.succeed(guards, Ticket::from_raw(3), at(4500)));
    log
}

#[cfg(all(feature = "powers", feature = "rules"))]
#[test]
fn a_log_says_which_rule_took_each_failure() {
    let mut options = *Policy::options().attempts(2);
    for (name, value) in [
        ("jitter", "none".into()),
        ("reset_after", Duration::from_secs(60).into()),
        ("rules[0].if.codes[0]", "EAGAIN".into()),
        ("rules[0].attempts", crate::Value::from(3_u32)),
        ("rules[0].backoff", "linear".into()),
    ] {
        options.set(name, value).unwrap();
    }
    let (policy, guards) = (options.build().unwrap(), &mut Guards::none());
    let (mut call, first) = Recorder::begin(&policy, guards, 7, at(0));
    let mut log = first.events.to_vec();
    let mut now = 0;
    for (number, rule, took) in [(1, 1, 5), (2, Failure::NO_RULE, 5), (3, 1, 5), (4, 1, 61_000), (5, 1, 5), (6, 1, 5)] {
        let failed = call.fail(
            &policy,
            guards,
            Ticket::from_raw(number),
            at(now + took),
            Failure { rule, ..Failure::TRANSIENT },
        );
        log.extend_from_slice(&failed.events);
        let again = replay(ReplayMode::Verify, &policy, &log).unwrap();
        assert_eq!(again.call().save(&policy, at(now + took)), call.call().save(&policy, at(now + took)));
        match failed.step {
            Step::Sleep { until, .. } => {
                now = until.as_nanos() / 1_000_000;
                log.extend_from_slice(&call.tick(&policy, guards, until).events);
            }
            step => assert!(number == 6 && matches!(step, Step::Stop(_)), "{step:?}"),
        }
    }
    let rules: Vec<_> = log.iter().filter_map(Event::rule).collect();
    assert_eq!(rules, [1, 0, 1, 1, 1, 1]);
}

fn replay(mode: ReplayMode, policy: &Policy, log: &[Event]) -> Result<Recorder, ReplayError> {
    let mut replay = Replay::new(mode);
    for event in log {
        let before = replay;
        if let Err(error) = replay.apply(policy, event) {
            assert_eq!(std::format!("{before:?}"), std::format!("{replay:?}"), "an error changes nothing");
            return Err(error);
        }
    }
    replay.finish()
}

/// The code and the number of what is wrong, the same in both modes.
#[track_caller]
fn wrong(log: &[Event]) -> (ErrorCode, u64) {
    let [follow, verify] = ReplayMode::ALL.map(|mode| replay(mode, &policy(), log).unwrap_err());
    assert_eq!((follow.code, follow.sequence), (verify.code, verify.sequence));
    (verify.code, verify.sequence)
}

#[test]
fn a_log_without_events_is_no_call() {
    assert_eq!(wrong(&[]), (ErrorCode::LogEmpty, 1));
    assert_eq!(Replay::new(ReplayMode::Follow).finish().unwrap_err().to_string(), "the log has no event");
}

#[test]
fn a_log_begins_with_event_1_which_is_started() {
    assert_eq!(wrong(&log()[1..]), (ErrorCode::LogStart, 1));
    assert_eq!(wrong(&[log()[0].numbered(2)]), (ErrorCode::LogStart, 1));
    assert_eq!(wrong(&[log()[1].numbered(1)]), (ErrorCode::LogStart, 1));
    let error = replay(ReplayMode::Follow, &policy(), &log()[1..]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "event 1: must begin the log, with the type STARTED; found event 2: ATTEMPT_FAILED, attempt 1, \
         transient"
    );
}

#[test]
fn an_event_that_is_missing_is_named_by_its_own_number() {
    for gone in 1..7 {
        let mut log = log();
        log.remove(gone);
        assert_eq!(wrong(&log), (ErrorCode::LogGap, gone as u64 + 1));
    }
}

#[test]
fn an_event_that_is_there_twice_is_told_from_one_that_comes_back_later() {
    for twice in 0..7 {
        let mut log = log();
        log.insert(twice + 1, log[twice]);
        assert_eq!(wrong(&log), (ErrorCode::LogTwice, twice as u64 + 1));
        let mut log = self::log();
        log.push(log[twice]);
        assert_eq!(wrong(&log), (ErrorCode::LogOrder, twice as u64 + 1));
    }
}

#[test]
fn two_events_that_changed_places_leave_a_gap() {
    for first in 1..7 {
        let mut log = log();
        log.swap(first, first + 1);
        assert_eq!(wrong(&log), (ErrorCode::LogGap, first as u64 + 1));
    }
}

#[test]
fn a_log_that_is_cut_anywhere_is_a_call_that_is_not_over() {
    for length in 1..8 {
        let recorder = replay(ReplayMode::Verify, &policy(), &log()[..length]).unwrap();
        assert!(!matches!(recorder.step(), Step::Stop(_)));
        assert_eq!(recorder.sequence(), length as u64);
    }
    assert_eq!(replay(ReplayMode::Verify, &policy(), &log()).unwrap().step(), Step::Stop(Outcome::Succeeded));
}

#[test]
fn time_does_not_go_back() {
    let mut log = log();
    log[2] = Event::retry_scheduled(at(299), 2, at(1300), Cause::Backoff).numbered(3);
    assert_eq!(wrong(&log), (ErrorCode::LogTime, 3));
}

#[test]
fn a_log_of_another_policy_is_taken_only_by_who_says_so() {
    let other = with_delay(SECOND * 2);
    let error = replay(ReplayMode::Follow, &other, &log()).unwrap_err();
    assert_eq!(error.to_string(), "event 1: was written under another policy");
    let forced = |mode| {
        let mut replay = Replay::new(mode).any_policy();
        log().iter().try_for_each(|event| replay.apply(&other, event)).and_then(|()| replay.finish())
    };
    assert_eq!(forced(ReplayMode::Follow).unwrap().step(), Step::Stop(Outcome::Succeeded));
    let error = forced(ReplayMode::Verify).unwrap_err();
    assert_eq!((error.code, error.sequence), (ErrorCode::LogDiverged, 3));
    assert_eq!(
        error.to_string(),
        "event 3: is not what the policy decides: the log says RETRY_SCHEDULED, attempt 2, in 1s (backoff); the policy says \
         RETRY_SCHEDULED, attempt 2, in 2s (backoff)"
    );
    assert_eq!(error.recorded, Some(log()[2]));
    assert_eq!(error.computed.map(|event| event.until()), Some(at(2300)));
}

#[test]
fn a_changed_policy_keeps_what_was_promised_and_decides_what_comes() {
    let other = with_delay(SECOND * 2);
    let mut replay = Replay::new(ReplayMode::Follow).any_policy();
    log()[..3].iter().for_each(|event| replay.apply(&other, event).unwrap());
    let mut call = replay.finish().unwrap();
    assert_eq!(call.step(), Step::Sleep { until: at(1300), cause: Cause::Backoff });
    let guards = &mut Guards::none();
    call.tick(&other, guards, at(1300));
    let step = call.fail(&other, guards, Ticket::from_raw(2), at(1400), Failure::TRANSIENT).step;
    assert_eq!(step, Step::Sleep { until: at(3400), cause: Cause::Backoff });
}

#[test]
fn following_a_log_means_that_its_end_and_its_sleeps_win_over_the_policys() {
    let started = log()[0];
    let failed = log()[1];
    let stopped = Event::gave_up(at(300), 1, StopReason::Attempts, Timestamp::NEVER).numbered(3);
    let slept = Event::retry_scheduled(at(300), 2, at(77_000), Cause::Hint).numbered(3);
    let late = Event::new(EventKind::Resumed, at(80_000), 2).numbered(4);
    let follow = |log: &[Event]| replay(ReplayMode::Follow, &policy(), log).unwrap().step();
    let verify = |log: &[Event]| {
        let error = replay(ReplayMode::Verify, &policy(), log).unwrap_err();
        assert_eq!(error.code, ErrorCode::LogDiverged);
        (error.sequence, error.computed.map(|event| event.kind()))
    };
    let attempts = Step::Stop(Outcome::GaveUp { reason: StopReason::Attempts, retry_at: Timestamp::NEVER });
    assert_eq!(follow(&[started, failed, stopped]), attempts);
    assert_eq!(verify(&[started, failed, stopped]), (3, Some(EventKind::RetryScheduled)));
    assert_eq!(follow(&[started, failed, slept]), Step::Sleep { until: at(77_000), cause: Cause::Hint });
    assert_eq!(follow(&[started, failed, slept, late]), Step::Wait { until: Timestamp::NEVER });
    assert_eq!(verify(&[started, failed, slept, late]), (3, Some(EventKind::RetryScheduled)));
    let beyond = Event::new(EventKind::Resumed, at(80_000), 2).numbered(4);
    assert_eq!(verify(&[started, failed, log()[2], beyond]), (4, Some(EventKind::GaveUp)));
    let early = Event::gave_up(at(1300), 1, StopReason::Deadline, at(1300)).numbered(4);
    assert_eq!(verify(&[started, failed, log()[2], early]), (4, Some(EventKind::Resumed)));
}

#[test]
fn a_guard_is_believed_only_where_it_was_asked() {
    let guarded = Event::started(&policy(), 7, true, at(0), 1).numbered(1);
    let failed = |failure| Event::attempt_failed(at(300), 1, failure).numbered(2);
    let breaker = Event::retry_scheduled(at(300), 2, at(5000), Cause::Breaker).numbered(3);
    let budget = Event::gave_up(at(300), 1, StopReason::Budget, at(1300)).numbered(3);
    let slept = Event::retry_scheduled(at(300), 2, at(1300), Cause::Backoff).numbered(3);
    let refused = |time| Event::gave_up(at(time), 1, StopReason::Limiter, at(20_000)).numbered(4);
    let verify = |log: &[Event]| replay(ReplayMode::Verify, &policy(), log).map(|call| call.sequence());
    let reason = |log: &[Event]| verify(log).unwrap_err().computed.and_then(|event| event.reason());
    for said in [breaker, budget] {
        assert_eq!(verify(&[guarded, failed(Failure::TRANSIENT), said]), Ok(3));
        assert_eq!(reason(&[guarded, failed(Failure::PERMANENT), said]), Some(StopReason::Permanent));
    }
    assert_eq!(verify(&[guarded, failed(Failure::TRANSIENT), slept, refused(9_999)]), Ok(4));
    assert_eq!(reason(&[guarded, failed(Failure::TRANSIENT), slept, refused(10_000)]), Some(StopReason::Deadline));
}

#[test]
fn what_no_machine_says_is_impossible() {
    let log = log();
    let plain = |kind, time, attempt| Event::new(kind, at(time), attempt);
    let impossible = |before: usize, event: Event| {
        let mut log = log[..before].to_vec();
        log.push(event.numbered(before as u64 + 1));
        assert_eq!(wrong(&log), (ErrorCode::LogImpossible, before as u64 + 1), "{event}");
    };
    // A first attempt runs.
    impossible(1, log[0]);
    impossible(1, plain(EventKind::Succeeded, 9, 2));
    impossible(1, plain(EventKind::Cancelled, 9, 0));
    impossible(1, plain(EventKind::Resumed, 9, 2));
    impossible(1, Event::attempt_failed(at(9), 2, Failure::TRANSIENT));
    impossible(1, Event::retry_scheduled(at(9), 1, at(10), Cause::Breaker));
    impossible(1, Event::gave_up(at(9), 1, StopReason::Attempts, Timestamp::NEVER));
    impossible(1, Event::gave_up(at(9), 1, StopReason::Breaker, Timestamp::NEVER));
    // It failed, and nothing was decided.
    impossible(2, plain(EventKind::Resumed, 1300, 2));
    impossible(2, plain(EventKind::Cancelled, 1300, 1));
    impossible(2, Event::retry_scheduled(at(300), 3, at(1300), Cause::Backoff));
    impossible(2, Event::retry_scheduled(at(300), 2, at(1300), Cause::Limiter));
    impossible(2, Event::gave_up(at(300), 1, StopReason::Cancelled, Timestamp::NEVER));
    impossible(2, Event::gave_up(at(300), 1, StopReason::Budget, Timestamp::NEVER));
    impossible(2, Event::gave_up(at(300), 2, StopReason::Attempts, Timestamp::NEVER));
    impossible(2, Event::attempt_failed(at(300), 1, Failure::TRANSIENT));
    // It sleeps.
    impossible(3, plain(EventKind::Resumed, 1299, 2));
    impossible(3, plain(EventKind::Resumed, 1300, 1));
    impossible(3, plain(EventKind::Resumed, 1300, 3));
    impossible(3, plain(EventKind::Succeeded, 1300, 1));
    impossible(3, plain(EventKind::Cancelled, 1300, 2));
    impossible(3, Event::attempt_failed(at(300), 2, Failure::TRANSIENT));
    impossible(3, Event::retry_scheduled(at(1300), 2, at(2000), Cause::Backoff));
    impossible(3, Event::gave_up(at(1299), 1, StopReason::Deadline, at(1300)));
    impossible(3, Event::gave_up(at(1300), 1, StopReason::Hint, at(1300)));
    // It is over.
    for kind in [EventKind::Resumed, EventKind::Succeeded, EventKind::Cancelled] {
        impossible(8, plain(kind, 5000, 3));
    }
    impossible(8, Event::attempt_failed(at(5000), 3, Failure::TRANSIENT));
    impossible(8, Event::retry_scheduled(at(5000), 4, at(5000), Cause::Backoff));
    impossible(8, Event::gave_up(at(5000), 3, StopReason::Attempts, Timestamp::NEVER));
}

#[test]
fn an_event_that_contradicts_itself_is_named_by_the_number_it_should_have() {
    let mut replay = Replay::new(ReplayMode::Follow);
    let error = replay.apply(&policy(), &Event::EMPTY).unwrap_err();
    assert_eq!((error.code, error.sequence), (ErrorCode::MissingEventField, 1));
    replay.apply(&policy(), &log()[0]).unwrap();
    let damaged = Event::attempt_failed(at(0), 0, Failure::TRANSIENT).numbered(2);
    let error = replay.apply(&policy(), &damaged).unwrap_err();
    assert_eq!((error.code, error.sequence), (ErrorCode::EventDamaged, 2));
}
