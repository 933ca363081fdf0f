//! Requests whose body an earlier attempt has used up (spec 10.11).

use super::{Failed, Next, Operation, UNSENT, latest};
use holdoff_core::{Step, Ticket};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

impl Operation {
    /// An attempt could not send its request, whose body an earlier one has used up: the failure of that one comes out, unless others
    /// still run (spec 10.11).
    pub(super) fn stop_unsent(&mut self, py: Python<'_>, earlier: Failed, ticket: Option<Ticket>) -> PyResult<Next> {
        let now = self.now(py)?;
        let step = self
            .transition(py, now, |call, _, guards| call.abandon(guards, ticket.unwrap_or_else(|| latest(call)), now));
        if matches!(step, Some(Step::Wait { .. })) {
            return Ok(Next::Wait);
        }
        self.last = None;
        self.settle(py, &earlier, UNSENT, None)?;
        match earlier {
            Failed::Error(error) => Err(PyErr::from_value(error.into_bound(py))),
            value => {
                (self.last, self.over) = (Some(value), true);
                Ok(Next::Stop)
            }
        }
    }

    /// True if an argument of the function is a body that cannot be sent again.
    pub(super) fn has_used_body(&self, py: Python<'_>) -> PyResult<bool> {
        let Some(about) = &self.about else { return Ok(false) };
        let (function, args, kwargs): (Bound<'_, PyAny>, Bound<'_, PyTuple>, Bound<'_, PyDict>) =
            about.bind(py).extract()?;
        if args.is_empty() && kwargs.is_empty() {
            return Ok(false);
        }
        imported!(py, "holdoff._bodies", "is_used")?.call1((function, args, kwargs))?.extract()
    }
}
