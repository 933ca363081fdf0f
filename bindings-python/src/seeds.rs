//! Seeds: from the operating system, or counted from one number so that a whole program repeats itself.

use crate::convert;
use holdoff_core::Rng;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};

/// The program's seed and how many operations have failed since it was set.
static PROGRAM: Mutex<Option<(u64, u64)>> = Mutex::new(None);

/// Make every later operation repeatable: the k-th one that fails gets the k-th seed of the sequence that n starts.
///
/// None goes back to seeds from the operating system.
#[pyfunction]
#[pyo3(signature = (n, /))]
pub(crate) fn seed(n: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let n = n.map(|n| convert::seed("seed", n)).transpose()?;
    *PROGRAM.lock().unwrap_or_else(PoisonError::into_inner) = n.map(|n| (n, 0));
    Ok(())
}

/// The seed of the k-th failing operation, k from 0, of a program seeded with n.
#[pyfunction]
#[pyo3(signature = (n, k, /))]
pub(crate) fn seed_at(n: &Bound<'_, PyAny>, k: &Bound<'_, PyAny>) -> PyResult<u64> {
    Ok(holdoff_core::seed_at(convert::seed("n", n)?, convert::seed("k", k)?))
}

/// The seed of an operation that has just failed for the first time.
pub(crate) fn next() -> PyResult<u64> {
    if let Some((n, k)) = PROGRAM.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        let seed = holdoff_core::seed_at(*n, *k);
        *k = k.wrapping_add(1);
        return Ok(seed);
    }
    from_system()
}

fn from_system() -> PyResult<u64> {
    getrandom::u64().map_err(|error| PyOSError::new_err(format!("the system gives no random seed: {error}")))
}

/// A seed that was given, else one from the operating system.
pub(crate) fn given(seed: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
    seed.map_or_else(from_system, |seed| convert::seed("seed", seed))
}

/// The draws of a raw machine that keeps no seed of its own: from its seed, else from the operating system.
#[derive(Clone, Default)]
pub(crate) struct Draws(Option<Rng>);

impl Draws {
    pub(crate) fn new(seed: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        Ok(Self(seed.map(|seed| convert::seed("seed", seed)).transpose()?.map(Rng::new)))
    }

    /// The uniform that was given, else one that is drawn if it is `needed`.
    pub(crate) fn take(&mut self, given: Option<f64>, needed: bool) -> PyResult<f64> {
        match (given, &mut self.0) {
            (Some(u), _) => Ok(u),
            (None, _) if !needed => Ok(0.0),
            (None, Some(rng)) => Ok(rng.uniform()),
            (None, none) => Ok(none.insert(Rng::new(from_system()?)).uniform()),
        }
    }
}
