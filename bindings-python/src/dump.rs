//! A policy as the fields of a document.

use holdoff_core::{Backoff, Cap, HintMode, HintOver, Jitter, OnDeadline, Policy, Span, Stage};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// The fields of a policy in the shape of a document, from which the same policy can be made.
pub(crate) fn fields<'py>(py: Python<'py>, policy: &Policy) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    let stages = policy.stages().map(|one| stage(py, one)).collect::<PyResult<Vec<_>>>()?;
    match stages.as_slice() {
        [only] => all.set_item("backoff", only)?,
        chain => all.set_item("backoff", PyList::new(py, chain)?)?,
    }
    let with_factor = |word: &str, factor: f64| {
        let jitter = PyDict::new(py);
        jitter.set_item("kind", word)?;
        jitter.set_item("factor", factor)?;
        all.set_item("jitter", jitter)
    };
    match policy.jitter() {
        Jitter::None => all.set_item("jitter", "none")?,
        Jitter::Full => all.set_item("jitter", "full")?,
        Jitter::Equal => all.set_item("jitter", "equal")?,
        Jitter::Additive { factor } => with_factor("additive", factor)?,
        Jitter::Proportional { factor } => with_factor("proportional", factor)?,
        Jitter::Subtractive { factor } => with_factor("subtractive", factor)?,
        Jitter::Bounded { bound } => {
            let jitter = PyDict::new(py);
            jitter.set_item("kind", "bounded")?;
            jitter.set_item("bound", bound.to_string())?;
            all.set_item("jitter", jitter)?;
        }
    }
    match policy.cap() {
        Cap::KeepSpread => {}
        Cap::BeforeJitter => all.set_item("cap", "before_jitter")?,
        Cap::Clip => all.set_item("cap", "clip")?,
    }
    match policy.attempts() {
        Some(attempts) => all.set_item("attempts", attempts)?,
        None => all.set_item("attempts", "forever")?,
    }
    if let Some(deadline) = policy.deadline() {
        all.set_item("deadline", deadline.to_string())?;
    }
    if policy.min_attempt() > Span::ZERO {
        all.set_item("min_attempt", policy.min_attempt().to_string())?;
    }
    if policy.on_deadline() == OnDeadline::Clip {
        all.set_item("on_deadline", "clip")?;
    }
    if let Some(timeout) = policy.attempt_timeout() {
        all.set_item("attempt_timeout", timeout.to_string())?;
    }
    let hint = PyDict::new(py);
    let mode = match policy.hint_mode() {
        HintMode::Floor => "floor",
        HintMode::Replace => "replace",
        HintMode::Ignore => "ignore",
        HintMode::Exact => "exact",
        HintMode::AtLeast => "at_least",
    };
    hint.set_item("mode", mode)?;
    hint.set_item("max", policy.hint_max().to_string())?;
    hint.set_item("over", if policy.hint_over() == HintOver::Clamp { "clamp" } else { "stop" })?;
    if let Some(reach) = policy.hint_reach() {
        hint.set_item("reach", reach.to_string())?;
    }
    all.set_item("hint", hint)?;
    Ok(all)
}

fn stage<'py>(py: Python<'py>, stage: Stage) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(py);
    let set = |kind: &str, initial: Span, max: Option<Span>| -> PyResult<()> {
        fields.set_item("kind", kind)?;
        fields.set_item("initial", initial.to_string())?;
        if let Some(max) = max {
            fields.set_item("max", max.to_string())?;
        }
        Ok(())
    };
    match stage.backoff {
        Backoff::Constant { delay } => set("constant", delay, None)?,
        Backoff::Linear { initial, increment, max } => {
            set("linear", initial, Some(max))?;
            fields.set_item("increment", increment.to_string())?;
        }
        Backoff::Exponential { initial, factor, max } => {
            set("exponential", initial, Some(max))?;
            fields.set_item("factor", factor)?;
        }
        Backoff::Polynomial { initial, exponent, max } => {
            set("polynomial", initial, Some(max))?;
            fields.set_item("exponent", exponent)?;
        }
        Backoff::Fibonacci { initial, max } => set("fibonacci", initial, Some(max))?,
        Backoff::Decorrelated { initial, factor, max } => {
            set("decorrelated", initial, Some(max))?;
            fields.set_item("factor", factor)?;
        }
        Backoff::DecorrelatedV2 { initial, max } => set("decorrelated_v2", initial, Some(max))?,
    }
    if let Some(times) = stage.times {
        fields.set_item("times", times)?;
    }
    if let Some(on) = stage.on {
        fields.set_item("on", on.name())?;
    }
    Ok(fields)
}
