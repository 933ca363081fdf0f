//! Values that count as failures, blocking and async.

use holdoff::builder::Retried;
use holdoff::core::{Backoff, Cause, FailureKind, Hint, Jitter, OnDeadline, Options, Span, StopReason};
use holdoff::{CancelToken, Failure, Policy, retry, retry_with, testing::VirtualTime};
use std::cell::{Cell, RefCell};
use std::future::{pending, ready};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn steady() -> Options {
    *Policy::options().backoff(Backoff::constant(SECOND)).jitter(Jitter::None)
}

/// Polls until it is ready: virtual sleeps ask to be polled again, and nothing else waits in these tests.
fn run<F: Future>(future: impl IntoFuture<IntoFuture = F>) -> F::Output {
    let mut future = pin!(future.into_future());
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..10_000 {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
    panic!("it waits for something that never comes");
}

/// Gives these answers one after the other, an HTTP status each or an error.
fn answers<const N: usize>(
    list: [Result<u32, &'static str>; N],
) -> impl FnMut() -> Result<u32, &'static str> + Clone + use<N> {
    let mut list = list.into_iter();
    move || list.next().expect("no attempt after the last answer")
}

/// The same, as futures.
fn awaited<const N: usize>(
    list: [Result<u32, &'static str>; N],
) -> impl FnMut() -> std::future::Ready<Result<u32, &'static str>> {
    let mut next = answers(list);
    move || ready(next())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "a predicate borrows what it looks at")]
fn refused(status: &u32) -> Option<Failure> {
    Failure::from_http(*status, None)
}

/// A value that says when it is dropped.
struct Answer(u32, Rc<Cell<u32>>);

impl Drop for Answer {
    fn drop(&mut self) {
        self.1.set(self.1.get() + 1);
    }
}

#[test]
fn a_value_that_counts_as_a_failure_is_retried() {
    let list = [Ok(503), Ok(503), Ok(200)];
    let (time, policy) = (VirtualTime::new(), steady().build().unwrap());
    assert_eq!(retry(&policy, answers(list)).when_result(refused).sleeper(time.clone()).call(), Ok(200));
    assert_eq!(run(retry(&policy, awaited(list)).when_result(refused).sleeper(time.clone())), Ok(200));
    assert_eq!(time.elapsed(), SECOND * 4);
}

#[test]
fn without_the_predicate_every_value_is_a_success() {
    assert_eq!(retry(Policy::default(), answers([Ok(503)])).call(), Ok(503));
    assert_eq!(run(retry(Policy::default(), awaited([Ok(503)])).sleeper(VirtualTime::new())), Ok(503));
}

#[test]
fn when_all_attempts_are_used_the_last_value_comes_out() {
    let list = [Ok(500), Ok(502), Ok(503)];
    let (time, policy) = (VirtualTime::new(), steady().build().unwrap());
    assert_eq!(retry(&policy, answers(list)).when_result(refused).sleeper(time.clone()).call(), Ok(503));
    assert_eq!(run(retry(&policy, awaited(list)).when_result(refused).sleeper(time.clone())), Ok(503));
    assert_eq!(time.elapsed(), SECOND * 4);
}

#[test]
fn at_the_deadline_the_last_value_comes_out() {
    let list = [Ok(500), Ok(502), Ok(503)];
    let policy = steady().forever().deadline(SECOND * 3).build().unwrap();
    let time = VirtualTime::new();
    assert_eq!(retry(&policy, answers(list)).when_result(refused).sleeper(time.clone()).call(), Ok(503));
    assert_eq!(time.elapsed(), SECOND * 2);
    assert_eq!(run(retry(&policy, awaited(list)).when_result(refused).sleeper(time.clone())), Ok(503));
    assert_eq!(time.elapsed(), SECOND * 4);
}

#[test]
fn a_sleep_that_ends_after_the_deadline_leaves_the_value_from_before_it() {
    let policy = steady().deadline(SECOND * 3).on_deadline(OnDeadline::Stop).build().unwrap();
    let time = VirtualTime::new();
    let oversleeps = |retried: &Retried<'_, &str>| {
        assert_eq!(retried.delay, SECOND);
        time.advance(SECOND * 9);
    };
    let operation = retry(&policy, answers([Ok(503)])).when_result(refused).on_retry(oversleeps);
    assert_eq!(operation.sleeper(time.clone()).call(), Ok(503));
    let operation = retry(&policy, awaited([Ok(503)])).when_result(refused).on_retry(oversleeps);
    assert_eq!(run(operation.sleeper(time.clone())), Ok(503));
}

