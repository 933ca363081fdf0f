//! A store of guards by key loses no guard that is in use, whatever keys a stranger chooses.

use holdoff::core::{BreakerConfig, BulkheadConfig, Span, Timestamp};
use holdoff::guard::{KeyedGuards, Shared};
use holdoff::{Policy, SharedGuards, testing::VirtualTime};
use std::cell::Cell;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

fn of_one() -> SharedGuards {
    let breaker = BreakerConfig::consecutive(1, Span::from_secs(1)).unwrap();
    SharedGuards::new().with(breaker).with(BulkheadConfig::new(1, 0, Span::ZERO).unwrap())
}

/// A call that runs until its attempt ends.
type Call = Pin<Box<dyn Future<Output = ()>>>;

/// An attempt that ends when it is told to.
#[derive(Clone, Default)]
struct Attempt(Arc<Mutex<Option<bool>>>);

impl Future for Attempt {
    type Output = Result<(), &'static str>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        match *self.0.lock().unwrap() {
            None => Poll::Pending,
            Some(true) => Poll::Ready(Ok(())),
            Some(false) => Poll::Ready(Err("down")),
        }
    }
}

async fn ended<T>(call: impl Future<Output = T>) {
    call.await;
}

/// Calls of ten times more keys than room, each running until a later input ends it.
#[test]
fn no_breaker_closes_early_and_no_bulkhead_is_exceeded() {
    let policy = Policy::options().attempts(1).build().unwrap();
    let context = &mut Context::from_waker(Waker::noop());
    for seed in 0..50 {
        let (time, hosts) = (VirtualTime::new(), KeyedGuards::new(8, Duration::MAX, of_one));
        let mut draws = (0..).map(|k| holdoff::core::seed_at(seed, k));
        let mut draw = |below: u64| draws.next().unwrap() % below;
        let (mut closed_at, mut running, mut now) = ([0; 80], Vec::new(), 0);
        for _ in 0..400 {
            let gap = draw(200);
            now += gap;
            time.advance(Duration::from_millis(gap));
            if draw(2) == 0 && !running.is_empty() {
                let (key, attempt, mut call): (usize, Attempt, Call) =
                    running.swap_remove(draw(running.len() as u64) as usize);
                let succeeds = draw(2) == 0;
                *attempt.0.lock().unwrap() = Some(succeeds);
                assert!(call.as_mut().poll(context).is_ready());
                if !succeeds {
                    closed_at[key] = now + 1000;
                }
                continue;
            }
            let (key, attempt, begun) = (draw(80) as usize, Attempt::default(), Rc::new(Cell::new(false)));
            let (inside, ends) = (Rc::clone(&begun), attempt.clone());
            let call = holdoff::retry(policy, move || {
                inside.set(true);
                ends.clone()
            });
            let mut call: Call = Box::pin(ended(call.guards(hosts.of(key)).sleeper(time.clone()).into_future()));
            assert_eq!(call.as_mut().poll(context).is_pending(), begun.get());
            assert!(hosts.len() <= 8);
            if begun.get() {
                assert!(now >= closed_at[key], "seed {seed}: the breaker of {key} closed early");
                assert!(running.iter().all(|(other, ..)| *other != key), "seed {seed}: two calls of {key}");
                running.push((key, attempt, call));
            }
        }
    }
}

#[test]
fn a_set_that_a_program_holds_is_kept() {
    let hosts = KeyedGuards::new(2, Duration::MAX, of_one);
    let same = |one: &SharedGuards, other: &SharedGuards| {
        one.bulkhead().unwrap().with(|(_, bulkhead, _)| *bulkhead = holdoff::core::Bulkhead::new());
        one.bulkhead().unwrap().with(|(config, bulkhead, words)| _ = bulkhead.enter(config, words));
        let running = other.bulkhead().unwrap().with(|(_, bulkhead, _)| bulkhead.running());
        one.bulkhead().unwrap().with(|(_, bulkhead, _)| bulkhead.leave());
        running == 1
    };
    let held = hosts.of("held");
    for key in ["a", "b", "c", "d"] {
        hosts.of(key);
    }
    assert!(same(&held, &hosts.of("held")));
    let also = hosts.of("d");
    // Neither is at rest: further keys share a set.
    assert!(same(&hosts.of("one"), &hosts.of("two")));
    drop(also);
    assert!(!same(&hosts.of("one"), &hosts.of("held")));
    assert_eq!(hosts.len(), 2);
}

#[test]
fn a_guard_that_all_keys_share_keeps_no_set() {
    let config = BulkheadConfig::new(1, 0, Span::ZERO).unwrap();
    let all = Shared::new(config);
    all.with(|(config, bulkhead, words)| _ = bulkhead.enter(config, words));
    let breaker = BreakerConfig::consecutive(1, Span::from_secs(1)).unwrap();
    let hosts = KeyedGuards::new(2, Duration::MAX, move || SharedGuards::new().with_shared(&all).with(breaker));
    let opens = |key: u32| {
        hosts.of(key).breaker().unwrap().with(|(_, breaker)| breaker.isolate(Timestamp::ZERO));
    };
    let is_closed = |key: u32| {
        hosts.of(key).breaker().unwrap().with(|(config, breaker)| breaker.is_at_rest(config, Timestamp::ZERO))
    };
    (0..9).for_each(|key| assert!(is_closed(key)));
    // Two keys in use, and all others share a set.
    [0, 1, 2].into_iter().for_each(opens);
    assert!((3..9).all(|key| !is_closed(key)));
}
