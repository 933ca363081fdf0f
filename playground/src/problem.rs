//! Errors and findings as the page shows them: at their place in the text.

use holdoff_cli::Mark;
use serde::Serialize;

/// An error in a text, for a person.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Problem {
    /// The path of the value, `backoff[1].max`; empty for the text as a whole.
    pub(crate) path: String,
    /// A sentence for a person.
    pub(crate) message: String,
    /// The place of the value; `None` if it has none.
    pub(crate) place: Option<Place>,
}

/// A place in a text.
#[derive(Debug, Serialize)]
pub(crate) struct Place {
    /// From 1.
    pub(crate) line: usize,
    /// From 1, in characters.
    column: usize,
    /// The first code unit of UTF-16, from 0.
    start: usize,
    /// The code unit of UTF-16 behind it.
    end: usize,
}

impl Place {
    /// The place of some bytes of a text.
    pub(crate) fn of(text: &str, span: std::ops::Range<usize>) -> Option<Self> {
        let (before, inside) = (text.get(..span.start)?, text.get(span)?);
        let units = |text: &str| text.encode_utf16().count();
        let line = before.rsplit('\n').next().unwrap_or_default();
        let start = units(before);
        Some(Self {
            line: before.matches('\n').count() + 1,
            column: line.chars().count() + 1,
            start,
            end: start + units(inside),
        })
    }
}

impl Problem {
    /// A problem of the text as a whole.
    pub(crate) fn of(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    /// A problem of some bytes of a text.
    pub(crate) fn at(text: &str, span: std::ops::Range<usize>, message: impl Into<String>) -> Self {
        Self { place: Place::of(text, span), ..Self::of(message) }
    }

    /// The problem that a finding about a text is.
    pub(crate) fn of_mark(text: &str, mark: Mark) -> Self {
        Self { place: mark.span.and_then(|span| Place::of(text, span)), path: mark.path, message: mark.message }
    }
}

/// `{"ok": ...}` or `{"problems": [...]}`.
pub(crate) fn answer<T: Serialize>(result: Result<T, Vec<Problem>>) -> String {
    #[derive(Serialize)]
    #[serde(rename_all = "lowercase")]
    enum Answer<T> {
        Ok(T),
        Problems(Vec<Problem>),
    }
    let answer = match result {
        Ok(value) => Answer::Ok(value),
        Err(problems) => Answer::Problems(problems),
    };
    serde_json::to_string(&answer)
        .unwrap_or_else(|error| format!(r#"{{"problems":[{{"path":"","message":"{error}","place":null}}]}}"#))
}

impl From<Problem> for Vec<Problem> {
    fn from(problem: Problem) -> Self {
        vec![problem]
    }
}
