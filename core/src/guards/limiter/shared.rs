//! A limiter that threads share without a lock.

use super::gcra::{Gcra, GcraConfig};
use crate::time::Timestamp;

#[cfg(not(all(test, loom)))]
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A [`Gcra`] over one atomic word: lock-free, and it orders no other memory.
///
/// # Contract
/// As [`Gcra`], by shared reference from any number of threads. The answers are those of one order of all calls, in which
/// each saw the state that the one before it left; the `now` of each is its own. Relaxed atomics are enough, since
/// there is nothing but that one word.
#[derive(Debug, Default)]
pub struct SharedGcra {
    arrival: AtomicU64,
}

impl SharedGcra {
    /// One that goes on from `gcra`.
    #[must_use]
    pub fn new(gcra: Gcra) -> Self {
        Self { arrival: AtomicU64::new(gcra.arrival().as_nanos()) }
    }

    /// Takes `count` calls at `now`, or says when they may be made: [`Timestamp::NEVER`] for more than a burst.
    ///
    /// # Errors
    /// The earliest time at which it would let them through if nobody else came before.
    #[inline]
    pub fn take(&self, config: &GcraConfig, count: u32, now: Timestamp) -> Result<(), Timestamp> {
        let now = now.as_now().as_nanos();
        let mut seen = self.arrival.load(Relaxed);
        loop {
            let next = config.arrival(seen, count, now)?;
            match self.arrival.compare_exchange_weak(seen, next, Relaxed, Relaxed) {
                Ok(_) => return Ok(()),
                Err(other) => seen = other,
            }
        }
    }

    /// Gives back `count` calls that were taken and not made.
    pub fn give_back(&self, config: &GcraConfig, count: u32) {
        let mut seen = self.arrival.load(Relaxed);
        while let Err(other) =
            self.arrival.compare_exchange_weak(seen, config.without(seen, count), Relaxed, Relaxed)
        {
            seen = other;
        }
    }

    /// How it stands, to save it or to look at it.
    #[must_use]
    pub fn load(&self) -> Gcra {
        Gcra::from_arrival(Timestamp::from_nanos(self.arrival.load(Relaxed)))
    }
}
