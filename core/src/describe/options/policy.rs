//! A policy from its options, and the rules between its fields (spec 3).

use super::stage::StageOptions;
use super::{Options, nth};
use crate::decide::backoff::{self, RawStage};
use crate::decide::jitter;
use crate::decide::policy::Policy;
use crate::decide::policy::{COUNTED, STAGES};
use crate::describe::preset::Preset;
use crate::error::{Error, ErrorCode, Quantity};
use crate::fields::Field;

impl Options {
    /// The policy, or the first rule that is broken (spec 3).
    ///
    /// # Errors
    /// An [`Error`] that names field, value and rule.
    pub const fn build(&self) -> Result<Policy, Error> {
        let base = Preset::policy_of(self.preset_code());
        let mut p = self.over(&base);
        if let Err(error) = self.stages(&base, &mut p) {
            return Err(error);
        }
        if let Some(error) = self.broken(&p) {
            return Err(error);
        }
        Ok(p.prepared())
    }

    /// The policy with the fields that are set instead of its own.
    const fn over(&self, base: &Policy) -> Policy {
        let mut p = *base;
        if self.has(Field::JitterKind) {
            p.jitter_by = 0;
        }
        let mut fields = Field::ALL;
        while let [field, rest @ ..] = fields {
            if self.has(*field) {
                p.set_number(*field, self.at(*field));
            }
            fields = rest;
        }
        p
    }

    /// Puts the stages into `p`, and what follows from them.
    const fn stages(&self, base: &Policy, p: &mut Policy) -> Result<(), Error> {
        let mut stages = self.stages;
        let [first, ..] = &mut stages;
        if self.overflow != 0 {
            return Err(unshown(ErrorCode::TooManyStages, Field::BackoffKind));
        }
        let chained = self.chained != 0;
        // Without a backoff of its own the policy has the preset's.
        if chained || !first.is_new() {
            let complete = first.has(Field::BackoffKind) || first.has(Field::BackoffDelays);
            if !chained && !complete && self.preset_code() != 0 {
                if base.stages != 1 || base.first.kind == backoff::LIST {
                    return Err(unshown(ErrorCode::PresetStages, Field::BackoffKind));
                }
                *first = first.over(&base.first);
            }
            if let Err(error) = self.chain(&stages, p) {
                return Err(error);
            }
            if !self.has(Field::Attempts)
                && let Some(delays) = delays(p)
            {
                p.attempts = delays.saturating_add(1);
            }
        }
        if all_random(p) {
            if self.has(Field::JitterKind) && p.jitter != jitter::NONE {
                return Err(unshown(ErrorCode::NotForKind, Field::JitterKind));
            }
            (p.jitter, p.jitter_by) = (jitter::NONE, 0);
        }
        Ok(())
    }

    /// Builds stage after stage into `p`.
    const fn chain(&self, stages: &[StageOptions; STAGES], p: &mut Policy) -> Result<(), Error> {
        let mut flat = [RawStage::EMPTY; STAGES];
        let mut rest: &[StageOptions] = stages;
        let (mut index, mut used, mut tables) = (0_u8, 0, 0_u8);
        while let [options, tail @ ..] = rest {
            if index > self.more {
                break;
            }
            let stage = match options.build(p.cap) {
                Ok(stage) => stage,
                Err((code, field, given)) => return Err(self.of_stage(Error::new(code, field, given), index)),
            };
            if stage.on != 0 {
                tables |= 1_u8.wrapping_shl(stage.on as u32);
            }
            let endless = stage.times == 0 && stage.kind != backoff::LIST;
            if endless && followed(tail, stage.on, self.more.wrapping_sub(index)) {
                return Err(self.of_stage(unshown(ErrorCode::TimesMissing, Field::BackoffTimes), index));
            }
            if !self.push(stage, index, &mut flat, &mut used) {
                return Err(self.of_stage(unshown(ErrorCode::TooManyStages, Field::BackoffKind), index));
            }
            rest = tail;
            index = index.wrapping_add(1);
        }
        let [first, others @ ..] = flat;
        (p.first, p.others, p.stages, p.tables) = (first, others, used as u8, tables);
        if !followed(stages, 0, self.more.wrapping_add(1)) {
            return Err(unshown(ErrorCode::NoStageForAll, Field::BackoffOn));
        }
        Ok(())
    }

    /// Adds a stage behind the `used` ones, or a list as one stage for each three delays. False if there are too many.
    const fn push(&self, stage: RawStage, index: u8, flat: &mut [RawStage; STAGES], used: &mut usize) -> bool {
        if stage.kind != backoff::LIST {
            return add(flat, used, stage);
        }
        let empty = RawStage { initial: 0, step: 0, max: 0, times: 0, ..stage };
        let (mut delays, mut stages): (&[u64], &[u8]) = (&self.delays, &self.delay_of);
        let (mut left, mut count) = (self.listed, 0_u8);
        while let ([delay, more @ ..], [of, others @ ..]) = (delays, stages)
            && left > 0
        {
            (delays, stages, left) = (more, others, left.wrapping_sub(1));
            if *of != index {
                continue;
            }
            if count % 3 == 0 && !add(flat, used, empty) {
                return false;
            }
            let Some(part) = nth(flat, used.wrapping_sub(1)) else { return false };
            match count % 3 {
                0 => part.initial = *delay,
                1 => part.step = *delay,
                _ => part.max = *delay,
            }
            (part.times, count) = (part.times.wrapping_add(1), count.wrapping_add(1));
        }
        true
    }

