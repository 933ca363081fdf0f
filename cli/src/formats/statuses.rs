//! Which failures a proxy retries, as rules of a policy document. Proxies name the same conditions as Envoy does, with words of
//! their own; the core knows Envoy's.

use holdoff_core::{Document, Form};
use serde_json::{Value, json};

/// The conditions of a proxy.
#[derive(Default)]
pub(super) struct Conditions {
    /// Words of Envoy, and statuses.
    pub(super) words: Vec<String>,
    /// The kind of failures without an answer that is not retried, if others are.
    pub(super) refused: Option<&'static str>,
}

/// The policy document of a proxy that retries so often after such failures. Its backoff is that of Envoy.
///
/// # Errors
/// The rule that a word breaks.
pub(super) fn policy(retries: u32, conditions: &Conditions) -> Result<Value, String> {
    let words = conditions.words.join(",");
    // A text without words would be the default of the mesh.
    let (retries, words) = if words.is_empty() { (0, "connect-failure".to_owned()) } else { (retries, words) };
    let route = json!({ "retries": { "attempts": retries, "retryOn": words } });
    let document = Document::read_form(Form::Istio.reader(), &route).map_err(|wrong| {
        let near = wrong.error.nearest.map_or(String::new(), |near| format!("; did you mean \"{near}\"?"));
        format!("{}{near}", wrong.error.rule())
    })?;
    let mut policy: Value = serde_json::from_str(&document.to_json()).unwrap_or_default();
    // The rules before it take all answers.
    if let (Some(kind), Some(rules)) = (conditions.refused, policy.get_mut("rules").and_then(Value::as_array_mut)) {
        rules.push(json!({ "if": { "kinds": [kind] }, "retry": false }));
    }
    Ok(policy)
}

/// The backoff of a route of Istio, which is that of Envoy.
pub(super) fn backoff_of(route: &Value) -> Option<Value> {
    let document = Document::read_form(Form::Istio.reader(), route).ok()?;
    let policy: Value = serde_json::from_str(&document.to_json()).ok()?;
    policy.get("backoff").cloned()
}
