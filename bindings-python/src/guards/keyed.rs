//! A set of guards for each key, bounded.

use super::Shared;
use super::set::{Guards, Recipe};
use crate::parameters::{Limit, Now, Seed, SpanOr as _};
use crate::{clock, seeds};
use holdoff_core::{Keyed, Span, Timestamp, seed_at};
use pyo3::prelude::*;

/// A set of guards for each key: a host, a partition, a tenant. A new key replaces the key used longest ago, but only at rest: a set
/// is kept while a call or the program holds it, while its breaker is open or counts a failure, while calls are in its bulkhead,
/// and while its budget or limiter is not full. If there is no such place, new keys share one set until it is at rest. May be
/// shared by threads.
#[pyclass(frozen, module = "holdoff")]
pub(crate) struct KeyedGuards {
    /// The sets, and how many have been made.
    sets: Shared<Recipe, (Keyed<String, Py<Guards>>, u64)>,
    /// The set of the keys that find no place, which has no key.
    common: Py<Guards>,
    seed: u64,
}

/// True if only the store has a set, and nothing is lost with it. The set of many keys is in use only while its guards are: a loop
/// holds its latest set while it asks for the next one, and would never get another.
#[allow(unsafe_code, reason = "the number of references has no safe function")]
fn is_at_rest(recipe: &Recipe, set: &Bound<'_, Guards>, common: &Py<Guards>, now: Timestamp) -> bool {
    // SAFETY: the object is alive, because there is a reference to it.
    let references = unsafe { pyo3::ffi::Py_REFCNT(set.as_ptr()) };
    (references == 1 || set.is(common)) && recipe.is_at_rest(set.get(), now)
}

methods! { KeyedGuards(self, py);
    shown "<KeyedGuards {} keys>", self.__len__(py);

    /// At most `most` keys; keys at rest that are unused for more than `idle` are forgotten, after ten minutes unless given. A guard
    /// object is shared by all keys.
    new(;
        most: usize = 10000, idle: Option<Limit<'_, '_>> = None, seed: Seed = None;
        **guards as "Unpack[GuardOptions]"
    ) -> PyResult<Self> = {
        let idle = idle.span_or("idle", Span::from_secs(600))?;
        let recipe = Recipe::of_fields(py, guards)?;
        let seed = seeds::of(seed)?;
        // Errors in the options are raised here, and not at the first key.
        let common = Py::new(py, recipe.make(py, seed, Timestamp::ZERO)?)?;
        Ok(Self { sets: Shared::new(recipe, (Keyed::new(most, idle), 0)), common, seed })
    };

    /// The guards of a key: the same ones each time, for as long as the key is known. Calls under them have that key: for their
    /// budget and in their events. Ask anew for each call.
    ref of[key: String](now: Now = None) -> PyResult<Py<Guards>> = {
        let now = clock::at(py, now)?;
        let known = self.sets.with(|_, (sets, made)| match sets.peek(key.as_str(), now) {
            Some(known) => Ok(known.clone_ref(py)),
            None => {
                *made = made.wrapping_add(1);
                Err(seed_at(self.seed, made.wrapping_sub(1)))
            }
        });
        // Not under the lock: making an object may collect garbage, and that may run anything.
        let set = match known {
            Ok(known) => known,
            Err(seed) => {
                let mut made = self.sets.config.make(py, seed, now)?;
                made.key = Some(key.clone());
                Py::new(py, made)?
            }
        };
        Ok(self.sets.with(|recipe, (sets, _)| {
            let at_rest = |set: &Py<Guards>| is_at_rest(recipe, set.bind(py), &self.common, now);
            let make = |is_common: bool| if is_common { &self.common } else { &set }.clone_ref(py);
            sets.entry_at_rest(key, now, at_rest, make).clone_ref(py)
        }))
    };

    /// Forgets a key; returns True if it was known.
    ref forget[key: &str]() -> bool = self.sets.with(|_, (sets, _)| sets.remove(key)).is_some();

    /// The keys in their order.
    ref keys() -> Vec<String> = self.sets.with(|_, (sets, _)| sets.iter().map(|(key, _)| key.clone()).collect());

    special __len__() -> usize = self.sets.with(|_, (sets, _)| sets.len());
}
