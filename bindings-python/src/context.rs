//! The context of an attempt: when the attempt must be over, and the token for the retries inside it.
//!
//! The interpreter's functions for context variables are outside the stable ABI, so this file looks them up as `vectorcall` does;
//! where they cannot be found, it calls the methods of the variables.
#![allow(unsafe_code)]

use crate::clock;
use crate::convert::seconds;
use crate::guards::nested::Token;
use crate::vectorcall::{Returned, symbol};
use holdoff_core::Timestamp;
use pyo3::exceptions::PyValueError;
use pyo3::ffi::PyObject;
use pyo3::intern;
use pyo3::prelude::*;
use std::ffi::{c_int, c_void};
use std::mem::transmute;
use std::ptr;
use std::sync::OnceLock;

type Get = unsafe extern "C" fn(*mut PyObject, *mut PyObject, *mut *mut PyObject) -> c_int;
type Set = unsafe extern "C" fn(*mut PyObject, *mut PyObject) -> *mut PyObject;
type Reset = unsafe extern "C" fn(*mut PyObject, *mut PyObject) -> c_int;

struct Functions {
    get: Get,
    set: Set,
    reset: Reset,
}

#[inline]
fn functions() -> Option<&'static Functions> {
    static FOUND: OnceLock<Option<Functions>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let [get, set, reset] = [c"PyContextVar_Get", c"PyContextVar_Set", c"PyContextVar_Reset"].map(symbol);
        let found = !get.is_null() && !set.is_null() && !reset.is_null();
        // SAFETY: they have had these signatures since Python 3.8.
        found.then(|| unsafe {
            Functions {
                get: transmute::<*mut c_void, Get>(get),
                set: transmute::<*mut c_void, Set>(set),
                reset: transmute::<*mut c_void, Reset>(reset),
            }
        })
    });
    found.as_ref()
}

/// The value of a variable in this context; none for None.
fn get<'py>(variable: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = variable.py();
    let value = match functions() {
        Some(functions) => {
            let mut value = ptr::null_mut();
            // SAFETY: a variable, its own default, and a pointer to write an owned object to.
            let result = unsafe { (functions.get)(variable.as_ptr(), ptr::null_mut(), &raw mut value) };
            if result != 0 {
                return Err(PyErr::fetch(py));
            }
            // SAFETY: an owned object.
            unsafe { Bound::from_owned_ptr_or_opt(py, value) }
        }
        None => Some(variable.call_method0(intern!(py, "get"))?),
    };
    Ok(value.filter(|value| !value.is_none()))
}

/// Sets a variable in this context. The result is for [`leave`].
fn set<'py>(variable: &Bound<'py, PyAny>, value: &Bound<'py, PyAny>) -> Returned<'py> {
    let py = variable.py();
    match functions() {
        // SAFETY: a variable and a value; the result is owned.
        Some(functions) => unsafe {
            Bound::from_owned_ptr_or_err(py, (functions.set)(variable.as_ptr(), value.as_ptr()))
        },
        None => variable.call_method1(intern!(py, "set"), (value,)),
    }
}

/// Resets a variable in the context where it was set. A generator that began in one context may end in another one, which never had the
/// value.
fn reset<'py>(variable: &Bound<'py, PyAny>, scope: &Bound<'py, PyAny>) -> PyResult<()> {
    let py = variable.py();
    let reset = match functions() {
        // SAFETY: a variable and the token of a `set`.
        Some(functions) => match unsafe { (functions.reset)(variable.as_ptr(), scope.as_ptr()) } {
            0 => return Ok(()),
            _ => Err(PyErr::fetch(py)),
        },
        None => variable.call_method1(intern!(py, "reset"), (scope,)).map(drop),
    };
    reset.or_else(|error| if error.is_instance_of::<PyValueError>(py) { Ok(()) } else { Err(error) })
}

fn limit(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    imported!(py, "holdoff._limit", "LIMIT")
}

fn handed_var(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    imported!(py, "holdoff._limit", "HANDED")
}

/// The values that an attempt has set in its context: its limit and its token.
pub(crate) type Entered<'py> = (Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>);

/// Sets the limit of an attempt, unless a limit from outside is nearer, and the token that the attempt hands down.
pub(crate) fn enter(py: Python<'_>, at: Timestamp, token: Option<holdoff_core::Token>) -> PyResult<Entered<'_>> {
    let limited = if at.is_never() {
        None
    } else {
        let outer = get(limit(py)?)?.map(|outer| outer.extract::<u64>()).transpose()?;
        let at = outer.map_or(at.as_nanos(), |outer| outer.min(at.as_nanos()));
        Some(set(limit(py)?, at.into_pyobject(py)?.as_any())?)
    };
    let handed = token.map(|token| set(handed_var(py)?, Bound::new(py, Token(token))?.as_any())).transpose()?;
    Ok((limited, handed))
}

/// Undoes [`enter`].
pub(crate) fn leave<'py>(py: Python<'py>, (limited, handed): &Entered<'py>) -> PyResult<()> {
    if let Some(scope) = handed {
        reset(handed_var(py)?, scope)?;
    }
    if let Some(scope) = limited {
        reset(limit(py)?, scope)?;
    }
    Ok(())
}

/// The token that the attempt around this hands down, if any.
pub(crate) fn handed(py: Python<'_>) -> PyResult<Option<holdoff_core::Token>> {
    let token = get(handed_var(py)?)?;
    Ok(token.and_then(|token| token.cast::<Token>().ok().map(|token| token.get().0)))
}

functions! { py;
    /// Undoes `enter` of an attempt.
    fn leave_context[entered: Entered<'py> as "Entered"]() -> PyResult<()> = leave(py, &entered);

    /// Seconds until the attempt that runs now must be over; None when nothing limits it.
    ///
    /// For operations that cannot be aborted from outside: hand it on as their timeout.
    fn remaining() -> PyResult<Option<f64>> = {
        let Some(at) = get(limit(py)?)? else { return Ok(None) };
        Ok(Some(seconds(Timestamp::from_nanos(at.extract()?).since(clock::now(py)?).as_nanos())))
    };
}
