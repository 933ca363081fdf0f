//! A policy document, read from any format that serde reads: JSON, YAML, TOML.

use crate::decide::policy::Policy;
use crate::describe::foreign::{Form, FormReader};
use crate::describe::options::Options;
use crate::describe::rules::texts::Texts;
use crate::describe::rules::{HostText, Rules, TextList};
use crate::error::{Error, ErrorCode, Quantity};
use crate::serde_value::{DocumentRules, DocumentValue, read_values};
use crate::value::Value;
use alloc::boxed::Box;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;
use serde::de::{Deserialize, Deserializer, Error as _};

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
    /// The names and patterns of the rules.
    pub texts: Texts,
    /// The types of errors that are never retried, by their whole names: only Temporal's form has them.
    pub error_types: Vec<String>,
}

/// The error of a document, with path and value as the document has them.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct DocumentError {
    /// The rule that was broken; [`ErrorCode::NotJson`] where the text is not of its format at all.
    pub error: Box<Error>,
    /// The path of the value, `backoff[1].max`; empty for the document as a whole.
    pub path: String,
    /// The value, if a single value is wrong.
    pub value: Option<String>,
    /// The message of the format's reader about text that is not of its format; the rule that says what the lists of
    /// `retry_on` said.
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
            (_, Some(cause)) => write!(f, ": {cause}"),
            (Some(nearest), _) => write!(f, "; did you mean \"{nearest}\"?"),
            (None, None) => Ok(()),
        }
    }
}

impl core::error::Error for DocumentError {}

impl DocumentError {
    /// The error of text that is not of its format.
    pub fn not_of_format(cause: impl fmt::Display) -> Self {
        Self { cause: Some(cause.to_string()), ..Error::of_use(ErrorCode::NotJson).into() }
    }
}

/// The error of fields that do not fit together, under the path that it has.
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
        let mut options = Policy::options();
        let document = read(input, |path, value| options.set(path, value)).map_err(wrong)?;
        document.with_options(&options)
    }

    /// Reads a policy in another system's form: `Document::read_form(Form::Grpc.reader(), input)`.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn read_form<'de, D: Deserializer<'de>>(mut reader: FormReader, input: D) -> Result<Self, DocumentError> {
        let document = read(input, |path, value| reader.set(path, value)).map_err(wrong)?;
        document.with_options(&reader.options()?)
    }

    /// The document with a policy, rules and guards that are built from options.
    fn with_options(self, options: &Options) -> Result<Self, DocumentError> {
        let policy = options.build()?;
        options.check_guards()?;
        Ok(Self { policy, rules: options.rules(), guards: options.guards(), ..self })
    }

    /// The document as JSON text that reads back to the same, but for the types of errors.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        let texts = &mut |alternative, list, put: &mut dyn FnMut(&str) -> fmt::Result| {
            self.texts.get(alternative, list).try_for_each(put)
        };
        // Writing to a string does not fail.
        let _ = crate::write_document(&self.policy, &self.rules, &self.guards, texts, &mut out);
        out
    }

    /// The document as JSON text in another system's form.
    ///
    /// # Errors
    /// What cannot be said there.
    pub fn to_form(&self, form: Form) -> Result<String, Error> {
        let mut out = String::new();
        let policy = form.export(&self.policy, &self.rules, &self.guards)?;
        let patterns = self.texts.get(0, TextList::Patterns);
        let _ = policy.write(patterns, self.error_types.iter().map(String::as_str), &mut out);
        Ok(out)
    }

    /// Stores a text that [`Options::set`] or [`FormReader::set`] returned.
    pub fn store(&mut self, text: Option<HostText<'_>>) {
        match text {
            Some(HostText::ErrorType(name)) => self.error_types.push(name.into()),
            Some(text) => self.texts.store(text),
            None => {}
        }
    }
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let mut options = Policy::options();
        let document = read(input, |path, value| options.set(path, value)).map_err(|(error, _)| error)?;
        document.with_options(&options).map_err(D::Error::custom)
    }
}

/// Reads the texts of a document and sets its fields.
fn read<'de, D: Deserializer<'de>>(
    input: D,
    mut set: impl for<'v> FnMut(&str, Value<'v>) -> Result<Option<HostText<'v>>, Error>,
) -> Result<Document, (D::Error, Option<DocumentError>)> {
    let mut document = Document::default();
    // The entries of lists that are rules now, all of which their error shows, and the first error about one.
    let (mut entries, mut replaced) = (Vec::new(), None);
    let rules = DocumentRules { unit: f64::NAN, groups: None, repeats: false };
    read_values(input, rules, |DocumentValue { path, value, text, broken }| {
        let error = match broken {
            Some(code) => Error::of_use(code),
            None => match set(path, value) {
                Ok(text) => {
                    document.store(text);
                    return Ok(());
                }
                Err(error) => error,
            },
        };
        let text = text.to_string();
        if error.code == ErrorCode::Replaced
            && let Some((condition, once)) = old_list(path)
        {
            entries.push((condition.to_string(), once, text.clone()));
            let (path, value) = (path.into(), Some(text));
            replaced.get_or_insert(DocumentError { error: Box::new(error), path, value, cause: None });
            return Ok(());
        }
        let path = if error.field.is_some() { error.path().to_string() } else { path.into() };
        let value = if error.code == ErrorCode::Twice { None } else { Some(text) };
        Err(DocumentError { error: Box::new(error), path, value, cause: None })
    })?;
    match replaced {
        None => Ok(document),
        Some(error) => {
            let error = DocumentError { cause: Some(as_rule(&entries)), ..error };
            Err((D::Error::custom(&error), Some(error)))
        }
    }
}

