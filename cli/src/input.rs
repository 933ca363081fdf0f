//! Policies that a person names: a preset, a file, or the standard input.

use crate::finding::Finding;
use crate::host::{Host, error};
use crate::reading::{Named, Note, NoteKind, Reading, is_of_something_else, read, read_one, read_policy};
use crate::system::System;
use crate::tree::Node;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use holdoff_core::{Document, Form, Preset};
use serde_json::Deserializer;
use std::rc::Rc;

/// The format that policies are in.
#[derive(Args, Clone, Default)]
pub(crate) struct Format {
    /// The format of the files (default: detected from each file).
    #[arg(long, value_name = "FORM", value_parser = system())]
    pub(crate) form: Option<System>,
    /// The policy to read of a file with several: its name, such as `retries.important`, or its index in the file, from 0.
    #[arg(long, value_name = "ENTRY")]
    entry: Option<String>,
}

/// Reads the name of a system.
fn system() -> impl TypedValueParser<Value = System> {
    // Forms of libraries, which no file of a repository has.
    let is_of_library = |system| {
        let of = [Form::Kubernetes, Form::Langgraphgo, Form::LanggraphgoGraph, Form::Aster];
        of.map(System::Core).contains(&system)
    };
    let value = |system: System| PossibleValue::new(system.name()).hide(is_of_library(system));
    PossibleValuesParser::new(System::all().map(value).collect::<Vec<_>>())
        .try_map(|name| System::from_name(&name).ok_or("is no name of a format"))
}

/// Reads the name of a format that the core writes.
pub(crate) fn form() -> impl TypedValueParser<Value = Form> {
    PossibleValuesParser::new(Form::ALL.map(Form::name))
        .try_map(|name| Form::from_name(&name).ok_or("is no name of a format"))
}

/// A policy and its name.
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) document: Document,
    /// Remarks about what the file leaves open, and what the policy leaves out.
    pub(crate) notes: Vec<String>,
    /// Where it was read; `None` for a preset.
    pub(crate) origin: Option<Origin>,
}

/// A policy in its file.
pub(crate) struct Origin {
    pub(crate) policy: Named,
    pub(crate) documents: Vec<Rc<Node>>,
    pub(crate) text: String,
}

impl Input {
    pub(crate) fn of(preset: Preset) -> Self {
        Self { name: preset.name().to_owned(), document: of_preset(preset), notes: Vec::new(), origin: None }
    }
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
    pub(crate) fn policy(&self, name: &str, host: &Host<'_>) -> Result<Input, Problem> {
        match Preset::from_name(name).filter(|_| self.form.is_none()) {
            Some(preset) => Ok(Input::of(preset)),
            None => self.file(name, host),
        }
    }

    /// The policy in a file.
    fn file(&self, path: &str, host: &Host<'_>) -> Result<Input, Problem> {
        let (name, text) = self.text(path, host)?;
        let cannot = |cause: &str| Problem::Unreadable(error(format_args!("{name}: {cause}")));
        let entry = self.entry.as_deref();
        let reading = read_one(&name, &text, self.form, entry).map_err(|cause| cannot(&cause))?;
        let Reading { policies, wrong, notes, documents, .. } = self.or_own(reading, &name, &text);
        let is_reason = |note: &&Note| matches!(note.kind, NoteKind::Template | NoteKind::Unknown | NoteKind::Unsaid);
        match (policies.into_iter().next(), notes.iter().rfind(is_reason)) {
            (Some(named), _) => {
                let notes = notes.into_iter().map(|note| note.message).collect();
                let document = named.document.clone();
                Ok(Input { name, document, notes, origin: Some(Origin { policy: named, documents, text }) })
            }
            (None, Some(note)) if wrong.is_empty() => Err(cannot(&note.message)),
            (None, None) if wrong.is_empty() => Err(cannot("has no retries")),
            (None, _) => Err(Problem::Wrong(wrong, text)),
        }
    }

    /// All policies of a text that a person names; the one that they mean if they say which.
    pub(crate) fn all(&self, name: &str, text: &str) -> Result<Reading, Problem> {
        let reading = match &self.entry {
            Some(entry) => read_one(name, text, self.form, Some(entry))
                .map_err(|cause| Problem::Unreadable(error(format_args!("{name}: {cause}"))))?,
            None => read(name, text, self.form),
        };
        Ok(self.or_own(reading, name, text))
    }

    /// The reading, or that of a policy document where no system's shape was found.
    fn or_own(&self, reading: Reading, name: &str, text: &str) -> Reading {
        let is_own = reading.is_empty() && self.form.is_none() && !is_of_something_else(name, text);
        if is_own { read_policy(name, text) } else { reading }
    }

    /// The name of a file for people, and its text.
    pub(crate) fn text(&self, path: &str, host: &Host<'_>) -> Result<(String, String), Problem> {
        let bytes = (host.read)(path).map_err(|cause| Problem::Unreadable(error(unread(path, &cause))))?;
        let name = if path == "-" { "<stdin>" } else { path }.to_owned();
        match String::from_utf8(bytes) {
            Ok(text) => Ok((name, unmarked(text))),
            Err(_) => Err(Problem::Unreadable(error(format_args!("{name}: is not text in UTF-8")))),
        }
    }
}

/// A text without the mark that some editors of Windows put before it.
pub(crate) fn unmarked(text: String) -> String {
    text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)
}

/// The policy and the guards of a preset.
pub(crate) fn of_preset(preset: Preset) -> Document {
    Document { policy: preset.policy(), guards: preset.guards(), ..Document::default() }
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
