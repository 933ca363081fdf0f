//! A policy from its options, and the rules between its fields (spec 3).

use super::stage::StageOptions;
use super::{Options, nth};
use crate::decide::backoff::RawStage;
use crate::decide::jitter;
use crate::decide::policy::{
    COUNTED, COUNTED_FOREVER, COUNTED_TO, FOREVER, NOT_COUNTED, Policy, RULES, RawRule, UNLIMITED,
};
use crate::decide::record::{DELAYS, Record, STAGES, part};
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
        let mut chain = Chain::NEW;
        // Without a backoff of its own the policy has the preset's.
        if chained || !first.is_new() {
            let complete = first.has(Field::BackoffKind) || first.has(Field::BackoffDelays);
            let partial = !chained && !complete && self.preset_code() != 0;
            if partial && !base.is_single() {
                return Err(unshown(ErrorCode::PresetStages, Field::BackoffKind));
            }
            let under = if partial { Some(&base.first().stage) } else { None };
            if let Err(error) = self.chain(0, under, p.cap, &mut chain) {
                return Err(error);
            }
        } else {
            chain.copy(base, base.own_stages());
        }
        (p.stages, p.own) = (chain.stages, chain.used);
        if cfg!(not(feature = "powers")) && !(p.own == 1 && p.first().is_simple()) {
            return Err(unshown(ErrorCode::NotSupported, Field::BackoffKind));
        }
        if !self.has(Field::Attempts) {
            let limited = self.has(Field::Deadline) && p.deadline != UNLIMITED;
            p.attempts = match ends_in(p.own_stages()) {
                End::After(delays) if chained || !first.is_new() => delays.saturating_add(1),
                End::Open => FOREVER,
                _ if limited => FOREVER,
                _ => base.attempts,
            };
        }
        if !self.rules.is_none() {
            if let Err(error) = self.rule_stages(p, &mut chain) {
                return Err(error);
            }
        } else if !base.move_rules(p, &mut chain) {
            return Err(unshown(ErrorCode::TooManyStages, Field::BackoffKind));
        }
        (p.stages, p.delays) = (chain.stages, chain.delays);
        if all_random(p) {
            if self.has(Field::JitterKind) && p.jitter != jitter::NONE {
                return Err(unshown(ErrorCode::NotForKind, Field::JitterKind));
            }
            (p.jitter, p.jitter_by, p.grows) = (jitter::NONE, 0, 0);
        }
        Ok(())
    }

    /// Builds the stages of an owner behind those of a chain. Returns how many there are.
    const fn chain(&self, owner: u8, under: Option<&RawStage>, cap: u8, chain: &mut Chain) -> Result<u8, Error> {
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
                () if record.repeats != 0 && (!last || !ends) => Some((ErrorCode::RepeatPlace, Field::BackoffRepeat)),
                () if misplaced || record.repeats != 0 && (timed || record.until != UNLIMITED) => {
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
            chain.add(record, delays.split_at(count).0);
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

    /// Builds the rules: their counts, and their stages behind the policy's.
    const fn rule_stages(&self, p: &mut Policy, chain: &mut Chain) -> Result<(), Error> {
        let mut rules = [RawRule::EMPTY; RULES];
        let mut rest: &mut [RawRule] = &mut rules;
        let mut index = 0_u8;
        while let [rule, others @ ..] = rest {
            if index >= self.rules.count() {
                break;
            }
            match self.rule(index, p.cap, chain) {
                Ok(raw) => *rule = raw,
                Err(error) => return Err(error.of_rule(index)),
            }
            if chain.used > STAGES as u8 {
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

    const fn rule(&self, index: u8, cap: u8, chain: &mut Chain) -> Result<RawRule, Error> {
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
        rule.own = match manner.choices() {
            Ok(own) => own,
            Err((code, field, given)) => return Err(Error::new(code, field, given)),
        };
        if staged {
            let cap = match rule.own.cap() {
                Some(own) => own,
                None => cap,
            };
            rule.at = chain.used;
            rule.stages = match self.chain(owner, None, cap, chain) {
                Ok(stages) => stages,
                Err(error) => return Err(error),
            };
        }
        match given {
            true if attempts == FOREVER => rule.counts = COUNTED_FOREVER,
            true => (rule.attempts, rule.counts) = (attempts as u16, COUNTED_TO),
            false if staged => {
                if let End::After(delays) = ends_in(part(&chain.stages, rule.at, rule.stages as usize)) {
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

/// The end of stages that follow one another.
const fn ends_in(stages: &[Record]) -> End {
    let (mut stages, mut sum, mut open, mut ends) = (stages, 0_u32, false, false);
    while let [record, rest @ ..] = stages {
        open = open || record.until != UNLIMITED || record.repeats != 0;
        ends = record.stage.times != 0;
        sum = sum.saturating_add(record.stage.times);
        stages = rest;
    }
    match sum {
        _ if open => End::Open,
        _ if !ends => End::Never,
        _ if sum > COUNTED => End::After(COUNTED),
        _ => End::After(sum),
    }
}

/// True if every stage of the policy and of its rules, which stand behind its own, is its own jitter.
const fn all_random(p: &Policy) -> bool {
    let mut stages: &[Record] = &p.stages;
    while let [record, rest @ ..] = stages {
        if record.stage.kind != 0 && !record.stage.is_random() {
            return false;
        }
        stages = rest;
    }
    true
}

/// The stages of a policy and its rules, one behind the other, and the delays of their lists.
struct Chain {
    stages: [Record; STAGES],
    delays: [u64; DELAYS],
    /// How many stages were added, those without room included.
    used: u8,
    listed: u8,
}

impl Chain {
    const NEW: Self = Self { stages: [Record::EMPTY; STAGES], delays: [0; DELAYS], used: 0, listed: 0 };

    /// Adds a stage, of a list with its delays.
    const fn add(&mut self, record: Record, delays: &[u64]) {
        if let Some(slot) = nth(&mut self.stages, self.used as usize) {
            *slot = Record { delays: if record.is_list() { self.listed } else { 0 }, ..record };
        }
        self.used = self.used.saturating_add(1);
        let mut rest = delays;
        while let [delay, others @ ..] = rest {
            if let Some(slot) = nth(&mut self.delays, self.listed as usize) {
                *slot = *delay;
                self.listed = self.listed.saturating_add(1);
            }
            rest = others;
        }
    }

    /// Adds some of the stages of a policy.
    const fn copy(&mut self, policy: &Policy, stages: &[Record]) {
        let mut rest = stages;
        while let [record, others @ ..] = rest {
            self.add(*record, record.listed(&policy.delays));
            rest = others;
        }
    }
}

impl Policy {
    /// Gives the rules of this policy to another one, their stages behind those of a chain. False if there is no room.
    const fn move_rules(&self, p: &mut Policy, chain: &mut Chain) -> bool {
        let mut rules = self.rules;
        let mut rest: &mut [RawRule] = &mut rules;
        while let [rule, others @ ..] = rest {
            let at = chain.used;
            chain.copy(self, self.of_rule(rule));
            rule.at = if rule.stages == 0 { 0 } else { at };
            rest = others;
        }
        p.rules = rules;
        chain.used <= STAGES as u8
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
