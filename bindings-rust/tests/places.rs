//! An attempt is gone before its place in a bulkhead is free again: two are never alive where one may run.
#![cfg(feature = "tokio")]

use holdoff::core::{BulkheadConfig, HedgeConfig, Span};
use holdoff::{CancelToken, Failure, Policy, SharedGuards};
use std::cell::Cell;
use std::future::pending;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

fn once() -> Policy {
    Policy::options().attempts(1).build().unwrap()
}

fn places(count: u32) -> SharedGuards {
    SharedGuards::new().with_bulkhead(BulkheadConfig::new(count, 8, Span::from_secs(9)).unwrap())
}

fn running(guards: &SharedGuards) -> u32 {
    guards.bulkhead().unwrap().with(|_, places| places.bulkhead.running())
}

/// A connection: when it closes, the bulkhead has to count it yet.
struct Connection {
    guards: SharedGuards,
    open: Rc<Cell<u32>>,
}

impl Connection {
    fn open(guards: &SharedGuards, open: &Rc<Cell<u32>>) -> Self {
        open.set(open.get() + 1);
        Self { guards: guards.clone(), open: Rc::clone(open) }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        assert!(running(&self.guards) >= self.open.get(), "a place was free while its attempt was alive");
        self.open.set(self.open.get() - 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_cancelled_or_late_ends_its_attempt_first() {
    let (guards, open) = (places(1), Rc::default());
    let hangs = async || {
        let _connection = Connection::open(&guards, &open);
        pending::<Result<(), &str>>().await
    };
    assert!(timeout(Duration::from_secs(1), holdoff::retry(once(), hangs).guards(&guards)).await.is_err());
    assert_eq!((open.get(), running(&guards)), (0, 0));

    let token = CancelToken::new();
    let cancels = async {
        sleep(Duration::from_secs(1)).await;
        token.cancel();
    };
    let (stopped, ()) = tokio::join!(holdoff::retry(once(), hangs).guards(&guards).cancel(&token), cancels);
    assert!(stopped.is_err());
    assert_eq!((open.get(), running(&guards)), (0, 0));

    let late = Policy::options().attempts(2).attempt_timeout(Duration::from_secs(1)).build().unwrap();
    assert!(holdoff::retry(late, hangs).guards(&guards).await.unwrap_err().timed_out());
    assert_eq!((open.get(), running(&guards)), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn attempts_that_lose_to_a_hedge_end_before_their_places_are_free() {
    let policy = Policy::options().attempts(2).build().unwrap();
    for failure in [None, Some(Failure::PERMANENT)] {
        let guards = places(2).with_hedge(HedgeConfig::new(Span::from_secs(1), None, 2).unwrap());
        let open = Rc::default();
        let answer = holdoff::retry_with(policy, async |attempt| {
            let _connection = Connection::open(&guards, &open);
            match attempt.number() {
                1 => pending().await,
                _ => failure.map_or(Ok(()), Err),
            }
        })
        .classify(|failure| *failure)
        .guards(&guards)
        .await;
        assert_eq!(answer.is_err(), failure.is_some());
        assert_eq!((open.get(), running(&guards)), (0, 0));
    }
}
