//! One set of guards a key, bounded.

use super::set::{Guards, Recipe};
use crate::{clock, config, seeds};
use holdoff_core::{Span, seed_at};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One set of guards a key: a host, a partition, a tenant. The key used longest ago is given up for a new one. May be shared
/// by threads.
#[pyclass(frozen, module = "holdoff")]
pub(crate) struct KeyedGuards {
    recipe: Recipe,
    /// The sets, and how many have been made.
    sets: Mutex<(holdoff_core::Keyed<String, Py<Guards>>, u64)>,
    seed: u64,
}

impl KeyedGuards {
    fn sets(&self) -> MutexGuard<'_, (holdoff_core::Keyed<String, Py<Guards>>, u64)> {
        self.sets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl KeyedGuards {
    /// At most that many keys; those unused for more than `idle` are forgotten. A guard that is given as one is shared by all
    /// keys.
    #[new]
    #[pyo3(signature = (*, most = 10000, idle = None, seed = None, **guards))]
    fn new(
        py: Python<'_>,
        most: usize,
        idle: Option<&Bound<'_, PyAny>>,
        seed: Option<&Bound<'_, PyAny>>,
        guards: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let idle = match idle {
            None => Span::from_secs(600),
            idle => config::span_or_none("idle", idle)?.unwrap_or(Span::MAX),
        };
        let recipe = Recipe::of_fields(py, guards)?;
        // What is wrong with the options is said now, and not at the first key.
        recipe.make(py, 0, clock::now(py)?)?;
        let sets = Mutex::new((holdoff_core::Keyed::new(most, idle), 0));
        Ok(Self { recipe, sets, seed: seeds::given(seed)? })
    }

    /// The guards of a key: the same ones each time, for as long as the key is known.
    #[pyo3(signature = (key, /, now = None))]
    fn of(&self, py: Python<'_>, key: String, now: Option<&Bound<'_, PyAny>>) -> PyResult<Py<Guards>> {
        let now = clock::given(py, now)?;
        let seed = {
            let (sets, made) = &mut *self.sets();
            if let Some(known) = sets.peek(key.as_str(), now) {
                let known = known.clone_ref(py);
                sets.entry(key, now, || known.clone_ref(py));
                return Ok(known);
            }
            let seed = seed_at(self.seed, *made);
            *made = made.wrapping_add(1);
            seed
        };
        // Not under the lock: making an object may collect garbage, and that may run anything.
        let made = Py::new(py, self.recipe.make(py, seed, now)?)?;
        Ok(self.sets().0.entry(key, now, || made.clone_ref(py)).clone_ref(py))
    }

    /// Forgets a key; whether it was known.
    #[pyo3(signature = (key, /))]
    fn forget(&self, key: &str) -> bool {
        let gone = self.sets().0.remove(key);
        gone.is_some()
    }

    /// The keys in their order.
    fn keys(&self) -> Vec<String> {
        self.sets().0.iter().map(|(key, _)| key.clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.sets().0.len()
    }

    fn __repr__(&self) -> String {
        format!("<KeyedGuards {} keys>", self.__len__())
    }
}
