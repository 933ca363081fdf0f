//! A policy document, read from any format that serde reads: JSON, YAML, TOML.
//!
//! The reader knows no field. It flattens the document into (path, value) pairs and hands them to [`PolicyBuilder::set`],
//! as every language does with its own objects, so that a document means the same everywhere.

use crate::classify::{Kept, Operations, Rules};
use crate::error::ConfigError;
use crate::policy::{Policy, PolicyBuilder, Value};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write as _};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// What a policy document says (spec 19).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Document {
    /// When and how often to try again.
    pub policy: Policy,
    /// Which failures to try again after.
    pub rules: Rules,
    /// The patterns of `retry_on.patterns`.
    pub patterns: Vec<String>,
    /// The patterns of `retry_on.non_idempotent.patterns`.
    pub non_idempotent_patterns: Vec<String>,
}

impl Document {
    /// The patterns to look for in a message, for the operations that [`Rules::patterns`] says.
    #[must_use]
    pub fn patterns_for(&self, operations: Operations) -> &[String] {
        match operations {
            Operations::All => &self.patterns,
            Operations::NonIdempotent => &self.non_idempotent_patterns,
        }
    }
}

/// How deep objects and lists may lie in one another: no field lies deeper than four.
const DEPTH: u32 = 8;

/// A document in the making.
#[derive(Default)]
struct Reading {
    builder: PolicyBuilder,
    patterns: Vec<String>,
    non_idempotent_patterns: Vec<String>,
    path: String,
    depth: u32,
}

impl Reading {
    fn set(&mut self, value: Value<'_>, shown: &dyn fmt::Display) -> Result<(), Wrong> {
        let kept = self.builder.set(&self.path, value).map_err(|error| Wrong::new(&error, &self.path, shown))?;
        let (list, text) = match kept {
            Kept::All => return Ok(()),
            Kept::NoPatterns(list) => (list, None),
            Kept::Pattern { list, index, text } => (list, Some((index, text))),
        };
        let patterns = match list {
            Operations::All => &mut self.patterns,
            Operations::NonIdempotent => &mut self.non_idempotent_patterns,
        };
        if text.is_none_or(|(index, _)| index == 0) {
            patterns.clear();
        }
        patterns.extend(text.map(|(_, text)| String::from(text)));
        Ok(())
    }

    /// Sets a value and turns what is wrong with it into an error of the format's.
    fn put<E: Error>(&mut self, value: Value<'_>, shown: &dyn fmt::Display) -> Result<(), E> {
        self.set(value, shown).map_err(E::custom)
    }
}

/// What is wrong, with the path and the value as the document has them.
struct Wrong(String);

impl Wrong {
    fn new(error: &ConfigError, given: &str, shown: &dyn fmt::Display) -> Self {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = match error.field {
            Some(_) => write!(text, "{}", error.path()),
            None => write!(text, "{given}"),
        };
        let _ = write!(text, " = {shown}: {}", error.rule());
        if let Some(nearest) = error.nearest {
            let _ = write!(text, "; did you mean \"{nearest}\"?");
        }
        Self(text)
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let mut reading = Reading::default();
        Node(&mut reading).deserialize(input)?;
        let Reading { builder, patterns, non_idempotent_patterns, .. } = reading;
        let policy = builder.build().map_err(D::Error::custom)?;
        Ok(Self { policy, rules: builder.rules(), patterns, non_idempotent_patterns })
    }
}

