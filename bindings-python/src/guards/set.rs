//! The guards of many calls together: any of them, each its own object or made from a configuration.

use super::Guard;
use super::bell::Bell;
use super::breaker::Breaker;
use super::budget::Budget;
use super::bulkhead::Bulkhead;
use super::hedge::Hedge;
use super::rates::{Adaptive, Limiter};
use super::stretch::Stretch;
use crate::policy::Policy;
use crate::{clock, config, convert, save, seeds};
use holdoff_core::{GuardsBuilder, Permit, Span, Timestamp, Verdict};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyMapping};

/// The names of all guards, in the order in which their locks are taken.
const SECTIONS: [&str; 7] = [
    Budget::SECTION,
    Breaker::SECTION,
    Limiter::SECTION,
    Adaptive::SECTION,
    Bulkhead::SECTION,
    Stretch::SECTION,
    Hedge::SECTION,
];

/// Guards that calls share: any of them, each a configuration or a guard that others share too.
#[pyclass(frozen, module = "holdoff")]
pub(crate) struct Guards {
    budget: Option<Py<Budget>>,
    breaker: Option<Py<Breaker>>,
    limiter: Option<Py<Limiter>>,
    adaptive: Option<Py<Adaptive>>,
    bulkhead: Option<Py<Bulkhead>>,
    stretch: Option<Py<Stretch>>,
    hedge: Option<Py<Hedge>>,
    /// There is a breaker and nothing else, and it is of no interest how long a call takes.
    pub(crate) only_breaker: bool,
}

/// What each guard is made of: guards that others share too, and configurations.
pub(crate) struct Recipe {
    budget: Source<Budget>,
    breaker: Source<Breaker>,
    limiter: Source<Limiter>,
    adaptive: Source<Adaptive>,
    bulkhead: Source<Bulkhead>,
    stretch: Source<Stretch>,
    hedge: Source<Hedge>,
}

enum Source<G> {
    /// One that others may share.
    Object(Py<G>),
    /// One of this set's own, where the builder has such a section.
    Config(Box<GuardsBuilder>),
    Nothing,
}

impl<G: Guard + pyo3::PyTypeInfo> Source<G> {
    fn of(options: &Bound<'_, PyMapping>) -> PyResult<Self> {
        if !options.contains(G::SECTION)? {
            return Ok(Self::Nothing);
        }
        let value = options.get_item(G::SECTION)?;
        if value.is_none() {
            return Ok(Self::Nothing);
        }
        if value.cast::<PyMapping>().is_ok_and(|fields| fields.is_empty().unwrap_or(false)) {
            // As good as not given, as an empty section of a document is (spec 32.2).
            return Ok(Self::Nothing);
        }
        if let Ok(guard) = value.cast::<G>() {
            return Ok(Self::Object(guard.clone().unbind()));
        }
        let builder = config::guard(value.py(), G::SECTION, Some(&value), None)?;
        Ok(Self::Config(Box::new(builder)))
    }

    fn make(&self, py: Python<'_>, seed: u64, now: Timestamp) -> PyResult<Option<Py<G>>> {
        match self {
            Self::Nothing => Ok(None),
            Self::Object(guard) => Ok(Some(guard.clone_ref(py))),
            Self::Config(builder) => {
                let guard = config::valid(py, G::fresh(builder, seed, now))?;
                guard.map(|guard| Py::new(py, guard)).transpose()
            }
        }
    }
}

/// Each name must be that of a guard.
fn check_names(mapping: &Bound<'_, PyMapping>) -> PyResult<()> {
    for name in mapping.keys()? {
        let known = name.extract::<String>().is_ok_and(|name| SECTIONS.contains(&name.as_str()));
        if !known {
            let (known, name) = (SECTIONS.join(", "), name.repr()?);
            return Err(PyTypeError::new_err(format!("{name} is no guard; there are {known}")));
        }
    }
    Ok(())
}

impl Recipe {
    /// Of options by their names; those of a policy that have nothing to do with guards only where it is one.
    fn of(options: &Bound<'_, PyMapping>) -> PyResult<Self> {
        check_names(options)?;
        Ok(Self {
            budget: Source::of(options)?,
            breaker: Source::of(options)?,
            limiter: Source::of(options)?,
            adaptive: Source::of(options)?,
            bulkhead: Source::of(options)?,
            stretch: Source::of(options)?,
            hedge: Source::of(options)?,
        })
    }

