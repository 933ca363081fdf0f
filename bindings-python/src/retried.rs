//! The native part of a decorated blocking function, and the attribute `holdoff` of every decorated function.

use crate::policy::Policy;
use crate::retrying::{Options, Retrying};
use crate::vectorcall::{Arguments, Callable, Called, Calls as _, Invocation, Returned};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};

/// A function with its caller. Python sees a derived class (see [`Callable`]), which is called faster.
///
/// The fields are always there but between the allocation of the object and its beginning: CPython allocates the object in
/// between, which may collect garbage, which visits the object while it is all zeroes. Zeroes are `None`.
#[pyclass(frozen, subclass, name = "_Retried", module = "holdoff._holdoff")]
pub(crate) struct Retried {
    retrying: Option<Py<Retrying>>,
    function: Option<Py<PyAny>>,
}

impl Retried {
    /// The class that Python sees.
    pub(crate) fn class(py: Python<'_>) -> PyResult<&Callable> {
        static CLASS: PyOnceLock<Callable> = PyOnceLock::new();
        CLASS.get_or_try_init(py, || Callable::of::<Self>(py, c"holdoff._holdoff.Retried"))
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

        /// For libraries that pickle functions by value.
        fn __reduce__<'py>(&self, py: Python<'py>) -> Returned<'py> {
            let make = py.import("holdoff._holdoff")?.getattr("bind")?;
            Ok((make, self.known(py)?).into_pyobject(py)?.into_any())
        }
    }

    visits &self.retrying, &self.function;
}

functions! { py;
    /// The function with its caller: the native part of a decorated blocking function.
    fn bind[retrying: &Bound<'py, Retrying>, function: &Bound<'py, PyAny>]() -> Returned<'py> as "Callable[..., Any]" =
        Retried::class(py)?.make(&(retrying, function).into_pyobject(py)?);
}

/// The attribute `holdoff` of a decorated function: its policy and its options.
#[pyclass(frozen, module = "holdoff._holdoff")]
pub(crate) struct Decoration {
    retrying: Py<Retrying>,
    function: Py<PyAny>,
}

methods! { Decoration(self, py);
    new(retrying: Py<Retrying>, function: Py<PyAny>) -> Self = Self { retrying, function };

    special __getnewargs__() -> (Py<Retrying>, Py<PyAny>) = (self.retrying.clone_ref(py), self.function.clone_ref(py));

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
