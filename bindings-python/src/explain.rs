//! The delays of a policy as rows and as text, and warnings about its choices.

use crate::convert;
use crate::parameters::{InTime, Kind, PresetName};
use crate::policy::{Policy, PolicyOrName};
use holdoff_core::{Preset, Quantity as Number, Span};
use pyo3::prelude::*;

/// The explanation of a policy: its rows by iteration, and the whole as text by str().
#[pyclass(frozen, eq, module = "holdoff.explain")]
#[derive(PartialEq)]
pub(crate) struct Explanation(holdoff_core::Explanation);

impl Explanation {
    pub(crate) fn of(policy: &Policy, rows: Option<u32>, after: Option<Kind>) -> Self {
        let explanation = policy.document.explain();
        let explanation = rows.map_or(explanation, |rows| explanation.rows(rows));
        Self(after.map_or(explanation, |after| explanation.after(after.0)))
    }
}

methods! { Explanation(self, py);
    shown "<Explanation of {}>", self.0.to_string().lines().next().unwrap_or_default();

    special __iter__() -> Rows = Rows(self.0.iter());

    special __str__() -> String = self.0.to_string();
}

/// The rows of an explanation, one by one.
#[pyclass(module = "holdoff._holdoff")]
pub(crate) struct Rows(holdoff_core::Rows);

methods! { Rows(self, py);
    impl {
        fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
            slf
        }

        fn __next__(&mut self) -> Option<Row> {
            self.0.next().map(Row)
        }
    }
}

/// One retry: the delay before it, and the sum of the delays so far, in nanoseconds.
#[pyclass(frozen, eq, module = "holdoff.explain")]
#[derive(PartialEq)]
pub(crate) struct Row(holdoff_core::Row);

methods! { Row(self, py);
    shown "<Row retry {}: {} to {}, typically {}>", self.0.retry, self.0.min, self.0.max, self.0.typical;

    /// The number of the retry, from 1.
    get retry: u32 = self.0.retry;

    /// The shortest delay.
    get min: u64 = self.0.min.as_nanos();

    /// The delay when every draw is 1/2.
    get typical: u64 = self.0.typical.as_nanos();

    /// The longest delay.
    get max: u64 = self.0.max.as_nanos();

    /// The sum so far when every draw is at the short end.
    get min_total: u64 = self.0.min_total.as_nanos();

    /// The sum so far when every draw is 1/2.
    get typical_total: u64 = self.0.typical_total.as_nanos();

    /// The sum so far when every draw is at the long end.
    get max_total: u64 = self.0.max_total.as_nanos();

    /// Before the deadline "always", "sometimes" or "never".
    get in_time: InTime = InTime(self.0.in_time);
}

/// One warning about a policy.
#[pyclass(frozen, eq, module = "holdoff.explain")]
#[derive(PartialEq)]
pub(crate) struct Lint(holdoff_core::Lint);

impl Lint {
    pub(crate) fn all(policy: &Policy, within: Option<Span>) -> Vec<Self> {
        let document = &policy.document;
        match within {
            None => document.lints().map(Self).collect(),
            Some(timeout) => document.lints_within(timeout).map(Self).collect(),
        }
    }
}

methods! { Lint(self, py);
    shown "<Lint {}>", self.0;

    special __str__() -> String = self.0.to_string();

    /// Its number, the same in every language.
    get code: u16 = self.0.kind.code();

    /// Its word, the same in every language.
    get name: &'static str = self.0.kind.name();

    /// The warning in words.
    get text: &'static str = self.0.kind.text();

    /// The value in the policy: seconds or a number; None without one.
    get found: Option<f64> = number(self.0.found);

    /// The limit that the value breaks, in the same unit.
    get limit: Option<f64> = number(self.0.limit);
}

fn number(value: Number) -> Option<f64> {
    match value {
        Number::None => None,
        Number::Span(span) => Some(convert::seconds(span.as_nanos())),
        Number::Number(number) => Some(number),
    }
}

functions! { py;
    /// The warning about retries inside one another, the outermost first; None without one. Its `found` is how often the
    /// innermost operation runs at most, None without a limit.
    fn lint_nested[policies: Vec<PolicyOrName<'_>> as "Sequence[Policy | PresetName]"]() -> Option<Lint> = {
        let retries = policies.iter().map(|policy| (policy.core().attempts(), policy.0.get().nesting.unwrap_or_default()));
        holdoff_core::Lint::nested(retries).map(Lint)
    };

    /// The names of the presets.
    fn preset_names() -> Vec<PresetName> = Preset::ALL.into_iter().map(PresetName).collect();
}
