//! What many calls share: each guard is a class of its own, with a lock around one transition of the core's machine.
//!
//! A lock is never held while Python runs, and several are taken in one order: budget, breaker, limiter, adaptive, bulkhead,
//! stretch, hedge.

use crate::config;
use crate::{clock, convert, save};
use holdoff_core::{ConfigError, GuardsBuilder, SaveError, Timestamp};
use pyo3::PyClass;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;
use pyo3::types::{PyBytes, PyDict};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) mod bell;
pub(crate) mod breaker;
pub(crate) mod budget;
pub(crate) mod bulkhead;
pub(crate) mod guarded;
pub(crate) mod hedge;
pub(crate) mod keyed;
pub(crate) mod nested;
pub(crate) mod rates;
pub(crate) mod set;
pub(crate) mod stretch;

/// A configuration and a state of which there is one at a time.
pub(crate) struct Shared<C, S> {
    config: C,
    state: Mutex<S>,
}

impl<C, S> Shared<C, S> {
    pub(crate) const fn new(config: C, state: S) -> Self {
        Self { config, state: Mutex::new(state) }
    }

    #[inline]
    pub(crate) fn lock(&self) -> (&C, MutexGuard<'_, S>) {
        (&self.config, self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) const fn config(&self) -> &C {
        &self.config
    }
}

/// A guard as a class: what a set of them needs to know of it.
pub(crate) trait Guard: PyClass<Frozen = True> + Into<PyClassInitializer<Self>> + Sync {
    /// Its name in a document.
    const SECTION: &'static str;

    /// The guard of the builder's section, fresh at `now`; none where there is no such section.
    fn fresh(builder: &GuardsBuilder, seed: u64, now: Timestamp) -> Result<Option<Self>, ConfigError>;

    /// Its state as bytes.
    fn bytes(&self, now: Timestamp) -> Vec<u8>;

    /// The guard again, of what was saved.
    fn again(&self, bytes: &[u8], now: Timestamp) -> Result<Self, SaveError>;
}

/// What is wrong with a guard that says nothing of itself: a section whose kind is "none".
fn none<G: Guard>() -> PyErr {
    PyTypeError::new_err(format!("there is no {} of kind \"none\"; leave it out", G::SECTION))
}

/// A guard with that configuration.
fn made<G: Guard>(
    py: Python<'_>,
    given: Option<&Bound<'_, PyAny>>,
    fields: Option<&Bound<'_, PyDict>>,
    seed: Option<&Bound<'_, PyAny>>,
    now: Option<&Bound<'_, PyAny>>,
) -> PyResult<G> {
    let builder = config::guard(py, G::SECTION, given, fields.map(|fields| fields.as_mapping()))?;
    let (seed, now) = (crate::seeds::given(seed)?, clock::given(py, now)?);
    config::valid(py, G::fresh(&builder, seed, now))?.ok_or_else(none::<G>)
}

fn saved<'py, G: Guard>(py: Python<'py>, guard: &G, now: Option<&Bound<'_, PyAny>>) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(py, &guard.bytes(clock::given(py, now)?)))
}

fn restored<G: Guard>(
    given: &Bound<'_, PyAny>,
    bytes: &Bound<'_, PyBytes>,
    seed: Option<&Bound<'_, PyAny>>,
    now: Option<&Bound<'_, PyAny>>,
) -> PyResult<G> {
    let py = given.py();
    let guard: G = made(py, Some(given), None, seed, now)?;
    save::resumed(py, guard.again(bytes.as_bytes(), clock::given(py, now)?))
}

/// Nanoseconds, as an argument.
fn span(name: &str, value: &Bound<'_, PyAny>) -> PyResult<holdoff_core::Span> {
    convert::time(name, value).map(|nanos| holdoff_core::Span::from_nanos(nanos.as_nanos()))
}
