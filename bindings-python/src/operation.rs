//! One operation under way: what every loop, native, awaiting or written by the user, does between two attempts.

use crate::caller::Retrying;
use crate::failure::Failure;
use crate::outcome::{self, Outcome};
use crate::{classify, clock, convert, seeds};
use holdoff_core::{Call, Cause, Span, Step, StopReason, Ticket, Timestamp};
use pyo3::exceptions::PyException;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use pyo3::{PyTraverseError, PyVisit};

/// One operation under way.
///
/// # Contract
/// `begin` once; then for each attempt that fails `fail`, and when that says there will be another, `resume` until it has
/// no more seconds to wait. The machine comes into being at the first failure.
#[pyclass(module = "holdoff._holdoff")]
pub(crate) struct Operation {
    settings: Py<Retrying>,
    call: Option<Call>,
    /// The time before the first attempt, where a limit made it worth reading.
    started: Option<Timestamp>,
    begun: bool,
    abort_at: Timestamp,
    /// The last error, as long as it may be needed: its traceback leads to frames that hold the operation.
    error: Option<Py<PyAny>>,
}

impl Operation {
    pub(crate) fn of(settings: Py<Retrying>) -> Self {
        Self { settings, call: None, started: None, begun: false, abort_at: Timestamp::NEVER, error: None }
    }

    pub(crate) fn limit(&self) -> Timestamp {
        self.abort_at
    }

    /// The first attempt is about to run.
    pub(crate) fn first(&mut self, py: Python<'_>) -> PyResult<()> {
        self.stop_if_cancelled(py)?;
        self.begun = true;
        if let Some(limit) = self.settings.get().core().first_limit() {
            let now = clock::now(py)?;
            self.started = Some(now);
            self.abort_at = now.after(limit);
        }
        Ok(())
    }

    /// An attempt failed: when, if there will be another. If not, the error carries the outcome and is to be raised.
    pub(crate) fn failed(&mut self, error: &Bound<'_, PyAny>, timed_out: bool) -> PyResult<Option<Timestamp>> {
        let py = error.py();
        self.begun = true;
        self.error = Some(error.clone().unbind());
        self.stop_if_cancelled(py)?;
        let settings = self.settings.clone_ref(py);
        let settings = settings.get();
        let failure = classify::classify(error, timed_out, settings).map_err(|own| in_context(own, error))?;
        let now = clock::now(py)?;
        let call = match &mut self.call {
            Some(call) => call,
            none => {
                let seed = settings.seed.map_or_else(seeds::next, Ok)?;
                none.insert(Call::underway(seed, self.started.unwrap_or(now)))
            }
        };
        let attempt = call.attempt();
        match call.fail(settings.core(), Ticket::from_raw(u64::from(attempt)), now, failure) {
            Step::Sleep { until, cause } => {
                if let Some(on_retry) = &settings.on_retry {
                    let delay = until.since(now);
                    let event = RetryEvent { attempt, error: error.clone().unbind(), failure, delay, cause };
                    on_retry.bind(py).call1((event,)).map_err(|own| in_context(own, error))?;
                }
                Ok(Some(now))
            }
            step => {
                self.error = None;
                self.settle(error, step).map(|()| None)
            }
        }
    }

    /// The time still to wait before the next attempt; none when it is to run now. Raises the last error when the wait took
    /// too long for another attempt. Reads the clock unless `now` is given.
    pub(crate) fn woken(&mut self, py: Python<'_>, now: Option<Timestamp>) -> PyResult<Option<Span>> {
        self.stop_if_cancelled(py)?;
        let Some(call) = &mut self.call else { return Ok(None) };
        let now = now.map_or_else(|| clock::now(py), Ok)?;
        match call.tick(self.settings.get().core(), now) {
            Step::Sleep { .. } => Ok(Some(call.remaining(now))),
            Step::Attempt { abort_at, .. } => {
                self.abort_at = abort_at;
                if self.settings.get().cancel.is_none() {
                    self.error = None;
                }
                Ok(None)
            }
            step => match self.error.take() {
                Some(error) => {
                    let error = error.into_bound(py);
                    self.settle(&error, step)?;
                    Err(PyErr::from_value(error))
                }
                None => Ok(None),
            },
        }
    }

    /// Hangs the outcome of a final step on the error.
    fn settle(&self, error: &Bound<'_, PyAny>, step: Step) -> PyResult<()> {
        if let Step::Stop(holdoff_core::Outcome::GaveUp { reason, retry_at }) = step {
            outcome::attach(error, Outcome { reason, attempts: self.attempts(), retry_at })?;
        }
        Ok(())
    }

