//! The options of a policy and its guards: fields are set in any order, and held against each other when it is built.
//!
//! Programs in Rust set them by typed methods, documents and other languages by name. A field's row in `fields.rs` says what
//! it takes, what stands for it when it is not given, and which kinds have a use for it.

use crate::decide::backoff::Backoff;
use crate::decide::failure::FailureKind;
use crate::decide::guards::breaker::config::OPEN_TIMES;
use crate::decide::hint::{HintMode, HintOver};
use crate::decide::jitter::{self, Cap, Jitter};
use crate::decide::policy::{DeadlineFrom, DelayFrom, FOREVER, Limits, OnDeadline, Policy, RULES};
use crate::decide::record::{DELAYS, STAGES};
use crate::describe::preset::Preset;
use crate::describe::rules::Rules;
use crate::fields::Field;
use crate::time::Span;
use core::time::Duration;

mod guards;
mod policy;
mod preset;
mod set;
mod stage;
#[cfg(test)]
mod tests;

use stage::{StageOptions, nth};

/// The owner of a stage that no longer counts.
const NOBODY: u8 = u8::MAX;

/// The options of a policy and its guards: 6664 bytes of plain numbers, every bit pattern valid.
///
/// # Contract
/// Set what differs from the default, by the typed methods or by [`Options::set`] with a document's names, in any order.
/// Then [`Options::build`] is the policy, [`Options::rules`] are the rules of classification, and [`Options::budget`],
/// [`Options::breaker`] and the others the guards' configurations. A field that is not set has the preset's value, else the
/// default.
///
/// ```
/// use core::time::Duration;
/// use holdoff_core::{Backoff, Policy};
///
/// let backoff = Backoff::exponential(Duration::from_millis(50), 2.0).max(Duration::from_secs(10));
/// let policy = Policy::options().backoff(backoff).attempts(5).deadline(Duration::from_secs(30)).build()?;
/// # Ok::<(), holdoff_core::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
#[must_use]
pub struct Options {
    /// The value of each field by its number: a word's number, nanoseconds, a whole number, or the bits of a double.
    values: [u64; Field::LAST + 1],
    /// One bit for each field that is set, by its number.
    is_set: [u64; 2],
    stages: [StageOptions; STAGES],
    /// The owner of each stage: 0 for the policy, else the number of the rule; the first stage is the policy's.
    owners: [u8; STAGES],
    /// The index of each stage among its owner's.
    indexes: [u8; STAGES],
    /// The delays of lists, in the order in which they were given.
    delays: [u64; DELAYS],
    /// The stage of each delay.
    delay_of: [u8; DELAYS],
    /// The jitter, cap and hint of each rule.
    manners: [StageOptions; RULES],
    /// The attempts of each rule.
    rule_attempts: [u32; RULES],
    /// One bit for each owner whose stages were given as a list, so that their paths have an index.
    chained: u16,
    /// How many delays there are.
    listed: u8,
    /// How many stages were begun, the first not counted.
    more: u8,
    /// One bit for each rule that has attempts.
    has_attempts: u8,
    /// More stages or delays were added than there is room for.
    overflow: u8,
    /// The owner of the stage that was added last.
    latest: u8,
    /// How many open times of a breaker are listed; 0 for no list.
    open_listed: u8,
    /// The listed open times of a breaker after the first one.
    more_open: [u64; OPEN_TIMES - 1],
    rules: Rules,
}

const _: () = assert!(size_of::<Options>() == 6664);

impl Default for Options {
    fn default() -> Self {
        Self::NEW
    }
}

impl Policy {
    /// Options without any field set: those of the default policy.
    pub const fn options() -> Options {
        Options::NEW
    }
}

impl Options {
    /// Options without any field set.
    pub const NEW: Self = Self {
        values: [0; Field::LAST + 1],
        is_set: [0; 2],
        stages: [StageOptions::NEW; STAGES],
        owners: [0; STAGES],
        indexes: [0; STAGES],
        delays: [0; DELAYS],
        delay_of: [0; DELAYS],
        manners: [StageOptions::NEW; RULES],
        rule_attempts: [0; RULES],
        chained: 0,
        listed: 0,
        more: 0,
        has_attempts: 0,
        overflow: 0,
        latest: 0,
        open_listed: 0,
        more_open: [0; OPEN_TIMES - 1],
        rules: Rules::NONE,
    };

    /// True if a field is set. Fields of stages are in [`StageOptions`].
    const fn has(&self, field: Field) -> bool {
        let [low, high] = self.is_set;
        let word = if field.code() < 64 { low } else { high };
        word.wrapping_shr(field.code() as u32) & 1 == 1
    }

    /// The number of a field, 0 unless it was given.
    const fn at(&self, field: Field) -> u64 {
        match self.values.split_at_checked(field.code() as usize) {
            Some((_, [value, ..])) => *value,
            _ => 0,
        }
    }

    /// Gives a field that number.
    pub(crate) const fn put(&mut self, field: Field, number: u64) {
        if let Some(value) = nth(&mut self.values, field.code() as usize) {
            *value = number;
        }
        *self.word(field) |= 1_u64.wrapping_shl(field.code() as u32);
    }

