//! What a policy document means or what is wrong with it, from its text on.

use crate::format::{DocumentCase, ExplainCase, FormCase, N, WrongWord};
use holdoff_core::{Document, DocumentError, Form, FormReader};
use serde::de::IgnoredAny;
use serde_json::Deserializer;

/// Reads a case's text.
pub fn run(case: &DocumentCase) -> Result<(), String> {
    same_error(case.error.as_ref(), read(&case.text).err())
}

/// Reads a case's text in another system's form: it is the same policy as that of the case's document.
pub fn form(case: &FormCase) -> Result<(), String> {
    let reader = Form::from_name(&case.form).ok_or("no such form")?.reader();
    let got = read_form(case.entry.map_or(reader, |entry| reader.entry(entry)), &case.text);
    let Some(document) = &case.document else { return same_error(case.error.as_ref(), got.err()) };
    let text = serde_json::to_string(document).map_err(|error| error.to_string())?;
    let wanted = read(&text).map_err(|error| format!("the policy is refused: {error}"))?.to_json();
    let got = got.map_err(|error| error.to_string())?.to_json();
    if wanted == got { Ok(()) } else { Err(format!("expected {wanted}, got {got}")) }
}

fn same_error(wanted: Option<&WrongWord>, error: Option<DocumentError>) -> Result<(), String> {
    let got = error.map(|error| word(&error));
    let expected = wanted.map(|expected| WrongWord {
        // A case may leave the words of the rule to the language.
        rule: expected.rule.clone().or_else(|| got.as_ref()?.rule.clone()),
        ..expected.clone()
    });
    if expected == got { Ok(()) } else { Err(format!("expected {expected:?}, got {got:?}")) }
}

/// Explains a case's policy.
pub fn explain(case: &ExplainCase) -> Result<(), String> {
    let text = serde_json::to_string(&case.policy).map_err(|error| error.to_string())?;
    let document = read(&text).map_err(|error| format!("the policy is refused: {error}"))?;
    let got = document.explain().to_string();
    let lines: Vec<_> = got.trim_end().lines().collect();
    let total = document.policy.total_wait().map(|wait| N(wait.as_nanos()));
    if case.lines != lines {
        return Err(format!("expected\n{}\ngot\n{got}", case.lines.join("\n")));
    }
    if case.total_wait == total { Ok(()) } else { Err(format!("expected {:?} in all, got {total:?}", case.total_wait)) }
}

/// The document of a JSON text. That it is one comes first: readers differ in how much of a text they have seen when they meet
/// something wrong.
pub fn read(text: &str) -> Result<Document, DocumentError> {
    check(text)?;
    Document::read(&mut Deserializer::from_str(text))
}

/// The document of a JSON text in another system's form.
pub fn read_form(reader: FormReader, text: &str) -> Result<Document, DocumentError> {
    check(text)?;
    Document::read_form(reader, &mut Deserializer::from_str(text))
}

fn check(text: &str) -> Result<(), DocumentError> {
    serde_json::from_str::<IgnoredAny>(text).map(|_| ()).map_err(DocumentError::not_of_format)
}

fn word(wrong: &DocumentError) -> WrongWord {
    let error = &wrong.error;
    WrongWord {
        code: error.code.code(),
        name: error.code.name().to_owned(),
        path: wrong.path.clone(),
        nearest: error.nearest.map(str::to_owned),
        rule: Some(error.rule().to_owned()),
    }
}