    pub(crate) fn of_fields(py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        match options {
            Some(options) => Self::of(options.as_mapping()),
            None => Self::of(PyDict::new(py).as_mapping()),
        }
    }

    /// Of a policy's own sections.
    fn of_builder(builder: &GuardsBuilder) -> Self {
        let of = || Box::new(*builder);
        Self {
            budget: Source::Config(of()),
            breaker: Source::Config(of()),
            limiter: Source::Config(of()),
            adaptive: Source::Config(of()),
            bulkhead: Source::Config(of()),
            stretch: Source::Config(of()),
            hedge: Source::Config(of()),
        }
    }

    pub(crate) fn make(&self, py: Python<'_>, seed: u64, now: Timestamp) -> PyResult<Guards> {
        let made = Guards {
            budget: self.budget.make(py, seed, now)?,
            breaker: self.breaker.make(py, seed, now)?,
            limiter: self.limiter.make(py, seed, now)?,
            adaptive: self.adaptive.make(py, seed, now)?,
            bulkhead: self.bulkhead.make(py, seed, now)?,
            stretch: self.stretch.make(py, seed, now)?,
            hedge: self.hedge.make(py, seed, now)?,
            only_breaker: false,
        };
        Ok(made.looked_at())
    }
}

/// A guard and what was saved of it.
fn renewed<G: Guard>(
    py: Python<'_>,
    guard: Option<Py<G>>,
    saved: &Bound<'_, PyMapping>,
    now: Timestamp,
) -> PyResult<Option<Py<G>>> {
    let Some(guard) = guard else { return Ok(None) };
    if !saved.contains(G::SECTION)? {
        return Ok(Some(guard));
    }
    let bytes = saved.get_item(G::SECTION)?;
    let again = guard.get().again(bytes.cast::<PyBytes>()?.as_bytes(), now);
    Ok(Some(Py::new(py, save::resumed(py, again)?)?))
}

impl Guards {
    /// The guards of a policy's sections; none where it has none.
    pub(crate) fn of_builder(py: Python<'_>, builder: &GuardsBuilder) -> PyResult<Option<Py<Self>>> {
        let made = Recipe::of_builder(builder).make(py, seeds::given(None)?, clock::now(py)?)?;
        if made.is_empty() { Ok(None) } else { Py::new(py, made).map(Some) }
    }

    fn looked_at(self) -> Self {
        let others = self.budget.is_some()
            || self.limiter.is_some()
            || self.adaptive.is_some()
            || self.bulkhead.is_some()
            || self.stretch.is_some()
            || self.hedge.is_some();
        let only_breaker = !others && self.breaker.as_ref().is_some_and(|breaker| breaker.get().untimed);
        Self { only_breaker, ..self }
    }

    fn is_empty(&self) -> bool {
        self.budget.is_none()
            && self.breaker.is_none()
            && self.limiter.is_none()
            && self.adaptive.is_none()
            && self.bulkhead.is_none()
            && self.stretch.is_none()
            && self.hedge.is_none()
    }

    pub(crate) const fn hedges(&self) -> bool {
        self.hedge.is_some()
    }

    /// Whom to ask to be woken when a place comes free.
    pub(crate) fn bell(&self) -> Option<&Py<Bell>> {
        self.bulkhead.as_ref().map(|bulkhead| &bulkhead.get().bell)
    }

