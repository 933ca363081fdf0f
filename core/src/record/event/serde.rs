//! [`Event`] for every format that serde has: the names and values of its JSON.

use super::{Event, EventKind, Notes, Taken, VERSION};
use crate::decide::hint::Hint;
use crate::decide::retry::Cause;
use crate::error::StopReason;
use crate::serde_value::{Field, Reading};
use crate::time::Timestamp;
use crate::value::Value;
use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use core::fmt;
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// An event and its texts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Noted {
    /// The event.
    pub event: Event,
    /// The name of the task.
    pub task: Option<String>,
    /// What the failure said. Where `failureReason` and `payload.reason` are both given, the former.
    pub failure: Option<String>,
}

impl Noted {
    /// The texts, to be lent to [`Event::json`].
    #[must_use]
    pub fn notes(&self) -> Notes<'_> {
        Notes { task: self.task.as_deref(), failure: self.failure.as_deref() }
    }
}

impl Serialize for Noted {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let Self { event, task, failure } = self;
        let mut fields = out.serialize_map(None)?;
        fields.serialize_entry("version", &VERSION)?;
        fields.serialize_entry("sequence", &event.sequence)?;
        fields.serialize_entry("type", event.kind().name())?;
        fields.serialize_entry("at", &event.at.as_nanos().to_string())?;
        fields.serialize_entry("attemptNumber", &event.attempt)?;
        if event.kind() == EventKind::RetryScheduled {
            fields.serialize_entry("backoffDelayMs", &event.delay_ms())?;
        }
        if let Some(failure) = failure {
            fields.serialize_entry("failureReason", failure)?;
        }
        if task.is_some() || failure.is_some() {
            fields.serialize_entry("payload", &Payload { task, failure })?;
        }
        match event.kind() {
            EventKind::Started => {
                fields.serialize_entry("policy", &event.policy.to_string())?;
                fields.serialize_entry("seed", &event.seed.to_string())?;
                fields.serialize_entry("guarded", &u8::from(event.is_guarded()))?;
            }
            EventKind::AttemptFailed => {
                fields.serialize_entry("failure", event.as_failure().kind.name())?;
                fields.serialize_entry("hint", &hint(event.hint))?;
            }
            EventKind::RetryScheduled => {
                fields.serialize_entry("until", &event.until.as_nanos().to_string())?;
                fields.serialize_entry("cause", Cause::read(event.cause).name())?;
            }
            EventKind::GaveUp => {
                fields.serialize_entry("reason", StopReason::read(event.reason).name())?;
                fields.serialize_entry("retryAt", &instant(event.until))?;
            }
            EventKind::Resumed | EventKind::Succeeded | EventKind::Cancelled => {}
        }
        fields.end()
    }
}

fn hint(hint: Hint) -> String {
    match hint {
        Hint::NONE => "none".to_owned(),
        Hint::NEVER => "never".to_owned(),
        hint => hint.span().unwrap_or_default().as_nanos().to_string(),
    }
}

fn instant(at: Timestamp) -> String {
    if at.is_never() { "never".to_owned() } else { at.as_nanos().to_string() }
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

impl<'de> Deserialize<'de> for Noted {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let mut noted = Self { event: Event::EMPTY, task: None, failure: None };
        input.deserialize_map(Fields { noted: &mut noted, inner: false })?;
        noted.event = noted.event.check().map_err(Error::custom)?;
        Ok(noted)
    }
}

/// The fields of an event, or those of its payload.
struct Fields<'n> {
    noted: &'n mut Noted,
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
    noted: &'n mut Noted,
    name: &'n str,
}

impl Field for One<'_> {
    fn take<E: Error>(self, value: Value<'_>) -> Result<(), E> {
        let taken = self.noted.event.set(self.name, value).map_err(E::custom)?;
        let Value::Text(text) = value else { return Ok(()) };
        match taken {
            Taken::Here => {}
            Taken::Task => self.noted.task = Some(text.to_owned()),
            Taken::Failure if self.name == "failureReason" || self.noted.failure.is_none() => {
                self.noted.failure = Some(text.to_owned());
            }
            Taken::Failure => {}
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