#[test]
fn a_permanent_value_comes_out_at_once() {
    let permanent = |_: &u32| Some(Failure::PERMANENT);
    let time = VirtualTime::new();
    let policy = Policy::default();
    assert_eq!(retry(policy, answers([Ok(404)])).when_result(permanent).sleeper(time.clone()).call(), Ok(404));
    assert_eq!(run(retry(policy, awaited([Ok(404)])).when_result(permanent).sleeper(time.clone())), Ok(404));
    assert_eq!(time.elapsed(), Duration::ZERO);
}

#[test]
fn the_hint_of_a_value_is_obeyed() {
    let hinted = |status: &u32| Failure::from_http(*status, Some(b"7"));
    let (time, policy) = (VirtualTime::new(), steady().build().unwrap());
    let list = [Ok(429), Ok(200)];
    assert_eq!(retry(&policy, answers(list)).when_result(hinted).sleeper(time.clone()).call(), Ok(200));
    assert_eq!(time.elapsed(), SECOND * 7);
    assert_eq!(run(retry(&policy, awaited(list)).when_result(hinted).sleeper(time.clone())), Ok(200));
    assert_eq!(time.elapsed(), SECOND * 14);
}

#[test]
fn a_value_whose_hint_is_longer_than_the_policy_waits_comes_out() {
    let far = |_: &u32| Some(Failure::THROTTLED.with_hint(Hint::after(Span::from_secs(3600))));
    let time = VirtualTime::new();
    let policy = Policy::default();
    assert_eq!(retry(policy, answers([Ok(429)])).when_result(far).sleeper(time.clone()).call(), Ok(429));
    assert_eq!(run(retry(policy, awaited([Ok(429)])).when_result(far).sleeper(time.clone())), Ok(429));
    assert_eq!(time.elapsed(), Duration::ZERO);
}

#[test]
fn the_kind_of_a_value_chooses_its_backoff() {
    let slow = Backoff::constant(SECOND * 30);
    let policy = steady().backoff_after(FailureKind::Throttled, slow).build().unwrap();
    let time = VirtualTime::new();
    let list = [Ok(503), Ok(429), Ok(200)];
    let kind = |status: &u32| match status {
        429 => Some(Failure::THROTTLED),
        500.. => Some(Failure::TRANSIENT),
        _ => None,
    };
    assert_eq!(retry(&policy, answers(list)).when_result(kind).sleeper(time.clone()).call(), Ok(200));
    assert_eq!(time.elapsed(), SECOND * 31);
}

#[test]
fn values_and_errors_count_together_and_the_last_one_comes_out() {
    let policy = steady().build().unwrap();
    let ends_with_a_value = [Ok(503), Err("reset"), Ok(502)];
    let answer = retry(&policy, answers(ends_with_a_value)).when_result(refused).sleeper(VirtualTime::new()).call();
    assert_eq!(answer, Ok(502));
    let answer = run(retry(&policy, awaited(ends_with_a_value)).when_result(refused).sleeper(VirtualTime::new()));
    assert_eq!(answer, Ok(502));

    let ends_with_an_error = [Err("reset"), Ok(503), Err("refused")];
    let blocking = retry(&policy, answers(ends_with_an_error)).when_result(refused).sleeper(VirtualTime::new()).call();
    let stopped = run(retry(&policy, awaited(ends_with_an_error)).when_result(refused).sleeper(VirtualTime::new()));
    assert_eq!(blocking, stopped);
    let stopped = stopped.unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::Attempts, 3));
    assert_eq!(stopped.into_error(), Some("refused"));
}

