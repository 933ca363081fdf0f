//! `replay`: the attempts of a call that was logged, and the decisions of a policy about the same failures.

use crate::explain::millis;
use crate::host::{Answer, Host, Output, error};
use crate::input::Format;
use crate::style::{BOLD, DIM, ERROR, GOOD, styled};
use clap::Args;
use holdoff_core::{
    Call, Event, EventKind, EventReader, EventWithNotes, Failure, Outcome, Policy, ReplayMode, Span, Step, Timestamp,
};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Show the attempts of a logged call, and what a policy would have done. Exits with 1 if that policy gives up, or if its
/// decisions differ from those of the log.
#[derive(Args)]
pub(crate) struct Replay {
    /// The log of one call: its events as bytes, or a line of JSON for each (`-`: the standard input).
    #[arg(value_hint = clap::ValueHint::FilePath)]
    log: String,
    /// A preset, or a JSON file with the policy that decides about the logged failures.
    #[arg(long, value_hint = clap::ValueHint::FilePath)]
    policy: Option<String>,
    /// Compare each decision of the log with the policy, which must be the one that wrote the log.
    #[arg(long, requires = "policy")]
    verify: bool,
    /// Print data; times are milliseconds.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    form: Format,
}

/// An attempt of the log that ended.
struct Attempt {
    took: Span,
    /// `None` for a success.
    failure: Option<Failure>,
    text: String,
}

/// A log that was read.
struct Log {
    events: Vec<Event>,
    seed: u64,
    /// The fingerprint of the policy that wrote it.
    policy: u64,
    attempts: Vec<Attempt>,
}

/// What is said about a file that is no log.
const WHAT_A_LOG_IS: &str = "A log has the events of one call, which a `Recorder` of holdoff makes: bytes, or a line of JSON for each. The \
    first has \"type\": \"STARTED\".\nhttps://github.com/holdoff/holdoff/blob/main/docs/cli.md#replay-a-log";

impl Replay {
    pub(crate) fn run(&self, host: &Host<'_>) -> Answer {
        let bytes = (host.read)(&self.log).map_err(|cause| error(format_args!("{}: {cause}", self.log)))?;
        let log = Log::new(read(&self.log, &bytes).map_err(|wrong| format!("{wrong}\n{WHAT_A_LOG_IS}"))?);
        let named = |name: &String| {
            let input = self.form.policy(name, host).map_err(|problem| problem.render(host))?;
            Ok::<_, String>((input.name, input.document.policy))
        };
        let policy = self.policy.as_ref().map(named).transpose()?;
        if let (true, Some((_, policy))) = (self.verify, &policy) {
            return Ok(verified(&log, policy, &self.log));
        }
        if log.attempts.is_empty() {
            let wrong = error(format_args!("{}: the log has no attempt that ended", self.log));
            return Err(format!("{wrong}\n{WHAT_A_LOG_IS}"));
        }
        let decided = policy.as_ref().map(|(name, policy)| (name, log.decided(policy)));
        let code = u8::from(decided.as_ref().is_some_and(|(_, (_, outcome, _))| *outcome != Outcome::Succeeded));
        let out = if self.json {
            let decided = decided.map(|(name, decided)| decisions(name, &decided));
            format!("{:#}\n", json!({ "seed": log.seed.to_string(), "attempts": log.data(), "decided": decided }))
        } else {
            log.shown() + &decided.map(|(name, decided)| shown(name, &decided)).unwrap_or_default()
        };
        Ok(Output { out, code, ..Output::default() })
    }
}

/// Runs the machine on what happened in the log, and compares.
fn verified(log: &Log, policy: &Policy, file: &str) -> Output {
    let mut replay = holdoff_core::Replay::new(ReplayMode::Verify);
    let wrong = log.events.iter().find_map(|event| replay.apply(policy, event).err());
    match wrong {
        Some(wrong) => {
            let out = format!("{}: {file}: {wrong}\n", styled(ERROR, "differs"));
            Output { out, code: 1, ..Output::default() }
        }
        None => format!("{}: the policy decides all {} events\n", styled(GOOD, "holds"), log.events.len()).into(),
    }
}

/// The events of a log and their texts: bytes, or lines of JSON.
fn read(file: &str, bytes: &[u8]) -> Result<Vec<(Event, String)>, String> {
    let is_json = matches!(bytes.trim_ascii_start(), [b'{', ..]);
    if !is_json {
        let events = EventReader::new(bytes).map(|event| event.map(|(event, text)| (event, text.to_owned())));
        return events.collect::<Result<_, _>>().map_err(|wrong| error(format_args!("{file}: {wrong}")));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| error(format_args!("{file}: is not text in UTF-8")))?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| {
            let event: EventWithNotes = serde_json::from_str(line).map_err(|wrong| {
                let text = wrong.to_string();
                let place = format!(" at line {} column {}", wrong.line(), wrong.column());
                let text = text.strip_suffix(&place).unwrap_or(&text);
                error(format_args!("{file}:{number}:{}: {text}", wrong.column()))
            })?;
            Ok((event.event, event.failure.unwrap_or_default()))
        })
        .collect()
}

