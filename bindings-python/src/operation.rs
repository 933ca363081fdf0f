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
/// `begin` once; then for each attempt that raises `fail`, for each that returns `reject`, and when that says there will be
/// another, `resume` until it has no more seconds to wait: then it is time for that other attempt, unless `over` says that
/// `result` is the end. The machine comes into being at the first failure.
#[pyclass(module = "holdoff._holdoff")]
pub(crate) struct Operation {
    settings: Py<Retrying>,
    call: Option<Call>,
    /// The time before the first attempt, where a limit made it worth reading.
    started: Option<Timestamp>,
    begun: bool,
    abort_at: Timestamp,
    /// As long as it may be needed: the traceback of an error leads to frames that hold the operation.
    last: Option<Failed>,
    /// There is no other attempt after a value that failed.
    over: bool,
}

/// What the last attempt that failed has to show for it.
enum Failed {
    Error(Py<PyAny>),
    Value(Py<PyAny>),
}

impl Failed {
    fn error(&self) -> Option<&Py<PyAny>> {
        if let Self::Error(error) = self { Some(error) } else { None }
    }

    fn value(&self) -> Option<&Py<PyAny>> {
        if let Self::Value(value) = self { Some(value) } else { None }
    }

    fn object(&self) -> &Py<PyAny> {
        let (Self::Error(object) | Self::Value(object)) = self;
        object
    }

    fn clone_ref(&self, py: Python<'_>) -> Self {
        match self {
            Self::Error(error) => Self::Error(error.clone_ref(py)),
            Self::Value(value) => Self::Value(value.clone_ref(py)),
        }
    }

    /// An error of the user's own hook, raised while handling this.
    fn in_context(&self, py: Python<'_>, own: PyErr) -> PyErr {
        if let Self::Error(error) = self
            && !own.value(py).is(error)
        {
            own.set_context(py, Some(PyErr::from_value(error.bind(py).clone())));
        }
        own
    }
}

impl Operation {
    pub(crate) fn of(settings: Py<Retrying>) -> Self {
        Self { settings, call: None, started: None, begun: false, abort_at: Timestamp::NEVER, last: None, over: false }
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
        let failed = Failed::Error(error.clone().unbind());
        self.last = Some(failed.clone_ref(py));
        self.begun = true;
        self.stop_if_cancelled(py)?;
        let failure =
            classify::classify(error, timed_out, self.settings.get()).map_err(|own| failed.in_context(py, own))?;
        self.decide(py, &failed, failure)
    }

    /// An attempt returned: when, if there will be another all the same. If not, the value is the result.
    pub(crate) fn rejected(&mut self, value: &Bound<'_, PyAny>) -> PyResult<Option<Timestamp>> {
        let py = value.py();
        self.last = None;
        self.begun = true;
        let Some(failure) = classify::classify_value(value, self.settings.get())? else { return Ok(None) };
        self.stop_if_cancelled(py)?;
        let failed = Failed::Value(value.clone().unbind());
        self.last = Some(failed.clone_ref(py));
        self.decide(py, &failed, failure)
    }

    fn decide(
        &mut self,
        py: Python<'_>,
        failed: &Failed,
        failure: holdoff_core::Failure,
    ) -> PyResult<Option<Timestamp>> {
        let settings = self.settings.clone_ref(py);
        let settings = settings.get();
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
                    let event = RetryEvent { attempt, failed: failed.clone_ref(py), failure, delay, cause };
                    on_retry.bind(py).call1((event,)).map_err(|own| failed.in_context(py, own))?;
                }
                Ok(Some(now))
            }
            step => {
                self.last = None;
                self.settle(py, failed, step).map(|()| None)
            }
        }
    }

    /// The time still to wait before the next attempt; none when it is to run now. When the wait took too long for another
    /// attempt the last error is raised, or the last value is the result. Reads the clock unless `now` is given.
    pub(crate) fn woken(&mut self, py: Python<'_>, now: Option<Timestamp>) -> PyResult<Option<Span>> {
        self.stop_if_cancelled(py)?;
        let Some(call) = &mut self.call else { return Ok(None) };
        let now = now.map_or_else(|| clock::now(py), Ok)?;
        match call.tick(self.settings.get().core(), now) {
            Step::Sleep { .. } => Ok(Some(call.remaining(now))),
            Step::Attempt { abort_at, .. } => {
                self.abort_at = abort_at;
                // The error is for the cause of a cancellation.
                if self.settings.get().cancel.is_none() || matches!(self.last, Some(Failed::Value(_))) {
                    self.last = None;
                }
                Ok(None)
            }
            step => match self.last.take() {
                Some(failed) => {
                    self.settle(py, &failed, step)?;
                    match failed {
                        Failed::Error(error) => Err(PyErr::from_value(error.into_bound(py))),
                        value => {
                            self.last = Some(value);
                            self.over = true;
                            Ok(None)
                        }
                    }
                }
                None => Ok(None),
            },
        }
    }

    /// The value that is the result although it failed: the wait took too long for another attempt.
    pub(crate) fn ended<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        let last = self.last.as_ref().filter(|_| self.over)?;
        last.value().map(|value| value.bind(py).clone())
    }

    /// Hangs the outcome of a final step on the error, and tells the hook, which is all that a value can have.
    fn settle(&self, py: Python<'_>, failed: &Failed, step: Step) -> PyResult<()> {
        let Step::Stop(holdoff_core::Outcome::GaveUp { reason, retry_at }) = step else { return Ok(()) };
        let outcome = Outcome { reason, attempts: self.attempts(), retry_at };
        if let Failed::Error(error) = failed {
            outcome::attach(error.bind(py), outcome)?;
        }
        if let Some(on_give_up) = &self.settings.get().on_give_up {
            on_give_up.bind(py).call1((outcome,)).map_err(|own| failed.in_context(py, own))?;
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
        match &self.last {
            Some(failed) => failed.in_context(py, by),
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
    fn result<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        self.ended(py)
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
        self.last = None;
    }

    /// The exception that says so, caused by the last error.
    fn cancelled<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
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

/// What `on_retry` hears before each sleep.
#[pyclass(frozen, module = "holdoff")]
pub(crate) struct RetryEvent {
    attempt: u32,
    failed: Failed,
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

    /// What it raised; None when it returned.
    #[getter]
    fn error(&self) -> Option<&Py<PyAny>> {
        self.failed.error()
    }

    /// What it returned; None also when it raised.
    #[getter]
    fn result(&self) -> Option<&Py<PyAny>> {
        self.failed.value()
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
        let failed = self.failed.object().bind(py).repr()?;
        Ok(format!("<RetryEvent attempt {}: {failed}, next in {} ({})>", self.attempt, self.delay, self.cause()))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(self.failed.object())
    }
}
