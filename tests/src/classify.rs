//! Rules of classification as a host keeps them: the core's numbers, and the texts of the patterns beside them.

use crate::format::{ClassifyCase, Document};
use holdoff_core::{Error, Facts, Failure, HostText, Operations, Rules, Value as Setting};
use serde_json::Value;

/// What a document's `retry_on` makes of errors.
#[derive(Default)]
pub struct Classifier {
    rules: Rules,
    all: Vec<String>,
    non_idempotent: Vec<String>,
}

/// An error as a host knows it.
pub struct Known<'a> {
    /// Its HTTP status.
    pub http: Option<u16>,
    /// Its gRPC code.
    pub grpc: Option<u8>,
    /// Its text.
    pub message: &'a str,
    /// Whether the operation can run twice without harm.
    pub idempotent: bool,
}

impl<'a> Known<'a> {
    /// An error that is only text, of an operation that can run twice.
    pub const fn text(message: &'a str) -> Self {
        Self { http: None, grpc: None, message, idempotent: true }
    }
}

impl Classifier {
    /// Reads a document's `retry_on`.
    pub fn new(document: &Document) -> Result<Self, String> {
        let mut classifier = Self::default();
        document.iter().try_for_each(|(name, value)| classifier.set(name, value))?;
        Ok(classifier)
    }

    fn set(&mut self, path: &str, value: &Value) -> Result<(), String> {
        let kept = match value {
            Value::Object(fields) if fields.is_empty() => self.rules.set(path, Setting::Empty),
            Value::Object(fields) => {
                return fields.iter().try_for_each(|(name, value)| self.set(&format!("{path}.{name}"), value));
            }
            Value::Array(items) if items.is_empty() => self.rules.set(path, Setting::NoItems),
            Value::Array(items) => {
                return items.iter().enumerate().try_for_each(|(at, item)| self.set(&format!("{path}[{at}]"), item));
            }
            Value::String(text) => self.rules.set(path, Setting::Text(text)),
            Value::Number(number) => {
                self.rules.set(path, Setting::Number { value: number.as_f64().unwrap_or(f64::NAN), unit: 1.0 })
            }
            Value::Bool(_) => self.rules.set(path, Setting::Other),
            Value::Null => self.rules.set(path, Setting::Nothing),
        };
        match kept.map_err(|error: Error| format!("retry_on.{path}: {}", error.rule()))? {
            Some(HostText::NoPatterns(list)) => self.patterns(list).clear(),
            Some(HostText::Pattern { operations, begins, text }) => {
                let patterns = self.patterns(operations);
                if begins {
                    patterns.clear();
                }
                patterns.push(text.to_owned());
            }
            _ => {}
        }
        Ok(())
    }

    fn patterns(&mut self, list: Operations) -> &mut Vec<String> {
        match list {
            Operations::All => &mut self.all,
            Operations::NonIdempotent => &mut self.non_idempotent,
        }
    }

    /// What becomes of an error that is `default` by itself.
    pub fn judge(&self, error: &Known<'_>, default: Failure) -> Failure {
        let patterns: &[String] = match self.rules.patterns(error.idempotent) {
            Some(Operations::All) => &self.all,
            Some(Operations::NonIdempotent) => &self.non_idempotent,
            None => &[],
        };
        let facts = Facts {
            http: error.http.unwrap_or(0),
            grpc: error.grpc.unwrap_or(u8::MAX),
            matched: patterns.iter().any(|pattern| error.message.contains(pattern)),
            idempotent: error.idempotent,
        };
        self.rules.judge(facts, default)
    }
}

/// What the rules of a case make of its error.
pub fn judged(case: &ClassifyCase) -> Result<Failure, String> {
    let failure = case.failure.failure().ok_or("an unknown failure kind")?;
    let known = Known { http: case.http, grpc: case.grpc, message: &case.message, idempotent: case.idempotent };
    Ok(Classifier::new(&case.retry_on)?.judge(&known, failure))
}
