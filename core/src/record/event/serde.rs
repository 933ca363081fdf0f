//! [`Event`] for every format that serde has: the names and values of its JSON.

use super::field::ValueOwner;
use super::json::Notes;
use super::model::Event;
use super::table::{AFTER_TEXTS, BEFORE_TEXTS};
use crate::error::Error;
use crate::serde_value::{DocumentRules, DocumentValue, read_values};
use crate::value::Value;
use alloc::borrow::ToOwned;
use alloc::string::String;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde::ser::{Serialize, SerializeMap, Serializer};

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
        let Self { event, task, failure } = self;
        let mut fields = out.serialize_map(None)?;
        for (name, value) in event.each(BEFORE_TEXTS) {
            fields.serialize_entry(name, &value)?;
        }
        if let Some(failure) = failure {
            fields.serialize_entry("failureReason", failure)?;
        }
        if task.is_some() || failure.is_some() {
            fields.serialize_entry("payload", &Payload { task, failure })?;
        }
        for (name, value) in event.each(AFTER_TEXTS) {
            fields.serialize_entry(name, &value)?;
        }
        fields.end()
    }
}

struct Payload<'n> {
    task: &'n Option<String>,
    failure: &'n Option<String>,
}

impl Serialize for Payload<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut fields = out.serialize_map(None)?;
        for (name, text) in [("taskId", self.task), ("reason", self.failure)] {
            if let Some(text) = text {
                fields.serialize_entry(name, text)?;
            }
        }
        fields.end()
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
            ValueOwner::Task => self.task = Some(text.to_owned()),
            ValueOwner::Failure if path == "failureReason" || self.failure.is_none() => {
                self.failure = Some(text.to_owned());
            }
            ValueOwner::Event | ValueOwner::Failure => {}
        }
        Ok(())
    }
}
