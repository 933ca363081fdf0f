//! Policies that a person names: a preset, a file, or the standard input.

use crate::finding::{Finding, Severity};
use crate::host::{Host, error};
use crate::spans;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use holdoff_core::{Document, DocumentError, ErrorCode, Form, Preset};
use serde::de::IgnoredAny;
use serde_json::{Deserializer, Value};

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

/// A policy and its name.
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) document: Document,
}

/// An error of an input.
pub(crate) enum Problem {
    /// The file cannot be read.
    Unreadable(String),
    /// The file is no policy: its mistakes, and its text.
    Wrong(Vec<Finding>, String),
}

impl Problem {
    /// The error as text, for commands that can do nothing without the policy.
    pub(crate) fn render(&self, host: &Host<'_>) -> String {
        match self {
            Self::Unreadable(text) => text.clone(),
            Self::Wrong(findings, text) => {
                let shown: Vec<_> = findings.iter().map(|finding| finding.render(text, &[], host.width)).collect();
                shown.join("\n\n")
            }
        }
    }
}

impl Format {
    /// The policy that a name stands for. A preset comes first, so that no file in the way changes what a name means.
    pub(crate) fn policy(self, name: &str, host: &Host<'_>) -> Result<Input, Problem> {
        match Preset::from_name(name).filter(|_| self.form.is_none()) {
            Some(preset) => Ok(Input { name: name.to_owned(), document: of_preset(preset) }),
            None => self.file(name, host),
        }
    }

    /// The policy in a file.
    pub(crate) fn file(self, path: &str, host: &Host<'_>) -> Result<Input, Problem> {
        let (name, text) = self.text(path, host)?;
        match self.document(&name, &text) {
            Ok(document) => Ok(Input { name, document }),
            Err(wrong) => Err(Problem::Wrong(wrong, text)),
        }
    }

    /// The name of a file for people, and its text.
    pub(crate) fn text(self, path: &str, host: &Host<'_>) -> Result<(String, String), Problem> {
        let bytes = (host.read)(path).map_err(|cause| Problem::Unreadable(error(unread(path, &cause))))?;
        let name = if path == "-" { "<stdin>" } else { path }.to_owned();
        match String::from_utf8(bytes) {
            Ok(text) => Ok((name, unmarked(text))),
            Err(_) => Err(Problem::Unreadable(error(format_args!("{name}: is not text in UTF-8")))),
        }
    }

    /// The policy of a text, or its mistakes.
    pub(crate) fn document(self, name: &str, text: &str) -> Result<Document, Vec<Finding>> {
        self.read(text).map_err(|wrong| {
            let mistakes = self.mistakes(wrong, text);
            mistakes.into_iter().map(|wrong| finding(wrong, name.to_owned(), text)).collect()
        })
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

    /// All mistakes of a document: the core says the first, and the next ones of the document without it.
    fn mistakes(self, first: Wrong, text: &str) -> Vec<Wrong> {
        let document = serde_json::from_str::<Value>(text).ok().filter(|_| text.len() <= LONGEST);
        let Some(mut document) = document else { return vec![first] };
        let (mut found, mut removed) = (Vec::new(), Vec::<String>::new());
        let mut next = Some(first);
        while let Some(mut wrong) = next.take() {
            let is_twice = wrong.error.error.code == ErrorCode::Twice;
            let goes_on = !is_twice && removed.len() < MOST_MISTAKES && remove(&mut document, &wrong.error.path);
            let path = wrong.error.path.clone();
            // Items of a list have moved up for each that was removed before them.
            removed.iter().rev().for_each(|known| moved(&mut wrong.error.path, known));
            let is_new = |known: &Wrong| !follows(&known.error.path, &wrong.error);
            let is_there = found.is_empty() || spans::find(text, &wrong.error.path, false).is_some();
            if is_there && found.iter().all(is_new) {
                found.push(wrong);
            }
            if goes_on {
                removed.push(path);
                next = self.read(&document.to_string()).err();
            }
        }
        found
    }
}

/// A text without the mark that some editors of Windows put before it.
pub(crate) fn unmarked(text: String) -> String {
    text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)
}