    fn attempts(&self) -> u32 {
        match &self.call {
            Some(call) => call.attempt(),
            None if self.begun => Ticket::FIRST.attempt(),
            None => 0,
        }
    }

    fn stop_if_cancelled(&mut self, py: Python<'_>) -> PyResult<()> {
        let cancelled = match &self.settings.get().cancel {
            Some(token) => token.bind(py).getattr(intern!(py, "cancelled"))?.is_truthy()?,
            None => false,
        };
        if cancelled { Err(PyErr::from_value(self.cancelled(py)?)) } else { Ok(()) }
    }

    /// An interrupt of a wait says which error it came after.
    pub(crate) fn interrupted(&self, py: Python<'_>, by: PyErr) -> PyErr {
        match &self.error {
            Some(error) => in_context(by, error.bind(py)),
            None => by,
        }
    }
}

#[pymethods]
impl Operation {
    #[new]
    fn new(settings: Py<Retrying>) -> Self {
        Self::of(settings)
    }

    /// The first attempt is about to run. Raises Cancelled when it must not.
    fn begin(&mut self, py: Python<'_>) -> PyResult<()> {
        self.first(py)
    }

    /// An attempt failed: whether there will be another. If not, raise the error, which carries the outcome.
    #[pyo3(signature = (error, timed_out = false))]
    fn fail(&mut self, error: &Bound<'_, PyException>, timed_out: bool) -> PyResult<bool> {
        Ok(self.failed(error.as_any(), timed_out)?.is_some())
    }

    /// The seconds to wait next; None when the next attempt is to run now.
    fn resume(&mut self, py: Python<'_>) -> PyResult<Option<f64>> {
        Ok(self.woken(py, None)?.map(clock::single_wait))
    }

    /// Wait those seconds in this thread, woken at once by the token.
    fn wait(&self, py: Python<'_>, seconds: f64) -> PyResult<()> {
        let length = Span::from_float(seconds, 1e9).unwrap_or(Span::ZERO);
        let cancel = self.settings.get().cancel.as_ref().map(|token| token.bind(py));
        clock::wait(py, length, cancel).map_err(|error| self.interrupted(py, error))
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
    fn cancel(&mut self) {
        self.error = None;
    }

    /// The exception that says so, caused by the last error.
    fn cancelled<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        let error = TYPE.import(py, "holdoff._errors", "Cancelled")?.call1(("the operation was cancelled",))?;
        let ended = Outcome { reason: StopReason::Cancelled, attempts: self.attempts(), retry_at: Timestamp::NEVER };
        outcome::attach(&error, ended)?;
        if let Some(last) = self.error.take() {
            error.setattr("__cause__", last)?;
        }
        Ok(error)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.settings)?;
        visit.call(&self.error)
    }

    fn __clear__(&mut self) {
        self.error = None;
    }
}

/// An error of the user's own hook, raised while handling `error`.
fn in_context(own: PyErr, error: &Bound<'_, PyAny>) -> PyErr {
    if !own.value(error.py()).is(error) {
        own.set_context(error.py(), Some(PyErr::from_value(error.clone())));
    }
    own
}

/// What `on_retry` hears before each sleep.
#[pyclass(frozen, module = "holdoff")]
pub(crate) struct RetryEvent {
    attempt: u32,
    error: Py<PyAny>,
    failure: holdoff_core::Failure,
    delay: Span,
    cause: Cause,
}

#[pymethods]
impl RetryEvent {
    /// The number of the attempt that failed, from 1.
    #[getter]
    fn attempt(&self) -> u32 {
        self.attempt
    }

    /// What it raised.
    #[getter]
    fn error(&self, py: Python<'_>) -> Py<PyAny> {
        self.error.clone_ref(py)
    }

    /// What that was taken for.
    #[getter]
    fn failure(&self) -> Failure {
        Failure(self.failure)
    }

    /// Seconds until the next attempt.
    #[getter]
    fn delay(&self) -> f64 {
        convert::seconds(self.delay.as_nanos())
    }

    /// Nanoseconds until the next attempt.
    #[getter]
    fn delay_ns(&self) -> u64 {
        self.delay.as_nanos()
    }

    /// "backoff", "hint" or "clip": why it is as long as it is.
    #[getter]
    fn cause(&self) -> &'static str {
        self.cause.name()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let error = self.error.bind(py).repr()?;
        Ok(format!("<RetryEvent attempt {}: {error}, next in {} ({})>", self.attempt, self.delay, self.cause()))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.error)
    }
}
