//! JSON text: policy documents, other systems' forms, saved states and events.

use crate::*;
use alloc::format;
use holdoff_core::{DocumentRules, DocumentValue, Event, Saved, Value, ValueOwner, read_values};
use serde::de::IgnoredAny;

extern_c! {
    /// Sets the fields of a policy document given as JSON text of `length` bytes (a zero at its end need not be there), its
    /// "retry_on" included; for patterns lend room first. In a document every time is text with its unit.
    ///
    /// Only the library's feature "json" has it, which is on by default; while it reads, it takes memory by malloc, gives
    /// it back by free, and calls abort when there is none.
    ///
    /// Returns 0 or the HOLDOFF_ERROR_ number of the first problem, HOLDOFF_ERROR_NOT_JSON included; holdoff_policy_build
    /// says it again, with an explanation.
    fn holdoff_options_read_json(options: *mut holdoff_options, text: *const c_char, length: usize) -> c_int = {
        let read_all = || read_json(slice(text, length)?, DOCUMENT, &mut |path, value| take(options, path, value));
        match get_mut(options) {
            Ok(_) => read_all().map_or_else(|problem| blame(options, problem), |()| 0),
            Err(error) => status(Err(error)),
        }
    };

    /// Reads the JSON that holdoff_saved_json or another language's save made: text of `length` bytes (a zero at its end
    /// need not be there). Takes memory as holdoff_options_read_json does.
    ///
    /// Returns 0 and writes `saved`; or a HOLDOFF_ERROR_ number and leaves it as it was. Either way `problem` (which may be
    /// NULL) says what is wrong, with code 0 for nothing. Fields that are missing or contradict each other are an error of
    /// resuming.
    fn holdoff_saved_from_json(saved: *mut holdoff_saved, text: *const c_char, length: usize,
        problem: *mut holdoff_problem) -> c_int = {
        let from_json = || {
            let mut state = Saved::EMPTY;
            read_json(slice(text, length)?, STATE, &mut |path, value| {
                state.set(path, value).map_err(|error| holdoff_problem::from(error).named(path))
            })?;
            Ok(store(saved, state)?)
        };
        report(problem, from_json())
    };

    /// Reads the JSON that holdoff_event_json or another language made: text of `length` bytes (a zero at its end need not
    /// be there). Aster's RETRY_SCHEDULED is read where it has what an event needs. The name of the task and what the
    /// failure said go to `task` and `failure`, which have room for `task_size` and `failure_size` bytes with the zero at
    /// their ends; NULL for a text that is not wanted; empty where the event has none. One with a zero in it ends there for
    /// C. Takes memory as holdoff_options_read_json does.
    ///
    /// Returns 0 and writes `event` and the texts; or HOLDOFF_ERROR_NO_ROOM for a text that does not fit, or another
    /// HOLDOFF_ERROR_ number, and leaves `event` as it was, but not what the texts were. Either way `problem` (which may be
    /// NULL) says what is wrong, with code 0 for nothing.
    fn holdoff_event_from_json(event: *mut holdoff_event, text: *const c_char, length: usize, task: *mut c_char,
        task_size: usize, failure: *mut c_char, failure_size: usize, problem: *mut holdoff_problem) -> c_int = {
        let (task, failure) = (buffer(task, task_size), buffer(failure, failure_size));
        let mut from_json = || {
            let text = slice(if event.is_null() { core::ptr::null() } else { text }, length)?;
            let (mut found, mut has_reason) = (Event::EMPTY, false);
            for text in [&mut *task, &mut *failure] {
                keep_text(text, "");
            }
            read_json(text, EVENT, &mut |path, value| {
                let memory = match found.set(path, value).map_err(|error| holdoff_problem::from(error).named(path))? {
                    ValueOwner::Event => return Ok(()),
                    ValueOwner::Task => &mut *task,
                    // Of the two places that say it, Aster's payload counts less.
                    ValueOwner::Failure if has_reason && path == "payload.reason" => return Ok(()),
                    ValueOwner::Failure => &mut *failure,
                };
                has_reason |= path == "failureReason";
                match value {
                    Value::Text(text) if !keep_text(memory, text) => {
                        Err(holdoff_problem::from(ErrorCode::NoRoom).at(&path))
                    }
                    _ => Ok(()),
                }
            })?;
            write(event, found.check()?.into());
            Ok(())
        };
        report(problem, from_json())
    };

    /// Reads a policy from JSON text of `length` bytes in another system's form (HOLDOFF_FORM_GRPC, ...), and the rules
    /// that it has for failures. `rules` may be NULL; otherwise `patterns` is room of `size` bytes for the texts of
    /// patterns, as for holdoff_options_keep_patterns (and may be NULL for a form without any). gRPC's retryThrottling is a
    /// budget, its hedgingPolicy a hedge: they go into `guards`, options that are begun anew, for holdoff_guards_init; NULL
    /// makes them an error (HOLDOFF_ERROR_NOT_SUPPORTED). The names of types of errors that Temporal's form has are left
    /// out: C has no such types. Takes memory as holdoff_options_read_json does.
    ///
    /// Returns 0 and writes `policy`, `rules` and `guards`; or a HOLDOFF_ERROR_ number and leaves the policy and the rules
    /// as they were. Either way `problem` (which may be NULL) says what is wrong, with code 0 for nothing.
    fn holdoff_form_read_json(form: u32, text: *const c_char, length: usize, policy: *mut holdoff_policy,
        rules: *mut holdoff_rules, patterns: *mut c_char, size: usize, guards: *mut holdoff_options,
        problem: *mut holdoff_problem) -> c_int = {
        let memory = buffer(patterns, size);
        let mut read_form = || {
            let mut used = 0;
            let mut reader = form_of(form)?.reader();
            read_json(slice(text, length)?, DOCUMENT, &mut |path, value| {
                let wrong = |problem: holdoff_problem| problem.at(&path).show(value);
                let text = reader.set(path, value).map_err(|error| wrong(error.into()))?;
                let text = text.filter(|_| !rules.is_null());
                crate::patterns::store(memory, &mut used, text).map_err(|error| wrong(error.into()))
            })?;
            let (built, described) = (reader.build()?, reader.guards()?);
            if !guards.is_null() {
                store(guards, described)?;
            } else if !described.has_no_guards() {
                // Losing them in silence would be worse than an error.
                let name = if matches!(described.budget(), Ok(None)) { "hedge" } else { "budget" };
                return Err(holdoff_problem::from(ErrorCode::NotSupported).at(&name));
            }
            store_policy(policy, built)?;
            if !rules.is_null() {
                put_rules(rules, reader.rules(), memory.get(..used).unwrap_or_default())?;
            }
            Ok(())
        };
        report(problem, read_form())
    };
}

