//! A failed attempt as the core sees it: a kind and the server's hint.

use crate::convert;
use crate::parameters::{Kind, Word};
use holdoff_core::{ErrorCode, Hint, Span};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// One failed attempt: its kind, the server's hint on when to come back, and the rule of the policy that takes it.
#[pyclass(frozen, eq, module = "holdoff")]
pub(crate) struct Failure(pub(crate) holdoff_core::Failure);

/// Failures are equal if kind and hint are: the number of a rule says nothing without its policy.
impl PartialEq for Failure {
    fn eq(&self, other: &Self) -> bool {
        (self.0.kind, self.0.hint) == (other.0.kind, other.0.hint)
    }
}

methods! { Failure(self, py);
    new(
        kind: Option<Kind> = None;
        hint: Option<&Bound<'_, PyAny>> as "Duration | Literal['never'] | None" = None,
        hint_ns: Option<&Bound<'_, PyAny>> as "int | None" = None, rule: Option<u8> = None
    ) -> PyResult<Self> = {
        let kind = kind.map_or(holdoff_core::FailureKind::Transient, |kind| kind.0);
        let hint = match (hint, hint_ns) {
            (None, None) => Hint::NONE,
            (Some(hint), None) if hint.eq("never")? => Hint::NEVER,
            (Some(hint), None) => Hint::after(crate::config::span("hint", hint)?),
            (None, Some(nanos)) => Hint::after(nanos_span(nanos)?),
            (Some(_), Some(_)) => return Err(PyTypeError::new_err("give hint or hint_ns, not both")),
        };
        let failure = holdoff_core::Failure::new(kind).with_hint(hint);
        Ok(Self(holdoff_core::Failure { rule: rule.unwrap_or(0), ..failure }))
    };

    special __repr__() -> String = match self.0.hint {
        hint if hint.is_never() => format!("Failure('{}', hint='never')", self.0.kind.name()),
        hint => match hint.span() {
            Some(span) => format!("Failure('{}', hint='{span}')", self.0.kind.name()),
            None => format!("Failure('{}')", self.0.kind.name()),
        },
    };

    special __hash__() -> u64 = self.0.hint.as_raw().wrapping_mul(31) ^ u64::from(self.0.kind.code());

    /// "transient", "throttled", "timeout" or "permanent".
    get kind: Word = Word(self.0.kind);

    /// The number of the policy's rule that takes the failure, from 1; None if none does or the policy has not judged it.
    get rule: Option<u8> = Some(self.0.rule).filter(|rule| !matches!(*rule, 0 | holdoff_core::Failure::NO_RULE));

    /// Seconds to wait after the failure, "never" for no retry, or None without a hint.
    get hint: Option<HintSeconds> = HintSeconds::of(self.0.hint);

    /// The hint in nanoseconds; None when there is none or it is "never".
    get hint_ns: Option<u64> = self.0.hint.span().map(Span::as_nanos);
}

results! {
    /// The seconds of a hint, or "never".
    HintSeconds(Hint) shown pyo3::type_hint_identifier!("holdoff.types", "HintSeconds"), |py, hint| match hint.span() {
        Some(span) => Ok(convert::seconds(span.as_nanos()).into_pyobject(py)?.into_any()),
        None => Ok(PyString::intern(py, "never").into_any()),
    };
}

impl HintSeconds {
    pub(crate) fn of(hint: Hint) -> Option<Self> {
        (hint.is_never() || hint.span().is_some()).then_some(Self(hint))
    }
}

fn nanos_span(nanos: &Bound<'_, PyAny>) -> PyResult<Span> {
    let span = convert::time("hint_ns", nanos)?.as_nanos();
    if span > Span::MAX.as_nanos() {
        return Err(crate::config::refused(ErrorCode::TimeRange, "hint_ns", nanos));
    }
    Ok(Span::from_nanos(span))
}
