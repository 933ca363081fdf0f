//! The async loop: in virtual time on a bare executor, and on tokio's paused clock.

use holdoff::builder::Retried;
use holdoff::core::{Backoff, Jitter, Options, StopReason};
use holdoff::time::AsyncSleeper;
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

/// Sets its flag when it is dropped, as an aborted attempt is.
struct Flag(Rc<Cell<u32>>);

impl Drop for Flag {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

#[test]
fn the_first_success_is_the_answer() {
    for failures in 0..3 {
        let (time, runs) = (VirtualTime::new(), Cell::new(0));
        let policy = steady().build().unwrap();
        let operation = || {
            runs.set(runs.get() + 1);
            ready(if runs.get() <= failures { Err("not yet") } else { Ok(runs.get()) })
        };
        assert_eq!(run(retry(&policy, operation).sleeper(time.clone())), Ok(failures + 1));
        assert_eq!(time.elapsed(), SECOND * failures);
    }
}

#[test]
fn an_async_closure_can_be_retried_and_its_errors_judged() {
    let stopped = run(retry(Policy::default(), async || Err::<(), _>(String::from("gone")))
        .when(|error| !error.contains("gone"))
        .sleeper(VirtualTime::new()))
    .unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::Permanent, 1));
    assert_eq!(stopped.error().map(String::as_str), Some("gone"));
}

#[test]
fn an_attempt_at_its_limit_is_dropped_and_counts_as_a_timeout() {
    let policy = steady().attempt_timeout(SECOND * 2).build().unwrap();
    let (time, dropped, seen) = (VirtualTime::new(), Rc::new(Cell::new(0)), RefCell::new(Vec::new()));
    let hang = || {
        let flag = Flag(dropped.clone());
        async move {
            let _flag = flag;
            pending::<Result<(), &str>>().await
        }
    };
    let hook = |retried: &Retried<'_, &'static str>| {
        assert_eq!(dropped.get(), retried.attempt, "dropped before the sleep");
        seen.borrow_mut().push((retried.attempt, retried.error.copied(), retried.failure));
    };
    let stopped = run(retry(&policy, hang).on_retry(hook).sleeper(time.clone())).unwrap_err();
    assert_eq!(*seen.borrow(), [(1, None, Failure::TIMEOUT), (2, None, Failure::TIMEOUT)]);
    assert_eq!((stopped.reason(), stopped.attempts(), stopped.timed_out()), (StopReason::Attempts, 3, true));
    assert_eq!((stopped.error(), dropped.get()), (None, 3));
    assert_eq!(time.elapsed(), SECOND * (2 + 1 + 2 + 1 + 2));
    assert_eq!(
        stopped.to_string(),
        "stopped after 3 attempts: all attempts are used; the last one was aborted at its limit"
    );
}

#[test]
fn an_attempt_that_sleeps_twice_within_its_limit_is_not_aborted() {
    let policy = steady().attempt_timeout(SECOND * 10).build().unwrap();
    let time = VirtualTime::new();
    let operation = async || {
        AsyncSleeper::sleep(&time, SECOND).await;
        AsyncSleeper::sleep(&time, SECOND).await;
        Ok::<_, ()>("in time")
    };
    assert_eq!(run(retry(&policy, operation).sleeper(time.clone())), Ok("in time"));
    assert_eq!(time.elapsed(), SECOND * 2);
}

#[test]
fn a_virtual_sleep_that_was_dropped_does_not_hold_up_the_others() {
    let time = VirtualTime::new();
    let mut forgotten = Box::pin(AsyncSleeper::sleep(&time, SECOND));
    assert!(forgotten.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    drop(forgotten);
    let mut long = pin!(AsyncSleeper::sleep(&time, SECOND * 5));
    let mut turn = || long.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert_eq!((turn(), turn(), time.elapsed()), (Poll::Pending, Poll::Ready(()), SECOND * 5));
}

#[test]
fn an_error_before_a_timeout_survives_it() {
    let policy = steady().attempts(2).attempt_timeout(SECOND).build().unwrap();
    let operation = |attempt: holdoff::Attempt| async move {
        if attempt.number() == 1 { Err::<(), _>("refused") } else { pending().await }
    };
    let stopped = run(retry_with(&policy, operation).sleeper(VirtualTime::new())).unwrap_err();
    assert_eq!((stopped.timed_out(), stopped.into_error()), (true, Some("refused")));
}

#[test]
fn the_deadline_aborts_the_attempt_that_reaches_it() {
    let policy = steady().deadline(SECOND * 5).build().unwrap();
    let time = VirtualTime::new();
    let stopped = run(retry(&policy, pending::<Result<(), ()>>).sleeper(time.clone())).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts(), time.elapsed()), (StopReason::Deadline, 1, SECOND * 5));
}

#[test]
fn a_soft_deadline_lets_the_attempt_that_runs_end() {
    let policy = steady().deadline(SECOND * 5).abort_at_deadline(false).build().unwrap();
    for (answer, ended) in [(Ok("late"), Ok("late")), (Err("down"), Err(StopReason::Deadline))] {
        let time = VirtualTime::new();
        let operation = || async {
            time.sleep(SECOND * 9).await;
            answer
        };
        let called = run(retry(&policy, operation).sleeper(time.clone()));
        assert_eq!((called.map_err(|stopped| stopped.reason()), time.elapsed()), (ended, SECOND * 9));
    }
}

