//! The methods of `Policy` in Python.

use super::Policy;
use crate::config;
use crate::explain::{Explanation, Lint};
use crate::failure::Failure;
use crate::guards::nested::Token;
use crate::guards::set::{self, Guards};
use crate::parameters::{Duration, Kind, Status, Text};
use crate::retrying::{Options, Retrying};
use crate::vectorcall::{Arguments, Calls, Invocation, Returned};
use crate::{classify, convert, hints, json};
use holdoff_core::{Document, Form, Span};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyString, PyTuple};

fn form(name: &str) -> PyResult<Form> {
    Form::from_name(name).ok_or_else(|| {
        let known = Form::ALL.map(Form::name).join(", ");
        PyValueError::new_err(format!("form = {name:?}: must be one of {known}"))
    })
}

impl Calls for Policy {
    #[inline]
    fn calls<'py>(slf: &Bound<'py, Self>, call: Invocation<'_, 'py>) -> Returned<'py> {
        Retrying::run_policy(slf, call)
    }
}

methods! { Policy as policy;
    impl {
        #[new]
        #[pyo3(signature = (name: "PresetName | None" = None, /, **fields: "Unpack[PolicyFields]"), text_signature = None)]
        fn made(py: Python<'_>, name: Option<&Bound<'_, PyString>>, fields: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
            config::document(py, name.map(|name| name.as_any()), fields.map(|fields| fields.as_mapping()), config::SECOND)
                .map(Self::new)
        }

        /// The policy of a document: a mapping of fields, nested or with dots in their names, whose times have a unit.
        #[staticmethod]
        #[pyo3(signature = (fields: "Mapping[str, Any]", /))]
        fn from_dict(fields: &Bound<'_, PyMapping>) -> PyResult<Self> {
            config::document(fields.py(), None, Some(fields), config::UNITLESS).map(Self::new)
        }

        /// The policy of a document: JSON text.
        #[staticmethod]
        #[pyo3(signature = (text, /))]
        fn from_json(text: Text<'_, '_>) -> PyResult<Self> {
            json::document(&text, None).map(Self::new)
        }

        /// The policy as a document: JSON text in one line. `from_json` makes the same policy of it in every language.
        fn to_json(&self) -> String {
            self.document.to_json()
        }

        /// The policy in another system's form: JSON text or its parsed value. `entry` selects an entry of a service config.
        #[staticmethod]
        #[pyo3(signature = (form: "FormName", document: "str | bytes | Mapping[str, Any]", *, entry = None))]
        fn from_form(form: &str, document: &Bound<'_, PyAny>, entry: Option<u32>) -> PyResult<Self> {
            let mut reader = self::form(form)?.reader();
            if let Some(entry) = entry {
                reader = reader.entry(entry);
            }
            json::document(&json::text(document)?, Some(reader)).map(Self::new)
        }

        /// The policy in another system's form, as JSON text. Raises ConfigError for a field that the form does not have.
        #[pyo3(signature = (form: "FormName"))]
        fn to_form(&self, py: Python<'_>, form: &str) -> PyResult<String> {
            self.document.to_form(self::form(form)?).map_err(|error| json::document_error(py, error.into()))
        }

        /// The document as a dict; from_dict makes the same policy of it.
        #[pyo3(signature = () -> "dict[str, Any]")]
        fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
            Ok(json::loads(&PyString::new(py, &self.to_json()))?.cast_into()?)
        }

        /// The explanation of the policy: the rows of its delays, and the whole as text by str(). `rows` is the most rows; `after` is
        /// the kind of failure.
        #[pyo3(signature = (*, rows = None, after = None))]
        fn explain(&self, rows: Option<u32>, after: Option<Kind>) -> Explanation {
            Explanation::of(self, rows, after)
        }

        /// The failure after the policy's `retry_on` rules, for an error with this HTTP status, gRPC code (a number, its name or an
        /// enum member) and message.
        #[pyo3(signature = (
            failure, *, http = None, grpc: "GrpcCode | object | None" = None, message = "", idempotent = true
        ))]
        fn judge(
            &self,
            failure: &Failure,
            http: Option<u16>,
            grpc: Option<&Bound<'_, PyAny>>,
            message: &str,
            idempotent: bool,
        ) -> PyResult<Failure> {
            let grpc = grpc.map(hints::grpc_code).transpose()?;
            let judged = classify::judged(&self.document, failure.0, http.unwrap_or(0), grpc, idempotent, || {
                Some(message.to_owned())
            });
            Ok(Failure(judged))
        }

        /// True if an HTTP answer is a failure: from 400 on, and below if the policy's `retry_on` lists its status.
        #[pyo3(signature = (status, *, idempotent = true))]
        fn is_failure(&self, status: Status, idempotent: bool) -> bool {
            self.document.rules.is_failure(status.0, idempotent)
        }

        /// Warnings about the policy, and about a timeout of `within` around it.
        #[pyo3(signature = (*, within = None))]
        fn lints(&self, within: Option<Duration<'_, '_>>) -> PyResult<Vec<Lint>> {
            let within = within.map(|timeout| timeout.span("within")).transpose()?;
            Ok(Lint::all(self, within))
        }

        /// The most attempts inside the retries of the token, the first included; None without a limit.
        #[pyo3(signature = (token = None))]
        fn attempts_inside(&self, token: Option<&Bound<'_, Token>>) -> Option<u32> {
            let own = self.core().attempts().unwrap_or(u32::MAX);
            let attempts = self.nesting.unwrap_or_default().attempts(token.map(|token| token.get().0), own);
            Some(attempts).filter(|attempts| *attempts != u32::MAX)
        }

        /// The failure for this policy after a retry inside gave up on a failure.
        fn after_inner(&self, failure: &Failure) -> Failure {
            Failure(self.nesting.unwrap_or_default().after_inner(failure.0))
        }

        /// Its own guards, which all calls under this object share; None if its fields have none.
        #[getter]
        fn guards(slf: &Bound<'_, Self>) -> PyResult<Option<Py<Guards>>> {
            set::of_policy(slf)
        }

        /// Call the function until it succeeds or the policy gives up.
        #[pyo3(signature = (
            function: "Callable[_P, _R]", /, *args: "_P.args", **kwargs: "_P.kwargs"
        ) -> "_R")]
        fn call<'py>(
            slf: &Bound<'py, Self>,
            function: &Bound<'py, PyAny>,
            args: &Bound<'py, PyTuple>,
            kwargs: Option<&Bound<'py, PyDict>>,
        ) -> Returned<'py> {
            Retrying::run_policy(slf, Invocation { function, with: Arguments::Packed(args, kwargs) })
        }

        /// A caller with this policy and these options, to call or to decorate functions with.
        #[pyo3(signature = (**options: "Unpack[CallOptions]"), text_signature = "($self, *, on=None, classify=None, \
            on_result=None, on_retry=None, on_give_up=None, fallback=None, cancel=None, idempotent=True, seed=None, guards=None)")]
        fn retrying<'py>(slf: &Bound<'py, Self>, options: Option<&Bound<'py, PyDict>>) -> PyResult<Retrying> {
            let options = Options::new(slf.py(), options)?;
            if let Some(name) = options.policy_or_field()? {
                let name = config::shown(&name);
                let message =
                    format!("Policy.retrying() got an unexpected keyword argument {name}: the policy has its fields");
                return Err(PyTypeError::new_err(message));
            }
            Retrying::new(slf, &options)
        }

        fn __hash__(&self) -> u64 {
            self.fingerprint()
        }

        /// For pickle: the types of errors that are never retried are in no document.
        #[staticmethod]
        fn _restored(text: &Bound<'_, PyAny>, error_types: Vec<String>) -> PyResult<Self> {
            Ok(Self::new(Document { error_types, ..json::document(text, None)? }))
        }

        #[pyo3(signature = () -> "tuple[Callable[[str, list[str]], Policy], tuple[str, list[str]]]")]
        fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
            let document = slf.get().document();
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

    get {
        /// The sum of all sleeps without jitter, in seconds; None without an end. The deadline does not count.
        total_wait: Option<f64> = policy.total_wait_ns().map(convert::seconds);

        /// The same in nanoseconds, exactly.
        total_wait_ns: Option<u64> = policy.core().total_wait().map(Span::as_nanos);

        /// A number for the decisions of the policy; the same in every language.
        fingerprint: u64 = policy.core().fingerprint();
    }
}
