//! Configuration: Python values into the core's builder, and its errors into exceptions.

use holdoff_core::{Document, Error, ErrorCode, Field, Options, Quantity, Span, Subject, Value};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDelta, PyDeltaAccess as _, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple, PyType};

/// The nanoseconds in a bare number where a time is needed: in code it counts seconds.
pub(crate) const SECOND: f64 = 1e9;
/// The same in a document, whose times have a unit.
pub(crate) const UNITLESS: f64 = f64::NAN;
/// The longest value worth showing in a message, in characters.
const SHOWN: usize = 80;
/// How deep dicts and lists are read: no field lies deeper than four.
const DEPTH: u32 = 8;

/// The exception for an error, under the name and with the value that the caller used, if there is one.
pub(crate) fn raised(py: Python<'_>, error: &Error, name: &str, value: Option<&Bound<'_, PyAny>>) -> PyErr {
    let known = error.path().to_string();
    let path = if known.is_empty() { name } else { &known };
    let value = value.map(shown).or_else(|| (error.value != Quantity::None).then(|| error.value.to_string()));
    exception(py, error, path, value.as_deref(), None).unwrap_or_else(|error| error)
}

/// The exception for a code and a value that no field takes.
pub(crate) fn refused(code: ErrorCode, name: &str, value: &Bound<'_, PyAny>) -> PyErr {
    raised(value.py(), &Error::of_use(code), name, Some(value))
}

/// The exception for an error; `cause` is the message of another reader.
pub(crate) fn exception(
    py: Python<'_>,
    error: &Error,
    path: &str,
    value: Option<&str>,
    cause: Option<&str>,
) -> PyResult<PyErr> {
    let (class, about) = match error.subject {
        Subject::Policy => ("ConfigError", if path.is_empty() { "policy" } else { path }.to_owned()),
        Subject::State => ("SaveError", if path.is_empty() { "saved state" } else { path }.to_owned()),
        Subject::Event(number) => {
            let number = if number == 0 { String::new() } else { format!(" {number}") };
            ("EventError", format!("event{number}{}{path}", if path.is_empty() { "" } else { ", " }))
        }
    };
    let mut text = about;
    if let Some(value) = value {
        text.push_str(&format!(" = {value}"));
    }
    text.push_str(&format!(": {}", error.rule()));
    let (ours, remark) = our_name(error.code, path).unwrap_or_default();
    let nearest = ours.or(error.nearest);
    if let Some(nearest) = nearest {
        text.push_str(&format!("; did you mean \"{nearest}\"?"));
    }
    text.push_str(remark);
    if let Some(cause) = cause {
        text.push_str(&format!(": {cause}"));
    }
    let made = py.import("holdoff._errors")?.getattr(class)?.call1((text,))?;
    made.setattr("code", error.code.code())?;
    made.setattr("name", error.code.name())?;
    made.setattr("path", path)?;
    made.setattr("rule", error.rule())?;
    made.setattr("nearest", nearest)?;
    if let Subject::Event(number) = error.subject {
        made.setattr("sequence", number)?;
    }
    Ok(PyErr::from_value(made))
}

/// The names that other libraries have for the options of a call, each list with our name, if there is one, and a remark. The core
/// knows their names for the fields of a policy.
const OTHER_NAMES: [(&str, Option<&str>, &str); 12] = [
    ("exceptions exception errors retry retry_on_exception retry_exceptions expected", Some("on"), ""),
    ("giveup", Some("on"), " It says which errors to retry, so turn the condition round"),
    ("before_sleep on_backoff on_failure after", Some("on_retry"), ""),
    ("before", Some("on_attempt"), ""),
    ("on_giveup", Some("on_give_up"), ""),
    ("retry_error_callback", Some("fallback"), " It gets the last error"),
    ("retry_on_result retry_if_result predicate", Some("on_result"), ""),
    ("circuit_breaker", Some("breaker"), ""),
    ("multiplier backoff_factor", Some("backoff.initial"), " It is the first delay; \"backoff.factor\" is its growth"),
    (
        "reraise raise_on_giveup retry_error_cls wrap_exception raise_on_status raise_on_redirect",
        None,
        "; leave it out: the last error always comes out",
    ),
    ("allowed_methods method_whitelist", Some("idempotent"), " It is False for a function that must not run twice"),
    (
        "logger log_level backoff_log_level giveup_log_level",
        None,
        "; give the logger to holdoff.telemetry.log(logger=...)",
    ),
];

