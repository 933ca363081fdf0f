//! Errors as the page shows them: at their place in the document.

use holdoff_core::DocumentError;
use serde::Serialize;

/// An error in a text, for a person.
#[derive(Debug, Serialize)]
pub(crate) struct Problem {
    /// The path of the value, `backoff[1].max`; empty for the text as a whole.
    pub(crate) path: String,
    /// A sentence for a person.
    pub(crate) message: String,
    /// A name that is near the unknown one.
    pub(crate) nearest: Option<&'static str>,
}

impl Problem {
    /// A problem of the text as a whole.
    pub(crate) fn of(message: impl Into<String>) -> Self {
        Self { path: String::new(), message: message.into(), nearest: None }
    }
}

impl From<DocumentError> for Problem {
    fn from(error: DocumentError) -> Self {
        Self { message: error.to_string(), nearest: error.error.nearest, path: error.path }
    }
}

/// `{"ok": ...}` or `{"problem": ...}`.
pub(crate) fn answer<T: Serialize>(result: Result<T, Problem>) -> String {
    #[derive(Serialize)]
    #[serde(rename_all = "lowercase")]
    enum Answer<T> {
        Ok(T),
        Problem(Problem),
    }
    let answer = match result {
        Ok(value) => Answer::Ok(value),
        Err(problem) => Answer::Problem(problem),
    };
    serde_json::to_string(&answer).unwrap_or_else(|error| format!(r#"{{"problem":{{"path":"","message":"{error}"}}}}"#))
}
