//! The guards of many calls together: each is an object of its own, or made from a configuration.

pub(crate) use super::bulkhead::Bulkhead;
pub(crate) use super::locked::*;
use super::notify::{Line, Waiting};
use super::{Guard, Kept};
use crate::convert::Returned;
use crate::parameters::{Now, Seed};
use crate::policy::Policy;
use crate::{clock, config, json, seeds};
use holdoff_core::{BreakerState, GuardConfig as _, GuardedCall, Options, QueuePlace, Timestamp, Turn, each_guard};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyMapping};
use std::sync::{Arc, MutexGuard};

/// Where a guard of a set comes from.
enum Source<G> {
    /// An object that other sets may share.
    Object(Py<G>),
    /// A section of a builder: a guard of this set alone.
    Config(Arc<Options>),
    Nothing,
}

impl<G: Guard + pyo3::PyTypeInfo> Source<G> {
    fn of(options: &Bound<'_, PyMapping>) -> PyResult<Self> {
        let Some(value) = section(options, G::SECTION)?.filter(is_guard) else { return Ok(Self::Nothing) };
        if let Ok(guard) = value.cast::<G>() {
            return Ok(Self::Object(guard.clone().unbind()));
        }
        let builder = config::guard(value.py(), G::SECTION, Some(&value), None)?;
        Ok(Self::Config(Arc::new(builder)))
    }

    fn make(&self, py: Python<'_>, seed: u64, now: Timestamp) -> PyResult<Option<Py<G>>> {
        match self {
            Self::Nothing => Ok(None),
            Self::Object(guard) => Ok(Some(guard.clone_ref(py))),
            Self::Config(builder) => {
                config::valid(py, G::fresh(builder, seed, now))?.map(|guard| Py::new(py, guard)).transpose()
            }
        }
    }
}

/// The value under the name of a section, if there is one.
#[inline(never)]
fn section<'py>(of: &Bound<'py, PyMapping>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    if of.contains(name)? { of.get_item(name).map(Some) } else { Ok(None) }
}

/// An empty section is no guard, as in a document (spec 32.2).
#[inline(never)]
fn is_guard(value: &Bound<'_, PyAny>) -> bool {
    !value.is_none() && !value.cast::<PyMapping>().is_ok_and(|fields| fields.is_empty().unwrap_or(false))
}

/// The guard with its saved state, if there is any.
fn resumed<G: Guard>(guard: Option<Py<G>>, saved: &Bound<'_, PyMapping>, now: Timestamp) -> PyResult<Option<Py<G>>> {
    let py = saved.py();
    let Some(guard) = guard else { return Ok(None) };
    let Some(bytes) = section(saved, G::SECTION)? else { return Ok(Some(guard)) };
    let resumed = guard.get().resumed(bytes.cast::<PyBytes>()?.as_bytes(), now);
    Ok(Some(Py::new(py, config::valid(py, resumed)?)?))
}

/// Adds the state of a guard to the saved states.
fn save_into<G: Guard>(states: &Bound<'_, PyDict>, guard: Option<&Py<G>>, now: Timestamp) -> PyResult<()> {
    let bytes = guard.map(|guard| guard.get().bytes(now)).filter(|bytes| !bytes.is_empty());
    bytes.map_or(Ok(()), |bytes| states.set_item(G::SECTION, PyBytes::new(states.py(), &bytes)))
}

