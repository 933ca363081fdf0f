//! Conversions of single values from Python, and their errors.

use crate::config::{must_be, refused};
use holdoff_core::{ErrorCode, FailureKind, Span, StopReason, Timestamp};
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyString};

/// The object that a call returns.
pub(crate) type Returned<'py> = PyResult<Bound<'py, PyAny>>;

/// A time of a raw machine: an int of nanoseconds, 0 to 2^64-1.
pub(crate) fn time(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Timestamp> {
    number(name, value).map(Timestamp::from_nanos)
}

/// A length of time: an int of nanoseconds.
pub(crate) fn nanos(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Span> {
    number(name, value).map(Span::from_nanos)
}

/// An int, 0 to 2^64-1.
pub(crate) fn number(name: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    unsigned(name, value, ErrorCode::TimeRange)
}

/// A number of 32 bits; larger ones read as the largest.
pub(crate) fn half(name: &str, value: &Bound<'_, PyAny>) -> PyResult<u32> {
    Ok(u32::try_from(number(name, value)?).unwrap_or(u32::MAX))
}

/// A seed: an int, 0 to 2^64-1.
pub(crate) fn seed(name: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    unsigned(name, value, ErrorCode::SeedRange)
}

/// An int from 0 to 2^64-1. Python counts a bool as an int; here it is an error.
fn unsigned(name: &str, value: &Bound<'_, PyAny>, code: ErrorCode) -> PyResult<u64> {
    if !value.is_instance_of::<PyInt>() || value.is_instance_of::<PyBool>() {
        return Err(must_be(name, "an int", value));
    }
    // Python reads signed numbers of that size much faster, and nearly all are.
    if let Some(number) = value.extract().ok().and_then(|number: i64| u64::try_from(number).ok()) {
        return Ok(number);
    }
    match value.extract() {
        Ok(number) => Ok(number),
        Err(_) => Err(refused(code, name, value)),
    }
}

/// The word of a failure's kind.
pub(crate) fn kind(value: &Bound<'_, PyAny>) -> PyResult<FailureKind> {
    let text = value.cast::<PyString>().map_err(|_| must_be("kind", "a str", value))?;
    let word = text.to_cow().unwrap_or_default();
    FailureKind::from_name(&word).ok_or_else(|| refused(ErrorCode::UnknownFailureKind, "kind", value))
}

/// The word of a reason to stop.
pub(crate) fn reason(value: &Bound<'_, PyAny>) -> PyResult<StopReason> {
    let word: String = value.extract()?;
    StopReason::from_name(&word).ok_or_else(|| PyValueError::new_err(format!("{word:?} is no reason to stop")))
}

/// The choice that the word of the parameter `name` stands for.
pub(crate) fn choice<T: Copy>(name: &str, word: &str, choices: &[T], of: fn(T) -> &'static str) -> PyResult<T> {
    choices.iter().copied().find(|choice| of(*choice) == word).ok_or_else(|| {
        let known: Vec<_> = choices.iter().map(|choice| of(*choice)).collect();
        PyValueError::new_err(format!("{name} = {word:?}: must be one of {}", known.join(", ")))
    })
}

/// Nanoseconds as seconds.
pub(crate) fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

/// An error that was raised while another one was handled, with that one as its context unless it has one: as in an `except`
/// clause.
pub(crate) fn in_context(py: Python<'_>, own: PyErr, handled: &Py<PyAny>) -> PyErr {
    if !own.value(py).is(handled) && own.context(py).is_none() {
        own.set_context(py, Some(PyErr::from_value(handled.bind(py).clone())));
    }
    own
}

/// An attribute of an object of another library; none if it is missing, None or fails (getters of httpx raise RuntimeError).
pub(crate) fn optional<'py>(
    object: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    match object.getattr_opt(name) {
        Err(error) if !error.is_instance_of::<PyException>(object.py()) => Err(error),
        found => Ok(found.unwrap_or_default().filter(|value| !value.is_none())),
    }
}
