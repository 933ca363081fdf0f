//! `Policy`: the core's, made from keyword arguments, a preset's name or a document.

use crate::caller::{Options, Retrying};
use crate::config::{self, Numbers};
use crate::explain::{Explanation, Lint};
use crate::failure::Failure;
use crate::{classify, convert, hints, json};
use holdoff_core::{Document, Form};
use pyo3::exceptions::{PyTypeError, PyValueError};
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

fn form(name: &str) -> PyResult<Form> {
    Form::named(name).ok_or_else(|| {
        let known = Form::ALL.map(Form::name).join(", ");
        PyValueError::new_err(format!("form = {name:?}: must be one of {known}"))
    })
}

/// A policy given as one or by its fields.
pub(crate) fn of<'py>(
    py: Python<'py>,
    policy: Option<&Bound<'py, PyAny>>,
    fields: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, Policy>> {
    match (policy, fields) {
        (Some(policy), None) => given(policy),
        (None, fields) => Bound::new(
            py,
            Policy(config::document(py, None, fields.map(|fields| fields.as_mapping()), Numbers::Seconds)?),
        ),
        (Some(_), Some(_)) => Err(PyTypeError::new_err("give a policy or its fields, not both")),
    }
}

/// A policy as a parameter of a raw machine: as in [`given`].
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
        config::document(py, name.map(|name| name.as_any()), fields.map(|fields| fields.as_mapping()), Numbers::Seconds)
            .map(Self)
    }

    /// The policy of a document: a mapping of fields, nested or with dots in their names, whose times have a unit.
    #[staticmethod]
    #[pyo3(signature = (fields, /))]
    fn from_dict(fields: &Bound<'_, PyMapping>) -> PyResult<Self> {
        config::document(fields.py(), None, Some(fields), Numbers::Unitless).map(Self)
    }

    /// The policy of a document: JSON text.
    #[staticmethod]
    #[pyo3(signature = (text, /))]
    fn from_json(text: &Bound<'_, PyAny>) -> PyResult<Self> {
        json::document(text, None).map(Self)
    }

    /// The policy as a document: JSON text in one line, from which from_json makes the same policy in every language.
    fn to_json(&self) -> String {
        self.0.to_json()
    }

    /// The policy of another system's form: JSON text or what it is parsed to. `entry` says which of a service config's.
    #[staticmethod]
    #[pyo3(signature = (form, document, *, entry = None))]
    fn from_form(form: &str, document: &Bound<'_, PyAny>, entry: Option<u32>) -> PyResult<Self> {
        let mut reader = self::form(form)?.reader();
        if let Some(entry) = entry {
            reader = reader.entry(entry);
        }
        json::document(&json::text(document)?, Some(reader)).map(Self)
    }

    /// The policy in another system's form, as JSON text; a ConfigError says what that has no way to say.
    fn to_form(&self, py: Python<'_>, form: &str) -> PyResult<String> {
        self.0.to_form(self::form(form)?).map_err(|error| json::document_error(py, error.into()))
    }

    /// The document as a dict; from_dict makes the same policy of it.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        Ok(json::loads(&PyString::new(py, &self.to_json()))?.cast_into()?)
    }

    /// What the policy does: rows of its delays, and str() of it the whole as text. `rows` is how many at most; `after` the
    /// kind of failure they are for.
    #[pyo3(signature = (*, rows = None, after = None))]
    fn explain(&self, rows: Option<u32>, after: Option<&Bound<'_, PyAny>>) -> PyResult<Explanation> {
        Explanation::of(self.core(), rows, after)
    }

    /// What the policy's `retry_on` makes of a failure: one of an error with that HTTP status, gRPC code (a number, its name
    /// or an enum member) and message.
    #[pyo3(signature = (failure, *, http = None, grpc = None, message = "", idempotent = true))]
    fn judge(
        &self,
        failure: &Bound<'_, Failure>,
        http: Option<u16>,
        grpc: Option<&Bound<'_, PyAny>>,
        message: &str,
        idempotent: bool,
    ) -> PyResult<Failure> {
        let grpc = grpc.map(hints::grpc_code).transpose()?;
        let judged = classify::judged(&self.0, failure.get().0, http.unwrap_or(0), grpc, idempotent, || {
            Some(message.to_owned())
        });
        Ok(Failure(judged))
    }

    /// Whether an HTTP answer is a failure: from 400 on, and below when the policy's `retry_on` lists its status.
    #[pyo3(signature = (status, *, idempotent = true))]
    fn is_failure(&self, status: &Bound<'_, PyAny>, idempotent: bool) -> PyResult<bool> {
        Ok(self.0.rules.is_failure(hints::half("status", status)?, idempotent))
    }

    /// What is questionable about the policy.
    fn lints(&self) -> Vec<Lint> {
        Lint::all(self)
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
        *, on = None, on_result = None, cancel = None, seed = None, on_retry = None, on_give_up = None,
        classify = None, idempotent = true
    ))]
    #[allow(clippy::too_many_arguments)]
    fn retrying(
        slf: &Bound<'_, Self>,
        on: Option<&Bound<'_, PyAny>>,
        on_result: Option<&Bound<'_, PyAny>>,
        cancel: Option<&Bound<'_, PyAny>>,
        seed: Option<&Bound<'_, PyAny>>,
        on_retry: Option<&Bound<'_, PyAny>>,
        on_give_up: Option<&Bound<'_, PyAny>>,
        classify: Option<&Bound<'_, PyAny>>,
        idempotent: bool,
    ) -> PyResult<Retrying> {
        Retrying::new(slf, Options { on, on_result, cancel, seed, on_retry, on_give_up, classify, idempotent })
    }

    fn __hash__(&self) -> u64 {
        self.fingerprint()
    }

    /// The types of errors that are never retried are in no document.
    #[staticmethod]
    fn _restored(text: &Bound<'_, PyAny>, error_types: Vec<String>) -> PyResult<Self> {
        Ok(Self(Document { error_types, ..json::document(text, None)? }))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let document = &slf.get().0;
        let parts = (document.to_json(), document.error_types.clone());
        (slf.get_type().getattr("_restored")?, parts).into_pyobject(slf.py())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mut shown = Vec::new();
        let fields = self.to_dict(py)?;
        fields.del_item("version")?;
        for (name, value) in fields {
            shown.push(format!("{}={}", name.str()?, value.repr()?));
        }
        Ok(format!("Policy({})", shown.join(", ")))
    }
}
