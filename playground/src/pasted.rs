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
const OTHERS: [&str; 4] = [".tf", ".hcl", ".cfg", ".conf"];

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
        return Err(Problem::of("there are no retries in this text").into());
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
