//! The switches of `holdoff::testing`, which are for the whole process: one test runs after the other.

use holdoff::core::{Backoff, Chaos, Jitter, Span, StopReason};
use holdoff::testing::{Injector, disabled, failing, limited};
use holdoff::{Policy, SharedGuards, testing::VirtualTime};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

const HOUR: Duration = Duration::from_secs(3600);

fn patient() -> Policy {
    Policy::options().attempts(5).backoff(Backoff::constant(HOUR)).jitter(Jitter::None).build().unwrap()
}

#[test]
fn disabled_leaves_one_attempt_until_it_is_dropped() {
    let _alone = alone();
    let fails = || holdoff::retry(patient(), || Err::<(), _>("down")).sleeper(VirtualTime::new()).call().unwrap_err();
    let off = disabled();
    let stopped = fails();
    assert_eq!((stopped.attempts(), stopped.reason()), (1, StopReason::Attempts));
    drop(off);
    assert_eq!(fails().attempts(), 5);
}

#[test]
fn limited_waits_no_time_and_gives_places_back() {
    let _alone = alone();
    let _limited = limited(3);
    let guards = SharedGuards::new().with(holdoff::core::BulkheadConfig::new(1, 0, Span::MAX).unwrap());
    let began = Instant::now();
    for _ in 0..2 {
        let stopped = holdoff::retry(patient(), || Err::<(), _>("down")).guards(&guards).call().unwrap_err();
        assert_eq!((stopped.attempts(), stopped.reason()), (3, StopReason::Attempts));
    }
    assert!(began.elapsed() < HOUR);
}

/// Runs a future on tokio's paused clock, where a sleep would take its time.
#[cfg(feature = "tokio")]
fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(future)
}

#[cfg(feature = "tokio")]
#[test]
fn limited_futures_wait_no_time_and_keep_the_limits_of_attempts() {
    let _alone = alone();
    let _limited = limited(2);
    run(async {
        let began = tokio::time::Instant::now();
        let policy = Policy::options().attempts(5).attempt_timeout(Duration::from_secs(60)).build().unwrap();
        let stopped = holdoff::retry(policy, || async { Err::<(), _>("down") }).await.unwrap_err();
        assert_eq!((stopped.attempts(), stopped.error()), (2, Some(&"down")));
        assert_eq!(began.elapsed(), Duration::ZERO);
    });
}

#[test]
fn an_operation_fails_as_often_as_told() {
    let _alone = alone();
    let flaky = failing(2, || "down", || Ok("page"));
    assert_eq!(holdoff::retry(patient(), flaky).sleeper(VirtualTime::new()).call(), Ok("page"));
}

#[test]
fn chaos_does_the_same_again_for_the_same_seed() {
    let outcomes = |seed| {
        let time = VirtualTime::new();
        let chaos = Chaos::new(seed, 0.3, 1.0, Span::from_millis(1), Span::from_millis(2)).unwrap();
        let chaos = Injector::new(chaos);
        let mut flaky = chaos.blocking(time.clone(), || "down", || Ok("page"));
        let seen: Vec<_> = (0..100).map(|_| flaky().is_ok()).collect();
        (seen, time.elapsed())
    };
    let (first, elapsed) = outcomes(7);
    assert_eq!((first.clone(), elapsed), outcomes(7));
    assert_ne!(first, outcomes(8).0);
    assert!((Duration::from_millis(100)..Duration::from_millis(200)).contains(&elapsed));
}

#[cfg(feature = "tokio")]
#[test]
fn chaos_holds_futures_up() {
    let _alone = alone();
    let chaos = Injector::new(Chaos::new(1, 1.0, 1.0, Span::from_millis(500), Span::from_millis(500)).unwrap());
    run(async {
        let began = tokio::time::Instant::now();
        let flaky = chaos.awaited(holdoff::time::System, || "down", || async { Ok::<_, &str>("page") });
        let policy = Policy::options().attempts(2).jitter(Jitter::None).build().unwrap();
        let stopped = holdoff::retry(policy, flaky).await.unwrap_err();
        assert_eq!((stopped.attempts(), began.elapsed().as_millis() / 100), (2, 11));
    });
}
