//! JSON text: policy documents, other systems' forms, saved states and events.
//!
//! The reader knows no field. It flattens the text into (path, value) pairs and hands them on, as every language does with
//! its own objects, so that a document means the same everywhere.

use crate::boundary::{answer, drive, place, room, span};
use crate::errors::status;
use crate::forms::form_of;
use crate::log::event::holdoff_event;
use crate::options::{blame, holdoff_options, put_guards, take};
use crate::policy::{holdoff_policy, put};
use crate::problem::{holdoff_problem, report};
use crate::rules::{holdoff_rules, put_rules};
use crate::saved::holdoff_saved;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ffi::{c_char, c_int};
use core::fmt::{self, Write as _};
use holdoff_core::{ErrorCode, Event, FormKept, Kept, Operations, Policy, Saved, Taken, Value};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Sets the fields of a policy document given as JSON text of `length` bytes (a zero at its end need not be there), its
/// "retry_on" included; for patterns lend room first. In a document every time is text with its unit.
///
/// Only the library's feature "json" has it, which is on by default; while it reads, it takes memory by malloc, gives it back
/// by free, and calls abort when there is none.
///
/// Returns 0 or the HOLDOFF_ERROR_ number of the first problem, HOLDOFF_ERROR_NOT_JSON included; holdoff_policy_build says it
/// again, with an explanation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_options_read_json(
    options: *mut holdoff_options,
    text: *const c_char,
    length: usize,
) -> c_int {
    // SAFETY: the header's promise.
    if let Err(error) = unsafe { drive(options) } {
        return status(Err(error));
    }
    // SAFETY: the header's promise; the options are there.
    let read = unsafe { span(text, length) }.ok_or(holdoff_problem::of_use(ErrorCode::NullPointer)).and_then(|text| {
        // A document's times are text: a bare number would have no unit.
        // SAFETY: the options are there.
        read(text, false, &mut |path, item| unsafe { take(options, path, item.value(f64::NAN)) })
    });
    match read {
        Ok(()) => 0,
        // SAFETY: the options are there.
        Err(problem) => unsafe { blame(options, problem) },
    }
}

/// Reads the JSON that holdoff_saved_json or another language's save made: text of `length` bytes (a zero at its end need
/// not be there). Takes memory as holdoff_options_read_json does.
///
/// Returns 0 and writes `saved`; or a HOLDOFF_ERROR_ number and leaves it as it was. Either way `problem` (which may be NULL)
/// says what is wrong, with code 0 for nothing. Fields that are missing or contradict each other are an error of resuming.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_saved_from_json(
    saved: *mut holdoff_saved,
    text: *const c_char,
    length: usize,
    problem: *mut holdoff_problem,
) -> c_int {
    let mut state = Saved::EMPTY;
    // SAFETY: the header's promise.
    let text = unsafe { span(text, length) }.ok_or(holdoff_problem::of_use(ErrorCode::NullPointer));
    let result = text
        .and_then(|text| {
            read(text, true, &mut |path, item| {
                let wrong = |error| holdoff_problem::of_state(&error).named(path);
                state.set(path, item.value(1.0)).map_err(wrong)
            })
        })
        // SAFETY: the header's promise.
        .and_then(|()| unsafe { place(saved, state) }.map_err(holdoff_problem::of_use));
    // SAFETY: the header's promise.
    unsafe { report(problem, result.err().unwrap_or(holdoff_problem::NONE)) }
}

