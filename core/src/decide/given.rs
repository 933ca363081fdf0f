//! A policy from the numbers of a host that has read and checked its fields by itself.

use crate::decide::backoff::{self, RawStage};
use crate::decide::policy::{Policy, RawRule};
use crate::decide::record::Record;
use crate::fields::Field;

macro_rules! numbers {
    ($($name:ident = $field:ident),+ $(,)?) => { $(const $name: u8 = Field::$field.code();)+ };
}

numbers! {
    KIND = BackoffKind, INITIAL = BackoffInitial, FACTOR = BackoffFactor, INCREMENT = BackoffIncrement,
    EXPONENT = BackoffExponent, MAX = BackoffMax, TIMES = BackoffTimes, DELAYS = BackoffDelays, JITTER = JitterKind,
    JITTER_FACTOR = JitterFactor, JITTER_BOUND = JitterBound, CAP = Cap, ATTEMPTS = Attempts, DEADLINE = Deadline,
    MIN_ATTEMPT = MinAttempt, ON_DEADLINE = OnDeadline, ATTEMPT_TIMEOUT = AttemptTimeout, HINT_MODE = HintMode,
    HINT_MAX = HintMax, HINT_OVER = HintOver, HINT_REACH = HintReach,
}

/// For JavaScript, whose main module has no text of any field.
#[doc(hidden)]
impl Policy {
    /// The default policy without its backoff, for [`Policy::give`].
    pub fn blank() -> Self {
        let mut policy = Self { own: 0, ..Self::DEFAULT };
        if let Some(first) = policy.stages.first_mut() {
            *first = Record::EMPTY;
        }
        policy
    }

    /// Gives the field with that number its own: of the policy for rule 0, else of the rule, whose field 0 are the kinds of failures that
    /// it takes whatever else is known, one bit each. The kind of a backoff begins a stage, which has the fields of `backoff` that
    /// follow. The stages of the policy come first, then those of the rules, in order.
    pub fn give(&mut self, rule: u8, field: u8, number: u64) {
        if field == KIND {
            return self.begin_stage(rule, number as u8);
        }
        let [stages, lists] = self.used();
        let Some(record) = stages.checked_sub(1).and_then(|last| self.stages.get_mut(last)) else { return };
        let stage = &mut record.stage;
        let byte = number as u8;
        match field {
            0 if cfg!(feature = "rules") => {
                if let Some(rule) = self.rule_of(rule) {
                    rule.kinds = byte;
                }
            }
            INITIAL => stage.initial = number,
            FACTOR | INCREMENT | EXPONENT => stage.step = number,
            MAX => stage.max = number,
            TIMES if cfg!(feature = "powers") => stage.times = number as u32,
            DELAYS if cfg!(feature = "powers") => {
                stage.times = stage.times.saturating_add(1);
                if let Some(slot) = self.delays.get_mut(lists) {
                    *slot = number;
                }
            }
            JITTER_FACTOR | JITTER_BOUND => self.jitter_by = number,
            JITTER => self.jitter = byte,
            CAP => self.cap = byte,
            ATTEMPTS => self.attempts = number as u32,
            DEADLINE => self.deadline = number,
            MIN_ATTEMPT => self.min_attempt = number,
            ON_DEADLINE => self.on_deadline = byte,
            ATTEMPT_TIMEOUT => self.attempt_timeout = number,
            HINT_MODE => self.hint_mode = byte,
            HINT_MAX => self.hint_max = number,
            HINT_OVER => self.hint_over = byte,
            HINT_REACH => self.hint_reach = number,
            _ => {}
        }
    }

    /// How many stages and how many delays of lists there are.
    fn used(&self) -> [usize; 2] {
        if cfg!(not(feature = "powers")) {
            return [self.own.into(), 0];
        }
        let used = self.stages.iter().filter(|record| record.stage.kind != 0);
        used.fold([0, 0], |[stages, delays], record| {
            let listed = if record.is_list() { record.stage.times as usize } else { 0 };
            [stages.saturating_add(1), delays.saturating_add(listed)]
        })
    }

    fn begin_stage(&mut self, rule: u8, kind: u8) {
        let [at, lists] = self.used();
        if let Some(slot) = self.stages.get_mut(at) {
            let delays = if kind == backoff::LIST { lists as u8 } else { 0 };
            *slot = Record { delays, ..Record::of(RawStage { kind, ..RawStage::EMPTY }) };
        }
        match self.rule_of(rule) {
            Some(rule) => {
                rule.at = if rule.stages == 0 { at as u8 } else { rule.at };
                rule.stages = rule.stages.saturating_add(1);
            }
            None => self.own = self.own.saturating_add(1),
        }
    }

    fn rule_of(&mut self, rule: u8) -> Option<&mut RawRule> {
        if cfg!(feature = "rules") { self.rules.get_mut(usize::from(rule).checked_sub(1)?) } else { None }
    }

    /// The policy whose numbers are given, also one more of a policy that was made.
    #[must_use]
    pub fn given(self) -> Self {
        if cfg!(feature = "rules") { self.prepared() } else { self.prepared_without_rules() }
    }

    /// What a host must know without asking: deadline, time of an attempt, its limit and that of the first one. The highest number
    /// is no limit; for the first attempt one less says that its beginning is noted all the same.
    pub const fn limits_of_host(&self) -> [u64; 4] {
        [self.deadline, self.min_attempt, self.attempt_timeout, self.first_limit]
    }

    /// What a module must have for the policy: 0 nothing, 1 the crate's feature `powers`, 2 `rules`.
    pub const fn needs(&self) -> u32 {
        let kind = self.first().stage.kind;
        match () {
            () if self.is_ruled() => 2,
            () if !self.is_single() || kind == backoff::POLYNOMIAL || kind == backoff::DECORRELATED_V2 => 1,
            () => 0,
        }
    }

    /// The kinds and the stages of the rules that decide.
    pub fn given_rules(&self) -> impl Iterator<Item = (u8, impl Iterator<Item = crate::Stage>)> {
        self.rules.iter().filter(|rule| rule.decides()).map(|rule| (rule.kinds, self.stages_of(rule)))
    }
}
