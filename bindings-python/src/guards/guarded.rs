//! The loop of a call under guards as a machine, for loops and tests of one's own.

use super::set::Guards;
use crate::convert;
use crate::failure::Failure;
use crate::machine::{Step, ticket};
use crate::policy::Given;
use pyo3::prelude::*;

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

    fn __repr__(&self) -> String {
        format!("<GuardedCall attempt {}>", self.0.attempt())
    }
}
