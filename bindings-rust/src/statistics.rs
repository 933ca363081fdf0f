//! Numbers of operations, for a status page or a test.

use crate::handler::{Begun, GaveUp, Handler, Retried, Succeeded};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Counts the operations that are given it by [`Retrying::statistics`](crate::builder::Retrying::statistics): keep one in a static,
/// for one function or for many.
///
/// ```
/// use holdoff::{telemetry::Statistics, testing::VirtualTime, Policy};
///
/// static SEARCHES: Statistics = Statistics::new();
///
/// let stopped = holdoff::retry(Policy::default(), || Err::<(), _>("down"))
///     .statistics(&SEARCHES)
///     .sleeper(VirtualTime::new())
///     .call();
/// assert!(stopped.is_err());
/// let numbers = SEARCHES.numbers();
/// assert_eq!((numbers.attempts, numbers.retries, numbers.give_ups), (3, 2, 1));
/// assert_eq!((numbers.kinds["transient"], numbers.reasons["attempts"]), (2, 1));
/// ```
#[derive(Debug, Default)]
pub struct Statistics(Mutex<Numbers>);

/// The numbers of operations since they began or since [`Statistics::reset`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Numbers {
    /// How many attempts began.
    pub attempts: u64,
    /// How many failed attempts another one follows.
    pub retries: u64,
    /// How many operations succeeded.
    pub successes: u64,
    /// How many operations ended without a success.
    pub give_ups: u64,
    /// The sum of all delays before retries.
    pub waited: Duration,
    /// How many retries followed failures of each kind, by its word.
    pub kinds: BTreeMap<&'static str, u64>,
    /// How many retries have each cause of their delay, by its word.
    pub causes: BTreeMap<&'static str, u64>,
    /// How many operations ended for each reason, by its word.
    pub reasons: BTreeMap<&'static str, u64>,
}

impl Statistics {
    /// All numbers are 0.
    pub const fn new() -> Self {
        Self(Mutex::new(Numbers {
            attempts: 0,
            retries: 0,
            successes: 0,
            give_ups: 0,
            waited: Duration::ZERO,
            kinds: BTreeMap::new(),
            causes: BTreeMap::new(),
            reasons: BTreeMap::new(),
        }))
    }

    /// The numbers as they are now.
    pub fn numbers(&self) -> Numbers {
        self.with(|numbers| numbers.clone())
    }

    /// Sets all numbers to 0; returns them as they were.
    pub fn reset(&self) -> Numbers {
        self.with(std::mem::take)
    }

    fn with<R>(&self, f: impl FnOnce(&mut Numbers) -> R) -> R {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Counts the events of a call in [`Statistics`].
#[derive(Clone, Copy, Debug)]
pub struct Counted<'s>(pub(crate) &'s Statistics);

impl<T, E> Handler<T, E> for Counted<'_> {
    fn listens(&self) -> bool {
        true
    }

    fn begun(&mut self, _: &Begun) {
        self.0.with(|numbers| numbers.attempts += 1);
    }

    fn retried(&mut self, event: &Retried<'_, E>) {
        self.0.with(|numbers| {
            numbers.retries += 1;
            numbers.waited = numbers.waited.saturating_add(event.delay);
            *numbers.kinds.entry(event.failure.kind.name()).or_default() += 1;
            *numbers.causes.entry(event.cause.name()).or_default() += 1;
        });
    }

    fn succeeded(&mut self, _: &Succeeded) {
        self.0.with(|numbers| numbers.successes += 1);
    }

    fn gave_up(&mut self, event: &GaveUp<'_, E>) {
        self.0.with(|numbers| {
            numbers.give_ups += 1;
            *numbers.reasons.entry(event.reason.name()).or_default() += 1;
        });
    }
}