#[test]
fn errors_are_judged_as_ever_and_values_are_not_shown_to_their_predicate() {
    let seen = RefCell::new(Vec::new());
    let policy = steady().build().unwrap();
    let list = [Ok(503), Err("gone")];
    let when = |error: &&'static str| {
        seen.borrow_mut().push(*error);
        *error != "gone"
    };
    let blocking = retry(&policy, answers(list)).when_result(refused).when(when).sleeper(VirtualTime::new()).call();
    let awaiting = run(retry(&policy, awaited(list)).when(when).when_result(refused).sleeper(VirtualTime::new()));
    assert_eq!(blocking, awaiting);
    assert_eq!(blocking.unwrap_err().reason(), StopReason::Permanent);
    assert_eq!(*seen.borrow(), ["gone", "gone"]);
}

#[test]
fn the_hook_is_told_what_a_value_was_taken_for_and_no_error() {
    let seen = RefCell::new(Vec::new());
    let hook = |retried: &Retried<'_, &'static str>| {
        seen.borrow_mut().push((retried.attempt, retried.error.copied(), retried.failure, retried.cause));
    };
    let policy = steady().attempts(4).build().unwrap();
    let list = [Err("reset"), Ok(429), Ok(503), Ok(200)];
    assert_eq!(
        retry(&policy, answers(list)).when_result(refused).on_retry(hook).sleeper(VirtualTime::new()).call(),
        Ok(200)
    );
    let expected = [
        (1, Some("reset"), Failure::TRANSIENT, Cause::Backoff),
        (2, None, Failure::THROTTLED, Cause::Backoff),
        (3, None, refused(&503).unwrap(), Cause::Backoff),
    ];
    assert_eq!(*seen.borrow(), expected);
    seen.borrow_mut().clear();
    let awaiting = retry(&policy, awaited(list)).on_retry(hook).when_result(refused).sleeper(VirtualTime::new());
    assert_eq!(run(awaiting), Ok(200));
    assert_eq!(*seen.borrow(), expected);
}

#[test]
fn cancelling_after_a_value_stops_without_it() {
    let policy = steady().build().unwrap();
    let list = [Err("reset"), Ok(503)];
    let token = CancelToken::new();
    let cancels_second = |retried: &Retried<'_, &'static str>| {
        if retried.attempt == 2 {
            token.cancel();
        }
    };
    let operation = retry(&policy, answers(list)).when_result(refused).on_retry(cancels_second).cancel(&token);
    let blocking = operation.sleeper(VirtualTime::new()).call().unwrap_err();
    assert_eq!((blocking.reason(), blocking.attempts()), (StopReason::Cancelled, 2));
    assert_eq!(blocking.error(), Some(&"reset"));

    let token = CancelToken::new();
    let operation = retry(&policy, awaited(list)).when_result(refused).on_retry(|retried| {
        if retried.attempt == 2 {
            token.cancel();
        }
    });
    let awaiting = run(operation.cancel(&token).sleeper(VirtualTime::new())).unwrap_err();
    assert_eq!(awaiting.error(), Some(&"reset"));
    assert_eq!((awaiting.reason(), awaiting.attempts()), (StopReason::Cancelled, 2));
}

#[test]
fn a_value_that_comes_after_the_cancel_ends_it_by_what_it_is() {
    for (status, ended) in [(200, Ok(200)), (503, Err(StopReason::Cancelled))] {
        let token = CancelToken::new();
        let operation = || {
            token.cancel();
            Ok::<_, ()>(status)
        };
        let blocking = retry(Policy::default(), operation).when_result(refused).cancel(&token).call();
        assert_eq!(blocking.map_err(|stopped| stopped.reason()), ended);

        let token = CancelToken::new();
        let operation = || {
            token.cancel();
            ready(Ok::<_, ()>(status))
        };
        let awaiting = retry(Policy::default(), operation).when_result(refused).cancel(&token);
        assert_eq!(run(awaiting.sleeper(VirtualTime::new())).map_err(|stopped| stopped.reason()), ended);
    }
}

#[test]
fn an_attempt_aborted_after_a_value_is_a_timeout_without_it() {
    let policy = steady().attempts(2).attempt_timeout(SECOND * 2).build().unwrap();
    let operation = |attempt: holdoff::Attempt| async move {
        if attempt.number() == 1 { Ok::<_, &str>(503) } else { pending().await }
    };
    let stopped = run(retry_with(&policy, operation).when_result(refused).sleeper(VirtualTime::new())).unwrap_err();
    assert_eq!((stopped.reason(), stopped.timed_out(), stopped.error()), (StopReason::Attempts, true, None));
}

