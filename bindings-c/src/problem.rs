//! What is wrong with a configuration, in the caller's own memory.

use crate::boundary::answer;
use core::ffi::{c_char, c_int};
use core::fmt::{self, Write};
use holdoff_core::{ConfigError, ErrorCode, Field, Given, Span, Value};

/// What is wrong with a configuration. All texts are in here, end with a zero and are cut, if need be, after a whole
/// character; nothing has to be freed and nothing points anywhere.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct holdoff_problem {
    /// A HOLDOFF_ERROR_ number, or 0 for no problem.
    pub code: u32,
    /// The field, such as "backoff.max"; the name as it was given when no field has it.
    pub path: [c_char; 48],
    /// The value as it was given, texts in quotes; empty when the rule is not about one value.
    pub value: [c_char; 48],
    /// What the field must be, such as "must be below the deadline".
    pub rule: [c_char; 108],
    /// The valid name or word nearest to the one that was given; empty when none is near.
    pub nearest: [c_char; 32],
}

const _: () = {
    let mut at = 0;
    while at < ErrorCode::ALL.len() {
        let mut name = 0;
        while name < Field::names().len() {
            assert!(ErrorCode::ALL[at].rule(Some(Field::names()[name].1)).len() < 108);
            assert!(Field::names()[name].0.len() < 32);
            name += 1;
        }
        at += 1;
    }
};

impl holdoff_problem {
    pub(crate) const NONE: Self = Self { code: 0, path: [0; 48], value: [0; 48], rule: [0; 108], nearest: [0; 32] };

    /// A problem with the setting of `name` to `value`.
    pub(crate) fn of_setting(name: &str, value: Value<'_>, error: &ConfigError) -> Self {
        let mut problem = Self::new(name, error);
        let mut out = Cut::new(&mut problem.value);
        let _ = match value {
            Value::Text(text) => write!(out, "\"{text}\""),
            Value::Number { value, .. } => write!(out, "{value}"),
            Value::Nanos(nanos) if nanos <= Span::MAX.as_nanos() => write!(out, "{}", Span::from_nanos(nanos)),
            Value::Nanos(nanos) => write!(out, "{nanos}ns"),
            Value::Other | Value::Nothing | Value::Empty => Ok(()),
        };
        problem
    }

    /// A problem of fields that do not fit together.
    pub(crate) fn of_building(error: &ConfigError) -> Self {
        let mut problem = Self::new("", error);
        let mut out = Cut::new(&mut problem.value);
        let _ = match error.given {
            Given::Unshown => Ok(()),
            Given::Span(span) => write!(out, "{span}"),
            Given::Number(number) => write!(out, "{number}"),
        };
        problem
    }

    /// A problem of wrong use.
    pub(crate) fn of_use(error: ErrorCode) -> Self {
        let mut problem = Self { code: u32::from(error.code()), ..Self::NONE };
        let _ = Cut::new(&mut problem.rule).write_str(error.rule(None));
        problem
    }

    /// The same problem, with the name of what was to be set.
    pub(crate) fn at(mut self, name: &str) -> Self {
        let _ = Cut::new(&mut self.path).write_str(name);
        self
    }

    fn new(name: &str, error: &ConfigError) -> Self {
        let path = error.field.map_or(name, |field| field.path());
        let mut problem = Self { code: u32::from(error.code.code()), ..Self::NONE }.at(path);
        let _ = Cut::new(&mut problem.rule).write_str(error.rule());
        let _ = Cut::new(&mut problem.nearest).write_str(error.nearest.unwrap_or(""));
        problem
    }

    fn write(&self, out: &mut impl Write) -> fmt::Result {
        let (path, value) = (shown(&self.path), shown(&self.value));
        match (path, value) {
            ("", _) => {}
            (path, "") => write!(out, "{path}: ")?,
            (path, value) => write!(out, "{path} = {value}: ")?,
        }
        out.write_str(shown(&self.rule))?;
        match shown(&self.nearest) {
            "" => Ok(()),
            nearest => write!(out, "; did you mean \"{nearest}\"?"),
        }
    }
}

/// The text of a field, up to its zero; the caller may have written anything into it.
fn shown(field: &[c_char]) -> &str {
    let length = field.iter().position(|&c| c == 0).unwrap_or(field.len());
    let start = field.as_ptr().cast::<u8>();
    // SAFETY: the same memory under the type that its bytes have on every platform.
    let bytes = unsafe { core::slice::from_raw_parts(start, length) };
    core::str::from_utf8(bytes).unwrap_or("?")
}

/// Writes text into memory of a fixed size, cut after a whole character, with a zero at its end; counts what it wanted to
/// write.
struct Cut<'a> {
    room: &'a mut [c_char],
    wanted: usize,
    full: bool,
}

impl<'a> Cut<'a> {
    fn new(room: &'a mut [c_char]) -> Self {
        if let Some(first) = room.first_mut() {
            *first = 0;
        }
        Self { room, wanted: 0, full: false }
    }
}

impl Write for Cut<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            let mut buffer = [0; 4];
            let bytes = character.encode_utf8(&mut buffer).as_bytes();
            self.full |= self.wanted + bytes.len() >= self.room.len();
            if !self.full {
                for (cell, &byte) in self.room[self.wanted..].iter_mut().zip(bytes.iter().chain(&[0])) {
                    *cell = byte as c_char;
                }
            }
            self.wanted += bytes.len();
        }
        Ok(())
    }
}

/// Writes the problem as one line into `text`, at most `size` bytes with the zero at its end:
/// `atempts = 3: is no field of a policy; did you mean "attempts"?`
///
/// Returns the length of the whole line without the zero, as snprintf does, so that `size` or more means it was cut.
/// `text` may be NULL when `size` is 0. Without a problem (NULL, or code 0) the line is empty.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_problem_text(
    problem: *const holdoff_problem,
    text: *mut c_char,
    size: usize,
) -> c_int {
    let room = if text.is_null() || size == 0 {
        &mut [][..]
    } else {
        // SAFETY: the header's promise; not more than a slice may be.
        unsafe { core::slice::from_raw_parts_mut(text, size.min(4096)) }
    };
    let mut out = Cut::new(room);
    // SAFETY: the header's promise.
    if let Some(problem) = unsafe { problem.as_ref() }
        && problem.code != 0
    {
        let _ = problem.write(&mut out);
    }
    c_int::try_from(out.wanted).unwrap_or(c_int::MAX)
}

/// Answers with the number of a problem, and writes it to where the caller wants it.
///
/// # Safety
/// `place` is null or points to a problem.
pub(crate) unsafe fn report(place: *mut holdoff_problem, problem: holdoff_problem) -> c_int {
    // SAFETY: passed on.
    unsafe { answer(place, problem) }
    c_int::try_from(problem.code).unwrap_or(c_int::MAX)
}
