//! The operation as the loops written in Python see it.

use super::{Failed, Machine, Operation};
use crate::clock;
use crate::guards::notify::Notify;
use crate::outcome::{self, Outcome};
use crate::parameters::NextStep;
use crate::retrying::Retrying;
use holdoff_core::{Permit, Span, Step, StopReason, Ticket, Timestamp};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use pyo3::{PyTraverseError, PyVisit};

#[pymethods]
impl Operation {
    #[new]
    #[pyo3(signature = (settings, permit = None))]
    fn new(settings: Py<Retrying>, permit: Option<u32>) -> Self {
        let mut operation = Self::of(settings);
        operation.closed = permit.map(Permit::from_raw);
        operation
    }

    /// The first attempt is about to run. Raises Cancelled when it must not.
    fn begin(&mut self, py: Python<'_>) -> PyResult<()> {
        self.first(py)
    }

    /// An attempt failed: whether there will be another. If not, raise the error, which carries the outcome.
    #[pyo3(signature = (error, timed_out = false))]
    fn fail(&mut self, error: &Bound<'_, PyException>, timed_out: bool) -> PyResult<bool> {
        self.fails(error, timed_out)
    }

    /// The seconds to wait next, right after `fail`: as `resume`.
    fn proceed(&mut self, py: Python<'_>) -> PyResult<Option<f64>> {
        let now = self.just_now.take();
        Ok(self.woken(py, now)?.map(clock::single_wait))
    }

    /// An attempt returned: whether there will be another all the same. If not, the value is the result.
    fn reject(&mut self, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.rejected(value)?.is_some())
    }

    /// Whether the wait took too long for another attempt after a value that failed: `result` then.
    #[getter]
    fn over(&self) -> bool {
        self.over
    }

    /// That value.
    #[getter]
    fn result(&self, py: Python<'_>) -> Py<PyAny> {
        self.ended(py).map_or_else(|| py.None(), Bound::unbind)
    }

    /// An attempt succeeded, whatever it returned; the latest one unless its number is given.
    #[pyo3(signature = (attempt = None))]
    fn succeed(&mut self, py: Python<'_>, attempt: Option<u64>) -> PyResult<()> {
        self.succeeded(py, attempt.map(Ticket::from_raw))
    }

    /// Of several attempts the one with that number failed: "sleep", "attempt" (another one, beside those that run), "wait"
    /// (others still run) or "stop": raise the error.
    fn fail_one(&mut self, attempt: u64, error: &Bound<'_, PyException>, timed_out: bool) -> PyResult<NextStep> {
        self.failed_one(error.as_any(), timed_out, Some(Ticket::from_raw(attempt))).map(|next| NextStep(next.word()))
    }

    /// Of several attempts the one with that number returned; at "stop" the value is the result.
    fn reject_one(&mut self, attempt: u64, value: &Bound<'_, PyAny>) -> PyResult<NextStep> {
        self.rejected_one(value, Some(Ticket::from_raw(attempt))).map(|next| NextStep(next.word()))
    }

    /// While an attempt runs: whether another one is to start beside it.
    fn beside(&mut self, py: Python<'_>) -> PyResult<bool> {
        let now = clock::now(py)?;
        let settings = self.settings.get();
        let policy = self.nested.as_deref().map_or(settings.core(), |nested| &nested.policy);
        let (Some(Machine::Shared(call)), Some(guards)) = (&mut self.call, &settings.guards) else { return Ok(false) };
        let step = guards.get().lend(py, |guards| call.tick(policy, guards, now));
        self.follow(step, None);
        Ok(matches!(step, Step::Attempt { .. }))
    }

    /// When to look whether another attempt starts beside, in nanoseconds of the clock; None for never.
    #[getter]
    fn wake_at(&self) -> Option<u64> {
        (!self.wake_at.is_never()).then(|| self.wake_at.as_nanos())
    }

    /// The notify of the bulkhead and the count to wait past; None unless the call waits for a place.
    #[getter(notify)]
    fn place_notify(&self, py: Python<'_>) -> Option<(Py<Notify>, u64)> {
        self.notify(py)
    }

    /// Whether nothing but time ends the wait before the next attempt, and time is what the clock says.
    #[getter]
    fn undisturbed(&self) -> bool {
        self.seen.is_none() && self.settings.get().cancel.is_none() && !clock::is_overridden()
    }

    /// What the attempt hands down to the retries inside it.
    #[getter(handed)]
    fn hands_down(&self) -> Option<crate::guards::nested::Token> {
        self.handed().map(crate::guards::nested::Token)
    }

    /// What to call with the error that is about to come out, if there is such a thing.
    #[getter]
    fn fallback(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        let fallback = self.settings.get().fallback.as_ref().filter(|_| self.gave_up)?;
        Some(fallback.clone_ref(py))
    }

    /// The seconds to wait next; None when the next attempt is to run now.
    fn resume(&mut self, py: Python<'_>) -> PyResult<Option<f64>> {
        Ok(self.woken(py, None)?.map(clock::single_wait))
    }

    /// Wait those seconds in this thread, woken at once by the token.
    fn wait(&self, py: Python<'_>, seconds: f64) -> PyResult<()> {
        let length = Span::from_float(seconds, 1e9).unwrap_or(Span::ZERO);
        let cancel = self.settings.get().cancel.as_ref().map(|token| token.bind(py));
        clock::wait(py, length, cancel, self.notify(py)).map_err(|error| self.interrupted(py, error))
    }

    /// When the attempt must be over, in nanoseconds of the clock; None without a limit.
    #[getter]
    fn abort_at(&self) -> Option<u64> {
        (!self.abort_at.is_never()).then(|| self.abort_at.as_nanos())
    }

    /// The number of the attempt.
    #[getter]
    fn attempt(&self) -> u32 {
        self.attempts()
    }

    /// The token of the caller.
    #[getter]
    fn token(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.settings.get().cancel.as_ref().map(|token| token.clone_ref(py))
    }

    /// The caller wants no more of it.
    fn cancel(&mut self, py: Python<'_>) {
        self.last = None;
        self.release(py);
    }

    /// The exception that says so, caused by the last error.
    #[pyo3(signature = () -> "Exception")]
    pub(super) fn cancelled<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        let error = TYPE.import(py, "holdoff._errors", "Cancelled")?.call1(("the operation was cancelled",))?;
        let ended = Outcome { reason: StopReason::Cancelled, attempts: self.attempts(), retry_at: Timestamp::NEVER };
        outcome::attach(&error, ended)?;
        if let Some(Failed::Error(last)) = self.last.take() {
            error.setattr("__cause__", last)?;
        }
        Ok(error)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.settings)?;
        self.last.as_ref().map_or(Ok(()), |failed| visit.call(failed.object()))
    }

    fn __clear__(&mut self) {
        self.last = None;
    }
}
