//! Where jitter's seeds come from: the operating system, or one number for the whole program.

use holdoff_core::seed_at;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// Spares the lock to programs that never call [`seed`].
static IS_SET: AtomicBool = AtomicBool::new(false);
/// The program's number and how many operations have failed since it was given.
static SEQUENCE: Mutex<(u64, u64)> = Mutex::new((0, 0));

/// Makes the jitter of the whole program repeatable: the k-th operation that fails from here on, k from 0, gets the seed
/// [`seed_at`]`(n, k)`. An operation with [`Retrying::seed`](crate::Retrying::seed) does not count.
///
/// Among threads the order of failures decides who is k-th; give each operation its own seed where that matters.
pub fn seed(n: u64) {
    *SEQUENCE.lock().unwrap_or_else(PoisonError::into_inner) = (n, 0);
    IS_SET.store(true, Ordering::Release);
}

/// The seed of an operation that has just failed for the first time. Out of line: it asks the operating system, and the loop
/// around it is short.
#[inline(never)]
pub(crate) fn next() -> u64 {
    if IS_SET.load(Ordering::Acquire) {
        let mut sequence = SEQUENCE.lock().unwrap_or_else(PoisonError::into_inner);
        let seed = seed_at(sequence.0, sequence.1);
        sequence.1 = sequence.1.wrapping_add(1);
        return seed;
    }
    getrandom::u64().unwrap_or_else(|_| without_randomness())
}

/// A system that has no randomness must not send all its clients back together: the clock and a count tell them apart.
#[cold]
fn without_randomness() -> u64 {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    seed_at(since.as_nanos() as u64 ^ u64::from(std::process::id()), COUNT.fetch_add(1, Ordering::Relaxed))
}
