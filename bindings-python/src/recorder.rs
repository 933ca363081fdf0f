//! A call that says what to write down, and the same call again from what was written.

use crate::event::{Event, event_error};
use crate::failure::Failure;
use crate::guards::set::Guards;
use crate::machine::{Call, Step, ticket};
use crate::policy::Given;
use crate::{convert, save};
use holdoff_core::{EventReader, Recorded, Replay, ReplayError, ReplayMode};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyTuple, PyType};

/// What a transition says: the step that holds now, and the events to be written down before anything else is done.
type Said<'py> = (Step, Bound<'py, PyTuple>);

fn said<'py>(py: Python<'py>, recorded: Recorded) -> PyResult<Said<'py>> {
    let events = PyTuple::new(py, recorded.events.iter().map(|event| Event(*event)))?;
    Ok((Step(recorded.step), events))
}

/// Lends the guards for one transition; a call that shares none is given none.
fn lend<T>(
    py: Python<'_>,
    guards: Option<&Bound<'_, Guards>>,
    transition: impl FnOnce(&mut holdoff_core::Guards<'_>) -> T,
) -> T {
    match guards {
        Some(guards) => guards.get().lend(py, transition),
        None => transition(&mut holdoff_core::Guards::none()),
    }
}

/// The whole loop as a machine that says what to write down: each method answers with the step that holds now and the
/// events of the transition. Driven as a `Call` is, or with guards as a `GuardedCall`; it does not hedge.
#[pyclass(eq, module = "holdoff")]
#[derive(PartialEq)]
pub(crate) struct Recorder(holdoff_core::Recorder);

#[pymethods]
impl Recorder {
    /// Begin a call: the machine, its first step and its first events.
    #[staticmethod]
    #[pyo3(signature = (policy, seed, now, *, guards = None))]
    fn begin<'py>(
        py: Python<'py>,
        policy: Given<'py>,
        seed: &Bound<'py, PyAny>,
        now: &Bound<'py, PyAny>,
        guards: Option<&Bound<'py, Guards>>,
    ) -> PyResult<(Self, Step, Bound<'py, PyTuple>)> {
        let (seed, now) = (convert::seed("seed", seed)?, convert::time("now", now)?);
        let (recorder, recorded) =
            lend(py, guards, |guards| holdoff_core::Recorder::begin(policy.core(), guards, seed, now));
        let (step, events) = said(py, recorded)?;
        Ok((Self(recorder), step, events))
    }

    /// The attempt with this ticket succeeded.
    #[pyo3(signature = (ticket, now, *, guards = None))]
    fn succeed<'py>(
        &mut self,
        py: Python<'py>,
        ticket: &Bound<'py, PyAny>,
        now: &Bound<'py, PyAny>,
        guards: Option<&Bound<'py, Guards>>,
    ) -> PyResult<Said<'py>> {
        let (ticket, now) = (self::ticket(ticket)?, convert::time("now", now)?);
        said(py, lend(py, guards, |guards| self.0.succeed(guards, ticket, now)))
    }

    /// The attempt with this ticket failed.
    #[pyo3(signature = (policy, ticket, now, failure, *, guards = None))]
    fn fail<'py>(
        &mut self,
        policy: Given<'py>,
        ticket: &Bound<'py, PyAny>,
        now: &Bound<'py, PyAny>,
        failure: &Bound<'py, Failure>,
        guards: Option<&Bound<'py, Guards>>,
    ) -> PyResult<Said<'py>> {
        let (py, failure) = (failure.py(), failure.get().0);
        let (ticket, now) = (self::ticket(ticket)?, convert::time("now", now)?);
        said(py, lend(py, guards, |guards| self.0.fail(policy.core(), guards, ticket, now, failure)))
    }

    /// The attempt with this ticket ended in a way that says nothing about the other side.
    #[pyo3(signature = (ticket, now, *, guards = None))]
    fn abandon<'py>(
        &mut self,
        py: Python<'py>,
        ticket: &Bound<'py, PyAny>,
        now: &Bound<'py, PyAny>,
        guards: Option<&Bound<'py, Guards>>,
    ) -> PyResult<Said<'py>> {
        let (ticket, now) = (self::ticket(ticket)?, convert::time("now", now)?);
        said(py, lend(py, guards, |guards| self.0.abandon(guards, ticket, now)))
    }

    /// Time has passed, or a place in the bulkhead has come free.
    #[pyo3(signature = (policy, now, *, guards = None))]
    fn tick<'py>(
        &mut self,
        py: Python<'py>,
        policy: Given<'py>,
        now: &Bound<'py, PyAny>,
        guards: Option<&Bound<'py, Guards>>,
    ) -> PyResult<Said<'py>> {
        let now = convert::time("now", now)?;
        said(py, lend(py, guards, |guards| self.0.tick(policy.core(), guards, now)))
    }

    /// The caller wants no more of it.
    #[pyo3(signature = (now, *, guards = None))]
    fn cancel<'py>(
        &mut self,
        py: Python<'py>,
        now: &Bound<'py, PyAny>,
        guards: Option<&Bound<'py, Guards>>,
    ) -> PyResult<Said<'py>> {
        let now = convert::time("now", now)?;
        said(py, lend(py, guards, |guards| self.0.cancel(guards, now)))
    }

    /// Go on live from a log that was replayed. An attempt that was in flight runs again under its own number, at most
    /// `reruns` times; then it has failed, by a timeout.
    #[pyo3(signature = (policy, now, *, reruns = 3, guards = None))]
    fn resume<'py>(
        &mut self,
        py: Python<'py>,
        policy: Given<'py>,
        now: &Bound<'py, PyAny>,
        reruns: u32,
        guards: Option<&Bound<'py, Guards>>,
    ) -> PyResult<Said<'py>> {
        let now = save::now(now)?;
        said(py, lend(py, guards, |guards| self.0.resume(policy.core(), guards, now, reruns)))
    }

    /// Nanoseconds still to sleep; 0 when it does not sleep.
    fn remaining(&self, now: &Bound<'_, PyAny>) -> PyResult<u64> {
        Ok(self.0.remaining(convert::time("now", now)?).as_nanos())
    }

    /// The step that holds.
    #[getter]
    fn step(&self) -> Step {
        Step(self.0.step())
    }

    /// The number of the latest event.
    #[getter]
    fn sequence(&self) -> u64 {
        self.0.sequence()
    }

    /// The attempt in flight or else the last one that ran, 0 for none.
    #[getter]
    fn attempt(&self) -> u32 {
        self.0.attempt()
    }

    /// When the call began.
    #[getter]
    fn started(&self) -> u64 {
        self.0.started().as_nanos()
    }

    /// How often the attempt in flight was run again because it was interrupted.
    #[getter]
    fn reruns(&self) -> u32 {
        self.0.reruns()
    }

    /// Whether it began with guards.
    #[getter]
    fn is_guarded(&self) -> bool {
        self.0.is_guarded()
    }

    /// A copy of the call as it stands, to be saved or looked at.
    #[getter]
    fn call(&self) -> Call {
        Call(self.0.call())
    }

    /// For a transition that may have to be made again, with guards that others have changed meanwhile.
    fn __copy__(&self) -> Self {
        Self(self.0)
    }

    fn __repr__(&self) -> String {
        format!("<Recorder event {}, attempt {}>", self.0.sequence(), self.0.attempt())
    }
}

