//! The policies of a file, and the lints of each.

use super::allow;
use super::effect::effect;
use super::notes::{Notes, Skipped};
use crate::finding::{Finding, Severity};
use crate::input::{Format, Problem, of_preset};
use crate::reading::{Named, Reading, read};
use crate::spans;
use holdoff_core::{Document, ErrorCode, Form, Lint, LintKind, Preset, Quantity, Span};

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
    /// The error of a file that does not have the policy that a person means.
    pub(crate) unread: Option<String>,
}

impl Scanned {
    /// A file that is no policy.
    pub(crate) fn wrong(findings: Vec<Finding>, text: String) -> Self {
        let name = findings.first().map(|finding| finding.file.clone()).unwrap_or_default();
        Self { name, text, findings, policies: 0, unread: None }
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
pub(crate) fn scanned(text: &Text, format: &Format, within: Option<Span>) -> (Scanned, Option<Skipped>) {
    let Text { name, text, source } = text;
    let mut scanned =
        Scanned { name: name.clone(), text: text.clone(), findings: Vec::new(), policies: 0, unread: None };
    let mut skipped = None;
    let reading = match source {
        Source::Preset(preset) => {
            scanned.policies = 1;
            scanned.findings = lints(&of_preset(*preset), name, text, within, None);
            Reading::default()
        }
        Source::Named(path) | Source::Found(path)
            if matches!(source, Source::Named(_)) || path.ends_with("retry.json") =>
        {
            match format.all(name, text) {
                Ok(reading) => reading,
                Err(Problem::Wrong(wrong, _)) => Reading { wrong, ..Reading::default() },
                Err(Problem::Unreadable(cause)) => {
                    scanned.unread = Some(cause);
                    Reading::default()
                }
            }
        }
        Source::Named(_) | Source::Found(_) => {
            let mut reading = read(name, text, format.form);
            // A folder has files of all kinds: one that is not of its format is counted.
            if reading.wrong.iter().any(|finding| finding.code == ErrorCode::NotJson.code()) {
                reading.wrong.clear();
                skipped = Some(Skipped::Broken);
            }
            reading
        }
    };
    if !reading.notes.is_empty() {
        skipped = Some(Skipped::Template);
    }
    scanned.policies += reading.policies.len();
    for named in &reading.policies {
        scanned.findings.extend(lints(&named.document, name, text, within, Some(named)));
    }
    scanned.findings.extend(reading.wrong);
    if scanned.text.contains(allow::MARK) && allow::is_unknown(&scanned.text) {
        skipped = Some(Skipped::UnknownAllow);
    }
    (scanned, skipped)
}

/// The findings about a policy.
fn lints(document: &Document, file: &str, text: &str, within: Option<Span>, named: Option<&Named>) -> Vec<Finding> {
    let lints: Vec<_> = match within {
        None => document.lints().collect(),
        Some(within) => document.lints_within(within).collect(),
    };
    lints.into_iter().map(|lint| finding(&lint, file, text, named)).collect()
}

/// The finding of a lint, at the first of its places that the text has; of another system's policy at least at the policy.
pub(crate) fn finding(lint: &Lint, file: &str, text: &str, named: Option<&Named>) -> Finding {
    let place = |path: &&'static str| Some((*path, named?.place(path)?));
    let (path, span) = places(lint.kind).iter().find_map(place).unzip();
    let span = span.or_else(|| named.filter(|named| named.form.is_some()).map(Named::whole));
    let words = lint.to_string();
    Finding {
        file: file.to_owned(),
        policy: named.map(|named| named.name.clone()).unwrap_or_default(),
        form: named.and_then(|named| named.form).map_or("holdoff", Form::name),
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
