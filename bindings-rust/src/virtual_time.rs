//! Time that passes only when somebody waits for it.

use crate::cancel::CancelToken;
use crate::sleeper::{AsyncSleeper, Sleeper};
use holdoff_core::{Span, Timestamp};
use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

/// A clock for tests: starts at zero, and sleeping moves it on at once. Clones share one clock.
///
/// ```
/// use holdoff::{Policy, testing::VirtualTime};
/// use std::time::Duration;
///
/// let time = VirtualTime::new();
/// let policy = Policy::options().attempts(100).build()?;
/// let stopped = holdoff::retry(&policy, || Err::<(), _>("down")).sleeper(time.clone()).call().unwrap_err();
/// assert_eq!(stopped.attempts(), 100);
/// assert!(time.elapsed() > Duration::from_secs(60)); // and no time has passed
/// # Ok::<(), holdoff::Error>(())
/// ```
///
/// An attempt that waits for something other than this clock gets one more turn before its limit, if it has one, is
/// reached; tokio's paused clock waits until nothing else can run.
#[derive(Clone, Debug, Default)]
pub struct VirtualTime(Arc<Mutex<Shared>>);

#[derive(Debug, Default)]
struct Shared {
    now: Timestamp,
    /// The ends of the sleeps that go on, each with a number of its own.
    asleep: BTreeSet<(Timestamp, u64)>,
    sleeps: u64,
}

impl VirtualTime {
    /// A clock at zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// The time since the start.
    pub fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.time().as_nanos())
    }

    /// Lets time pass, as an operation does that takes some.
    pub fn advance(&self, by: Duration) {
        let mut shared = self.shared();
        shared.now = shared.now.after(Span::from_duration(by));
    }

    fn time(&self) -> Timestamp {
        self.shared().now
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sleeper for VirtualTime {
    fn now(&self) -> Timestamp {
        self.time()
    }

    fn sleep(&self, duration: Duration, _: Option<&CancelToken>) {
        self.advance(duration);
    }
}

impl AsyncSleeper for VirtualTime {
    type Sleep = VirtualSleep;

    fn now(&self) -> Timestamp {
        self.time()
    }

    fn sleep(&self, duration: Duration) -> VirtualSleep {
        VirtualSleep { clock: self.clone(), until: self.time().after(Span::from_duration(duration)), number: None }
    }
}

/// A sleep on a [`VirtualTime`]: gives everything else one turn, then moves the clock to the end of the sleep that ends
/// first, its own or another's.
#[derive(Debug)]
pub struct VirtualSleep {
    clock: VirtualTime,
    until: Timestamp,
    number: Option<u64>,
}

impl Future for VirtualSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let mut shared = this.clock.shared();
        if this.number.is_none() {
            shared.sleeps += 1;
            let number = shared.sleeps;
            shared.asleep.insert((this.until, number));
            this.number = Some(number);
        } else if shared.now < this.until {
            // A sleep that is over has had its turn, or has it next.
            let first = shared.asleep.range((shared.now, u64::MAX)..).next();
            shared.now = first.map_or(this.until, |&(until, _)| until);
        }
        if this.until <= shared.now {
            return Poll::Ready(());
        }
        drop(shared);
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Drop for VirtualSleep {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.clock.shared().asleep.remove(&(self.until, number));
        }
    }
}
