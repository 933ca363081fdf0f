//! The loop of a call under guards as a machine, for loops and tests of one's own.

use super::set::Guards;
use crate::failure::Failure;
use crate::machine::{Step, ticket};
use crate::policy::Given;
use crate::{convert, save};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// The whole loop of a call that shares guards with others, or that hedges; driven as a `Call` is, see the guide for what is
/// more in its contract.
#[pyclass(module = "holdoff")]
pub(crate) struct GuardedCall(holdoff_core::Guarded);

#[pymethods]
impl GuardedCall {
    /// Begin a call: the machine and its first step, which may be a sleep or a stop.
    #[staticmethod]
    fn begin(
        py: Python<'_>,
        policy: Given<'_>,
        guards: &Bound<'_, Guards>,
        seed: &Bound<'_, PyAny>,
        now: &Bound<'_, PyAny>,
    ) -> PyResult<(Self, Step)> {
        let (seed, now) = (convert::seed("seed", seed)?, convert::time("now", now)?);
        let (call, step) =
            guards.get().lend(py, |guards| holdoff_core::Guarded::begin(policy.core(), guards, seed, now));
        Ok((Self(call), Step(step)))
    }

    /// The attempt with this ticket succeeded: the call is over.
    fn succeed(
        &mut self,
        py: Python<'_>,
        guards: &Bound<'_, Guards>,
        ticket: &Bound<'_, PyAny>,
        now: &Bound<'_, PyAny>,
    ) -> PyResult<Step> {
        let (ticket, now) = (self::ticket(ticket)?, convert::time("now", now)?);
        Ok(Step(guards.get().lend(py, |guards| self.0.succeed(guards, ticket, now))))
    }

    /// The attempt with this ticket failed.
    fn fail(
        &mut self,
        policy: Given<'_>,
        guards: &Bound<'_, Guards>,
        ticket: &Bound<'_, PyAny>,
        now: &Bound<'_, PyAny>,
        failure: &Bound<'_, Failure>,
    ) -> PyResult<Step> {
        let (ticket, now, failure) = (self::ticket(ticket)?, convert::time("now", now)?, failure.get().0);
        let py = guards.py();
        Ok(Step(guards.get().lend(py, |guards| self.0.fail(policy.core(), guards, ticket, now, failure))))
    }

    /// The attempt with this ticket ended in a way that says nothing about the other side.
    fn abandon(
        &mut self,
        py: Python<'_>,
        guards: &Bound<'_, Guards>,
        ticket: &Bound<'_, PyAny>,
        now: &Bound<'_, PyAny>,
    ) -> PyResult<Step> {
        let (ticket, now) = (self::ticket(ticket)?, convert::time("now", now)?);
        Ok(Step(guards.get().lend(py, |guards| self.0.abandon(guards, ticket, now))))
    }

    /// Time has passed, or a place in the bulkhead has come free.
    fn tick(
        &mut self,
        py: Python<'_>,
        policy: Given<'_>,
        guards: &Bound<'_, Guards>,
        now: &Bound<'_, PyAny>,
    ) -> PyResult<Step> {
        let now = convert::time("now", now)?;
        Ok(Step(guards.get().lend(py, |guards| self.0.tick(policy.core(), guards, now))))
    }

    /// The caller wants no more of it. Whoever drops a call before it stops says so.
    fn cancel(&mut self, py: Python<'_>, guards: &Bound<'_, Guards>, now: &Bound<'_, PyAny>) -> PyResult<Step> {
        let now = convert::time("now", now)?;
        Ok(Step(guards.get().lend(py, |guards| self.0.cancel(guards, now))))
    }

    /// Nanoseconds still to sleep; 0 when it does not sleep.
    fn remaining(&self, now: &Bound<'_, PyAny>) -> PyResult<u64> {
        Ok(self.0.remaining(convert::time("now", now)?).as_nanos())
    }

    /// How many attempts have been started.
    #[getter]
    fn attempt(&self) -> u32 {
        self.0.attempt()
    }

    /// How many attempts are in flight.
    #[getter]
    fn flying(&self) -> u32 {
        self.0.flying()
    }

    /// When the call began.
    #[getter]
    fn started(&self) -> u64 {
        self.0.started().as_nanos()
    }

    /// The state at that time as bytes that last, those of a `Call`. What it holds of its guards is not in it.
    fn save<'py>(&self, py: Python<'py>, policy: Given<'_>, now: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.call().save(policy.core(), save::now(now)?)))
    }

    /// The state at that time as JSON text.
    fn to_json(&self, policy: Given<'_>, now: &Bound<'_, PyAny>) -> PyResult<String> {
        Ok(self.0.call().saved(policy.core(), save::now(now)?).to_string())
    }

    /// The state at that time as a dict: the fields of its JSON.
    fn to_dict<'py>(&self, py: Python<'py>, policy: Given<'_>, now: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        save::fields(py, &self.0.call().saved(policy.core(), save::now(now)?))
    }

    /// What was saved, of this or of a `Call`, under these guards: as `Call.resume`.
    #[staticmethod]
    #[pyo3(signature = (state, policy, guards, now, *, away = None, force = false))]
    fn resume(
        state: &Bound<'_, PyAny>,
        policy: Given<'_>,
        guards: &Bound<'_, Guards>,
        now: &Bound<'_, PyAny>,
        away: Option<&Bound<'_, PyAny>>,
        force: bool,
    ) -> PyResult<Self> {
        let (py, core) = (state.py(), policy.core());
        let saved = save::read(state, core, away, force)?;
        let now = save::now(now)?;
        let call = save::resumed(py, saved.call(core, now))?;
        Ok(Self(guards.get().lend(py, |guards| holdoff_core::Guarded::resume(core, guards, &call, now))))
    }

    /// For a transition that may have to be made again, with guards that others have changed meanwhile.
    fn __copy__(&self) -> Self {
        Self(self.0)
    }

    fn __repr__(&self) -> String {
        format!("<GuardedCall attempt {}>", self.0.attempt())
    }
}
