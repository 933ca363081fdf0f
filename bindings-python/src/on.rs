//! The options `on` and `on_result`: errors to retry, and values that are failures.

use crate::config::{must_be, shown};
use pyo3::PyTypeInfo;
use pyo3::exceptions::{PyException, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyTuple, PyType};

/// The user's choice of errors to retry.
pub(crate) enum On {
    /// Every exception that is no programming error.
    Default,
    /// These types: one or a tuple, as `isinstance` takes them.
    Types(Py<PyAny>),
    /// The function decides.
    Predicate(Py<PyAny>),
}

impl On {
    /// The object that it holds.
    pub(crate) fn object(&self) -> Option<&Py<PyAny>> {
        if let Self::Types(on) | Self::Predicate(on) = self { Some(on) } else { None }
    }

    pub(crate) fn new(on: &Bound<'_, PyAny>) -> PyResult<Self> {
        let types = on.cast::<PyTuple>().map_or_else(|_| vec![on.clone()], |types| types.iter().collect());
        if on.is_instance_of::<PyTuple>() || on.is_instance_of::<PyType>() {
            types.iter().try_for_each(exception_type)?;
            return Ok(Self::Types(on.clone().unbind()));
        }
        if on.is_callable() {
            return Ok(Self::Predicate(on.clone().unbind()));
        }
        Err(must_be("on", "an exception type, a tuple of them, or a function of the error", on))
    }
}

/// The user's choice of returned values that are failures.
pub(crate) enum OnResult {
    /// HTTP answers that are failures by the policy.
    Answers,
    /// The function decides.
    Predicate(Py<PyAny>),
}

impl OnResult {
    /// The object that it holds.
    pub(crate) fn object(&self) -> Option<&Py<PyAny>> {
        if let Self::Predicate(on_result) = self { Some(on_result) } else { None }
    }

    /// None for False: every value is a success.
    pub(crate) fn new(on_result: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        if let Ok(answers) = on_result.cast::<PyBool>() {
            return Ok(answers.is_true().then_some(Self::Answers));
        }
        if on_result.is_callable() && !on_result.is_instance_of::<PyType>() {
            return Ok(Some(Self::Predicate(on_result.clone().unbind())));
        }
        Err(must_be("on_result", "a function of the value, or True for HTTP answers", on_result))
    }
}

/// Only an `Exception` is ever retried: an exit, an interrupt and a cancelled task are not failures.
fn exception_type(value: &Bound<'_, PyAny>) -> PyResult<()> {
    if is_class::<PyException>(value) {
        return Ok(());
    }
    let given = shown(value);
    Err(PyTypeError::new_err(format!("on takes types of Exception, which is all that is ever retried; not {given}")))
}

/// True for a class that is derived from this one.
pub(crate) fn is_class<T: PyTypeInfo>(value: &Bound<'_, PyAny>) -> bool {
    value.cast::<PyType>().is_ok_and(|class| class.is_subclass_of::<T>().unwrap_or(false))
}