    /// The word with the bit of a field.
    const fn word(&mut self, field: Field) -> &mut u64 {
        let [low, high] = &mut self.is_set;
        if field.code() < 64 { low } else { high }
    }

    const fn with(mut self, field: Field, number: u64) -> Self {
        self.put(field, number);
        self
    }

    const fn with_span(self, field: Field, span: Duration) -> Self {
        self.with(field, Span::from_duration(span).as_nanos())
    }

    /// Starts from a named policy and its guards instead of the default ones.
    pub const fn preset(self, preset: Preset) -> Self {
        self.with(Field::Preset, preset.code() as u64)
    }

    /// The number of the preset, 0 for none.
    const fn preset_code(&self) -> u8 {
        if self.has(Field::Preset) { self.at(Field::Preset) as u8 } else { 0 }
    }

    /// How delays grow; exponential from 100 ms by 2 up to 5 s unless given. Replaces the stages there are; call it before
    /// [`Options::then`] and [`Options::backoff_after`].
    pub const fn backoff(mut self, backoff: Backoff) -> Self {
        let [first, ..] = &mut self.stages;
        *first = StageOptions::of(backoff);
        self.owners = [NOBODY; STAGES];
        let [owner, ..] = &mut self.owners;
        *owner = 0;
        (self.more, self.chained, self.listed, self.overflow, self.latest) = (0, 0, 0, 0, 0);
        self
    }

    /// Delay after delay as they are listed, up to 64; the last one stays. Unless given, there is one attempt more.
    /// Replaces all stages there are.
    pub const fn delays(mut self, delays: &[Duration]) -> Self {
        self = self.backoff(Backoff::constant(Duration::ZERO));
        let [first, ..] = &mut self.stages;
        *first = StageOptions::NEW;
        first.put(Field::BackoffDelays, 0);
        let mut rest = delays;
        while let [delay, tail @ ..] = rest {
            self.overflow |= !self.list(0, Span::from_duration(*delay).as_nanos()) as u8;
            rest = tail;
        }
        self
    }

    /// Another backoff after `times` delays (1 to 268435455) of the one set last: `backoff(a).then(2, b)` is two delays of
    /// `a` and from then on `b`. Up to 16 in all.
    pub const fn then(mut self, times: u32, backoff: Backoff) -> Self {
        let (owner, index) = self.last_stage();
        if let Some(slot) = self.slot(owner, index)
            && let Some(last) = nth(&mut self.stages, slot)
        {
            last.put(Field::BackoffTimes, times as u64);
        }
        self.chained |= 1_u16.wrapping_shl(owner as u32);
        self.append(owner, index.wrapping_add(1), StageOptions::of(backoff))
    }

    /// Another backoff for one kind of failure: a throttled client may have to wait longer than others. A rule that holds for
    /// the kind, behind the rules there are; its delays count together with those of the policy.
    pub const fn backoff_after(mut self, kind: FailureKind, backoff: Backoff) -> Self {
        match self.rules.add_kind(kind) {
            Some(rule) => self.append(rule, 0, StageOptions::of(backoff)),
            None => {
                self.overflow = 1;
                self
            }
        }
    }

    /// The owner of the stage that was added last, and its index.
    const fn last_stage(&self) -> (u8, u8) {
        let mut index = 0_u8;
        while self.slot(self.latest, index.wrapping_add(1)).is_some() {
            index = index.wrapping_add(1);
        }
        (self.latest, index)
    }

    /// The slot of an owner's stage.
    const fn slot(&self, owner: u8, index: u8) -> Option<usize> {
        let (mut owners, mut indexes): (&[u8], &[u8]) = (&self.owners, &self.indexes);
        let (mut slot, mut left) = (0_usize, self.more.saturating_add(1));
        while let ([known, owners_left @ ..], [at, indexes_left @ ..]) = (owners, indexes)
            && left > 0
        {
            if *known == owner && *at == index {
                return Some(slot);
            }
            (owners, indexes) = (owners_left, indexes_left);
            (slot, left) = (slot.wrapping_add(1), left.wrapping_sub(1));
        }
        None
    }

    /// The slot of an owner's stage, begun if it is new. `None` if there is no room.
    const fn begin_stage(&mut self, owner: u8, index: u8) -> Option<usize> {
        if let Some(slot) = self.slot(owner, index) {
            return Some(slot);
        }
        let slot = (self.more as usize).saturating_add(1);
        if index as usize >= STAGES {
            return None;
        }
        match (nth(&mut self.stages, slot), nth(&mut self.owners, slot), nth(&mut self.indexes, slot)) {
            (Some(stage), Some(own), Some(at)) => (*stage, *own, *at) = (StageOptions::NEW, owner, index),
            _ => return None,
        }
        self.more = self.more.wrapping_add(1);
        Some(slot)
    }

    const fn append(mut self, owner: u8, index: u8, next: StageOptions) -> Self {
        match self.begin_stage(owner, index) {
            Some(slot) => {
                if let Some(stage) = nth(&mut self.stages, slot) {
                    *stage = next;
                }
                self.latest = owner;
            }
            None => self.overflow = 1,
        }
        self
    }

