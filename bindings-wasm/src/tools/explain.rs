//! Explanations of policies, for people.

use super::arguments::Argument;
use super::ffi::{Answer, FromJs, FullPolicy, functions, js_types, millis, misuse, object};
use holdoff_core::{ErrorCode, FailureKind, Lint, Preset, Quantity, Span};
use js_sys::{Array, Object};
use wasm_bindgen::prelude::*;

js_types! {
    ExplainOptions = "ExplainOptions", LintOptions = "LintOptions", Policies = "readonly AnyPolicy[]",
    ExplanationObject = "Explanation", LintObject = "Lint", PresetNames = "PresetName[]",
}

#[wasm_bindgen(raw_module = "./ffi.ts")]
extern "C" {
    #[wasm_bindgen(js_name = makeExplanation)]
    fn make_explanation(rows: Vec<Object>, lints: Vec<LintObject>, text: &str) -> ExplanationObject;
}

functions! {
    /// Explains a policy, its fields or a preset: at most `rows` retries (all of them up to 100, 10 of one without an end), after
    /// failures of the kind `after` (transient, and in the text every kind that has delays of its own).
    fn explain(policy: FullPolicy, options: Argument<Option<ExplainOptions>>) -> ExplanationObject {
        let (rows, after) = (options.get::<Option<u32>>("rows")?, options.get::<Option<FailureKind>>("after")?);
        let mut explanation = policy.explain();
        explanation = rows.map_or(explanation, |rows| explanation.rows(rows));
        explanation = after.map_or(explanation, |kind| explanation.after(kind));
        let rows = explanation.iter().map(row);
        make_explanation(rows.collect(), explanation.lints().map(lint).collect(), &explanation.to_string())
    }

    /// The lints of a policy, its fields or a preset, for a caller that waits `within` at most.
    fn lints(policy: FullPolicy, options: Argument<Option<LintOptions>>) -> Vec<LintObject> {
        let explanation = policy.explain();
        match options.get("within")? {
            None => explanation.lints().map(lint).collect(),
            Some(within) => explanation.lints_within(within).map(lint).collect::<Vec<_>>(),
        }
    }

    /// The lint of nested retries, the outermost first: their attempts multiply. `found` is how often the innermost operation
    /// runs at most, undefined for ever.
    fn lintNested(policies: Argument<Policies>) -> Option<LintObject> {
        let list = policies.0.dyn_ref::<Array>();
        let list = list.ok_or_else(|| misuse(ErrorCode::WrongType, "policies", &policies.0))?;
        let retries = list.iter().map(|policy| {
            let FullPolicy { policy, guards, .. } = FullPolicy::from_js(&policy, "")?;
            Ok((policy.attempts(), guards.nested().ok().flatten().unwrap_or_default()))
        });
        Lint::nested(retries.collect::<Answer<Vec<_>>>()?).map(lint)
    }

    /// How long all sleeps take together if no draw spreads them, in milliseconds; undefined without an end. The deadline is not
    /// looked at.
    fn totalWait(policy: FullPolicy) -> Option<f64> { policy.policy.total_wait().map(millis) }

    /// The same in exact nanoseconds.
    fn totalWaitNanos(policy: FullPolicy) -> Option<u64> { policy.policy.total_wait().map(Span::as_nanos) }

    /// The names of the presets.
    fn presets() -> PresetNames {
        Preset::ALL.iter().map(|preset| JsValue::from(preset.name())).collect::<Array>().unchecked_into()
    }
}

fn row(row: holdoff_core::Row) -> Object {
    object! {
        retry: row.retry,
        min: millis(row.min),
        typical: millis(row.typical),
        max: millis(row.max),
        minTotal: millis(row.min_total),
        typicalTotal: millis(row.typical_total),
        maxTotal: millis(row.max_total),
        inTime: row.in_time.name(),
    }
}

fn lint(lint: Lint) -> LintObject {
    let number = |quantity| match quantity {
        Quantity::None => None,
        Quantity::Span(span) => Some(millis(span)),
        Quantity::Number(number) => Some(number),
    };
    let Lint { kind, found, limit } = lint;
    object! { code: kind.code(), word: kind.name(), text: lint.to_string(), found: number(found), limit: number(limit) }
}
