//! A policy by the numbers of its fields: how options, presets and JavaScript fill it, and how documents are written from it.

use crate::decide::backoff::{self, BackoffNumbers};
use crate::decide::hint::{HintMode, HintOver};
use crate::decide::jitter::Cap;
use crate::decide::policy::{DeadlineFrom, DelayFrom, FOREVER, Limits, OnDeadline, Policy, RuleNumbers, UNLIMITED};
use crate::decide::policy_table::{each_policy_number, kind_of_number};
use crate::decide::stage_numbers::{STAGES, StageNumbers};
use crate::fields::Field;
use crate::time::Span;

/// The getters of a policy, and its numbers by field.
macro_rules! numbers {
    (
        shared { $($(#[doc = $own_doc:literal])+ $own:ident: $own_type:ident, $own_field:ident, $own_kind:ident $own_more:tt;)+ }
        $($group:ident { $($(#[doc = $doc:literal])+ $member:ident: $type:ident, $field:ident, $kind:ident $more:tt;)+ })+
    ) => {
        impl Policy {
            /// The number of a field that is no stage's; 0 of every other field, and of a field that the jitter has no use for.
            pub(crate) fn number(&self, field: Field) -> u64 {
                match field {
                    $($(Field::$field => self.$member.into(),)+)+
                    _ => self.own.number(field).unwrap_or(0),
                }
            }

            /// Gives a field that is no stage's its number.
            pub(crate) fn put(&mut self, field: Field, number: u64) {
                match field {
                    $($(Field::$field => self.$member = number as $type,)+)+
                    _ => self.own.put(field, number),
                }
            }

            $($(#[doc = $own_doc])+ pub const fn $own(&self) -> kind_of_number!(type $own_kind) {
                kind_of_number!(read $own_kind self.own.$own)
            })+

            $($($(#[doc = $doc])+ pub const fn $member(&self) -> kind_of_number!(type $kind) {
                kind_of_number!(read $kind self.$member)
            })+)+
        }
    };
}

each_policy_number!(numbers);

impl Policy {
    /// The default policy without its backoff.
    pub(crate) const BLANK: Self = {
        let mut blank = Self { own_count: 0, ..Self::DEFAULT };
        blank.stages = [StageNumbers::EMPTY; STAGES];
        blank
    };

    /// How many stages and how many delays of lists there are.
    fn used(&self) -> [usize; 2] {
        if cfg!(not(feature = "powers")) {
            return [self.own_count.into(), 0];
        }
        let used = self.stages.iter().filter(|record| record.stage.kind != 0);
        used.fold([0, 0], |[stages, delays], record| {
            let listed = if record.is_list() { record.stage.times as usize } else { 0 };
            [stages.saturating_add(1), delays.saturating_add(listed)]
        })
    }

    /// Adds a stage for rule 0, the policy itself, or for the rule with that number. The policy's come first. False without room.
    pub(crate) fn add_stage(&mut self, rule: u8, record: &StageNumbers) -> bool {
        let [at, delays] = self.used();
        let Some(slot) = self.stages.get_mut(at) else { return false };
        *slot = *record;
        slot.delays = if record.is_list() { delays as u8 } else { 0 };
        match self.rule_mut(rule) {
            Some(rule) => {
                rule.at = if rule.stages == 0 { at as u8 } else { rule.at };
                rule.stages = rule.stages.saturating_add(1);
            }
            None => self.own_count = self.own_count.saturating_add(1),
        }
        true
    }

    /// Adds a delay to the list that was added last. False without room.
    pub(crate) fn add_delay(&mut self, nanos: u64) -> bool {
        let [stages, delays] = self.used();
        let last = stages.checked_sub(1).and_then(|last| self.stages.get_mut(last));
        let (Some(record), Some(slot)) = (last, self.delays.get_mut(delays)) else { return false };
        (*slot, record.stage.times) = (nanos, record.stage.times.saturating_add(1));
        true
    }

    pub(crate) fn rule_mut(&mut self, rule: u8) -> Option<&mut RuleNumbers> {
        if cfg!(feature = "rules") { self.rules.get_mut(usize::from(rule).checked_sub(1)?) } else { None }
    }
}

/// For JavaScript, whose main module reads the fields of a policy by itself and has no text of any.
#[doc(hidden)]
impl Policy {
    /// The default policy without its backoff, for [`Policy::give`].
    pub const fn blank() -> Self {
        Self::BLANK
    }

    /// Gives the field with that number its own. The kind of the backoff begins it, and its other fields follow.
    pub fn give(&mut self, field: u8, number: u64) {
        if cfg!(not(feature = "rules")) && field >= Field::Preset.code() {
            // Later fields need rules. The smallest module has no code for them.
            return;
        }
        match Field::from_code(field) {
            Some(Field::BackoffKind) => {
                self.add_stage(0, &StageNumbers::of(BackoffNumbers { kind: number as u8, ..BackoffNumbers::EMPTY }));
            }
            Some(field) if field.is_stages() => {
                if let Some(record) = self.stages.first_mut() {
                    record.put(field, number);
                }
            }
            Some(field) => self.put(field, number),
            None => {}
        }
    }

    /// Prepares the policy after [`Policy::give`]: call it before a machine reads the policy.
    pub fn given(&mut self) {
        if cfg!(feature = "rules") { self.prepare() } else { self.prepare_without_rules() }
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
            () if self.has_rules() => 2,
            () if !self.is_single() || kind == backoff::POLYNOMIAL || kind == backoff::DECORRELATED_V2 => 1,
            () => 0,
        }
    }
}
