//! Configuration: Python values into the core's builder, and its complaints into `ConfigError`.

use holdoff_core::{ConfigError, ErrorCode, Field, Given, Policy, PolicyBuilder, Span, Value};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDelta, PyDeltaAccess as _, PyDict, PyFloat, PyInt, PyMapping, PyString, PyType};

/// Nanoseconds in what a plain number counts.
const SECOND: f64 = 1e9;
/// The longest value worth showing in a message, in characters.
const SHOWN: usize = 80;

/// What a `ConfigError` says.
pub(crate) struct Problem<'a> {
    code: ErrorCode,
    path: &'a str,
    given: Option<String>,
    rule: &'static str,
    nearest: Option<&'static str>,
}

impl<'a> Problem<'a> {
    pub(crate) fn of(code: ErrorCode, path: &'a str, value: Option<&Bound<'_, PyAny>>) -> Self {
        Self { code, path, given: value.map(shown), rule: code.rule(None), nearest: None }
    }
}

/// The exception for a problem.
pub(crate) fn config_error(py: Python<'_>, problem: &Problem<'_>) -> PyErr {
    raise(py, problem).unwrap_or_else(|error| error)
}

fn raise(py: Python<'_>, problem: &Problem<'_>) -> PyResult<PyErr> {
    static TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let mut text = match &problem.given {
        Some(given) => format!("{} = {given}: {}", problem.path, problem.rule),
        None => format!("{}: {}", problem.path, problem.rule),
    };
    if let Some(nearest) = problem.nearest {
        text.push_str(&format!("; did you mean \"{nearest}\"?"));
    }
    let error = TYPE.import(py, "holdoff._errors", "ConfigError")?.call1((text,))?;
    error.setattr("code", problem.code.code())?;
    error.setattr("name", problem.code.name())?;
    error.setattr("path", problem.path)?;
    error.setattr("rule", problem.rule)?;
    error.setattr("nearest", problem.nearest)?;
    Ok(PyErr::from_value(error))
}

/// A value as Python shows it, cut where it is long.
fn shown(value: &Bound<'_, PyAny>) -> String {
    let Ok(text) = value.repr() else {
        return format!("<{}>", crate::convert::type_name(value));
    };
    let text = text.to_string_lossy();
    if text.chars().count() <= SHOWN {
        return text.into_owned();
    }
    text.chars().take(SHOWN).chain("...".chars()).collect()
}

/// The policy with these fields; nested dicts are names with dots.
pub(crate) fn policy(fields: Option<&Bound<'_, PyDict>>) -> PyResult<Policy> {
    let mut reading = Reading { builder: Policy::builder(), given: Vec::new() };
    let Some(fields) = fields else {
        return Ok(Policy::default());
    };
    for (name, value) in fields {
        match name.cast::<PyString>() {
            Ok(name) => reading.read(&name.to_string_lossy(), &value)?,
            Err(_) => reading.set(&shown(&name), &value)?,
        }
    }
    let py = fields.py();
    reading.builder.build().map_err(|error| {
        let given = reading.given.iter().find(|(field, _)| Some(*field) == error.field).map(|(_, value)| value);
        explained(py, &error, error.field.map_or("policy", Field::path), given)
    })
}

struct Reading<'py> {
    builder: PolicyBuilder,
    /// What was set, to be shown as it was written when it does not fit the rest.
    given: Vec<(Field, Bound<'py, PyAny>)>,
}

impl<'py> Reading<'py> {
    fn read(&mut self, name: &str, value: &Bound<'py, PyAny>) -> PyResult<()> {
        // Names have one dot at most, so deeper nesting is a wrong value and not worth walking.
        let nested = if name.contains('.') { None } else { value.cast::<PyMapping>().ok() };
        let Some(nested) = nested else {
            return self.set(name, value);
        };
        if nested.is_empty()? {
            return self.set(name, value);
        }
        for item in nested.items()? {
            let (key, value): (Bound<'py, PyAny>, Bound<'py, PyAny>) = item.extract()?;
            match key.cast::<PyString>() {
                Ok(key) => self.read(&format!("{name}.{}", key.to_string_lossy()), &value)?,
                Err(_) => self.set(&format!("{name}.{}", shown(&key)), &value)?,
            }
        }
        Ok(())
    }

    fn set(&mut self, name: &str, value: &Bound<'py, PyAny>) -> PyResult<()> {
        let text;
        let converted = if value.is_none() {
            Value::Nothing
        } else if let Ok(string) = value.cast::<PyString>() {
            match string.to_cow() {
                Ok(valid) => {
                    text = valid;
                    Value::Text(&text)
                }
                Err(_) => Value::Other,
            }
        } else if value.cast::<PyMapping>().is_ok_and(|nested| nested.is_empty().unwrap_or(false)) {
            Value::Empty
        } else {
            plain(value)
        };
        match self.builder.set(name, converted) {
            Ok(()) => {
                if converted != Value::Nothing {
                    self.given.extend(field(name).map(|field| (field, value.clone())));
                }
                Ok(())
            }
            Err(error) => {
                Err(explained(value.py(), &error, error.field.map_or(name, |field| field.path()), Some(value)))
            }
        }
    }
}

