//! A policy in the making: fields are collected in any order, and held against each other when it is built.

use super::draft::{Broken, Draft};
use crate::decide::backoff::{self, Backoff, Flat};
use crate::decide::failure::FailureKind;
use crate::decide::hint::{HintMode, HintOver};
use crate::decide::jitter::{self, Cap, Jitter};
use crate::decide::policy::{CLIP, FOREVER, OnDeadline, Policy};
use crate::decide::stages::{COUNTED, STAGES};
use crate::describe::preset::Preset;
use crate::describe::rules::Rules;
use crate::error::{ConfigError, ErrorCode, Given};
use crate::field::Field;
use crate::time::Span;
use core::time::Duration;

/// How many delays a policy's lists hold together: three a stage.
pub(super) const DELAYS: usize = STAGES * 3;

/// A policy in the making. Methods of Rust are typed; other languages and documents use [`PolicyBuilder::set`].
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(C)]
pub struct PolicyBuilder {
    pub(super) policy: Policy,
    /// One bit for each field that was set, by the field's number.
    pub(super) given: u64,
    pub(super) drafts: [Draft; STAGES],
    /// The delays of lists, in the order they were given.
    pub(super) delays: [u64; DELAYS],
    /// The stage that each is of.
    pub(super) delay_of: [u8; DELAYS],
    /// How many there are.
    pub(super) listed: u8,
    /// How many stages were begun, the first not counted.
    pub(super) more: u8,
    /// Whether the stages were given as a list, so that their paths have an index.
    pub(super) chained: u8,
    /// More stages or delays were added than there is room for.
    pub(super) overflow: u8,
    /// The number of the preset, 0 for none.
    pub(super) preset: u8,
    unused: u8,
    pub(super) rules: Rules,
}

/// The stage with that index.
pub(super) const fn nth(drafts: &mut [Draft], index: u8) -> Option<&mut Draft> {
    let mut left = index;
    let mut rest = drafts;
    while let [draft, tail @ ..] = rest {
        if left == 0 {
            return Some(draft);
        }
        left = left.wrapping_sub(1);
        rest = tail;
    }
    None
}

impl Default for PolicyBuilder {
    fn default() -> Self {
        Self::NEW
    }
}

impl Policy {
    /// A builder that starts from the default policy.
    #[must_use]
    pub const fn builder() -> PolicyBuilder {
        PolicyBuilder::NEW
    }
}

impl PolicyBuilder {
    pub(super) const NEW: Self = Self {
        policy: Policy::DEFAULT,
        given: 0,
        drafts: [Draft::NEW; STAGES],
        delays: [0; DELAYS],
        delay_of: [0; DELAYS],
        listed: 0,
        more: 0,
        chained: 0,
        overflow: 0,
        preset: 0,
        unused: 0,
        rules: Rules::NONE,
    };

    pub(super) const fn has(&self, field: Field) -> bool {
        self.given & field.bit() != 0
    }

    const fn give(&mut self, field: Field) {
        self.given |= field.bit();
    }

    /// Starts from a named policy instead of the default one: fields that are not set are the preset's.
    #[must_use]
    pub const fn preset(mut self, preset: Preset) -> Self {
        self.preset = preset.code();
        self
    }

    /// The preset that was set, whose guards are for [`GuardsBuilder::upon`](crate::GuardsBuilder::upon).
    #[must_use]
    pub fn chosen_preset(&self) -> Option<Preset> {
        Preset::ALL.into_iter().find(|preset| preset.code() == self.preset)
    }

    /// How delays grow; exponential from 100 ms by 2 up to 5 s unless set. Replaces all stages there are.
    #[must_use]
    pub const fn backoff(mut self, backoff: Backoff) -> Self {
        self.drafts = [Draft::NEW; STAGES];
        let [first, ..] = &mut self.drafts;
        *first = Draft::of(backoff);
        (self.more, self.chained, self.listed, self.overflow) = (0, 0, 0, 0);
        self
    }