/// The condition that an entry of a list of earlier drafts is now, and whether it was for operations that may not run twice.
fn old_list(path: &str) -> Option<(&str, bool)> {
    let list = path.strip_prefix("retry_on.")?.split_once('[')?.0;
    let once = list.strip_prefix("non_idempotent.");
    let condition = once.unwrap_or(list);
    (!condition.contains('.')).then_some((condition, once.is_some()))
}

/// The rule that says what the lists of earlier drafts said.
fn as_rule(entries: &[(String, bool, String)]) -> String {
    let mut alternatives: Vec<(&str, bool, Vec<&str>)> = Vec::new();
    for (condition, once, value) in entries {
        match alternatives.iter_mut().find(|known| known.0 == condition && known.1 == *once) {
            Some((_, _, values)) => values.push(value),
            None => alternatives.push((condition, *once, Vec::from([value.as_str()]))),
        }
    }
    let shown = alternatives.iter().map(|(condition, once, values)| {
        let once = if *once { ", \"idempotent\": false" } else { "" };
        alloc::format!("{{\"{condition}\": [{}]{once}}}", values.join(", "))
    });
    let shown: Vec<String> = shown.collect();
    let list = if let [only] = &*shown { only.clone() } else { alloc::format!("[{}]", shown.join(", ")) };
    alloc::format!("{{\"if\": {list}, \"retry\": true}}")
}

/// The error that a rule is broken, or else that the text is not of its format.
fn wrong((error, broken): (impl fmt::Display, Option<DocumentError>)) -> DocumentError {
    broken.unwrap_or_else(|| DocumentError::not_of_format(error))
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
                 "rules": [ { "if": [ { "http": [408, 429, "5xx"] }, { "patterns": ["timeout", "reset"] } ], "retry": true },
                            { "if": {}, "retry": false } ] }"#,
        )
        .unwrap();
        assert_eq!(document.texts.get(1, TextList::Patterns).collect::<Vec<_>>(), ["timeout", "reset"]);
        assert_eq!(document.policy.deadline().unwrap().as_duration(), Duration::from_secs(120));
        assert_eq!(document.policy.stages().count(), 2);
        assert!(document.rules.has_texts(TextList::Patterns));
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
            (
                r#"{"retry_on": {"non_idempotent": {"http": [503]}}}"#,
                "retry_on.non_idempotent.http[0] = 503: is a rule now: \"rules\": [{\"if\": {\"http\": [...], \"idempotent\": \
                 false}, \"retry\": true}, {\"if\": {\"idempotent\": false}, \"retry\": false}]: {\"if\": {\"http\": [503], \
                 \"idempotent\": false}, \"retry\": true}",
            ),
            (
                r#"{"retry_on": {"http": [408, "5xx"], "patterns": ["reset"]}, "attempts": 5}"#,
                "retry_on.http[0] = 408: is a rule now: \"rules\": [{\"if\": {\"http\": [...]}, \"retry\": true}, {\"if\": {}, \
                 \"retry\": false}]: {\"if\": [{\"http\": [408, \"5xx\"]}, {\"patterns\": [\"reset\"]}], \"retry\": true}",
            ),
            (r#"{"attempts": [[3]]}"#, "attempts[0][0] = 3: is no field of a policy"),
            (
                r#"{"rules": [{"if": {"grpc": ["UNAVAILABEL"]}}]}"#,
                "rules[0].if.grpc[0] = \"UNAVAILABEL\": must be a gRPC code from 0 to 16, or its name, such as \
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
        assert_eq!(document.texts.get(0, TextList::Patterns).collect::<Vec<_>>(), ["reset", "timeout"]);
        let again = document.to_form(Form::LanggraphgoGraph).unwrap();
        assert_eq!(read(Form::LanggraphgoGraph, &again).unwrap(), document);

        let error = read(Form::Kubernetes, r#"{"Duration": "1s", "Stepz": 3}"#).unwrap_err();
        assert_eq!(error.to_string(), "Stepz = 3: is no field of a Kubernetes wait.Backoff; did you mean \"Steps\"?");
    }

    #[test]
    fn a_form_with_very_many_names_that_it_ignores_is_read_in_linear_time() {
        let names: Vec<String> = (0..200_000).map(|name| alloc::format!("\"{name:06}\": 0")).collect();
        let json = alloc::format!("{{\"metadata\": {{{}}}, \"policy\": \"constant\"}}", names.join(", "));
        let begun = std::time::Instant::now();
        let document =
            Document::read_form(Form::Dapr.reader(), &mut serde_json::Deserializer::from_str(&json)).unwrap();
        assert_eq!(document.policy.stages().count(), 1);
        // One look at each pair of names takes minutes.
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
}
