//! The blocking loop, in virtual time but for the one test that proves the real sleep.

use holdoff::builder::Retried;
use holdoff::core::{Backoff, Cause, DelayFrom, Facts, Hint, HintReader, Jitter, Options, Schedule, Span, StopReason};
use holdoff::{Attempt, CancelToken, Failure, Policy, SharedPolicy, retry, retry_with, testing::VirtualTime};
use std::cell::{Cell, RefCell};
use std::error::Error as _;
use std::io;
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

fn steady() -> Options {
    *Policy::options().backoff(Backoff::constant(SECOND)).jitter(Jitter::None)
}

/// An operation that fails so many times, and counts.
fn failing<'a>(times: u32, runs: &'a Cell<u32>) -> impl FnMut() -> Result<u32, String> + 'a {
    move || {
        runs.set(runs.get() + 1);
        if runs.get() <= times { Err(format!("failure {}", runs.get())) } else { Ok(runs.get()) }
    }
}

#[test]
fn the_first_success_is_the_answer() {
    for (failures, seconds) in [(0, 0), (1, 1), (2, 2)] {
        let (time, runs) = (VirtualTime::new(), Cell::new(0));
        let policy = steady().build().unwrap();
        let answer = retry(&policy, failing(failures, &runs)).sleeper(time.clone()).call();
        assert_eq!(answer, Ok(failures + 1));
        assert_eq!(time.elapsed(), SECOND * seconds);
    }
}

#[test]
fn when_all_attempts_are_used_the_last_error_comes_out() {
    let runs = Cell::new(0);
    let stopped = retry(&steady().build().unwrap(), failing(9, &runs)).sleeper(VirtualTime::new()).call().unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts(), runs.get()), (StopReason::Attempts, 3, 3));
    assert_eq!(stopped.to_string(), "stopped after 3 attempts: all attempts are used: failure 3");
    assert_eq!(stopped.retry_at(), None);
    assert_eq!(stopped.into_error().as_deref(), Some("failure 3"));
}

#[test]
fn an_error_that_the_predicate_refuses_is_not_retried() {
    let runs = Cell::new(0);
    let stopped = retry(Policy::default(), failing(9, &runs))
        .when(|error| !error.ends_with('2'))
        .sleeper(VirtualTime::new())
        .call()
        .unwrap_err();
    assert_eq!((stopped.reason(), runs.get()), (StopReason::Permanent, 2));
}

#[test]
fn a_predicate_leaves_the_rest_to_the_classifier_before_it() {
    let hint = Failure::THROTTLED.with_hint(Hint::after(Span::from_secs(9)));
    let (time, runs) = (VirtualTime::new(), Cell::new(0));
    let answer = retry(steady().build().unwrap(), failing(1, &runs))
        .classify(|_| hint)
        .when(|_| true)
        .sleeper(time.clone())
        .call();
    assert_eq!((answer, time.elapsed()), (Ok(2), SECOND * 9));
}

#[test]
fn the_hook_sees_each_failure_before_its_sleep() {
    let (time, runs, seen) = (VirtualTime::new(), Cell::new(0), RefCell::new(Vec::new()));
    let clock = time.clone();
    let hook = |retried: &Retried<'_, String>| {
        let error = retried.error.cloned();
        seen.borrow_mut().push((
            retried.attempt,
            error,
            retried.failure,
            retried.delay,
            retried.cause,
            clock.elapsed(),
        ));
    };
    retry(steady().build().unwrap(), failing(2, &runs)).on_retry(hook).sleeper(time).call().unwrap();
    let row = |n: u32| {
        let error = Some(format!("failure {n}"));
        (n, error, Failure::TRANSIENT, SECOND, Cause::Backoff, SECOND * (n - 1))
    };
    assert_eq!(*seen.borrow(), [row(1), row(2)]);
}

