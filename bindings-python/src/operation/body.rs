//! Requests whose body an earlier attempt has used up (spec 10.11), and the bodies of answers that are retried.

use super::{Failed, Next, Operation, UNSENT, latest};
use crate::classify;
use holdoff_core::{Step, Ticket};
use pyo3::prelude::*;

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
        self.come_out(py, earlier).map(|()| Next::Stop)
    }

    /// The last failure ends the operation: raises its error, or makes its value the result.
    pub(super) fn come_out(&mut self, py: Python<'_>, last: Failed) -> PyResult<()> {
        if let Failed::Error(error) = last {
            return Err(PyErr::from_value(error.into_bound(py)));
        }
        (self.last, self.over) = (Some(last), true);
        Ok(())
    }

    /// Closes the answer of an attempt that another one follows, so that its connection goes back to the client's pool. True
    /// if there is an answer.
    pub(super) fn discard_answer(&mut self, py: Python<'_>, failed: &Failed) -> PyResult<bool> {
        let ended = failed.object().bind(py);
        let is_answer = classify::has_answer(ended)?;
        if is_answer {
            let awaited = imported!(py, "holdoff._bodies", "discard")?.call1((ended, self.asynchronous))?;
            self.keep(awaited, true)?;
        }
        Ok(is_answer)
    }

    /// Discards the last failure, which another attempt follows.
    pub(super) fn discard_last(&mut self, py: Python<'_>) -> PyResult<()> {
        let Some(failed) = self.last.take() else { return Ok(()) };
        // An error is for the cause of a cancellation, an answer for an attempt that cannot send its request.
        let cancels = self.settings.get().cancel.is_some() && failed.error().is_some();
        let is_answer = self.discard_answer(py, &failed)?;
        self.last = Some(failed).filter(|_| is_answer || cancels);
        Ok(())
    }

    /// True if an argument of the function is a body that cannot be sent again.
    pub(super) fn has_used_body(&self, py: Python<'_>) -> PyResult<bool> {
        let Some(about) = &self.about else { return Ok(false) };
        let about = about.bind(py);
        if about.get_item(1)?.is_empty()? && about.get_item(2)?.is_empty()? {
            return Ok(false);
        }
        imported!(py, "holdoff._bodies", "is_used")?.call1(about)?.extract()
    }
}
