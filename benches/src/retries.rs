//! Many retries that are waited for: a timer each, and the state that says what comes after it.
//!
//! Each delay has full jitter below a minute, the longest there is, so that all of them are as far apart as they come. Every
//! retry fails again when it is due, until the end.

use crate::floor::{Floor, Numbers};
use crate::peers;
use crate::runs::{Measured, Size, Wakes, timed};
use crate::timers::{Timers, shuffled};
use backon::{ExponentialBackoff, ExponentialBuilder};
use holdoff_core::{Backoff, Decision, Failure, Policy, Retry, TimerKey, Timestamp, Wheel};
use std::hint::black_box;
use std::time::Duration;

/// The only delay before jitter.
const MINUTE: Duration = Duration::from_secs(60);
/// Within which everybody's timers are due: backon's jitter adds to the delay.
const LATEST_MS: u64 = 2 * MINUTE.as_millis() as u64 + 1;

/// Many pending retries.
pub trait Retries {
    /// The handle to cancel a retry by.
    type Key: Copy;

    /// Room for so many.
    fn new(most: usize) -> Self;
    /// A first attempt has failed at time zero.
    fn begin(&mut self, id: u32, seed: u64) -> Self::Key;
    /// Goes on to a later millisecond and says how many were due, each of which fails `again` or not.
    fn step(&mut self, now_ms: u64, again: bool) -> usize;
    /// Nobody waits for it any more.
    fn cancel(&mut self, key: Self::Key);
}

/// Ours: the wheel, and the states in an array by the number of their timer.
#[derive(Debug)]
pub struct ByWheel {
    policy: Policy,
    wheel: Wheel,
    states: Vec<Retry>,
    batch: Vec<Retry>,
}

/// So many states are fetched at once: with millions of them each is far away, and the processor need not wait for one
/// before it fetches the next.
const BATCH: usize = 64;

impl ByWheel {
    #[inline(always)]
    fn fail(&mut self, mut retry: Retry, now: Timestamp) -> TimerKey {
        let Decision::Sleep { until, .. } = retry.on_failure(&self.policy, now, Failure::TRANSIENT) else {
            unreachable!("it retries for ever")
        };
        let key = self.wheel.insert(until).expect("there is memory");
        match self.states.get_mut(key.index() as usize) {
            Some(state) => *state = retry,
            None => self.states.push(retry),
        }
        key
    }
}

impl Retries for ByWheel {
    type Key = TimerKey;

    fn new(most: usize) -> Self {
        let backoff = Backoff::exponential(MINUTE, 2.0).max(MINUTE);
        let policy = Policy::options().backoff(backoff).forever().build().expect("checked numbers");
        Self { policy: black_box(policy), wheel: Wheel::new(), states: Vec::with_capacity(most), batch: Vec::new() }
    }

    #[inline(always)]
    fn begin(&mut self, _: u32, seed: u64) -> TimerKey {
        self.fail(Retry::new(seed, Timestamp::ZERO), Timestamp::ZERO)
    }

    #[inline(always)]
    fn step(&mut self, now_ms: u64, again: bool) -> usize {
        let now = Timestamp::from_nanos(now_ms * 1_000_000);
        let mut due = 0;
        while !again && self.wheel.pop(now).is_some() {
            due += 1;
        }
        let mut batch = std::mem::take(&mut self.batch);
        loop {
            while batch.len() < BATCH
                && let Some((key, _)) = self.wheel.pop(now)
            {
                batch.push(self.states[key.index() as usize]);
            }
            if batch.is_empty() {
                break;
            }
            due += batch.len();
            for retry in batch.drain(..) {
                self.fail(retry, now);
            }
        }
        self.batch = batch;
        black_box(self.wheel.next_wake());
        due
    }

    #[inline(always)]
    fn cancel(&mut self, key: TimerKey) {
        assert!(self.wheel.cancel(key), "it is pending");
    }
}

/// The source of the next delay.
pub trait State {
    /// The state that all retries share.
    type Settings;

    /// Made once.
    fn settings() -> Self::Settings;
    /// Before the first delay.
    fn new(settings: &Self::Settings, seed: u64) -> Self;
    /// The next delay in nanoseconds.
    fn delay(&mut self) -> u64;
}

impl State for Floor {
    type Settings = Numbers;

