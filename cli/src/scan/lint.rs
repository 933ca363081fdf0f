//! Lints as findings: the place, the weight, and what happens.

use super::effect::effect;
use crate::finding::{Finding, Severity};
use crate::spans::Lines;
use crate::system::System;
use holdoff_core::{Document, Lint, LintKind, Quantity, Span};
use std::ops::Range;

/// The file and the policy that a finding is about.
#[derive(Clone, Copy)]
pub(crate) struct Of<'f> {
    pub(crate) file: &'f str,
    pub(crate) lines: &'f Lines<'f>,
    pub(crate) policy: &'f str,
    pub(crate) system: Option<System>,
}

/// The findings about a policy.
pub(crate) fn lints(
    document: &Document,
    of: &Of<'_>,
    within: Option<Span>,
    place: &dyn Fn(&str) -> Option<Range<usize>>,
) -> Vec<Finding> {
    let lints: Vec<_> = match within {
        None => document.lints().collect(),
        Some(within) => document.lints_within(within).collect(),
    };
    let can_mend = |lint: &Lint| of.system.is_none_or(|system| system.can_mend(lint.kind));
    lints.into_iter().filter(can_mend).map(|lint| finding(&lint, of, place)).collect()
}

/// The finding of a lint, at the first of its places that the text has.
pub(crate) fn finding(lint: &Lint, of: &Of<'_>, place: &dyn Fn(&str) -> Option<Range<usize>>) -> Finding {
    let found = places(lint.kind).iter().find_map(|path| Some((*path, place(path)?)));
    let (path, span) = found.unzip();
    let words = lint.to_string();
    Finding {
        file: of.file.to_owned(),
        policy: of.policy.to_owned(),
        form: of.system.map_or("holdoff", System::name),
        severity: if lint.kind == LintKind::MeshWithoutBudget { Severity::Note } else { Severity::Warning },
        code: lint.kind.code(),
        name: lint.kind.name(),
        message: words.split_once(": ").map_or(&*words, |(_, message)| message).to_owned(),
        effect: effect(lint),
        path: path.unwrap_or_default().to_owned(),
        position: span.as_ref().map(|span| of.lines.place(span.start)),
        span,
        weight: match lint.found {
            Quantity::Span(span) => span.as_nanos() as f64,
            Quantity::Number(number) => number,
            Quantity::None => f64::INFINITY,
        },
    }
}

/// A lint without values: the reason is in the message.
pub(crate) const fn plain(kind: LintKind) -> Lint {
    Lint { kind, found: Quantity::None, limit: Quantity::None }
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
        L::UnsafeMethod => &["rules", "attempts"],
        _ => &[""],
    }
}
