//! Policies that a person names: a preset, a file, or the standard input.

use crate::finding::{Finding, Severity};
use crate::host::{Host, error};
use crate::spans;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use holdoff_core::{Document, DocumentError, ErrorCode, Form, Preset};
use serde::de::IgnoredAny;
use serde_json::Deserializer;

/// The format that policies are in.
#[derive(Args, Clone, Copy)]
pub(crate) struct Format {
    /// The format of another system that the files are in.
    #[arg(long, value_name = "FORM", value_parser = form())]
    pub(crate) form: Option<Form>,
    /// The policy to read of a file with several, from 0.
    #[arg(long, value_name = "NUMBER", requires = "form")]
    entry: Option<u32>,
}

/// Reads the name of a format.
pub(crate) fn form() -> impl TypedValueParser<Value = Form> {
    PossibleValuesParser::new(Form::ALL.map(Form::name))
        .try_map(|name| Form::from_name(&name).ok_or("is no name of a format"))
}

/// A policy, and the text that it was read from; a preset has none.
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) document: Document,
}

/// An error of an input.
pub(crate) enum Problem {
    /// The file cannot be read.
    Unreadable(String),
    /// The file is no policy.
    Wrong(Box<Finding>, String),
}

impl Problem {
    /// The error as text, for commands that can do nothing without the policy.
    pub(crate) fn render(&self, host: &Host<'_>) -> String {
        match self {
            Self::Unreadable(text) => text.clone(),
            Self::Wrong(finding, text) => finding.render(text, host.width),
        }
    }
}

impl Format {
    /// The policy that a name stands for. A preset comes first, so that no file in the way changes what a name means.
    pub(crate) fn policy(self, name: &str, host: &Host<'_>) -> Result<Input, Problem> {
        match Preset::from_name(name).filter(|_| self.form.is_none()) {
            Some(preset) => Ok(Input { name: name.to_owned(), text: String::new(), document: of_preset(preset) }),
            None => self.file(name, host),
        }
    }

    /// The policy in a file.
    pub(crate) fn file(self, path: &str, host: &Host<'_>) -> Result<Input, Problem> {
        let bytes = (host.read)(path).map_err(|cause| Problem::Unreadable(error(unread(path, &cause))))?;
        let name = if path == "-" { "<stdin>" } else { path }.to_owned();
        let text = String::from_utf8(bytes)
            .map_err(|_| Problem::Unreadable(error(format_args!("{name}: is not text in UTF-8"))))?;
        // Some editors of Windows put a mark before the text.
        let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
        match self.read(&text) {
            Ok(document) => Ok(Input { name, text, document }),
            Err(wrong) => Err(Problem::Wrong(Box::new(finding(wrong, name, &text)), text)),
        }
    }

    /// Reads a text. That it is JSON comes first.
    fn read(self, text: &str) -> Result<Document, Wrong> {
        if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
            let at = spans::byte_at(text, error.line(), error.column());
            return Err(Wrong { error: DocumentError::not_of_format(error), at: Some(at) });
        }
        let input = &mut Deserializer::from_str(text);
        let read = match self.form {
            None => Document::read(input),
            Some(form) => {
                let reader = form.reader();
                Document::read_form(self.entry.map_or(reader, |entry| reader.entry(entry)), input)
            }
        };
        read.map_err(|error| Wrong { error, at: None })
    }
}

/// An error of a document; one of its JSON has its place.
struct Wrong {
    error: DocumentError,
    at: Option<usize>,
}

/// The policy and the guards of a preset.
pub(crate) fn of_preset(preset: Preset) -> Document {
    Document { policy: preset.policy(), guards: preset.guards(), ..Document::default() }
}

fn finding(Wrong { error, at }: Wrong, file: String, text: &str) -> Finding {
    let code = error.error.code;
    // A value is wrong at its place, a name that is not known, or is there twice, at that of the name.
    let is_name = matches!(code, ErrorCode::UnknownField | ErrorCode::UnknownFormField | ErrorCode::Twice);
    let span = match at {
        Some(at) => Some(at..text.len().min(at + 1)),
        None => spans::find(text, &error.path, is_name),
    };
    Finding {
        severity: Severity::Error,
        code: code.code(),
        name: code.name(),
        message: error.to_string(),
        position: span.as_ref().map(|span| spans::line_and_column(text, span.start)),
        span,
        path: error.path,
        file,
    }
}

/// The words about a file that cannot be read, which may be a preset's name with a mistake.
fn unread(path: &str, cause: &str) -> String {
    let preset = serde_json::json!({ "preset": path }).to_string();
    let read = Document::read(&mut Deserializer::from_str(&preset));
    match read.err().and_then(|error| error.error.nearest) {
        Some(nearest) => format!("{path}: {cause}; did you mean the preset \"{nearest}\"?"),
        None => format!("{path}: {cause}"),
    }
}
