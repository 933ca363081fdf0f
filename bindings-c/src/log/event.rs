//! One thing that happened to a call: as numbers, as bytes that last, and as JSON.

use crate::*;

numbers! {
    /// The most bytes that an event has without its text.
    HOLDOFF_EVENT_BYTES: usize = 56 is Event::MOST_BYTES;
}

impl holdoff_event {
    pub(crate) const NONE: Self = Self { state: [0; 8] };
}

impl From<Option<Event>> for holdoff_event {
    fn from(event: Option<Event>) -> Self {
        // SAFETY: 64 bytes of plain numbers without padding either way.
        event.map_or(Self::NONE, |event| Self { state: unsafe { core::mem::transmute::<Event, [u64; 8]>(event) } })
    }
}

c_struct! {
    /// The fields of an event. Numbers that its kind does not use are 0, times that it does not use are HOLDOFF_NEVER.
    holdoff_event_fields from event: Event {
        /// Its place in the log of its call, from 1.
        sequence: u64 = event.sequence(),
        /// The time of the event: the `now` that went in, never earlier than the event before it.
        at: u64 = event.at().as_nanos(),
        /// Retry scheduled: when the attempt is due. Gave up: when another try might succeed.
        until: u64 = event.until().as_nanos(),
        /// Retry scheduled: how long that is from `at`.
        delay_ns: u64 = event.delay().as_nanos(),
        /// Started: the seed of the call.
        seed: u64 = event.seed(),
        /// Started: the fingerprint of its policy, see holdoff_policy_fingerprint.
        policy: u64 = event.policy(),
        /// Attempt failed: what went wrong.
        failure: holdoff_failure = holdoff_failure::new(event.failure().map_or(0, FailureKind::code), event.rule().unwrap_or(0), event.hint()),
        /// A HOLDOFF_EVENT_ number.
        kind: u32 = event.kind().code().into(),
        /// The attempt that failed, that comes, or that runs now; at an end the last one that ran, 0 for none.
        attempt: u32 = event.attempt(),
        /// Retry scheduled: a HOLDOFF_CAUSE_ number.
        cause: u8 = event.cause().map_or(0, Cause::code),
        /// Gave up: a HOLDOFF_REASON_ number.
        reason: u8 = event.reason().map_or(0, StopReason::code),
        /// Started: whether the call shares guards.
        is_guarded: bool = event.is_guarded(),
    }
}