/// Keeps a text with a zero at its end; whether there is room for it. Without any room it is not wanted.
fn keep_text(room: &mut [u8], text: &str) -> bool {
    match room.get_mut(..text.len().saturating_add(1)).and_then(<[u8]>::split_last_mut) {
        Some((end, kept)) => {
            kept.copy_from_slice(text.as_bytes());
            *end = 0;
            true
        }
        None => room.is_empty(),
    }
}

const DOCUMENT: DocumentRules = DocumentRules { unit: f64::NAN, groups: None, repeats: false };
const EVENT: DocumentRules = DocumentRules { unit: 1.0, groups: None, repeats: false };
const STATE: DocumentRules = DocumentRules { unit: 1.0, groups: Some(&[]), repeats: false };

/// Takes a value by its path.
type Take<'r> = &'r mut dyn FnMut(&str, Value<'_>) -> Result<(), holdoff_problem>;

/// Hands on every value of a JSON text that has no other in it, in their order.
fn read_json(text: &[u8], rules: DocumentRules, take: Take<'_>) -> Result<(), holdoff_problem> {
    let not_json = holdoff_problem::from(ErrorCode::NotJson);
    let text = core::str::from_utf8(text).map_err(|_| not_json)?;
    let unreadable =
        |error: serde_json::Error| not_json.showing(&format!("line {} column {}", error.line(), error.column()));
    // All of it first: a text that is no JSON is refused as a whole.
    serde_json::from_str::<IgnoredAny>(text).map_err(unreadable)?;
    let mut input = serde_json::Deserializer::from_str(text);
    let set = |DocumentValue { path, value, broken, .. }: DocumentValue<'_>| match broken {
        Some(ErrorCode::Twice) => Err(holdoff_problem::from(ErrorCode::Twice).at(&path)),
        Some(code) => Err(holdoff_problem::from(code).show(value)),
        None => take(path, value),
    };
    read_values(&mut input, rules, set).map_err(|(error, problem)| problem.unwrap_or_else(|| unreadable(error)))
}
