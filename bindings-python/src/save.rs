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
        config::valid(py, Saved::from_bytes(bytes.as_bytes()))?
    } else {
        let text = state.is_instance_of::<PyString>();
        let fields = if text { json::fields(state).ok() } else { state.cast::<PyMapping>().ok().cloned() };
        let Some(fields) = fields else {
            return Err(raised(py, &Error::of_state(ErrorCode::NotAState, ""), "", Some(state)));
        };
        let mut saved = Saved::EMPTY;
        config::set_exact("", &fields, None, &mut |name, value| saved.set(name, value))?;
        saved
    };
    let saved = away.map_or(Ok(saved), |away| away.span("away").map(|away| saved.aged(away)))?;
    Ok(if force { saved.forced(policy) } else { saved })
}