impl Log {
    fn new(events: Vec<(Event, String)>) -> Self {
        let mut log = Self { events: Vec::new(), seed: 0, policy: 0, attempts: Vec::new() };
        let mut began = None;
        for (event, text) in events {
            match event.kind() {
                EventKind::Started | EventKind::Resumed => {
                    if event.kind() == EventKind::Started {
                        (log.seed, log.policy) = (event.seed(), event.policy());
                    }
                    began = (event.attempt() > 0).then_some(event.at());
                }
                EventKind::AttemptFailed | EventKind::Succeeded => {
                    let took = began.map_or(Span::ZERO, |began: Timestamp| event.at().since(began));
                    let kind = event.failure().filter(|_| event.kind() == EventKind::AttemptFailed);
                    let failure = kind.map(|kind| Failure::new(kind).with_hint(event.hint()));
                    let failure = failure.map(|failure| Failure { rule: rule(&event), ..failure });
                    log.attempts.push(Attempt { took, failure, text });
                }
                _ => {}
            }
            log.events.push(event);
        }
        log
    }

    /// The decisions of a policy about the same failures: the attempts take as long as in the log, and those after its last one
    /// succeed at once. With the seed and the policy of the log they are its own.
    fn decided(&self, policy: &Policy) -> (Vec<Decided>, Outcome, Timestamp) {
        let is_same = self.policy == policy.fingerprint();
        let (mut decided, mut attempts) = (Vec::new(), self.attempts.iter());
        let mut now = Timestamp::ZERO;
        let (mut call, mut step) = Call::begin(policy, self.seed, now);
        loop {
            step = match step {
                Step::Attempt { ticket, abort_at, .. } => {
                    let attempt = attempts.next();
                    let ended = now.after(attempt.map_or(Span::ZERO, |attempt| attempt.took));
                    now = ended.min(abort_at);
                    let failure =
                        if ended > abort_at { Some(Failure::TIMEOUT) } else { attempt.and_then(|it| it.failure) };
                    // Another policy has other rules: its own judge the failure by its kind.
                    let failure = failure.map(|it| if is_same { it } else { Failure { rule: 0, ..it } });
                    decided.push(Decided { number: ticket.attempt(), at: now, failure, sleep: None });
                    match failure {
                        Some(failure) => call.fail(policy, ticket, now, failure),
                        None => call.succeed(ticket, now),
                    }
                }
                Step::Sleep { until, cause } => {
                    if let Some(last) = decided.last_mut() {
                        last.sleep = Some((until.since(now), cause.name()));
                    }
                    now = until;
                    call.tick(policy, now)
                }
                // No attempt runs beside another one without a hedge.
                Step::Wait { until } => {
                    now = until;
                    call.tick(policy, now)
                }
                Step::Stop(outcome) => return (decided, outcome, now),
            };
        }
    }

    fn shown(&self) -> String {
        let mut out = String::new();
        for (number, attempt) in (1..).zip(&self.attempts) {
            let kind = attempt.failure.map_or(styled(GOOD, "success"), |failure| failure.kind.to_string());
            let text = if attempt.text.is_empty() {
                String::new()
            } else {
                styled(DIM, format!(" ({})", clean(&attempt.text)))
            };
            let _ = writeln!(out, "attempt {number} took {}: {kind}{text}", attempt.took.rounded());
        }
        out
    }

    fn data(&self) -> Vec<Value> {
        let attempts = self.attempts.iter();
        let data = attempts.map(|attempt| {
            let Attempt { took, failure, text } = attempt;
            let hint = failure.and_then(|failure| failure.hint.span()).map(millis);
            json!({ "took_ms": millis(*took), "failure": failure.map(|it| it.kind.name()), "hint_ms": hint, "text": text })
        });
        data.collect()
    }
}

/// The number of the rule that took a failure, as a machine takes it.
fn rule(event: &Event) -> u8 {
    match event.rule() {
        None => 0,
        Some(0) => Failure::NO_RULE,
        Some(rule) => rule,
    }
}

/// An attempt under a policy.
struct Decided {
    number: u32,
    /// When it ended.
    at: Timestamp,
    failure: Option<Failure>,
    /// How long the call sleeps after it, and why.
    sleep: Option<(Span, &'static str)>,
}

fn shown(name: &str, (decided, outcome, end): &(Vec<Decided>, Outcome, Timestamp)) -> String {
    let since = |at: Timestamp| at.since(Timestamp::ZERO).rounded();
    let mut out = format!("\n{}\n", styled(BOLD, format!("under {name}")));
    for Decided { number, at, failure, sleep } in decided {
        let (Some(failure), Some((sleep, cause))) = (failure, sleep) else { continue };
        let failed = format!("attempt {number} failed at {}: {}", since(*at), failure.kind);
        let _ = writeln!(out, "{failed}; sleep {} ({cause})", sleep.rounded());
    }
    let _ = match outcome {
        Outcome::GaveUp { reason, .. } => {
            writeln!(out, "{} at {}: {}", styled(ERROR, "gave up"), since(*end), reason.text())
        }
        _ => writeln!(out, "{} at {}", styled(GOOD, "success"), since(*end)),
    };
    out
}

fn decisions(name: &str, (decided, outcome, end): &(Vec<Decided>, Outcome, Timestamp)) -> Value {
    let since = |at: Timestamp| millis(at.since(Timestamp::ZERO));
    let attempts = decided.iter().map(|it| {
        json!({
            "attempt": it.number, "ended_ms": since(it.at), "failure": it.failure.map(|failure| failure.kind.name()),
            "sleep_ms": it.sleep.map(|sleep| millis(sleep.0)), "cause": it.sleep.map(|sleep| sleep.1),
        })
    });
    let reason = if let Outcome::GaveUp { reason, .. } = outcome { Some(reason.name()) } else { None };
    let attempts: Vec<_> = attempts.collect();
    json!({ "policy": name, "attempts": attempts, "end_ms": since(*end), "gave_up": reason })
}

/// A text of a log without what would steer a terminal.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