/// Our name for an option of another library, and a remark.
fn our_name(code: ErrorCode, name: &str) -> Option<(Option<&'static str>, &'static str)> {
    let known = OTHER_NAMES.iter().find(|(others, ..)| others.split(' ').any(|other| other == name));
    known.filter(|_| code == ErrorCode::UnknownField).map(|known| (known.1, known.2))
}

/// The name of a value's type, for a message.
pub(crate) fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "something else".to_owned(), |name| name.to_string())
}

/// The error of an argument of the wrong type.
pub(crate) fn must_be(name: &str, expected: &str, value: &Bound<'_, PyAny>) -> PyErr {
    PyTypeError::new_err(format!("{name} must be {expected}, not {}", type_name(value)))
}

/// A value as Python shows it, cut where it is long.
pub(crate) fn shown(value: &Bound<'_, PyAny>) -> String {
    let Ok(text) = value.repr() else {
        return format!("<{}>", type_name(value));
    };
    cut(&text.to_string_lossy())
}

/// A text, cut where it is long.
pub(crate) fn cut(text: &str) -> String {
    if text.chars().count() <= SHOWN {
        return text.to_owned();
    }
    text.chars().take(SHOWN).chain("...".chars()).collect()
}

/// The policy with these fields; nested dicts and lists are names with dots and indexes. `unit` is the nanoseconds in a bare
/// number.
pub(crate) fn document(
    py: Python<'_>,
    preset: Option<&Bound<'_, PyAny>>,
    fields: Option<&Bound<'_, PyMapping>>,
    unit: f64,
) -> PyResult<Document> {
    let mut reading = Reading::new(unit);
    if let Some(preset) = preset {
        reading.set("preset", preset)?;
    }
    if let Some(fields) = fields {
        reading.read_fields("", fields, 1)?;
    }
    reading.done(py)
}

/// The guard with this configuration under that name: what a document has there, or fields of it by name.
pub(crate) fn guard(
    py: Python<'_>,
    section: &str,
    config: Option<&Bound<'_, PyAny>>,
    fields: Option<&Bound<'_, PyMapping>>,
) -> PyResult<Options> {
    let mut reading = Reading::new(SECOND);
    if let Some(config) = config {
        reading.read(section, config, 1)?;
    }
    if let Some(fields) = fields {
        reading.read_fields(section, fields, 1)?;
    }
    if reading.options.has_no_guards() {
        // An empty section is no guard, but the caller asks for this guard: one field makes it a guard with its defaults.
        reading.options = reading.options.with_section(section);
    }
    reading.guards(py)
}

struct Reading<'py> {
    options: Options,
    /// The patterns so far.
    document: Document,
    /// The values by name, to show a value as the caller wrote it when it does not fit the others.
    settings: Vec<(String, Bound<'py, PyAny>)>,
    /// Nanoseconds in what a bare number counts.
    unit: f64,
}

impl<'py> Reading<'py> {
    fn new(unit: f64) -> Self {
        Self { options: Options::NEW, document: Document::default(), settings: Vec::new(), unit }
    }

    fn read_fields(&mut self, name: &str, fields: &Bound<'py, PyMapping>, depth: u32) -> PyResult<()> {
        for item in fields.items()? {
            let (key, value): (Bound<'py, PyAny>, Bound<'py, PyAny>) = item.extract()?;
            let text = key.cast::<PyString>().ok();
            let key = text.map_or_else(|| shown(&key), |text| text.to_string_lossy().into_owned());
            let path = if name.is_empty() { key } else { format!("{name}.{key}") };
            if text.is_some() {
                self.read(&path, &value, depth)?;
            } else {
                self.set(&path, &value)?;
            }
        }
        Ok(())
    }

