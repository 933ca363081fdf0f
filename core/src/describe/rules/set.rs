//! Rules from the paths and values of a document.

use super::{
    Alternative, CLASSES, CONDITIONS, GRPC, HTTP, HostText, IDEMPOTENT, KINDS, NEVER, RETRIES, Rules, SETS, UNSENT,
    list_of, slot,
};
use crate::decide::failure::FailureKind;
use crate::decide::grpc::GrpcCode;
use crate::decide::policy::RULES;
use crate::error::{Error, ErrorCode};
use crate::nearest::nearest;
use crate::value::Value;

impl Rules {
    /// Begins the rule with that index, which is one of those there are or the next one. Returns how many there were.
    pub(crate) fn begin(&mut self, rule: u8) -> Result<u8, Error> {
        if rule > self.rules {
            return Err(refused(ErrorCode::WrongType, Value::Other, None));
        }
        if usize::from(rule) >= RULES {
            return Err(refused(ErrorCode::TooManyRules, Value::Other, None));
        }
        let before = self.rules;
        self.rules = before.max(rule.saturating_add(1));
        Ok(before)
    }

    /// Takes rules that were begun away: so many are left.
    pub(crate) const fn end(&mut self, before: u8) {
        self.rules = before;
    }

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
        if let Some(slot) = self.retry.get_mut(usize::from(rule)) {
            *slot = word;
        }
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
        changed.begin(rule)?;
        changed.conditioned |= 1_u8.wrapping_shl(rule.into());
        if rest.is_empty() {
            match value {
                Value::Nothing if path.is_empty() => return Ok(None),
                Value::NoItems if path.is_empty() => {}
                Value::Empty => changed.alternative(rule, place).map(|_| ())?,
                _ => return Err(refused(ErrorCode::WrongType, value, None)),
            }
            *self = changed;
            return Ok(None);
        }
        let (condition, index) = find(rest)?;
        if value == Value::Nothing && index.is_none() {
            changed.alternative(rule, place)?;
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
        let number = self.alternative(rule, nth)?;
        let begins = index == Some(0) || index.is_none();
        if begins && condition == HTTP {
            self.begin_statuses(number)?;
        }
        let mut statuses = self.alternatives.get(number).map_or([0; 8], |alternative| *self.set_of(alternative));
        let Some(alternative) = self.alternatives.get_mut(number) else { return Ok(None) };
        alternative.conditions |= condition;
        let text = match (condition, index, value) {
            (IDEMPOTENT | UNSENT, None, Value::Flag(flag)) => {
                alternative.flags = alternative.flags & !condition | if flag { condition } else { 0 };
                None
            }
            (IDEMPOTENT | UNSENT, ..) => return Err(refused(ErrorCode::NotAFlag, value, None)),
            (_, None, Value::NoItems) | (_, Some(_), _) => {
                match condition {
                    GRPC if begins => alternative.grpc = 0,
                    KINDS if begins => alternative.kinds = 0,
                    _ => {}
                }
                match index {
                    Some(_) => alternative.add(condition, &mut statuses, value)?,
                    None => None,
                }
            }
            (_, None, _) => return Err(refused(ErrorCode::NotAList, value, None)),
        };
        let set = usize::from(alternative.set);
        if condition == HTTP
            && let Some(slot) = self.statuses.get_mut(set)
        {
            *slot = statuses;
        }
        let (number, list) = (number as u8, list_of(condition));
        Ok(match (text, list, index) {
            (Some(text), Some(list), _) => Some(HostText::Text { alternative: number, list, begins, text }),
            (None, Some(list), None) => Some(HostText::NoTexts { alternative: number, list }),
            _ => None,
        })
    }

    /// Gives an alternative an empty set of statuses of its own.
    fn begin_statuses(&mut self, number: usize) -> Result<(), Error> {
        let sets = usize::from(self.sets);
        let Some(alternative) = self.alternatives.get_mut(number) else { return Ok(()) };
        if !alternative.has(HTTP) {
            if sets >= SETS {
                return Err(refused(ErrorCode::TooManyRules, Value::Other, None));
            }
            (alternative.set, self.sets) = (self.sets, self.sets.saturating_add(1));
        }
        if let Some(set) = self.statuses.get_mut(usize::from(alternative.set)) {
            *set = [0; 8];
        }
        Ok(())
    }

    /// The number of an alternative of a rule, begun if it is new.
    fn alternative(&mut self, rule: u8, index: u8) -> Result<usize, Error> {
        self.begin(rule)?;
        let mut known = self.alternatives.iter().take(self.used.into());
        if let Some(number) = known.position(|known| known.rule == rule && known.index == index) {
            return Ok(number);
        }
        let number = usize::from(self.used);
        let Some(slot) = self.alternatives.get_mut(number) else {
            return Err(refused(ErrorCode::TooManyRules, Value::Other, None));
        };
        *slot = Alternative { rule, index, ..Alternative::EMPTY };
        self.used = self.used.saturating_add(1);
        Ok(number)
    }
}

impl Alternative {
    /// Adds an entry to one of its lists; returns the text that the host has to store.
    fn add<'a>(&mut self, list: u8, statuses: &mut [u64; 8], value: Value<'a>) -> Result<Option<&'a str>, Error> {
        let integer = if let Value::Number { value, .. } = value { exact(value) } else { None };
        let text = if let Value::Text(text) = value { text } else { "" };
        match list {
            HTTP => {
                let class = CLASSES.into_iter().find(|class| class.0 == text).map(|class| (class.1, 100));
                let status = integer.filter(|status| slot(*status).is_some()).map(|status| (status, 1));
                let near = || nearest(text, CLASSES.into_iter().map(|class| class.0));
                let (first, count) = class.or(status).ok_or_else(|| refused(ErrorCode::HttpStatus, value, near()))?;
                for (word, bit) in (first..).take(count).filter_map(slot) {
                    if let Some(word) = statuses.get_mut(word) {
                        *word |= 1 << bit;
                    }
                }
            }
            GRPC => {
                let code = integer.and_then(GrpcCode::from_code).or_else(|| GrpcCode::parse(text));
                let near = || nearest(text, GrpcCode::ALL.into_iter().map(GrpcCode::name));
                self.grpc |= 1 << code.ok_or_else(|| refused(ErrorCode::GrpcCode, value, near()))?.code();
            }
            KINDS => {
                let near = || nearest(text, FailureKind::ALL.into_iter().map(FailureKind::name));
                let kind = FailureKind::from_name(text).ok_or_else(|| refused(ErrorCode::RetryKind, value, near()))?;
                self.kinds |= 1 << kind.code();
            }
            _ if matches!(value, Value::Text(_)) => return Ok(Some(text)),
            _ => return Err(refused(ErrorCode::PatternText, value, None)),
        }
        Ok(None)
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
    match (CONDITIONS.into_iter().find(|known| known.0 == name), index) {
        (Some((_, condition)), Some(index)) => Ok((condition, index)),
        (known, _) => Err(unknown(name, known.map(|known| known.0))),
    }
}

/// Out of line, for a smaller stack.
#[cold]
#[inline(never)]
fn unknown(name: &str, known: Option<&'static str>) -> Error {
    let near = known.or_else(|| nearest(name, CONDITIONS.into_iter().map(|known| known.0)));
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
