//! A set of guards for each key, bounded.

use super::Shared;
use super::set::{Guards, Recipe};
use crate::parameters::{Limit, Now, Seed, SpanOr as _};
use crate::{clock, seeds};
use holdoff_core::{Span, seed_at};
use pyo3::prelude::*;

/// A set of guards for each key: a host, a partition, a tenant. A new key replaces the key used longest ago. May be shared by
/// threads.
#[pyclass(frozen, module = "holdoff")]
pub(crate) struct KeyedGuards {
    /// The sets, and how many have been made.
    sets: Shared<Recipe, (holdoff_core::Keyed<String, Py<Guards>>, u64)>,
    seed: u64,
}

methods! { KeyedGuards(self, py);
    shown "<KeyedGuards {} keys>", self.__len__(py);

    /// At most `most` keys; keys unused for more than `idle` are forgotten, after ten minutes unless given. A guard object is
    /// shared by all keys.
    new(;
        most: usize = 10000, idle: Option<Limit<'_, '_>> = None, seed: Seed = None;
        **guards as "Unpack[GuardOptions]"
    ) -> PyResult<Self> = {
        let idle = idle.span_or("idle", Span::from_secs(600))?;
        let recipe = Recipe::of_fields(py, guards)?;
        // Errors in the options are raised here, and not at the first key.
        recipe.make(py, 0, clock::now(py)?)?;
        Ok(Self { sets: Shared::new(recipe, (holdoff_core::Keyed::new(most, idle), 0)), seed: seeds::of(seed)? })
    };

    /// The guards of a key: the same ones each time, for as long as the key is known. Calls under them have that key: for their
    /// budget and in their events.
    ref of[key: String](now: Now = None) -> PyResult<Py<Guards>> = {
        let now = clock::at(py, now)?;
        let seed = {
            let (_, mut state) = self.sets.lock();
            let (sets, made) = &mut *state;
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
        let mut made = self.sets.config.make(py, seed, now)?;
        made.key = Some(key.clone());
        let made = Py::new(py, made)?;
        Ok(self.sets.with(|_, (sets, _)| sets.entry(key, now, || made.clone_ref(py)).clone_ref(py)))
    };

    /// Forgets a key; returns True if it was known.
    ref forget[key: &str]() -> bool = self.sets.with(|_, (sets, _)| sets.remove(key)).is_some();

    /// The keys in their order.
    ref keys() -> Vec<String> = self.sets.with(|_, (sets, _)| sets.iter().map(|(key, _)| key.clone()).collect());

    special __len__() -> usize = self.sets.with(|_, (sets, _)| sets.len());
}