#[test]
fn a_seed_repeats_the_delays_of_the_schedule() {
    let policy = Policy::options().attempts(6).build().unwrap();
    let (runs, delays) = (Cell::new(0), RefCell::new(Vec::new()));
    let stopped = retry(&policy, failing(9, &runs))
        .seed(7)
        .on_retry(|retried| delays.borrow_mut().push(retried.delay))
        .sleeper(VirtualTime::new())
        .call();
    assert!(stopped.is_err());
    let expected: Vec<_> = Schedule::new(&policy, 7).map(Span::as_duration).collect();
    assert_eq!(*delays.borrow(), expected);
}

#[test]
fn a_sleep_that_would_pass_the_deadline_is_not_begun() {
    let policy = steady().forever().deadline(SECOND * 5).build().unwrap();
    let (time, runs) = (VirtualTime::new(), Cell::new(0));
    let stopped = retry(&policy, failing(99, &runs)).sleeper(time.clone()).call().unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts(), time.elapsed()), (StopReason::Deadline, 5, SECOND * 4));
    assert_eq!(stopped.retry_in(), Some(SECOND));
}

#[test]
fn time_spent_in_the_first_attempt_counts_against_the_deadline() {
    let policy = steady().deadline(SECOND * 5).build().unwrap();
    let time = VirtualTime::new();
    let clock = time.clone();
    let slow = || {
        clock.advance(SECOND * 6);
        Err::<(), _>("slow")
    };
    let stopped = retry(&policy, slow).sleeper(time).call().unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::Deadline, 1));
}

#[test]
fn delays_and_deadlines_from_the_start_count_the_first_attempt() {
    let from_start = *steady().delay_from(DelayFrom::Start);
    let reset = *steady().deadline(SECOND * 5).reset_after(SECOND * 5);
    for (mut options, taken, ended) in [(from_start, 1_u32, Ok(())), (reset, 4, Err(StopReason::Deadline))] {
        let (policy, time) =
            (options.attempts(3).backoff(Backoff::constant(SECOND * 2)).build().unwrap(), VirtualTime::new());
        let called = retry_with(&policy, |attempt: Attempt| {
            time.advance(SECOND * if attempt.number() == 1 { taken } else { 0 });
            if attempt.number() == 1 { Err("down") } else { Ok(()) }
        });
        let ending = called.sleeper(time.clone()).call().map_err(|stopped| stopped.reason());
        assert_eq!((ending, time.elapsed()), (ended, SECOND * taken.max(2)));
    }
}

#[test]
fn an_attempt_is_told_its_number_and_the_time_it_has() {
    let policy = steady().attempts(3).deadline(SECOND * 5).attempt_timeout(SECOND * 4).build().unwrap();
    let seen = RefCell::new(Vec::new());
    let stopped = retry_with(&policy, |attempt| {
        seen.borrow_mut().push((
            attempt.number(),
            attempt.time_left().unwrap(),
            attempt.abort_at().unwrap().as_nanos(),
        ));
        Err::<(), _>("no")
    })
    .sleeper(VirtualTime::new())
    .call();
    assert!(stopped.is_err());
    let at = |n: u32, left: u32, abort: u64| (n, SECOND * left, abort * 1_000_000_000);
    assert_eq!(*seen.borrow(), [at(1, 4, 4), at(2, 4, 5), at(3, 3, 5)]);
}

#[test]
fn without_a_limit_an_attempt_has_all_the_time() {
    let attempt = retry_with(Policy::default(), Ok::<_, ()>).call().unwrap();
    assert_eq!((attempt.number(), attempt.time_left(), attempt.abort_at()), (1, None, None));
}

#[test]
fn a_hint_beyond_what_the_policy_waits_says_when_to_come_back() {
    let stopped = retry(Policy::default(), || Err::<(), _>("busy"))
        .classify(|_| Failure::from_http(429, Some(b"3600")).unwrap())
        .sleeper(VirtualTime::new())
        .call()
        .unwrap_err();
    assert_eq!((stopped.reason(), stopped.retry_in()), (StopReason::Hint, Some(SECOND * 3600)));
}