/// Declares sets of guards, whose locks are taken in the order of the table.
macro_rules! set {
    ($($(#[$doc:meta])* $name:ident: $class:ident $memory:ident, $config:ty, $state:ty $(, $words:ident)?;)*) => {
        /// The names of all guards.
        const SECTIONS: &[&str] = &[$($class::SECTION),*];

        /// Guards that calls share: each a configuration, or a guard object that others share too.
        #[pyclass(frozen, module = "holdoff")]
        pub(crate) struct Guards {
            $($name: Option<Py<$class>>,)*
            /// True if a budget is named, be it "none": then a loop brings none.
            pub(crate) names_budget: bool,
            /// The key of a set of `KeyedGuards`.
            pub(crate) key: Option<String>,
        }

        /// The sources of all guards of a set.
        pub(crate) struct Recipe {
            $($name: Source<$class>,)*
            names_budget: bool,
        }

        impl Recipe {
            /// The guards that options name.
            fn of(options: &Bound<'_, PyMapping>) -> PyResult<Self> {
                check_names(options)?;
                let names_budget = section(options, Budget::SECTION)?.is_some_and(|budget| is_guard(&budget));
                Ok(Self { $($name: Source::of(options)?,)* names_budget })
            }

            /// The sections of a policy.
            fn of_builder(builder: &Options) -> Self {
                let (names_budget, builder) = (builder.names_budget(), Arc::new(*builder));
                Self { $($name: Source::Config(Arc::clone(&builder)),)* names_budget }
            }

            pub(crate) fn make(&self, py: Python<'_>, seed: u64, now: Timestamp) -> PyResult<Guards> {
                Ok(Guards { $($name: self.$name.make(py, seed, now)?,)* names_budget: self.names_budget, key: None })
            }

            /// True if nothing is lost when the guards are made anew at `now`. Objects that other sets may share are not made anew.
            pub(super) fn is_at_rest(&self, guards: &Guards, now: Timestamp) -> bool {
                let mut locked = Locked::default();
                $(if let (Source::Config(_), Some(guard)) = (&self.$name, &guards.$name) {
                    locked.$name = Some(guard.get().0.lock());
                })*
                locked.parts().is_at_rest(now)
            }
        }

        /// The guards of a set, locked; none for a call without guards.
        #[derive(Default)]
        struct Locked<'a> {
            $($name: Option<(&'a $config, MutexGuard<'a, Kept<$config>>)>,)*
        }

        impl Locked<'_> {
            /// How many attempts run, how many waiters are in the queue, and how many calls the breaker lets through.
            fn places(&self) -> (u32, u32, u32) {
                let queue = self.bulkhead.as_ref();
                let (running, waiting) = queue.map_or((0, 0), |(_, places)| (places.running(), places.waiting()));
                (running, waiting, self.breaker.as_ref().map_or(0, |(config, state)| state.admits(config)))
            }

            /// How many waiters of the limiter and of the adaptive rate to wake.
            fn to_wake(&self) -> [u32; 2] {
                let limiter = self.limiter.as_ref().map_or(0, |(_, state)| state.to_wake());
                [limiter, self.adaptive.as_ref().map_or(0, |(_, state)| state.to_wake())]
            }

            /// Whom of the queue to wake.
            fn entrant(&self) -> Option<QueuePlace> {
                self.bulkhead.as_ref().and_then(|(config, places)| places.entrant(config))
            }

            fn unlock(&mut self) {
                $(self.$name = None;)*
            }

            #[inline(never)]
            fn parts(&mut self) -> holdoff_core::Guards<'_> {
                holdoff_core::Guards { $(
                    $name: self.$name.as_mut().map(|(config, kept)| {
                        let Kept { state, words } = &mut **kept;
                        config.lend(state, words)
                    }),
                )* }
            }
        }

        functions! { py;
            /// For pickle: the guard of that section of a document, with its state.
            fn unpickled_guard[
                section: &str, document: &Bound<'py, PyAny> as "str", state: &Bound<'py, PyBytes> as "bytes"
            ]() -> Returned<'py> as "object" = {
                let document = json::document(document, None)?;
                match section {
                    $($class::SECTION => super::unpickled::<$class>(&document, state),)*
                    _ => Err(PyTypeError::new_err(format!("{section} is no guard"))),
                }
            };

            /// For pickle: the set of these guards.
            fn unpickled_guards[
                guards: &Bound<'py, PyDict> as "dict[str, object]", names_budget: bool, key: Option<String>
            ]() -> PyResult<Guards> = {
                let made = Recipe::of(guards.as_mapping())?.make(py, 0, clock::now(py)?)?;
                Ok(Guards { names_budget, key, ..made })
            };
        }

        impl Guards {
            #[inline(never)]
            fn lock<'a>(&'a self, locked: &mut Locked<'a>) {
                $(locked.$name = self.$name.as_ref().map(|guard| guard.get().0.lock());)*
            }

            /// The names of the guards in this set.
            fn names(&self) -> Vec<&'static str> {
                [$(self.$name.as_ref().map(|_| $class::SECTION)),*].into_iter().flatten().collect()
            }

            fn resumed(self, saved: &Bound<'_, PyMapping>, now: Timestamp) -> PyResult<Self> {
                Ok(Self { $($name: resumed(self.$name, saved, now)?,)* ..self })
            }
        }

        methods! { Guards(self, py);
            new(; seed: Seed = None, now: Now = None; **guards as "Unpack[GuardOptions]") -> PyResult<Self> = {
                let (seed, now) = (seeds::of(seed)?, clock::at(py, now)?);
                Recipe::of_fields(py, guards)?.make(py, seed, now)
            };

            /// Guards with these options, or of this policy, with the states from `save`. Guards without a saved state are new.
            static restore(
                options: &Bound<'_, PyAny> as "GuardOptions | Policy",
                saved: &Bound<'_, PyMapping> as "Mapping[str, bytes]"; seed: Seed = None, now: Now = None
            ) -> PyResult<Self> = {
                let (seed, now) = (seeds::of(seed)?, clock::at(py, now)?);
                check_names(saved)?;
                let recipe = match options.cast::<Policy>() {
                    Ok(policy) => Recipe::of_builder(&policy.get().document.guards),
                    Err(_) => Recipe::of(options.cast::<PyMapping>()?)?,
                };
                recipe.make(py, seed, now)?.resumed(saved, now)
            };

            /// The state of each guard as bytes, by its name. A bulkhead has no state to save: running attempts are not saved.
            ref save(now: Now = None) -> PyResult<Bound<'py, PyDict>> as "dict[str, bytes]" = {
                let (states, now) = (PyDict::new(py), clock::at(py, now)?);
                $(save_into(&states, self.$name.as_ref(), now)?;)*
                Ok(states)
            };

            $(
                $(#[$doc])*
                get $name: Option<Py<$class>> = self.$name.as_ref().map(|guard| guard.clone_ref(py));
            )*

            special __repr__() -> String = {
                let names = self.names();
                format!("<Guards {}>", if names.is_empty() { "none".to_owned() } else { names.join(", ") })
            };

            /// Pickled with the guards and their states.
            special __reduce__() -> Returned<'py> = {
                let guards = PyDict::new(py);
                $(if let Some(guard) = &self.$name { guards.set_item($class::SECTION, guard)?; })*
                let make = py.import("holdoff._holdoff")?.getattr("unpickled_guards")?;
                Ok((make, (guards, self.names_budget, &self.key)).into_pyobject(py)?.into_any())
            };
        }
    };
}

