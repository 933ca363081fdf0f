//! Calls that share guards, on virtual time and from many threads.

use holdoff::core::{
    Backoff, BreakerState, BudgetConfig, BulkheadConfig, Field, Jitter, LimiterConfig, Options, Refusal, Span,
    StopReason, Timestamp, Value,
};
use holdoff::{CancelToken, Policy, SharedGuards, testing::VirtualTime};
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

fn policy() -> Policy {
    let backoff = Backoff::constant(SECOND);
    Policy::options().backoff(backoff).jitter(Jitter::None).attempts(4).build().unwrap()
}

fn breaker(failures: u32) -> SharedGuards {
    let options = Options::NEW.with_field(Field::BreakerFailures, failures);
    SharedGuards::of(&options.unwrap(), 7).unwrap()
}

#[test]
fn an_open_breaker_refuses_a_call_before_it_begins() {
    let (guards, time) = (breaker(2), VirtualTime::new());
    let run = |operation: &mut dyn FnMut() -> Result<u32, &'static str>| {
        holdoff::retry(policy(), operation).sleeper(time.clone()).guards(&guards).call()
    };
    let stopped = run(&mut || Err("down")).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts(), stopped.error()), (StopReason::Breaker, 2, Some(&"down")));
    let refused = run(&mut || unreachable!("refused")).unwrap_err();
    assert_eq!((refused.reason(), refused.attempts(), refused.error()), (StopReason::Breaker, 0, None));
    assert_eq!(refused.retry_in(), Some(Duration::from_secs(30)));
    time.advance(Duration::from_secs(30));
    assert_eq!(run(&mut || Ok(7)), Ok(7));
}

/// Controls of a guard take the time of its calls, whatever the system's clock says.
#[test]
fn controls_of_a_breaker_are_of_the_calls_clock() {
    let options = Options::NEW.with_field(Field::BreakerFailures, 1).unwrap();
    let options = options.with_field(Field::BreakerOpenFor, "10s").unwrap();
    type Control = fn(&SharedGuards);
    let controls: [Control; 4] = [
        |_| (),
        |guards| _ = guards.breaker().unwrap().state(),
        |guards| {
            guards.breaker().unwrap().isolate();
            guards.breaker().unwrap().reset();
        },
        |guards| guards.breaker().unwrap().force_close(),
    ];
    for control in controls {
        let (guards, time) = (SharedGuards::of(&options, 7).unwrap(), VirtualTime::new());
        let run = |answer: Result<u32, &'static str>| {
            let policy = policy().with_attempts(1);
            holdoff::retry(policy, || answer).sleeper(time.clone()).guards(&guards).call()
        };
        control(&guards);
        assert!(run(Err("down")).is_err());
        assert_eq!(guards.breaker().unwrap().state(), BreakerState::Open);
        time.advance(11 * SECOND);
        assert_eq!(run(Ok(7)), Ok(7));
        assert_eq!(guards.breaker().unwrap().state(), BreakerState::Closed);
    }
}

#[test]
fn a_budget_that_two_sets_share_is_one_budget() {
    let first = SharedGuards::new().with(BudgetConfig::token(2, [1; 3], 0.0, 0.0).unwrap());
    let second = breaker(50).with_shared(first.budget().unwrap());
    let attempts = |guards: &SharedGuards| {
        let down = || Err::<(), _>("down");
        holdoff::retry(policy(), down).sleeper(VirtualTime::new()).guards(guards).call().unwrap_err().attempts()
    };
    assert_eq!([attempts(&first), attempts(&second)], [3, 1]);
    assert_eq!(first.budget().unwrap().balance(), 0.0);
}

#[test]
fn what_a_call_holds_comes_back_when_its_operation_panics() {
    let guards = SharedGuards::new().with(BulkheadConfig::new(1, 0, Span::ZERO).unwrap());
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = holdoff::retry(policy(), || -> Result<(), ()> { panic!("oh") }).guards(&guards).call();
    }));
    assert!(panicked.is_err());
    assert_eq!(guards.bulkhead().unwrap().with(|(_, bulkhead, _)| bulkhead.running()), 0);
}