    /// Delay after delay as they are listed, up to 18; the last one stays. Unless set, there is one attempt more.
    /// Replaces all stages there are.
    #[must_use]
    pub const fn delays(mut self, delays: &[Duration]) -> Self {
        self = self.backoff(Backoff::constant(Duration::ZERO));
        let [first, ..] = &mut self.drafts;
        *first = Draft::NEW;
        first.give(Field::BackoffDelays);
        let mut rest = delays;
        while let [delay, tail @ ..] = rest {
            self.overflow |= !self.list(0, Span::from_duration(*delay).as_nanos()) as u8;
            rest = tail;
        }
        self
    }

    /// Another backoff after `times` delays (1 to 536870911) of the one set last: `backoff(a).then(2, b)` is two delays of
    /// `a` and from then on `b`. Up to six in all.
    #[must_use]
    pub const fn then(mut self, times: u32, backoff: Backoff) -> Self {
        let mut next = Draft::of(backoff);
        if let Some(last) = nth(&mut self.drafts, self.more) {
            last.times = times;
            last.give(Field::BackoffTimes);
            next.on = last.on;
        }
        self.append(next)
    }

    /// Another backoff for one kind of failure: a throttled client may have to wait longer than others.
    #[must_use]
    pub const fn on(self, kind: FailureKind, backoff: Backoff) -> Self {
        let mut next = Draft::of(backoff);
        next.on = kind.code();
        next.give(Field::BackoffOn);
        self.append(next)
    }

    const fn append(mut self, next: Draft) -> Self {
        match nth(&mut self.drafts, self.more.saturating_add(1)) {
            Some(place) => {
                *place = next;
                self.more = self.more.wrapping_add(1);
            }
            None => self.overflow = 1,
        }
        self.chained = 1;
        self
    }

    /// Lists a delay for a stage; whether there was room.
    pub(super) const fn list(&mut self, stage: u8, nanos: u64) -> bool {
        let mut left = self.listed;
        let mut delays: &mut [u64] = &mut self.delays;
        let mut stages: &mut [u8] = &mut self.delay_of;
        while let ([delay, more @ ..], [of, others @ ..]) = (delays, stages) {
            if left == 0 {
                (*delay, *of) = (nanos, stage);
                self.listed = self.listed.wrapping_add(1);
                return true;
            }
            left = left.wrapping_sub(1);
            (delays, stages) = (more, others);
        }
        false
    }

    /// How delays are spread; full jitter unless set.
    #[must_use]
    pub const fn jitter(mut self, jitter: Jitter) -> Self {
        (self.policy.jitter, self.policy.jitter_by) = jitter.flat();
        self.given &= !(Field::JitterFactor.bit() | Field::JitterBound.bit());
        self.give(Field::JitterKind);
        if jitter::has_factor(self.policy.jitter) {
            self.give(Field::JitterFactor);
        } else if self.policy.jitter == jitter::BOUNDED {
            self.give(Field::JitterBound);
        }
        self
    }

    /// What the longest delay bounds; the jittered delay, its spread kept, unless set.
    #[must_use]
    pub const fn cap(mut self, cap: Cap) -> Self {
        self.policy.cap = cap.flat();
        self.give(Field::Cap);
        self
    }

    /// How many attempts there may be, the first one included: 1 to 4294967294; 3 unless set.
    #[must_use]
    pub const fn attempts(mut self, attempts: u32) -> Self {
        // The number that means "for ever" is out of range like 0: saying so needs the word.
        self.policy.attempts = if attempts == FOREVER { 0 } else { attempts };
        self.give(Field::Attempts);
        self
    }

    /// No limit on attempts.
    #[must_use]
    pub const fn forever(mut self) -> Self {
        self.policy.attempts = FOREVER;
        self.give(Field::Attempts);
        self
    }

    /// How long the whole operation may take, attempts included: above 0; without a limit unless set.
    #[must_use]
    pub const fn deadline(mut self, deadline: Duration) -> Self {
        self.policy.deadline = Span::from_duration(deadline).as_nanos();
        self.give(Field::Deadline);
        self
    }

    /// How much time an attempt must have left before the deadline to be worth starting; 0 unless set.
    #[must_use]
    pub const fn min_attempt(mut self, min_attempt: Duration) -> Self {
        self.policy.min_attempt = Span::from_duration(min_attempt).as_nanos();
        self.give(Field::MinAttempt);
        self
    }

