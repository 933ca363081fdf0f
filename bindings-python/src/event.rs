//! The events of a call, for a host to write down. Texts belong to the host, which passes them where an event is written.

use crate::config::{self, raised};
use crate::failure::{Failure, HintSeconds};
use crate::parameters::{Cause, EventKind, StopReason};
use crate::{convert, json};
use holdoff_core::{Error, EventReader, Notes, Span};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyMapping, PyString};

/// One thing that happened to a call. Fields that its kind has no use for are None; times are nanoseconds.
#[pyclass(frozen, eq, module = "holdoff.log")]
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

methods! { Event(self, py);
    shown "<Event {}>", self.0.to_string().trim_start_matches("event ");

    /// The fields of its JSON, with the name of the task and the text of the failure if given.
    ref to_dict(
        task: Option<&Bound<'py, PyString>> = None, failure_reason: Option<&Bound<'py, PyString>> = None
    ) -> PyResult<Bound<'py, PyDict>> as "dict[str, Any]" = json::dict(py, &self.json(task, failure_reason));

    /// Its bytes with the text of the failure, at most 65535 bytes. A log is the bytes of its events, one after the other.
    ref to_bytes(failure_reason: Option<&Bound<'py, PyString>> = None) -> Bound<'py, PyBytes> = {
        let text = failure_reason.map(|text| text.to_string_lossy()).unwrap_or_default();
        let mut buffer = vec![0; holdoff_core::Event::MOST_BYTES + text.len()];
        let length = self.0.to_bytes(&text, &mut buffer).unwrap_or_default();
        PyBytes::new(py, buffer.get(..length).unwrap_or_default())
    };

    /// Its JSON in one line, with the name of the task and the text of the failure if given.
    ref to_json(
        task: Option<&Bound<'_, PyString>> = None, failure_reason: Option<&Bound<'_, PyString>> = None
    ) -> String = self.json(task, failure_reason);

    /// The event in this JSON; its texts stay with the caller.
    static from_json[text: &Bound<'_, PyAny> as "str | bytes"]() -> PyResult<Self> = match json::fields(text) {
        Ok(fields) => of_fields(&fields),
        Err(code) => Err(raised(py, &Error::of_event(code, ""), "", Some(text))),
    };

    /// The events of a log's bytes, each with its text.
    static read_all[log: &Bound<'_, PyBytes>]() -> PyResult<Vec<(Self, String)>> =
        EventReader::new(log.as_bytes()).map(|read| {
            config::valid(py, read).map(|(event, text)| (Self(event), text.to_owned()))
        }).collect();

    /// The event with these fields; its texts stay with the caller.
    static from_dict[fields: &Bound<'_, PyMapping> as "Mapping[str, Any]"]() -> PyResult<Self> = of_fields(fields);

    impl {
        /// Events are pickled as their JSON.
        fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
            Ok((slf.get_type().getattr("from_json")?, (slf.get().json(None, None),)))
        }
    }

    special __hash__() -> u64 =
        self.0.sequence().wrapping_mul(31) ^ self.0.at().as_nanos() ^ u64::from(self.0.kind().code()).rotate_left(32);

    /// Its place in the log of its call, from 1.
    get sequence: u64 = self.0.sequence();

    /// When it happened.
    get at: u64 = self.0.at().as_nanos();

    /// "STARTED", "ATTEMPT_FAILED", "RETRY_SCHEDULED", "RESUMED", "SUCCEEDED", "GAVE_UP" or "CANCELLED".
    get kind: EventKind = EventKind(self.0.kind());

    /// True if it is the last event.
    get is_end: bool = self.0.kind().is_end();

    /// The attempt that failed, is scheduled or begins; at an end the last attempt that ran, 0 for none.
    get attempt: u32 = self.0.attempt();

    /// Retry scheduled: when the next attempt is due.
    get until: Option<u64> = self.scheduled().map(|event| event.until().as_nanos());

    /// Retry scheduled: seconds until the next attempt is due.
    get delay: Option<f64> = self.delay_ns(py).map(convert::seconds);

    /// Retry scheduled: the same in nanoseconds.
    get delay_ns: Option<u64> = self.scheduled().map(|event| event.delay().as_nanos());

    /// Retry scheduled: the same in whole milliseconds, rounded up.
    get backoff_delay_ms: Option<u64> = self.scheduled().map(holdoff_core::Event::delay_ms);

    /// Retry scheduled: "backoff", "hint", "clip", "breaker", "limiter" or "bulkhead".
    get cause: Option<Cause> = self.0.cause().map(Cause);

    /// Attempt failed: its kind and the server's hint.
    get failure: Option<Failure> =
        self.0.failure().map(|kind| Failure(holdoff_core::Failure::new(kind).with_hint(self.0.hint())));

    /// Attempt failed: the failure's hint in seconds, "never", or None without a hint.
    get hint: Option<HintSeconds> = self.0.failure().and_then(|_| HintSeconds::of(self.0.hint()));

    /// Attempt failed: the failure's hint in nanoseconds; None when there is none or it is "never".
    get hint_ns: Option<u64> = self.0.hint().span().map(Span::as_nanos);

    /// Gave up: why.
    get reason: Option<StopReason> = self.0.reason().map(StopReason);

    /// Gave up: when another try might succeed; NEVER if unknown.
    get retry_at: Option<u64> = (self.0.kind() == holdoff_core::EventKind::GaveUp).then(|| self.0.until().as_nanos());

    /// Started: the seed of the call.
    get seed: Option<u64> = self.begun().map(holdoff_core::Event::seed);

    /// Started: the fingerprint of the call's policy.
    get policy: Option<u64> = self.begun().map(holdoff_core::Event::policy);

    /// Started: True if the call shares guards.
    get is_guarded: Option<bool> = self.begun().map(holdoff_core::Event::is_guarded);
}

fn of_fields(fields: &Bound<'_, PyMapping>) -> PyResult<Event> {
    let mut event = holdoff_core::Event::EMPTY;
    config::set_exact("", fields, Some("payload"), &mut |name, value| event.set(name, value).map(drop))?;
    config::valid(fields.py(), event.check()).map(Event)
}
