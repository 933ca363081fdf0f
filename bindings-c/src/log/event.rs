//! One thing that happened to a call: as numbers, as bytes that last, and as JSON.

use crate::boundary::{answer, bytes, look_plain, room, span};
use crate::errors::status;
use crate::failure::{flat_hint, holdoff_failure};
use crate::problem::{holdoff_problem, report};
use crate::text::print;
use core::ffi::{c_char, c_int};
use core::fmt::Display;
use holdoff_core::{Cause, ErrorCode, Event, EventKind, FailureKind, Notes, StopReason};

/// Event kind: a call began. Has a `policy`, a `seed` and `is_guarded`.
pub const HOLDOFF_EVENT_STARTED: u32 = 1;
/// Event kind: an attempt failed. Has a `failure`.
pub const HOLDOFF_EVENT_ATTEMPT_FAILED: u32 = 2;
/// Event kind: the attempt that comes is due at `until`. Has a `cause` and a `delay_ns`.
pub const HOLDOFF_EVENT_RETRY_SCHEDULED: u32 = 3;
/// Event kind: an attempt runs now, after its wait or again because it was interrupted.
pub const HOLDOFF_EVENT_RESUMED: u32 = 4;
/// Event kind: an attempt succeeded.
pub const HOLDOFF_EVENT_SUCCEEDED: u32 = 5;
/// Event kind: there is no other attempt, for a `reason`; at `until` another try might succeed.
pub const HOLDOFF_EVENT_GAVE_UP: u32 = 6;
/// Event kind: the caller cancelled.
pub const HOLDOFF_EVENT_CANCELLED: u32 = 7;

/// How many bytes an event has at most, without its text.
pub const HOLDOFF_EVENT_BYTES: usize = 56;

const _: () = assert!(
    HOLDOFF_EVENT_STARTED == EventKind::Started as u32
        && HOLDOFF_EVENT_ATTEMPT_FAILED == EventKind::AttemptFailed as u32
        && HOLDOFF_EVENT_RETRY_SCHEDULED == EventKind::RetryScheduled as u32
        && HOLDOFF_EVENT_RESUMED == EventKind::Resumed as u32
        && HOLDOFF_EVENT_SUCCEEDED == EventKind::Succeeded as u32
        && HOLDOFF_EVENT_GAVE_UP == EventKind::GaveUp as u32
        && HOLDOFF_EVENT_CANCELLED == EventKind::Cancelled as u32
        && HOLDOFF_EVENT_BYTES == Event::MOST_BYTES
);

/// One thing that happened to a call: 64 bytes, to be copied as you like. What it says is told by holdoff_event_get; the
/// content is the library's.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct holdoff_event {
    state: [u64; 8],
}

const _: () = assert!(size_of::<holdoff_event>() == size_of::<Event>() && align_of::<Event>() == 8);

impl holdoff_event {
    pub(crate) const NONE: Self = Self { state: [0; 8] };
}

impl From<Event> for holdoff_event {
    fn from(event: Event) -> Self {
        // SAFETY: 64 bytes of plain numbers without padding either way.
        Self { state: unsafe { core::mem::transmute::<Event, [u64; 8]>(event) } }
    }
}

/// What an event says. Numbers that its kind has no use for are 0, times that it has no use for HOLDOFF_NEVER.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct holdoff_event_fields {
    /// Its place in the log of its call, from 1.
    pub sequence: u64,
    /// When it happened: the `now` that went in, never before the event before.
    pub at: u64,
    /// Retry scheduled: when the attempt is due. Gave up: when another try might succeed.
    pub until: u64,
    /// Retry scheduled: how long that is from `at`.
    pub delay_ns: u64,
    /// Started: the seed of the call.
    pub seed: u64,
    /// Started: the fingerprint of its policy, see holdoff_policy_fingerprint.
    pub policy: u64,
    /// Attempt failed: what went wrong.
    pub failure: holdoff_failure,
    /// A HOLDOFF_EVENT_ number.
    pub kind: u32,
    /// The attempt that failed, that comes, or that runs now; at an end the last one that ran, 0 for none.
    pub attempt: u32,
    /// Retry scheduled: a HOLDOFF_CAUSE_ number.
    pub cause: u8,
    /// Gave up: a HOLDOFF_REASON_ number.
    pub reason: u8,
    /// Started: whether the call shares guards.
    pub is_guarded: bool,
}

impl From<&Event> for holdoff_event_fields {
    fn from(event: &Event) -> Self {
        let (hint, hint_ns) = flat_hint(event.hint());
        Self {
            sequence: event.sequence(),
            at: event.at().as_nanos(),
            until: event.until().as_nanos(),
            delay_ns: event.delay().as_nanos(),
            seed: event.seed(),
            policy: event.policy(),
            failure: holdoff_failure { kind: event.failure().map_or(0, FailureKind::code).into(), hint, hint_ns },
            kind: event.kind().code().into(),
            attempt: event.attempt(),
            cause: event.cause().map_or(0, Cause::code),
            reason: event.reason().map_or(0, StopReason::code),
            is_guarded: event.is_guarded(),
        }
    }
}