#[test]
fn an_operation_that_is_cancelled_beforehand_never_runs() {
    let (token, runs) = (CancelToken::new(), Cell::new(0));
    token.cancel();
    let stopped = retry(Policy::default(), failing(0, &runs)).cancel(&token).call().unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts(), runs.get()), (StopReason::Cancelled, 0, 0));
    assert_eq!(stopped.to_string(), "stopped after 0 attempts: the operation was cancelled");
}

#[test]
fn cancelling_during_an_attempt_keeps_its_error_and_sleeps_no_more() {
    let (token, time) = (CancelToken::new(), VirtualTime::new());
    let stopped = retry(Policy::default(), || {
        token.cancel();
        Err::<(), _>("interrupted")
    })
    .cancel(&token)
    .sleeper(time.clone())
    .call()
    .unwrap_err();
    assert_eq!(
        (stopped.reason(), stopped.attempts(), stopped.error()),
        (StopReason::Cancelled, 1, Some(&"interrupted"))
    );
    assert_eq!(time.elapsed(), Duration::ZERO);
}

#[test]
fn a_hook_that_cancels_prevents_the_sleep() {
    let (token, time) = (CancelToken::new(), VirtualTime::new());
    let operation = retry(steady().build().unwrap(), || Err::<(), _>("down"));
    let stopped = operation.cancel(&token).on_retry(|_| token.cancel()).sleeper(time.clone()).call().unwrap_err();
    assert_eq!((stopped.reason(), time.elapsed()), (StopReason::Cancelled, Duration::ZERO));
}

#[test]
fn a_success_of_a_cancelled_operation_is_a_success() {
    let token = CancelToken::new();
    let answer = retry(Policy::default(), || {
        token.cancel();
        Ok::<_, ()>(1)
    });
    assert_eq!(answer.cancel(&token).call(), Ok(1));
}

#[test]
fn cancelling_from_another_thread_ends_a_real_sleep_at_once() {
    let policy = Policy::options().backoff(Backoff::constant(SECOND * 3600)).jitter(Jitter::None).build().unwrap();
    let token = CancelToken::new();
    let stopped = std::thread::scope(|scope| {
        let canceller = token.clone();
        // The hook runs just before the sleep, so the cancel finds it asleep or about to be.
        retry(&policy, || Err::<(), _>("down"))
            .cancel(&token)
            .on_retry(|_| {
                let canceller = canceller.clone();
                scope.spawn(move || canceller.cancel());
            })
            .call()
            .unwrap_err()
    });
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::Cancelled, 1));
}

#[test]
fn the_machine_s_own_time_really_passes() {
    let policy = Policy::options().backoff(Backoff::constant(SECOND / 50)).jitter(Jitter::None).build().unwrap();
    let (begun, runs) = (Instant::now(), Cell::new(0));
    assert_eq!(retry(&policy, failing(1, &runs)).call(), Ok(2));
    assert!(begun.elapsed() >= SECOND / 50);
}

#[test]
fn a_function_can_be_the_sleeper() {
    let (slept, runs) = (Cell::new(Duration::ZERO), Cell::new(0));
    let sleeper = |delay| slept.set(slept.get() + delay);
    assert_eq!(retry(steady().build().unwrap(), failing(2, &runs)).sleeper(sleeper).call(), Ok(3));
    assert_eq!(slept.get(), SECOND * 2);
}

#[test]
fn a_panic_of_the_operation_is_its_own() {
    let runs = Cell::new(0);
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        retry(Policy::default(), || -> Result<(), ()> {
            runs.set(runs.get() + 1);
            if runs.get() == 2 { panic!("a bug") } else { Err(()) }
        })
        .sleeper(VirtualTime::new())
        .call()
    }));
    assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"a bug"));
    assert_eq!(runs.get(), 2);
}

#[test]
fn an_i_o_error_passes_through_a_question_mark() {
    fn read() -> io::Result<()> {
        let missing = || Err(io::Error::from(io::ErrorKind::NotFound));
        Ok(retry(Policy::default(), missing).classify(holdoff::classify::io_failure).call()?)
    }
    assert_eq!(read().unwrap_err().kind(), io::ErrorKind::NotFound);
}

