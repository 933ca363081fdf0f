//! JSON by Python's own reader, which every program has loaded or can.

use crate::config::{Problem, config_error};
use holdoff_core::ErrorCode;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

/// What the text says, as strictly as JSON is defined: no constants of its own.
pub(crate) fn loads<'py>(text: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    static LOADS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    LOADS.import(text.py(), "holdoff._json", "loads")?.call1((text,))
}

/// The object that a policy document is.
pub(crate) fn document<'py>(text: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let py = text.py();
    match loads(text) {
        Ok(object) => match object.cast_into::<PyDict>() {
            Ok(fields) => Ok(fields),
            Err(other) => Err(config_error(py, &Problem::of(ErrorCode::NotAnObject, "", Some(&other.into_inner())))),
        },
        Err(error) if error.is_instance_of::<pyo3::exceptions::PyValueError>(py) => {
            Err(config_error(py, &Problem::of(ErrorCode::NotJson, "", Some(text))))
        }
        Err(error) => Err(error),
    }
}