#[test]
fn a_value_is_held_during_the_sleep_and_dropped_before_the_next_attempt() {
    let dropped = Rc::new(Cell::new(0));
    let policy = steady().build().unwrap();
    let attempt = |attempt: holdoff::Attempt| {
        assert_eq!(dropped.get(), attempt.number() - 1);
        Ok::<_, ()>(Answer(attempt.number(), dropped.clone()))
    };
    let never = |_: &Answer| Some(Failure::TRANSIENT);
    // The value of the attempt that the hook is told about still lives.
    let held = |retried: &Retried<'_, ()>| assert_eq!(dropped.get(), retried.attempt - 1);
    let last =
        retry_with(&policy, attempt).when_result(never).on_retry(held).sleeper(VirtualTime::new()).call().unwrap();
    assert_eq!((last.0, dropped.get()), (3, 2));
    drop(last);
    dropped.set(0);
    let last = retry_with(&policy, |number| ready(attempt(number))).when_result(never).on_retry(held);
    let last = run(last.sleeper(VirtualTime::new())).unwrap();
    assert_eq!((last.0, dropped.get()), (3, 2));
}

#[test]
fn a_cancelled_future_lets_go_of_the_value_it_held() {
    let (dropped, token) = (Rc::new(Cell::new(0)), CancelToken::new());
    let operation = || ready(Ok::<_, ()>(Answer(503, dropped.clone())));
    let retrying = retry(Policy::default(), operation).when_result(|answer| refused(&answer.0)).cancel(&token);
    let mut future = pin!(retrying.on_retry(|_| token.cancel()).sleeper(VirtualTime::new()).into_future());
    let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(polled, Poll::Ready(Err(stopped)) if stopped.reason() == StopReason::Cancelled));
    assert_eq!(dropped.get(), 1);
}

#[test]
fn a_second_predicate_is_asked_about_what_the_first_lets_pass() {
    let asked = RefCell::new(Vec::new());
    let second = |status: &u32| {
        asked.borrow_mut().push(*status);
        (*status == 202).then_some(Failure::TRANSIENT)
    };
    let policy = steady().attempts(2).build().unwrap();
    for (list, last) in [([Ok(503), Ok(202)], 202), ([Ok(202), Ok(503)], 503), ([Ok(202), Ok(200)], 200)] {
        let operation = retry(&policy, answers(list)).when_result(refused).when_result(second);
        assert_eq!(operation.sleeper(VirtualTime::new()).call(), Ok(last));
    }
    assert_eq!(*asked.borrow(), [202, 202, 202, 200]);
}

#[test]
fn the_predicate_may_keep_count() {
    let mut polls = 0;
    let pending = |_: &&str| {
        polls += 1;
        (polls < 3).then_some(Failure::TRANSIENT)
    };
    let answer = retry(steady().build().unwrap(), || Ok::<_, ()>("queued")).when_result(pending);
    assert_eq!(answer.sleeper(VirtualTime::new()).call(), Ok("queued"));
    assert_eq!(polls, 3);
}

#[test]
fn a_seed_repeats_the_delays_whether_an_error_or_a_value_failed() {
    let policy = Policy::options().attempts(4).build().unwrap();
    let delays = |list: [Result<u32, &'static str>; 4]| {
        let mut delays = Vec::new();
        let hook = |retried: &Retried<'_, &'static str>| delays.push(retried.delay);
        let operation = retry(&policy, answers(list)).when_result(|_| Some(Failure::TRANSIENT)).on_retry(hook);
        let _last = operation.seed(7).sleeper(VirtualTime::new()).call();
        delays
    };
    assert_eq!(delays([Ok(503); 4]), delays([Err("reset"); 4]));
}

#[tokio::test(start_paused = true)]
async fn an_operation_with_a_predicate_can_be_spawned() {
    let policy = steady().build().unwrap();
    let operation = retry(policy, async || Ok::<_, String>(String::from("unavailable")))
        .when_result(|text| text.contains("unavailable").then_some(Failure::TRANSIENT))
        .sleeper(tokio::time::sleep);
    assert_eq!(tokio::spawn(operation.into_future()).await.unwrap().unwrap(), "unavailable");
}