#[test]
fn the_guards_of_a_document_are_made_from_it() {
    let mut options = Options::NEW.with_field(Field::BreakerFailures, 1).unwrap();
    options.set("hedge", Value::Text("10ms")).unwrap();
    let guards = SharedGuards::of(&options, 7).unwrap();
    assert!(guards.budget().is_none());
    let time = VirtualTime::new();
    let run = || holdoff::retry(policy(), || Err::<(), _>(())).sleeper(time.clone()).guards(&guards).call();
    assert_eq!([run(), run()].map(|stopped| stopped.unwrap_err().attempts()), [1, 0]);
}

#[test]
fn guards_are_saved_and_taken_up_elsewhere() {
    let (there, here, time) = (breaker(2), breaker(2), VirtualTime::new());
    let down = || Err::<(), _>("down");
    holdoff::retry(policy(), down).sleeper(time.clone()).guards(&there).call().unwrap_err();
    let saved = there.save(Timestamp::from_nanos(time.elapsed().as_nanos() as u64));
    let now = Timestamp::from_nanos(5_000_000_000);
    here.restore(saved.iter().map(|(name, bytes)| (*name, bytes)), now).unwrap();
    let state = here.breaker().unwrap().with(|(config, breaker)| (breaker.state(config, now), breaker.retry_at()));
    assert_eq!(state, (BreakerState::Open, Timestamp::from_nanos(35_000_000_000)));
    assert_eq!(here.restore([("breaker", b"none of it")], now).unwrap_err().0, "breaker");
}

#[test]
fn a_limit_that_is_waited_for_spreads_the_attempts_of_many_calls() {
    let limit = LimiterConfig::gcra(1, Span::from_secs(2), 1).unwrap();
    let guards = SharedGuards::new().with(limit.with_refusal(Refusal::Wait));
    let time = VirtualTime::new();
    for _ in 0..5 {
        holdoff::retry(policy(), || Ok::<_, ()>(())).sleeper(time.clone()).guards(&guards).call().unwrap();
    }
    assert_eq!(time.elapsed(), Duration::from_secs(8));
}

#[test]
fn eight_threads_leave_the_guards_as_they_found_them() {
    const CALLS: u32 = 300;
    let observed = Options::NEW
        .with_field(Field::BreakerKind, "count")
        .and_then(|options| options.with_field(Field::BreakerMinCalls, 1))
        .and_then(|options| options.with_field(Field::BreakerFailureRate, 1.0))
        .and_then(|options| options.with_field(Field::BreakerMode, "observe"));
    let guards = SharedGuards::of(&observed.unwrap(), 7)
        .unwrap()
        .with(BulkheadConfig::new(3, 64, Span::from_secs(60)).unwrap())
        .with(BudgetConfig::share(0.5, 2).unwrap());
    let (running, most, ended) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0));
    let quick = Policy::options().backoff(Backoff::constant(Duration::ZERO)).jitter(Jitter::None).build().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (guards, running, most, ended) = (&guards, &running, &most, &ended);
            scope.spawn(move || {
                for call in 0..CALLS {
                    let attempts = Cell::new(0);
                    let answer = holdoff::retry(&quick, || {
                        most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        std::thread::yield_now();
                        running.fetch_sub(1, Ordering::SeqCst);
                        attempts.set(attempts.get() + 1);
                        if (call + thread) % 3 == 0 && attempts.get() == 1 { Err(()) } else { Ok(()) }
                    })
                    .guards(guards)
                    .call();
                    ended.fetch_add(1, Ordering::SeqCst);
                    if let Err(stopped) = answer {
                        // A full queue is one of 64 places given since that of the first, who may be slow to come (spec 25.2).
                        assert!(matches!(stopped.reason(), StopReason::Budget | StopReason::Bulkhead));
                    }
                }
            });
        }
    });
    assert_eq!(ended.load(Ordering::SeqCst), 8 * CALLS);
    assert!(most.load(Ordering::SeqCst) <= 3);
    let left = guards.bulkhead().unwrap().with(|(_, bulkhead, _)| (bulkhead.running(), bulkhead.waiting()));
    assert_eq!(left, (0, 0));
    assert_eq!(guards.budget().unwrap().balance(), 2.0);
}

