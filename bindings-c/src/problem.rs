//! Problems of a configuration, in the caller's memory.

use crate::*;
use core::fmt::{self, Display};

/// A problem of a configuration or a saved state. It holds all its texts, which end with a zero and are cut, if need be,
/// after a whole character; nothing has to be freed.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct holdoff_problem {
    /// A HOLDOFF_ERROR_ number, or 0 for no problem.
    pub code: u32,
    /// The field, such as "backoff.max" or "backoff[1].delays[0]"; the name as it was given when no field has it.
    pub path: [c_char; 48],
    /// The value as it was given, texts in quotes; empty when the rule is not about one value.
    pub value: [c_char; 48],
    /// The rule of the field, such as "must be below the deadline".
    pub rule: [c_char; 256],
    /// The valid name or word nearest to an unknown one; empty when none is near.
    pub nearest: [c_char; 36],
}

impl holdoff_problem {
    pub(crate) const NONE: Self = Self { code: 0, path: [0; 48], value: [0; 48], rule: [0; 256], nearest: [0; 36] };

    /// A problem with a field.
    #[cold]
    #[inline(never)]
    pub(crate) fn about(code: ErrorCode, name: &str) -> Self {
        Self::from(code).at(&name)
    }

    /// Returns the problem with the name of its field.
    #[inline(never)]
    pub(crate) fn at(mut self, name: &dyn Display) -> Self {
        fill(&mut self.path, name);
        self
    }

    /// Returns the problem with the name that the caller used, unless it has that of a field.
    pub(crate) fn named(self, name: &str) -> Self {
        if self.path[0] == 0 { self.at(&name) } else { self }
    }

    /// Returns the problem with a text in the place of the value.
    #[cfg(feature = "json")]
    pub(crate) fn showing(mut self, value: &dyn Display) -> Self {
        fill(&mut self.value, value);
        self
    }

    /// Returns the problem with the value that the caller used.
    #[inline(never)]
    pub(crate) fn show(mut self, value: Value<'_>) -> Self {
        let out = &mut self.value;
        match value {
            Value::Text(text) => fill(out, &format_args!("\"{text}\"")),
            Value::Number { value, .. } => fill(out, &value),
            Value::Nanos(nanos) if nanos <= Span::MAX.as_nanos() => fill(out, &Span::from_nanos(nanos)),
            Value::Nanos(nanos) => fill(out, &format_args!("{nanos}ns")),
            Value::Flag(flag) => fill(out, &flag),
            Value::Other | Value::Nothing | Value::Empty | Value::NoItems => {}
        }
        self
    }

    /// Returns a problem with a rule and nothing else.
    #[inline(never)]
    pub(crate) fn of_rule(code: ErrorCode, rule: impl Display, nearest: Option<&str>) -> Self {
        let mut problem = Self { code: u32::from(code.code()), ..Self::NONE };
        fill(&mut problem.rule, &rule);
        fill(&mut problem.nearest, &nearest.unwrap_or(""));
        problem
    }
}

/// A problem of wrong use.
impl From<ErrorCode> for holdoff_problem {
    #[cold]
    #[inline(never)]
    fn from(error: ErrorCode) -> Self {
        Error::of_use(error).into()
    }
}

/// A problem of a field, or of fields that do not fit together.
impl From<Error> for holdoff_problem {
    #[cold]
    #[inline(never)]
    fn from(error: Error) -> Self {
        let mut problem = Self::of_rule(error.code, error.rule(), error.nearest);
        fill(&mut problem.value, &error.value);
        match (error.sequence(), error.name) {
            (0, _) => problem.at(&error.path()),
            (sequence, "") => problem.at(&format_args!("event {sequence}")),
            (sequence, name) => problem.at(&format_args!("event {sequence}, {name}")),
        }
    }
}

impl Display for holdoff_problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (shown(&self.path), shown(&self.value)) {
            ("", "") => {}
            (only, "") | ("", only) => write!(f, "{only}: ")?,
            (path, value) => write!(f, "{path} = {value}: ")?,
        }
        f.write_str(shown(&self.rule))?;
        match shown(&self.nearest) {
            "" => Ok(()),
            nearest => write!(f, "; did you mean \"{nearest}\"?"),
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

extern_c! {
    /// Writes the problem as one line into `text`, at most `size` bytes with the zero at its end:
    /// `atempts = 3: is not a field of a policy; did you mean "attempts"?`
    ///
    /// Returns the length of the whole line without the zero, as snprintf does, so that `size` or more means it was cut.
    /// `text` may be NULL when `size` is 0. Without a problem (NULL, or code 0) the line is empty.
    fn holdoff_problem_text(problem: *const holdoff_problem, text: *mut c_char, size) -> c_int =
        print(text, size, problem.as_ref().filter(|problem| problem.code != 0));
}

/// Does something, writes its problem, or that there is none, and returns the problem's number. In one place for all its
/// callers, because a problem is large.
///
/// # Safety
/// `out` is null or points to memory of the size of a problem.
#[inline(never)]
pub(crate) unsafe fn report(out: *mut holdoff_problem, work: &mut dyn FnMut() -> Result<(), holdoff_problem>) -> c_int {
    match work() {
        Ok(()) => {
            // SAFETY: passed on.
            unsafe { write(out, holdoff_problem::NONE) }
            0
        }
        Err(problem) => {
            // SAFETY: passed on.
            unsafe { write(out, problem) }
            c_int::try_from(problem.code).unwrap_or(c_int::MAX)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdoff_core::Field;

    #[test]
    fn every_rule_and_name_has_a_place() {
        for (name, field) in Field::names() {
            assert!(name.len() < 36, "{name}");
            for code in ErrorCode::ALL {
                assert!(code.rule(Some(field)).len() < 256, "{name}: {code:?}");
            }
        }
    }
}