/// Reads the JSON that holdoff_event_json or another language made: text of `length` bytes (a zero at its end need not be
/// there). Aster's RETRY_SCHEDULED is read where it has what an event needs. The name of the task and what the failure said go
/// to `task` and `failure`, which have room for `task_size` and `failure_size` bytes with the zero at their ends; NULL for a
/// text that is not wanted; empty where the event has none. One with a zero in it ends there for C. Takes memory as
/// holdoff_options_read_json does.
///
/// Returns 0 and writes `event` and the texts; or HOLDOFF_ERROR_NO_ROOM for a text that does not fit, or another HOLDOFF_ERROR_
/// number, and leaves `event` as it was, but not what the texts were. Either way `problem` (which may be NULL) says what is wrong, with code 0 for nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_event_from_json(
    event: *mut holdoff_event,
    text: *const c_char,
    length: usize,
    task: *mut c_char,
    task_size: usize,
    failure: *mut c_char,
    failure_size: usize,
    problem: *mut holdoff_problem,
) -> c_int {
    // SAFETY: the header's promise.
    let (text, task, failure) = unsafe { (span(text, length), room(task, task_size), room(failure, failure_size)) };
    let text = text.filter(|_| !event.is_null());
    let result = text.ok_or(holdoff_problem::of_use(ErrorCode::NullPointer)).and_then(|text| {
        let (mut found, mut said) = (Event::EMPTY, false);
        for room in [&mut *task, &mut *failure] {
            keep_text(room, "");
        }
        read(text, false, &mut |path, item| {
            let taken =
                found.set(path, item.value(1.0)).map_err(|error| holdoff_problem::of_event(&error).named(path))?;
            let room = match taken {
                Taken::Here => return Ok(()),
                Taken::Task => &mut *task,
                // Of the two places that say it, Aster's payload counts less.
                Taken::Failure if said && path == "payload.reason" => return Ok(()),
                Taken::Failure => &mut *failure,
            };
            said |= path == "failureReason";
            match item {
                Item::Text(text) if !keep_text(room, text) => Err(holdoff_problem::of_use(ErrorCode::NoRoom).at(path)),
                _ => Ok(()),
            }
        })?;
        found.check().map_err(|error| holdoff_problem::of_event(&error))
    });
    // SAFETY: the header's promise.
    unsafe {
        report(
            problem,
            match result {
                Ok(checked) => {
                    answer(event, checked.into());
                    holdoff_problem::NONE
                }
                Err(problem) => problem,
            },
        )
    }
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

/// Reads a policy from JSON text of `length` bytes in another system's form (HOLDOFF_FORM_GRPC, ...), and the rules that it has
/// for failures. `rules` may be NULL; otherwise `patterns` is room of `size` bytes for the texts of patterns, as for
/// holdoff_options_keep_patterns (and may be NULL for a form without any). gRPC's retryThrottling is a budget, its
/// hedgingPolicy a hedge: they go into `guards`, options that are begun anew, for holdoff_guards_init; NULL makes them an error
/// (HOLDOFF_ERROR_NOT_SUPPORTED). The names of types of errors that Temporal's form has are left out: C has no such types.
/// Takes memory as holdoff_options_read_json does.
///
/// Returns 0 and writes `policy`, `rules` and `guards`; or a HOLDOFF_ERROR_ number and leaves the policy and the rules as they
/// were. Either way `problem` (which may be NULL) says what is wrong, with code 0 for nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_form_read_json(
    form: u32,
    text: *const c_char,
    length: usize,
    policy: *mut holdoff_policy,
    rules: *mut holdoff_rules,
    patterns: *mut c_char,
    size: usize,
    guards: *mut holdoff_options,
    problem: *mut holdoff_problem,
) -> c_int {
    // SAFETY: the header's promise.
    let (text, room) = unsafe { (span(text, length), room(patterns, size)) };
    let (mut used, mut index) = (0, 0);
    let result = form_of(form).and_then(|form| {
        let mut reader = form.reader();
        read(text.ok_or(holdoff_problem::of_use(ErrorCode::NullPointer))?, false, &mut |path, item| {
            let value = item.value(f64::NAN);
            let wrong = |error| holdoff_problem::of_form(&error).at(path).show(value);
            if let FormKept::Pattern(text) = reader.set(path, value).map_err(wrong)?
                && !rules.is_null()
            {
                let kept = Kept::Pattern { list: Operations::All, index, text };
                let full = |error| holdoff_problem::of_use(error).at(path).show(value);
                crate::patterns::keep(room, &mut used, kept).map_err(full)?;
                index += 1;
            }
            Ok(())
        })?;
        let built = reader.build().map_err(|error| holdoff_problem::of_form(&error))?;
        let described = reader.guards().map_err(|error| holdoff_problem::of_form(&error))?;
        if guards.is_null() && !described.is_new() {
            // Losing them in silence would be worse than an error.
            let name = if matches!(described.budget(), Ok(None)) { "hedge" } else { "budget" };
            return Err(holdoff_problem::of_use(ErrorCode::NotSupported).at(name));
        }
        if !guards.is_null() {
            // SAFETY: the header's promise; after placing them the options are there.
            unsafe {
                place(guards, Policy::builder()).map_err(holdoff_problem::of_use)?;
                put_guards(guards, described);
            }
        }
        // SAFETY: the header's promise.
        unsafe { put(policy, built) }.map_err(holdoff_problem::of_use)?;
        match rules.is_null() {
            true => Ok(()),
            // SAFETY: the header's promise.
            false => unsafe { put_rules(rules, reader.rules(), (patterns, used)) }.map_err(holdoff_problem::of_use),
        }
    });
    // SAFETY: the header's promise.
    unsafe { report(problem, result.err().unwrap_or(holdoff_problem::NONE)) }
}

