//! A policy from its options, and the rules between its fields (spec 3).

use super::stage::StageOptions;
use super::{DELAYS, Options, nth};
use crate::decide::backoff::RawStage;
use crate::decide::jitter;
use crate::decide::policy::{
    COUNTED, COUNTED_FOREVER, COUNTED_TO, FOREVER, NOT_COUNTED, Policy, RULES, RawRule, STAGES, UNLIMITED,
};
use crate::decide::pool::{self, POOL, PoolWriter};
use crate::describe::preset::Preset;
use crate::error::{Error, ErrorCode, Quantity};
use crate::fields::Field;

impl Options {
    /// The policy, or the first rule that is broken (spec 3).
    ///
    /// # Errors
    /// An [`Error`] that names field, value and rule.
    pub const fn build(&self) -> Result<Policy, Error> {
        match self.build_any() {
            Ok(policy) if cfg!(not(feature = "rules")) => match self.ruled(&policy) {
                Some(error) => Err(error),
                None => Ok(policy),
            },
            built => built,
        }
    }

    /// [`Options::build`], also of a policy that is ruled in a build without rules.
    pub(super) const fn build_any(&self) -> Result<Policy, Error> {
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

    /// The error about the first field that makes a policy ruled, for a build without rules.
    const fn ruled(&self, p: &Policy) -> Option<Error> {
        if let Some(field) = p.ruled_field() {
            let in_stage = matches!(field, Field::JitterKind | Field::Cap | Field::HintMode);
            return Some(Error { in_stage, ..unshown(ErrorCode::NotSupported, field) });
        }
        let (mut rules, mut index): (&[RawRule], u8) = (&p.rules, 0);
        while let [rule, rest @ ..] = rules {
            if rule.decides() {
                let field = match () {
                    () if self.rules.is_none() => return Some(unshown(ErrorCode::NotSupported, Field::Preset)),
                    () if rule.counts != NOT_COUNTED => Field::Attempts,
                    () if rule.stages != 0 => Field::BackoffKind,
                    () => Field::JitterKind,
                };
                return Some(unshown(ErrorCode::NotSupported, field).of_rule(index));
            }
            (rules, index) = (rest, index.wrapping_add(1));
        }
        None
    }

    /// The policy with the fields that are set instead of its own.
    const fn over(&self, base: &Policy) -> Policy {
        let mut p = *base;
        if self.has(Field::JitterKind) {
            (p.jitter_by, p.grows) = (0, 0);
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

    /// Puts the stages of the policy and of its rules into `p`, and what follows from them.
    const fn stages(&self, base: &Policy, p: &mut Policy) -> Result<(), Error> {
        if self.overflow != 0 {
            return Err(unshown(ErrorCode::TooManyStages, Field::BackoffKind));
        }
        let [first, ..] = &self.stages;
        let chained = self.chained & 1 != 0;
        let mut pool = base.pool_of(0, base.stages);
        // Without a backoff of its own the policy has the preset's.
        if chained || !first.is_new() {
            let complete = first.has(Field::BackoffKind) || first.has(Field::BackoffDelays);
            let partial = !chained && !complete && self.preset_code() != 0;
            if partial && base.stages != 0 {
                return Err(unshown(ErrorCode::PresetStages, Field::BackoffKind));
            }
            let under = if partial { Some(&base.first) } else { None };
            pool = PoolWriter::NEW;
            (p.first, p.stages) = match self.chain(0, under, p.cap, &mut pool) {
                Ok(stages) => (RawStage::EMPTY, stages),
                Err(error) => return Err(error),
            };
            let record = pool::read(&pool.words, 0).0;
            if p.stages == 1 && record.is_simple() {
                (p.first, p.stages) = (record.stage, 0);
                pool = PoolWriter::NEW;
            }
        }
        if cfg!(not(feature = "powers")) && p.stages != 0 {
            return Err(unshown(ErrorCode::NotSupported, Field::BackoffKind));
        }
        p.pool = pool.words;
        if !self.has(Field::Attempts) {
            let limited = self.has(Field::Deadline) && p.deadline != UNLIMITED;
            p.attempts = match ends_in(&p.pool, 0, p.stages) {
                End::After(delays) if chained || !first.is_new() => delays.saturating_add(1),
                End::Open => FOREVER,
                _ if limited => FOREVER,
                _ => base.attempts,
            };
        }
        let number = if p.stages == 0 { 1 } else { p.stages };
        if !self.rules.is_none() {
            if let Err(error) = self.rule_stages(p, &mut pool, number) {
                return Err(error);
            }
        } else if !base.move_rules(p, &mut pool, number) {
            return Err(unshown(ErrorCode::TooManyStages, Field::BackoffKind));
        }
        p.pool = pool.words;
        if all_random(p) {
            if self.has(Field::JitterKind) && p.jitter != jitter::NONE {
                return Err(unshown(ErrorCode::NotForKind, Field::JitterKind));
            }
            (p.jitter, p.jitter_by, p.grows) = (jitter::NONE, 0, 0);
        }
        Ok(())
    }

    /// Builds the stages of an owner, one after the other, into a pool. Returns how many there are.
    const fn chain(&self, owner: u8, under: Option<&RawStage>, cap: u8, pool: &mut PoolWriter) -> Result<u8, Error> {
        let (mut index, mut until, mut timed) = (0_u8, 0, false);
        while let Some(options) = self.stage(owner, index) {
            let last = self.slot(owner, index.wrapping_add(1)).is_none() && self.last_index(owner) <= index;
            let options = match under {
                Some(base) => options.over(base),
                None => options,
            };
            let mut record = match options.build(cap) {
                Ok(record) => record,
                Err((code, field, given)) => {
                    let error = Error::new(code, field, given);
                    return Err(self.of_stage(Error { in_stage: field.is_shared(), ..error }, owner, index));
                }
            };
            let (mut delays, mut count) = ([0; DELAYS], 0);
            if record.is_list() {
                count = self.delays_of(self.slot(owner, index), &mut delays);
                record.stage.times = count as u32;
            }
            let ends = record.stage.times != 0;
            let misplaced = record.until != UNLIMITED && (owner != 0 || record.until <= until);
            let broken = match () {
                () if !last && !ends && record.until == UNLIMITED => {
                    Some((ErrorCode::TimesMissing, Field::BackoffTimes))
                }
                () if record.repeats && (!last || !ends) => Some((ErrorCode::RepeatPlace, Field::BackoffRepeat)),
                () if misplaced || record.repeats && (timed || record.until != UNLIMITED) => {
                    Some((ErrorCode::UntilPlace, Field::BackoffUntil))
                }
                () => None,
            };
            if let Some((code, field)) = broken {
                return Err(self.of_stage(unshown(code, field), owner, index));
            }
            if record.until != UNLIMITED {
                (until, timed) = (record.until, true);
            }
            if !pool.add(&record, delays.split_at(count).0) {
                return Err(self.of_stage(unshown(ErrorCode::TooManyStages, Field::BackoffKind), owner, index));
            }
            index = index.wrapping_add(1);
            if last {
                break;
            }
        }
        Ok(index)
    }

    /// The options of an owner's stage; of a stage between two that are given, none.
    const fn stage(&self, owner: u8, index: u8) -> Option<StageOptions> {
        match self.slot(owner, index) {
            Some(slot) => match self.stages.split_at_checked(slot) {
                Some((_, [stage, ..])) => Some(*stage),
                _ => None,
            },
            None if index < self.last_index(owner) => Some(StageOptions::NEW),
            None => None,
        }
    }

    /// The highest index of an owner's stages.
    const fn last_index(&self, owner: u8) -> u8 {
        let (mut owners, mut indexes): (&[u8], &[u8]) = (&self.owners, &self.indexes);
        let (mut left, mut last) = (self.more.saturating_add(1), 0);
        while let ([known, owners_left @ ..], [at, indexes_left @ ..]) = (owners, indexes)
            && left > 0
        {
            if *known == owner && *at > last {
                last = *at;
            }
            (owners, indexes, left) = (owners_left, indexes_left, left.wrapping_sub(1));
        }
        last
    }

    /// The delays of a list, in their order. Returns how many there are.
    const fn delays_of(&self, slot: Option<usize>, into: &mut [u64; DELAYS]) -> usize {
        let Some(slot) = slot else { return 0 };
        let (mut delays, mut of): (&[u64], &[u8]) = (&self.delays, &self.delay_of);
        let (mut left, mut count) = (self.listed, 0_usize);
        while let ([delay, delays_left @ ..], [stage, of_left @ ..]) = (delays, of)
            && left > 0
        {
            if *stage as usize == slot
                && let Some(into) = nth(into, count)
            {
                (*into, count) = (*delay, count.wrapping_add(1));
            }
            (delays, of, left) = (delays_left, of_left, left.wrapping_sub(1));
        }
        count
    }

    /// Builds the rules: their counts, and their stages into a pool behind the policy's.
    const fn rule_stages(&self, p: &mut Policy, pool: &mut PoolWriter, mut number: u8) -> Result<(), Error> {
        let mut rules = [RawRule::EMPTY; RULES];
        let mut rest: &mut [RawRule] = &mut rules;
        let mut index = 0_u8;
        while let [rule, others @ ..] = rest {
            if index >= self.rules.count() {
                break;
            }
            match self.rule(index, p.cap, pool, number) {
                Ok(raw) => *rule = raw,
                Err(error) => return Err(error.of_rule(index)),
            }
            number = number.saturating_add(rule.stages);
            if number > STAGES as u8 {
                return Err(unshown(ErrorCode::TooManyStages, Field::BackoffKind).of_rule(index));
            }
            (rest, index) = (others, index.wrapping_add(1));
        }
        p.rules = rules;
        if !p.has_deciding_rules() {
            p.rules = [RawRule::EMPTY; RULES];
        }
        Ok(())
    }

    const fn rule(&self, index: u8, cap: u8, pool: &mut PoolWriter, number: u8) -> Result<RawRule, Error> {
        let owner = index.wrapping_add(1);
        let mut rule = RawRule { kinds: self.rules.kinds(index), ..RawRule::EMPTY };
        let manner = match self.manners.split_at_checked(index as usize) {
            Some((_, [manner, ..])) => *manner,
            _ => StageOptions::NEW,
        };
        let given = self.has_attempts.wrapping_shr(index as u32) & 1 == 1;
        let attempts = match self.rule_attempts.split_at_checked(index as usize) {
            Some((_, [attempts, ..])) => *attempts,
            _ => 0,
        };
        let staged = self.stage(owner, 0).is_some();
        if self.rules.never_retries(index) && (given || staged || !manner.is_new()) {
            let field = if given { Field::Attempts } else { Field::BackoffKind };
            return Err(unshown(ErrorCode::NeverRetries, field));
        }
        let manner = match manner.choices(RawStage::EMPTY) {
            Ok(manner) => manner,
            Err((code, field, given)) => return Err(Error::new(code, field, given)),
        };
        if staged {
            let cap = match manner.cap {
                Some(own) => own,
                None => cap,
            };
            (rule.at, rule.number) = (pool.used as u8, number);
            rule.stages = match self.chain(owner, None, cap, pool) {
                Ok(stages) => stages,
                Err(error) => return Err(error),
            };
        }
        if manner.jitter.is_some() || manner.cap.is_some() || manner.hint.is_some() {
            rule.manner = (pool.used as u8).saturating_add(1);
            if !pool.add(&manner, &[]) {
                return Err(unshown(ErrorCode::TooManyStages, Field::BackoffKind));
            }
        }
        match given {
            true if attempts == FOREVER => rule.counts = COUNTED_FOREVER,
            true => (rule.attempts, rule.counts) = (attempts as u16, COUNTED_TO),
            false if staged => {
                if let End::After(delays) = ends_in(&pool.words, rule.at as usize, rule.stages) {
                    let most = if delays < u16::MAX as u32 { delays as u16 } else { u16::MAX - 1 };
                    (rule.attempts, rule.counts) = (most.saturating_add(1), COUNTED_TO);
                }
            }
            false => {}
        }
        Ok(rule)
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
            () if self.at(Field::JitterGrows) != 0 && !bounded => {
                return Some(unshown(ErrorCode::NotForKind, Field::JitterGrows));
            }
            () if own && factored && !self.has(Field::JitterFactor) => {
                return Some(unshown(ErrorCode::JitterFactorMissing, Field::JitterFactor));
            }
            () if own && bounded && !self.has(Field::JitterBound) => {
                return Some(unshown(ErrorCode::JitterBoundMissing, Field::JitterBound));
            }
            () if p.broken_jitter() => (ErrorCode::JitterFactorRange, Field::JitterFactor, p.jitter_by),
            () if p.attempts == 0 => (ErrorCode::AttemptsRange, Field::Attempts, 0),
            () if p.total == 0 => (ErrorCode::AttemptsRange, Field::Total, 0),
            () => match p.broken_limit() {
                Some((code, field)) => (code, field, self.at(field)),
                None => return None,
            },
        };
        Some(Error::new(code, field, field.takes().shown(number)))
    }

    /// The error with the index of its stage, where the stages were given as a list.
    const fn of_stage(&self, error: Error, owner: u8, index: u8) -> Error {
        let chained = self.chained.wrapping_shr(owner as u32) & 1 == 1;
        Error { stage: if chained { Some(index) } else { None }, ..error }
    }
}

const fn unshown(code: ErrorCode, field: Field) -> Error {
    Error::new(code, field, Quantity::None)
}

/// The end of a backoff.
enum End {
    /// The last delay stays, or it goes on growing.
    Never,
    /// A time ends a stage, or the stages begin again.
    Open,
    /// After so many delays.
    After(u32),
}

/// The end of the stages at a place of a pool.
const fn ends_in(pool: &[u64; POOL], at: usize, stages: u8) -> End {
    let (mut at, mut left, mut sum) = (at, stages, 0_u32);
    let (mut open, mut ends) = (false, false);
    while left > 0 {
        let (record, next) = pool::read(pool, at);
        open = open || record.until != UNLIMITED || record.repeats;
        ends = record.stage.times != 0;
        sum = sum.saturating_add(record.stage.times);
        (at, left) = (next, left.wrapping_sub(1));
    }
    match sum {
        _ if open => End::Open,
        _ if !ends => End::Never,
        _ if sum > COUNTED => End::After(COUNTED),
        _ => End::After(sum),
    }
}

/// True if every stage of the policy and of its rules is its own jitter.
const fn all_random(p: &Policy) -> bool {
    let mut random = if p.stages == 0 { p.first.is_random() } else { random_at(&p.pool, 0, p.stages) };
    let mut rules: &[RawRule] = &p.rules;
    while let [rule, rest @ ..] = rules {
        random = random && random_at(&p.pool, rule.at as usize, rule.stages);
        rules = rest;
    }
    random
}

/// True if every one of the stages at a place of a pool is its own jitter.
const fn random_at(pool: &[u64; POOL], at: usize, stages: u8) -> bool {
    let (mut at, mut left) = (at, stages);
    while left > 0 {
        let (record, next) = pool::read(pool, at);
        if !record.stage.is_random() {
            return false;
        }
        (at, left) = (next, left.wrapping_sub(1));
    }
    true
}

impl Policy {
    /// A pool with some of the records of this one's.
    const fn pool_of(&self, at: usize, count: u8) -> PoolWriter {
        let mut pool = PoolWriter::NEW;
        self.copy(at, count, &mut pool);
        pool
    }

    /// Adds some of the records of the pool to another one. False if there is no room.
    const fn copy(&self, at: usize, count: u8, pool: &mut PoolWriter) -> bool {
        let (mut at, mut left) = (at, count);
        while left > 0 {
            let (record, next) = pool::read(&self.pool, at);
            let (mut delays, mut n) = ([0; DELAYS], 0_u32);
            while record.is_list() && n < record.stage.times {
                if let Some(delay) = nth(&mut delays, n as usize) {
                    *delay = record.listed(&self.pool, n);
                }
                n = n.wrapping_add(1);
            }
            let Some((delays, _)) = delays.split_at_checked(n as usize) else { return false };
            if !pool.add(&record, delays) {
                return false;
            }
            (at, left) = (next, left.wrapping_sub(1));
        }
        true
    }

    /// Gives the rules of this policy to another one, their records behind those of a pool. False if there is no room.
    const fn move_rules(&self, p: &mut Policy, pool: &mut PoolWriter, number: u8) -> bool {
        let mut rules = self.rules;
        let mut rest: &mut [RawRule] = &mut rules;
        let mut number = number;
        while let [rule, others @ ..] = rest {
            let (at, manner) = (pool.used as u8, rule.manner);
            if !self.copy(rule.at as usize, rule.stages, pool) {
                return false;
            }
            (rule.at, rule.number) = (if rule.stages == 0 { 0 } else { at }, if rule.stages == 0 { 0 } else { number });
            number = number.saturating_add(rule.stages);
            if manner != 0 {
                rule.manner = (pool.used as u8).saturating_add(1);
                if !self.copy(manner.wrapping_sub(1) as usize, 1, pool) {
                    return false;
                }
            }
            rest = others;
        }
        p.rules = rules;
        true
    }
}

macro_rules! numbers {
    ($($number:ident: $type:ty = $field:ident)+) => {
        impl Policy {
            /// The number of a field that is no stage's; 0 of every other field, and of a field that the jitter has no use for.
            pub(in crate::describe) const fn number(&self, field: Field) -> u64 {
                match field {
                    Field::JitterFactor | Field::JitterBound | Field::JitterGrows if !field.fits(self.jitter) => 0,
                    $(Field::$field => self.$number as u64,)+
                    _ => 0,
                }
            }

            const fn set_number(&mut self, field: Field, number: u64) {
                match field {
                    Field::JitterFactor | Field::JitterBound | Field::JitterGrows if !field.fits(self.jitter) => {}
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
    grows: u8 = JitterGrows
    total: u32 = Total
    limits: u8 = Limits
    deadline_from: u8 = DeadlineFrom
    abort_at_deadline: u8 = AbortAtDeadline
    delay_from: u8 = DelayFrom
    reset_after: u64 = ResetAfter
}