/// The integration test of smithy-rs (retries-with-client-rate-limiting.rs, jitter pinned to its upper end): a script of answers
/// for two operations in a row, and how long each takes.
#[test]
fn adaptive_mode_waits_as_long_as_smithys() {
    use holdoff::core::FailureKind;
    use holdoff::{Failure, core::Preset};
    use {FailureKind::Throttled, FailureKind::Transient};
    let backoff = Backoff::exponential(Duration::from_millis(25), 2.0).max(SECOND * 20);
    let throttled = Backoff::exponential(SECOND, 2.0).max(SECOND * 20);
    let policy =
        *Policy::options().backoff(backoff).backoff_after(Throttled, throttled).jitter(Jitter::None).attempts(4);
    let policy = policy.build().unwrap();
    let run = |script: &[&[FailureKind]]| {
        let (guards, time) = (SharedGuards::of(&Preset::AwsAdaptive.guards(), 0).unwrap(), VirtualTime::new());
        let ends = script.iter().map(|failures| {
            let mut failures = failures.iter();
            let _ = holdoff::retry(policy, || failures.next().map_or(Ok(()), |kind| Err(*kind)))
                .classify(|kind| Failure::new(*kind))
                .sleeper(time.clone())
                .guards(&guards)
                .call();
            time.elapsed().as_millis()
        });
        ends.collect::<Vec<_>>()
    };
    assert_eq!(run(&[&[Transient; 2], &[Transient], &[Transient; 4]]), [75, 100, 275]);
    let throttled = run(&[&[Throttled; 2], &[Transient]]);
    assert_eq!(throttled[0], 4000);
    assert!((5000..=5300).contains(&throttled[1]), "{throttled:?}");
}

#[test]
fn a_million_keys_leave_no_more_than_there_may_be() {
    let made = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&made);
    let hosts = holdoff::guard::KeyedGuards::new(1000, Duration::MAX, move || {
        count.fetch_add(1, Ordering::SeqCst);
        SharedGuards::new()
    });
    (0..1_000_000).for_each(|host| drop(hosts.of(host)));
    hosts.of(999_999);
    // And one to see what all sets have in common.
    assert_eq!((hosts.len(), made.load(Ordering::SeqCst)), (1000, 1_000_001));
}

#[test]
fn a_call_that_waits_for_a_place_is_called_off_at_once() {
    let guards = SharedGuards::new().with(BulkheadConfig::new(1, 1, Span::MAX).unwrap());
    let (token, entered) = (CancelToken::new(), Arc::new(Mutex::new(())));
    let held = entered.lock().unwrap();
    std::thread::scope(|scope| {
        let inside = Arc::clone(&entered);
        let set = &guards;
        scope.spawn(move || {
            let wait = || inside.lock().map(drop).map_err(|_| ());
            holdoff::retry(policy(), wait).guards(set).call().unwrap();
        });
        let places = guards.bulkhead().unwrap();
        while places.with(|(_, bulkhead, _)| bulkhead.running()) == 0 {
            std::thread::yield_now();
        }
        let waiting =
            scope.spawn(|| holdoff::retry(policy(), || Ok::<_, ()>(())).cancel(&token).guards(&guards).call());
        while places.with(|(_, bulkhead, _)| bulkhead.waiting()) == 0 {
            std::thread::yield_now();
        }
        token.cancel();
        assert_eq!(waiting.join().unwrap().unwrap_err().reason(), StopReason::Cancelled);
        assert_eq!(places.with(|(_, bulkhead, _)| bulkhead.waiting()), 0);
        drop(held);
    });
}

/// A breaker that one failure opens for a while, whose callers wait.
fn patient(open_for: &str) -> SharedGuards {
    let options = Options::NEW.with_field(Field::BreakerFailures, 1).unwrap();
    let options = options.with_field(Field::BreakerOpenFor, open_for).unwrap();
    SharedGuards::of(&options.with_field(Field::BreakerRefusal, "wait").unwrap(), 7).unwrap()
}

fn once() -> Policy {
    Policy::options().attempts(1).build().unwrap()
}

