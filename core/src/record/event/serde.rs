//! [`Event`] for every format that serde has: the names and values of its JSON.

use super::field::ValueOwner;
use super::json::Notes;
use super::model::Event;
use super::table::{AFTER_TEXTS, BEFORE_TEXTS};
use crate::serde_value::{Field, Reading};
use crate::value::Value;
use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;
use serde::Deserialize;
use serde::de::{Deserializer, Error as FormatError, IgnoredAny, MapAccess, Visitor};
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
        input.deserialize_map(Fields { noted: &mut noted, inner: false })?;
        noted.event = noted.event.check().map_err(FormatError::custom)?;
        Ok(noted)
    }
}

/// The fields of an event, or those of its payload.
struct Fields<'n> {
    noted: &'n mut EventWithNotes,
    inner: bool,
}

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the fields of an event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        while let Some(name) = fields.next_key::<String>()? {
            let name = if self.inner { ["payload.", &name].concat() } else { name };
            fields.next_value_seed(Reading(One { noted: self.noted, name: &name }))?;
        }
        Ok(())
    }
}

/// The value of a field.
struct One<'n> {
    noted: &'n mut EventWithNotes,
    name: &'n str,
}

impl Field for One<'_> {
    fn take<E: FormatError>(self, value: Value<'_>) -> Result<(), E> {
        let taken = self.noted.event.set(self.name, value).map_err(E::custom)?;
        let Value::Text(text) = value else { return Ok(()) };
        match taken {
            ValueOwner::Event => {}
            ValueOwner::Task => self.noted.task = Some(text.to_owned()),
            ValueOwner::Failure if self.name == "failureReason" || self.noted.failure.is_none() => {
                self.noted.failure = Some(text.to_owned());
            }
            ValueOwner::Failure => {}
        }
        Ok(())
    }

    fn take_map<'de, A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        if self.name == "payload" {
            return Fields { noted: self.noted, inner: true }.visit_map(fields);
        }
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        self.take(Value::Other)
    }
}
