//! A policy document, read from any format that serde reads: JSON, YAML, TOML.

use crate::decide::policy::Policy;
use crate::describe::explain::Explanation;
use crate::describe::foreign::{Form, FormReader};
use crate::describe::lint::Lint;
use crate::describe::options::Options;
use crate::describe::rules::texts::Texts;
use crate::describe::rules::{HostText, Rules, TextList};
use crate::error::{Error, ErrorCode, Quantity};
use crate::serde_value::{DocumentRules, DocumentValue, read_values};
use crate::time::Span;
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

    /// The lints of the policy, its guards and its rules, in the order of their numbers.
    pub fn lints(&self) -> impl Iterator<Item = Lint> {
        self.explain().lints().collect::<Vec<_>>().into_iter()
    }

    /// The same for a caller with a timeout of its own, see [`Options::lints_within`].
    pub fn lints_within(&self, timeout: Span) -> impl Iterator<Item = Lint> {
        self.explain().lints_within(timeout).collect::<Vec<_>>().into_iter()
    }

    /// All retries of the policy as data and as text, with the guards and all lints.
    pub fn explain(&self) -> Explanation {
        self.policy.explain().guarded(&self.guards).judged(&self.rules)
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
        let path = if error.field.is_some() { error.path().to_string() } else { path.into() };
        let value = (error.code != ErrorCode::Twice).then(|| text.to_string());
        Err(DocumentError { error: Box::new(error), path, value, cause: None })
    })?;
    Ok(document)
}

/// The error that a rule is broken, or else that the text is not of its format.
fn wrong((error, broken): (impl fmt::Display, Option<DocumentError>)) -> DocumentError {
    broken.unwrap_or_else(|| DocumentError::not_of_format(error))
}

#[cfg(all(test, feature = "powers", feature = "rules"))]
mod tests;
