//! Failures from HTTP and gRPC answers, with the hints in their headers.

use crate::clock;
use crate::convert::half;
use crate::failure::Failure;
use crate::parameters::{Status, Text, WallTime};
use holdoff_core::{GrpcCode, Hint, HintReader};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// The header with the hint in a gRPC call's trailing metadata.
const PUSHBACK: &[u8] = b"grpc-retry-pushback-ms";

/// Reads all header lines: of an object with `multi_items()` (httpx) or `items()`, or pairs of name and value.
pub(crate) fn read(reader: &mut HintReader, headers: &Bound<'_, PyAny>) -> PyResult<()> {
    each(headers, |name, value| reader.header(name, value))
}

/// Reads the pushback in a gRPC call's trailing metadata.
pub(crate) fn read_pushback(reader: &mut HintReader, metadata: &Bound<'_, PyAny>) -> PyResult<()> {
    each(metadata, |name, value| {
        if name.eq_ignore_ascii_case(PUSHBACK) {
            reader.header(name, value);
        }
    })
}

fn each(headers: &Bound<'_, PyAny>, mut take: impl FnMut(&[u8], &[u8])) -> PyResult<()> {
    let py = headers.py();
    let mut lines = headers.clone();
    for method in [intern!(py, "multi_items"), intern!(py, "items")] {
        if let Some(items) = headers.getattr_opt(method)? {
            lines = items.call0()?;
            break;
        }
    }
    for line in lines.try_iter()? {
        let line = line?;
        let (name, value) = (line.get_item(0)?, line.get_item(1)?);
        let [name, value] = [&name, &value].map(|text| Text(text.as_borrowed()));
        take(&name.bytes("a header")?, &value.bytes("a header")?);
    }
    Ok(())
}

/// A gRPC code: its number, its name or an enum member. Other codes read as UNKNOWN.
pub(crate) fn grpc_code(code: &Bound<'_, PyAny>) -> PyResult<u32> {
    let name = code.getattr_opt(intern!(code.py(), "name"))?;
    match name.as_ref().unwrap_or(code).cast::<PyString>() {
        Ok(name) => Ok(u32::from(GrpcCode::parse(&name.to_string_lossy()).unwrap_or(GrpcCode::Unknown).code())),
        Err(_) => half("code", code),
    }
}

functions! { py;
    /// The failure that an HTTP answer is, from its status and its header lines, or the value of its Retry-After alone. None for
    /// an answer that is no failure.
    fn http_failure(
        status: Status, retry_after: Option<Text<'_, '_>> = None;
        headers: Option<&Bound<'_, PyAny>> as "Headers | None" = None, wall_ns: Option<WallTime> = None
    ) -> PyResult<Option<Failure>> = {
        let status = status.0;
        let hint = match (retry_after, headers) {
            (None, None) => Hint::NONE,
            (None, Some(headers)) => read_hint(py, headers, status, wall_ns)?,
            (Some(value), None) => Hint::retry_after_at(&value.bytes("a header")?, wall(py, wall_ns)?),
            (Some(_), Some(_)) => return Err(PyTypeError::new_err("give retry_after or headers, not both")),
        };
        Ok(holdoff_core::Failure::of_answer(status, hint).map(Failure))
    };

    /// The failure that the end of a gRPC call is, from its status code, as a number, its name or an enum member, and the value
    /// of its grpc-retry-pushback-ms. None for OK.
    fn grpc_failure(
        code: &Bound<'_, PyAny> as "GrpcCode | object",
        pushback: Option<Text<'_, '_>> = None
    ) -> PyResult<Option<Failure>> = {
        let number = grpc_code(code)?;
        let pushback = pushback.as_ref().map(|value| value.bytes("a header")).transpose()?;
        Ok(holdoff_core::Failure::from_grpc(number, pushback.as_deref()).map(Failure))
    };

    /// The hint in header lines: nanoseconds, "never", or None. The time of the wall clock is for dates: nanoseconds since the
    /// Unix epoch, NEVER if it is not known.
    fn hint_of(
        headers: &Bound<'py, PyAny> as "Headers"; status: Option<Status> = None, wall_ns: Option<WallTime> = None
    ) -> PyResult<Option<Bound<'py, PyAny>>> as "int | Literal['never'] | None" = {
        let hint = read_hint(py, headers, status.map_or(0, |status| status.0), wall_ns)?;
        if hint.is_never() {
            return Ok(Some(PyString::intern(py, "never").into_any()));
        }
        hint.span().map(|span| Ok(span.as_nanos().into_pyobject(py)?.into_any())).transpose()
    };
}

fn read_hint(py: Python<'_>, headers: &Bound<'_, PyAny>, status: u32, wall_ns: Option<WallTime>) -> PyResult<Hint> {
    let mut reader = HintReader::new(wall(py, wall_ns)?);
    read(&mut reader, headers)?;
    Ok(reader.hint_for(status))
}

fn wall(py: Python<'_>, time: Option<WallTime>) -> PyResult<u64> {
    time.map_or_else(|| clock::wall(py), |time| Ok(time.0.as_nanos()))
}
