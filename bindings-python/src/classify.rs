//! From an exception to a failure: what to retry, and what the server said.

use crate::convert;
use crate::failure::{self, Failure};
use holdoff_core::{Failure as Kind, FailureKind};
use pyo3::exceptions::{
    PyArithmeticError, PyAssertionError, PyAttributeError, PyBufferError, PyConnectionAbortedError, PyConnectionError,
    PyConnectionRefusedError, PyConnectionResetError, PyException, PyImportError, PyLookupError, PyMemoryError,
    PyNameError, PyNotImplementedError, PyOSError, PyRecursionError, PyReferenceError, PyRuntimeError,
    PyStopAsyncIteration, PyStopIteration, PySyntaxError, PySystemError, PyTimeoutError, PyTypeError, PyValueError,
    PyWarning,
};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyString, PyTuple, PyType};

/// What a user said about which errors to retry.
pub(crate) enum On {
    /// Every exception that is no programming error.
    Default,
    /// These types: one or a tuple, as `isinstance` takes them.
    Types(Py<PyAny>),
    /// What this function says.
    Predicate(Py<PyAny>),
}

impl On {
    pub(crate) fn new(on: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(on) = on else {
            return Ok(Self::Default);
        };
        if let Ok(types) = on.cast::<PyTuple>() {
            for one in types {
                exception_type(&one)?;
            }
            return Ok(Self::Types(on.clone().unbind()));
        }
        if on.is_instance_of::<PyType>() {
            exception_type(on)?;
            return Ok(Self::Types(on.clone().unbind()));
        }
        if on.is_callable() {
            return Ok(Self::Predicate(on.clone().unbind()));
        }
        Err(PyTypeError::new_err(format!(
            "on must be an exception type, a tuple of them, or a function of the error, not {}",
            convert::type_name(on)
        )))
    }
}

/// Only an `Exception` is ever retried: an exit, an interrupt and a cancelled task are not failures.
fn exception_type(value: &Bound<'_, PyAny>) -> PyResult<()> {
    let subclass = value.cast::<PyType>().is_ok_and(|given| given.is_subclass_of::<PyException>().unwrap_or(false));
    if subclass {
        return Ok(());
    }
    let given = value.repr()?;
    Err(PyTypeError::new_err(format!("on takes types of Exception, which is all that is ever retried; not {given}")))
}

/// The failure that this error is.
pub(crate) fn classify(error: &Bound<'_, PyAny>, on: &On, classifier: Option<&Py<PyAny>>) -> PyResult<Kind> {
    let py = error.py();
    let mut asked_for = false;
    match on {
        On::Default => {}
        On::Types(types) => {
            if !error.is_instance(types.bind(py))? {
                return Ok(Kind::PERMANENT);
            }
        }
        On::Predicate(predicate) => {
            let answer = predicate.bind(py).call1((error,))?;
            match answer.cast::<PyBool>() {
                Ok(yes) if yes.is_true() => asked_for = true,
                Ok(_) => return Ok(Kind::PERMANENT),
                Err(_) => return said(&answer, "on"),
            }
        }
    }
    if let Some(classifier) = classifier {
        let answer = classifier.bind(py).call1((error,))?;
        if !answer.is_none() {
            return said(&answer, "classify");
        }
    }
    if let Some(plain) = plain(error) {
        return Ok(plain);
    }
    if matches!(on, On::Default) && error.is_instance(programming_errors(py)?)? {
        return Ok(Kind::PERMANENT);
    }
    let failure = match answer_of_a_server(error)? {
        Some(failure) => failure,
        None => by_name(&error.get_type())?,
    };
    if asked_for && failure.kind == FailureKind::Permanent {
        return Ok(Kind { kind: FailureKind::Transient, ..failure });
    }
    Ok(failure)
}

/// A user's function answers with a failure or the word of its kind.
fn said(answer: &Bound<'_, PyAny>, function: &str) -> PyResult<Kind> {
    if let Ok(failure) = answer.cast::<Failure>() {
        return Ok(failure.get().0);
    }
    if answer.is_instance_of::<PyString>() {
        return convert::kind(answer).map(Kind::new);
    }
    let or = if function == "on" { "a bool" } else { "None" };
    let given = convert::type_name(answer);
    Err(PyTypeError::new_err(format!("{function} must return a Failure, the word of its kind or {or}, not {given}")))
}