    /// What happens when the next attempt would not fit before the deadline; stop unless set.
    #[must_use]
    pub const fn on_deadline(mut self, on_deadline: OnDeadline) -> Self {
        self.policy.on_deadline = on_deadline.code();
        self.give(Field::OnDeadline);
        self
    }

    /// How long one attempt may take: above 0; without a limit unless set.
    #[must_use]
    pub const fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.policy.attempt_timeout = Span::from_duration(timeout).as_nanos();
        self.give(Field::AttemptTimeout);
        self
    }

    /// What is done with a server's hint; floor unless set.
    #[must_use]
    pub const fn hint_mode(mut self, mode: HintMode) -> Self {
        self.policy.hint_mode = mode.code();
        self.give(Field::HintMode);
        self
    }

    /// The longest hint that is obeyed; 60 s unless set.
    #[must_use]
    pub const fn hint_max(mut self, max: Duration) -> Self {
        self.policy.hint_max = Span::from_duration(max).as_nanos();
        self.give(Field::HintMax);
        self
    }

    /// What is done with a longer one; stop unless set.
    #[must_use]
    pub const fn hint_over(mut self, over: HintOver) -> Self {
        self.policy.hint_over = over.code();
        self.give(Field::HintOver);
        self
    }

    /// How far a hint may move a delay beyond the policy's own; without a limit unless set.
    #[must_use]
    pub const fn hint_reach(mut self, reach: Duration) -> Self {
        self.policy.hint_reach = Span::from_duration(reach).as_nanos();
        self.give(Field::HintReach);
        self
    }

    /// What was set under `retry_on`: the rules, without the texts of their patterns.
    #[must_use]
    pub const fn rules(&self) -> Rules {
        self.rules
    }

    /// The policy, or the first rule that is broken (spec 3).
    ///
    /// # Errors
    /// A [`ConfigError`] that names field, value and rule.
    pub const fn build(self) -> Result<Policy, ConfigError> {
        let base = Preset::policy_of(self.preset);
        let mut p = self.upon(&base);
        if let Err(error) = self.stages(&base, &mut p) {
            return Err(error);
        }
        if let Some(error) = self.broken_rule(&p) {
            return Err(error);
        }
        Ok(p.prepared())
    }

    /// The fields that were given, and the preset's where none was.
    const fn upon(&self, base: &Policy) -> Policy {
        let mut p = *base;
        let given = &self.policy;
        if self.has(Field::JitterKind) {
            (p.jitter, p.jitter_by) = (given.jitter, given.jitter_by);
        } else if self.has(Field::JitterFactor) || self.has(Field::JitterBound) {
            p.jitter_by = given.jitter_by;
        }
        if self.has(Field::Cap) {
            p.cap = given.cap;
        }
        if self.has(Field::Attempts) {
            p.attempts = given.attempts;
        }
        if self.has(Field::Deadline) {
            p.deadline = given.deadline;
        }
        if self.has(Field::MinAttempt) {
            p.min_attempt = given.min_attempt;
        }
        if self.has(Field::OnDeadline) {
            p.on_deadline = given.on_deadline;
        }
        if self.has(Field::AttemptTimeout) {
            p.attempt_timeout = given.attempt_timeout;
        }
        if self.has(Field::HintMode) {
            p.hint_mode = given.hint_mode;
        }
        if self.has(Field::HintMax) {
            p.hint_max = given.hint_max;
        }
        if self.has(Field::HintOver) {
            p.hint_over = given.hint_over;
        }
        if self.has(Field::HintReach) {
            p.hint_reach = given.hint_reach;
        }
        p
    }

    /// Lays the stages down in `p`, and what follows from them.
    const fn stages(&self, base: &Policy, p: &mut Policy) -> Result<(), ConfigError> {
        let mut drafts = self.drafts;
        let [first, ..] = &mut drafts;
        if self.overflow != 0 {
            return Err(ConfigError::new(ErrorCode::TooManyStages, Field::BackoffKind, Given::Unshown));
        }
        let listed = self.chained != 0;
        if !listed && first.is_new() {
            // Whatever the preset has.
        } else {
            if !listed && self.preset != 0 && !first.has(Field::BackoffKind) && !first.has(Field::BackoffDelays) {
                if base.stages != 1 || base.first.kind == backoff::LIST {
                    return Err(ConfigError::new(ErrorCode::PresetStages, Field::BackoffKind, Given::Unshown));
                }
                *first = first.over(&base.first);
            }
            if let Err(error) = self.freeze(&drafts, p) {
                return Err(error);
            }
            if !self.has(Field::Attempts)
                && let Some(delays) = ends(p)
            {
                p.attempts = delays.saturating_add(1);
            }
        }
        if all_random(p) {
            if self.has(Field::JitterKind) && self.policy.jitter != jitter::NONE {
                return Err(ConfigError::new(ErrorCode::NotForKind, Field::JitterKind, Given::Unshown));
            }
            p.jitter = jitter::NONE;
            p.jitter_by = 0;
        }
        Ok(())
    }

    const fn freeze(&self, drafts: &[Draft; STAGES], p: &mut Policy) -> Result<(), ConfigError> {
        let mut flat = [Flat::EMPTY; STAGES];
        let mut free: &mut [Flat] = &mut flat;
        let mut rest: &[Draft] = drafts;
        let (mut index, mut used, mut tables) = (0_u8, 0_u8, 0_u8);
        while let [draft, tail @ ..] = rest {
            if index > self.more {
                break;
            }
            let stage = match draft.frozen(p.cap == jitter::CAP_CLIP) {
                Ok(stage) => stage,
                Err(Broken(code, field)) => return Err(self.at(code, field, draft.value(field), index)),
            };
            if draft.on != 0 {
                tables |= 1_u8.wrapping_shl(draft.on as u32);
            }
            if draft.times == 0
                && stage.kind != backoff::LIST
                && followed(tail, draft.on, self.more.wrapping_sub(index))
            {
                return Err(self.at(ErrorCode::TimesMissing, Field::BackoffTimes, Given::Unshown, index));
            }
            let Some((left, slots)) = self.lay(stage, index, free) else {
                return Err(self.at(ErrorCode::TooManyStages, Field::BackoffKind, Given::Unshown, index));
            };
            (free, used) = (left, used.wrapping_add(slots));
            rest = tail;
            index = index.wrapping_add(1);
        }
        let [first, others @ ..] = flat;
        (p.first, p.others, p.stages, p.tables) = (first, others, used, tables);
        if !followed(drafts, 0, self.more.wrapping_add(1)) {
            return Err(ConfigError::new(ErrorCode::NoStageForAll, Field::BackoffOn, Given::Unshown));
        }
        Ok(())
    }

    /// Lays a stage down in the free places: one, or one for each three delays of a list. What is left, and how many.
    const fn lay<'f>(&self, stage: Flat, index: u8, free: &'f mut [Flat]) -> Option<(&'f mut [Flat], u8)> {
        let mut free = free;
        if stage.kind != backoff::LIST {
            let [place, left @ ..] = free else { return None };
            *place = stage;
            return Some((left, 1));
        }
        let mut delays: &[u64] = &self.delays;
        let mut stages: &[u8] = &self.delay_of;
        let mut listed = self.listed;
        let (mut part, mut slots) = (Flat { initial: 0, step: 0, max: 0, times: 0, ..stage }, 0_u8);
        while let ([delay, more @ ..], [of, others @ ..]) = (delays, stages) {
            (delays, stages) = (more, others);
            if listed == 0 {
                break;
            }
            listed = listed.wrapping_sub(1);
            if *of != index {
                continue;
            }
            match part.times {
                0 => part.initial = *delay,
                1 => part.step = *delay,
                _ => part.max = *delay,
            }
            part.times = part.times.wrapping_add(1);
            if part.times == 3 {
                let [place, left @ ..] = free else { return None };
                (*place, free, slots) = (part, left, slots.wrapping_add(1));
                part = Flat { initial: 0, step: 0, max: 0, times: 0, ..stage };
            }
        }
        if part.times > 0 {
            let [place, left @ ..] = free else { return None };
            (*place, free, slots) = (part, left, slots.wrapping_add(1));
        }
        Some((free, slots))
    }

    const fn broken_rule(&self, p: &Policy) -> Option<ConfigError> {
        let factor = f64::from_bits(p.jitter_by);
        let (factored, bounded) = (jitter::has_factor(p.jitter), p.jitter == jitter::BOUNDED);
        let own = self.has(Field::JitterKind) || self.preset == 0;
        let error = match () {
            // Given both, only the later one is known.
            () if self.has(Field::JitterFactor) && self.has(Field::JitterBound) => {
                let useless = if bounded { Field::JitterFactor } else { Field::JitterBound };
                ConfigError::new(ErrorCode::NotForKind, useless, Given::Unshown)
            }
            () if self.has(Field::JitterFactor) && !factored => {
                number(ErrorCode::NotForKind, Field::JitterFactor, f64::from_bits(self.policy.jitter_by))
            }
            () if self.has(Field::JitterBound) && !bounded => {
                span(ErrorCode::NotForKind, Field::JitterBound, self.policy.jitter_by)
            }
            () if own && factored && !self.has(Field::JitterFactor) => {
                ConfigError::new(ErrorCode::JitterFactorMissing, Field::JitterFactor, Given::Unshown)
            }
            () if own && bounded && !self.has(Field::JitterBound) => {
                ConfigError::new(ErrorCode::JitterBoundMissing, Field::JitterBound, Given::Unshown)
            }
            () if factored
                && (!(factor >= 0.0 && factor < f64::INFINITY) || (p.jitter != jitter::ADDITIVE && factor > 1.0)) =>
            {
                number(ErrorCode::JitterFactorRange, Field::JitterFactor, factor)
            }
            () if p.attempts == 0 => number(ErrorCode::AttemptsRange, Field::Attempts, 0.0),
            () if p.deadline == 0 => span(ErrorCode::ZeroLimit, Field::Deadline, 0),
            () if p.attempt_timeout == 0 => span(ErrorCode::ZeroLimit, Field::AttemptTimeout, 0),
            () if p.min_attempt >= p.deadline => span(ErrorCode::MinAttemptRange, Field::MinAttempt, p.min_attempt),
            () if p.on_deadline == CLIP && p.min_attempt == 0 => {
                ConfigError::new(ErrorCode::ClipNeedsMinAttempt, Field::OnDeadline, Given::Unshown)
            }
            () => return None,
        };
        Some(error)
    }

    /// An error about a field of the stage with that index.
    const fn at(&self, code: ErrorCode, field: Field, given: Given, index: u8) -> ConfigError {
        let error = ConfigError::new(code, field, given);
        if self.chained != 0 { error.of_stage(index) } else { error }
    }
}

