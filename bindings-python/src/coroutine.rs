//! Recognizes coroutines and the functions that make them, for all loops and for the engines.

use crate::convert::{Returned, optional};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

pub(crate) const COROUTINE: u32 = 0x80;

/// The flags of the code that runs when the function is called: through partial objects, methods and callable objects.
pub(crate) fn flags_of(function: &Bound<'_, PyAny>) -> PyResult<u32> {
    let py = function.py();
    let partial = imported!(py, "functools", "partial")?;
    let mut inner = function.clone();
    // Deeper than anybody nests, and an end for objects that have every attribute.
    for _ in 0..16 {
        if let Some(code) = optional(&inner, intern!(py, "__code__"))? {
            return Ok(optional(&code, intern!(py, "co_flags"))?.and_then(|flags| flags.extract().ok()).unwrap_or(0));
        }
        let name = if inner.is_instance(partial)? { intern!(py, "func") } else { intern!(py, "__func__") };
        inner = match optional(&inner, name)? {
            Some(next) => next,
            None if inner.is_instance_of::<PyType>() => return Ok(0),
            None => match optional(inner.get_type().as_any(), intern!(py, "__call__"))? {
                Some(call) => call,
                None => return Ok(0),
            },
        };
    }
    Ok(0)
}

functions! { py;
    /// The flags of the code that runs when the function is called: through partial objects, methods and callable objects.
    fn code_flags[function: &Bound<'py, PyAny> as "object"]() -> PyResult<u32> = flags_of(function);

    /// True if calling the function makes a coroutine: an `async def`, also inside partial objects, methods and callable
    /// objects.
    fn is_coroutine_function[function: &Bound<'py, PyAny> as "object"]() -> PyResult<bool> =
        Ok(flags_of(function)? & COROUTINE != 0);
}

static COROUTINE_TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// Found once, so that a coroutine is recognized by one comparison.
pub(crate) fn find_coroutine_type(py: Python<'_>) -> PyResult<()> {
    COROUTINE_TYPE.import(py, "types", "CoroutineType").map(drop)
}

#[inline]
pub(crate) fn is_coroutine(value: &Bound<'_, PyAny>) -> bool {
    COROUTINE_TYPE.get(value.py()).is_some_and(|coroutine| value.get_type_ptr() == coroutine.as_ptr().cast())
}

/// Closes a coroutine that is not awaited, which would warn.
pub(crate) fn close(coroutine: &Bound<'_, PyAny>) {
    if is_coroutine(coroutine) {
        let _closed = coroutine.call_method0("close");
    }
}

/// The answer of a user's function that a blocking loop has called.
pub(crate) fn refuse_coroutine<'py>(function: &str, answer: Bound<'py, PyAny>) -> Returned<'py> {
    if !is_coroutine(&answer) {
        return Ok(answer);
    }
    close(&answer);
    Err(not_awaited(function))
}

/// The error of an asynchronous function in a blocking loop.
pub(crate) fn not_awaited(function: &str) -> PyErr {
    PyTypeError::new_err(format!(
        "{function}: a blocking function cannot await an asynchronous function; give a plain function"
    ))
}
