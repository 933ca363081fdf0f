//! Time as a host sees it: a clock and a way to wait by it.
//!
//! Both are one trait, since a sleeper whose clock is another's would sleep past deadlines or retry too early.

use crate::cancel::CancelToken;
use holdoff_core::Timestamp;
use std::time::Duration;

/// The clock's `now`, not before what is known to have passed: a sleep or a limit that is over. The sleeper's word is
/// enough, because a clock that is a little behind would only ask for another, shorter sleep.
#[inline(always)]
pub(crate) fn not_before(passed: Timestamp, now: Timestamp) -> Timestamp {
    if now < passed { passed } else { now }
}

/// A clock that can be read without its sleeper; `None` for another one.
pub(crate) type Clock = Option<fn() -> Timestamp>;

/// The system's clock, where there is one.
#[cfg(any(feature = "web", not(all(target_family = "wasm", target_os = "unknown"))))]
pub(crate) const SYSTEM: Clock = Some(crate::clock::now);
#[cfg(not(any(feature = "web", not(all(target_family = "wasm", target_os = "unknown")))))]
pub(crate) const SYSTEM: Clock = None;

/// The loop that drives a call.
#[derive(Clone, Copy, Debug)]
pub struct Loop {
    /// True if it can run attempts beside each other.
    pub(crate) hedging: bool,
    /// The clock of its sleeper.
    pub(crate) clock: Clock,
}

/// Waits for blocking operations. Any `Fn(Duration)` is one, on the system's clock; it sees no token, so that a sleep which
/// has begun lasts.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot wait for a blocking operation",
    note = "`.call()` waits with `holdoff::time::System`, `holdoff::testing::VirtualTime` or any `Fn(Duration)`"
)]
pub trait Sleeper {
    /// The time by which it sleeps; never runs backwards. The system's clock where there is one.
    #[cfg(any(feature = "web", not(all(target_family = "wasm", target_os = "unknown"))))]
    fn now(&self) -> Timestamp {
        crate::clock::now()
    }

    /// The time by which it sleeps; never runs backwards.
    #[cfg(not(any(feature = "web", not(all(target_family = "wasm", target_os = "unknown")))))]
    fn now(&self) -> Timestamp;

    /// The clock, if it is one of the whole program: then guards show their state by it, and else as of their latest call.
    fn clock(&self) -> Option<fn() -> Timestamp> {
        None
    }

    /// Waits for `duration`, and no longer once `cancel` is cancelled. Returning says that the time is over.
    fn sleep(&self, duration: Duration, cancel: Option<&CancelToken>);

    /// Waits until the thread is unparked, at most for `duration`, and may end at any time. Asked for a place in a bulkhead, which comes
    /// free in another thread; unless a sleeper knows better it looks every few milliseconds of its own time.
    fn park(&self, duration: Duration) {
        self.sleep(duration.min(Duration::from_millis(5)), None);
    }
}

/// Waits for async operations. Any `Fn(Duration)` that returns a future is one, on the system's clock:
/// `|delay| async_io::Timer::after(delay)`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot wait for an async operation",
    note = "`.await` waits with tokio's timer when holdoff's feature `tokio` is on",
    note = "for another runtime give its timer: `.sleeper(|delay| async_io::Timer::after(delay))`"
)]
pub trait AsyncSleeper {
    /// Ends when the time is over. Dropped when it is cancelled or no longer needed.
    type Sleep: Future;

    /// False if it cannot wait, so that `.await` does not compile.
    #[doc(hidden)]
    const CAN_WAIT: bool = true;

    /// The time by which it sleeps; never runs backwards. The system's clock where there is one.
    #[cfg(any(feature = "web", not(all(target_family = "wasm", target_os = "unknown"))))]
    fn now(&self) -> Timestamp {
        crate::clock::now()
    }

    /// The time by which it sleeps; never runs backwards.
    #[cfg(not(any(feature = "web", not(all(target_family = "wasm", target_os = "unknown")))))]
    fn now(&self) -> Timestamp;

    /// The clock, if it is one of the whole program: then guards show their state by it, and else as of their latest call.
    fn clock(&self) -> Option<fn() -> Timestamp> {
        None
    }

    /// Waits for `duration` from now.
    fn sleep(&self, duration: Duration) -> Self::Sleep;
}

/// The machine's own time: blocking operations sleep their thread; async ones use tokio's timer (feature `tokio`), paused
/// test clocks included, or the timers of a page (feature `web`).
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

#[cfg(any(feature = "web", not(all(target_family = "wasm", target_os = "unknown"))))]
impl<F: Fn(Duration)> Sleeper for F {
    fn clock(&self) -> Clock {
        SYSTEM
    }

    fn sleep(&self, duration: Duration, _: Option<&CancelToken>) {
        self(duration);
    }
}

#[cfg(any(feature = "web", not(all(target_family = "wasm", target_os = "unknown"))))]
impl<F: Fn(Duration) -> S, S: Future> AsyncSleeper for F {
    type Sleep = S;

    fn clock(&self) -> Clock {
        SYSTEM
    }

    fn sleep(&self, duration: Duration) -> S {
        self(duration)
    }
}

#[cfg(not(target_family = "wasm"))]
impl Sleeper for System {
    fn clock(&self) -> Clock {
        SYSTEM
    }

    fn sleep(&self, duration: Duration, cancel: Option<&CancelToken>) {
        match cancel {
            Some(token) => {
                token.wait_timeout(duration);
            }
            None => std::thread::sleep(duration),
        }
    }

    fn park(&self, duration: Duration) {
        std::thread::park_timeout(duration);
    }
}

#[cfg(all(feature = "tokio", not(all(target_family = "wasm", target_os = "unknown"))))]
impl AsyncSleeper for System {
    type Sleep = tokio::time::Sleep;

    fn now(&self) -> Timestamp {
        tokio_now()
    }

    fn clock(&self) -> Clock {
        Some(tokio_now)
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        tokio::time::sleep(duration)
    }
}

/// No timer: a program that awaits by it does not compile, and the compiler says which feature to add.
#[cfg(not(any(feature = "tokio", target_family = "wasm")))]
impl AsyncSleeper for System {
    type Sleep = std::future::Pending<()>;

    const CAN_WAIT: bool = false;

    fn sleep(&self, _: Duration) -> Self::Sleep {
        std::future::pending()
    }
}

/// The time of tokio's clock, which a test may have paused.
#[cfg(all(feature = "tokio", not(all(target_family = "wasm", target_os = "unknown"))))]
fn tokio_now() -> Timestamp {
    crate::clock::since_epoch(tokio::time::Instant::now().into_std())
}

#[cfg(all(feature = "web", target_family = "wasm", target_os = "unknown"))]
impl AsyncSleeper for System {
    type Sleep = std::pin::Pin<Box<dyn Future<Output = ()>>>;

    fn clock(&self) -> Clock {
        SYSTEM
    }

    /// In pieces of at most a day, because a page's timer counts milliseconds in 31 bits.
    fn sleep(&self, duration: Duration) -> Self::Sleep {
        const LONGEST: Duration = Duration::from_secs(86_400);
        Box::pin(async move {
            let mut left = duration;
            while !left.is_zero() {
                // Rounded up: a timer that rings early would end the sleep early.
                let piece = left.min(LONGEST);
                gloo_timers::future::sleep(Duration::from_millis(piece.as_nanos().div_ceil(1_000_000) as u64)).await;
                left -= piece;
            }
        })
    }
}