each_guard!(set);

/// Each name must be that of a guard.
fn check_names(mapping: &Bound<'_, PyMapping>) -> PyResult<()> {
    for name in mapping.keys()? {
        let known = name.extract::<String>().is_ok_and(|name| SECTIONS.contains(&name.as_str()));
        if !known {
            let (known, name) = (SECTIONS.join(", "), config::shown(&name));
            return Err(PyTypeError::new_err(format!("{name} is no guard; there are {known}")));
        }
    }
    Ok(())
}

impl Recipe {
    pub(crate) fn of_fields(py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Self::of(options.unwrap_or(&PyDict::new(py)).as_mapping())
    }

    /// A set with a seed from the operating system; none if it is empty and names no budget.
    fn shared(&self, py: Python<'_>) -> PyResult<Option<Py<Guards>>> {
        let made = self.make(py, seeds::from_system()?, clock::now(py)?)?;
        if made.names().is_empty() && !made.names_budget { Ok(None) } else { Py::new(py, made).map(Some) }
    }
}

impl Guards {
    pub(crate) const fn hedges(&self) -> bool {
        self.hedge.is_some()
    }

    /// The lines of the bulkhead, the breaker, the limiter and the adaptive rate, at the number of the turn less one.
    fn lines(&self) -> [Option<&Arc<Line>>; 4] {
        let bulkhead = self.bulkhead.as_ref().map(|bulkhead| &bulkhead.get().0.line);
        let breaker = self.breaker.as_ref().map(|breaker| &breaker.get().0.line);
        let limiter = self.limiter.as_ref().map(|limiter| &limiter.get().0.line);
        [bulkhead, breaker, limiter, self.adaptive.as_ref().map(|adaptive| &adaptive.get().0.line)]
    }

