//! A decorated function: called like the function that it retries.

use crate::policy::Policy;
use crate::retrying::{Options, Retrying};
use crate::vectorcall::{Arguments, Callable, Called, Calls as _, Invocation, Returned};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};

/// A decorated function. Python sees a derived class (see [`Callable`]), which is called faster.
///
/// The fields are always there but between the allocation of the object and its beginning: CPython allocates the dict in
/// between, which may collect garbage, which visits the object while it is all zeroes. Zeroes are `None`.
#[pyclass(frozen, dict, weakref, subclass, name = "_Retried", module = "holdoff")]
pub(crate) struct Retried {
    retrying: Option<Py<Retrying>>,
    function: Option<Py<PyAny>>,
}

impl Retried {
    /// The class that Python sees.
    pub(crate) fn class(py: Python<'_>) -> PyResult<&Callable> {
        static CLASS: PyOnceLock<Callable> = PyOnceLock::new();
        CLASS.get_or_try_init(py, || Callable::of::<Self>(py, c"holdoff.Retried"))
    }

    pub(crate) fn of<'py>(retrying: &Bound<'py, Retrying>, function: &Bound<'py, PyAny>) -> Returned<'py> {
        let py = retrying.py();
        Self::class(py)?.make(&(retrying, function).into_pyobject(py)?)
    }

    /// The function and its caller, for what is not a call.
    fn known<'a, 'py>(&'a self, py: Python<'py>) -> PyResult<(&'a Bound<'py, Retrying>, &'a Bound<'py, PyAny>)> {
        self.parts(py).ok_or_else(|| PyTypeError::new_err("this decorated function has no function"))
    }
}

impl Called for Retried {
    type Caller = Retrying;

    #[inline]
    fn parts<'a, 'py>(&'a self, py: Python<'py>) -> Option<(&'a Bound<'py, Retrying>, &'a Bound<'py, PyAny>)> {
        Some((self.retrying.as_ref()?.bind(py), self.function.as_ref()?.bind(py)))
    }
}

methods! { Retried(self, py);
    new(retrying: Py<Retrying>, function: Py<PyAny>) -> Self =
        Self { retrying: Some(retrying), function: Some(function) };

    impl {
        #[pyo3(signature = (*args, **kwargs))]
        fn __call__<'py>(
            &self, py: Python<'py>, args: &Bound<'py, PyTuple>, kwargs: Option<&Bound<'py, PyDict>>
        ) -> Returned<'py> {
            let (retrying, function) = self.known(py)?;
            Retrying::run(retrying, Invocation { function, with: Arguments::Packed(args, kwargs), noted: 0 }, true)
        }
    }

    impl {
        /// A method of an object binds like any function.
        fn __get__<'py>(
            slf: &Bound<'py, Self>, instance: &Bound<'py, PyAny>, _owner: Option<&Bound<'py, PyAny>>
        ) -> Returned<'py> {
            if instance.is_none() {
                return Ok(slf.clone().into_any());
            }
            imported!(slf.py(), "types", "MethodType")?.call1((slf, instance))
        }
    }

    /// The function without retries.
    get __wrapped__: Returned<'py> = Ok(self.known(py)?.1.clone());

    /// The policy and the options.
    get holdoff: PyResult<Decoration> = {
        let (retrying, function) = self.known(py)?;
        Ok(Decoration::new(retrying, function))
    };

    /// Other attributes of the function.
    special __getattr__(name: &Bound<'py, PyString>) -> Returned<'py> = self.known(py)?.1.getattr(name);

    /// Pickled by name, like a function.
    special __reduce__() -> Returned<'py> = self.known(py)?.1.getattr(intern!(py, "__qualname__"));

    special __repr__() -> PyResult<String> = Ok(format!("<retried {}>", self.known(py)?.1.repr()?));

    visits &self.retrying, &self.function;
}

/// The attribute `holdoff` of a decorated function: its policy and its options.
#[pyclass(frozen, module = "holdoff")]
pub(crate) struct Decoration {
    retrying: Py<Retrying>,
    function: Py<PyAny>,
}

impl Decoration {
    pub(crate) fn new(retrying: &Bound<'_, Retrying>, function: &Bound<'_, PyAny>) -> Self {
        Self { retrying: retrying.clone().unbind(), function: function.clone().unbind() }
    }
}

methods! { Decoration(self, py);
    /// The function, retried with the given options and fields instead of its own; all others stay.
    ref with_options(; **options as "Unpack[RetryOptions]") -> Returned<'py> as "Callable[..., Any]" = {
        let retrying = Bound::new(py, self.retrying.get().changed(&Options::new(py, options)?)?)?;
        Retrying::decorate(&retrying, self.function.bind(py))
    };

    /// The policy.
    get policy: Py<Policy> = self.retrying.get().policy.clone_ref(py);

    /// The policy with its options.
    get retrying: Py<Retrying> = self.retrying.clone_ref(py);

    visits &self.retrying, &self.function;
}

pub(crate) const GENERATOR: u32 = 0x20;
pub(crate) const COROUTINE: u32 = 0x80;
pub(crate) const ASYNC_GENERATOR: u32 = 0x200;

/// The flags of the code that calling it runs: through partial objects, methods and callable objects.
pub(crate) fn code_flags(function: &Bound<'_, PyAny>) -> PyResult<u32> {
    let py = function.py();
    let mut inner = function.clone();
    // Deeper than anybody nests, and an end for objects that have every attribute.
    for _ in 0..16 {
        if let Some(code) = inner.getattr_opt(intern!(py, "__code__"))? {
            return Ok(code.getattr_opt(intern!(py, "co_flags"))?.and_then(|flags| flags.extract().ok()).unwrap_or(0));
        }
        let next = match inner.getattr_opt(intern!(py, "func"))? {
            Some(next) => Some(next),
            None => inner.getattr_opt(intern!(py, "__func__"))?,
        };
        match next {
            Some(next) => inner = next,
            None if inner.is_instance_of::<PyType>() => return Ok(0),
            None => match inner.get_type().getattr_opt(intern!(py, "__call__"))? {
                Some(call) => inner = call,
                None => return Ok(0),
            },
        }
    }
    Ok(0)
}
