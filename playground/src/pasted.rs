//! A text that a reader pastes or drops: a policy of another system, in whatever file it stands.

use crate::problem::{Place, Problem};
use crate::tenacity;
use holdoff_cli::{Look, Mark, look};
use serde::Serialize;

/// The policies and the findings of a text.
#[derive(Debug, Serialize)]
pub(crate) struct Pasted {
    policies: Vec<PolicyOfText>,
    findings: Vec<Found>,
    /// What was passed over or is not the same, in words.
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct PolicyOfText {
    /// The system that it is written for.
    form: &'static str,
    /// Its place in names of the file; empty for a file that is the policy.
    name: String,
    /// The text of a policy document that decides the same.
    document: String,
}

/// A finding, as `holdoff scan --json` prints it, with its place.
#[derive(Debug, Serialize)]
struct Found {
    policy: String,
    severity: &'static str,
    code: u16,
    name: &'static str,
    message: String,
    effect: String,
    path: String,
    line: Option<usize>,
    column: Option<usize>,
    place: Option<Place>,
    page: String,
}

/// The name of a text without a name. The objects of a configuration of .NET may have comments.
const NAMES: [&str; 2] = ["pasted.jsonc", "pasted"];

/// The ends of files that are neither JSON nor YAML, for whose readers the page has no room.
const OTHERS: [&str; 5] = [".tf", ".hcl", ".cfg", ".conf", ".properties"];

/// Reads a text. A text that was pasted has no name.
pub(crate) fn pasted(name: &str, text: &str) -> Result<Pasted, Vec<Problem>> {
    if text.trim().is_empty() {
        return Err(Problem::of("the text is empty").into());
    }
    if name.ends_with(".py") || name.is_empty() && tenacity::is_like(text) {
        return of_tenacity(text);
    }
    if let Some(end) = OTHERS.iter().find(|end| name.ends_with(**end)) {
        return Err(Problem::of(format!("the lab reads no {end} file; `holdoff scan {name}` does")).into());
    }
    let is_object = text.trim_start().starts_with(['{', '[']);
    let name = match (name, is_object) {
        ("", true) => NAMES[0],
        ("", false) => NAMES[1],
        (name, _) => name,
    };
    let Look { text, policies, findings, notes } = look(name, text);
    if policies.is_empty() && findings.is_empty() && notes.is_empty() {
        return Err(
            Problem::of("the lab finds no retries of calls in this text; `holdoff scan` reads more formats").into()
        );
    }
    let policies = policies.into_iter().map(|policy| PolicyOfText {
        form: policy.form,
        name: policy.name,
        document: policy.document.to_json(),
    });
    Ok(Pasted {
        policies: policies.collect(),
        findings: findings.into_iter().map(|mark| found(&text, mark)).collect(),
        notes,
    })
}

/// The lines of a program that set up tenacity. The lints are those of the policies.
fn of_tenacity(text: &str) -> Result<Pasted, Vec<Problem>> {
    let mut read = Pasted { policies: Vec::new(), findings: Vec::new(), notes: Vec::new() };
    for tenacity::Call { name, span, document, notes } in tenacity::read(text)? {
        let place = Place::of(text, span);
        let Look { policies, findings, .. } = look("tenacity.json", &document);
        let line = place.as_ref().map_or(1, |place| place.line);
        let marks = findings.into_iter().map(|mark| Found {
            policy: name.clone(),
            line: Some(line),
            place: None,
            ..found(text, Mark { span: None, position: Some((line, 1)), ..mark })
        });
        read.findings.extend(marks);
        let Some(policy) = policies.into_iter().next() else {
            return Err(Problem { place, ..Problem::of(format!("{name}: holdoff has no such policy")) }.into());
        };
        read.policies.push(PolicyOfText { form: "tenacity", name, document: policy.document.to_json() });
        for note in notes {
            if !read.notes.contains(&note) {
                read.notes.push(note);
            }
        }
    }
    Ok(read)
}

fn found(text: &str, mark: Mark) -> Found {
    let Mark { policy, severity, code, name, message, effect, path, position, span, page } = mark;
    let place = span.and_then(|span| Place::of(text, span));
    let (line, column) = position.unzip();
    Found { policy, severity, code, name, message, effect, path, line, column, place, page }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdoff_core::Document;
    use serde_json::Value;

    /// A text of the vectors in the file that it stands in: they leave out what says whose it is.
    fn whole(form: &Value, text: &str) -> String {
        let istio = "\"apiVersion\": \"networking.istio.io/v1\", \"kind\"";
        let gateway = "\"apiVersion\": \"gateway.networking.k8s.io/v1\", \"kind\"";
        let dapr = "\"apiVersion\": \"dapr.io/v1alpha1\", \"kind\"";
        let is_resource = text.starts_with("{\"spec\"");
        let has_kind = text.contains("\"kind\": \"VirtualService\"") || text.contains("\"kind\": \"DestinationRule\"");
        match form.as_str() {
            _ if text.contains("networking.") || text.contains("dapr.io/") => text.to_owned(),
            Some("step-functions") if !text.contains("\"States\"") => {
                format!("{{\"StartAt\": \"A\", \"States\": {{\"A\": {text}}}}}")
            }
            Some("istio") if has_kind => text
                .replace("\"kind\": \"VirtualService\"", &format!("{istio}: \"VirtualService\""))
                .replace("\"kind\": \"DestinationRule\"", &format!("{istio}: \"DestinationRule\"")),
            Some("istio") if is_resource => format!("{{{istio}: \"VirtualService\", {}", &text[1..]),
            Some("istio") => format!("{{{istio}: \"VirtualService\", \"spec\": {{\"http\": [{text}]}}}}"),
            Some("gateway-api") if text.starts_with("{\"kind\"") => text.replace("\"kind\"", gateway),
            Some("gateway-api") => format!("{{{gateway}: \"HTTPRoute\", \"spec\": {{\"rules\": [{text}]}}}}"),
            Some("dapr") if text.starts_with("{\"kind\"") => text.replace("\"kind\"", dapr),
            Some("dapr") if is_resource => format!("{{{dapr}: \"Resiliency\", {}", &text[1..]),
            Some("dapr") => {
                let retries = format!("{{\"policies\": {{\"retries\": {{\"a\": {text}}}}}}}");
                format!("{{{dapr}: \"Resiliency\", \"spec\": {retries}}}")
            }
            Some("resilience4j") if !text.contains("\"instances\"") && !text.contains("\"configs\"") => {
                format!("{{\"resilience4j\": {{\"retry\": {{\"instances\": {{\"a\": {text}}}}}}}}}")
            }
            Some("polly") if !text.contains("\"Retry\"") => format!("{{\"Retry\": {text}}}"),
            _ => text.to_owned(),
        }
    }

    /// The vectors of the core's readers: a text that is recognised without being told its form has the policy that they expect.
    #[test]
    fn the_policies_of_a_text_are_those_of_the_vectors() {
        let vectors = include_str!("../../tests/vectors/holdoff/by_hand_forms.json");
        let vectors: Value = serde_json::from_str(vectors).unwrap_or_default();
        let cases = vectors["cases"].as_array().cloned().unwrap_or_default();
        let mut missed = Vec::new();
        for case in &cases {
            let (form, text) = (&case["form"], case["text"].as_str().unwrap_or_default());
            // A policy of Temporal alone does not say whose it is.
            if form == "temporal" {
                continue;
            }
            let found: Vec<_> = pasted("", &whole(form, text)).map(|read| read.policies).unwrap_or_default();
            let wanted = Document::read(&case["document"]).map(|document| document.to_json());
            let Ok(wanted) = wanted else { continue };
            // A text without retries has nothing to show.
            let is_nothing = found.is_empty() && case["document"]["attempts"] == 1;
            if !is_nothing && !found.iter().any(|policy| policy.form == form && policy.document == wanted) {
                missed.push((text.to_owned(), found, wanted));
            }
        }
        assert!(cases.len() > 40);
        assert!(missed.is_empty(), "{missed:#?}");
    }
}
