//! A retry inside a retry as one machine.

use crate::convert;
use crate::failure::Failure;
use crate::machine::{Step, ticket};
use crate::policy::Given;
use holdoff_core::{Level, StopReason};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// What holds for a retry inside a retry: the policies of both levels, and what is between them.
#[pyclass(frozen, eq, module = "holdoff")]
#[derive(PartialEq)]
pub(crate) struct Layers(holdoff_core::Layers);

#[pymethods]
impl Layers {
    /// `attempts` caps both levels together; the outer one goes on after the reasons in `go_on_after` of the inner one:
    /// attempts, deadline and hint unless given.
    #[new]
    #[pyo3(signature = (outer, inner, *, attempts = None, go_on_after = None))]
    fn new(
        py: Python<'_>,
        outer: Given<'_>,
        inner: Given<'_>,
        attempts: Option<u32>,
        go_on_after: Option<Vec<String>>,
    ) -> PyResult<Self> {
        let (outer, inner) = (*outer.core(), *inner.core());
        let mut layers = match attempts {
            Some(attempts) => crate::config::valid(py, holdoff_core::Layers::new(outer, inner, attempts))?,
            None => holdoff_core::Layers::uncapped(outer, inner),
        };
        if let Some(words) = go_on_after {
            for word in &words {
                reason(word)?;
            }
            for reason in StopReason::ALL {
                layers = layers.go_on_after(reason, words.iter().any(|word| word == reason.name()));
            }
        }
        Ok(Self(layers))
    }

    /// The most attempts there can be over both levels; None without a limit.
    #[getter]
    fn attempts(&self) -> Option<u32> {
        self.0.attempts()
    }

    fn __repr__(&self) -> String {
        match self.0.attempts() {
            Some(attempts) => format!("<Layers at most {attempts} attempts>"),
            None => "<Layers attempts for ever>".to_owned(),
        }
    }
}

fn reason(word: &str) -> PyResult<StopReason> {
    match StopReason::ALL.into_iter().find(|known| known.name() == word) {
        Some(reason) => Ok(reason),
        None => Err(PyValueError::new_err(format!("{word:?} is no reason to stop"))),
    }
}

/// A call inside a call, from the first attempt to the end; driven as a `Call` is.
#[pyclass(module = "holdoff")]
pub(crate) struct Layered(holdoff_core::Layered);

#[pymethods]
impl Layered {
    /// Begin: the machine and its first step, the first attempt of both levels.
    #[staticmethod]
    fn begin(layers: &Bound<'_, Layers>, seed: &Bound<'_, PyAny>, now: &Bound<'_, PyAny>) -> PyResult<(Self, Step)> {
        let (seed, now) = (convert::seed("seed", seed)?, convert::time("now", now)?);
        let (layered, step) = holdoff_core::Layered::begin(&layers.get().0, seed, now);
        Ok((Self(layered), Step(step)))
    }

    /// One whose first attempt, ticket 1, runs since then.
    #[staticmethod]
    fn underway(layers: &Bound<'_, Layers>, seed: &Bound<'_, PyAny>, started: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (seed, started) = (convert::seed("seed", seed)?, convert::time("started", started)?);
        Ok(Self(holdoff_core::Layered::underway(&layers.get().0, seed, started)))
    }

    /// The attempt with this ticket succeeded.
    fn succeed(&mut self, ticket: &Bound<'_, PyAny>, now: &Bound<'_, PyAny>) -> PyResult<Step> {
        Ok(Step(self.0.succeed(self::ticket(ticket)?, convert::time("now", now)?)))
    }

    /// The attempt with this ticket failed. `outward` is what the outer level is told if the inner one gives up now,
    /// whatever the reason.
    #[pyo3(signature = (layers, ticket, now, failure, *, outward = None))]
    fn fail(
        &mut self,
        layers: &Bound<'_, Layers>,
        ticket: &Bound<'_, PyAny>,
        now: &Bound<'_, PyAny>,
        failure: &Bound<'_, Failure>,
        outward: Option<&Bound<'_, Failure>>,
    ) -> PyResult<Step> {
        let (ticket, now) = (self::ticket(ticket)?, convert::time("now", now)?);
        let (layers, failure) = (&layers.get().0, failure.get().0);
        Ok(Step(match outward {
            Some(outward) => self.0.fail_as(layers, ticket, now, failure, outward.get().0),
            None => self.0.fail(layers, ticket, now, failure),
        }))
    }

    /// Why the inner level would give up if the attempt with this ticket failed like that; None when it would not.
    fn would_give_up(
        &self,
        layers: &Bound<'_, Layers>,
        ticket: &Bound<'_, PyAny>,
        now: &Bound<'_, PyAny>,
        failure: &Bound<'_, Failure>,
    ) -> PyResult<Option<&'static str>> {
        let (ticket, now) = (self::ticket(ticket)?, convert::time("now", now)?);
        Ok(self.0.would_give_up(&layers.get().0, ticket, now, failure.get().0).map(StopReason::name))
    }

    /// Time has passed: the next attempt, when its sleep is over.
    fn tick(&mut self, layers: &Bound<'_, Layers>, now: &Bound<'_, PyAny>) -> PyResult<Step> {
        Ok(Step(self.0.tick(&layers.get().0, convert::time("now", now)?)))
    }

    /// The caller wants no more of it.
    fn cancel(&mut self, now: &Bound<'_, PyAny>) -> PyResult<Step> {
        Ok(Step(self.0.cancel(convert::time("now", now)?)))
    }

    /// Nanoseconds still to sleep; 0 when it does not sleep.
    fn remaining(&self, now: &Bound<'_, PyAny>) -> PyResult<u64> {
        Ok(self.0.remaining(convert::time("now", now)?).as_nanos())
    }

    /// The attempt in flight or the last one that ran, over both levels; from 1.
    #[getter]
    fn attempt(&self) -> u32 {
        self.0.attempt()
    }

    /// The attempt of the outer level, from 1.
    #[getter]
    fn outer_attempt(&self) -> u32 {
        self.0.outer_attempt()
    }

    /// The attempt of the inner level in this attempt of the outer, from 1.
    #[getter]
    fn inner_attempt(&self) -> u32 {
        self.0.inner_attempt()
    }

    /// Which level gave up: "inner", "outer", "cap" (a level would have gone on); None unless one did.
    #[getter]
    fn stopped_by(&self) -> Option<&'static str> {
        self.0.stopped_by().map(Level::name)
    }

    /// Why the inner level last gave up; None when it has not.
    #[getter]
    fn inner_reason(&self) -> Option<&'static str> {
        self.0.inner_reason().map(StopReason::name)
    }

    fn __repr__(&self) -> String {
        format!("<Layered attempt {} ({} of {})>", self.attempt(), self.inner_attempt(), self.outer_attempt())
    }
}