    fn read(&mut self, name: &str, value: &Bound<'py, PyAny>, depth: u32) -> PyResult<()> {
        if let Ok(fields) = value.cast::<PyMapping>()
            && !fields.is_empty()?
        {
            return if depth > DEPTH { self.set(name, value) } else { self.read_fields(name, fields, depth + 1) };
        }
        if !is_list(value) || depth > DEPTH || value.len()? == 0 {
            return self.set(name, value);
        }
        for (index, item) in value.try_iter()?.enumerate() {
            self.read(&format!("{name}[{index}]"), &item?, depth + 1)?;
        }
        Ok(())
    }

    fn set(&mut self, name: &str, value: &Bound<'py, PyAny>) -> PyResult<()> {
        let mut text = String::new();
        let converted = converted(value, Some(self.unit), &mut text)?;
        let stored = self
            .options
            .set(name, converted)
            .map_err(|error| misplaced(name, value).unwrap_or_else(|| raised(value.py(), &error, name, Some(value))))?;
        self.document.store(stored);
        if converted != Value::Nothing {
            self.settings.push((name.to_owned(), value.clone()));
        }
        Ok(())
    }

    fn done(mut self, py: Python<'py>) -> PyResult<Document> {
        self.document.policy = self.options.build().map_err(|error| self.broken(py, &error))?;
        self.document.rules = self.options.rules();
        self.document.guards = self.guards(py)?;
        Ok(self.document)
    }

    fn guards(&self, py: Python<'py>) -> PyResult<Options> {
        self.options.check_guards().map_err(|error| self.broken(py, &error))?;
        Ok(self.options.guards())
    }

    /// A rule that fields break together, with the value as it was given.
    fn broken(&self, py: Python<'py>, error: &Error) -> PyErr {
        let path = error.path().to_string();
        let given = self.settings.iter().find(|(name, _)| canonical(name) == path).map(|(_, value)| value);
        raised(py, error, "", given)
    }
}

/// The error of an object in the place of its fields or of its name.
fn misplaced(name: &str, value: &Bound<'_, PyAny>) -> Option<PyErr> {
    let class = type_name(value);
    if let Ok(class) = value.cast::<PyType>()
        && name.contains(".types[")
    {
        let class = class.name().ok()?;
        return Some(PyTypeError::new_err(format!("{name} takes the name of a class: write \"{class}\"")));
    }
    if class.to_lowercase() == name && value.get_type().module().is_ok_and(|module| module == "holdoff") {
        let message =
            format!("{name} takes the fields of a {name}; give a holdoff.{class} as guards={{\"{name}\": {name}}}");
        return Some(PyTypeError::new_err(message));
    }
    None
}

/// A name as errors have it: `backoff[1].delay` is `backoff[1].initial`.
fn canonical(name: &str) -> String {
    let path = |name: &str| Field::names().find(|known| known.0 == name).map(|known| known.1.path());
    if let Some((stage, rest)) = name.strip_prefix("backoff[").and_then(|rest| rest.split_once(']')) {
        let field = path(&format!("backoff{rest}")).and_then(|path| path.strip_prefix("backoff"));
        return format!("backoff[{stage}]{}", field.unwrap_or(rest));
    }
    path(name).unwrap_or(name).to_owned()
}

