//! A policy document, read from any format that serde reads: JSON, YAML, TOML.
//!
//! The reader knows no field. It flattens the document into (path, value) pairs and hands them to [`Options::set`], or to
//! [`FormReader::set`] for another system's form, as every language does with its own objects, so that a document means the
//! same everywhere.

use crate::decide::policy::Policy;
use crate::describe::foreign::{Form, FormReader};
use crate::describe::options::Options;
use crate::describe::rules::{HostText, Operations, Rules};
use crate::error::{Error, ErrorCode, Quantity};
use crate::value::Value;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt::{self, Write as _};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error as FormatError, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

/// A policy document (spec 15).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Document {
    /// When and how often to try again.
    pub policy: Policy,
    /// Which failures to try again after.
    pub rules: Rules,
    /// The guards, the preset's where the document has none of its own: their configurations are checked, so that
    /// [`Options::budget`] and the others are no error.
    pub guards: Options,
    /// The patterns of `retry_on.patterns`.
    pub patterns: Vec<String>,
    /// The patterns of `retry_on.non_idempotent.patterns`.
    pub non_idempotent_patterns: Vec<String>,
    /// The types of errors that are never retried, by their whole names: only Temporal's form has them.
    pub error_types: Vec<String>,
}

/// The error of a document, with path and value as the document has them.
#[derive(Clone, PartialEq, Debug)]
pub struct DocumentError {
    /// The rule that was broken; [`ErrorCode::NotJson`] where the text is not of its format at all.
    pub error: Box<Error>,
    /// The path of the value, `backoff[1].max`; empty for the document as a whole.
    pub path: String,
    /// The value, if a single value is wrong.
    pub value: Option<String>,
    /// The message of the format's reader about text that is not of its format.
    pub cause: Option<String>,
}

/// `backoff[1].max = 5: must be ...`, and `; did you mean "..."?` where a name is near.
impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.path.is_empty() { "a policy document" } else { &self.path })?;
        match &self.value {
            Some(value) => write!(f, " = {value}: ")?,
            None if self.path.is_empty() => f.write_str(" ")?,
            None => f.write_str(": ")?,
        }
        f.write_str(self.error.rule())?;
        match (self.error.nearest, &self.cause) {
            (Some(nearest), _) => write!(f, "; did you mean \"{nearest}\"?"),
            (None, Some(cause)) => write!(f, ": {cause}"),
            (None, None) => Ok(()),
        }
    }
}

impl core::error::Error for DocumentError {}

impl DocumentError {
    fn new(code: ErrorCode, path: &str, value: Option<String>) -> Self {
        Self { error: Box::new(Error::of_use(code)), path: path.into(), value, cause: None }
    }

    /// The error of text that is not of its format.
    pub fn not_of_format(cause: impl fmt::Display) -> Self {
        Self { cause: Some(cause.to_string()), ..Self::new(ErrorCode::NotJson, "", None) }
    }
}

/// Of fields that do not fit together: the path is the error's own.
impl From<Error> for DocumentError {
    fn from(error: Error) -> Self {
        let value = (error.value != Quantity::None).then(|| error.value.to_string());
        Self { path: error.path().to_string(), error: Box::new(error), value, cause: None }
    }
}

impl Document {
    /// Reads a policy document. Its errors have path and value as they stand there, where [`Deserialize`] can only tell the
    /// format's own error.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn read<'de, D: Deserializer<'de>>(input: D) -> Result<Self, DocumentError> {
        Reading::new(Sink::Policy(Policy::options())).all(input)
    }

    /// Reads a policy in another system's form: `Document::read_form(Form::Grpc.reader(), input)`.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn read_form<'de, D: Deserializer<'de>>(reader: FormReader, input: D) -> Result<Self, DocumentError> {
        Reading::new(Sink::Form(reader)).all(input)
    }

    /// The document as JSON text that reads back to the same, but for the types of errors.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        let [patterns, others] =
            [&self.patterns, &self.non_idempotent_patterns].map(|list| list.iter().map(String::as_str));
        // Writing to a string does not fail.
        let _ = crate::write_document(&self.policy, &self.rules, &self.guards, patterns, others, &mut out);
        out
    }

    /// The document as JSON text in another system's form.
    ///
    /// # Errors
    /// What cannot be said there.
    pub fn to_form(&self, form: Form) -> Result<String, Error> {
        let mut out = String::new();
        let formed = form.export(&self.policy, &self.rules, &self.guards)?;
        let [patterns, types] = [&self.patterns, &self.error_types].map(|list| list.iter().map(String::as_str));
        let _ = formed.write(patterns, types, &mut out);
        Ok(out)
    }

    /// Stores a text that [`Options::set`] or [`FormReader::set`] returned.
    pub fn store(&mut self, text: Option<HostText<'_>>) {
        let (operations, begins, text) = match text {
            None => return,
            Some(HostText::ErrorType(name)) => return self.error_types.push(name.into()),
            Some(HostText::NoPatterns(operations)) => (operations, true, None),
            Some(HostText::Pattern { operations, begins, text }) => (operations, begins, Some(text)),
        };
        let patterns = match operations {
            Operations::All => &mut self.patterns,
            Operations::NonIdempotent => &mut self.non_idempotent_patterns,
        };
        if begins {
            patterns.clear();
        }
        patterns.extend(text.map(String::from));
    }

    /// The patterns to look for in a message, for the operations that [`Rules::patterns`] says.
    pub fn patterns_for(&self, operations: Operations) -> &[String] {
        match operations {
            Operations::All => &self.patterns,
            Operations::NonIdempotent => &self.non_idempotent_patterns,
        }
    }
}

