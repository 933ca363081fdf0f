//! The policies of a file, and the lints of each.

use super::allow;
use super::idle::idle;
use super::lint::{Of, finding, lints, plain};
use super::notes::{Notes, Skipped};
use super::repository::{Layer, Rank};
use super::services::{Route, Services};
use crate::finding::Finding;
use crate::input::{Format, Problem, of_preset};
use crate::reading::{Named, NoteKind, Reading, read};
use crate::spans::Lines;
use crate::system::System;
use holdoff_core::{Document, ErrorCode, Facts, Failure, FailureKind, Form, LintKind, Preset, Span};

/// The most failures after which a breaker ends a call that is no finding.
const FEW_FAILURES: u32 = 10;
/// The schema of policy documents.
const SCHEMA: &str = "policy.schema.json";

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
#[derive(Default)]
pub(crate) struct Scanned {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) findings: Vec<Finding>,
    /// How many policies it has.
    pub(crate) policies: usize,
    /// The error of a file that does not have the policy that a person means.
    pub(crate) unread: Option<String>,
    /// The services whose calls its policies retry.
    pub(crate) layers: Vec<Layer>,
    /// The services for which it limits the retries of all calls together.
    pub(crate) budgets: Vec<String>,
}

impl Scanned {
    /// A file that is no policy.
    pub(crate) fn wrong(findings: Vec<Finding>, text: String) -> Self {
        let name = findings.first().map(|finding| finding.file.clone()).unwrap_or_default();
        Self { name, text, findings, ..Self::default() }
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

/// Reads the policies of a text, and adds the reasons for which parts of it were passed over.
pub(crate) fn scanned(text: &Text, format: &Format, within: Option<Span>) -> (Scanned, Vec<Skipped>) {
    let Text { name, text, source } = text;
    let mut scanned = Scanned { name: name.clone(), text: text.clone(), ..Scanned::default() };
    let mut skipped = Vec::new();
    let reading = match source {
        Source::Preset(preset) => {
            scanned.policies = 1;
            let of = Of { file: name, lines: &Lines::of(text), policy: "", system: None };
            scanned.findings = lints(&of_preset(*preset), &of, within, &|_| None);
            return (scanned, skipped);
        }
        Source::Found(path) if !is_policy_file(path, text) => read(name, text, None),
        Source::Named(_) | Source::Found(_) => match format.all(name, text) {
            Ok(reading) => reading,
            Err(Problem::Wrong(wrong, _)) => Reading { wrong, ..Reading::default() },
            Err(Problem::Unreadable(cause)) => {
                scanned.unread = Some(cause);
                return (scanned, skipped);
            }
        },
    };
    let is_named = matches!(source, Source::Named(_));
    for wrong in reading.wrong {
        match wrong.name == ErrorCode::NotJson.name() && !is_named {
            true => skipped.push(Skipped::Broken),
            false => scanned.findings.push(wrong),
        }
    }
    let has = |kinds: &[NoteKind]| reading.notes.iter().any(|note| kinds.contains(&note.kind));
    if has(&[NoteKind::Template, NoteKind::Unknown]) {
        skipped.push(Skipped::Template);
    }
    if has(&[NoteKind::Unsaid]) {
        skipped.push(Skipped::Unsaid);
    }
    if has(&[NoteKind::Default]) {
        skipped.push(Skipped::Default);
    }
    if text.contains(allow::MARK) && allow::is_unknown(text) {
        skipped.push(Skipped::UnknownAllow);
    }
    scanned.policies = reading.policies.len();
    let services = Services::of(&reading.documents);
    let lines = Lines::of(text);
    for policy in &reading.policies {
        let of = Of { file: name, lines: &lines, policy: &policy.name, system: policy.system };
        scanned.findings.append(&mut findings(policy, &of, &services, text, within));
        let route = services.route_at(policy.whole().start);
        scanned.layers.extend(route.into_iter().flat_map(|route| layers(policy, route, &of)));
    }
    scanned.budgets = services.budgets;
    (scanned, skipped)
}

/// The findings about a policy that need no other file.
pub(crate) fn findings(
    policy: &Named,
    of: &Of<'_>,
    services: &Services,
    text: &str,
    within: Option<Span>,
) -> Vec<Finding> {
    let place = |path: &str| policy.place(path);
    let whole = policy.whole();
    let mut findings = lints(&policy.document, of, within, &place);
    if policy.around().get("hedgingPolicy").is_some() {
        // A hedge of gRPC has no delays between retries.
        findings.retain(|finding| finding.name != LintKind::NoJitter.name());
    }
    if policy.system == Some(System::Core(Form::GatewayApi)) && policy.around().at(&["retry", "backoff"]).is_none() {
        // The delays are those of the gateway.
        let kinds = [LintKind::WaitAboveDeadline, LintKind::LongWait, LintKind::WaitAboveTimeout];
        findings.retain(|finding| kinds.iter().all(|kind| kind.name() != finding.name));
    }
    for idle in idle(policy, text) {
        let lint = plain(LintKind::NoEffect);
        let mut finding = finding(&lint, of, &|_| Some(idle.place.clone()));
        finding.message = format!("{} {}", idle.name, idle.reason);
        findings.push(finding);
    }
    let route = services.route_at(whole.start);
    if let Some(failures) = route.and_then(|route| route.failures) {
        let few = failures <= FEW_FAILURES;
        let ends = |name| name == LintKind::Forever.name() || few && name == LintKind::ManyAttempts.name();
        findings.retain(|finding| !ends(finding.name));
    }
    if let Some(method) = route.and_then(|route| route.unsafe_method.as_ref())
        && retries_unanswered(&policy.document)
    {
        let lint = plain(LintKind::UnsafeMethod);
        let mut finding = finding(&lint, of, &place);
        finding.message = format!("{method} is retried after failures in which the server may have done the work");
        findings.push(finding);
    }
    // A policy without a place of its own is found at its beginning.
    for finding in findings.iter_mut().filter(|finding| finding.span.is_none() && policy.system.is_some()) {
        finding.position = Some(of.lines.place(whole.start));
        finding.span = Some(whole.clone());
    }
    findings
}

/// True if a name or a schema says that a file is a policy document, whatever is wrong with it.
fn is_policy_file(path: &str, text: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let schema = text.split_once("\"$schema\"").and_then(|(_, rest)| rest.split('"').nth(1));
    name == "retry.json" || name.ends_with(".retry.json") || schema.is_some_and(|schema| schema.ends_with(SCHEMA))
}

/// True if a policy retries an answer of 503, after which nobody knows what the server did.
fn retries_unanswered(document: &Document) -> bool {
    let facts = Facts { http: 503, ..Facts::NONE };
    let judged = document.rules.judge(facts, Failure::TRANSIENT);
    judged.kind != FailureKind::Permanent && document.policy.most_attempts() != Some(1)
}

/// The layers of a policy: one for each service of its route.
fn layers(policy: &Named, route: &Route, of: &Of<'_>) -> Vec<Layer> {
    let Some(rank) = policy.system.and_then(Rank::of) else { return Vec::new() };
    let span = policy.place("attempts").unwrap_or_else(|| policy.whole());
    let layer = |service: &String| Layer {
        service: service.clone(),
        rank,
        attempts: policy.document.policy.most_attempts(),
        has_budget: route.failures.is_some() || policy.document.guards.budget().is_ok_and(|budget| budget.is_some()),
        file: of.file.to_owned(),
        policy: of.policy.to_owned(),
        system: of.system,
        position: of.lines.place(span.start),
        span: span.clone(),
    };
    route.services.iter().map(layer).collect()
}
