//! The attribute `holdoff` of every decorated function.

use crate::convert::Returned;
use crate::policy::Policy;
use crate::retrying::{Options, Retrying};
use pyo3::prelude::*;

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
