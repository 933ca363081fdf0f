//! The methods of an operation for the loops written in Python.

use super::{Failed, Next, Operation};
use crate::clock;
use crate::guards::notify::Notify;
use crate::outcome::{self, Outcome};
use crate::parameters::NextStep;
use crate::retrying::Retrying;
use holdoff_core::{Permit, Span, Step, StopReason, Ticket, Timestamp};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};

methods! { Operation as operation;
    impl {
        #[new]
        #[pyo3(signature = (settings, permit = None))]
        fn new(settings: Py<Retrying>, permit: Option<u32>) -> Self {
            Self::with_permit(settings, permit.map(Permit::from_raw))
        }

        /// The first attempt is about to run. Raises Cancelled when it must not.
        fn begin(&mut self, py: Python<'_>) -> PyResult<()> {
            self.first(py)
        }

        /// An attempt failed: returns True if another one follows. If not, raise the error, which carries the outcome.
        #[pyo3(signature = (error, timed_out = false))]
        fn fail(&mut self, error: &Bound<'_, PyException>, timed_out: bool) -> PyResult<bool> {
            self.failed(error.as_any(), timed_out, None).map(Next::sleeps)
        }

        /// An attempt returned: returns True if another one follows. If not, the value is the result.
        fn reject(&mut self, value: &Bound<'_, PyAny>) -> PyResult<bool> {
            self.rejected(value, None).map(Next::sleeps)
        }

        /// That value.
        #[getter]
        fn result(&self, py: Python<'_>) -> Py<PyAny> {
            self.ended(py).map_or_else(|| py.None(), Bound::unbind)
        }

        /// An attempt succeeded, the latest one by default.
        #[pyo3(signature = (attempt = None))]
        fn succeed(&mut self, py: Python<'_>, attempt: Option<u64>) -> PyResult<()> {
            self.succeeded(py, attempt.map(Ticket::from_raw))
        }

        /// The attempt with this number failed, of several: "sleep", "attempt" (start another one), "wait" (others still run) or
        /// "stop": raise the error.
        fn fail_one(&mut self, attempt: u64, error: &Bound<'_, PyException>, timed_out: bool) -> PyResult<NextStep> {
            self.failed(error.as_any(), timed_out, Some(Ticket::from_raw(attempt))).map(|next| NextStep(next.word()))
        }

        /// The attempt with this number returned, of several; at "stop" the value is the result.
        fn reject_one(&mut self, attempt: u64, value: &Bound<'_, PyAny>) -> PyResult<NextStep> {
            self.rejected(value, Some(Ticket::from_raw(attempt))).map(|next| NextStep(next.word()))
        }

        /// While an attempt runs: returns True if another one starts beside it.
        fn beside(&mut self, py: Python<'_>) -> PyResult<bool> {
            let now = clock::now(py)?;
            let Some(step) = self.transition(py, |call, policy, guards| call.tick(policy, guards, now)) else {
                return Ok(false);
            };
            self.follow(step, None);
            Ok(matches!(step, Step::Attempt { .. }))
        }

        /// The notify of the bulkhead and the count to wait past; None unless the call waits for a place.
        #[getter(notify)]
        fn place_notify(&self, py: Python<'_>) -> Option<(Py<Notify>, u64)> {
            self.notify(py)
        }

        /// The token that the attempt hands down to the retries inside it.
        #[getter(handed)]
        fn hands_down(&self) -> Option<crate::guards::nested::Token> {
            self.handed().map(crate::guards::nested::Token)
        }

        /// The function that replaces the error that is about to be raised, if any.
        #[getter]
        fn fallback(&self, py: Python<'_>) -> Option<Py<PyAny>> {
            let fallback = self.settings.get().fallback.as_ref().filter(|_| self.gave_up)?;
            Some(fallback.clone_ref(py))
        }

        /// The seconds to wait next; None when the next attempt runs now.
        fn resume(&mut self, py: Python<'_>) -> PyResult<Option<f64>> {
            Ok(self.woken(py, None)?.map(clock::single_wait))
        }

        /// Wait those seconds in this thread, woken at once by the token.
        fn wait(&self, py: Python<'_>, seconds: f64) -> PyResult<()> {
            let length = Span::from_float(seconds, 1e9).unwrap_or(Span::ZERO);
            let cancel = self.settings.get().cancel.as_ref().map(|token| token.bind(py));
            clock::wait(py, length, cancel, self.notify(py)).map_err(|error| self.interrupted(py, error))
        }

        /// The token of the caller.
        #[getter]
        fn token(&self, py: Python<'_>) -> Option<Py<PyAny>> {
            self.settings.get().cancel.as_ref().map(|token| token.clone_ref(py))
        }

        /// The caller cancels the operation.
        fn cancel(&mut self, py: Python<'_>) {
            self.last = None;
            self.release(py);
        }

        /// The Cancelled exception, caused by the last error.
        #[pyo3(signature = () -> "Exception")]
        pub(super) fn cancelled<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
            let error = imported!(py, "holdoff._errors", "Cancelled")?.call1(("the operation was cancelled",))?;
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

    get {
        /// True if the wait took too long for another attempt after a value that failed: return `result` then.
        over: bool = operation.over;

        /// When to call `beside`, in nanoseconds of the clock; None for never.
        wake_at: Option<u64> = (!operation.wake_at.is_never()).then(|| operation.wake_at.as_nanos());

        /// True if only time ends the wait before the next attempt, and the clock is not replaced.
        undisturbed: bool =
            operation.seen.is_none() && operation.settings.get().cancel.is_none() && !clock::is_overridden();

        /// When the attempt must be over, in nanoseconds of the clock; None without a limit.
        abort_at: Option<u64> = (!operation.abort_at.is_never()).then(|| operation.abort_at.as_nanos());

        /// The number of the attempt.
        attempt: u32 = operation.attempts();
    }
}