/// How deep objects and lists of a document may lie in one another: no field lies deeper than four.
const DEPTH: u32 = 8;

/// A value of JSON that has no other in it.
#[derive(Clone, Copy)]
enum Item<'t> {
    Text(&'t str),
    Whole(u64),
    Number(f64),
    Null,
    Empty,
    NoItems,
    Other,
}

impl<'t> Item<'t> {
    /// The same for a field; `unit` is what a number without one counts.
    fn value(self, unit: f64) -> Value<'t> {
        match self {
            Self::Text(text) => Value::Text(text),
            // Exact where the field is a number of 64 bits, and no time.
            Self::Whole(number) if unit == 1.0 => Value::Nanos(number),
            Self::Whole(number) => Value::Number { value: number as f64, unit },
            Self::Number(value) => Value::Number { value, unit },
            Self::Null => Value::Nothing,
            Self::Empty => Value::Empty,
            Self::NoItems => Value::NoItems,
            Self::Other => Value::Other,
        }
    }
}

/// Takes a value by its path.
type Take<'r> = &'r mut dyn FnMut(&str, Item<'_>) -> Result<(), holdoff_problem>;

/// Hands on every value of a JSON text, in their order. In a flat one what lies deeper than a field is no value of any.
fn read(text: &[u8], flat: bool, take: Take<'_>) -> Result<(), holdoff_problem> {
    let mut reading = Reading { take, path: String::new(), level: 0, flat, refused: None };
    let read = core::str::from_utf8(text).map_err(|_| None).and_then(|text| {
        // All of it first: what is no JSON is refused as a whole.
        serde_json::from_str::<IgnoredAny>(text).map_err(Some)?;
        let mut input = serde_json::Deserializer::from_str(text);
        Node(&mut reading).deserialize(&mut input).map_err(Some)
    });
    match (read, reading.refused) {
        (_, Some(problem)) => Err(problem),
        (Err(error), None) => {
            let problem = holdoff_problem::of_use(ErrorCode::NotJson);
            let at = error.map(|error| format!("line {} column {}", error.line(), error.column()));
            Err(at.map_or(problem, |at| problem.showing(&at)))
        }
        (Ok(()), None) => Ok(()),
    }
}

struct Reading<'r> {
    take: Take<'r>,
    path: String,
    /// How many objects and lists the current value lies in.
    level: u32,
    flat: bool,
    refused: Option<holdoff_problem>,
}

impl Reading<'_> {
    fn put<E: Error>(&mut self, item: Item<'_>) -> Result<(), E> {
        if self.level == 0 {
            return self.stop(holdoff_problem::of_use(ErrorCode::NotAnObject).show(item.value(f64::NAN)));
        }
        match (self.take)(&self.path, item) {
            Ok(()) => Ok(()),
            Err(refused) => self.stop(refused),
        }
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
        if reading.flat && reading.level == 1 {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return reading.put(Item::Other);
        }
        let before = reading.path.len();
        let mut names: Vec<String> = Vec::new();
        reading.level += 1;
        while let Some(name) = map.next_key::<String>()? {
            if reading.level > 1 {
                reading.path.push('.');
            }
            reading.path.push_str(&name);
            if names.contains(&name) {
                return reading.stop(holdoff_problem::of_use(ErrorCode::Twice).at(&reading.path));
            }
            names.push(name);
            if reading.level > DEPTH {
                map.next_value::<IgnoredAny>()?;
                reading.put(Item::Other)?;
            } else {
                map.next_value_seed(Node(reading))?;
            }
            reading.path.truncate(before);
        }
        reading.level -= 1;
        if names.is_empty() && reading.level > 0 { reading.put(Item::Empty) } else { Ok(()) }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let reading = self.0;
        if reading.level == 0 || reading.flat {
            while list.next_element::<IgnoredAny>()?.is_some() {}
            return reading.put(Item::Other);
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
        if index == 0 { reading.put(Item::NoItems) } else { Ok(()) }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.0.put(Item::Text(text))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        self.0.put(Item::Whole(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        self.0.put(Item::Number(number as f64))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        self.0.put(Item::Number(number))
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.0.put(Item::Other)
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.0.put(Item::Null)
    }
}
