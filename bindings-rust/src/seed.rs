//! Where jitter's seeds come from: the standard library's randomness, or one number for the whole program.

use holdoff_core::Timestamp;
use holdoff_core::seed_at;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Spares the lock to programs that never call [`seed`].
static IS_SET: AtomicBool = AtomicBool::new(false);
/// The program's number and how many operations have failed since it was given.
static SEQUENCE: Mutex<(u64, u64)> = Mutex::new((0, 0));

/// Makes the jitter of the whole program repeatable: the k-th operation that fails from here on, k from 0, gets the seed
/// [`seed_at`]`(n, k)`. An operation with [`Retrying::seed`](crate::builder::Retrying::seed) does not count.
///
/// Among threads the order of failures decides who is k-th; give each operation its own seed where that matters.
pub fn seed(n: u64) {
    *SEQUENCE.lock().unwrap_or_else(PoisonError::into_inner) = (n, 0);
    IS_SET.store(true, Ordering::Release);
}

/// The seed of an operation that has failed for the first time, at `now`. Out of line: the loop around it is short.
#[inline(never)]
pub(crate) fn next(now: Timestamp) -> u64 {
    if IS_SET.load(Ordering::Acquire) {
        let mut sequence = SEQUENCE.lock().unwrap_or_else(PoisonError::into_inner);
        let seed = seed_at(sequence.0, sequence.1);
        sequence.1 = sequence.1.wrapping_add(1);
        return seed;
    }
    // The standard library's keys for hashing are random where the system has randomness, and others each time. The time tells
    // apart what was forked from one process.
    #[cfg(any(feature = "web", not(all(target_family = "wasm", target_os = "unknown"))))]
    let now = (now, crate::clock::wall());
    // There those keys are always the same.
    #[cfg(all(feature = "web", target_family = "wasm", target_os = "unknown"))]
    let now = (now, js_sys::Math::random().to_bits());
    RandomState::new().hash_one(now)
}