/// A value for the core. `unit` is the nanoseconds in what a bare number counts; none for the fields of saved states and events,
/// whose numbers are exact. `text` is the storage of a text.
fn converted<'a>(value: &Bound<'_, PyAny>, unit: Option<f64>, text: &'a mut String) -> PyResult<Value<'a>> {
    Ok(if value.is_none() {
        Value::Nothing
    } else if let Ok(string) = value.cast::<PyString>() {
        if unit.is_some() && string.to_cow().is_err() {
            return Ok(Value::Other);
        }
        *text = string.to_string_lossy().into_owned();
        Value::Text(text)
    } else if value.cast::<PyMapping>().is_ok_and(|nested| nested.is_empty().unwrap_or(false)) {
        Value::Empty
    } else if unit.is_some() && is_list(value) && value.len()? == 0 {
        Value::NoItems
    } else if let Ok(flag) = value.cast::<PyBool>() {
        Value::Flag(flag.is_true())
    } else if value.is_instance_of::<PyInt>() && unit.is_none() {
        // No field is negative or beyond 64 bits.
        value.extract().map_or(Value::Number { value: f64::NAN, unit: 1.0 }, Value::Nanos)
    } else if value.is_instance_of::<PyFloat>() || value.is_instance_of::<PyInt>() {
        // An int too large for a double is infinite to the core, which has the rule against it.
        Value::Number { value: value.extract().unwrap_or(f64::INFINITY), unit: unit.unwrap_or(1.0) }
    } else {
        let delta = value.cast::<PyDelta>().ok().filter(|_| unit.is_some());
        delta.map_or(Value::Other, |delta| Value::Nanos(delta_nanos(delta)))
    })
}

fn is_list(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>()
}

/// Sets the fields of a saved state or an event, whose numbers are exact. `within` is the prefix of their names, and `group`
/// the field with fields of its own.
pub(crate) fn set_exact(
    within: &str,
    fields: &Bound<'_, PyMapping>,
    group: Option<&str>,
    set: &mut dyn FnMut(&str, Value<'_>) -> Result<(), Error>,
) -> PyResult<()> {
    for item in fields.items()? {
        let (name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let name = format!("{within}{}", name.extract::<String>().unwrap_or_else(|_| shown(&name)));
        if let Ok(nested) = value.cast::<PyMapping>()
            && group == Some(&name)
            && !nested.is_empty()?
        {
            set_exact(&format!("{name}."), nested, None, set)?;
            continue;
        }
        let mut text = String::new();
        set(&name, converted(&value, None, &mut text)?)
            .map_err(|error| raised(fields.py(), &error, &name, Some(&value)))?;
    }
    Ok(())
}

/// A `timedelta` in nanoseconds; more than any time for a negative one, so that the core refuses it.
fn delta_nanos(delta: &Bound<'_, PyDelta>) -> u64 {
    let (days, seconds) = (i128::from(delta.get_days()), i128::from(delta.get_seconds()));
    let micros = (days * 86_400 + seconds) * 1_000_000 + i128::from(delta.get_microseconds());
    u64::try_from(micros * 1_000).unwrap_or(u64::MAX)
}

/// A length of time as people write it, as `name`: seconds, text with a unit, or a `timedelta`.
pub(crate) fn span(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Span> {
    let mut text = String::new();
    let span = match converted(value, Some(SECOND), &mut text)? {
        Value::Text(text) => Span::parse(text),
        Value::Number { value, unit } => Span::from_float(value, unit),
        Value::Nanos(nanos) if nanos <= Span::MAX.as_nanos() => Some(Span::from_nanos(nanos)),
        _ => None,
    };
    span.ok_or_else(|| refused(ErrorCode::NotADuration, name, value))
}

/// The same where "none" is a length: without a limit, as if it was not given.
pub(crate) fn span_or_none(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<Span>> {
    let none = value.is_instance_of::<PyString>() && value.eq("none")?;
    if none { Ok(None) } else { span(name, value).map(Some) }
}

/// A configuration, or what is wrong with it.
pub(crate) fn valid<T>(py: Python<'_>, made: Result<T, Error>) -> PyResult<T> {
    made.map_err(|error| raised(py, &error, "", None))
}

functions! { py;
    /// The nanoseconds in a text such as ``"250ms"``, ``"1.5s"`` or ``"2m"``.
    fn parse_duration[text: &Bound<'_, PyString>]() -> PyResult<u64> = span("duration", text.as_any()).map(Span::as_nanos);
}
