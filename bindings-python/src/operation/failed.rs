//! The result of a failed attempt.

use crate::convert::in_context;
use crate::failure::Failure;
use pyo3::prelude::*;
use pyo3::types::PyDict;

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

    /// Sets the fields of an event about it.
    pub(super) fn describe(&self, fields: &Bound<'_, PyDict>, failure: Option<holdoff_core::Failure>) -> PyResult<()> {
        fields.set_item("error", self.error())?;
        fields.set_item("value", self.value())?;
        fields.set_item("failure", failure.map(Failure))
    }

    /// An error of the user's own hook, or an interrupt, with this as its context unless it has one.
    pub(super) fn in_context(&self, py: Python<'_>, own: PyErr) -> PyErr {
        if let Self::Error(error) = self { in_context(py, own, error) } else { own }
    }
}