/// Whether one of the next `count` stages is for the same failures.
const fn followed(stages: &[Draft], on: u8, count: u8) -> bool {
    let mut rest = stages;
    let mut left = count;
    while let [stage, tail @ ..] = rest {
        if left == 0 {
            return false;
        }
        if stage.on == on {
            return true;
        }
        left = left.wrapping_sub(1);
        rest = tail;
    }
    false
}

/// How many delays the stages for every kind name, if they end.
const fn ends(p: &Policy) -> Option<u32> {
    let mut stage = &p.first;
    let mut rest: &[Flat] = &p.others;
    let (mut left, mut sum) = (p.stages, 0_u32);
    loop {
        if stage.on == 0 {
            if stage.times == 0 {
                return None;
            }
            sum = sum.saturating_add(stage.times);
        }
        left = left.saturating_sub(1);
        match rest {
            [next, tail @ ..] if left > 0 => (stage, rest) = (next, tail),
            _ => break,
        }
    }
    Some(if sum > COUNTED { COUNTED } else { sum })
}

/// Whether every stage is its own jitter.
const fn all_random(p: &Policy) -> bool {
    let mut all = p.first.is_random();
    let mut rest: &[Flat] = &p.others;
    let mut left = p.stages;
    while let [stage, tail @ ..] = rest {
        left = left.saturating_sub(1);
        all &= left == 0 || stage.is_random();
        rest = tail;
    }
    all
}

const fn number(code: ErrorCode, field: Field, value: f64) -> ConfigError {
    ConfigError::new(code, field, Given::Number(value))
}

const fn span(code: ErrorCode, field: Field, nanos: u64) -> ConfigError {
    ConfigError::new(code, field, Given::Span(Span::from_nanos(nanos)))
}

#[cfg(test)]
mod tests;