/// How deep objects and lists may lie in one another: no field lies deeper than four.
const DEPTH: u32 = 8;

/// Takes the values of a document.
#[expect(clippy::large_enum_variant, reason = "there is one at a time, on the stack")]
enum Sink {
    Policy(Options),
    Form(FormReader),
}

/// A document in the making.
struct Reading {
    sink: Sink,
    document: Document,
    path: String,
    depth: u32,
    /// The error, which the format's own error cannot carry.
    wrong: Option<DocumentError>,
}

impl Reading {
    fn new(sink: Sink) -> Self {
        Self { sink, document: Document::default(), path: String::new(), depth: 0, wrong: None }
    }

    fn all<'de, D: Deserializer<'de>>(mut self, input: D) -> Result<Document, DocumentError> {
        if let Err(error) = Node(&mut self).deserialize(input) {
            return Err(self.wrong.unwrap_or_else(|| DocumentError::not_of_format(error)));
        }
        self.built()
    }

    /// The checks when all fields are read.
    fn built(self) -> Result<Document, DocumentError> {
        let (policy, rules, guards) = match &self.sink {
            Sink::Policy(options) => {
                let policy = options.build()?;
                options.check_guards()?;
                (policy, options.rules(), options.guards())
            }
            Sink::Form(reader) => (reader.build()?, reader.rules(), reader.guards()?),
        };
        Ok(Document { policy, rules, guards, ..self.document })
    }

    fn set(&mut self, value: Value<'_>, shown: &dyn fmt::Display) -> Result<(), DocumentError> {
        let Self { sink, document, path, .. } = self;
        let wrong = |error: Error| {
            let path = if error.field.is_some() { error.path().to_string() } else { path.clone() };
            DocumentError { error: Box::new(error), path, value: Some(shown.to_string()), cause: None }
        };
        match sink {
            Sink::Policy(options) => document.store(options.set(path, value).map_err(wrong)?),
            Sink::Form(reader) => document.store(reader.set(path, value).map_err(wrong)?),
        }
        Ok(())
    }

    /// Sets a value; the format's error stands for what is wrong with it.
    fn put<E: FormatError>(&mut self, value: Value<'_>, shown: &dyn fmt::Display) -> Result<(), E> {
        if self.depth == 0 {
            let given = if value == Value::Nothing { "null".into() } else { shown.to_string() };
            return self.fail(DocumentError::new(ErrorCode::NotAnObject, "", Some(given)));
        }
        match self.set(value, shown) {
            Ok(()) => Ok(()),
            Err(wrong) => self.fail(wrong),
        }
    }

