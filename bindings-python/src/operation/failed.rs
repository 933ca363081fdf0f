//! The result of a failed attempt, and the event for the user's hook.

use crate::convert;
use crate::failure::Failure;
use crate::parameters;
use holdoff_core::{Cause, Span};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};

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

    /// An error of the user's own hook, with this as its context.
    pub(super) fn in_context(&self, py: Python<'_>, own: PyErr) -> PyErr {
        if let Self::Error(error) = self
            && !own.value(py).is(error)
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

methods! { RetryEvent as event;
    impl {
        /// The error that it raised; None when it returned.
        #[getter]
        fn error<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyException>> {
            self.failed.error()?.bind(py).cast().ok().cloned()
        }

        /// The value that it returned; None also when it raised.
        #[getter]
        fn result(&self, py: Python<'_>) -> Py<PyAny> {
            self.failed.value().map_or_else(|| py.None(), |value| value.clone_ref(py))
        }

        fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
            let failed = self.failed.object().bind(py).repr()?;
            Ok(format!("<RetryEvent attempt {}: {failed}, next in {} ({})>", self.attempt, self.delay, self.cause.name()))
        }

        fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
            visit.call(self.failed.object())
        }
    }

    get {
        /// The number of the attempt that failed, from 1.
        attempt: u32 = event.attempt;

        /// The failure that it was classified as.
        failure: Failure = Failure(event.failure);

        /// Seconds until the next attempt.
        delay: f64 = convert::seconds(event.delay.as_nanos());

        /// Nanoseconds until the next attempt.
        delay_ns: u64 = event.delay.as_nanos();

        /// Why the sleep is as long as it is: "backoff", "hint", "clip", "breaker", "limiter" or "bulkhead".
        cause: parameters::Cause = parameters::Cause(event.cause);
    }
}
