//! The storm lab's side of the core: text in, JSON out. The page draws and decides nothing.
//!
//! Every function takes text that a stranger may have written, a share link for one, and answers bad text with an error that has
//! the path of the value.

mod explain;
mod problem;
mod replay;

use holdoff_core::{Document, DocumentError, Field, Form, Preset, Takes};
use holdoff_sim::single;
use problem::{Problem, answer};
use serde::Serialize;
use wasm_bindgen::prelude::wasm_bindgen;

/// The longest text that is read, in bytes.
const LONGEST: usize = 256 * 1024;

/// Reads a policy document and explains it: text, lints, and the delays as rows; or says what is wrong.
#[wasm_bindgen]
#[must_use]
pub fn explain(document: &str) -> String {
    answer(read(document).map(|document| explain::explained(&document)))
}

/// Turns a policy in another system's form into a document.
#[wasm_bindgen(js_name = importPolicy)]
#[must_use]
pub fn import(form: &str, text: &str) -> String {
    answer(imported(form, text))
}

/// Runs a document of [`holdoff_sim::single`]: a policy and a scenario.
#[wasm_bindgen]
#[must_use]
pub fn simulate(document: &str) -> String {
    answer(check(document).and_then(|()| single::run(document).map_err(|error| Problem::of(format!("{error:#}")))))
}

/// Replays the log of one call, one event in JSON a line, under a policy document.
#[wasm_bindgen]
#[must_use]
pub fn replay(document: &str, log: &str) -> String {
    answer(read(document).and_then(|document| replay::replayed(&document.policy, log)))
}

/// A log for [`replay`]: a call under a policy document whose every attempt times out after half a second.
#[wasm_bindgen]
#[must_use]
pub fn record(document: &str) -> String {
    answer(read(document).map(|document| replay::recorded(&document.policy)))
}

/// The words that the page's lists of choices have: presets, other systems, and each field that takes a word.
#[wasm_bindgen]
#[must_use]
pub fn choices() -> String {
    #[derive(Serialize)]
    struct Choices {
        presets: Vec<&'static str>,
        systems: Vec<&'static str>,
        words: Vec<(&'static str, Vec<&'static str>)>,
    }
    let words = Field::names().filter_map(|(path, field)| match field.takes() {
        Takes::Word(words) => Some((path, words.iter().map(|(word, _)| word).collect())),
        _ => None,
    });
    answer(Ok(Choices {
        presets: Preset::ALL.into_iter().map(Preset::name).collect(),
        systems: Form::ALL.into_iter().map(Form::name).collect(),
        words: words.collect(),
    }))
}

fn check(text: &str) -> Result<(), Problem> {
    if text.len() <= LONGEST {
        return Ok(());
    }
    Err(Problem::of(format!("the text has {} bytes; at most {LONGEST} are read", text.len())))
}

fn read(document: &str) -> Result<Document, Problem> {
    check(document)?;
    let mut input = serde_json::Deserializer::from_str(document);
    let read = Document::read(&mut input)?;
    input.end().map_err(DocumentError::not_of_format)?;
    Ok(read)
}

fn imported(form: &str, text: &str) -> Result<serde_json::Value, Problem> {
    check(text)?;
    let form = Form::from_name(form).ok_or_else(|| Problem::of(format!("there is no form `{form}`")))?;
    let mut input = serde_json::Deserializer::from_str(text);
    let read = Document::read_form(form.reader(), &mut input)?;
    input.end().map_err(DocumentError::not_of_format)?;
    serde_json::from_str(&read.to_json()).map_err(|error| Problem::of(error.to_string()))
}
