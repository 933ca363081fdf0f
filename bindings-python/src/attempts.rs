//! The options of attempts at a block of code, whose loop is `holdoff._attempts`.

use crate::convert::Returned;
use crate::retrying::{Options, Retrying};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

functions! { py;
    #[doc = include_str!("help/attempts.txt")]
    #[pyo3(text_signature = None)]
    fn attempts(
        policy: Option<&Bound<'py, PyAny>> as "Policy | PresetName | None" = None; **options as "Unpack[AttemptsOptions]"
    ) -> Returned<'py> as "Attempts" = {
        let options = Options::new(py, options)?;
        for (name, instead) in [
            ("on_result", "a block of code returns no value: raise an error in the block"),
            ("fallback", "a block of code returns no value: write `try` and `except` around the loop"),
        ] {
            if options.has(name)? {
                return Err(PyTypeError::new_err(format!("attempts() takes no {name}; {instead}")));
            }
        }
        let retrying = Retrying::of_calls(&options.with_policy(policy))?;
        if retrying.hedges() {
            let message = "attempts() cannot hedge: a block of code does not run twice at once; use a function";
            return Err(PyTypeError::new_err(message));
        }
        imported!(py, "holdoff._attempts", "Attempts")?.call1((retrying,))
    };
}