    /// Lists a delay for a stage; whether there was room.
    const fn list(&mut self, stage: u8, nanos: u64) -> bool {
        let index = self.listed as usize;
        let (Some(delay), Some(of)) = (nth(&mut self.delays, index), nth(&mut self.delay_of, index)) else {
            return false;
        };
        (*delay, *of) = (nanos, stage);
        self.listed = self.listed.wrapping_add(1);
        true
    }

    /// How delays are spread; full jitter unless given.
    pub const fn jitter(mut self, jitter: Jitter) -> Self {
        let (kind, by) = jitter.raw();
        *self.word(Field::JitterFactor) &= !1_u64.wrapping_shl(Field::JitterFactor.code() as u32);
        *self.word(Field::JitterBound) &= !1_u64.wrapping_shl(Field::JitterBound.code() as u32);
        *self.word(Field::JitterGrows) &= !1_u64.wrapping_shl(Field::JitterGrows.code() as u32);
        self.put(Field::JitterKind, kind as u64);
        if jitter::has_factor(kind) {
            self.put(Field::JitterFactor, by);
        } else if kind == jitter::BOUNDED {
            self.put(Field::JitterBound, by);
        }
        self
    }

    /// The value that the longest delay bounds: the jittered delay, its spread kept, unless set.
    pub const fn cap(self, cap: Cap) -> Self {
        self.with(Field::Cap, cap.code() as u64)
    }

    /// How many attempts there may be, the first one included: 1 to 4294967294; 3 unless given.
    pub const fn attempts(self, attempts: u32) -> Self {
        // The number that means "for ever" is out of range like 0: saying so needs the word.
        self.with(Field::Attempts, if attempts == FOREVER { 0 } else { attempts as u64 })
    }

    /// No limit on attempts.
    pub const fn forever(self) -> Self {
        self.with(Field::Attempts, FOREVER as u64)
    }

    /// How long the whole operation may take, attempts included: above 0; without a limit unless given.
    pub const fn deadline(self, deadline: Duration) -> Self {
        self.with_span(Field::Deadline, deadline)
    }

    /// How many attempts of all failures together there may be: 1 to 4294967294; without a limit unless given.
    pub const fn total(self, total: u32) -> Self {
        self.with(Field::Total, if total == FOREVER { 0 } else { total as u64 })
    }

    /// The limit that ends an operation: the first of attempts and deadline unless given.
    pub const fn limits(self, limits: Limits) -> Self {
        self.with(Field::Limits, limits as u64)
    }

    /// The moment from which the deadline counts: the start unless given.
    pub const fn deadline_from(self, from: DeadlineFrom) -> Self {
        self.with(Field::DeadlineFrom, from as u64)
    }

    /// Lets the running attempt go on at the deadline, which then only stops attempts from beginning.
    pub const fn abort_at_deadline(self, aborts: bool) -> Self {
        self.with(Field::AbortAtDeadline, aborts as u64)
    }

    /// The moment from which a delay counts: the failure unless given.
    pub const fn delay_from(self, from: DelayFrom) -> Self {
        self.with(Field::DelayFrom, from as u64)
    }

    /// How long an attempt must run before it fails to begin the operation anew: above 0; no attempt does unless given.
    pub const fn reset_after(self, time: Duration) -> Self {
        self.with_span(Field::ResetAfter, time)
    }

    /// How much time an attempt must have left before the deadline to be worth starting; 0 unless given.
    pub const fn min_attempt(self, min_attempt: Duration) -> Self {
        self.with_span(Field::MinAttempt, min_attempt)
    }

    /// The behaviour when the next attempt would not fit before the deadline: stop unless set.
    pub const fn on_deadline(self, on_deadline: OnDeadline) -> Self {
        self.with(Field::OnDeadline, on_deadline as u64)
    }

    /// How long one attempt may take: above 0; without a limit unless given.
    pub const fn attempt_timeout(self, timeout: Duration) -> Self {
        self.with_span(Field::AttemptTimeout, timeout)
    }

    /// The use of a server's hint: floor unless set.
    pub const fn hint_mode(self, mode: HintMode) -> Self {
        self.with(Field::HintMode, mode as u64)
    }

    /// The longest hint that is obeyed; 60 s unless given.
    pub const fn hint_max(self, max: Duration) -> Self {
        self.with_span(Field::HintMax, max)
    }

    /// The use of a longer hint: stop unless set.
    pub const fn hint_over(self, over: HintOver) -> Self {
        self.with(Field::HintOver, over as u64)
    }

    /// How far a hint may move a delay beyond the policy's own; without a limit unless given.
    pub const fn hint_reach(self, reach: Duration) -> Self {
        self.with_span(Field::HintReach, reach)
    }

    /// These options with rules that were set before.
    pub const fn with_rules(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self
    }

    /// The rules, without the texts of their names and patterns: the preset's, unless some are given.
    pub const fn rules(&self) -> Rules {
        if self.rules.is_none() { Preset::rules_of(self.preset_code()) } else { self.rules }
    }
}
