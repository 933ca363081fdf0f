//! JSON text: policy documents, other systems' forms, saved states and events.
//!
//! The reader knows no field. It flattens the text into (path, value) pairs and hands them on, as every language does with
//! its own objects, so that a document means the same everywhere.

use crate::*;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use core::fmt::{self, Write as _};
use holdoff_core::{Event, Saved, Value, ValueOwner};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

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

/// The deepest level of objects and lists that is read: no field is deeper than four.
const DEPTH: u32 = 8;

/// The rules by which a text is read.
#[derive(Clone, Copy)]
struct Mode {
    /// The unit of numbers in nanoseconds, where whole numbers of 64 bits are exact; none where a time is a text with its
    /// unit.
    unit: f64,
    /// True if only the fields of the outermost object count.
    shallow: bool,
}

const DOCUMENT: Mode = Mode { unit: f64::NAN, shallow: false };
const EVENT: Mode = Mode { unit: 1.0, shallow: false };
const STATE: Mode = Mode { unit: 1.0, shallow: true };

/// Takes a value by its path.
type Take<'r> = &'r mut dyn FnMut(&str, Value<'_>) -> Result<(), holdoff_problem>;

/// Hands on every value of a JSON text that has no other in it, in their order.
fn read_json(text: &[u8], mode: Mode, take: Take<'_>) -> Result<(), holdoff_problem> {
    let mut reading = Reading { take, path: String::new(), level: 0, mode, refused: None };
    let read = core::str::from_utf8(text).map_err(|_| None).and_then(|text| {
        // All of it first: what is no JSON is refused as a whole.
        serde_json::from_str::<IgnoredAny>(text).map_err(Some)?;
        let mut input = serde_json::Deserializer::from_str(text);
        Node(&mut reading).deserialize(&mut input).map_err(Some)
    });
    match (read, reading.refused) {
        (_, Some(problem)) => Err(problem),
        (Err(error), None) => {
            let problem = holdoff_problem::from(ErrorCode::NotJson);
            let at = error.map(|error| format!("line {} column {}", error.line(), error.column()));
            Err(at.map_or(problem, |at| problem.showing(&at)))
        }
        (Ok(()), None) => Ok(()),
    }
}

struct Reading<'r> {
    take: Take<'r>,
    path: String,
    /// The number of objects and lists around the current value.
    level: u32,
    mode: Mode,
    refused: Option<holdoff_problem>,
}

impl Reading<'_> {
    fn put<E: Error>(&mut self, value: Value<'_>) -> Result<(), E> {
        if self.level == 0 {
            return self.stop(holdoff_problem::from(ErrorCode::NotAnObject).show(value));
        }
        (self.take)(&self.path, value).or_else(|refused| self.stop(refused))
    }

    fn stop<E: Error>(&mut self, refused: holdoff_problem) -> Result<(), E> {
        self.refused = Some(refused);
        Err(E::custom(""))
    }
}

/// The value under the current path, whatever it is.
struct Node<'n, 'r>(&'n mut Reading<'r>);

impl<'de> DeserializeSeed<'de> for Node<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<(), D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let reading = self.0;
        if reading.mode.shallow && reading.level == 1 {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return reading.put(Value::Other);
        }
        let before = reading.path.len();
        let mut names = BTreeSet::new();
        reading.level += 1;
        while let Some(name) = map.next_key::<String>()? {
            if reading.level > 1 {
                reading.path.push('.');
            }
            reading.path.push_str(&name);
            if !names.insert(name) {
                return reading.stop(holdoff_problem::from(ErrorCode::Twice).at(&reading.path));
            }
            if reading.level > DEPTH {
                map.next_value::<IgnoredAny>()?;
                reading.put(Value::Other)?;
            } else {
                map.next_value_seed(Node(reading))?;
            }
            reading.path.truncate(before);
        }
        reading.level -= 1;
        if names.is_empty() && reading.level > 0 { reading.put(Value::Empty) } else { Ok(()) }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let reading = self.0;
        if reading.level == 0 || reading.mode.shallow {
            while list.next_element::<IgnoredAny>()?.is_some() {}
            return reading.put(Value::Other);
        }
        let before = reading.path.len();
        let mut index = 0_u32;
        reading.level += 1;
        loop {
            let _ = write!(reading.path, "[{index}]");
            let next = if reading.level > DEPTH {
                list.next_element::<IgnoredAny>()?.map(|_| ())
            } else {
                list.next_element_seed(Node(reading))?
            };
            reading.path.truncate(before);
            if next.is_none() {
                break;
            }
            index = index.saturating_add(1);
        }
        reading.level -= 1;
        if index == 0 { reading.put(Value::NoItems) } else { Ok(()) }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.0.put(Value::Text(text))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        match self.0.mode.unit {
            1.0 => self.0.put(Value::Nanos(number)),
            _ => self.visit_f64(number as f64),
        }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        self.visit_f64(number as f64)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        let unit = self.0.mode.unit;
        self.0.put(Value::Number { value, unit })
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.0.put(Value::Other)
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.0.put(Value::Nothing)
    }
}