/// The recorder of a log: of its events, or of their bytes. `mode` says what counts where the policy decides otherwise than
/// the log has it: "follow" takes what was recorded, "verify" refuses it. `any_policy` takes a log of another policy.
#[pyfunction]
#[pyo3(signature = (policy, events, *, mode = "follow", any_policy = false))]
pub(crate) fn replay(policy: Given<'_>, events: &Bound<'_, PyAny>, mode: &str, any_policy: bool) -> PyResult<Recorder> {
    let py = events.py();
    let mut replay = Replay::new(match mode {
        "follow" => ReplayMode::Follow,
        "verify" => ReplayMode::Verify,
        other => {
            return Err(PyValueError::new_err(format!("mode = {other:?}: must be one of follow, verify")));
        }
    });
    if any_policy {
        replay = replay.any_policy();
    }
    let mut apply =
        |event: &holdoff_core::Event| replay.apply(policy.core(), event).map_err(|error| replay_error(py, &error));
    if let Ok(bytes) = events.cast::<PyBytes>() {
        for read in EventReader::new(bytes.as_bytes()) {
            apply(&read.map_err(|error| event_error(py, &error, "", None))?.0)?;
        }
    } else {
        for event in events.try_iter()? {
            apply(&event?.cast::<Event>()?.get().0)?;
        }
    }
    replay.finish().map(Recorder).map_err(|error| replay_error(py, &error))
}

fn replay_error(py: Python<'_>, error: &ReplayError) -> PyErr {
    static TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let made = TYPE.import(py, "holdoff._errors", "ReplayError").and_then(|class| {
        let made = class.call1((error.to_string(),))?;
        made.setattr("code", error.code.code())?;
        made.setattr("name", error.code.name())?;
        made.setattr("sequence", error.sequence)?;
        made.setattr("recorded", error.recorded.map(Event))?;
        made.setattr("computed", error.computed.map(Event))?;
        Ok(PyErr::from_value(made))
    });
    made.unwrap_or_else(|error| error)
}