/// A value that is no text.
fn plain(value: &Bound<'_, PyAny>) -> Value<'static> {
    if value.is_instance_of::<PyBool>() {
        return Value::Other;
    }
    if value.is_instance_of::<PyFloat>() || value.is_instance_of::<PyInt>() {
        // An int too large for a double is infinite to the core, which has the rule against it.
        return Value::Number { value: value.extract().unwrap_or(f64::INFINITY), unit: SECOND };
    }
    match value.cast::<PyDelta>() {
        Ok(delta) => Value::Nanos(delta_nanos(delta)),
        Err(_) => Value::Other,
    }
}

/// A `timedelta` in nanoseconds; more than any time for a negative one, so that the core refuses it.
fn delta_nanos(delta: &Bound<'_, PyDelta>) -> u64 {
    let (days, seconds) = (i128::from(delta.get_days()), i128::from(delta.get_seconds()));
    let micros = (days * 86_400 + seconds) * 1_000_000 + i128::from(delta.get_microseconds());
    u64::try_from(micros * 1_000).unwrap_or(u64::MAX)
}

fn field(name: &str) -> Option<Field> {
    Field::names().iter().find(|known| known.0 == name).map(|known| known.1)
}

fn explained(py: Python<'_>, error: &ConfigError, path: &str, value: Option<&Bound<'_, PyAny>>) -> PyErr {
    let given = value.map(shown).or_else(|| match error.given {
        Given::Unshown => None,
        Given::Span(span) => Some(span.to_string()),
        Given::Number(number) => Some(number.to_string()),
    });
    config_error(py, &Problem { code: error.code, path, given, rule: error.rule(), nearest: error.nearest })
}

/// A length of time as people write it, as `name`: seconds, text with a unit, or a `timedelta`.
pub(crate) fn span(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Span> {
    let span = if let Ok(text) = value.cast::<PyString>() {
        Span::parse(&text.to_string_lossy())
    } else {
        match plain(value) {
            Value::Number { value, unit } => Span::from_float(value, unit),
            Value::Nanos(nanos) if nanos <= Span::MAX.as_nanos() => Some(Span::from_nanos(nanos)),
            _ => None,
        }
    };
    span.ok_or_else(|| config_error(value.py(), &Problem::of(ErrorCode::NotADuration, name, Some(value))))
}

/// The nanoseconds in a text such as ``"250ms"``, ``"1.5s"`` or ``"2m"``.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub(crate) fn parse_duration(text: &Bound<'_, PyString>) -> PyResult<u64> {
    span("duration", text.as_any()).map(Span::as_nanos)
}

/// The fields of a policy in the shape of a document, from which the same policy can be made.
pub(crate) fn fields<'py>(py: Python<'py>, policy: &Policy) -> PyResult<Bound<'py, PyDict>> {
    use holdoff_core::{Backoff, HintMode, HintOver, Jitter, OnDeadline};
    let all = PyDict::new(py);
    let backoff = PyDict::new(py);
    let kind = intern!(py, "kind");
    match policy.backoff() {
        Backoff::Constant { delay } => {
            backoff.set_item(kind, "constant")?;
            backoff.set_item("delay", delay.to_string())?;
        }
        Backoff::Linear { initial, increment, max } => {
            backoff.set_item(kind, "linear")?;
            backoff.set_item("initial", initial.to_string())?;
            backoff.set_item("increment", increment.to_string())?;
            backoff.set_item("max", max.to_string())?;
        }
        Backoff::Exponential { initial, factor, max } => {
            backoff.set_item(kind, "exponential")?;
            backoff.set_item("initial", initial.to_string())?;
            backoff.set_item("factor", factor)?;
            backoff.set_item("max", max.to_string())?;
        }
    }
    all.set_item("backoff", backoff)?;
    let with_factor = |word: &str, factor: f64| {
        let jitter = PyDict::new(py);
        jitter.set_item(kind, word)?;
        jitter.set_item("factor", factor)?;
        all.set_item("jitter", jitter)
    };
    match policy.jitter() {
        Jitter::None => all.set_item("jitter", "none")?,
        Jitter::Full => all.set_item("jitter", "full")?,
        Jitter::Equal => all.set_item("jitter", "equal")?,
        Jitter::Additive { factor } => with_factor("additive", factor)?,
        Jitter::Proportional { factor } => with_factor("proportional", factor)?,
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
    };
    hint.set_item("mode", mode)?;
    hint.set_item("max", policy.hint_max().to_string())?;
    hint.set_item("over", if policy.hint_over() == HintOver::Clamp { "clamp" } else { "stop" })?;
    all.set_item("hint", hint)?;
    Ok(all)
}
