//! The fingerprint of a policy: a saved state and a log go on only under a policy that decides the same.

use crate::decide::backoff::RawStage;
use crate::decide::policy::{FOREVER, Policy, UNLIMITED};
use crate::decide::stage_numbers::{CAP, Choices, HINT, JITTER, StageNumbers};
use crate::fields::Field;
use crate::saved_bytes::Fnv;

impl Policy {
    /// A number that tells policies apart by what they decide: FNV-1a of 64 bits over the fields in the order of their
    /// numbers (spec 12.3).
    pub fn fingerprint(&self) -> u64 {
        let mut fnv = Fnv::LONG;
        let mut mix = |word: u64| fnv.add(&word.to_le_bytes());
        for record in self.own_stages() {
            self.mix_stage(record, &mut mix);
        }
        let Choices { jitter_by, hint_max, hint_reach, jitter, cap, hint_mode, hint_over, .. } = self.own;
        [jitter_by, self.deadline, self.min_attempt, self.attempt_timeout, hint_max, hint_reach, self.attempts.into()]
            .into_iter()
            .for_each(&mut mix);
        [jitter, cap, self.on_deadline, hint_mode, hint_over].map(u64::from).into_iter().for_each(&mut mix);
        if self.has_rules() {
            self.mix_rest(&mut mix);
        }
        fnv.hash
    }

    /// The numbers of a stage that every stage has.
    fn mix_stage(&self, record: &StageNumbers, mix: &mut impl FnMut(u64)) {
        let RawStage { initial, step, max, times, kind, .. } = record.stage;
        mix(kind.into());
        mix(times.into());
        if record.is_list() {
            record.listed(&self.delays).iter().copied().for_each(mix);
        } else {
            [initial, step, max].into_iter().for_each(mix);
        }
    }

    /// The numbers of the fields that a simple policy does not have: each value that is not the default, behind a number
    /// of its own.
    fn mix_rest(&self, mix: &mut impl FnMut(u64)) {
        mix_other(mix, Field::JitterGrows, self.own.grows.into(), 0);
        mix_other(mix, Field::Limits, self.limits.into(), 0);
        mix_other(mix, Field::DeadlineFrom, self.deadline_from.into(), 0);
        mix_other(mix, Field::DelayFrom, self.delay_from.into(), 0);
        mix_other(mix, Field::AbortAtDeadline, self.abort_at_deadline.into(), 1);
        mix_other(mix, Field::ResetAfter, self.reset_after, UNLIMITED);
        mix_other(mix, Field::Total, self.total.into(), FOREVER.into());
        for record in self.own_stages() {
            mix_extras(record, mix);
        }
        for (number, rule) in (0..).zip(&self.rules).filter(|(_, rule)| rule.decides()) {
            // The attempts are counted to a number, for ever, or not at all.
            let (attempts, counted) = match rule.attempts {
                FOREVER => (0, 2),
                attempts => (attempts, u64::from(attempts != 0)),
            };
            [Field::Attempts.code().into(), number, attempts.into(), counted, rule.kinds.into()]
                .into_iter()
                .for_each(&mut *mix);
            for record in self.of_rule(rule) {
                self.mix_stage(record, mix);
                mix_extras(record, mix);
            }
            if rule.own.given != 0 {
                // As of a stage of no kind.
                [0; 5].into_iter().for_each(&mut *mix);
                mix_choices(&rule.own, mix);
            }
        }
    }
}

/// The numbers of a stage that not every stage has.
fn mix_extras(record: &StageNumbers, mix: &mut impl FnMut(u64)) {
    mix_other(mix, Field::BackoffFloor, record.floor, 0);
    mix_other(mix, Field::BackoffOffset, record.offset, 0);
    mix_other(mix, Field::BackoffFrom, record.from.into(), 1);
    mix_other(mix, Field::BackoffUntil, record.until, UNLIMITED);
    mix_other(mix, Field::BackoffRepeat, record.repeats.into(), 0);
    mix_choices(&record.own, mix);
}

/// The jitter, cap and hint of a stage or a rule.
fn mix_choices(own: &Choices, mix: &mut impl FnMut(u64)) {
    for (choice, field, numbers) in [
        (JITTER, Field::JitterKind, &[own.jitter.into(), own.grows.into(), own.jitter_by][..]),
        (CAP, Field::Cap, &[own.cap.into()]),
        (HINT, Field::HintMode, &[own.hint_mode.into(), own.hint_over.into(), own.hint_max, own.hint_reach]),
    ] {
        if own.has(choice) {
            mix(field.code().into());
            numbers.iter().copied().for_each(&mut *mix);
        }
    }
}

/// Mixes the number of a field that is not the default, behind the number of the field.
fn mix_other(mix: &mut impl FnMut(u64), field: Field, number: u64, default: u64) {
    if number != default {
        [field.code().into(), number].into_iter().for_each(mix);
    }
}
