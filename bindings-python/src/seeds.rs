//! Seeds: from the operating system, or counted from one number so that a whole program repeats itself.

use crate::parameters::{Place, ProgramSeed, Seed, SeedNumber};
use holdoff_core::Rng;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The program's seed and how many operations have taken one since it was set.
static PROGRAM: Mutex<Option<(u64, u64)>> = Mutex::new(None);

functions! { py;
    /// Make every later operation repeatable: the k-th operation that fails, or that begins under guards, gets the k-th seed of
    /// the sequence that n starts.
    ///
    /// None goes back to seeds from the operating system.
    fn seed[n: Seed]() = {
        SET.store(n.is_some(), Ordering::Release);
        *PROGRAM.lock().unwrap_or_else(PoisonError::into_inner) = n.map(|SeedNumber(n)| (n, 0));
    };

    /// The seed of the k-th failing operation, k from 0, of a program seeded with n.
    fn seed_at[n: ProgramSeed, k: Place]() -> u64 = holdoff_core::seed_at(n.0, k.0);

    /// Replaces every draw of gates, backoffs and periodics, for `holdoff.testing`. Returns the uniform that was in force.
    fn override_uniform[uniform: Option<f64>]() -> Option<f64> = {
        let old = UNIFORM.swap(uniform.map_or(NONE, f64::to_bits), Ordering::AcqRel);
        (old != NONE).then(|| f64::from_bits(old))
    };
}

/// The seed of an operation: after its first failure, or at once under guards. Seeds come from a sequence that starts at a
/// number from the operating system: to ask the system each time would cost more than the rest of the operation.
pub(crate) fn next() -> PyResult<u64> {
    if SET.load(Ordering::Acquire)
        && let Some((n, k)) = PROGRAM.lock().unwrap_or_else(PoisonError::into_inner).as_mut()
    {
        let seed = holdoff_core::seed_at(*n, *k);
        *k = k.wrapping_add(1);
        return Ok(seed);
    }
    let mut start = START.load(Ordering::Acquire);
    if start == 0 {
        start = from_system()?.max(1);
        START.store(start, Ordering::Release);
    }
    Ok(holdoff_core::seed_at(start, COUNT.fetch_add(1, Ordering::Relaxed)))
}

/// True while the program has a seed: read instead of the lock.
static SET: AtomicBool = AtomicBool::new(false);
/// Where the sequence starts; 0 before it does.
static START: AtomicU64 = AtomicU64::new(0);
static COUNT: AtomicU64 = AtomicU64::new(0);

/// Begins another sequence in the child of a fork, whose draws must differ from those of its parent and siblings.
pub(crate) fn forget_sequence() {
    START.store(0, Ordering::Release);
}

/// The seed that is given, else one from the operating system.
pub(crate) fn of(given: Seed) -> PyResult<u64> {
    given.map_or_else(from_system, |SeedNumber(seed)| Ok(seed))
}

pub(crate) fn from_system() -> PyResult<u64> {
    getrandom::u64().map_err(|error| PyOSError::new_err(format!("the system gives no random seed: {error}")))
}

/// The bits of the uniform that a test puts in place of every draw of a raw machine; `NONE` for no replacement.
static UNIFORM: AtomicU64 = AtomicU64::new(NONE);
const NONE: u64 = u64::MAX;

/// The uniform that a test puts in place of every draw, if there is one.
pub(crate) fn replaced() -> Option<f64> {
    let replaced = UNIFORM.load(Ordering::Acquire);
    (replaced != NONE).then(|| f64::from_bits(replaced))
}

/// The draws of a raw machine that keeps no seed of its own: from its seed, else from the operating system.
#[derive(Clone, Default)]
pub(crate) struct Draws(Option<Rng>);

impl Draws {
    pub(crate) fn new(seed: Seed) -> Self {
        Self(seed.map(|SeedNumber(seed)| Rng::new(seed)))
    }

    /// A uniform from [0, 1); 0 where the machine does not need any.
    pub(crate) fn uniform(&mut self, needed: bool) -> PyResult<f64> {
        match &mut self.0 {
            _ if let Some(uniform) = replaced() => Ok(uniform),
            _ if !needed => Ok(0.0),
            Some(rng) => Ok(rng.uniform()),
            none => Ok(none.insert(Rng::new(from_system()?)).uniform()),
        }
    }
}