#[test]
fn threads_behind_a_probe_go_on_as_soon_as_it_has_come_back() {
    let guards = patient("2s");
    holdoff::retry(once(), || Err::<(), _>("down")).guards(&guards).call().unwrap_err();
    let (probe, begun, started) = (Mutex::new(()), AtomicU32::new(0), Instant::now());
    let held = probe.lock().unwrap();
    let tries = || {
        begun.fetch_add(1, Ordering::SeqCst);
        probe.lock().map(drop).map_err(|_| ())
    };
    std::thread::scope(|scope| {
        let tried = scope.spawn(|| holdoff::retry(policy(), tries).guards(&guards).call());
        while begun.load(Ordering::SeqCst) == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        let call = || holdoff::retry(policy(), || Ok::<_, ()>(())).guards(&guards).call();
        let behind: Vec<_> = (0..3).map(|_| scope.spawn(call)).collect();
        std::thread::sleep(Duration::from_millis(50));
        assert!(behind.iter().all(|thread| !thread.is_finished()));
        drop(held);
        tried.join().unwrap().unwrap();
        behind.into_iter().for_each(|thread| thread.join().unwrap().unwrap());
    });
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
}

#[cfg(feature = "tokio")]
mod awaited {
    use super::*;
    use holdoff::core::HedgeConfig;
    use tokio::time::{Instant, sleep};

    fn hedged(delay_ms: u64, attempts: u32) -> SharedGuards {
        SharedGuards::new().with(HedgeConfig::new(Span::from_millis(delay_ms), None, attempts).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn the_attempt_beside_a_slow_one_wins_and_the_slow_one_is_dropped() {
        struct Dropped<'a>(&'a Cell<u32>);
        impl Drop for Dropped<'_> {
            fn drop(&mut self) {
                self.0.set(self.0.get() + 1);
            }
        }
        let (started, dropped) = (Instant::now(), Cell::new(0));
        let answer = holdoff::retry_with(policy(), |attempt| {
            let number = attempt.number();
            let dropped = &dropped;
            async move {
                let _dropped = Dropped(dropped);
                sleep(Duration::from_millis(if number == 1 { 5000 } else { 20 })).await;
                Ok::<_, ()>(number)
            }
        })
        .guards(&hedged(100, 3))
        .await;
        assert_eq!((answer, started.elapsed(), dropped.get()), (Ok(2), Duration::from_millis(120), 2));
    }

    #[tokio::test(start_paused = true)]
    async fn each_attempt_has_its_own_limit() {
        let policy = Policy::options().attempt_timeout(Duration::from_millis(150)).attempts(2).build().unwrap();
        let started = Instant::now();
        let never = || std::future::pending::<Result<(), ()>>();
        let stopped = holdoff::retry(policy, never).guards(&hedged(100, 2)).await.unwrap_err();
        assert_eq!((stopped.reason(), stopped.attempts(), stopped.timed_out()), (StopReason::Attempts, 2, true));
        assert_eq!(started.elapsed(), Duration::from_millis(250));
    }

