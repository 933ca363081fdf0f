//! Attempts of blocking operations beside each other. Events, not sleeps, say what ends when.

use holdoff::core::{BulkheadConfig, HedgeConfig, Jitter, Span, StopReason};
use holdoff::{Attempt, CancelToken, Failure, Policy, SharedGuards, testing::VirtualTime};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A hedge whose second attempt begins soon.
fn soon() -> SharedGuards {
    SharedGuards::new().with(HedgeConfig::new(Span::from_millis(1), None, 2).unwrap())
}

/// A hedge whose second attempt begins when the first one has failed.
fn late() -> SharedGuards {
    SharedGuards::new().with(HedgeConfig::new(Span::from_secs(60), None, 2).unwrap())
}

/// Waits until the call is over, if that is the first attempt.
fn wait_if_first(attempt: &Attempt) -> bool {
    attempt.number() == 1 && CancelToken::of_attempt().unwrap().wait_timeout(Duration::from_secs(30))
}

#[test]
fn the_first_success_wins_and_the_others_are_told() {
    let guards = soon().with(BulkheadConfig::new(4, 0, Span::MAX).unwrap());
    let told = Arc::new(AtomicBool::new(false));
    let (tell, attempts) = (told.clone(), Mutex::new(Vec::new()));
    let value = holdoff::retry_with(&Policy::default(), move |attempt| {
        if wait_if_first(&attempt) {
            tell.store(true, Ordering::SeqCst);
        }
        Ok::<_, ()>(attempt.number())
    })
    .guards(&guards)
    .on_attempt(|begun| attempts.lock().unwrap().push(begun.attempt))
    .call_in_threads();
    assert_eq!(value, Ok(2));
    assert_eq!(*attempts.lock().unwrap(), [1, 2]);
    while !told.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
    assert!(CancelToken::of_attempt().is_none());
    assert_eq!(guards.bulkhead().unwrap().with(|(_, bulkhead, _)| bulkhead.running()), 0);
}

#[test]
fn a_failure_starts_the_next_attempt_at_once() {
    let second = |attempt: Attempt| if attempt.number() == 1 { Err("busy") } else { Ok(attempt.number()) };
    let policy = Policy::default();
    assert_eq!(holdoff::retry_with(&policy, second).guards(late()).call_in_threads().unwrap(), 2);
    let fast = holdoff::retry_with(&policy, |attempt| Ok::<_, ()>(attempt.number()));
    assert_eq!(fast.guards(late()).call_in_threads().unwrap(), 1);
}

#[test]
fn a_permanent_failure_ends_all_attempts() {
    let stopped = holdoff::retry_with(&Policy::default(), |attempt| {
        wait_if_first(&attempt);
        Err::<(), _>(attempt.number())
    })
    .guards(soon())
    .classify(|_| Failure::PERMANENT)
    .call_in_threads()
    .unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts(), stopped.error()), (StopReason::Permanent, 2, Some(&2)));
}

#[test]
fn without_a_hedge_attempts_follow_each_other() {
    let time = VirtualTime::new();
    let policy = Policy::options().attempts(3).jitter(Jitter::None).build().unwrap();
    let stopped = holdoff::retry(&policy, || Err::<(), _>("down")).sleeper(time.clone()).call_in_threads().unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::Attempts, 3));
    assert_eq!(time.elapsed(), Duration::from_millis(300));
}

#[test]
fn a_token_ends_a_race_that_nobody_wins() {
    let token = CancelToken::new();
    let cancels = token.clone();
    let stopped = holdoff::retry_with(&Policy::default(), move |attempt| {
        if attempt.number() == 2 {
            cancels.cancel();
        }
        CancelToken::of_attempt().unwrap().wait_timeout(Duration::from_secs(30));
        Ok::<_, ()>(())
    })
    .guards(soon())
    .cancel(&token)
    .call_in_threads()
    .unwrap_err();
    assert_eq!(stopped.reason(), StopReason::Cancelled);
}

#[test]
fn values_may_fail_in_a_race_too() {
    let value = holdoff::retry_with(&Policy::default(), |attempt| Ok::<_, ()>(attempt.number()))
        .when_result(|number| (*number < 2).then_some(Failure::TRANSIENT))
        .guards(late())
        .call_in_threads();
    assert_eq!(value.unwrap(), 2);
}

#[test]
fn the_panic_of_an_attempt_comes_out() {
    let panics = || -> Result<(), ()> { panic!("of the attempt") };
    let policy = Policy::default();
    let call = || holdoff::retry(&policy, panics).guards(late()).call_in_threads();
    assert_eq!(*catch_unwind(AssertUnwindSafe(call)).unwrap_err().downcast::<&str>().unwrap(), "of the attempt");
}
