//! `Policy`: the core's, made from keyword arguments, a preset's name or a document.

use crate::caller::Retrying;
use crate::config::{self, Numbers};
use crate::convert;
use holdoff_core::Document;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyString, PyTuple};

/// When to retry and when to give up; immutable, to be shared by any number of operations.
#[pyclass(frozen, eq, module = "holdoff")]
#[derive(PartialEq)]
pub(crate) struct Policy(pub(crate) Document);

impl Policy {
    pub(crate) fn core(&self) -> &holdoff_core::Policy {
        &self.0.policy
    }
}

/// A policy where one is expected: a `Policy`, or the name of a preset.
pub(crate) fn given<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Policy>> {
    if let Ok(policy) = value.cast::<Policy>() {
        return Ok(policy.clone());
    }
    if value.is_instance_of::<PyString>() {
        return Bound::new(value.py(), Policy(config::document(value.py(), Some(value), None, Numbers::Seconds)?));
    }
    let given = convert::type_name(value);
    Err(PyTypeError::new_err(format!("policy must be a holdoff.Policy or the name of a preset, not {given}")))
}

/// A policy given as one or by its fields.
pub(crate) fn of<'py>(
    py: Python<'py>,
    policy: Option<&Bound<'py, PyAny>>,
    fields: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, Policy>> {
    match (policy, fields) {
        (Some(policy), None) => given(policy),
        (None, fields) => Bound::new(py, Policy(config::document(py, None, fields, Numbers::Seconds)?)),
        (Some(_), Some(_)) => Err(PyTypeError::new_err("give a policy or its fields, not both")),
    }
}

/// The same as a parameter of a raw machine.
pub(crate) struct Given<'py>(Bound<'py, Policy>);

impl Given<'_> {
    pub(crate) fn core(&self) -> &holdoff_core::Policy {
        self.0.get().core()
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Given<'py> {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        given(&value).map(Self)
    }
}

#[pymethods]
impl Policy {
    #[new]
    #[pyo3(signature = (name = None, /, **fields))]
    fn new(py: Python<'_>, name: Option<&Bound<'_, PyString>>, fields: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        config::document(py, name.map(|name| name.as_any()), fields, Numbers::Seconds).map(Self)
    }

    /// The policy of a document: a mapping of fields, nested or with dots in their names, whose times have a unit.
    #[staticmethod]
    #[pyo3(signature = (fields, /))]
    fn from_dict(fields: &Bound<'_, PyMapping>) -> PyResult<Self> {
        let copy = PyDict::new(fields.py());
        copy.update(fields)?;
        config::document(fields.py(), None, Some(&copy), Numbers::Unitless).map(Self)
    }

    /// The fields in the shape of a document; from_dict makes the same policy of them.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        crate::dump::fields(py, self.core())
    }

    /// A number that tells policies apart by what they decide; the same in every language.
    #[getter]
    fn fingerprint(&self) -> u64 {
        self.core().fingerprint()
    }

    /// Call the function until it succeeds or the policy gives up.
    #[pyo3(signature = (function, /, *args, **kwargs))]
    fn call<'py>(
        slf: &Bound<'py, Self>,
        function: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Retrying::run_plain(slf, function, args, kwargs)
    }

    /// A caller with this policy and these options, to call or to decorate functions with.
    #[pyo3(signature = (
        *, on = None, cancel = None, seed = None, on_retry = None, classify = None, idempotent = true
    ))]
    #[allow(clippy::too_many_arguments)]
    fn retrying(
        slf: &Bound<'_, Self>,
        on: Option<&Bound<'_, PyAny>>,
        cancel: Option<&Bound<'_, PyAny>>,
        seed: Option<&Bound<'_, PyAny>>,
        on_retry: Option<&Bound<'_, PyAny>>,
        classify: Option<&Bound<'_, PyAny>>,
        idempotent: bool,
    ) -> PyResult<Retrying> {
        Retrying::new(slf, on, cancel, seed, on_retry, classify, idempotent)
    }

    fn __hash__(&self) -> u64 {
        self.fingerprint()
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
