//! The storm lab's side of the core: text in, JSON out. The page draws and decides nothing.
//!
//! Every function takes text that a stranger may have written, a share link for one, and answers bad text with all its errors, each
//! with the place of the value.

mod explain;
mod pasted;
mod problem;
mod replay;
mod scenario;
mod tenacity;

use holdoff_core::{Document, Field, Preset, Takes};
use holdoff_sim::single::{self, Outcome};
use holdoff_sim::strategy::Strategy;
use problem::{Problem, answer};
use serde::Serialize;
use wasm_bindgen::prelude::wasm_bindgen;

/// The longest text that is read, in bytes.
const LONGEST: usize = 256 * 1024;

/// Reads a policy document and explains it: text, lints, and the delays as rows; or says what is wrong, every mistake.
#[wasm_bindgen]
#[must_use]
pub fn explain(document: &str) -> String {
    answer(read(document).map(|document| explain::explained(&document)))
}

/// Reads the policies of a file of another system, or of a program with tenacity, and finds what `holdoff scan` finds in it. A text
/// that was pasted has no name.
#[wasm_bindgen]
#[must_use]
pub fn look(name: &str, text: &str) -> String {
    answer(check(text).and_then(|()| pasted::pasted(name, text)))
}

/// Runs a policy document in a scenario: the JSON text of [`scenario::Numbers`].
#[wasm_bindgen]
#[must_use]
pub fn simulate(policy: &str, scenario: &str) -> String {
    answer(read(policy).and_then(|document| simulated(&document, scenario).map_err(Vec::from)))
}

fn simulated(document: &Document, scenario: &str) -> Result<Outcome, Problem> {
    let scenario = scenario::read(scenario)?;
    let strategy = Strategy::of("", document).map_err(|error| Problem::of(error.to_string()))?;
    Ok(single::outcome(&scenario, &strategy))
}

/// Replays the log of one call, one event in JSON a line, under a policy document.
#[wasm_bindgen]
#[must_use]
pub fn replay(document: &str, log: &str) -> String {
    let replayed = |document: Document| replay::replayed(&document.policy, log).map_err(Vec::from);
    answer(check(log).and_then(|()| read(document)).and_then(replayed))
}

/// A log for [`replay`]: a call under a policy document whose every attempt times out after half a second.
#[wasm_bindgen]
#[must_use]
pub fn record(document: &str) -> String {
    answer(read(document).map(|document| replay::recorded(&document.policy)))
}

/// The words that the page's lists of choices have: presets, and each field that takes a word.
#[wasm_bindgen]
#[must_use]
pub fn choices() -> String {
    #[derive(Serialize)]
    struct Choices {
        presets: Vec<&'static str>,
        words: Vec<(&'static str, Vec<&'static str>)>,
    }
    let words = Field::names().filter_map(|(path, field)| match field.takes() {
        Takes::Word(words) => Some((path, words.iter().map(|(word, _)| word).collect())),
        _ => None,
    });
    answer(Ok(Choices { presets: Preset::ALL.into_iter().map(Preset::name).collect(), words: words.collect() }))
}

fn check(text: &str) -> Result<(), Vec<Problem>> {
    if text.len() <= LONGEST {
        return Ok(());
    }
    Err(Problem::of(format!("the text has {} bytes; at most {LONGEST} are read", text.len())).into())
}

/// A policy document, or all its mistakes.
fn read(document: &str) -> Result<Document, Vec<Problem>> {
    check(document)?;
    holdoff_cli::policy(document)
        .map_err(|marks| marks.into_iter().map(|mark| Problem::of_mark(document, mark)).collect())
}