/// What an event says.
///
/// Returns 0 and writes `fields`; or HOLDOFF_ERROR_NULL_POINTER, and for memory that holds no event, such as zeroed memory,
/// HOLDOFF_ERROR_MISSING_EVENT_FIELD or HOLDOFF_ERROR_EVENT_DAMAGED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_event_get(event: *const holdoff_event, fields: *mut holdoff_event_fields) -> c_int {
    // SAFETY: the header's promise.
    let found = unsafe { whole(event) };
    let found = if fields.is_null() { Err(ErrorCode::NullPointer) } else { found };
    // SAFETY: the header's promise.
    status(found.map(|event| unsafe { answer(fields, (&event).into()) }))
}

/// Writes the event as bytes that last, with a text of the caller's (what the failure said; NULL for none, cut after 65535
/// bytes), to `bytes`, which has room for `size`: HOLDOFF_EVENT_BYTES and the length of the text are always enough. A log is
/// its events' bytes one after the other.
///
/// Returns how many there are; 0 when they do not fit, for NULL, for memory that holds no event, and for a text that is no
/// UTF-8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_event_bytes(
    event: *const holdoff_event,
    failure: *const c_char,
    bytes: *mut c_char,
    size: usize,
) -> usize {
    // SAFETY: the header's promise.
    let (event, failure, room) = unsafe { (whole(event), note(failure), room(bytes, size)) };
    match (event, failure) {
        (Ok(event), Ok(failure)) => event.to_bytes(failure.unwrap_or(""), room).unwrap_or(0),
        _ => 0,
    }
}

/// Reads the event that `length` bytes begin with. `used` is how many bytes it has; `failure` and `failure_length` its text,
/// which lies in `bytes` and has no zero at its end. These three may be NULL.
///
/// Returns 0; or HOLDOFF_ERROR_EVENT_CUT when the bytes end within it, HOLDOFF_ERROR_EVENT_DAMAGED, HOLDOFF_ERROR_EVENT_VERSION
/// or another HOLDOFF_ERROR_ number, and writes none of them. Either way `problem` (which may be NULL) says what is wrong.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_event_from_bytes(
    event: *mut holdoff_event,
    bytes: *const c_char,
    length: usize,
    used: *mut usize,
    failure: *mut *const c_char,
    failure_length: *mut usize,
    problem: *mut holdoff_problem,
) -> c_int {
    // SAFETY: the header's promise.
    let bytes = unsafe { span(bytes, length) }.filter(|_| !event.is_null());
    let result = bytes.ok_or(holdoff_problem::of_use(ErrorCode::NullPointer)).and_then(|bytes| {
        let (read, text, rest) = Event::read(bytes).map_err(|error| holdoff_problem::of_event(&error))?;
        // SAFETY: the header's promise.
        unsafe {
            answer(event, read.into());
            answer(used, bytes.len() - rest.len());
            answer(failure, text.as_ptr().cast());
            answer(failure_length, text.len());
        }
        Ok(())
    });
    // SAFETY: the header's promise.
    unsafe { report(problem, result.err().unwrap_or(holdoff_problem::NONE)) }
}

/// Writes the event as JSON in one line into `text`, at most `size` bytes with the zero at its end: Aster's fields under
/// Aster's names, and the event's own. `task` is the name of the task and `failure` what the failure said; both may be NULL.
///
/// Returns the length of the whole line without the zero, as snprintf does; 0 for NULL, for memory that holds no event, and
/// for a text that is no UTF-8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_event_json(
    event: *const holdoff_event,
    task: *const c_char,
    failure: *const c_char,
    text: *mut c_char,
    size: usize,
) -> c_int {
    // SAFETY: the header's promise.
    let (event, task, failure) = unsafe { (whole(event), note(task), note(failure)) };
    let line = match (event, task, failure) {
        (Ok(event), Ok(task), Ok(failure)) => Some(event.json(&Notes { task, failure })),
        _ => None,
    };
    // SAFETY: the header's promise.
    unsafe { print(text, size, line.as_ref().map(|line| line as &dyn Display)) }
}

/// The event in memory of the caller's, if one is there: zeroes are none.
unsafe fn whole(event: *const holdoff_event) -> Result<Event, ErrorCode> {
    // SAFETY: passed on.
    unsafe { look_plain::<_, Event>(event) }.and_then(|event| event.check().map_err(|error| error.code))
}

/// A text of the caller's, if there is one.
unsafe fn note<'a>(note: *const c_char) -> Result<Option<&'a str>, ErrorCode> {
    // SAFETY: passed on.
    match unsafe { bytes(note) } {
        None => Ok(None),
        Some(bytes) => core::str::from_utf8(bytes).map(Some).map_err(|_| ErrorCode::WrongType),
    }
}
