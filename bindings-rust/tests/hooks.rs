//! What the hooks of a call are told, and when.

use holdoff::core::{Backoff, BreakerConfig, Cause, Hint, Jitter, Span, StopReason};
use holdoff::time::Sleeper;
use holdoff::{CancelToken, Failure, Policy, SharedGuards, testing::VirtualTime};
use std::cell::RefCell;
use std::time::Duration;

fn policy(attempts: u32) -> Policy {
    let backoff = Backoff::constant(Duration::from_secs(1));
    Policy::options().attempts(attempts).backoff(backoff).jitter(Jitter::None).build().unwrap()
}

/// Fails so many times, a tenth of a second each.
fn failing(times: u32, time: &VirtualTime) -> impl FnMut() -> Result<u32, &'static str> + use<'_> {
    let mut calls = 0;
    move || {
        Sleeper::sleep(time, Duration::from_millis(100), None);
        calls += 1;
        if calls <= times { Err("down") } else { Ok(calls) }
    }
}

/// The sentence with all hooks, which write to `told`.
macro_rules! listening {
    ($retrying:expr, $told:ident) => {
        $retrying
            .on_attempt(|event| {
                assert!(event.operation.contains("failing"), "{}", event.operation);
                $told.borrow_mut().push(format!("attempt {} at {:?}", event.attempt, event.elapsed));
            })
            .on_retry(|event| {
                assert_eq!((event.failure, event.cause), (Failure::TRANSIENT, Cause::Backoff));
                $told.borrow_mut().push(format!(
                    "retry {} at {:?} in {:?}: {}",
                    event.attempt,
                    event.elapsed,
                    event.delay,
                    event.error.unwrap()
                ));
            })
            .on_success(|event| {
                $told.borrow_mut().push(format!("success {} at {:?}", event.attempt, event.elapsed));
            })
            .on_give_up(|event| {
                $told.borrow_mut().push(format!(
                    "gave up {} at {:?}: {}, {:?}, {:?}",
                    event.attempt,
                    event.elapsed,
                    event.reason.name(),
                    event.error,
                    event.failure.map(|failure| failure.kind)
                ));
            })
    };
}

const TWICE: [&str; 4] = ["attempt 1 at 0ns", "retry 1 at 100ms in 1s: down", "attempt 2 at 1.1s", "success 2 at 1.2s"];

#[test]
fn all_hooks_are_told_in_their_order() {
    let (time, told) = (VirtualTime::new(), RefCell::new(Vec::new()));
    let retrying = holdoff::retry(policy(3), failing(1, &time)).sleeper(time.clone());
    assert_eq!(listening!(retrying, told).call(), Ok(2));
    assert_eq!(*told.borrow(), TWICE);

    told.borrow_mut().clear();
    let retrying = holdoff::retry(policy(2), failing(9, &time)).sleeper(time.clone());
    assert!(listening!(retrying, told).call().is_err());
    assert_eq!(
        told.borrow()[2..],
        ["attempt 2 at 1.1s", "gave up 2 at 1.2s: attempts, Some(\"down\"), Some(Transient)"]
    );
}

#[tokio::test]
async fn all_hooks_of_a_future_are_told_in_their_order() {
    let (time, told) = (VirtualTime::new(), RefCell::new(Vec::new()));
    let mut attempt = failing(1, &time);
    let retrying = holdoff::retry(policy(3), || std::future::ready(attempt())).sleeper(time.clone());
    // The operation is a closure here.
    let retrying = retrying
        .on_attempt(|event| told.borrow_mut().push(format!("attempt {} at {:?}", event.attempt, event.elapsed)))
        .on_success(|event| told.borrow_mut().push(format!("success {} at {:?}", event.attempt, event.elapsed)));
    assert_eq!(retrying.await, Ok(2));
    assert_eq!(*told.borrow(), [TWICE[0], TWICE[2], TWICE[3]]);
}

#[test]
fn a_guard_that_refuses_is_told_as_giving_up() {
    let (time, told) = (VirtualTime::new(), RefCell::new(Vec::new()));
    let open = Duration::from_secs(5).into();
    let guards = SharedGuards::new().with(BreakerConfig::consecutive(1, open).unwrap());
    for _ in 0..2 {
        let retrying = holdoff::retry(policy(1), failing(9, &time)).sleeper(time.clone());
        let retrying = retrying.on_give_up(|event| {
            told.borrow_mut().push((event.attempt, event.reason, event.retry_in, event.failure.is_some()));
        });
        assert!(retrying.guards(&guards).call().is_err());
    }
    let refused = (0, StopReason::Breaker, Some(Duration::from_secs(5)), false);
    assert_eq!(*told.borrow(), [(1, StopReason::Attempts, None, true), refused]);
}

#[test]
fn a_call_that_is_cancelled_at_once_is_told_too() {
    let (token, told) = (CancelToken::new(), RefCell::new(Vec::new()));
    token.cancel();
    let time = VirtualTime::new();
    let retrying = holdoff::retry(policy(1), failing(0, &time)).sleeper(time.clone()).cancel(&token);
    let ended = retrying.on_give_up(|event| told.borrow_mut().push((event.attempt, event.reason))).call();
    assert!(ended.is_err());
    assert_eq!(*told.borrow(), [(0, StopReason::Cancelled)]);
}

#[test]
fn a_chosen_delay_replaces_the_policys_and_the_hints() {
    let answers =
        [Some(Hint::after(Span::from_secs(7))), None, Some(Hint::after(Span::from_secs(300))), Some(Hint::NEVER)];
    let (asked, told) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()));
    let time = VirtualTime::new();
    let hinted = Failure::THROTTLED.with_hint(Hint::after(Span::from_secs(2)));
    let stopped = holdoff::retry(policy(9), || Err::<(), _>("busy"))
        .classify(|_| hinted)
        .delay(|failed| {
            asked.borrow_mut().push((failed.attempt, failed.elapsed.as_secs(), *failed.error.unwrap()));
            assert_eq!(failed.failure, hinted);
            answers[failed.attempt as usize - 1]
        })
        .on_retry(|event| told.borrow_mut().push((event.delay.as_secs(), event.cause)))
        .sleeper(time)
        .call()
        .unwrap_err();
    assert_eq!((stopped.attempts(), stopped.reason()), (4, StopReason::Permanent));
    // The third answer is above the longest hint, which bounds servers alone.
    assert_eq!(*told.borrow(), [(7, Cause::Hint), (2, Cause::Hint), (300, Cause::Hint)]);
    assert_eq!(*asked.borrow(), [(1, 0, "busy"), (2, 7, "busy"), (3, 9, "busy"), (4, 309, "busy")]);
    let permanent = holdoff::retry(policy(9), || Err::<(), _>("no"))
        .classify(|_| Failure::PERMANENT)
        .delay(|_| unreachable!("a permanent failure has no delay"))
        .call();
    assert_eq!(permanent.unwrap_err().attempts(), 1);
}

#[test]
fn an_operation_has_the_name_that_it_is_given() {
    let time = VirtualTime::new();
    let told = RefCell::new(Vec::new());
    let stopped = holdoff::retry(&policy(2), failing(9, &time))
        .name("load")
        .sleeper(time.clone())
        .on_attempt(|event| told.borrow_mut().push(event.operation))
        .on_retry(|event| told.borrow_mut().push(event.operation))
        .on_give_up(|event| told.borrow_mut().push(event.operation))
        .call();
    assert!(stopped.is_err());
    assert_eq!(*told.borrow(), ["load"; 4]);
}
