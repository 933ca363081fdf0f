//! The events of a call, for a host to write down. Texts belong to the host, which passes them where an event is written.

use crate::config::{self, raised};
use crate::failure::{Failure, HintSeconds};
use crate::parameters::{Cause, EventKind, StopReason};
use crate::{convert, json};
use holdoff_core::{Error, ErrorCode, EventReader, Notes, Span};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyMapping, PyString};

/// One thing that happened to a call. Fields that its kind has no use for are None; times are nanoseconds.
#[pyclass(frozen, eq, module = "holdoff")]
#[derive(PartialEq)]
pub(crate) struct Event(pub(crate) holdoff_core::Event);

impl Event {
    fn scheduled(&self) -> Option<&holdoff_core::Event> {
        (self.0.kind() == holdoff_core::EventKind::RetryScheduled).then_some(&self.0)
    }

    fn begun(&self) -> Option<&holdoff_core::Event> {
        (self.0.kind() == holdoff_core::EventKind::Started).then_some(&self.0)
    }

    /// Texts of errors may be none to Unicode, and are written all the same.
    fn json(&self, task: Option<&Bound<'_, PyString>>, failure: Option<&Bound<'_, PyString>>) -> String {
        let (task, failure) = (task.map(|text| text.to_string_lossy()), failure.map(|text| text.to_string_lossy()));
        self.0.json(&Notes { task: task.as_deref(), failure: failure.as_deref() }).to_string()
    }
}

