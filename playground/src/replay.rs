//! The log of a call, read back under a policy.

use crate::problem::Problem;
use holdoff_core::{
    EventKind, EventWithNotes, Failure, Guards, Notes, Policy, Recorder, Replay, ReplayMode, Span, Step, Timestamp,
};
use serde::Serialize;
use std::fmt::Write as _;

/// The most events that are read.
const MOST_EVENTS: usize = 10_000;

/// A log as the page draws it.
#[derive(Debug, Serialize)]
pub(crate) struct Replayed {
    events: Vec<Drawn>,
    /// The event that is not what the policy decides, and both decisions; or that the log was written under another policy.
    difference: Option<String>,
}

/// An event; times in milliseconds since the first one.
#[derive(Debug, Serialize)]
struct Drawn {
    sequence: u64,
    kind: &'static str,
    attempt: u32,
    at: f64,
    /// When a sleep is over.
    until: Option<f64>,
    /// The core's words for it, and the failure's text.
    text: String,
}

/// Reads a log, one event a line, and compares it with the policy.
pub(crate) fn replayed(policy: &Policy, log: &str) -> Result<Replayed, Problem> {
    let mut events = Vec::new();
    let (mut strict, mut follow) =
        (Some(Replay::new(ReplayMode::Verify)), Replay::new(ReplayMode::Follow).any_policy());
    let (mut difference, mut began) = (None, None);
    let lines = log.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    for (index, line) in lines {
        let number = index + 1;
        let wrong = |rule: String| Problem {
            path: format!("line {number}"),
            message: format!("line {number} is no event of a holdoff log: {rule}"),
            place: None,
        };
        if events.len() == MOST_EVENTS {
            return Err(wrong(format!("at most {MOST_EVENTS} events are read, and it is one more")));
        }
        let read: EventWithNotes = serde_json::from_str(line).map_err(|error| {
            // The reader saw this one line only, so its own line number says nothing.
            let (text, column) = (error.to_string(), error.column());
            let rule = text.trim_end_matches(&format!(" at line 1 column {column}"));
            wrong(format!("{rule} (column {column})"))
        })?;
        let event = &read.event;
        if let Some(replay) = &mut strict
            && let Err(error) = replay.apply(policy, event)
        {
            (difference, strict) = (Some(error.to_string()), None);
        }
        follow.apply(policy, event).map_err(|error| wrong(error.to_string()))?;
        let start = *began.get_or_insert(event.at());
        let since = |at: holdoff_core::Timestamp| (at.as_nanos() as f64 - start.as_nanos() as f64) / 1e6;
        let failure = read.failure.map(|text| format!(" ({text})")).unwrap_or_default();
        events.push(Drawn {
            sequence: event.sequence(),
            kind: EventKind::name(event.kind()),
            attempt: event.attempt(),
            at: since(event.at()),
            until: (event.kind() == EventKind::RetryScheduled).then(|| since(event.until())),
            text: format!("{event}{failure}"),
        });
    }
    if events.is_empty() {
        return Err(Problem::of("the log is empty"));
    }
    Ok(Replayed { events, difference })
}

/// The most attempts of an example.
const EXAMPLE_ATTEMPTS: u32 = 12;

/// The log of a call without guards whose every attempt times out after half a second, one event a line.
pub(crate) fn recorded(policy: &Policy) -> String {
    let (mut now, guards) = (Timestamp::from_nanos(1_700_000_000_000_000_000), &mut Guards::none());
    let mut lines = String::new();
    let (mut recorder, mut next) = Recorder::begin(policy, guards, 7, now);
    loop {
        for event in next.events.iter() {
            let notes = Notes { task: Some("example"), failure: None };
            let _ = writeln!(lines, "{}", event.json(&notes));
        }
        next = match next.step {
            Step::Attempt { ticket, .. } if ticket.attempt() > EXAMPLE_ATTEMPTS => break,
            Step::Attempt { ticket, .. } => {
                now = now.after(Span::from_millis(500));
                recorder.fail(policy, guards, ticket, now, Failure::TIMEOUT)
            }
            Step::Sleep { until, .. } => {
                now = until;
                recorder.tick(policy, guards, now)
            }
            Step::Wait { .. } | Step::Stop(_) => break,
        };
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_is_replayed_and_another_policy_differs() {
        let policy = Policy::default();
        let log = recorded(&policy);
        let read = replayed(&policy, &log).unwrap();
        // STARTED, twice ATTEMPT_FAILED, RETRY_SCHEDULED and RESUMED, then ATTEMPT_FAILED and GAVE_UP.
        assert_eq!((read.events.len(), read.difference), (9, None));
        let other = Policy::options().attempts(7).build().unwrap();
        let difference = replayed(&other, &log).unwrap().difference.unwrap();
        assert!(difference.starts_with("event 1"), "{difference}");
    }

    #[test]
    fn a_log_of_another_program_is_no_log() {
        let wrong = |log: &str| replayed(&Policy::default(), log).unwrap_err().message;
        let apache = "127.0.0.1 - - [10/Oct/2000] \"GET / HTTP/1.0\" 200";
        assert!(wrong(apache).starts_with("line 1 is no event of a holdoff log: "), "{}", wrong(apache));
        let other = wrong(r#"{"level": "info"}"#);
        assert!(other.ends_with("is not a field of an event (column 16)"), "{other}");
        assert_eq!(wrong(" \n "), "the log is empty");
        let line = recorded(&Policy::default()).lines().next().unwrap().to_owned() + "\n";
        assert!(wrong(&line.repeat(2)).starts_with("line 2 is no event"), "{}", wrong(&line.repeat(2)));
    }
}
