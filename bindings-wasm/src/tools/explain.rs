//! Explanations of policies, for people.

use super::ffi::{Answer, AnyPolicy, Fields, FullPolicy, kind, millis, misuse};
use holdoff_core::{ErrorCode, Explanation, Lint, Preset, Quantity};
use js_sys::Array;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(raw_module = "./ffi.ts")]
extern "C" {
    #[wasm_bindgen(typescript_type = "ExplainOptions")]
    pub type ExplainOptions;
    #[wasm_bindgen(typescript_type = "LintOptions")]
    pub type LintOptions;
    #[wasm_bindgen(typescript_type = "readonly AnyPolicy[]")]
    pub type Policies;
    #[wasm_bindgen(typescript_type = "Explanation")]
    pub type ExplanationObject;
    #[wasm_bindgen(typescript_type = "Lint")]
    pub type LintObject;
    pub type RowObject;

    #[wasm_bindgen(js_name = makeExplanation)]
    fn make_explanation(rows: Vec<RowObject>, lints: Vec<LintObject>, text: &str) -> ExplanationObject;
    #[wasm_bindgen(js_name = makeLint)]
    fn make_lint(code: u32, word: &str, text: &str, found: Option<f64>, limit: Option<f64>) -> LintObject;
    #[wasm_bindgen(js_name = makeRow)]
    fn make_row(retry: u32, in_time: &str, spans: &[f64]) -> RowObject;
}

/// Explains a policy, its fields or a preset: at most `rows` retries (all of them up to 100, 10 of one without an end), after
/// failures of the kind `after` (transient, and in the text every kind that has delays of its own).
#[wasm_bindgen]
pub fn explain(policy: &AnyPolicy, options: Option<ExplainOptions>) -> Answer<ExplanationObject> {
    let options = Fields::of(&options);
    let (rows, after) = (options.integer("rows", ErrorCode::WrongType)?, options.get("after")?);
    let after = after.map(|after| kind(&after)).transpose()?;
    let FullPolicy { policy, guards, .. } = FullPolicy::of(policy)?;
    let mut explanation = policy.explain().guarded(&guards);
    explanation = rows.map_or(explanation, |rows| explanation.rows(rows));
    explanation = after.map_or(explanation, |kind| explanation.after(kind));
    Ok(make_explanation(rows_of(&explanation), guards.lints(&policy).map(object).collect(), &explanation.to_string()))
}

fn rows_of(explanation: &Explanation) -> Vec<RowObject> {
    let row = |row: holdoff_core::Row| {
        let spans = [row.min, row.typical, row.max, row.min_total, row.typical_total, row.max_total];
        make_row(row.retry, row.in_time.name(), &spans.map(millis))
    };
    explanation.iter().map(row).collect()
}

/// The lints of a policy, its fields or a preset, for a caller that waits `within` at most.
#[wasm_bindgen]
pub fn lints(policy: &AnyPolicy, options: Option<LintOptions>) -> Answer<Vec<LintObject>> {
    let within = Fields::of(&options).length("within")?;
    let FullPolicy { policy, guards, .. } = FullPolicy::of(policy)?;
    Ok(match within {
        None => guards.lints(&policy).map(object).collect(),
        Some(within) => guards.lints_within(&policy, within).map(object).collect(),
    })
}

/// The lint of nested retries, the outermost first: their attempts multiply. `found` is how often the innermost operation runs
/// at most, undefined for ever.
#[wasm_bindgen(js_name = lintNested)]
pub fn lint_nested(policies: &Policies) -> Answer<Option<LintObject>> {
    let list = policies.dyn_ref::<Array>().ok_or_else(|| misuse(ErrorCode::WrongType, "policies", policies))?;
    let retries = list.iter().map(|policy| {
        let FullPolicy { policy, guards, .. } = FullPolicy::of(policy.unchecked_ref())?;
        Ok((policy.attempts(), guards.nested().ok().flatten().unwrap_or_default()))
    });
    Ok(Lint::nested(retries.collect::<Answer<Vec<_>>>()?).map(object))
}

/// How long all sleeps take together if no draw spreads them, in milliseconds; undefined without an end. The deadline is not
/// looked at.
#[wasm_bindgen(js_name = totalWait)]
pub fn total_wait(policy: &AnyPolicy) -> Answer<Option<f64>> {
    Ok(FullPolicy::of(policy)?.policy.total_wait().map(millis))
}

/// The same in exact nanoseconds.
#[wasm_bindgen(js_name = totalWaitNanos)]
pub fn total_wait_nanos(policy: &AnyPolicy) -> Answer<Option<u64>> {
    Ok(FullPolicy::of(policy)?.policy.total_wait().map(holdoff_core::Span::as_nanos))
}

/// The names of the presets.
#[wasm_bindgen(unchecked_return_type = "PresetName[]")]
pub fn presets() -> Vec<String> {
    Preset::ALL.iter().map(|preset| preset.name().into()).collect()
}

fn object(lint: Lint) -> LintObject {
    let number = |quantity| match quantity {
        Quantity::None => None,
        Quantity::Span(span) => Some(millis(span)),
        Quantity::Number(number) => Some(number),
    };
    let Lint { kind, found, limit } = lint;
    make_lint(kind.code().into(), kind.name(), &lint.to_string(), number(found), number(limit))
}