methods! { Event as event;
    impl {
        /// The fields of its JSON, with the name of the task and the text of the failure if given.
        #[pyo3(signature = (task = None, failure_reason = None) -> "dict[str, Any]")]
        fn to_dict<'py>(
            &self,
            py: Python<'py>,
            task: Option<&Bound<'py, PyString>>,
            failure_reason: Option<&Bound<'py, PyString>>,
        ) -> PyResult<Bound<'py, PyDict>> {
            Ok(json::loads(&PyString::new(py, &self.json(task, failure_reason)))?.cast_into()?)
        }

        /// Its JSON in one line, with the name of the task and the text of the failure if given.
        #[pyo3(signature = (task = None, failure_reason = None))]
        fn to_json(&self, task: Option<&Bound<'_, PyString>>, failure_reason: Option<&Bound<'_, PyString>>) -> String {
            self.json(task, failure_reason)
        }

        /// Its bytes with the text of the failure, at most 65535 bytes. A log is the bytes of its events, one after the other.
        #[pyo3(signature = (failure_reason = None))]
        fn to_bytes<'py>(&self, py: Python<'py>, failure_reason: Option<&Bound<'py, PyString>>) -> Bound<'py, PyBytes> {
            let text = failure_reason.map(|text| text.to_string_lossy()).unwrap_or_default();
            let mut buffer = vec![0; holdoff_core::Event::MOST_BYTES + text.len()];
            let length = self.0.to_bytes(&text, &mut buffer).unwrap_or_default();
            PyBytes::new(py, buffer.get(..length).unwrap_or_default())
        }

        /// The event with these fields; its texts stay with the caller.
        #[staticmethod]
        #[pyo3(signature = (fields: "Mapping[str, Any]", /))]
        fn from_dict(fields: &Bound<'_, PyMapping>) -> PyResult<Self> {
            of_fields(fields)
        }

        /// The event in this JSON; its texts stay with the caller.
        #[staticmethod]
        #[pyo3(signature = (text: "str | bytes", /))]
        fn from_json(text: &Bound<'_, PyAny>) -> PyResult<Self> {
            let parsed = json::loads(text).ok();
            let code = match parsed.as_ref().map(|fields| fields.cast::<PyMapping>()) {
                Some(Ok(fields)) => return of_fields(fields),
                Some(Err(_)) => ErrorCode::NotAnObject,
                None => ErrorCode::NotJson,
            };
            Err(raised(text.py(), &Error::of_event(code, ""), "", Some(text)))
        }

        /// The events of a log's bytes, each with its text.
        #[staticmethod]
        #[pyo3(signature = (log, /))]
        fn read_all(log: &Bound<'_, PyBytes>) -> PyResult<Vec<(Self, String)>> {
            let events = EventReader::new(log.as_bytes()).map(|read| match read {
                Ok((event, text)) => Ok((Self(event), text.to_owned())),
                Err(error) => Err(raised(log.py(), &error, "", None)),
            });
            events.collect()
        }

        /// Events are pickled as their JSON.
        fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
            Ok((slf.get_type().getattr("from_json")?, (slf.get().json(None, None),)))
        }

        fn __hash__(&self) -> u64 {
            self.0.sequence().wrapping_mul(31) ^ self.0.at().as_nanos() ^ u64::from(self.0.kind().code()).rotate_left(32)
        }

        fn __repr__(&self) -> String {
            let text = self.0.to_string();
            format!("<Event {}>", text.strip_prefix("event ").unwrap_or(&text))
        }
    }

    get {
        /// Its place in the log of its call, from 1.
        sequence: u64 = event.0.sequence();

        /// When it happened.
        at: u64 = event.0.at().as_nanos();

        /// "STARTED", "ATTEMPT_FAILED", "RETRY_SCHEDULED", "RESUMED", "SUCCEEDED", "GAVE_UP" or "CANCELLED".
        kind: EventKind = EventKind(event.0.kind());

        /// True if it is the last event.
        is_end: bool = event.0.kind().is_end();

        /// The attempt that failed, is scheduled or begins; at an end the last attempt that ran, 0 for none.
        attempt: u32 = event.0.attempt();

        /// Retry scheduled: when the next attempt is due.
        until: Option<u64> = event.scheduled().map(|event| event.until().as_nanos());

        /// Retry scheduled: seconds until the next attempt is due.
        delay: Option<f64> = event.delay_ns().map(convert::seconds);

        /// Retry scheduled: the same in nanoseconds.
        delay_ns: Option<u64> = event.scheduled().map(|event| event.delay().as_nanos());

        /// Retry scheduled: the same in whole milliseconds, rounded up.
        backoff_delay_ms: Option<u64> = event.scheduled().map(holdoff_core::Event::delay_ms);

        /// Retry scheduled: "backoff", "hint", "clip", "breaker", "limiter" or "bulkhead".
        cause: Option<Cause> = event.0.cause().map(Cause);

        /// Attempt failed: its kind and the server's hint.
        failure: Option<Failure> =
            event.0.failure().map(|kind| Failure(holdoff_core::Failure::new(kind).with_hint(event.0.hint())));

        /// Attempt failed: the failure's hint in seconds, "never", or None without a hint.
        hint: Option<HintSeconds> = event.0.failure().and_then(|_| HintSeconds::of(event.0.hint()));

        /// Attempt failed: the failure's hint in nanoseconds; None when there is none or it is "never".
        hint_ns: Option<u64> = event.0.hint().span().map(Span::as_nanos);

        /// Gave up: why.
        reason: Option<StopReason> = event.0.reason().map(StopReason);

        /// Gave up: when another try might succeed; NEVER when nobody knows.
        retry_at: Option<u64> = (event.0.kind() == holdoff_core::EventKind::GaveUp).then(|| event.0.until().as_nanos());

        /// Started: the seed of the call.
        seed: Option<u64> = event.begun().map(holdoff_core::Event::seed);

        /// Started: the fingerprint of the call's policy.
        policy: Option<u64> = event.begun().map(holdoff_core::Event::policy);

        /// Started: True if the call shares guards.
        is_guarded: Option<bool> = event.begun().map(holdoff_core::Event::is_guarded);
    }
}

fn of_fields(fields: &Bound<'_, PyMapping>) -> PyResult<Event> {
    let mut event = holdoff_core::Event::EMPTY;
    config::set_exact("", fields, Some("payload"), &mut |name, value| event.set(name, value).map(drop))?;
    event.check().map(Event).map_err(|error| raised(fields.py(), &error, "", None))
}
