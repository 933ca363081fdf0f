//! Numbers and words at the border: what Python may hand in, and what it hears when it hands in something else.

use crate::config::{Problem, config_error};
use holdoff_core::{ErrorCode, FailureKind, Timestamp};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyString};

/// A time of a raw machine: an int of nanoseconds, 0 to 2^64-1.
pub(crate) fn time(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Timestamp> {
    unsigned(name, value, ErrorCode::TimeRange).map(Timestamp::from_nanos)
}

/// The time at which a raw machine is made; 0 unless given.
pub(crate) fn now(value: Option<&Bound<'_, PyAny>>) -> PyResult<Timestamp> {
    value.map_or(Ok(Timestamp::ZERO), |now| time("now", now))
}

/// A seed: an int, 0 to 2^64-1.
pub(crate) fn seed(name: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    unsigned(name, value, ErrorCode::SeedRange)
}

/// An int from 0 to 2^64-1. A truth value is an int to Python, but nobody means one here.
fn unsigned(name: &str, value: &Bound<'_, PyAny>, code: ErrorCode) -> PyResult<u64> {
    if !value.is_instance_of::<PyInt>() || value.is_instance_of::<PyBool>() {
        return Err(PyTypeError::new_err(format!("{name} must be an int, not {}", type_name(value))));
    }
    // Python reads signed numbers of that size much faster, and nearly all are.
    if let Some(number) = value.extract().ok().and_then(|number: i64| u64::try_from(number).ok()) {
        return Ok(number);
    }
    match value.extract() {
        Ok(number) => Ok(number),
        Err(_) => Err(config_error(value.py(), &Problem::of(code, name, Some(value)))),
    }
}

/// The word of a failure's kind.
pub(crate) fn kind(value: &Bound<'_, PyAny>) -> PyResult<FailureKind> {
    let Ok(text) = value.cast::<PyString>() else {
        return Err(PyTypeError::new_err(format!("kind must be a str, not {}", type_name(value))));
    };
    let word = text.to_cow().unwrap_or_default();
    match FailureKind::ALL.into_iter().find(|kind| kind.name() == word) {
        Some(kind) => Ok(kind),
        None => Err(config_error(value.py(), &Problem::of(ErrorCode::UnknownFailureKind, "kind", Some(value)))),
    }
}

/// The name of a value's type, for a message.
pub(crate) fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "something else".to_owned(), |name| name.to_string())
}

/// Seconds, as Python writes them.
pub(crate) fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}