    /// Lends all guards for one transition, which must not run any Python, and wakes whoever waits for a place that has come
    /// free by it.
    pub(crate) fn lend<T>(&self, py: Python<'_>, transition: impl FnOnce(&mut holdoff_core::Guards<'_>) -> T) -> T {
        let mut budget = self.budget.as_ref().map(|guard| guard.get().0.lock());
        let mut breaker = self.breaker.as_ref().map(|guard| guard.get().shared.lock());
        let mut limiter = self.limiter.as_ref().map(|guard| guard.get().0.lock());
        let mut adaptive = self.adaptive.as_ref().map(|guard| guard.get().0.lock());
        let mut bulkhead = self.bulkhead.as_ref().map(|guard| guard.get().shared.lock());
        let mut stretch = self.stretch.as_ref().map(|guard| guard.get().0.lock());
        let mut hedge = self.hedge.as_ref().map(|guard| guard.get().0.lock());
        let before = bulkhead.as_ref().map_or((0, 0), |(_, state)| (state.running(), state.waiting()));
        let answer = transition(&mut holdoff_core::Guards {
            budget: budget.as_mut().map(|(config, state)| (*config, &mut **state)),
            breaker: breaker.as_mut().map(|(config, state)| (*config, &mut **state)),
            limiter: limiter.as_mut().map(|(config, state)| {
                let (limiter, room) = &mut **state;
                (*config, limiter, room.as_mut_slice())
            }),
            adaptive: adaptive.as_mut().map(|(config, state)| (*config, &mut **state)),
            bulkhead: bulkhead.as_mut().map(|(config, state)| (*config, &mut **state)),
            stretch: stretch.as_mut().map(|(config, state)| (*config, &mut **state)),
            hedge: hedge.as_mut().map(|(config, state)| (*config, &mut **state)),
        });
        let after = bulkhead.as_ref().map_or((0, 0), |(_, state)| (state.running(), state.waiting()));
        drop((budget, breaker, limiter, adaptive, bulkhead, stretch, hedge));
        if after.1 > 0
            && (after.0 < before.0 || after.1 < before.1)
            && let Some(bell) = self.bell()
        {
            bell.get().ring(py);
        }
        answer
    }

    /// A permit of the breaker alone while it is closed, for which no clock is read and nothing changes.
    #[inline]
    pub(crate) fn acquire_closed(&self) -> Option<Permit> {
        self.breaker.as_ref()?.get().shared.lock().1.acquire_closed()
    }

    /// The attempt with such a permit succeeded.
    #[inline]
    pub(crate) fn record_success(&self, py: Python<'_>, permit: Permit) -> PyResult<()> {
        let Some(breaker) = &self.breaker else { return Ok(()) };
        let breaker = breaker.get();
        // Earlier times read as the latest one.
        let now = if breaker.forgets_successes { Timestamp::ZERO } else { clock::now(py)? };
        let (config, mut state) = breaker.shared.lock();
        state.record(config, permit, now, Verdict::Success, Span::ZERO);
        Ok(())
    }

    /// The call that such a permit was the beginning of.
    pub(crate) fn begun(
        &self,
        policy: &holdoff_core::Policy,
        permit: Permit,
        seed: u64,
        started: Timestamp,
    ) -> Option<holdoff_core::Guarded> {
        let (config, breaker) = self.breaker.as_ref()?.get().shared.lock();
        let config = *config;
        // One that gives the same permit: as it is now, unless the permit is void; then a new one, whose first is so too.
        let now = breaker.acquire_closed().filter(|now| *now == permit).map(|_| *breaker);
        drop(breaker);
        let mut breaker = now.unwrap_or_else(|| holdoff_core::Breaker::new(&config, 0, started));
        let mut guards =
            holdoff_core::Guards { breaker: Some((&config, &mut breaker)), ..holdoff_core::Guards::none() };
        Some(holdoff_core::Guarded::begin(policy, &mut guards, seed, started).0)
    }
}

#[pymethods]
impl Guards {
    #[new]
    #[pyo3(signature = (*, seed = None, now = None, **guards))]
    fn new(
        py: Python<'_>,
        seed: Option<&Bound<'_, PyAny>>,
        now: Option<&Bound<'_, PyAny>>,
        guards: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let (seed, now) = (seeds::given(seed)?, clock::given(py, now)?);
        Recipe::of_fields(py, guards)?.make(py, seed, now)
    }