    /// The first rule between the fields that is broken.
    const fn broken(&self, p: &Policy) -> Option<Error> {
        let (factored, bounded) = (jitter::has_factor(p.jitter), p.jitter == jitter::BOUNDED);
        let own = self.has(Field::JitterKind) || self.preset_code() == 0;
        let (code, field, number) = match () {
            () if self.has(Field::JitterBound) && !bounded => {
                (ErrorCode::NotForKind, Field::JitterBound, self.at(Field::JitterBound))
            }
            () if self.has(Field::JitterFactor) && !factored => {
                (ErrorCode::NotForKind, Field::JitterFactor, self.at(Field::JitterFactor))
            }
            () if own && factored && !self.has(Field::JitterFactor) => {
                return Some(unshown(ErrorCode::JitterFactorMissing, Field::JitterFactor));
            }
            () if own && bounded && !self.has(Field::JitterBound) => {
                return Some(unshown(ErrorCode::JitterBoundMissing, Field::JitterBound));
            }
            () if p.broken_jitter() => (ErrorCode::JitterFactorRange, Field::JitterFactor, p.jitter_by),
            () if p.attempts == 0 => (ErrorCode::AttemptsRange, Field::Attempts, 0),
            () => match p.broken_limit() {
                Some((code, field)) => (code, field, self.at(field)),
                None => return None,
            },
        };
        Some(Error::new(code, field, field.takes().shown(number)))
    }

    /// The error with the index of its stage, where the stages were given as a list.
    const fn of_stage(&self, error: Error, index: u8) -> Error {
        if self.chained != 0 { error.of_stage(index) } else { error }
    }
}

const fn unshown(code: ErrorCode, field: Field) -> Error {
    Error::new(code, field, Quantity::None)
}

/// Adds a stage behind the `used` ones. False if there are too many.
const fn add(flat: &mut [RawStage; STAGES], used: &mut usize, stage: RawStage) -> bool {
    let Some(slot) = nth(flat, *used) else { return false };
    (*slot, *used) = (stage, used.wrapping_add(1));
    true
}

/// True if one of the next `count` stages is for the same failures.
const fn followed(stages: &[StageOptions], on: u8, count: u8) -> bool {
    let (mut rest, mut left) = (stages, count);
    while let [stage, tail @ ..] = rest
        && left > 0
    {
        if stage.on() == on {
            return true;
        }
        (rest, left) = (tail, left.wrapping_sub(1));
    }
    false
}

/// How many delays the stages for every kind of failure have, if they end.
const fn delays(p: &Policy) -> Option<u32> {
    let (all, mut sum) = (p.raw_stages(), 0_u32);
    let (mut rest, mut left): (&[RawStage], _) = (&all, p.stages);
    while let [stage, tail @ ..] = rest
        && left > 0
    {
        if stage.on == 0 && stage.times == 0 {
            return None;
        }
        sum = if stage.on == 0 { sum.saturating_add(stage.times) } else { sum };
        (rest, left) = (tail, left.wrapping_sub(1));
    }
    Some(if sum > COUNTED { COUNTED } else { sum })
}

/// True if every stage is its own jitter.
const fn all_random(p: &Policy) -> bool {
    let all = p.raw_stages();
    let (mut rest, mut left): (&[RawStage], _) = (&all, p.stages);
    while let [stage, tail @ ..] = rest
        && left > 0
    {
        if !stage.is_random() {
            return false;
        }
        (rest, left) = (tail, left.wrapping_sub(1));
    }
    true
}

macro_rules! numbers {
    ($($number:ident: $type:ty = $field:ident)+) => {
        impl Policy {
            /// The number of a field that is no stage's; 0 of every other field, and of a field that the jitter has no use for.
            pub(in crate::describe) const fn number(&self, field: Field) -> u64 {
                match field {
                    Field::JitterFactor | Field::JitterBound if !field.fits(self.jitter) => 0,
                    $(Field::$field => self.$number as u64,)+
                    _ => 0,
                }
            }

            const fn set_number(&mut self, field: Field, number: u64) {
                match field {
                    Field::JitterFactor | Field::JitterBound if !field.fits(self.jitter) => {}
                    $(Field::$field => self.$number = number as $type,)+
                    _ => {}
                }
            }
        }
    };
}

numbers! {
    jitter: u8 = JitterKind
    jitter_by: u64 = JitterFactor
    jitter_by: u64 = JitterBound
    cap: u8 = Cap
    attempts: u32 = Attempts
    deadline: u64 = Deadline
    min_attempt: u64 = MinAttempt
    on_deadline: u8 = OnDeadline
    attempt_timeout: u64 = AttemptTimeout
    hint_mode: u8 = HintMode
    hint_max: u64 = HintMax
    hint_over: u8 = HintOver
    hint_reach: u64 = HintReach
}
