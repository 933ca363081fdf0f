//! A failed attempt as the core sees it: a kind and what the server said.

use crate::convert;
use holdoff_core::{ErrorCode, Hint, Span};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// One failed attempt: its kind and the server's hint on when to come back.
#[pyclass(frozen, eq, module = "holdoff")]
#[derive(PartialEq)]
pub(crate) struct Failure(pub(crate) holdoff_core::Failure);

#[pymethods]
impl Failure {
    #[new]
    #[pyo3(signature = (kind = None, *, hint = None, hint_ns = None))]
    fn new(
        kind: Option<&Bound<'_, PyAny>>,
        hint: Option<&Bound<'_, PyAny>>,
        hint_ns: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let kind = kind.map_or(Ok(holdoff_core::FailureKind::Transient), convert::kind)?;
        let hint = match (hint, hint_ns) {
            (None, None) => Hint::NONE,
            (Some(hint), None) if hint.eq("never")? => Hint::NEVER,
            (Some(hint), None) => Hint::after(crate::config::span("hint", hint)?),
            (None, Some(nanos)) => Hint::after(nanos_span(nanos)?),
            (Some(_), Some(_)) => return Err(PyTypeError::new_err("give hint or hint_ns, not both")),
        };
        Ok(Self(holdoff_core::Failure::new(kind).with_hint(hint)))
    }

    /// "transient", "throttled", "timeout" or "permanent".
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind.name()
    }

    /// Seconds from the failure before which not to come back, "never", or None when the server said nothing.
    #[getter]
    pub(crate) fn hint<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.0.hint {
            hint if hint.is_never() => Ok(Some(PyString::intern(py, "never").into_any())),
            hint => match hint.span() {
                Some(span) => Ok(Some(convert::seconds(span.as_nanos()).into_pyobject(py)?.into_any())),
                None => Ok(None),
            },
        }
    }

    /// The hint in nanoseconds; None when there is none or it is "never".
    #[getter]
    fn hint_ns(&self) -> Option<u64> {
        self.0.hint.span().map(Span::as_nanos)
    }

    fn __repr__(&self) -> String {
        match self.0.hint {
            hint if hint.is_never() => format!("Failure('{}', hint='never')", self.kind()),
            hint => match hint.span() {
                Some(span) => format!("Failure('{}', hint='{span}')", self.kind()),
                None => format!("Failure('{}')", self.kind()),
            },
        }
    }

    fn __hash__(&self) -> u64 {
        self.0.hint.as_raw().wrapping_mul(31) ^ u64::from(self.0.kind.code())
    }
}

fn nanos_span(nanos: &Bound<'_, PyAny>) -> PyResult<Span> {
    let span = convert::time("hint_ns", nanos)?.as_nanos();
    if span > Span::MAX.as_nanos() {
        let problem = crate::config::Problem::of(ErrorCode::TimeRange, "hint_ns", Some(nanos));
        return Err(crate::config::config_error(nanos.py(), &problem));
    }
    Ok(Span::from_nanos(span))
}