#[test]
fn a_success_that_arrives_with_its_limit_is_a_success() {
    let policy = steady().attempt_timeout(SECOND).build().unwrap();
    let time = VirtualTime::new();
    let operation = || {
        time.advance(SECOND * 3);
        ready(Ok::<_, ()>("late"))
    };
    assert_eq!(run(retry(&policy, operation).sleeper(time.clone())), Ok("late"));
}

#[test]
fn cancelling_drops_the_running_attempt_at_once() {
    let (token, dropped) = (CancelToken::new(), Rc::new(Cell::new(0)));
    let operation = || {
        let flag = Flag(dropped.clone());
        async move {
            let _flag = flag;
            pending::<Result<(), ()>>().await
        }
    };
    let mut future = pin!(retry(Policy::default(), operation).cancel(&token).sleeper(VirtualTime::new()).into_future());
    let mut context = Context::from_waker(Waker::noop());
    assert!(future.as_mut().poll(&mut context).is_pending());
    token.cancel();
    let Poll::Ready(Err(stopped)) = future.as_mut().poll(&mut context) else { panic!("it goes on") };
    assert_eq!((stopped.reason(), stopped.attempts(), dropped.get()), (StopReason::Cancelled, 1, 1));
}

#[test]
fn an_operation_that_is_cancelled_beforehand_never_runs() {
    let token = CancelToken::new();
    token.cancel();
    let operation = || -> std::future::Ready<Result<(), ()>> { panic!("it ran") };
    let stopped = run(retry(Policy::default(), operation).cancel(&token).sleeper(VirtualTime::new())).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::Cancelled, 0));
}

#[test]
fn dropping_the_future_drops_the_attempt() {
    let dropped = Rc::new(Cell::new(0));
    {
        let operation = || {
            let flag = Flag(dropped.clone());
            async move {
                let _flag = flag;
                pending::<Result<(), ()>>().await
            }
        };
        let mut future = pin!(retry(Policy::default(), operation).sleeper(VirtualTime::new()).into_future());
        assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        assert_eq!(dropped.get(), 0);
    }
    assert_eq!(dropped.get(), 1);
}

#[test]
#[should_panic(expected = "a bug")]
fn a_panic_of_the_operation_is_its_own() {
    let operation = async || -> Result<(), ()> { panic!("a bug") };
    let _never = run(retry(Policy::default(), operation).sleeper(VirtualTime::new()));
}

#[tokio::test(start_paused = true)]
async fn another_runtime_s_timer_is_a_function() {
    let policy = steady().build().unwrap();
    let begun = tokio::time::Instant::now();
    let stopped = retry(&policy, async || Err::<(), _>("down")).sleeper(tokio::time::sleep).await;
    assert_eq!(stopped.unwrap_err().attempts(), 3);
    assert_eq!(begun.elapsed(), SECOND * 2);
}

#[tokio::test(start_paused = true)]
async fn cancelling_wakes_a_sleep_at_once() {
    let policy = Policy::options().backoff(Backoff::constant(SECOND * 600)).jitter(Jitter::None).build().unwrap();
    let token = CancelToken::new();
    let sleeping = tokio::spawn(
        retry(policy, async || Err::<(), _>("down")).cancel(&token).sleeper(tokio::time::sleep).into_future(),
    );
    let begun = tokio::time::Instant::now();
    tokio::time::sleep(SECOND).await;
    token.cancel();
    let stopped = sleeping.await.unwrap().unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts(), stopped.error()), (StopReason::Cancelled, 1, Some(&"down")));
    assert_eq!(begun.elapsed(), SECOND);
}

#[tokio::test]
async fn a_token_lets_go_of_the_operations_that_ended() {
    let token = CancelToken::new();
    let waiting = tokio::spawn(token.cancelled());
    tokio::task::yield_now().await;
    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled());
    token.cancel();
    token.cancelled().await;
}

#[cfg(feature = "tokio")]
mod with_tokio_s_timer {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn sleeps_and_limits_go_by_the_paused_clock() {
        let policy = steady().attempt_timeout(SECOND * 2).build().unwrap();
        let begun = tokio::time::Instant::now();
        let stopped = retry(&policy, pending::<Result<(), ()>>).await.unwrap_err();
        assert!(stopped.timed_out());
        assert_eq!(begun.elapsed(), SECOND * 8);
    }

    #[tokio::test(start_paused = true)]
    async fn an_operation_can_be_spawned() {
        let policy = Policy::default();
        let answer = tokio::spawn(retry(policy, async || Ok::<_, String>(1)).into_future());
        assert_eq!(answer.await.unwrap(), Ok(1));
    }

    #[tokio::test(start_paused = true)]
    async fn the_deadline_holds_across_attempts() {
        let policy = steady().forever().deadline(SECOND * 10).build().unwrap();
        let begun = tokio::time::Instant::now();
        let slow = async || {
            tokio::time::sleep(SECOND).await;
            Err::<(), _>("slow")
        };
        let stopped = retry(&policy, slow).await.unwrap_err();
        assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::Deadline, 5));
        assert_eq!(begun.elapsed(), SECOND * 9);
    }

    #[tokio::test]
    async fn the_machine_s_own_time_really_passes() {
        let policy = Policy::options().backoff(Backoff::constant(SECOND / 50)).jitter(Jitter::None).build().unwrap();
        let (begun, runs) = (std::time::Instant::now(), Cell::new(0));
        let operation = || {
            runs.set(runs.get() + 1);
            ready(if runs.get() == 1 { Err("once") } else { Ok(()) })
        };
        assert_eq!(retry(&policy, operation).await, Ok(()));
        assert!(begun.elapsed() >= SECOND / 50);
    }
}
