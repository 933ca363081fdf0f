//! The outcome of an operation, attached to the error that goes back to the user.

use crate::convert::Returned;
use crate::parameters::{StopReason, StopWord};
use crate::{clock, convert};
use holdoff_core::Timestamp;
use pyo3::prelude::*;
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

/// Why there was no other attempt, and when another try might succeed.
#[pyclass(frozen, eq, module = "holdoff")]
#[derive(Clone, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) reason: holdoff_core::StopReason,
    pub(crate) attempts: u32,
    pub(crate) retry_at: Timestamp,
    /// The tokens that a retry would have cost.
    pub(crate) details: Option<String>,
    /// True if the retry was *innermost*: retries around it do not repeat the attempt unless they say so (spec 30.4).
    pub(crate) innermost: bool,
}

/// True once an *innermost* retry has given up.
static INNERMOST: AtomicBool = AtomicBool::new(false);

/// True if an error may carry the outcome of an *innermost* retry.
pub(crate) fn has_innermost() -> bool {
    INNERMOST.load(Ordering::Relaxed)
}

impl Outcome {
    /// The outcome, after which retries look for marks of *innermost* ones.
    pub(crate) fn noted(self) -> Self {
        if self.innermost {
            INNERMOST.store(true, Ordering::Relaxed);
        }
        self
    }

    fn text(&self) -> Cow<'static, str> {
        let reason = self.reason.text();
        self.details.as_ref().map_or(Cow::Borrowed(reason), |details| format!("{reason} ({details})").into())
    }
}

methods! { Outcome(self, py);
    new(
        reason: StopWord, attempts: u32, retry_at_ns: Option<u64> = None, details: Option<String> = None,
        innermost: bool = false
    ) -> Self = {
        let retry_at = retry_at_ns.map_or(Timestamp::NEVER, Timestamp::from_nanos);
        Self { reason: reason.0, attempts, retry_at, details, innermost }.noted()
    };

    /// Outcomes are pickled with their errors.
    special __getnewargs__() -> (StopReason, u32, Option<u64>, Option<String>, bool) =
        (StopReason(self.reason), self.attempts, self.retry_at_ns(py), self.details.clone(), self.innermost);

    special __repr__() -> String = {
        let retry_at = self.retry_at(py).map_or_else(|| "None".to_owned(), |at| format!("{at:?}"));
        format!("Outcome(reason='{}', attempts={}, retry_at={retry_at})", self.reason, self.attempts)
    };

    /// Seconds from now until another try might succeed, 0 when that is past; None if unknown.
    get retry_in: PyResult<Option<f64>> = {
        let known = (!self.retry_at.is_never()).then(|| clock::now(py)).transpose()?;
        Ok(known.map(|now| convert::seconds(self.retry_at.since(now).as_nanos())))
    };

    /// "permanent", "attempts", "deadline", "hint", "budget", "breaker", "limiter", "bulkhead", "body" or "cancelled".
    get reason: StopReason = StopReason(self.reason);

    /// The reason in a sentence; for a budget of tokens also how many are spent and when there are more.
    get description: String = self.text().into_owned();

    /// How many attempts began.
    get attempts: u32 = self.attempts;

    /// When another try might succeed, on the clock of time.monotonic; None if unknown.
    get retry_at: Option<f64> = self.retry_at_ns(py).map(convert::seconds);

    /// True if the retry was "innermost": a retry around it whose policy has no `nested` does not repeat what it gave up.
    get innermost: bool = self.innermost;

    /// When another try might succeed, on the clock of time.monotonic_ns; None if unknown.
    get retry_at_ns: Option<u64> = (!self.retry_at.is_never()).then(|| self.retry_at.as_nanos());
}

/// True if a retry gave up on this error or value, on an error that led to it, or on the answer in one; the error at the address
/// `handled` and those behind it are not looked at, and with `innermost` no retries but *innermost* ones.
pub(crate) fn gave_up(failed: &Bound<'_, PyAny>, handled: usize, innermost: bool) -> PyResult<bool> {
    imported!(failed.py(), "holdoff._outcomes", "gave_up")?.call1((failed, handled, innermost))?.extract()
}

/// The address of the error that this code handles; 0 for none.
pub(crate) fn handled(py: Python<'_>) -> PyResult<usize> {
    let handled = imported!(py, "sys", "exc_info")?.call0()?.get_item(1)?;
    Ok(if handled.is_none() { 0 } else { handled.as_ptr() as usize })
}

/// The error of a call that a guard refused before its first attempt.
pub(crate) fn refused<'py>(
    py: Python<'py>,
    reason: holdoff_core::StopReason,
    retry_at: Timestamp,
    now: Timestamp,
) -> Returned<'py> {
    let [at, after] = [retry_at.as_nanos(), retry_at.since(now).as_nanos()]
        .map(|nanos| (!retry_at.is_never()).then(|| convert::seconds(nanos)));
    imported!(py, "holdoff._outcomes", "refused")?.call1((reason.name(), reason.text(), at, after))
}

/// Keeps the outcome of an operation that gave up with a value.
pub(crate) fn remember(value: &Bound<'_, PyAny>, outcome: Outcome) -> PyResult<()> {
    imported!(value.py(), "holdoff._outcomes", "remember")?.call1((value, outcome)).map(drop)
}

/// Attaches the outcome to the error.
pub(crate) fn attach(error: &Bound<'_, PyAny>, outcome: Outcome) -> PyResult<()> {
    imported!(error.py(), "holdoff._outcomes", "attach_outcome")?.call1((error, outcome)).map(drop)
}
