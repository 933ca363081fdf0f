//! The text of a scan for people, the worst findings first.

use super::config::FailOn;
use super::policies::Found;
use crate::finding::{Finding, Severity};
use crate::style::{DIM, GOOD, styled, wrapped};
use holdoff_core::LintKind;
use std::collections::{BTreeMap, HashMap};

/// The lints that hurt most, the worst first; all others come behind them.
const WORST: [LintKind; 8] = [
    LintKind::NestedRetries,
    LintKind::Forever,
    LintKind::UnsafeMethod,
    LintKind::LongWait,
    LintKind::NoCap,
    LintKind::UnreachableAttempts,
    LintKind::WaitAboveDeadline,
    LintKind::NoEffect,
];

/// Puts the worst findings first; of one kind those with the longest wait or the most requests.
pub(crate) fn sort(findings: &mut [Finding]) {
    let rank = |finding: &Finding| {
        let lint = LintKind::from_name(finding.name);
        let place = WORST.iter().position(|kind| lint.is_none_or(|lint| lint == *kind));
        (finding.severity, place.unwrap_or(WORST.len()), lint.map(LintKind::code))
    };
    findings.sort_by(|a, b| {
        let places = |finding: &Finding| (finding.file.clone(), finding.position, finding.policy.clone());
        rank(a).cmp(&rank(b)).then(b.weight.total_cmp(&a.weight)).then_with(|| places(a).cmp(&places(b)))
    });
}

/// True if a finding makes a scan fail.
pub(crate) fn fails(severity: Severity, fail_on: FailOn) -> bool {
    match fail_on {
        FailOn::Never => false,
        FailOn::Error => severity == Severity::Error,
        FailOn::Warning => severity != Severity::Note,
    }
}

/// All findings with the lines of their files, and a summary.
pub(crate) fn text(findings: &[Finding], found: &Found, known: usize, width: usize) -> String {
    let texts: HashMap<_, _> = found.scanned.iter().map(|file| (&*file.name, &*file.text)).collect();
    let mut out = String::new();
    // The same about several policies of a file is said once.
    let same = |a: &Finding, b: &Finding| (&a.file, a.code, &a.message) == (&b.file, b.code, &b.message);
    let is_merged = |finding: &Finding| !finding.policy.is_empty();
    let mut others = HashMap::<_, Vec<&str>>::new();
    for finding in findings.iter().filter(|finding| is_merged(finding)) {
        others.entry((&finding.file, finding.code, &finding.message)).or_default().push(&finding.policy);
    }
    let mut last = None;
    for finding in findings {
        let also = others.get(&(&finding.file, finding.code, &finding.message)).map_or(&[][..], |all| all);
        if is_merged(finding) && also.first() != Some(&&*finding.policy)
            || last.is_some_and(|last| same(last, finding) && is_merged(last))
        {
            continue;
        }
        last = Some(finding);
        let text = texts.get(&*finding.file).copied().unwrap_or_default();
        out.push_str(&finding.render(text, also.get(1..).unwrap_or_default(), width));
        out.push_str("\n\n");
    }
    out + &summary(findings, found, known, width)
}

/// `2 files, 3 policies: 1 error, 3 warnings`, and how many there are of each.
fn summary(findings: &[Finding], found: &Found, known: usize, width: usize) -> String {
    let of = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let policies: usize = found.scanned.iter().map(|file| file.policies).sum();
    let of_what = match (found.walked, found.files) {
        (true, _) => {
            let holding = found.scanned.iter().filter(|file| file.policies > 0).count();
            format!("{} in {} of {}: ", counted(policies, "policy"), holding, counted(found.files, "file"))
        }
        (false, 1) if policies < 2 => String::new(),
        (false, files) if policies <= files => counted(files, "file") + ": ",
        (false, files) => format!("{}, {}: ", counted(files, "file"), counted(policies, "policy")),
    };
    let counts = [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Note, "note")];
    let counts = counts.map(|(severity, noun)| (of(severity), noun));
    let counts: Vec<_> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, noun)| counted(*count, noun)).collect();
    let mut out = if of_what.is_empty() { String::new() } else { styled(DIM, of_what) };
    out += &if counts.is_empty() { styled(GOOD, "no findings") } else { counts.join(", ") };
    if known > 0 {
        out += &format!(" besides {} of the baseline", known);
    }
    out.push('\n');
    let mut names = BTreeMap::<_, usize>::new();
    for finding in findings.iter().filter(|finding| LintKind::from_name(finding.name).is_some()) {
        *names.entry((finding.code, finding.name)).or_default() += 1;
    }
    if let Some(((_, first), _)) = names.first_key_value() {
        let all: Vec<_> = names.iter().map(|((_, name), count)| format!("{count} {name}")).collect();
        let line = format!("{}; `holdoff rule {first}` explains one", all.join(", "));
        out += &format!("{}\n", styled(DIM, wrapped(&line, width)));
    }
    out
}

/// `1 policy`, `2 policies`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    match (count, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{count} {stem}ies"),
        (_, None) => format!("{count} {noun}s"),
    }
}
