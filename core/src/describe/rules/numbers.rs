//! Rules from numbers: what is below the names and texts of a document.

use super::{Alternative, GRPC, HTTP, IDEMPOTENT, KINDS, Rules, SETS, UNSENT, slot};
use crate::decide::failure::FailureKind;
use crate::decide::grpc::GrpcCode;
use crate::decide::policy::RULES;
use crate::error::ErrorCode;

/// No entry of any list.
pub(super) const NO_ENTRY: u32 = u32::MAX;

/// How many statuses there are in a class.
const CLASS: u32 = 100;

impl Rules {
    /// Begins the rule with that index, which is one of those there are or the next one. Returns how many there were.
    ///
    /// # Errors
    /// An index beyond the next one, no room.
    pub fn begin(&mut self, rule: u8) -> Result<u8, ErrorCode> {
        if rule > self.rules {
            return Err(ErrorCode::WrongType);
        }
        if usize::from(rule) >= RULES {
            return Err(ErrorCode::TooManyRules);
        }
        let before = self.rules;
        self.rules = before.max(rule.saturating_add(1));
        Ok(before)
    }

    /// Takes rules that were begun away: so many are left.
    pub(crate) const fn end(&mut self, before: u8) {
        self.rules = before;
    }

    /// Sets what a rule says about retries: 0 nothing, 1 that it retries, 2 that it never does.
    pub fn set_word(&mut self, rule: u8, word: u8) {
        if let Some(slot) = self.retry.get_mut(usize::from(rule)) {
            *slot = word;
        }
    }

    /// Begins a rule that holds only if one of its alternatives does.
    ///
    /// # Errors
    /// As of [`Rules::begin`].
    pub fn begin_conditions(&mut self, rule: u8) -> Result<(), ErrorCode> {
        self.begin(rule)?;
        self.conditioned |= 1_u8.wrapping_shl(rule.into());
        Ok(())
    }

    /// The number of an alternative of a rule, which is its bit in [`Facts`](super::Facts); begun if it is new.
    ///
    /// # Errors
    /// As of [`Rules::begin`].
    pub fn alternative(&mut self, rule: u8, index: u8) -> Result<u8, ErrorCode> {
        self.begin(rule)?;
        let mut known = self.alternatives.iter().take(self.used.into());
        if let Some(number) = known.position(|known| known.rule == rule && known.index == index) {
            return Ok(number as u8);
        }
        let number = self.used;
        let slot = self.alternatives.get_mut(usize::from(number)).ok_or(ErrorCode::TooManyRules)?;
        *slot = Alternative { rule, index, ..Alternative::EMPTY };
        self.used = number.saturating_add(1);
        Ok(number)
    }

    /// Gives an alternative a condition, the bit that it has in the conditions; `begins` empties its list.
    ///
    /// # Errors
    /// No room for another set of statuses.
    pub fn set_list(&mut self, number: u8, condition: u8, begins: bool) -> Result<(), ErrorCode> {
        let Some(alternative) = self.alternatives.get_mut(usize::from(number)) else { return Ok(()) };
        let is_new = !alternative.has(condition);
        alternative.conditions |= condition;
        match condition {
            _ if !begins => {}
            GRPC => alternative.grpc = 0,
            KINDS => alternative.kinds = 0,
            HTTP => {
                if is_new {
                    if usize::from(self.sets) >= SETS {
                        return Err(ErrorCode::TooManyRules);
                    }
                    (alternative.set, self.sets) = (self.sets, self.sets.saturating_add(1));
                }
                if let Some(set) = self.statuses.get_mut(usize::from(alternative.set)) {
                    *set = [0; 8];
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds an entry to the list of an alternative: a status or, from 1 to 5, a class of statuses; a gRPC code; a kind of failure.
    /// For a condition that is true or false it is the value.
    ///
    /// # Errors
    /// A number that the list does not take.
    pub fn add(&mut self, number: u8, condition: u8, entry: u32) -> Result<(), ErrorCode> {
        let Some(alternative) = self.alternatives.get_mut(usize::from(number)) else { return Ok(()) };
        match condition {
            HTTP => {
                let is_class = matches!(entry, 1..=5);
                let (first, count) = if is_class { (entry.saturating_mul(CLASS), CLASS) } else { (entry, 1) };
                slot(first).ok_or(ErrorCode::HttpStatus)?;
                let Some(set) = self.statuses.get_mut(usize::from(alternative.set)) else { return Ok(()) };
                for (word, bit) in (first..).take(count as usize).filter_map(slot) {
                    if let Some(word) = set.get_mut(word) {
                        *word |= 1 << bit;
                    }
                }
            }
            GRPC => alternative.grpc |= 1 << GrpcCode::from_code(entry).ok_or(ErrorCode::GrpcCode)?.code(),
            KINDS => alternative.kinds |= 1 << FailureKind::from_code(entry).ok_or(ErrorCode::RetryKind)?.code(),
            IDEMPOTENT | UNSENT => {
                alternative.flags = alternative.flags & !condition | if entry != 0 { condition } else { 0 };
            }
            _ => return Err(ErrorCode::PatternText),
        }
        Ok(())
    }
}
