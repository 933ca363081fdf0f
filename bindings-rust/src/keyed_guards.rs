//! Guards by host, partition or whatever else fails on its own.

use crate::guards::SharedGuards;
use holdoff_core::{Keyed, Span};
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A [`SharedGuards`] for each key, made when the key is first asked for. At most `most` sets are kept.
///
/// A new key takes the place of the key used longest ago, and a key that was not used for `idle` is forgotten, but only at rest: a
/// set is kept while a call or the program holds a clone of it, while its breaker is open or counts a failure, while calls are in its
/// bulkhead, and while its budget or limiter is not full. If there is no such place, the new key gets a set that it shares with
/// all further new keys, until that set is at rest.
///
/// ```
/// use holdoff::core::BreakerConfig;
/// use holdoff::guard::KeyedGuards;
/// use holdoff::{Policy, SharedGuards};
/// use std::time::Duration;
///
/// let hosts = KeyedGuards::new(10_000, Duration::from_secs(600), || SharedGuards::new().with(BreakerConfig::default()));
/// let answer = holdoff::retry(Policy::default(), || Ok::<_, ()>("page")).guards(&hosts.of("example.org")).call();
/// # assert!(answer.is_ok());
/// ```
pub struct KeyedGuards<K> {
    sets: Mutex<Keyed<K, SharedGuards>>,
    /// A set of no key: a guard that it has in common with another set is one of all keys.
    made: SharedGuards,
    make: Box<dyn Fn() -> SharedGuards + Send + Sync>,
}

impl<K: Ord + Clone> KeyedGuards<K> {
    /// No keys yet. `make` makes the guards of a key, and asks for no key itself; one more set is made here, to see which guards all sets
    /// have in common. How long a key was idle is by the system's clock.
    pub fn new(most: usize, idle: Duration, make: impl Fn() -> SharedGuards + Send + Sync + 'static) -> Self {
        Self { sets: Mutex::new(Keyed::new(most, Span::from_duration(idle))), made: make(), make: Box::new(make) }
    }

    /// The guards of a key.
    pub fn of(&self, key: K) -> SharedGuards {
        let now = crate::clock::now();
        let mut sets = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
        sets.entry_at_rest(key, now, |set| set.is_at_rest(&self.made), |_| (self.make)()).clone()
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.sets.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// True without keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<K> fmt::Debug for KeyedGuards<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedGuards").finish_non_exhaustive()
    }
}