    /// Guards with those options, or of that policy, in the state that `save` said; what was not saved is fresh.
    #[staticmethod]
    #[pyo3(signature = (options, saved, *, seed = None, now = None))]
    fn restore(
        options: &Bound<'_, PyAny>,
        saved: &Bound<'_, PyMapping>,
        seed: Option<&Bound<'_, PyAny>>,
        now: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let py = options.py();
        let (seed, now) = (seeds::given(seed)?, clock::given(py, now)?);
        check_names(saved)?;
        let recipe = match options.cast::<Policy>() {
            Ok(policy) => Recipe::of_builder(&policy.get().document().guards),
            Err(_) => Recipe::of(options.cast::<PyMapping>()?)?,
        };
        let made = recipe.make(py, seed, now)?;
        Ok(Self {
            budget: renewed(py, made.budget, saved, now)?,
            breaker: renewed(py, made.breaker, saved, now)?,
            limiter: renewed(py, made.limiter, saved, now)?,
            adaptive: renewed(py, made.adaptive, saved, now)?,
            stretch: renewed(py, made.stretch, saved, now)?,
            hedge: renewed(py, made.hedge, saved, now)?,
            ..made
        })
    }

    /// The state of each guard as bytes that last, by its name. A bulkhead has none: what runs is not kept.
    #[pyo3(signature = (now = None))]
    fn save<'py>(&self, py: Python<'py>, now: Option<&Bound<'_, PyAny>>) -> PyResult<Bound<'py, PyDict>> {
        fn put<G: Guard>(saved: &Bound<'_, PyDict>, guard: Option<&Py<G>>, now: Timestamp) -> PyResult<()> {
            let Some(guard) = guard else { return Ok(()) };
            saved.set_item(G::SECTION, PyBytes::new(saved.py(), &guard.get().bytes(now)))
        }
        let (saved, now) = (PyDict::new(py), clock::given(py, now)?);
        put(&saved, self.budget.as_ref(), now)?;
        put(&saved, self.breaker.as_ref(), now)?;
        put(&saved, self.limiter.as_ref(), now)?;
        put(&saved, self.adaptive.as_ref(), now)?;
        put(&saved, self.stretch.as_ref(), now)?;
        put(&saved, self.hedge.as_ref(), now)?;
        Ok(saved)
    }

    /// The budget, if there is one; so with the others.
    #[getter]
    fn budget(&self) -> Option<&Py<Budget>> {
        self.budget.as_ref()
    }

    /// The breaker.
    #[getter]
    fn breaker(&self) -> Option<&Py<Breaker>> {
        self.breaker.as_ref()
    }

    /// The limiter.
    #[getter]
    fn limiter(&self) -> Option<&Py<Limiter>> {
        self.limiter.as_ref()
    }

    /// The adaptive rate.
    #[getter]
    fn adaptive(&self) -> Option<&Py<Adaptive>> {
        self.adaptive.as_ref()
    }

    /// The bulkhead.
    #[getter]
    fn bulkhead(&self) -> Option<&Py<Bulkhead>> {
        self.bulkhead.as_ref()
    }

    /// The stretch.
    #[getter]
    fn stretch(&self) -> Option<&Py<Stretch>> {
        self.stretch.as_ref()
    }

    /// The hedge.
    #[getter]
    fn hedge(&self) -> Option<&Py<Hedge>> {
        self.hedge.as_ref()
    }

    fn __repr__(&self) -> String {
        let there = [
            self.budget.is_some(),
            self.breaker.is_some(),
            self.limiter.is_some(),
            self.adaptive.is_some(),
            self.bulkhead.is_some(),
            self.stretch.is_some(),
            self.hedge.is_some(),
        ];
        let names: Vec<_> = SECTIONS.iter().zip(there).filter(|(_, there)| *there).map(|(name, _)| *name).collect();
        format!("<Guards {}>", if names.is_empty() { "none".to_owned() } else { names.join(", ") })
    }
}

/// The guards that an option names: a set of them, or the mapping that one is made of.
///
/// None of an empty one.
pub(crate) fn given(value: &Bound<'_, PyAny>) -> PyResult<Option<Py<Guards>>> {
    let py = value.py();
    if let Ok(guards) = value.cast::<Guards>() {
        return Ok((!guards.get().is_empty()).then(|| guards.clone().unbind()));
    }
    if let Ok(options) = value.cast::<PyMapping>() {
        let made = Recipe::of(options)?.make(py, seeds::given(None)?, clock::now(py)?)?;
        return if made.is_empty() { Ok(None) } else { Py::new(py, made).map(Some) };
    }
    Err(PyTypeError::new_err(format!(
        "guards must be a holdoff.Guards or its options, not {}",
        convert::type_name(value)
    )))
}
