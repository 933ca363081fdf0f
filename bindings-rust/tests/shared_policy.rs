//! The budget that the calls of a shared policy have together.

use holdoff::core::{Backoff, Jitter, Options, StopReason, Value};
use holdoff::{Failure, Policy, SharedPolicy, testing::VirtualTime};
use std::cell::Cell;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Three attempts, a millisecond apart.
fn policy() -> Policy {
    let pause = Backoff::constant(Duration::from_millis(1));
    Policy::options().backoff(pause).jitter(Jitter::None).build().unwrap()
}

/// A call that fails at every attempt: how many it made, and its end as text.
fn fails(shared: &SharedPolicy, key: &'static str, failure: Failure, time: &VirtualTime) -> (u32, String) {
    let stopped =
        shared.retry(|| Err::<(), _>("down")).key(key).classify(|_| failure).sleeper(time.clone()).call().unwrap_err();
    assert_eq!(stopped.shortage().is_some(), stopped.reason() == StopReason::Budget);
    (stopped.attempts(), stopped.to_string())
}

/// The attempts of calls one after the other; the grace ends after the first one.
fn in_a_row(shared: &SharedPolicy, failure: Failure, time: &VirtualTime, calls: usize) -> Vec<u32> {
    let call = |index| {
        let made = fails(shared, "", failure, time).0;
        time.advance(if index == 0 { SECOND } else { Duration::ZERO });
        made
    };
    (0..calls).map(call).collect()
}

#[test]
fn ten_calls_in_a_row_that_fail_fast_get_all_attempts() {
    let (shared, time) = (SharedPolicy::new(policy()), VirtualTime::new());
    assert_eq!(in_a_row(&shared, Failure::TRANSIENT, &time, 12), [&[3; 10][..], &[1; 2]].concat());
    let text = fails(&shared, "", Failure::TRANSIENT, &time).1;
    let expected = "stopped after 1 attempt: the budget for retries is spent (19.9 of 20 tokens; a retry costs 1, there are \
        enough again in 33s; a larger `budget` allows more): down";
    assert_eq!(text, expected);
}

#[test]
fn one_call_that_times_out_gets_all_attempts() {
    let (shared, time) = (SharedPolicy::new(policy()), VirtualTime::new());
    assert_eq!(in_a_row(&shared, Failure::TIMEOUT, &time, 3), [3, 1, 1]);
    assert!(fails(&shared, "", Failure::TIMEOUT, &time).1.contains("a retry costs 10, there are enough again in 333s"));
}

#[test]
fn the_error_names_the_key_of_a_spent_budget() {
    let (shared, time) = (SharedPolicy::new(policy()), VirtualTime::new());
    fails(&shared, "https://a:443", Failure::TIMEOUT, &time);
    time.advance(SECOND);
    let text = fails(&shared, "https://a:443", Failure::TIMEOUT, &time).1;
    assert!(text.contains("(19.9 of 20 tokens for \"https://a:443\"; a retry costs 10, "), "{text}");
}

/// A look at the balance is by the clock of the calls, and gives nothing back.
#[test]
fn a_look_at_the_balance_changes_nothing() {
    let ended = |looks: bool| {
        let (shared, time) = (SharedPolicy::new(policy()), VirtualTime::new());
        let spent = (0..200).filter(|_| {
            if looks {
                let (before, again) = (shared.balance("").unwrap(), shared.balance("").unwrap());
                assert_eq!(before, again);
                assert!(shared.balance("another").unwrap() >= before);
            }
            time.advance(Duration::from_millis(20));
            fails(&shared, "", Failure::TRANSIENT, &time).1.contains("budget")
        });
        (spent.count(), shared.balance("").unwrap())
    };
    assert_eq!(ended(true), ended(false));
    assert!(ended(false).0 > 0);
}

#[test]
fn a_spent_budget_fills_with_time_and_with_successes() {
    let (shared, time) = (SharedPolicy::new(policy()), VirtualTime::new());
    in_a_row(&shared, Failure::TRANSIENT, &time, 11);
    time.advance(SECOND * 34);
    assert_eq!(fails(&shared, "", Failure::TRANSIENT, &time).0, 2);
    assert!(shared.retry(|| Ok::<_, ()>(())).sleeper(time.clone()).call().is_ok());
    assert_eq!(fails(&shared, "", Failure::TRANSIENT, &time).0, 2);
    time.advance(SECOND * 700);
    assert_eq!(in_a_row(&shared, Failure::TRANSIENT, &time, 10), [3; 10]);
}

#[test]
fn a_call_that_began_before_a_refusal_has_no_grace() {
    let time = VirtualTime::new();
    let mut one = Options::NEW;
    one.set("budget", Value::Number { value: 1.0, unit: f64::NAN }).unwrap();
    let shared = SharedPolicy::of(policy(), &one);
    let call = || fails(&shared, "", Failure::TRANSIENT, &time).0;
    let mut made = 0;
    let stopped = shared
        .retry(|| {
            made += 1;
            // The budget refuses another call, is full again, and is in a new grace.
            assert_eq!(call(), 3);
            time.advance(SECOND);
            assert_eq!(call(), 1);
            assert!(shared.retry(|| Ok::<_, ()>(())).sleeper(time.clone()).call().is_ok());
            assert_eq!(call(), 3);
            Err::<(), _>("down")
        })
        .sleeper(time.clone())
        .call()
        .unwrap_err();
    assert_eq!((made, stopped.reason()), (1, StopReason::Budget));
}

