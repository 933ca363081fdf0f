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
    SharedGuards::new().with(BulkheadConfig::new(count, 8, Span::from_secs(9)).unwrap())
}

fn running(guards: &SharedGuards) -> u32 {
    guards.bulkhead().unwrap().with(|(_, bulkhead, _)| bulkhead.running())
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
        let guards = places(2).with(HedgeConfig::new(Span::from_secs(1), None, 2).unwrap());
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

mod rate {
    use holdoff::core::{BulkheadConfig, LimiterConfig, Refusal, Span};
    use holdoff::{Policy, SharedGuards};
    use std::sync::{Arc, Mutex};
    use std::time::Duration;
    use tokio::time::sleep;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn limited(limit: u32, burst: u32) -> SharedGuards {
        let config = LimiterConfig::gcra(limit, Span::from_secs(1), burst).unwrap();
        SharedGuards::new().with(config.with_refusal(Refusal::Wait))
    }

    /// Starts that many calls, one after the other; each attempt takes as long as `takes` says. Returns when each began.
    async fn begin(
        guards: &SharedGuards,
        calls: u32,
        gap: Duration,
        takes: impl Fn(u32) -> Duration + Copy + Send + 'static,
        patience: impl Fn(u32) -> Duration,
    ) -> Vec<(u32, Duration)> {
        let policy = Policy::options().attempts(1).build().unwrap();
        let (begun, start) = (Arc::new(Mutex::new(Vec::new())), tokio::time::Instant::now());
        let mut tasks = Vec::new();
        for number in 0..calls {
            let (guards, begun, patience) = (guards.clone(), begun.clone(), patience(number));
            tasks.push(tokio::spawn(async move {
                let work = move || {
                    begun.lock().unwrap().push((number, start.elapsed()));
                    async move {
                        sleep(takes(number)).await;
                        Ok::<_, ()>(())
                    }
                };
                let _ = tokio::time::timeout(patience, holdoff::retry(policy, work).guards(&guards)).await;
            }));
            if gap > Duration::ZERO {
                sleep(gap).await;
            }
        }
        for task in tasks {
            task.await.unwrap();
        }
        Arc::into_inner(begun).unwrap().into_inner().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_thousand_tasks_wait_for_a_limit_in_order_each_for_its_slot() {
        let begun = begin(&limited(500, 1), 1000, Duration::ZERO, |_| Duration::ZERO, |_| Duration::MAX).await;
        assert!(begun.iter().map(|(number, _)| *number).eq(0..1000));
        for (number, at) in begun {
            let slot = ms(2) * number;
            assert!((slot..=slot + ms(2)).contains(&at), "{number} at {at:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_is_dropped_gives_its_slot_to_the_next() {
        let patience = |number| if [2, 4, 5].contains(&number) { ms(150) } else { Duration::MAX };
        let begun = begin(&limited(10, 1), 8, Duration::ZERO, |_| Duration::ZERO, patience).await;
        let order = [0, 1, 3, 6, 7];
        assert!(begun.iter().map(|(number, _)| *number).eq(order));
        assert!(begun.iter().zip(0..).all(|((_, at), slot)| (ms(100) * slot..ms(100) * slot + ms(2)).contains(at)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_before_a_queue_holds_in_every_second() {
        let guards = limited(10, 1).with(BulkheadConfig::new(1, 200, Span::from_secs(60)).unwrap());
        let takes = |number| if number == 0 { ms(6000) } else { ms(1) };
        let begun = begin(&guards, 60, ms(100), takes, |_| Duration::MAX).await;
        assert!(begun.iter().map(|(number, _)| *number).eq(0..60));
        assert!(begun.windows(11).all(|calls| calls[10].1 - calls[0].1 >= Duration::from_secs(1)), "{begun:?}");
        assert!(begun[59].1 < Duration::from_secs(13));
    }
}

mod ramp {
    use holdoff::core::{Field, Options, Value};
    use holdoff::{Policy, SharedGuards};
    use std::sync::{Arc, Mutex};
    use std::time::Duration;
    use tokio::time::sleep;

    /// When attempts begin, after the first failure, of calls that wait at an open breaker; each attempt takes that long.
    async fn begin(ramp: &str, takes: Duration) -> Vec<Duration> {
        let fields: [(Field, Value<'_>); 4] = [
            (Field::BreakerFailures, 1.into()),
            (Field::BreakerOpenFor, Duration::from_secs(10).into()),
            (Field::BreakerRefusal, "wait".into()),
            (Field::BreakerRamp, ramp.into()),
        ];
        let options =
            fields.into_iter().try_fold(Options::NEW, |options, (field, value)| options.with_field(field, value));
        let guards = SharedGuards::of(&options.unwrap(), 7).unwrap();
        let policy = Policy::options().attempts(1).build().unwrap();
        let (begun, start) = (Arc::new(Mutex::new(Vec::new())), tokio::time::Instant::now());
        let opens = holdoff::retry(policy, || async { Err::<(), _>("down") }).guards(&guards).await;
        assert!(opens.is_err());
        let calls: Vec<_> = (0..1000)
            .map(|_| {
                let (guards, begun) = (guards.clone(), begun.clone());
                tokio::spawn(async move {
                    let work = || {
                        begun.lock().unwrap().push(start.elapsed());
                        async {
                            if takes > Duration::ZERO {
                                sleep(takes).await;
                            }
                            Ok::<_, ()>(())
                        }
                    };
                    holdoff::retry(policy, work).guards(&guards).await
                })
            })
            .collect();
        for call in calls {
            call.await.unwrap().unwrap();
        }
        Arc::into_inner(begun).unwrap().into_inner().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn of_a_thousand_calls_behind_a_probe_at_most_32_begin_within_10_ms() {
        for millis in [0, 1, 5, 20] {
            let takes = Duration::from_millis(millis);
            let begun = begin("double", takes).await;
            let closed = begun[0] + takes;
            let early = begun[1..].iter().filter(|at| **at <= closed + Duration::from_millis(10)).count();
            assert!((1..=32).contains(&early), "{early} of {takes:?}");
            assert_eq!(begun.len(), 1000);
            assert!(begun[999] - closed < Duration::from_secs(1), "{:?}", begun[999] - closed);
        }
        let begun = begin("none", Duration::from_millis(20)).await;
        assert!(begun[1..].iter().all(|at| *at - begun[0] < Duration::from_millis(25)));
    }
}
