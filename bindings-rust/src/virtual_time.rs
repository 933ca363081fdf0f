//! Time that passes only when somebody waits for it.

use crate::cancel::CancelToken;
use crate::sleeper::{AsyncSleeper, Sleeper};
use holdoff_core::{Span, Timestamp};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

/// A clock for tests: starts at zero, and sleeping moves it on at once. Clones share one clock.
///
/// ```
/// use holdoff::{Policy, VirtualTime};
/// use std::time::Duration;
///
/// let time = VirtualTime::new();
/// let policy = Policy::builder().attempts(100).build()?;
/// let stopped = holdoff::retry(&policy, || Err::<(), _>("down")).sleeper(time.clone()).call().unwrap_err();
/// assert_eq!(stopped.attempts(), 100);
/// assert!(time.elapsed() > Duration::from_secs(60)); // and no time has passed
/// # Ok::<(), holdoff::ConfigError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct VirtualTime(Arc<AtomicU64>);

impl VirtualTime {
    /// A clock at zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The time since the start.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }

    /// Lets time pass, as an operation does that takes some.
    pub fn advance(&self, by: Duration) {
        self.move_to(self.time().after(Span::from_duration(by)));
    }

    fn time(&self) -> Timestamp {
        Timestamp::from_nanos(self.0.load(Ordering::Relaxed))
    }

    fn move_to(&self, at: Timestamp) {
        self.0.fetch_max(at.as_nanos(), Ordering::Relaxed);
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
        VirtualSleep { clock: self.clone(), until: self.time().after(Span::from_duration(duration)), asked: false }
    }
}

/// A sleep on a [`VirtualTime`]: gives every other task one turn, then moves the clock.
#[derive(Debug)]
pub struct VirtualSleep {
    clock: VirtualTime,
    until: Timestamp,
    asked: bool,
}

impl Future for VirtualSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.clock.time() < self.until && !self.asked {
            self.asked = true;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.clock.move_to(self.until);
        Poll::Ready(())
    }
}