    fn fail<E: FormatError, T>(&mut self, wrong: DocumentError) -> Result<T, E> {
        let error = E::custom(&wrong);
        self.wrong = Some(wrong);
        Err(error)
    }
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let mut reading = Reading::new(Sink::Policy(Policy::options()));
        Node(&mut reading).deserialize(input)?;
        reading.built().map_err(D::Error::custom)
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
        let mut names = BTreeSet::new();
        reading.depth = reading.depth.saturating_add(1);
        while let Some(name) = map.next_key::<String>()? {
            if reading.depth > 1 {
                reading.path.push('.');
            }
            reading.path.push_str(&name);
            if !names.insert(name) {
                let wrong = DocumentError::new(ErrorCode::Twice, &reading.path, None);
                return reading.fail(wrong);
            }
            if reading.depth > DEPTH {
                map.next_value::<IgnoredAny>()?;
                reading.put(Value::Other, &"...")?;
            } else {
                map.next_value_seed(Node(reading))?;
            }
            reading.path.truncate(before);
        }
        reading.depth = reading.depth.saturating_sub(1);
        if names.is_empty() && reading.depth > 0 { reading.put(Value::Empty, &"{}") } else { Ok(()) }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let reading = self.0;
        if reading.depth == 0 {
            return reading.put(Value::NoItems, &"[...]");
        }
        let before = reading.path.len();
        let mut index = 0_u32;
        reading.depth = reading.depth.saturating_add(1);
        loop {
            let _ = write!(reading.path, "[{index}]");
            let next = if reading.depth > DEPTH {
                let ignored = list.next_element::<IgnoredAny>()?.map(|_| ());
                ignored.map_or(Ok(()), |()| reading.put(Value::Other, &"..."))?;
                ignored
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

    fn visit_str<E: FormatError>(self, text: &str) -> Result<(), E> {
        self.0.put(Value::Text(text), &format_args!("{text:?}"))
    }

    fn visit_f64<E: FormatError>(self, value: f64) -> Result<(), E> {
        // A document's times are text: a bare number would have no unit.
        self.0.put(Value::Number { value, unit: f64::NAN }, &value)
    }

    fn visit_u64<E: FormatError>(self, value: u64) -> Result<(), E> {
        self.visit_f64(value as f64)
    }

    fn visit_i64<E: FormatError>(self, value: i64) -> Result<(), E> {
        self.visit_f64(value as f64)
    }

    fn visit_bool<E: FormatError>(self, value: bool) -> Result<(), E> {
        self.0.put(Value::Other, &value)
    }

    fn visit_unit<E: FormatError>(self) -> Result<(), E> {
        self.0.put(Value::Nothing, &"null")
    }

    fn visit_none<E: FormatError>(self) -> Result<(), E> {
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
    fn what_lies_too_deep_is_refused_in_lists_and_objects() {
        for (open, close) in [("[", "]"), (r#"{"max": "#, "}")] {
            let json = std::format!("{{\"backoff\": {}1{}}}", open.repeat(20), close.repeat(20));
            assert!(read(&json).unwrap_err().contains("= ...: is no field of a policy"), "{json}");
        }
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
            ("[]", "a policy document = [...]: must be an object"),
            ("7", "a policy document = 7: must be an object"),
            (r#"{"attempts": 2, "attempts": 3}"#, "attempts: must be there once"),
            (r#"{"": {"attempts": 2}}"#, ".attempts = 2: is no field of a policy; did you mean \"attempts\"?"),
            (r#"{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":1}}}}}}}}}"#, "a.a.a.a.a.a.a.a.a = ...: is no field"),
        ] {
            let got = read(json).unwrap_err();
            assert!(got.starts_with(error), "{got}\n{error}");
        }
    }

    #[test]
    fn what_is_wrong_is_data_as_well() {
        let read = |json: &str| Document::read(&mut serde_json::Deserializer::from_str(json)).unwrap_err();
        let error = read(r#"{"backoff": [{"kind": "linear", "times": 1}, {"kind": "expontial"}]}"#);
        assert_eq!((error.error.code, error.path.as_str()), (ErrorCode::UnknownWord, "backoff[1].kind"));
        assert_eq!((error.value.as_deref(), error.error.nearest), (Some("\"expontial\""), Some("exponential")));
        let error = read(r#"{"deadline": "1s", "min_attempt": "2s"}"#);
        assert_eq!((error.path.as_str(), error.value.as_deref()), ("min_attempt", Some("2s")));
        let error = read("{");
        assert_eq!((error.error.code, error.path.as_str(), error.value.as_deref()), (ErrorCode::NotJson, "", None));
        assert_eq!(
            error.to_string(),
            "a policy document must be JSON text: EOF while parsing an object at line 1 column 1"
        );
    }

    #[test]
    fn a_form_is_read_and_written() {
        let json = r#"{"methodConfig": [{"name": [{"service": "a.B"}], "timeout": "30s", "retryPolicy": {"maxAttempts": 4,
            "initialBackoff": ".1s", "maxBackoff": "1s", "backoffMultiplier": 2, "retryableStatusCodes": [14, "aborted"]}}]}"#;
        let read =
            |form: Form, json: &str| Document::read_form(form.reader(), &mut serde_json::Deserializer::from_str(json));
        let document = read(Form::Grpc, json).unwrap();
        let again = read(Form::Grpc, &document.to_form(Form::Grpc).unwrap()).unwrap();
        assert_eq!(again, document);
        assert_eq!(serde_json::from_str::<Document>(&document.to_json()).unwrap(), document);

        let json = r#"{"maximumAttempts": 5, "nonRetryableErrorTypes": ["BadRequest", "NotFound"]}"#;
        let document = read(Form::Temporal, json).unwrap();
        assert_eq!(document.error_types, ["BadRequest", "NotFound"]);
        assert_eq!(read(Form::Temporal, &document.to_form(Form::Temporal).unwrap()).unwrap(), document);

        let json = r#"{"MaxRetries": 2, "BackoffStrategy": 2, "RetryableErrors": ["reset", "timeout"]}"#;
        let document = read(Form::LanggraphgoGraph, json).unwrap();
        assert_eq!(document.patterns, ["reset", "timeout"]);
        let again = document.to_form(Form::LanggraphgoGraph).unwrap();
        assert_eq!(read(Form::LanggraphgoGraph, &again).unwrap(), document);

        let error = read(Form::Kubernetes, r#"{"Duration": "1s", "Stepz": 3}"#).unwrap_err();
        assert_eq!(error.to_string(), "Stepz = 3: is no field of a Kubernetes wait.Backoff; did you mean \"Steps\"?");
    }
}
