//! [`Event`] for every format that serde has.

use super::field::{Notes, ValueOwner};
use super::model::Event;
use crate::error::Error;
use crate::record::serde::write;
use crate::serde_value::{DocumentRules, DocumentValue, read_values};
use crate::value::Value;
use alloc::string::String;
use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};

/// An event and its texts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventWithNotes {
    /// The event.
    pub event: Event,
    /// The name of the task.
    pub task: Option<String>,
    /// The text of the failure. Where `failureReason` and `payload.reason` are both given, the former.
    pub failure: Option<String>,
}

impl EventWithNotes {
    /// The texts, for [`Event::json`].
    pub fn notes(&self) -> Notes<'_> {
        Notes { task: self.task.as_deref(), failure: self.failure.as_deref() }
    }
}

impl Serialize for EventWithNotes {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        write(out, self.event.fields(&self.notes()))
    }
}

impl<'de> Deserialize<'de> for EventWithNotes {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let mut noted = Self { event: Event::EMPTY, task: None, failure: None };
        let rules = DocumentRules { unit: 1.0, groups: Some(&["payload"]), repeats: true };
        read_values(input, rules, |value| noted.set(value)).map_err(|(error, _)| error)?;
        noted.event = noted.event.check().map_err(D::Error::custom)?;
        Ok(noted)
    }
}

impl EventWithNotes {
    fn set(&mut self, DocumentValue { path, value, broken, .. }: DocumentValue<'_>) -> Result<(), Error> {
        if let Some(code) = broken {
            return Err(Error::of_event(code, ""));
        }
        let owner = self.event.set(path, value)?;
        let Value::Text(text) = value else { return Ok(()) };
        match owner {
            ValueOwner::Task => self.task = Some(text.into()),
            ValueOwner::Failure if path == "failureReason" || self.failure.is_none() => {
                self.failure = Some(text.into());
            }
            ValueOwner::Event | ValueOwner::Failure => {}
        }
        Ok(())
    }
}