    /// How often the waiters of each line have been notified.
    pub(crate) fn counts(&self) -> [u64; 4] {
        self.lines().map(|line| line.map_or(0, |line| line.count()))
    }

    /// How the call waits for others, if it does; the counts are from before its last transition.
    pub(crate) fn waiting(&self, call: &GuardedCall, seen: [u64; 4]) -> Option<Waiting> {
        let turn = call.awaited_turn()?;
        let at = turn.code() as usize - 1;
        let line = Arc::clone((*self.lines().get(at)?)?);
        let slot = match turn {
            Turn::Bulkhead(place) => place.as_raw(),
            _ => line.next_place(),
        };
        Some(Waiting { line, slot, seen: *seen.get(at)?, timed: matches!(turn, Turn::Limiter | Turn::Adaptive) })
    }

    /// The state of the breaker that listeners heard last, and the state at `now` if it is another one.
    pub(crate) fn breaker_change(&self, now: Timestamp) -> Option<(BreakerState, BreakerState)> {
        let breaker = &self.breaker.as_ref()?.get().0;
        let state = breaker.with(|config, state| state.state(config, now));
        let before = BreakerState::from_code(breaker.hear(state.code()).into())?;
        (before != state).then_some((before, state))
    }
}

/// Runs a transition with all guards of a set, or none, and notifies waiters if it freed a place. The transition must not run any
/// Python.
pub(crate) fn with_guards<T>(
    py: Python<'_>,
    guards: Option<&Guards>,
    transition: impl FnOnce(&mut holdoff_core::Guards<'_>) -> T,
) -> T {
    let Some(guards) = guards else { return transition(&mut holdoff_core::Guards::none()) };
    let mut locked = Locked::default();
    guards.lock(&mut locked);
    let before = locked.places();
    let answer = transition(&mut locked.parts());
    notify_freed(py, guards, &mut locked, before);
    answer
}

/// Unlocks the guards, and notifies waiters if there are fewer attempts or other waiters than before, or if the breaker lets more
/// through. A call that queues although there is a place reminds the first one of the queue, whose event loop may have closed.
#[inline(never)]
fn notify_freed(py: Python<'_>, guards: &Guards, locked: &mut Locked<'_>, before: (u32, u32, u32)) {
    let after = locked.places();
    let entrant = if after.0 < before.0 || after.1 != before.1 { locked.entrant() } else { None };
    let to_wake = locked.to_wake();
    locked.unlock();
    let [bulkhead, breaker, rates @ ..] = guards.lines();
    if let (Some(first), Some(line)) = (entrant, bulkhead) {
        line.let_in(py, first);
    }
    if let Some(line) = breaker {
        line.let_through(py, (before.2, after.2));
    }
    for (line, to_wake) in rates.into_iter().zip(to_wake) {
        if let Some(line) = line {
            line.let_through(py, (0, to_wake));
        }
    }
}

/// The guards of a policy's sections, the same ones each time; none if it has none.
pub(crate) fn of_policy(policy: &Bound<'_, Policy>) -> PyResult<Option<Py<Guards>>> {
    let py = policy.py();
    let policy = policy.get();
    if !policy.guarded {
        return Ok(None);
    }
    let made = policy.guards.get_or_try_init(py, || {
        let guards = Recipe::of_builder(&policy.document.guards.beside_loop()).shared(py)?;
        PyResult::Ok(guards.filter(|guards| !guards.get().names().is_empty()).map(Py::into_any))
    })?;
    made.as_ref().map(|guards| Ok(guards.bind(py).cast::<Guards>()?.clone().unbind())).transpose()
}

/// The guards of an option: a set, or the mapping of its options. None for an empty set.
pub(crate) fn of_option(value: &Bound<'_, PyAny>) -> PyResult<Option<Py<Guards>>> {
    if let Ok(guards) = value.cast::<Guards>() {
        let guards = guards.clone().unbind();
        let (empty, names_budget) = (guards.get().names().is_empty(), guards.get().names_budget);
        return Ok((!empty || names_budget).then_some(guards));
    }
    if let Ok(options) = value.cast::<PyMapping>() {
        return Recipe::of(options)?.shared(value.py());
    }
    Err(config::must_be("guards", "a holdoff.Guards or its options", value))
}
