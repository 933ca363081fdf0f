//! The catalogue: policies of other systems, with the delays that those publish.
//!
//! A document of docs/catalogue says what fails and which delays follow. The ranges are held here; the same runs with known
//! seeds are vectors, which every language runs.

use crate::classify;
use crate::documents;
use crate::format::{Case, ClassifyCase, Document, EndAt, File, N, RetryCase};
use crate::generate::cases;
use anyhow::{Context as _, Result, anyhow};
use holdoff_core::{Decision, Failure, FailureKind, Hint, Policy, Retry, Span, Timestamp};
use serde::Deserialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A policy of another system.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The name of its file.
    #[serde(skip)]
    pub name: String,
    /// The system whose policy it is.
    pub title: String,
    /// Where its numbers are published.
    pub source: String,
    /// The difference from the system, if there is one.
    pub note: Option<String>,
    /// The document.
    pub policy: Document,
    /// The failures, and what follows each.
    pub runs: Vec<Run>,
}

/// One operation.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The part of the policy that it shows.
    pub about: Option<String>,
    /// The failures, again from the first one when there are no more.
    failures: Vec<Ending>,
    /// The delays, exact or as a range.
    pub delays: Vec<Delay>,
    /// The reason for which it gives up after them; without one it goes on.
    pub then: Option<String>,
}

/// The end of an attempt.
#[derive(Deserialize, Clone, Default)]
#[serde(deny_unknown_fields, default)]
struct Ending {
    kind: Option<String>,
    http: Option<u16>,
    hint: Option<String>,
    /// How long the attempt ran.
    took: Option<String>,
    codes: Vec<String>,
    types: Vec<String>,
    message: String,
    unsent: bool,
    should_retry: Option<bool>,
}

/// A delay or the range that it lies in.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum Delay {
    /// Exactly so long.
    Exact(String),
    /// From the first to the second.
    Range([String; 2]),
}

impl Delay {
    /// The shortest and the longest, in nanoseconds.
    pub fn range(&self) -> Result<(u64, u64)> {
        match self {
            Self::Exact(text) => span(text).map(|exact| (exact, exact)),
            Self::Range([from, to]) => Ok((span(from)?, span(to)?)),
        }
    }
}

fn span(text: &str) -> Result<u64> {
    Span::parse(text).map(Span::as_nanos).with_context(|| format!("{text} is no duration"))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/catalogue")
}

/// The documents of the catalogue, in the order of their names.
pub fn read() -> Result<Vec<Entry>> {
    let files = std::fs::read_dir(folder())?.map(|file| Ok(file?.path())).collect::<Result<Vec<_>>>()?;
    let mut names: Vec<_> =
        files.into_iter().filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    names.sort();
    let entry = |path: PathBuf| {
        let text = std::fs::read_to_string(&path)?;
        let entry: Entry = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Entry { name, ..entry })
    };
    names.into_iter().map(entry).collect()
}

impl Ending {
    /// The error as a client knows it, before the rules.
    fn classify(&self, policy: &Document) -> Result<ClassifyCase> {
        let kind = match (&self.kind, self.http) {
            (Some(word), _) => FailureKind::ALL.into_iter().find(|kind| kind.name() == word),
            (None, Some(status)) => FailureKind::from_http_status(status.into()),
            (None, None) => Some(FailureKind::Transient),
        };
        let hint = self.hint.as_deref().map(span).transpose()?.map(|nanos| Hint::after(Span::from_nanos(nanos)));
        let failure = Failure::new(kind.context("a kind of failure")?).with_hint(hint.unwrap_or_default());
        let mut case = ClassifyCase {
            policy: policy.clone(),
            http: self.http,
            grpc: None,
            message: self.message.clone(),
            idempotent: true,
            failure: failure.into(),
            judged: failure.into(),
            rule: None,
            codes: self.codes.clone(),
            types: self.types.clone(),
            unsent: self.unsent,
            program_fault: false,
            should_retry: self.should_retry,
        };
        let judged = classify::judged(&case).map_err(|error| anyhow!(error))?;
        case.rule = Some(if judged.rule == Failure::NO_RULE { 0 } else { judged.rule });
        case.judged = Failure { rule: 0, ..judged }.into();
        Ok(case)
    }
}