#[test]
fn a_reader_that_was_cancelled_is_not_read_again() {
    struct Reader(CancelToken, Cell<u32>);
    impl io::Read for Reader {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            self.1.set(self.1.get() + 1);
            assert_eq!(self.1.get(), 1, "the kind of the error asked for another read");
            Ok(retry(Policy::default(), || Ok::<_, io::Error>(0)).cancel(&self.0).call()?)
        }
    }
    let token = CancelToken::new();
    token.cancel();
    let error = io::Read::read_to_end(&mut Reader(token, Cell::new(0)), &mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "the operation was cancelled");
}

#[test]
fn the_error_is_the_source_of_the_outcome() {
    let stopped =
        retry(Policy::default(), || Err::<(), _>(io::Error::other("disk"))).sleeper(VirtualTime::new()).call();
    assert_eq!(stopped.unwrap_err().source().unwrap().to_string(), "disk");
}

#[test]
fn a_limit_that_ends_after_the_last_instant_is_none() {
    let time = VirtualTime::new();
    time.advance(Duration::MAX);
    time.advance(Duration::MAX);
    let policy = steady().attempts(2).attempt_timeout(SECOND * 60).build().unwrap();
    let seen = RefCell::new(Vec::new());
    let stopped = retry_with(&policy, |attempt| {
        seen.borrow_mut().push((attempt.time_left(), attempt.abort_at()));
        Err::<(), _>("late")
    });
    assert!(stopped.sleeper(time).call().is_err());
    assert_eq!(*seen.borrow(), [(None, None), (None, None)]);
}

#[test]
fn the_loop_survives_times_at_the_end_of_the_clock() {
    let time = VirtualTime::new();
    time.advance(Duration::MAX);
    time.advance(Duration::MAX);
    time.advance(Duration::MAX);
    let policy = steady().attempts(3).deadline(Duration::MAX).attempt_timeout(Duration::MAX).build().unwrap();
    let stopped = retry(&policy, || Err::<(), _>("late")).sleeper(time).call().unwrap_err();
    assert_eq!(stopped.error(), Some(&"late"));
}

#[test]
fn a_deadline_alone_lets_a_call_retry_until_it_is_over() {
    let policy = Policy::options().deadline(Duration::from_secs(300)).build().unwrap();
    let (shared, time) = (SharedPolicy::new(policy), VirtualTime::new());
    let stopped = shared.retry(|| Err::<(), _>("down")).sleeper(time.clone()).seed(7).call().unwrap_err();
    assert_eq!(stopped.reason(), StopReason::Deadline);
    assert!(time.elapsed() > Duration::from_secs(290), "{:?}", time.elapsed());
}

#[test]
fn an_operation_that_may_not_run_twice_does_so_only_if_it_was_never_sent() {
    let policy = Policy::default();
    let attempts = |failure: Failure, unsent| {
        let facts = move |_: &&str| Facts { idempotent: false, unsent, ..Facts::NONE };
        let sentence = retry(&policy, || Err::<(), _>("error")).classify(move |_| failure).facts(facts);
        sentence.sleeper(VirtualTime::new()).call().unwrap_err().attempts()
    };
    assert_eq!([attempts(Failure::TIMEOUT, false), attempts(Failure::TRANSIENT, false)], [1, 1]);
    assert_eq!([attempts(Failure::TIMEOUT, true), attempts(Failure::THROTTLED, false)], [3, 3]);
}

#[test]
fn a_server_may_forbid_retries_and_ask_for_them() {
    let attempts = |status, advice: &[u8]| {
        let mut answer = HintReader::new(u64::MAX);
        answer.header(b"X-Should-Retry", advice);
        let failure = answer.failure(status).unwrap();
        let sentence = retry(Policy::default(), || Err::<(), _>(status)).classify(move |_| failure);
        sentence.sleeper(VirtualTime::new()).call().unwrap_err().attempts()
    };
    assert_eq!([attempts(429, b"false"), attempts(503, b"false"), attempts(404, b"true")], [1, 1, 3]);
    assert_eq!([attempts(429, b"perhaps"), attempts(404, b"perhaps")], [3, 1]);
}
