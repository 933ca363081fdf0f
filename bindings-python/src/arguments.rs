//! What a function is called with, as often as it takes: in the form in which it came.

use crate::vectorcall::Vector;
use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// What the function came to: its value, or the error that it raised.
pub(crate) type Attempted<'py> = Result<Bound<'py, PyAny>, Bound<'py, PyBaseException>>;

/// The arguments of a call.
#[derive(Clone, Copy)]
pub(crate) enum Arguments<'a, 'py> {
    /// A tuple and a dict.
    Packed(&'a Bound<'py, PyTuple>, Option<&'a Bound<'py, PyDict>>),
    /// As the interpreter has them, for which nothing was made.
    Vector(Vector<'a, 'py>),
}

impl<'py> Arguments<'_, 'py> {
    #[inline]
    pub(crate) fn call(&self, function: &Bound<'py, PyAny>) -> Attempted<'py> {
        match self {
            Self::Packed(args, kwargs) => {
                let py = function.py();
                // Before Python 3.12 the error itself has no traceback until it is caught, which is here.
                function.call(*args, *kwargs).map_err(|raised| raised.into_value(py).into_bound(py))
            }
            Self::Vector(vector) => vector.call(function),
        }
    }

    /// A tuple and a dict, to be kept.
    pub(crate) fn pack(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        match self {
            Self::Packed(args, kwargs) => Ok(((*args).clone(), kwargs.map_or_else(|| PyDict::new(py), Clone::clone))),
            Self::Vector(vector) => vector.pack(),
        }
    }
}