/// The most mistakes of a file that are shown.
const MOST_MISTAKES: usize = 20;
/// The longest file, in bytes, whose mistakes after the first are shown: finding each one reads the whole file.
const LONGEST: usize = 100_000;

/// Changes a path in a document to that before an item of a list was removed.
fn moved(path: &mut String, removed: &str) {
    let Some((list, index)) = removed.strip_suffix(']').and_then(|path| path.rsplit_once('[')) else { return };
    let behind = path.strip_prefix(list).and_then(|rest| rest.strip_prefix('[')).and_then(|rest| rest.split_once(']'));
    if let Some((at, rest)) = behind
        && let (Ok(at), Ok(index)) = (at.parse::<usize>(), index.parse::<usize>())
        && at >= index
    {
        *path = format!("{list}[{}]{rest}", at + 1);
    }
}

/// True for an error that is there because the value at `path` was removed: it is missing, or others do not fit without it.
fn follows(path: &str, next: &DocumentError) -> bool {
    let group = path.strip_suffix(".kind").or_else(|| path.strip_suffix(".mode"));
    let is_about_kind = next.error.code == ErrorCode::NotForKind || next.error.code.name().ends_with("_missing");
    within(path, &next.path) || is_about_kind && group.is_some_and(|group| within(group, &next.path))
}

/// True if one of two paths is in the other.
fn within(one: &str, other: &str) -> bool {
    let is_in = |outer: &str, inner: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    is_in(one, other) || is_in(other, one)
}

/// Removes the value at a path. False if there is none.
fn remove(document: &mut Value, path: &str) -> bool {
    let (mut node, mut rest) = (document, path);
    loop {
        match node {
            Value::Object(fields) => {
                let is_next = |name: &&String| rest.strip_prefix(name.as_str()).is_some_and(is_boundary);
                let Some(name) = fields.keys().find(is_next).cloned() else { return false };
                rest = rest.get(name.len()..).unwrap_or_default();
                // A word may stand for an object with a kind or a mode.
                let is_word = matches!(rest, ".kind" | ".mode") && !fields.get(&name).is_some_and(Value::is_object);
                if rest.is_empty() || is_word {
                    return fields.shift_remove(&name).is_some();
                }
                let Some(field) = fields.get_mut(&name) else { return false };
                node = field;
            }
            Value::Array(items) => {
                let index = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
                let Some((Ok(index), behind)) = index.map(|(index, behind)| (index.parse::<usize>(), behind)) else {
                    return false;
                };
                rest = behind;
                if rest.is_empty() && index < items.len() {
                    items.remove(index);
                    return true;
                }
                let Some(item) = items.get_mut(index) else { return false };
                node = item;
            }
            _ => return false,
        }
        rest = rest.strip_prefix('.').unwrap_or(rest);
    }
}

fn is_boundary(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(['.', '['])
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
        policy: String::new(),
        form: "holdoff",
        effect: String::new(),
        weight: 0.0,
        severity: Severity::Error,
        code: code.code(),
        name: code.name(),
        message: message(&error, text),
        position: span.as_ref().map(|span| spans::line_and_column(text, span.start)),
        span,
        path: error.path,
        file,
    }
}

/// The words about an error. The place of one of JSON is beside it.
fn message(error: &DocumentError, text: &str) -> String {
    let words = error.to_string();
    if error.error.code != ErrorCode::NotJson {
        return words;
    }
    if text.trim().is_empty() {
        return "a policy document must be JSON text: there is none".to_owned();
    }
    let words = words.rsplit_once(" at line ").map_or(&*words, |(words, _)| words);
    words.replace("EOF while parsing", "the text ends in the middle of")
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
