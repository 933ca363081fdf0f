//! `Policy`: the core's, made from keyword arguments.

use crate::caller::Retrying;
use crate::config;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyTuple};

/// When to retry and when to give up; immutable, to be shared by any number of operations.
#[pyclass(frozen, eq, module = "holdoff")]
#[derive(PartialEq)]
pub(crate) struct Policy(pub(crate) holdoff_core::Policy);

#[pymethods]
impl Policy {
    #[new]
    #[pyo3(signature = (**fields))]
    fn new(fields: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        config::policy(fields).map(Self)
    }

    /// The policy of a document: a mapping of fields, nested or with dots in their names.
    #[staticmethod]
    #[pyo3(signature = (fields, /))]
    fn from_dict(fields: &Bound<'_, PyMapping>) -> PyResult<Self> {
        let copy = PyDict::new(fields.py());
        copy.update(fields)?;
        config::policy(Some(&copy)).map(Self)
    }

    /// The fields in the shape of a document; from_dict makes the same policy of them.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        config::fields(py, &self.0)
    }

    /// Call the function until it succeeds or the policy gives up.
    #[pyo3(signature = (function, /, *args, **kwargs))]
    fn call<'py>(
        &self,
        function: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Retrying::run_plain(&self.0, function, args, kwargs)
    }

    /// A caller with this policy and these options, to call or to decorate functions with.
    #[pyo3(signature = (*, on = None, cancel = None, seed = None, on_retry = None, classify = None))]
    fn retrying(
        &self,
        on: Option<&Bound<'_, PyAny>>,
        cancel: Option<&Bound<'_, PyAny>>,
        seed: Option<&Bound<'_, PyAny>>,
        on_retry: Option<&Bound<'_, PyAny>>,
        classify: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Retrying> {
        Retrying::new(self.0, on, cancel, seed, on_retry, classify)
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        Ok((PyTuple::empty(py), self.to_dict(py)?))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mut shown = Vec::new();
        for (name, value) in self.to_dict(py)? {
            shown.push(format!("{}={}", name.str()?, value.repr()?));
        }
        Ok(format!("Policy({})", shown.join(", ")))
    }
}
