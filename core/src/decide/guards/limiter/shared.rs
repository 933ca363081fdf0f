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
    /// A shared limiter that goes on from `gcra`.
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
        while let Err(other) = self.arrival.compare_exchange_weak(seen, config.without(seen, count), Relaxed, Relaxed) {
            seen = other;
        }
    }

    /// How it stands, to save it or to look at it.
    pub fn load(&self) -> Gcra {
        Gcra::from_arrival(Timestamp::from_nanos(self.arrival.load(Relaxed)))
    }
}

#[cfg(all(test, loom))]
mod models {
    //! Every order in which threads may reach the word. `RUSTFLAGS="--cfg loom" cargo test -p holdoff-core --lib models`

    use super::*;
    use crate::time::Span;
    use loom::sync::Arc;
    use loom::thread;

    type Work = fn(&SharedGcra, &GcraConfig) -> u32;

    /// The answers of that many threads that each do the same, and the limiter afterwards.
    fn threads(count: usize, config: GcraConfig, shared: &Arc<SharedGcra>, work: Work) -> u32 {
        let others: std::vec::Vec<_> = (1..count)
            .map(|_| {
                let shared = Arc::clone(shared);
                thread::spawn(move || work(&shared, &config))
            })
            .collect();
        let mine = work(shared, &config);
        others.into_iter().map(|thread| thread.join().unwrap()).sum::<u32>() + mine
    }

    fn take(shared: &SharedGcra, config: &GcraConfig) -> u32 {
        u32::from(shared.take(config, 1, Timestamp::from_nanos(100)).is_ok())
    }

    fn config(burst: u32) -> GcraConfig {
        GcraConfig::new(1, Span::from_nanos(10), burst).unwrap()
    }

    #[test]
    fn three_threads_share_two_calls() {
        loom::model(|| {
            let shared = Arc::new(SharedGcra::default());
            assert_eq!(threads(3, config(2), &shared, take), 2);
            assert_eq!(shared.load().arrival(), Timestamp::from_nanos(120));
        });
    }

    #[test]
    fn two_threads_that_take_twice_share_three_calls() {
        loom::model(|| {
            let shared = Arc::new(SharedGcra::default());
            let twice = |shared: &SharedGcra, config: &GcraConfig| take(shared, config) + take(shared, config);
            assert_eq!(threads(2, config(3), &shared, twice), 3);
            assert_eq!(shared.load().arrival(), Timestamp::from_nanos(130));
        });
    }

    #[test]
    fn what_is_given_back_is_there_for_others() {
        loom::model(|| {
            let shared = Arc::new(SharedGcra::default());
            let both = |shared: &SharedGcra, config: &GcraConfig| {
                let taken = take(shared, config);
                if taken > 0 {
                    shared.give_back(config, 1);
                }
                taken
            };
            assert!(threads(2, config(1), &shared, both) >= 1);
            assert_eq!(shared.load().arrival(), Timestamp::from_nanos(100));
            assert_eq!(take(&shared, &config(1)), 1);
        });
    }

    #[test]
    fn a_later_clock_and_an_earlier_one_agree_on_an_order() {
        loom::model(|| {
            let shared = Arc::new(SharedGcra::default());
            let other = Arc::clone(&shared);
            let later = thread::spawn(move || other.take(&config(1), 1, Timestamp::from_nanos(110)));
            let earlier = shared.take(&config(1), 1, Timestamp::from_nanos(100));
            let later = later.join().unwrap();
            assert_eq!(later, Ok(()));
            // After the later one, the earlier one comes when that one's interval is over.
            assert!([Ok(()), Err(Timestamp::from_nanos(120))].contains(&earlier));
            assert_eq!(shared.load().arrival(), Timestamp::from_nanos(120));
        });
    }
}
