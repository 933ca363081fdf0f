//! The policies of a file, and the lints of each.

use super::allow;
use super::effect::effect;
use super::notes::{Notes, Skipped};
use crate::finding::{Finding, Severity};
use crate::input::{Format, of_preset};
use crate::spans;
use holdoff_core::{Document, Lint, LintKind, Preset, Quantity, Span};
use std::ops::Range;

/// Where a policy comes from.
pub(crate) enum Source {
    /// A preset.
    Preset(Preset),
    /// A file that was named: everything in it must be right.
    Named(String),
    /// A file of a folder: it may hold anything.
    Found(String),
}

impl Source {
    pub(crate) fn path(&self) -> &str {
        match self {
            Self::Preset(preset) => preset.name(),
            Self::Named(path) | Self::Found(path) => path,
        }
    }
}

/// The text of a file.
pub(crate) struct Text {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) source: Source,
}

/// A file that was looked at.
pub(crate) struct Scanned {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) findings: Vec<Finding>,
    /// How many policies it has.
    pub(crate) policies: usize,
}

impl Scanned {
    /// A file that is no policy.
    pub(crate) fn wrong(findings: Vec<Finding>, text: String) -> Self {
        let name = findings.first().map(|finding| finding.file.clone()).unwrap_or_default();
        Self { name, text, findings, policies: 0 }
    }
}

/// What a scan has found so far.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) scanned: Vec<Scanned>,
    pub(crate) notes: Notes,
    /// The errors about files that were named.
    pub(crate) unread: String,
    /// How many files were looked at.
    pub(crate) files: usize,
    /// True if a folder was among the arguments.
    pub(crate) walked: bool,
}

/// Reads the policies of a text. The second value says why it was passed over.
pub(crate) fn scanned(text: &Text, format: Format, within: Option<Span>) -> (Scanned, Option<Skipped>) {
    let Text { name, text, source } = text;
    let mut scanned = Scanned { name: name.clone(), text: text.clone(), findings: Vec::new(), policies: 0 };
    let place = |path: &str| spans::find(text, path, true);
    match source {
        Source::Preset(preset) => {
            scanned.policies = 1;
            scanned.findings = lints(&of_preset(*preset), name, text, within, &|_| None);
        }
        Source::Found(path) if !path.ends_with("retry.json") => {}
        Source::Named(_) | Source::Found(_) => match format.document(name, text) {
            Ok(document) => {
                scanned.policies = 1;
                scanned.findings = lints(&document, name, text, within, &place);
            }
            Err(wrong) => scanned.findings = wrong,
        },
    }
    let skipped = if scanned.text.contains(allow::MARK) && allow::is_unknown(&scanned.text) {
        Some(Skipped::UnknownAllow)
    } else {
        None
    };
    (scanned, skipped)
}

/// The findings about a policy.
fn lints(
    document: &Document,
    file: &str,
    text: &str,
    within: Option<Span>,
    place: &dyn Fn(&str) -> Option<Range<usize>>,
) -> Vec<Finding> {
    let lints: Vec<_> = match within {
        None => document.lints().collect(),
        Some(within) => document.lints_within(within).collect(),
    };
    lints.into_iter().map(|lint| finding(&lint, file, text, place)).collect()
}

/// The finding of a lint, at the first of its places that the text has.
pub(crate) fn finding(lint: &Lint, file: &str, text: &str, place: &dyn Fn(&str) -> Option<Range<usize>>) -> Finding {
    let found = places(lint.kind).iter().find_map(|path| Some((*path, place(path)?)));
    let (path, span) = found.unzip();
    let words = lint.to_string();
    Finding {
        file: file.to_owned(),
        policy: String::new(),
        form: "holdoff",
        severity: if lint.kind == LintKind::MeshWithoutBudget { Severity::Note } else { Severity::Warning },
        code: lint.kind.code(),
        name: lint.kind.name(),
        message: words.split_once(": ").map_or(&*words, |(_, message)| message).to_owned(),
        effect: effect(lint),
        path: path.unwrap_or_default().to_owned(),
        position: span.as_ref().map(|span| spans::line_and_column(text, span.start)),
        span,
        weight: match lint.found {
            Quantity::Span(span) => span.as_nanos() as f64,
            Quantity::Number(number) => number,
            Quantity::None => f64::INFINITY,
        },
    }
}

/// The fields that a lint is about, the nearest first. The first that a document has is the place of the lint there.
const fn places(kind: LintKind) -> &'static [&'static str] {
    use LintKind as L;
    match kind {
        L::Forever | L::ManyAttempts | L::UnreachableAttempts => &["attempts", "deadline", "preset"],
        L::AttemptsBeforeDeadline => &["deadline", "attempts"],
        L::Shrinking => &["backoff.factor", "backoff"],
        L::NoJitter => &["jitter", "backoff", "preset"],
        L::WaitAboveDeadline | L::OpenAboveDeadline => &["deadline", "backoff"],
        L::AttemptTimeoutAboveDeadline => &["attempt_timeout"],
        L::HintAboveDeadline | L::LongHint => &["hint.max", "hint", "deadline"],
        L::LongWait | L::WaitAboveTimeout => &["backoff", "attempts", "preset"],
        L::HedgeWithoutBudget | L::HedgeAboveAttempts | L::LateHedge => &["hedge"],
        L::AttemptsAboveNested => &["attempts", "nested"],
        L::EmptyBudget => &["budget"],
        L::ResetNever => &["reset_after"],
        L::HiddenRule | L::RetriesEverything | L::RetriesClientErrors => &["rules"],
        L::HintWithoutFloor => &["hint", "backoff"],
        L::NoCap => &["backoff.max", "backoff", "rules"],
        _ => &[],
    }
}
