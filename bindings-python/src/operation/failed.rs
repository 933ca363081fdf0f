//! The result of a failed attempt, and the event for the user's hook.

use crate::failure::Failure;
use crate::{convert, parameters};
use holdoff_core::{Cause, Span};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

/// The result of the last attempt that failed.
pub(super) enum Failed {
    Error(Py<PyAny>),
    Value(Py<PyAny>),
}

impl Failed {
    pub(super) fn error(&self) -> Option<&Py<PyAny>> {
        if let Self::Error(error) = self { Some(error) } else { None }
    }

    pub(super) fn value(&self) -> Option<&Py<PyAny>> {
        if let Self::Value(value) = self { Some(value) } else { None }
    }

    pub(super) fn object(&self) -> &Py<PyAny> {
        let (Self::Error(object) | Self::Value(object)) = self;
        object
    }

    pub(super) fn clone_ref(&self, py: Python<'_>) -> Self {
        match self {
            Self::Error(error) => Self::Error(error.clone_ref(py)),
            Self::Value(value) => Self::Value(value.clone_ref(py)),
        }
    }

    /// An error of the user's own hook, or an interrupt, with this as its context unless it has one.
    pub(super) fn in_context(&self, py: Python<'_>, own: PyErr) -> PyErr {
        if let Self::Error(error) = self
            && !own.value(py).is(error)
            && own.context(py).is_none()
        {
            own.set_context(py, Some(PyErr::from_value(error.bind(py).clone())));
        }
        own
    }
}

/// The argument of `on_retry`, which is called before each sleep.
#[pyclass(frozen, module = "holdoff")]
pub(crate) struct RetryEvent {
    pub(super) attempt: u32,
    pub(super) failed: Failed,
    pub(super) failure: holdoff_core::Failure,
    pub(super) delay: Span,
    pub(super) cause: Cause,
}

methods! { RetryEvent(self, py);
    /// The error that it raised; None when it returned.
    get error: Option<Bound<'py, PyException>> = self.failed.error()?.bind(py).cast().ok().cloned();

    /// The value that it returned; None also when it raised.
    get result: Py<PyAny> = self.failed.value().map_or_else(|| py.None(), |value| value.clone_ref(py));

    special __repr__() -> PyResult<String> = {
        let failed = self.failed.object().bind(py).repr()?;
        let (attempt, delay, cause) = (self.attempt, self.delay, self.cause.name());
        Ok(format!("<RetryEvent attempt {attempt}: {failed}, next in {delay} ({cause})>"))
    };

    visits self.failed.object();

    /// The number of the attempt that failed, from 1.
    get attempt: u32 = self.attempt;

    /// The failure that it was classified as.
    get failure: Failure = Failure(self.failure);

    /// Seconds until the next attempt.
    get delay: f64 = convert::seconds(self.delay.as_nanos());

    /// Nanoseconds until the next attempt.
    get delay_ns: u64 = self.delay.as_nanos();

    /// Why the sleep is as long as it is: "backoff", "hint", "clip", "breaker", "limiter" or "bulkhead".
    get cause: parameters::Cause = parameters::Cause(self.cause);
}
