//! Saved states of machines, which may be resumed on another clock, in another process, in another language.

use crate::config::{self, raised};
use crate::json;
use crate::parameters::Duration;
use holdoff_core::{Error, ErrorCode, Saved};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMapping, PyString};

/// Reads a saved state: bytes, JSON text, or a mapping of its fields.
pub(crate) fn read(
    state: &Bound<'_, PyAny>,
    policy: &holdoff_core::Policy,
    away: Option<Duration<'_, '_>>,
    force: bool,
) -> PyResult<Saved> {
    let py = state.py();
    let saved = if let Ok(bytes) = state.cast::<PyBytes>() {
        Saved::from_bytes(bytes.as_bytes()).map_err(|error| raised(py, &error, "", None))?
    } else if let Ok(text) = state.cast::<PyString>() {
        let parsed = json::loads(text).ok();
        match parsed.as_ref().map(|fields| fields.cast::<PyMapping>()) {
            Some(Ok(fields)) => of_fields(fields)?,
            _ => return Err(raised(py, &no_state(), "", Some(state))),
        }
    } else {
        match state.cast::<PyMapping>() {
            Ok(fields) => of_fields(fields)?,
            Err(_) => return Err(raised(py, &no_state(), "", Some(state))),
        }
    };
    let saved = match away {
        Some(away) => saved.aged(away.span("away")?),
        None => saved,
    };
    Ok(if force { saved.forced(policy) } else { saved })
}

fn no_state() -> Error {
    Error::of_state(ErrorCode::NotAState, "")
}

fn of_fields(fields: &Bound<'_, PyMapping>) -> PyResult<Saved> {
    let mut saved = Saved::EMPTY;
    config::set_exact("", fields, None, &mut |name, value| saved.set(name, value))?;
    Ok(saved)
}

/// The resumed machine, or its SaveError.
pub(crate) fn resumed<T>(py: Python<'_>, made: Result<T, Error>) -> PyResult<T> {
    made.map_err(|error| raised(py, &error, "", None))
}