extern_c! {
    /// One thing that happened to a call: 64 bytes, to be copied as you like. holdoff_event_get reads its fields; the
    /// content is the library's.
    memory holdoff_event([u64; 8]) as event holds Event;

    /// Reads the fields of an event.
    ///
    /// Returns 0 and writes `fields`; or HOLDOFF_ERROR_NULL_POINTER, and for memory without a event, such as zeroed memory,
    /// HOLDOFF_ERROR_MISSING_EVENT_FIELD or HOLDOFF_ERROR_EVENT_DAMAGED.
    get holdoff_event_get(fields: *mut holdoff_event_fields) = write(not_null(fields)?, checked(event)?.into());

    /// Writes the event as bytes that last, with a text of the caller's (what the failure said; NULL for none, cut after
    /// 65535 bytes), to `bytes`, which has room for `size`: HOLDOFF_EVENT_BYTES and the length of the text are always
    /// enough. A log is its events' bytes one after the other.
    ///
    /// Returns how many there are; 0 when they do not fit, for NULL, for memory without a event, and for a text that is no
    /// UTF-8.
    get holdoff_event_bytes(failure: *const c_char, bytes: *mut c_char, size) -> usize =
        checked(event)?.to_bytes(note(failure)?.unwrap_or(""), buffer(bytes, size)).unwrap_or(0), else 0;

    /// Reads the event that `length` bytes begin with. `used` is how many bytes it has; `failure` and `failure_length` its
    /// text, which lies in `bytes` and has no zero at its end. These three may be NULL.
    ///
    /// Returns 0; or HOLDOFF_ERROR_EVENT_CUT when the bytes end within it, HOLDOFF_ERROR_EVENT_DAMAGED,
    /// HOLDOFF_ERROR_EVENT_VERSION or another HOLDOFF_ERROR_ number, and writes none of them. Either way `problem` (which
    /// may be NULL) says what is wrong.
    report holdoff_event_from_bytes(event: *mut holdoff_event, bytes: *const c_char, length, used: *mut usize,
        failure: *mut *const c_char, failure_length: *mut usize) = {
        let (event, bytes) = (not_null(event)?, slice(bytes, length)?);
        let (found, text, rest) = Event::read(bytes)?;
        write(event, Some(found).into());
        write(used, bytes.len() - rest.len());
        write(failure, text.as_ptr().cast());
        write(failure_length, text.len());
    };

    /// Writes the event as JSON in one line into `text`, at most `size` bytes with the zero at its end: Aster's fields
    /// under Aster's names, and the event's own. `task` is the name of the task and `failure` what the failure said; both
    /// may be NULL.
    ///
    /// Returns the length of the whole line without the zero, as snprintf does; 0 for NULL, for memory without a event, and
    /// for a text that is no UTF-8.
    get holdoff_event_json(task: *const c_char, failure: *const c_char, text: *mut c_char, size) -> c_int =
        print(text, size, Some(checked(event)?.json(&Notes { task: note(task)?, failure: note(failure)? }))),
        else print(text, size, None::<&str>);

    /// Reads the JSON that holdoff_event_json or another language made: text of `length` bytes (a zero at its end need not
    /// be there). Aster's RETRY_SCHEDULED is read where it has what an event needs. The name of the task and what the
    /// failure said go to `task` and `failure`, which have room for `task_size` and `failure_size` bytes with the zero at
    /// their ends; NULL for a text that is not wanted; empty where the event has none. One with a zero in it ends there for
    /// C. Takes memory as holdoff_options_read_json does.
    ///
    /// Returns 0 and writes `event` and the texts; or HOLDOFF_ERROR_NO_ROOM for a text that does not fit, or another
    /// HOLDOFF_ERROR_ number, and leaves `event` as it was, but not what the texts were. Either way `problem` (which may be
    /// NULL) says what is wrong, with code 0 for nothing.
    #[cfg(feature = "json")]
    report holdoff_event_from_json(event: *mut holdoff_event, text: *const c_char, length, task: *mut c_char,
        task_size: usize, failure: *mut c_char, failure_size: usize) = {
        let (task, failure) = (buffer(task, task_size), buffer(failure, failure_size));
        let (event, text) = (not_null(event)?, slice(text, length)?);
        let (mut found, mut has_reason) = (Event::EMPTY, false);
        for text in [&mut *task, &mut *failure] {
            keep_text(text, "");
        }
        json::read_json(text, json::EVENT, &mut |path, value| {
            let memory = match found.set(path, value).map_err(|error| holdoff_problem::from(error).named(path))? {
                ValueOwner::Event => return Ok(()),
                ValueOwner::Task => &mut *task,
                // `failureReason` counts more than the reason in Aster's payload.
                ValueOwner::Failure if has_reason && path == "payload.reason" => return Ok(()),
                ValueOwner::Failure => &mut *failure,
            };
            has_reason |= path == "failureReason";
            match value {
                Value::Text(text) if !keep_text(memory, text) => Err(holdoff_problem::about(ErrorCode::NoRoom, path)),
                _ => Ok(()),
            }
        })?;
        write(event, Some(found.check()?).into());
    };
}

/// The event in memory of the caller's, if one is there: zeroes are none.
fn checked(event: &Event) -> Result<Event, ErrorCode> {
    Ok(event.check()?)
}

/// A text of the caller's, if there is one.
unsafe fn note<'a>(note: *const c_char) -> Result<Option<&'a str>, ErrorCode> {
    // SAFETY: passed on.
    let text = unsafe { c_bytes(note) }.map(core::str::from_utf8);
    text.transpose().map_err(|_| ErrorCode::WrongType)
}

/// Keeps a text with a zero at its end; whether there is room for it. Without any room it is not wanted.
#[cfg(feature = "json")]
fn keep_text(room: &mut [u8], text: &str) -> bool {
    match room.get_mut(..text.len().saturating_add(1)).and_then(<[u8]>::split_last_mut) {
        Some((zero, kept)) => {
            kept.copy_from_slice(text.as_bytes());
            *zero = 0;
            true
        }
        None => room.is_empty(),
    }
}