    fn settings() -> Numbers {
        let minute = MINUTE.as_nanos() as u64;
        Numbers { initial: minute, max: minute, retries: u32::MAX }
    }

    #[inline(always)]
    fn new(settings: &Numbers, seed: u64) -> Self {
        Self::new(settings, seed)
    }

    #[inline(always)]
    fn delay(&mut self) -> u64 {
        self.delay().unwrap_or_default()
    }
}

impl State for ExponentialBackoff {
    type Settings = ExponentialBuilder;

    fn settings() -> ExponentialBuilder {
        peers::backon::settings().with_min_delay(MINUTE).with_max_delay(MINUTE).without_max_times()
    }

    #[inline(always)]
    fn new(settings: &ExponentialBuilder, seed: u64) -> Self {
        peers::backon::delays(settings, seed)
    }

    #[inline(always)]
    fn delay(&mut self) -> u64 {
        self.next().unwrap_or_default().as_nanos() as u64
    }
}

/// Somebody's timers, and somebody's states in an array by numbers of its own.
#[derive(Debug)]
pub struct ById<T, S: State> {
    settings: S::Settings,
    timers: T,
    states: Vec<S>,
    due: Vec<u32>,
}

/// The millisecond after a delay.
#[inline(always)]
fn at_ms(now_ms: u64, delay: u64) -> u64 {
    now_ms + delay / 1_000_000 + 1
}

impl<T: Timers, S: State> Retries for ById<T, S> {
    type Key = T::Key;

    fn new(most: usize) -> Self {
        let (settings, states) = (black_box(S::settings()), Vec::with_capacity(most));
        Self { settings, timers: T::new(most), states, due: Vec::new() }
    }

    #[inline(always)]
    fn begin(&mut self, id: u32, seed: u64) -> T::Key {
        let mut state = S::new(&self.settings, seed);
        let key = self.timers.start(at_ms(0, state.delay()), id);
        self.states.push(state);
        key
    }

    #[inline(always)]
    fn step(&mut self, now_ms: u64, again: bool) -> usize {
        self.timers.step(now_ms, &mut self.due);
        let due = self.due.len();
        for id in self.due.drain(..) {
            if again {
                let delay = self.states[id as usize].delay();
                self.timers.start(at_ms(now_ms, delay), id);
            }
        }
        due
    }

    #[inline(always)]
    fn cancel(&mut self, key: T::Key) {
        self.timers.cancel(key);
    }
}

/// Begins the retries, has some of them fail again, and waits for the rest.
///
/// # Panics
/// When a retry is missing in the end.
pub fn measure<R: Retries>(size: Size, measured: &mut Measured) {
    Wakes::run(size, measured, run::<R>);
}

fn run<R: Retries>(size: Size, wakes: &mut Wakes, measured: &mut Measured) {
    let Size { count, replaced, drains, .. } = size;
    measured.begin();

    let (mut retries, fill) = timed(|| {
        let mut retries = R::new(count);
        for id in 0..count as u32 {
            retries.begin(id, u64::from(id));
        }
        retries
    });
    measured.add("fill", fill, count);
    measured.weigh("fill", count);

    let (held, hold) = timed(|| {
        let mut held = 0;
        while held < replaced {
            let due = retries.step(wakes.next_ms(), true);
            wakes.were(due);
            held += due;
        }
        held
    });
    measured.add("hold", hold, held);
    measured.weigh("hold", count);
    if !drains {
        return;
    }

    let (drained, drain) = timed(|| {
        let mut drained = 0;
        let last = wakes.now_ms + LATEST_MS;
        while drained < count && wakes.now_ms < last {
            let due = retries.step(wakes.next_ms(), false);
            wakes.were(due);
            drained += due;
        }
        drained
    });
    assert_eq!(drained, count, "every retry is due once");
    measured.add("drain", drain, count);
}

/// Cancels all of them, none in the order in which they began.
pub fn cancel<R: Retries>(size: Size, measured: &mut Measured) {
    let mut retries = R::new(size.count);
    let mut keys: Vec<_> = (0..size.count as u32).map(|id| retries.begin(id, u64::from(id))).collect();
    shuffled(&mut keys);
    let ((), took) = timed(|| keys.iter().for_each(|key| retries.cancel(*key)));
    measured.add("cancel", took, size.count);
}
