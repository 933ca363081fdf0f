//! Running vector files against the core: one line a file, and the first failures of each.

use crate::adaptives;
use crate::breakers;
use crate::budgets;
use crate::chaos;
use crate::classify;
use crate::documents;
use crate::format::{
    BackoffCase, CallCase, Case, DecisionWord, DurationCase, Event, FailureWord, File, HttpCase, N, PolicyCase,
    RetryCase, ScheduleCase, SeedCase, StepWord,
};
use crate::gates;
use crate::guarded;
use crate::hints;
use crate::layers;
use crate::limiters;
use crate::logs;
use crate::loop_backoffs;
use crate::nestings;
use crate::options;
use crate::random_logs;
use crate::references::{self, Recorded};
use crate::saves;
use crate::traces;
use crate::wheel;
use anyhow::{Context as _, Result};
use holdoff_core::{Call, Failure, FailureKind, Policy, Retry, Schedule, Span, Step, Ticket, Timestamp, seed_at};
use std::fmt::Debug;
use std::path::{Path, PathBuf};

/// How many failures of a file are shown.
const SHOWN: usize = 5;

/// What became of a file's cases.
#[derive(Default)]
pub struct Tally {
    /// Cases that gave what they must.
    pub passed: usize,
    /// Cases that did not, each with its reason.
    pub failed: Vec<String>,
    /// Inputs and cases of which the original's result is no example; docs/internals/compat.md says which and why.
    pub deviations: usize,
}

/// Runs every file under `path` in the order of their names; whether all cases passed.
pub fn run(path: &Path) -> Result<bool> {
    let mut all = true;
    for file in files(path)? {
        let name = file.strip_prefix(path).ok().filter(|name| *name != Path::new("")).unwrap_or(&file);
        let name = if path == file { Path::new(file.file_name().unwrap_or_default()) } else { name };
        match read(&file) {
            Ok(content) => {
                let tally = content.run();
                tally.failed.iter().take(SHOWN).for_each(|failure| println!("  {failure}"));
                let Tally { passed, failed, deviations } = &tally;
                println!("{}: {passed} passed, {} failed, {deviations} deviations", name.display(), failed.len());
                all &= tally.failed.is_empty();
            }
            Err(error) => {
                println!("  cannot be read: {error:#}");
                println!("{}: 0 passed, 1 failed, 0 deviations", name.display());
                all = false;
            }
        }
    }
    Ok(all)
}

/// What is beside the vectors and is none: their schema, and the policies of random logs.
const NO_VECTORS: [&str; 2] = ["schema.json", random_logs::POLICIES];

