//! For tests of programs that retry: a clock that sleeping moves, repeatable jitter, switches of the whole process, and operations
//! that fail on purpose.

pub use crate::seed::seed;
pub use crate::switches::{Limited, disabled, limited, without_budgets};
pub use crate::virtual_time::{VirtualSleep, VirtualTime};

use crate::sleeper::{AsyncSleeper, Sleeper};
use holdoff_core::Chaos;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};

/// An operation that fails its first calls, and then does what `operation` does.
///
/// ```
/// use holdoff::{Policy, testing::{VirtualTime, failing}};
///
/// let flaky = failing(2, || "down", || Ok("page"));
/// assert_eq!(holdoff::retry(Policy::default(), flaky).sleeper(VirtualTime::new()).call(), Ok("page"));
/// ```
pub fn failing<T, E>(
    times: u32,
    error: impl Fn() -> E,
    mut operation: impl FnMut() -> Result<T, E>,
) -> impl FnMut() -> Result<T, E> {
    let mut left = times;
    move || match left {
        0 => operation(),
        _ => {
            left -= 1;
            Err(error())
        }
    }
}

/// Failures and latency on purpose around operations, whose attempts it counts; the same seed does the same again, in every
/// language (spec 38).
///
/// ```
/// use holdoff::core::{Chaos, Span};
/// use holdoff::{Policy, testing::{Injector, VirtualTime}};
///
/// let time = VirtualTime::new();
/// let chaos = Injector::new(Chaos::new(7, 0.2, 1.0, Span::from_millis(10), Span::from_millis(200))?);
/// let answer = holdoff::retry(Policy::default(), chaos.blocking(time.clone(), || "down", || Ok("page")))
///     .sleeper(time.clone())
///     .call();
/// assert_eq!(answer, Ok("page"));
/// assert!(time.elapsed().as_millis() >= 10);
/// # Ok::<(), holdoff::Error>(())
/// ```
#[derive(Debug)]
pub struct Injector {
    chaos: Chaos,
    attempts: AtomicU64,
}

impl Injector {
    /// No attempt is counted yet.
    pub const fn new(chaos: Chaos) -> Self {
        Self { chaos, attempts: AtomicU64::new(0) }
    }

    /// The operation with failures and latency. It waits by `sleeper`; `error` makes the error of a failure.
    pub fn blocking<T, E>(
        &self,
        sleeper: impl Sleeper,
        error: impl Fn() -> E,
        mut operation: impl FnMut() -> Result<T, E>,
    ) -> impl FnMut() -> Result<T, E> {
        move || {
            let k = self.attempts.fetch_add(1, Ordering::Relaxed);
            sleeper.sleep(self.chaos.latency(k).as_duration(), None);
            if self.chaos.fails(k) { Err(error()) } else { operation() }
        }
    }

    /// The same for an operation that returns a future.
    pub fn awaited<T, E, F, S>(
        &self,
        sleeper: S,
        error: impl Fn() -> E,
        mut operation: impl FnMut() -> F,
    ) -> impl FnMut() -> Pin<Box<dyn Future<Output = Result<T, E>>>>
    where
        T: 'static,
        E: 'static,
        F: Future<Output = Result<T, E>> + 'static,
        S: AsyncSleeper<Sleep: 'static>,
    {
        move || {
            let k = self.attempts.fetch_add(1, Ordering::Relaxed);
            let sleep = sleeper.sleep(self.chaos.latency(k).as_duration());
            let attempt = if self.chaos.fails(k) { Err(error()) } else { Ok(operation()) };
            Box::pin(async move {
                sleep.await;
                attempt?.await
            })
        }
    }
}