/// Errors that say something about the program and nothing about the moment.
fn programming_errors(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static TYPES: PyOnceLock<Py<PyTuple>> = PyOnceLock::new();
    let make = || -> PyResult<Py<PyTuple>> {
        let types = [
            py.get_type::<PyArithmeticError>(),
            py.get_type::<PyAssertionError>(),
            py.get_type::<PyAttributeError>(),
            py.get_type::<PyBufferError>(),
            py.get_type::<PyImportError>(),
            py.get_type::<PyLookupError>(),
            py.get_type::<PyMemoryError>(),
            py.get_type::<PyNameError>(),
            py.get_type::<PyNotImplementedError>(),
            py.get_type::<PyRecursionError>(),
            py.get_type::<PyReferenceError>(),
            py.get_type::<PyStopAsyncIteration>(),
            py.get_type::<PyStopIteration>(),
            py.get_type::<PySyntaxError>(),
            py.get_type::<PySystemError>(),
            py.get_type::<PyTypeError>(),
            py.get_type::<PyValueError>(),
            py.get_type::<PyWarning>(),
        ];
        Ok(PyTuple::new(py, types)?.unbind())
    };
    Ok(TYPES.get_or_try_init(py, make)?.bind(py).as_any())
}

/// The plain errors of the language, which carry no answer of a server: most failures are one of them.
fn plain(error: &Bound<'_, PyAny>) -> Option<Kind> {
    let py = error.py();
    let class = error.get_type();
    if class.is(py.get_type::<PyTimeoutError>()) {
        return Some(Kind::TIMEOUT);
    }
    let plain = class.is(py.get_type::<PyConnectionError>())
        || class.is(py.get_type::<PyConnectionResetError>())
        || class.is(py.get_type::<PyConnectionRefusedError>())
        || class.is(py.get_type::<PyConnectionAbortedError>())
        || class.is(py.get_type::<PyOSError>())
        || class.is(py.get_type::<PyRuntimeError>())
        || class.is(py.get_type::<PyException>());
    plain.then_some(Kind::TRANSIENT)
}

/// The failure in an HTTP client's error: `error.response.status_code` (httpx, requests), `error.status` with headers
/// (aiohttp), `error.code` with headers (urllib).
fn answer_of_a_server(error: &Bound<'_, PyAny>) -> PyResult<Option<Kind>> {
    let py = error.py();
    let response = optional(error, intern!(py, "response")).filter(|response| !response.is_none());
    if let Some(response) = response
        && let Some(status) = status(&response, intern!(py, "status_code"))
    {
        return failure::from_http(status, retry_after(&response)?.as_ref());
    }
    if optional(error, intern!(py, "headers")).is_none() {
        return Ok(None);
    }
    for name in [intern!(py, "status"), intern!(py, "code")] {
        if let Some(status) = status(error, name) {
            return failure::from_http(status, retry_after(error)?.as_ref());
        }
    }
    Ok(None)
}

/// An attribute of somebody else's object, whose getter may fail in its own ways (httpx raises RuntimeError).
pub(crate) fn optional<'py>(object: &Bound<'py, PyAny>, name: &Bound<'py, PyString>) -> Option<Bound<'py, PyAny>> {
    object.getattr_opt(name).unwrap_or_default()
}

fn status<'py>(object: &Bound<'py, PyAny>, name: &Bound<'py, PyString>) -> Option<u32> {
    optional(object, name)?.extract::<u16>().ok().map(u32::from)
}

/// The value of the header, when it is one that can be read.
fn retry_after<'py>(response: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = response.py();
    let Some(headers) = optional(response, intern!(py, "headers")) else {
        return Ok(None);
    };
    for name in [intern!(py, "Retry-After"), intern!(py, "retry-after")] {
        if let Ok(value) = headers.call_method1(intern!(py, "get"), (name,))
            && value.is_instance_of::<PyString>()
        {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

/// Libraries have their own timeouts and cancellations: known by the names of their classes.
fn by_name(class: &Bound<'_, PyType>) -> PyResult<Kind> {
    for ancestor in class.mro() {
        let Ok(ancestor) = ancestor.cast_into::<PyType>() else { continue };
        match ancestor.name()?.to_string_lossy().as_ref() {
            "TimeoutError" | "TimeoutException" | "Timeout" => return Ok(Kind::TIMEOUT),
            "Cancelled" | "CancelledError" => return Ok(Kind::PERMANENT),
            _ => {}
        }
    }
    Ok(Kind::TRANSIENT)
}
