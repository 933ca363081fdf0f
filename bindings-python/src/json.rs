//! Documents and states as text, and their way into Python's own objects.

use crate::config::{exception, refused, shown};
use holdoff_core::{Document, DocumentError, ErrorCode, FormReader, JsonText};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyMapping, PyString};

/// The value of JSON text, by Python's own reader.
pub(crate) fn loads<'py>(text: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    imported!(text.py(), "json", "loads")?.call1((text,))
}

/// The fields of an object in JSON text, or what the text is not.
pub(crate) fn fields<'py>(text: &Bound<'py, PyAny>) -> Result<Bound<'py, PyMapping>, ErrorCode> {
    let parsed = loads(text).map_err(|_| ErrorCode::NotJson)?;
    parsed.cast_into().map_err(|_| ErrorCode::NotAnObject)
}

/// The dict of JSON text.
pub(crate) fn dict<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyDict>> {
    Ok(loads(&PyString::new(py, text))?.cast_into()?)
}

/// The policy document in a text; of another system's form if there is a reader for it.
pub(crate) fn document(text: &Bound<'_, PyAny>, form: Option<FormReader>) -> PyResult<Document> {
    let py = text.py();
    let read = if let Ok(bytes) = text.cast::<PyBytes>() {
        std::str::from_utf8(bytes.as_bytes()).ok().map(|text| read(text, form))
    } else {
        text.cast::<PyString>()?.to_cow().ok().map(|text| read(&text, form))
    };
    match read {
        Some(document) => document.map_err(|error| document_error(py, error)),
        // Text that is no Unicode is no JSON either.
        None => Err(refused(ErrorCode::NotJson, "", text)),
    }
}

fn read(text: &str, form: Option<FormReader>) -> Result<Document, DocumentError> {
    // All of it first: a text that is no JSON is refused as a whole.
    JsonText::new(text).check().map_err(DocumentError::not_of_format)?;
    let mut json = JsonText::new(text);
    match form {
        Some(reader) => Document::read_form(reader, &mut json),
        None => Document::read(&mut json),
    }
}

pub(crate) fn document_error(py: Python<'_>, wrong: DocumentError) -> PyErr {
    let DocumentError { error, path, value, cause, .. } = wrong;
    let value = value.map(|value| crate::config::cut(&value));
    exception(py, &error, &path, value.as_deref(), cause.as_deref()).unwrap_or_else(|error| error)
}

/// The text itself, or the JSON text of another value.
pub(crate) fn text<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>() {
        return Ok(value.clone());
    }
    let dumped = imported!(value.py(), "json", "dumps")?.call1((value,));
    // The reader refuses the text of a value that JSON does not have.
    dumped.or_else(|_| Ok(PyString::new(value.py(), &shown(value)).into_any()))
}