    #[tokio::test(start_paused = true)]
    async fn tasks_queue_for_a_place_in_order() {
        let guards = SharedGuards::new().with(BulkheadConfig::new(2, 10, Span::from_secs(60)).unwrap());
        let order = Arc::new(Mutex::new(Vec::new()));
        let calls = (0..6).map(|number| {
            let (guards, order) = (guards.clone(), Arc::clone(&order));
            tokio::spawn(async move {
                let run = || async {
                    order.lock().unwrap().push(number);
                    sleep(SECOND).await;
                    Ok::<_, ()>(())
                };
                holdoff::retry(policy(), run).guards(&guards).await
            })
        });
        let started = Instant::now();
        for call in calls.collect::<Vec<_>>() {
            call.await.unwrap().unwrap();
        }
        assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4, 5]);
        assert_eq!(started.elapsed(), SECOND * 3);
    }

    /// Counts how often it is woken.
    #[derive(Default)]
    struct Wakes(AtomicU32);
    impl std::task::Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn two_free_places_wake_the_second_of_the_queue_only_when_the_first_has_entered() {
        let guards = SharedGuards::new().with(BulkheadConfig::new(2, 10, Span::MAX).unwrap());
        let wakes = [(); 4].map(|()| Arc::new(Wakes::default()));
        let pending = || std::future::pending::<Result<(), ()>>();
        let call = || Box::pin(holdoff::retry(policy(), pending).guards(&guards).into_future());
        let [mut one, mut two, mut first, mut second] = [call(), call(), call(), call()];
        for (call, wakes) in [&mut one, &mut two, &mut first, &mut second].into_iter().zip(&wakes) {
            assert!(call.as_mut().poll(&mut std::task::Context::from_waker(&Arc::clone(wakes).into())).is_pending());
        }
        drop((one, two));
        let woken = || [&wakes[2], &wakes[3]].map(|wakes| wakes.0.load(Ordering::SeqCst));
        assert_eq!(woken(), [1, 0]);
        let _ = first.as_mut().poll(&mut std::task::Context::from_waker(&Arc::clone(&wakes[2]).into()));
        assert_eq!(woken(), [1, 1]);
    }

    /// When a probe that takes 100 ms has ended so, how three calls behind it end, and when: in time since the breaker opened.
    async fn behind_a_probe(answer: Result<(), ()>, deadline: Duration) -> Vec<(Result<(), StopReason>, Duration)> {
        let guards = patient("10s");
        holdoff::retry(once(), || async { Err::<(), _>("down") }).guards(&guards).await.unwrap_err();
        let opened = Instant::now();
        sleep(SECOND * 10).await;
        let probe = move || async move {
            sleep(Duration::from_millis(100)).await;
            answer
        };
        let probe = holdoff::retry(once(), probe).guards(&guards);
        let waits = Policy::options().deadline(deadline).build().unwrap();
        let behind = (0..3).map(|_| {
            let (guards, waits) = (guards.clone(), waits);
            tokio::spawn(async move {
                let answer = holdoff::retry(waits, || async { Ok::<_, ()>(()) }).guards(&guards).await;
                (answer.map_err(|stopped| stopped.reason()), opened.elapsed())
            })
        });
        let (_, behind) = tokio::join!(probe.into_future(), async {
            tokio::task::yield_now().await;
            behind.collect::<Vec<_>>()
        });
        let mut ends = Vec::new();
        for call in behind {
            ends.push(call.await.unwrap());
        }
        assert_eq!(guards.breaker().unwrap().with(|(_, breaker)| breaker.openings()), 1 + u32::from(answer.is_err()));
        ends
    }

    #[tokio::test(start_paused = true)]
    async fn tasks_behind_a_probe_go_on_as_soon_as_it_has_come_back() {
        let ends = behind_a_probe(Ok(()), SECOND * 5).await;
        assert_eq!(ends, [(Ok(()), Duration::from_millis(10_100)); 3]);
    }

    #[tokio::test(start_paused = true)]
    async fn tasks_behind_a_probe_that_fails_wait_for_the_next_one_or_their_deadline() {
        let ends = behind_a_probe(Err(()), SECOND * 5).await;
        assert_eq!(ends, [(Err(StopReason::Deadline), SECOND * 15); 3]);
        let ends = behind_a_probe(Err(()), SECOND * 60).await;
        assert_eq!(ends, [(Ok(()), Duration::from_millis(20_100)); 3]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_behind_a_probe_that_is_dropped_leaves_the_line() {
        let guards = patient("1s");
        holdoff::retry(once(), || async { Err::<(), _>("down") }).guards(&guards).await.unwrap_err();
        sleep(SECOND).await;
        let probed = guards.clone();
        let pending = || std::future::pending::<Result<(), ()>>();
        let probe = tokio::spawn(async move { holdoff::retry(once(), pending).guards(&probed).await });
        tokio::task::yield_now().await;
        for _ in 0..2 {
            let behind = holdoff::retry(policy(), || async { Ok::<_, ()>(()) }).guards(&guards).into_future();
            tokio::time::timeout(Duration::from_millis(10), behind).await.unwrap_err();
        }
        probe.abort();
        probe.await.unwrap_err();
        holdoff::retry(policy(), || async { Ok::<_, ()>(()) }).guards(&guards).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_free_place_wakes_the_first_of_the_queue_alone() {
        let guards = SharedGuards::new().with(BulkheadConfig::new(1, 1000, Span::MAX).unwrap());
        let polls = Arc::new(AtomicU32::new(0));
        let calls = (0..1000).map(|_| {
            let (guards, polls) = (guards.clone(), Arc::clone(&polls));
            tokio::spawn(async move {
                let run = || async {
                    tokio::task::yield_now().await;
                    Ok::<_, ()>(())
                };
                let mut call = std::pin::pin!(holdoff::retry(policy(), run).guards(&guards).into_future());
                let polled = |context: &mut std::task::Context<'_>| {
                    polls.fetch_add(1, Ordering::Relaxed);
                    call.as_mut().poll(context)
                };
                std::future::poll_fn(polled).await
            })
        });
        for call in calls.collect::<Vec<_>>() {
            call.await.unwrap().unwrap();
        }
        let polls = polls.load(Ordering::Relaxed);
        assert!(polls < 5000, "{polls} polls of 1000 calls");
    }

    #[tokio::test(start_paused = true)]
    async fn a_future_that_is_dropped_gives_its_place_back() {
        let guards = SharedGuards::new().with(BulkheadConfig::new(1, 1, Span::MAX).unwrap());
        let long = || async {
            sleep(SECOND * 100).await;
            Ok::<_, ()>(())
        };
        let first = holdoff::retry(policy(), long).guards(&guards).into_future();
        let queued = holdoff::retry(policy(), long).guards(&guards).into_future();
        assert!(tokio::time::timeout(SECOND, first).await.is_err());
        assert!(tokio::time::timeout(SECOND, queued).await.is_err());
        let left = guards.bulkhead().unwrap().with(|(_, bulkhead, _)| (bulkhead.running(), bulkhead.waiting()));
        assert_eq!(left, (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancelled_call_ends_all_its_attempts() {
        let token = CancelToken::new();
        let never = || std::future::pending::<Result<(), ()>>();
        let guards = hedged(10, 3);
        let call = holdoff::retry(policy(), never).cancel(&token).guards(&guards).into_future();
        let cancel = async {
            sleep(SECOND).await;
            token.cancel();
        };
        let (stopped, ()) = tokio::join!(call, cancel);
        let stopped = stopped.unwrap_err();
        assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::Cancelled, 3));
    }

    #[tokio::test(start_paused = true)]
    async fn a_value_that_an_attempt_beside_returned_before_the_last_error_is_not_the_answer() {
        let policy = Policy::options().attempts(2).build().unwrap();
        let run = |attempt: holdoff::Attempt| async move {
            let first = attempt.number() == 1;
            sleep(Duration::from_millis(if first { 500 } else { 20 })).await;
            if first { Err("down") } else { Ok(503) }
        };
        let failure = |status: &u32| holdoff::Failure::from_http(*status, None);
        let stopped = holdoff::retry_with(policy, run).when_result(failure).guards(&hedged(100, 2)).await.unwrap_err();
        assert_eq!((stopped.reason(), stopped.error()), (StopReason::Attempts, Some(&"down")));
    }
}

#[test]
fn a_call_waits_while_a_server_asks_another_one_to_stay_away() {
    use holdoff::core::{Failure, Hint, PauseConfig, Refusal};

    let time = holdoff::testing::VirtualTime::new();
    let guards = SharedGuards::new().with(PauseConfig::new(Span::from_secs(60), Refusal::Wait));
    let policy = Policy::options().attempts(1).build().unwrap();
    let throttled = Failure::THROTTLED.with_hint(Hint::after(Span::from_secs(5)));
    let first = holdoff::retry(&policy, || Err::<(), _>(()))
        .classify(move |_: &()| throttled)
        .sleeper(time.clone())
        .guards(&guards)
        .call();
    assert!(first.is_err());
    holdoff::retry(&policy, || Ok::<_, ()>(())).sleeper(time.clone()).guards(&guards).call().unwrap();
    assert_eq!(time.elapsed(), std::time::Duration::from_secs(5));
}
