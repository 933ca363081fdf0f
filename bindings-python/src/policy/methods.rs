//! The methods of `Policy` in Python.

use super::Policy;
use crate::caller::Invocation;
use crate::config;
use crate::convert::Returned;
use crate::explain::{Explanation, Lint};
use crate::failure::Failure;
use crate::guards::nested::Token;
use crate::guards::set::{self, Guards};
use crate::parameters::{Duration, Kind, Status, Text};
use crate::retrying::{Options, Retrying};
use crate::simulation::Simulation;
use crate::{classify, convert, hints, json, notebook};
use holdoff_core::{Document, Facts, Form, GrpcCode, Span};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyString, PyTuple};

fn form(name: &str) -> PyResult<Form> {
    convert::choice("form", name, &Form::ALL, Form::name)
}

methods! { Policy(self, py);
    #[pyo3(text_signature = None)]
    new[name: Option<&Bound<'_, PyString>> as "PresetName | None" = None](
        ; **fields as "Unpack[PolicyFields]"
    ) -> PyResult<Self> = {
        let fields = fields.map(|fields| fields.as_mapping());
        config::document(py, name.map(|name| name.as_any()), fields, config::SECOND).map(Self::of)
    };

    impl {
        /// Call the function until it succeeds or the policy gives up.
        #[pyo3(signature = (function: "Callable[_P, _R]", /, *args: "_P.args", **kwargs: "_P.kwargs") -> "_R")]
        fn call<'py>(
            slf: &Bound<'py, Self>, function: &Bound<'py, PyAny>, args: &Bound<'py, PyTuple>,
            kwargs: Option<&Bound<'py, PyDict>>
        ) -> Returned<'py> {
            let policy = slf.get();
            if policy.guarded {
                return Retrying::call(&Retrying::of_call(slf)?, function, args, kwargs);
            }
            let budgets = policy.budgets.as_deref();
            Invocation { function, args, kwargs }.retried(!policy.core().is_timed(), budgets, || Retrying::of_call(slf))
        }

        /// A caller with this policy and these options, to call or to decorate functions with.
        #[pyo3(signature = (**options: "Unpack[CallOptions]"), text_signature = "($self, *, on=None, classify=None, \
            on_result=None, on_attempt=None, on_retry=None, on_success=None, on_give_up=None, delay=None, name=None, sleep=None, fallback=None, cancel=None, idempotent=True, seed=None, guards=None, key=None)")]
        fn retrying<'py>(slf: &Bound<'py, Self>, options: Option<&Bound<'py, PyDict>>) -> PyResult<Retrying> {
            let options = Options::new(slf.py(), options)?;
            if let Some(name) = options.policy_or_field()? {
                let name = config::shown(&name);
                let message =
                    format!("Policy.retrying() got an unexpected keyword argument {name}: the policy has its fields");
                return Err(PyTypeError::new_err(message));
            }
            Retrying::of_policy(slf, &options)
        }
    }

    /// The policy of a document: a mapping of fields, nested or with dots in their names, whose times have a unit.
    static from_dict[fields: &Bound<'_, PyMapping> as "Mapping[str, Any]"]() -> PyResult<Self> =
        config::document(fields.py(), None, Some(fields), config::UNITLESS).map(Self::of);

    /// The policy of a document: JSON text.
    static from_json[text: Text<'_, '_>]() -> PyResult<Self> = json::document(&text, None).map(Self::of);

    /// The policy in another system's form: JSON text or its parsed value. `entry` selects an entry of a service config.
    static from_form(
        form: &str as "FormName", document: &Bound<'_, PyAny> as "str | bytes | Mapping[str, Any]";
        entry: Option<u32> = None
    ) -> PyResult<Self> = {
        let mut reader = self::form(form)?.reader();
        if let Some(entry) = entry {
            reader = reader.entry(entry);
        }
        json::document(&json::text(document)?, Some(reader)).map(Self::of)
    };

    /// For pickle: the types of errors that are never retried are in no document.
    static _restored(text: &Bound<'_, PyAny>, error_types: Vec<String>) -> PyResult<Self> =
        Ok(Self::of(Document { error_types, ..json::document(text, None)? }));

    /// The policy in another system's form, as JSON text. Raises ConfigError for a field that the form does not have.
    ref to_form(form: &str as "FormName") -> PyResult<String> =
        self.document.to_form(self::form(form)?).map_err(|error| json::document_error(py, error.into()));

    /// The document as a dict; from_dict makes the same policy of it.
    ref to_dict() -> PyResult<Bound<'py, PyDict>> as "dict[str, Any]" = json::dict(py, &self.to_json(py));

    /// The policy as a document: JSON text in one line. `from_json` makes the same policy of it in every language.
    ref to_json() -> String = self.document.to_json();

    /// The explanation of the policy: the rows of its delays, and the whole as text by str(). `rows` is the most rows;
    /// `after` is the kind of failure.
    ref explain(; rows: Option<u32> = None, after: Option<Kind> = None) -> Explanation =
        Explanation::of(self, rows, after);

    /// The delays of many calls whose attempts all fail, in milliseconds: an array of numpy with a row for each call and a
    /// column for each retry, NaN after the call gave up. `seed` is that of all calls together; `retries` is the most retries
    /// (100, and 10 of a policy that retries for ever), `after` the kind of failure, `attempt` how long each attempt takes.
    ref simulate(
        calls: u32 = 10_000, seed: u64 = 0; retries: Option<u32> = None, after: Option<Kind> = None,
        attempt: Option<Duration<'_, '_>> = None
    ) -> PyResult<Bound<'py, PyAny>> as "NDArray[float64]" = {
        let attempt = attempt.map(|time| time.span("attempt")).transpose()?.unwrap_or_default();
        Simulation { calls, seed, retries, after, attempt }.run(py, self.core())
    };

    /// Draws when each retry begins with matplotlib (`pip install "holdoff[plot]"`): the range, the typical time and the
    /// deadline. `ax` is the axes to draw on, new ones by default; `rows` and `after` are those of `explain`.
    ref plot(
        ax: Option<&Bound<'py, PyAny>> as "Axes | None" = None; rows: Option<u32> = None, after: Option<Kind> = None
    ) -> PyResult<Bound<'py, PyAny>> as "Axes" = {
        let deadline = self.core().deadline().map(|deadline| convert::seconds(deadline.as_nanos()));
        imported!(py, "holdoff._plot", "plot")?.call1((Explanation::of(self, rows, after), deadline, ax))
    };

    /// The policy in a notebook.
    ref _repr_html_() -> String = notebook::html(&self.document.explain());

    /// The failure after the policy's rules, for an error with this HTTP status, gRPC code (a number, its name or an enum
    /// member), codes, names of its class and of those it derives from, and message. `unsent` is true if the request was never
    /// sent, `program_fault` for an error of the program itself, `should_retry` the value of the header x-should-retry.
    ref judge(
        failure: &Failure; http: Option<u16> = None,
        grpc: Option<&Bound<'_, PyAny>> as "GrpcCode | object | None" = None,
        codes: Option<Vec<String>> as "Sequence[str] | None" = None,
        types: Option<Vec<String>> as "Sequence[str] | None" = None, message: &str = "",
        idempotent: bool = true, unsent: bool = false, program_fault: bool = false, should_retry: Option<bool> = None
    ) -> PyResult<Failure> = {
        let grpc = grpc.map(hints::grpc_code).transpose()?;
        let facts = Facts {
            http: http.unwrap_or(0),
            grpc: grpc.map_or(u8::MAX, |code| GrpcCode::from_code(code).unwrap_or(GrpcCode::Unknown).code()),
            should_retry: should_retry.map_or(0, |value| if value { 1 } else { 2 }),
            idempotent, unsent, program_fault,
            ..Facts::NONE
        };
        let [codes, types] = [codes, types].map(Option::unwrap_or_default);
        Ok(Failure(classify::judged(&self.document, facts, failure.0, &codes, &types, || message.to_owned())))
    };

    /// True if an HTTP answer is a failure: from 400 on, and below if a rule of the policy that retries names its status.
    ref is_failure(status: Status; idempotent: bool = true) -> bool =
        self.document.rules.is_failure(status.0, idempotent);

    /// Warnings about the policy, and about a timeout of `within` around it.
    ref lints(; within: Option<Duration<'_, '_>> = None) -> PyResult<Vec<Lint>> =
        Ok(Lint::all(self, within.map(|timeout| timeout.span("within")).transpose()?));

    /// The most attempts inside the retries of the token, the first included; None without a limit.
    ref attempts_inside(token: Option<&Bound<'_, Token>> = None) -> Option<u32> = {
        let own = self.core().attempts().unwrap_or(u32::MAX);
        let attempts = self.nesting.unwrap_or_default().attempts(token.map(|token| token.get().0), own);
        Some(attempts).filter(|attempts| *attempts != u32::MAX)
    };

    /// The failure for this policy after a retry inside gave up on a failure.
    ref after_inner(failure: &Failure) -> Failure = Failure(self.nesting.unwrap_or_default().after_inner(failure.0));

    special __hash__() -> u64 = self.fingerprint(py);

    special __repr__() -> PyResult<String> = {
        let mut shown = Vec::new();
        let fields = self.to_dict(py)?;
        fields.del_item("version")?;
        for (name, value) in fields {
            shown.push(format!("{}={}", name.str()?, value.repr()?));
        }
        Ok(format!("Policy({})", shown.join(", ")))
    };

    impl {
        #[pyo3(signature = () -> "tuple[Callable[[str, list[str]], Policy], tuple[str, list[str]]]")]
        fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
            let document = &slf.get().document;
            let parts = (document.to_json(), document.error_types.clone());
            (slf.get_type().getattr("_restored")?, parts).into_pyobject(slf.py())
        }

        /// Its own guards, which all calls under this object share; None if its fields have none.
        #[getter]
        fn guards(slf: &Bound<'_, Self>) -> PyResult<Option<Py<Guards>>> {
            set::of_policy(slf)
        }
    }

    /// The sum of all sleeps without jitter, in seconds; None without an end. The deadline does not count.
    get total_wait: Option<f64> = self.total_wait_ns(py).map(convert::seconds);

    /// The same in nanoseconds, exactly.
    get total_wait_ns: Option<u64> = self.core().total_wait().map(Span::as_nanos);

    /// A number for the decisions of the policy; the same in every language.
    get fingerprint: u64 = self.core().fingerprint();
}
