//! Rules from the paths and values of a document.

use super::numbers::NO_ENTRY;
use super::{CLASSES, GRPC, HTTP, HostText, IDEMPOTENT, KINDS, NEVER, RETRIES, Rules, UNSENT, list_of, slot};
use crate::decide::failure::FailureKind;
use crate::decide::grpc::GrpcCode;
use crate::error::{Error, ErrorCode};
use crate::nearest::nearest;
use crate::value::Value;

impl Rules {
    /// Sets what a rule says about retries.
    ///
    /// # Errors
    /// A value that is neither true nor false.
    pub(crate) fn set_retry(&mut self, rule: u8, value: Value<'_>) -> Result<(), Error> {
        let word = match value {
            Value::Nothing => return Ok(()),
            Value::Flag(true) => RETRIES,
            Value::Flag(false) => NEVER,
            _ => return Err(refused(ErrorCode::NotAFlag, value, None)),
        };
        self.set_word(rule, word);
        Ok(())
    }

    /// Sets a part of the `if` of a rule: one entry of a list, an empty list ([`Value::NoItems`]), true or false, or nothing at
    /// all ([`Value::Nothing`], and [`Value::Empty`] for conditions that always hold).
    ///
    /// `path` is what follows `if` in the document: `.http[0]`, `[1].patterns[2]`, or nothing. Entry 0 begins its list anew.
    ///
    /// # Errors
    /// An unknown path, a list that is none, an entry that is not what the list takes, no room.
    pub(crate) fn set_condition<'a>(
        &mut self,
        rule: u8,
        path: &str,
        value: Value<'a>,
    ) -> Result<Option<HostText<'a>>, Error> {
        let (place, rest) = alternative_slot(path);
        let mut changed = *self;
        changed.begin_conditions(rule).map_err(Error::of_use)?;
        if rest.is_empty() {
            match value {
                Value::Nothing if path.is_empty() => return Ok(None),
                Value::NoItems if path.is_empty() => {}
                Value::Empty => _ = changed.alternative(rule, place).map_err(Error::of_use)?,
                _ => return Err(refused(ErrorCode::WrongType, value, None)),
            }
            *self = changed;
            return Ok(None);
        }
        let (condition, index) = find(rest)?;
        if value == Value::Nothing && index.is_none() {
            changed.alternative(rule, place).map_err(Error::of_use)?;
            *self = changed;
            return Ok(None);
        }
        let text = changed.set_in(rule, place, condition, index, value)?;
        *self = changed;
        Ok(text)
    }

    pub(super) fn set_in<'a>(
        &mut self,
        rule: u8,
        nth: u8,
        condition: u8,
        index: Option<u32>,
        value: Value<'a>,
    ) -> Result<Option<HostText<'a>>, Error> {
        let number = self.alternative(rule, nth).map_err(Error::of_use)?;
        let begins = index == Some(0) || index.is_none();
        self.set_list(number, condition, begins).map_err(Error::of_use)?;
        let text = match (condition, index, value) {
            (IDEMPOTENT | UNSENT, None, Value::Flag(flag)) => {
                self.add(number, condition, flag.into()).map_err(Error::of_use)?;
                None
            }
            (IDEMPOTENT | UNSENT, ..) => return Err(refused(ErrorCode::NotAFlag, value, None)),
            (_, Some(_), Value::Text(text)) if list_of(condition).is_some() => Some(text),
            (_, Some(_), _) => {
                let near = || nearest_entry(condition, value);
                let added = self.add(number, condition, entry_of(condition, value));
                added.map_err(|code| refused(code, value, near()))?;
                None
            }
            (_, None, Value::NoItems) => None,
            (_, None, _) => return Err(refused(ErrorCode::NotAList, value, None)),
        };
        Ok(match (text, list_of(condition), index) {
            (Some(text), Some(list), _) => Some(HostText::Text { alternative: number, list, begins, text }),
            (None, Some(list), None) => Some(HostText::NoTexts { alternative: number, list }),
            _ => None,
        })
    }
}

/// The number of an entry of a list; [`NO_ENTRY`] for a value that is none.
fn entry_of(condition: u8, value: Value<'_>) -> u32 {
    let integer = if let Value::Number { value, .. } = value { exact(value) } else { None };
    let text = if let Value::Text(text) = value { text } else { "" };
    let entry = match condition {
        HTTP => {
            let class = (1..).zip(CLASSES).find(|class| class.1 == text).map(|class| class.0);
            class.or(integer.filter(|status| slot(*status).is_some()))
        }
        GRPC => integer.or(GrpcCode::parse(text).map(|code| code.code().into())),
        KINDS => FailureKind::from_name(text).map(|kind| kind.code().into()),
        _ => None,
    };
    entry.unwrap_or(NO_ENTRY)
}

/// The word of a list that is nearest to a value.
#[cold]
fn nearest_entry(condition: u8, value: Value<'_>) -> Option<&'static str> {
    let text = if let Value::Text(text) = value { text } else { "" };
    match condition {
        HTTP => nearest(text, CLASSES.into_iter()),
        GRPC => nearest(text, GrpcCode::ALL.into_iter().map(GrpcCode::name)),
        KINDS => nearest(text, FailureKind::ALL.into_iter().map(FailureKind::name)),
        _ => None,
    }
}

/// The number as an integer, if it is one.
fn exact(number: f64) -> Option<u32> {
    // The cast saturates, so that a number that is no integer in range does not come back equal.
    let integer = number as u32;
    if f64::from(integer) == number { Some(integer) } else { None }
}

/// The place of an alternative in the list of its rule, and the rest of the path: 0 for an `if` that is no list.
fn alternative_slot(path: &str) -> (u8, &str) {
    let inner = path.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let (place, rest) = match inner.and_then(|(digits, rest)| Some((place_in_list(digits)?, rest))) {
        Some((place, rest)) => (u8::try_from(place).unwrap_or(u8::MAX), rest),
        None => (0, path),
    };
    (place, rest.strip_prefix('.').unwrap_or(rest))
}

/// The condition that a path names, and the place of the entry when it names one.
pub(super) fn find(path: &str) -> Result<(u8, Option<u32>), Error> {
    let (name, index) = match path.split_once('[') {
        Some((name, rest)) => (name, rest.strip_suffix(']').and_then(place_in_list).map(Some)),
        None => (path, Some(None)),
    };
    match (Rules::CONDITIONS.into_iter().find(|known| known.0 == name), index) {
        (Some((_, condition)), Some(index)) => Ok((condition, index)),
        (known, _) => Err(unknown(name, known.map(|known| known.0))),
    }
}

/// Out of line, for a smaller stack.
#[cold]
#[inline(never)]
fn unknown(name: &str, known: Option<&'static str>) -> Error {
    let near = known.or_else(|| nearest(name, Rules::CONDITIONS.into_iter().map(|known| known.0)));
    refused(ErrorCode::UnknownField, Value::Other, near)
}

/// The digits between brackets as a number.
fn place_in_list(digits: &str) -> Option<u32> {
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// The one function that makes errors of rules. The code that set the value knows its path.
pub(crate) fn refused(code: ErrorCode, value: Value<'_>, nearest: Option<&'static str>) -> Error {
    Error { value: value.shown(), nearest, ..Error::of_use(code) }
}
