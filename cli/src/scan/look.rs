//! One text as a scan sees it, for a host that shows it itself: the storm lab.

use super::policies::{self, Source};
use super::{allow, report, repository};
use crate::finding::{Finding, Severity, page};
use crate::input::{Format, unmarked};
use crate::reading::{Reading, read_policy};
use crate::system::System;
use holdoff_core::Document;
use std::ops::Range;

/// The policies and the findings of a text.
#[derive(Debug)]
pub struct Look {
    /// The text that the findings are about: without a byte order mark.
    pub text: String,
    /// The policies that are valid, in the order of the text.
    pub policies: Vec<PolicyOfFile>,
    /// The findings of `holdoff scan FILE`, in its order.
    pub findings: Vec<Mark>,
    /// What was passed over, in words.
    pub notes: Vec<String>,
}

/// A policy of a text.
#[derive(Debug)]
pub struct PolicyOfFile {
    /// The system that the policy is written for: `holdoff` for a policy document.
    pub form: &'static str,
    /// The place of the policy in names of its file; empty for a file that is the policy.
    pub name: String,
    /// The policy.
    pub document: Document,
}

/// A finding, with its place in the text.
#[derive(Debug)]
pub struct Mark {
    /// The name of the policy in the file; empty if it has only one.
    pub policy: String,
    /// `error`, `warning` or `note`.
    pub severity: &'static str,
    /// The number of docs/errors.md.
    pub code: u16,
    /// The word of docs/errors.md.
    pub name: &'static str,
    /// A sentence for a person.
    pub message: String,
    /// What happens to a caller or a server; empty for errors.
    pub effect: String,
    /// The path of the value; empty for the text as a whole.
    pub path: String,
    /// Line and column, from 1.
    pub position: Option<(usize, usize)>,
    /// The bytes of the value.
    pub span: Option<Range<usize>>,
    /// The address of the page about it.
    pub page: String,
}

impl From<Finding> for Mark {
    fn from(finding: Finding) -> Self {
        let Finding { policy, severity, code, name, message, effect, path, position, span, .. } = finding;
        let severity = match severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        Self { policy, severity, code, name, message, effect, path, position, span, page: page(name) }
    }
}

/// Reads the policies of a text, and finds what `holdoff scan` finds in a file of that name without a configuration.
#[must_use]
pub fn look(name: &str, text: &str) -> Look {
    let (format, text) = (Format::default(), unmarked(text.to_owned()));
    let Reading { policies, notes, .. } = format.all(name, &text).unwrap_or_default();
    let policies = policies.into_iter().map(|policy| PolicyOfFile {
        form: policy.system.map_or("holdoff", System::name),
        name: policy.name,
        document: policy.document,
    });
    let policies = policies.collect();
    let of = policies::Text { name: name.to_owned(), text, source: Source::Named(name.to_owned()) };
    let (mut scanned, _) = policies::scanned(&of, &format, None);
    let (layers, budgets): (Vec<_>, Vec<_>) = (scanned.layers.iter().collect(), scanned.budgets.iter().collect());
    scanned.findings.extend(repository::lints(&layers, &budgets));
    let lines: Vec<_> = of.text.lines().collect();
    scanned
        .findings
        .retain(|finding| !allow::is_allowed(&lines, finding.position.map_or(0, |position| position.0), finding.name));
    report::sort(&mut scanned.findings);
    let findings = scanned.findings.into_iter().map(Mark::from).collect();
    Look { policies, findings, notes: notes.into_iter().map(|note| note.message).collect(), text: of.text }
}

/// Reads a policy document of holdoff.
///
/// # Errors
/// All mistakes of the document.
pub fn policy(text: &str) -> Result<Document, Vec<Mark>> {
    let Reading { policies, wrong, .. } = read_policy("", text);
    policies.into_iter().next().map(|policy| policy.document).ok_or_else(|| wrong.into_iter().map(Mark::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_has_the_policies_and_what_a_scan_finds() {
        let text = "\u{feff}apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: pay}\nspec:\n  hosts: [pay]\n  http:\n  \
            - timeout: 1s\n    retries: {attempts: 3, perTryTimeout: 2s}\n    route: [{destination: {host: pay}}]\n";
        let Look { text: read, policies, findings, .. } = look("pay.yaml", text);
        assert!(!read.starts_with('\u{feff}'));
        assert_eq!(
            policies.iter().map(|policy| (policy.form, &*policy.name)).collect::<Vec<_>>(),
            [("istio", "http[0]")]
        );
        let found = findings.iter().find(|finding| finding.name == "attempt_timeout_above_deadline").unwrap();
        assert_eq!((found.severity, found.span.clone().map(|span| &read[span])), ("warning", Some("perTryTimeout")));
        let allowed = text.replace("    retries", "    # holdoff: allow attempt_timeout_above_deadline\n    retries");
        assert!(look("pay.yaml", &allowed).findings.iter().all(|finding| finding.name != found.name));
    }

    #[test]
    fn every_mistake_of_a_document_has_its_place() {
        let text = r#"{"atempts": 3, "backoff": {"max": 5}, "jitter": "ful"}"#;
        let wrong = policy(text).unwrap_err();
        let places: Vec<_> = wrong.iter().filter_map(|mark| text.get(mark.span.clone()?)).collect();
        assert_eq!(places, ["\"atempts\"", "5", "\"ful\""]);
        assert!(policy("{}").is_ok());
    }
}