/// The vector files at or under a path, sorted.
pub fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).with_context(|| path.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.extension().is_some_and(|end| end == "json")
            && path.file_name().is_some_and(|name| NO_VECTORS.iter().all(|other| name != *other))
        {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// A vector file of either sort.
pub enum Content {
    /// In a format of ours.
    Ours(File),
    /// In the format of a reference system.
    Recorded(Recorded, references::Runner),
}

impl Content {
    /// Runs its cases.
    pub fn run(&self) -> Tally {
        match self {
            Self::Ours(file) => cases(file),
            Self::Recorded(file, runner) => references::run(file, *runner),
        }
    }
}

/// Reads a vector file.
pub fn read(path: &Path) -> Result<Content> {
    let text = std::fs::read_to_string(path)?;
    let kind = serde_json::from_str::<Kind>(&text)?.kind;
    Ok(match references::runner(&kind) {
        Some(runner) => Content::Recorded(Recorded::read(&text)?, runner),
        None => Content::Ours(serde_json::from_str(&text)?),
    })
}

#[derive(serde::Deserialize)]
struct Kind {
    kind: String,
}

/// Runs the cases of a file.
pub fn cases(file: &File) -> Tally {
    match file {
        File::Call(file) => tally(&file.cases, call),
        File::Retry(file) => tally(&file.cases, retry),
        File::Schedule(file) => tally(&file.cases, schedule),
        File::Backoff(file) => tally(&file.cases, backoff),
        File::Policy(file) => {
            tally(&file.cases, |case: &PolicyCase| same(&case.error, &options::policy(&case.policy).err()))
        }
        File::Http(file) => tally(&file.cases, |case: &HttpCase| {
            let header = case.retry_after.as_deref().map(str::as_bytes);
            same(&case.failure, &Failure::from_http(case.status, header).map(FailureWord::from))
        }),
        File::Hint(file) => tally(&file.cases, hints::run),
        File::Layered(file) => tally(&file.cases, layers::run),
        File::Chaos(file) => tally(&file.cases, chaos::run),
        File::LoopBackoff(file) => tally(&file.cases, loop_backoffs::run),
        File::KeyedGate(file) => tally(&file.cases, gates::run),
        File::Adaptive(file) => tally(&file.cases, adaptives::adaptive),
        File::Stretch(file) => tally(&file.cases, adaptives::stretch),
        File::Latency(file) => tally(&file.cases, adaptives::latency),
        File::Nested(file) => tally(&file.cases, nestings::run),
        File::Budget(file) => tally(&file.cases, budgets::run),
        File::Guarded(file) => tally(&file.cases, guarded::run),
        File::BreakerWindow(file) => tally(&file.cases, breakers::window),
        File::Breaker(file) => tally(&file.cases, breakers::breaker),
        File::Limiter(file) => tally(&file.cases, limiters::limiter),
        File::Bulkhead(file) => tally(&file.cases, limiters::bulkhead),
        File::Trace(file) => tally(&file.cases, traces::run),
        File::Log(file) => tally(&file.cases, logs::log),
        File::Replay(file) => tally(&file.cases, logs::run),
        File::Wheel(file) => tally(&file.cases, wheel::run),
        File::Duration(file) => tally(&file.cases, |case: &DurationCase| {
            same(&case.nanos, &Span::parse(&case.text).map(|span| N(span.as_nanos())))
        }),
        File::Seed(file) => tally(&file.cases, |case: &SeedCase| same(&case.seed, &N(seed_at(case.n.0, case.k.0)))),
        File::Document(file) => tally(&file.cases, documents::run),
        File::Form(file) => tally(&file.cases, documents::form),
        File::Explain(file) => tally(&file.cases, documents::explain),
        File::Save(file) => tally(&file.cases, saves::save),
        File::Resume(file) => tally(&file.cases, saves::resume),
        File::Classify(file) => tally(&file.cases, classify::run),
    }
}

fn tally<T>(cases: &[Case<T>], run: impl Fn(&T) -> Result<(), String>) -> Tally {
    let mut tally = Tally::default();
    for case in cases {
        match run(&case.given) {
            Ok(()) => tally.passed += 1,
            Err(why) => tally.failed.push(format!("{}: {why}", case.name)),
        }
    }
    tally
}

pub(crate) fn same<T: PartialEq + Debug>(expected: &T, got: &T) -> Result<(), String> {
    if expected == got { Ok(()) } else { Err(format!("expected {expected:?}, got {got:?}")) }
}

pub(crate) fn all_same<T: PartialEq + Debug>(expected: &[T], got: &[T]) -> Result<(), String> {
    if expected.len() != got.len() {
        return Err(format!("expected {} answers, got {}", expected.len(), got.len()));
    }
    let pairs = expected.iter().zip(got).enumerate();
    pairs.into_iter().try_for_each(|(at, (expected, got))| {
        same(expected, got).map_err(|difference| format!("{difference} (at step {at})"))
    })
}

fn policy(case: &crate::format::Document) -> Result<Policy, String> {
    options::policy(case).map_err(|error| format!("the policy is refused: {error:?}"))
}

fn call(case: &CallCase) -> Result<(), String> {
    let steps = steps(&policy(&case.policy)?, case.seed.0, &case.events).ok_or("the events do not make sense")?;
    all_same(&case.steps, &steps)
}

/// What the machine says to each event; nothing when they do not start with a beginning or name an unknown failure.
fn steps(policy: &Policy, seed: u64, events: &[Event]) -> Option<Vec<Option<StepWord>>> {
    let (first, rest) = events.split_first()?;
    let (mut call, step) = begin(policy, seed, first)?;
    let mut steps = vec![step.map(StepWord::from)];
    for event in rest {
        steps.push(Some(next(&mut call, policy, event)?.into()));
    }
    Some(steps)
}

/// The call that begins with an event, and its first step if it says one.
pub fn begin(policy: &Policy, seed: u64, event: &Event) -> Option<(Call, Option<Step>)> {
    match *event {
        Event::Begin { now } => {
            let (call, step) = Call::begin(policy, seed, at(now));
            Some((call, Some(step)))
        }
        Event::Underway { started } => Some((Call::underway(seed, at(started)), None)),
        _ => None,
    }
}

/// What a call says to an event that is no beginning.
pub fn next(call: &mut Call, policy: &Policy, event: &Event) -> Option<Step> {
    let ticket = |n: N| Ticket::from_raw(n.0);
    Some(match event {
        Event::Begin { .. } | Event::Underway { .. } => return None,
        Event::Succeed { ticket: which, now } => call.succeed(ticket(*which), at(*now)),
        Event::Fail { ticket: which, now, failure } => call.fail(policy, ticket(*which), at(*now), failure.failure()?),
        Event::Tick { now } => call.tick(policy, at(*now)),
        Event::Cancel { now } => call.cancel(at(*now)),
    })
}

fn at(n: N) -> Timestamp {
    Timestamp::from_nanos(n.0)
}

fn retry(case: &RetryCase) -> Result<(), String> {
    if let Some(tokens) = &case.tokens {
        let (decisions, left) = guarded::paid(case)?;
        let seen: Vec<_> = left.into_iter().zip(tokens).map(|(left, known)| known.and(left)).collect();
        return all_same(&case.decisions, &decisions).and_then(|()| all_same(tokens, &seen));
    }
    let got = decisions(&policy(&case.policy)?, case).ok_or("an unknown failure kind")?;
    all_same(&case.decisions, &got)
}

/// What the machine says to each failure of a case.
pub fn decisions(policy: &Policy, case: &RetryCase) -> Option<Vec<DecisionWord>> {
    let mut retry = Retry::new(case.seed.0, at(case.started));
    let decide = |one: &crate::format::EndAt| {
        let failure = one.failure.as_ref()?.failure()?;
        Some(retry.on_failure(policy, at(one.now), failure).into())
    };
    case.failures.iter().map(decide).collect()
}

fn backoff(case: &BackoffCase) -> Result<(), String> {
    let mut schedule = Schedule::new(&policy(&case.policy)?, 0);
    let within = case.within.map_or(0, |within| within.0);
    for (at, expected) in case.delays.iter().enumerate() {
        let word = case.kinds.get(at).map_or("transient", String::as_str);
        let kind = FailureKind::ALL.into_iter().find(|kind| kind.name() == word).ok_or("no such kind of failure")?;
        let got = schedule.next_at(kind, case.uniforms.get(at).copied().flatten().unwrap_or_default());
        let got = got.ok_or_else(|| format!("there is no delay (at step {at})"))?.as_nanos();
        if got.abs_diff(expected.0) > within {
            return Err(format!("expected {}, got {got} (at step {at})", expected.0));
        }
    }
    case.ends.map_or(Ok(()), |ends| same(&ends, &schedule.next().is_none()))
}

fn schedule(case: &ScheduleCase) -> Result<(), String> {
    let mut schedule = Schedule::new(&policy(&case.policy)?, case.seed.0);
    let got: Vec<_> = schedule.by_ref().take(case.delays.len()).map(|delay| N(delay.as_nanos())).collect();
    all_same(&case.delays, &got)?;
    same(&case.ends, &schedule.next().is_none()).map_err(|difference| format!("ends: {difference}"))
}
