//! Findings in SARIF 2.1.0, which GitHub's code scanning and other viewers read.

use crate::finding::{Finding, Severity, page};
use holdoff_core::LintKind;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A log with one run.
pub(crate) fn sarif(findings: &[Finding]) -> String {
    let used: BTreeSet<_> = findings.iter().map(|finding| (finding.code, finding.name)).collect();
    let rules: Vec<_> = used.iter().map(|(code, name)| rule(*code, name)).collect();
    let index = |finding: &Finding| used.iter().position(|(code, _)| *code == finding.code);
    let results: Vec<_> = findings.iter().map(|finding| result(finding, index(finding))).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "holdoff",
                "version": env!("CARGO_PKG_VERSION"),
                "informationUri": "https://github.com/holdoff/holdoff",
                "rules": rules,
            } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    format!("{log:#}\n")
}

fn rule(code: u16, name: &str) -> Value {
    let mut rule = json!({ "id": format!("holdoff/{name}"), "name": name, "helpUri": page(name), "properties": { "number": code } });
    if let Some(kind) = LintKind::from_name(name) {
        rule["shortDescription"] = json!({ "text": kind.text() });
    }
    rule
}

fn result(finding: &Finding, index: Option<usize>) -> Value {
    let level = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let policy = if finding.policy.is_empty() { String::new() } else { format!("policy {}: ", finding.policy) };
    let effect = if finding.effect.is_empty() { String::new() } else { format!(". {}", finding.effect) };
    let mut place = json!({ "artifactLocation": { "uri": uri(&finding.file) } });
    if let Some((line, column)) = finding.position {
        place["region"] = json!({ "startLine": line, "startColumn": column });
    }
    json!({
        "ruleId": format!("holdoff/{}", finding.name),
        "ruleIndex": index,
        "level": level,
        "message": { "text": format!("{policy}{}{effect}", finding.message) },
        "locations": [{ "physicalLocation": place }],
        "partialFingerprints": { "policy/v1": format!("{}|{}|{}", finding.file, finding.policy, finding.name) },
    })
}

/// A path as a URI.
fn uri(path: &str) -> String {
    let mut uri = String::new();
    if path.starts_with('/') {
        uri.push_str("file://");
    }
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(byte.into()),
            _ => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}