/// A run with its policy and its failures as the machine takes them.
pub struct Prepared {
    document: Document,
    policy: Policy,
    /// Each failure, and how long its attempt ran.
    failures: Vec<(Failure, u64)>,
    attempts: usize,
}

/// Reads the policy of a run and judges its failures.
pub fn prepare(entry: &Entry, run: &Run) -> Result<Prepared> {
    // The guards of the catalogue's policies have tests of their own.
    let mut document = entry.policy.clone();
    document.remove("budget");
    let text = serde_json::to_string(&document)?;
    let policy = documents::read(&text).map_err(|error| anyhow!("{}: {error}", entry.name))?.policy;
    let failure = |ending: &Ending| {
        let failure = classify::judged(&ending.classify(&entry.policy)?).map_err(|error| anyhow!(error))?;
        Ok((failure, ending.took.as_deref().map(span).transpose()?.unwrap_or(0)))
    };
    let failures = run.failures.iter().map(failure).collect::<Result<_>>()?;
    Ok(Prepared { document, policy, failures, attempts: run.delays.len() + usize::from(run.then.is_some()) })
}

impl Prepared {
    /// Runs the operation with a seed: the failures with their times, and the machine's decisions.
    pub fn play(&self, seed: u64) -> RetryCase {
        let started = Timestamp::from_nanos(1_000_000_000);
        let (mut now, mut retry) = (started, Retry::new(seed, started));
        let (mut failures, mut decisions) = (Vec::new(), Vec::new());
        for (failure, took) in self.failures.iter().cycle().take(self.attempts) {
            now = Timestamp::from_nanos(now.as_nanos() + took);
            let decision = retry.on_failure(&self.policy, now, *failure);
            failures.push(EndAt { now: N(now.as_nanos()), failure: Some((*failure).into()), new_call: false });
            decisions.push(decision.into());
            if let Decision::Sleep { until, .. } = decision {
                now = until;
            }
        }
        RetryCase {
            policy: self.document.clone(),
            seed: N(seed),
            started: N(started.as_nanos()),
            failures,
            decisions,
            tokens: None,
        }
    }
}

/// The runs as vectors, with two seeds each, and the judgements of their failures.
pub fn vectors() -> Result<[File; 2]> {
    let (mut retries, mut judgements) = (Vec::new(), Vec::new());
    for entry in read()? {
        for run in &entry.runs {
            let name = match &run.about {
                Some(about) => format!("{}: {about}", entry.title),
                None => entry.title.clone(),
            };
            let prepared = prepare(&entry, run)?;
            for seed in [1, 2] {
                retries.push(Case::generated(format!("{name}, seed {seed}"), prepared.play(seed)));
            }
            for ending in &run.failures {
                judgements.push(Case::generated(name.clone(), ending.classify(&entry.policy)?));
            }
        }
    }
    Ok([File::Retry(cases(retries)), File::Classify(cases(judgements))])
}

/// The catalogue as a page: each policy with its source, its file, and its backoff.
pub fn page() -> Result<String> {
    let mut page = String::from(
        "# Catalogue\n\n\
         The retry policies of known systems, as policies of holdoff. To use one, copy the value of `policy` in its file: it is a\n\
         [policy document](../policy.md), whose page defines the terms below. Each file also has the delays that the system documents;\n\
         the tests of every language compare them with holdoff's.\n\n\
         | policy | backoff and jitter | limits | file |\n|---|---|---|---|\n",
    );
    let mut notes = String::new();
    for entry in read()? {
        let text = serde_json::to_string(&entry.policy)?;
        let document = documents::read(&text).map_err(|error| anyhow!("{}: {error}", entry.name))?;
        let words = document.policy.to_string();
        let mut lines = words.lines();
        let (backoff, limits) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
        let title = match entry.source.split_once(' ').unwrap_or((&entry.source, "")).0 {
            source if source.starts_with("https://") => format!("[{}]({source})", entry.title),
            _ => entry.title.clone(),
        };
        writeln!(page, "| {title} | {backoff} | {limits} | [{0}]({0}.json) |", entry.name)?;
        if let Some(note) = &entry.note {
            writeln!(notes, "- {}: {note}", entry.name)?;
        }
    }
    Ok(format!("{page}\n## Where a policy differs from the original\n\n{notes}"))
}
