//! The loop of a call under guards as a machine, for loops and tests of one's own.

use super::set::Guards;
use crate::failure::Failure;
use crate::machine::Step;
use crate::parameters::{Duration, SeedNumber, TicketNumber, Time};
use crate::policy::PolicyOrName;
use crate::rows::getters;
use crate::save;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// The whole loop of a call that shares guards with others, or that hedges; driven as a `Call` is, with the additions that the
/// guide names.
#[pyclass(module = "holdoff")]
pub(crate) struct GuardedCall(holdoff_core::GuardedCall);

#[pymethods]
impl GuardedCall {
    /// Begin a call: the machine and its first step, which may be a sleep or a stop.
    #[staticmethod]
    fn begin(py: Python<'_>, policy: PolicyOrName<'_>, guards: &Guards, seed: SeedNumber, now: Time) -> (Self, Step) {
        let (call, step) =
            guards.lend(py, |guards| holdoff_core::GuardedCall::begin(policy.core(), guards, seed.0, now.0));
        (Self(call), Step(step))
    }

    /// The attempt with this ticket succeeded: the call is over.
    fn succeed(&mut self, py: Python<'_>, guards: &Guards, ticket: TicketNumber, now: Time) -> Step {
        Step(guards.lend(py, |guards| self.0.succeed(guards, ticket.0, now.0)))
    }

    /// The attempt with this ticket failed.
    fn fail(
        &mut self,
        py: Python<'_>,
        policy: PolicyOrName<'_>,
        guards: &Guards,
        ticket: TicketNumber,
        now: Time,
        failure: &Failure,
    ) -> Step {
        Step(guards.lend(py, |guards| self.0.fail(policy.core(), guards, ticket.0, now.0, failure.0)))
    }

    /// The attempt with this ticket ended without a result that guards should count.
    fn abandon(&mut self, py: Python<'_>, guards: &Guards, ticket: TicketNumber, now: Time) -> Step {
        Step(guards.lend(py, |guards| self.0.abandon(guards, ticket.0, now.0)))
    }

    /// Time has passed, or a place in the bulkhead has come free.
    fn tick(&mut self, py: Python<'_>, policy: PolicyOrName<'_>, guards: &Guards, now: Time) -> Step {
        Step(guards.lend(py, |guards| self.0.tick(policy.core(), guards, now.0)))
    }

    /// The caller cancels the call. Hosts that drop a call before it stops must cancel it.
    fn cancel(&mut self, py: Python<'_>, guards: &Guards, now: Time) -> Step {
        Step(guards.lend(py, |guards| self.0.cancel(guards, now.0)))
    }

    /// Nanoseconds still to sleep; 0 when the call does not sleep.
    fn remaining(&self, now: Time) -> u64 {
        self.0.remaining(now.0).as_nanos()
    }

    /// The state at that time as bytes, those of a `Call`, without its permits of the guards.
    fn save<'py>(&self, py: Python<'py>, policy: PolicyOrName<'_>, now: Time) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.call().save(policy.core(), now.0))
    }

    /// The state at that time as JSON text.
    fn to_json(&self, policy: PolicyOrName<'_>, now: Time) -> String {
        self.0.call().saved(policy.core(), now.0).to_string()
    }

    /// The state at that time as a dict: the fields of its JSON.
    #[pyo3(signature = (policy, now) -> "dict[str, str | int]")]
    fn to_dict<'py>(&self, py: Python<'py>, policy: PolicyOrName<'_>, now: Time) -> PyResult<Bound<'py, PyDict>> {
        save::fields(py, &self.0.call().saved(policy.core(), now.0))
    }

    /// Resumes a saved state, of this or of a `Call`, under these guards: as `Call.resume`.
    #[staticmethod]
    #[pyo3(signature = (state: "bytes | str | Mapping[str, Any]", policy, guards, now, *, away = None, force = false))]
    fn resume(
        state: &Bound<'_, PyAny>,
        policy: PolicyOrName<'_>,
        guards: &Guards,
        now: Time,
        away: Option<Duration<'_, '_>>,
        force: bool,
    ) -> PyResult<Self> {
        let (py, core) = (state.py(), policy.core());
        let call = save::resumed(py, save::read(state, core, away, force)?.call(core, now.0))?;
        Ok(Self(guards.lend(py, |guards| holdoff_core::GuardedCall::resume(core, guards, &call, now.0))))
    }

    /// A copy, for a transition that may have to be made again with guards that others have changed meanwhile.
    fn __copy__(&self) -> Self {
        Self(self.0)
    }

    fn __repr__(&self) -> String {
        format!("<GuardedCall attempt {}>", self.0.attempt())
    }
}

getters! { GuardedCall as call:
    /// How many attempts have been started.
    attempt: u32 = call.0.attempt();

    /// How many attempts are in flight.
    flying: u32 = call.0.flying();

    /// When the call began.
    started: u64 = call.0.started().as_nanos();
}