/// The value under the current path, whatever it is.
struct Node<'r>(&'r mut Reading);

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<(), D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a policy document")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let reading = self.0;
        let before = reading.path.len();
        let mut fields = 0_u32;
        reading.depth = reading.depth.saturating_add(1);
        while let Some(name) = map.next_key::<String>()? {
            fields = fields.saturating_add(1);
            if before > 0 {
                reading.path.push('.');
            }
            reading.path.push_str(&name);
            if reading.depth > DEPTH {
                map.next_value::<IgnoredAny>()?;
                reading.put(Value::Other, &"...")?;
            } else {
                map.next_value_seed(Node(reading))?;
            }
            reading.path.truncate(before);
        }
        reading.depth = reading.depth.saturating_sub(1);
        if fields == 0 && before > 0 { reading.put(Value::Empty, &"{}") } else { Ok(()) }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let reading = self.0;
        if reading.path.is_empty() {
            return Err(A::Error::custom("a policy document is an object, not a list"));
        }
        let before = reading.path.len();
        let mut index = 0_u32;
        reading.depth = reading.depth.saturating_add(1);
        loop {
            let _ = write!(reading.path, "[{index}]");
            let next = if reading.depth > DEPTH {
                list.next_element::<IgnoredAny>()?.map(|_| ())
            } else {
                list.next_element_seed(Node(reading))?
            };
            reading.path.truncate(before);
            if next.is_none() {
                break;
            }
            index = index.saturating_add(1);
        }
        reading.depth = reading.depth.saturating_sub(1);
        if index == 0 { reading.put(Value::NoItems, &"[]") } else { Ok(()) }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        if self.0.path.is_empty() {
            return Err(E::custom("a policy document is an object, not text"));
        }
        self.0.put(Value::Text(text), &format_args!("{text:?}"))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        if self.0.path.is_empty() {
            return Err(E::custom("a policy document is an object, not a number"));
        }
        // A document's times are text: a bare number would have no unit.
        self.0.put(Value::Number { value, unit: f64::NAN }, &value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.visit_f64(value as f64)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.visit_f64(value as f64)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        if self.0.path.is_empty() {
            return Err(E::custom("a policy document is an object"));
        }
        self.0.put(Value::Other, &value)
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        if self.0.path.is_empty() {
            return Err(E::custom("a policy document is an object"));
        }
        self.0.put(Value::Nothing, &"null")
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, input: D) -> Result<(), D::Error> {
        self.deserialize(input)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;
    use std::string::ToString;

    fn read(json: &str) -> Result<Document, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn the_document_of_the_guide_is_read() {
        let document = read(
            r#"{ "version": 1,
                 "backoff": [ { "kind": "constant", "delay": "1s", "times": 1 },
                              { "kind": "exponential", "initial": "2s", "factor": 3, "max": "1m" } ],
                 "jitter": { "kind": "proportional", "factor": 0.25 }, "attempts": 5, "deadline": "2m", "hint": {},
                 "retry_on": { "http": [408, 429, "5xx"], "patterns": ["timeout", "reset"] } }"#,
        )
        .unwrap();
        assert_eq!(document.patterns, ["timeout", "reset"]);
        assert_eq!(document.policy.deadline().unwrap().as_duration(), Duration::from_secs(120));
        assert_eq!(document.policy.stages().count(), 2);
        assert!(document.rules.patterns(true).is_some());
    }

    #[test]
    fn what_is_wrong_is_said_with_path_value_and_rule() {
        for (json, error) in [
            (
                r#"{"backoff": [{"times": 1}, {"max": 5}]}"#,
                "backoff[1].max = 5: must be a time from 0 to 292 years with its unit, such as \"250ms\", \"1.5s\" or \
                 \"2m\"",
            ),
            (r#"{"atempts": 5}"#, "atempts = 5: is no field of a policy; did you mean \"attempts\"?"),
            (r#"{"version": 2}"#, "version = 2: must be 1"),
            (r#"{"attempts": [[3]]}"#, "attempts[0][0] = 3: is no field of a policy"),
            (
                r#"{"retry_on": {"grpc": ["UNAVAILABEL"]}}"#,
                "retry_on.grpc[0] = \"UNAVAILABEL\": must be a gRPC code from 0 to 16, or its name, such as \
                 \"UNAVAILABLE\"; did you mean \"UNAVAILABLE\"?",
            ),
            ("[]", "a policy document is an object, not a list"),
            ("7", "a policy document is an object, not a number"),
            (r#"{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":1}}}}}}}}}"#, "a.a.a.a.a.a.a.a.a = ...: is no field"),
        ] {
            let got = read(json).unwrap_err();
            assert!(got.starts_with(error), "{got}\n{error}");
        }
    }
}
