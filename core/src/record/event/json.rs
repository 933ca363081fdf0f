//! An event as JSON, in one line (spec 33.4).

use super::{Event, EventKind, VERSION};
use crate::decide::failure::FailureKind;
use crate::decide::hint::Hint;
use crate::decide::retry::Cause;
use crate::error::StopReason;
use crate::json;
use crate::time::Timestamp;
use core::fmt;

/// The texts of an event, which the host lends: what is not given is not written.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Notes<'n> {
    /// The name of the task: `payload.taskId`.
    pub task: Option<&'n str>,
    /// What the failure said: `failureReason` and `payload.reason`.
    pub failure: Option<&'n str>,
}

/// An event and its texts, whose `Display` is the JSON.
#[derive(Clone, Copy, Debug)]
pub struct EventJson<'n> {
    event: Event,
    notes: Notes<'n>,
}

impl Event {
    /// The event as JSON in one line, without a line's end.
    #[must_use]
    pub const fn json<'n>(&self, notes: &Notes<'n>) -> EventJson<'n> {
        EventJson { event: *self, notes: *notes }
    }
}

impl fmt::Display for EventJson<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { event, notes } = self;
        write!(
            f,
            "{{\"version\":{VERSION},\"sequence\":{},\"type\":\"{}\",\"at\":\"{}\",\"attemptNumber\":{}",
            event.sequence,
            event.kind(),
            event.at.as_nanos(),
            event.attempt
        )?;
        if event.kind() == EventKind::RetryScheduled {
            write!(f, ",\"backoffDelayMs\":{}", event.delay_ms())?;
        }
        notes.write(f)?;
        match event.kind() {
            EventKind::Started => write!(
                f,
                ",\"policy\":\"{}\",\"seed\":\"{}\",\"guarded\":{}",
                event.policy,
                event.seed,
                u8::from(event.is_guarded())
            )?,
            EventKind::AttemptFailed => {
                let kind = event.failure().unwrap_or(FailureKind::Transient);
                write!(f, ",\"failure\":\"{}\",\"hint\":", kind.name())?;
                match event.hint {
                    Hint::NONE => f.write_str("\"none\"")?,
                    Hint::NEVER => f.write_str("\"never\"")?,
                    hint => write!(f, "\"{}\"", hint.span().unwrap_or_default().as_nanos())?,
                }
            }
            EventKind::RetryScheduled => {
                let cause = Cause::read(event.cause);
                write!(f, ",\"until\":\"{}\",\"cause\":\"{}\"", event.until.as_nanos(), cause.name())?;
            }
            EventKind::GaveUp => {
                write!(f, ",\"reason\":\"{}\",\"retryAt\":", StopReason::read(event.reason).name())?;
                match event.until {
                    Timestamp::NEVER => f.write_str("\"never\"")?,
                    at => write!(f, "\"{}\"", at.as_nanos())?,
                }
            }
            EventKind::Resumed | EventKind::Succeeded | EventKind::Cancelled => {}
        }
        f.write_str("}")
    }
}

impl Notes<'_> {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(failure) = self.failure {
            f.write_str(",\"failureReason\":")?;
            json::text(f, failure)?;
        }
        if self.task.is_none() && self.failure.is_none() {
            return Ok(());
        }
        let mut before = ",\"payload\":{";
        for (name, text) in [("taskId", self.task), ("reason", self.failure)] {
            if let Some(text) = text {
                write!(f, "{before}\"{name}\":")?;
                json::text(f, text)?;
                before = ",";
            }
        }
        f.write_str("}")
    }
}
