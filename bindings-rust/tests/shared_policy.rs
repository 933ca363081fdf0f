//! The budget that the calls of a shared policy have together.

use holdoff::core::{Backoff, Jitter, Options, StopReason, Value};
use holdoff::{Failure, Policy, SharedPolicy, VirtualTime};
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

#[test]
fn thirty_calls_in_a_row_that_fail_fast_get_all_attempts() {
    let (shared, time) = (SharedPolicy::new(policy()), VirtualTime::new());
    for _ in 0..30 {
        assert_eq!(fails(&shared, "", Failure::TRANSIENT, &time).0, 3);
    }
    let (attempts, text) = fails(&shared, "", Failure::TRANSIENT, &time);
    let expected = "stopped after 1 attempt: the budget for retries is spent (59.9 of 60 tokens; a retry costs 1, there are \
        enough again in 10s): down";
    assert_eq!((attempts, text.as_str()), (1, expected));
}

#[test]
fn six_calls_that_time_out_get_all_attempts() {
    let (shared, time) = (SharedPolicy::new(policy()), VirtualTime::new());
    let made: Vec<_> = (0..8).map(|_| fails(&shared, "", Failure::TIMEOUT, &time).0).collect();
    assert_eq!(made, [3, 3, 3, 3, 3, 3, 1, 1]);
    assert!(fails(&shared, "", Failure::TIMEOUT, &time).1.contains("a retry costs 5, there are enough again in 50s"));
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
    let spend = || while fails(&shared, "", Failure::TRANSIENT, &time).0 > 1 {};
    spend();
    time.advance(SECOND * 10);
    assert_eq!(fails(&shared, "", Failure::TRANSIENT, &time).0, 2);
    for _ in 0..10 {
        assert!(shared.retry(|| Ok::<_, ()>(())).sleeper(time.clone()).call().is_ok());
    }
    assert_eq!(fails(&shared, "", Failure::TRANSIENT, &time).0, 2);
    time.advance(SECOND * 600);
    assert_eq!((0..30).map(|_| fails(&shared, "", Failure::TRANSIENT, &time).0).sum::<u32>(), 90);
}

#[test]
fn a_retry_that_succeeds_is_free() {
    let (shared, time) = (SharedPolicy::new(policy()), VirtualTime::new());
    for _ in 0..200 {
        let failures = Cell::new(1);
        let answer = shared.retry(|| if failures.replace(0) > 0 { Err("once") } else { Ok(()) }).sleeper(time.clone());
        assert_eq!(answer.call(), Ok(()));
    }
    assert_eq!(fails(&shared, "", Failure::TRANSIENT, &time).0, 3);
}

#[test]
fn each_key_has_a_budget_of_its_own() {
    let (shared, time) = (SharedPolicy::new(policy()), VirtualTime::new());
    while fails(&shared, "https://a:443", Failure::TIMEOUT, &time).0 > 1 {}
    assert_eq!(fails(&shared, "https://b:443", Failure::TIMEOUT, &time).0, 3);
    assert_eq!(fails(&shared, "", Failure::TIMEOUT, &time).0, 3);
    assert_eq!(fails(&shared, "https://a:443", Failure::TIMEOUT, &time).0, 1);
    assert!(shared.balance("https://c:443").is_some_and(|tokens| tokens == 60.0));
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
    assert!(!(0..100).all(|_| fails(&shared, "", Failure::TIMEOUT, &time).0 == 3));
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
    async fn six_awaited_calls_that_time_out_get_all_attempts() {
        let policy = Policy::options()
            .attempt_timeout(Duration::from_millis(1))
            .backoff(Backoff::constant(Duration::ZERO))
            .build()
            .unwrap();
        let shared = SharedPolicy::new(policy);
        let mut made = Vec::new();
        for _ in 0..8 {
            made.push(hangs(&shared).await);
        }
        assert_eq!(made, [3, 3, 3, 3, 3, 3, 1, 1]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_is_dropped_asleep_gives_its_token_back() {
        let policy = Policy::options().backoff(Backoff::constant(SECOND)).jitter(Jitter::None).build().unwrap();
        let shared = SharedPolicy::new(policy);
        for _ in 0..100 {
            let call = shared.retry(async || Err::<(), _>("down"));
            assert!(tokio::time::timeout(Duration::from_millis(1), IntoFuture::into_future(call)).await.is_err());
        }
        assert_eq!(shared.balance(""), Some(60.0));
    }
}