#[test]
fn a_retry_that_succeeds_is_free() {
    let (shared, time) = (SharedPolicy::new(policy()), VirtualTime::new());
    for _ in 0..200 {
        let failures = Cell::new(1);
        let answer = shared.retry(|| if failures.replace(0) > 0 { Err("once") } else { Ok(()) }).sleeper(time.clone());
        assert_eq!(answer.call(), Ok(()));
        time.advance(SECOND);
    }
    assert_eq!(fails(&shared, "", Failure::TRANSIENT, &time).0, 3);
}

#[test]
fn each_key_has_a_budget_of_its_own() {
    let (shared, time) = (SharedPolicy::new(policy()), VirtualTime::new());
    while fails(&shared, "https://a:443", Failure::TIMEOUT, &time).0 > 1 {
        time.advance(SECOND);
    }
    assert_eq!(fails(&shared, "https://b:443", Failure::TIMEOUT, &time).0, 3);
    assert_eq!(fails(&shared, "", Failure::TIMEOUT, &time).0, 3);
    assert_eq!(fails(&shared, "https://a:443", Failure::TIMEOUT, &time).0, 1);
    assert!(shared.balance("https://c:443").is_some_and(|tokens| tokens == 20.0));
}

#[test]
fn a_policy_that_names_a_budget_gets_none() {
    let mut none = Options::NEW;
    none.set("budget", Value::Text("none")).unwrap();
    let time = VirtualTime::new();
    for shared in [SharedPolicy::of(policy(), &none), SharedPolicy::without_budget(policy())] {
        assert!((0..100).all(|_| fails(&shared, "", Failure::TIMEOUT, &time).0 == 3));
        assert_eq!(shared.balance(""), None);
    }
    let shared = SharedPolicy::of(policy(), &Options::NEW);
    assert_eq!(in_a_row(&shared, Failure::TIMEOUT, &time, 2), [3, 1]);
}

#[test]
#[cfg(feature = "serde")]
fn a_preset_has_none_unless_one_is_named() {
    let preset = |document: &str| {
        let mut input = serde_json::Deserializer::from_str(document);
        let document = holdoff::core::Document::read(&mut input).unwrap();
        SharedPolicy::of(document.policy, &document.guards).balance("")
    };
    assert_eq!(preset(r#"{"preset": "kubernetes"}"#), None);
    assert_eq!(preset(r#"{"preset": "kubernetes", "budget": "default"}"#), Some(20.0));
    assert_eq!(preset(r#"{"preset": "default", "budget": 1000}"#), Some(1000.0));
}

#[cfg(feature = "tokio")]
mod awaited {
    use super::*;
    use std::future::pending;

    /// A call whose attempts are aborted at their limit: how many it made.
    async fn hangs(shared: &SharedPolicy) -> u32 {
        shared.retry(pending::<Result<(), ()>>).await.unwrap_err().attempts()
    }

    #[tokio::test(start_paused = true)]
    async fn one_awaited_call_that_times_out_gets_all_attempts() {
        let policy = Policy::options()
            .attempt_timeout(Duration::from_millis(1))
            .backoff(Backoff::constant(Duration::ZERO))
            .build()
            .unwrap();
        let shared = SharedPolicy::new(policy);
        let mut made = vec![hangs(&shared).await];
        tokio::time::advance(SECOND).await;
        for _ in 0..2 {
            made.push(hangs(&shared).await);
        }
        assert_eq!(made, [3, 1, 1]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_over_a_short_outage_loses_no_call() {
        let policy = Policy::options().attempts(5).jitter(Jitter::None).build().unwrap();
        for failure in [Failure::TRANSIENT, Failure::TIMEOUT] {
            let (shared, begun) = (SharedPolicy::new(policy), tokio::time::Instant::now());
            let up_at = begun + Duration::from_millis(150);
            let call = async || if tokio::time::Instant::now() < up_at { Err("down") } else { Ok(()) };
            let mut calls: Vec<_> = (0..1000)
                .map(|_| Box::pin(IntoFuture::into_future(shared.retry(call).classify(move |_| failure))))
                .collect();
            let all = std::future::poll_fn(|context| {
                calls.retain_mut(|call| match call.as_mut().poll(context) {
                    std::task::Poll::Ready(answer) => {
                        assert_eq!(answer, Ok(()));
                        false
                    }
                    std::task::Poll::Pending => true,
                });
                if calls.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
            });
            all.await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_is_dropped_asleep_gives_its_token_back() {
        let policy = Policy::options().backoff(Backoff::constant(SECOND)).jitter(Jitter::None).build().unwrap();
        let shared = SharedPolicy::new(policy);
        for _ in 0..100 {
            let call = shared.retry(async || Err::<(), _>("down"));
            assert!(tokio::time::timeout(Duration::from_millis(1), IntoFuture::into_future(call)).await.is_err());
        }
        assert_eq!(shared.balance(""), Some(20.0));
    }
}
