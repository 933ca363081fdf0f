//! An event as JSON, in one line (spec 33.4).

use super::model::Event;
use super::table::{AFTER_TEXTS, BEFORE_TEXTS};
use crate::json;
use core::fmt;

/// The texts of an event, which the host lends: what is not given is not written.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Notes<'n> {
    /// The name of the task: `payload.taskId`.
    pub task: Option<&'n str>,
    /// The text of the failure: `failureReason` and `payload.reason`.
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
    pub const fn json<'n>(&self, notes: &Notes<'n>) -> EventJson<'n> {
        EventJson { event: *self, notes: *notes }
    }
}

impl fmt::Display for EventJson<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = "{";
        for (name, value) in self.event.each(BEFORE_TEXTS) {
            write!(f, "{before}\"{name}\":{value}")?;
            before = ",";
        }
        self.notes.write(f)?;
        for (name, value) in self.event.each(AFTER_TEXTS) {
            write!(f, ",\"{name}\":{value}")?;
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
