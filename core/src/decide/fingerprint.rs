//! The fingerprint of a policy: a saved state and a log go on only under a policy that decides the same.

use crate::decide::backoff::BackoffNumbers;
use crate::decide::policy::{FOREVER, Policy};
use crate::decide::policy_table::each_policy_number;
use crate::decide::stage_numbers::{CAP, Choices, HINT, JITTER, StageNumbers};
use crate::fields::Field;
use crate::saved_bytes::Fnv;

/// The numbers of a fingerprint that every policy has, and those of a choice.
macro_rules! fingerprint {
    (
        shared { $($(#[doc = $own_doc:literal])+ $own:ident: $own_type:ident, $own_field:ident, $own_kind:ident ($choice:ident, $own_at:literal, $($own_c:tt)+);)+ }
        simple { $($(#[doc = $doc:literal])+ $member:ident: $type:ident, $field:ident, $kind:ident ($at:literal, $($c:tt)+);)+ }
        $($others:tt)+
    ) => {
        impl Policy {
            /// The numbers of the policy in their places.
            fn placed(&self) -> [u64; 12] {
                let mut words = [0; 12];
                (words[0], words[7]) = (self.own.jitter_by, self.own.jitter.into());
                $(words[$own_at] = self.own.$own.into();)+
                $(words[$at] = self.$member.into();)+
                words
            }
        }

        /// The jitter, cap and hint of a stage or a rule.
        fn mix_choices(own: &Choices, mix: &mut impl FnMut(u64)) {
            if own.has(JITTER) {
                [Field::JitterKind.code().into(), own.jitter.into(), own.grows.into(), own.jitter_by]
                    .into_iter()
                    .for_each(&mut *mix);
            }
            for (choice, first) in [(CAP, Field::Cap), (HINT, Field::HintMode)] {
                if own.has(choice) {
                    mix(first.code().into());
                    $(if choice == $choice {
                        mix(own.$own.into());
                    })+
                }
            }
        }
    };
}

each_policy_number!(fingerprint);

impl Policy {
    /// A number that tells policies apart by what they decide: FNV-1a of 64 bits over the fields in the order of their
    /// numbers (spec 12.3).
    pub fn fingerprint(&self) -> u64 {
        let mut fnv = Fnv::LONG;
        let mut mix = |word: u64| fnv.add(&word.to_le_bytes());
        for record in self.own_stages() {
            self.mix_stage(record, &mut mix);
        }
        self.placed().into_iter().for_each(&mut mix);
        if self.has_rules() {
            self.mix_rest(&mut mix);
        }
        fnv.hash
    }

    /// The numbers of a stage that every stage has.
    fn mix_stage(&self, record: &StageNumbers, mix: &mut impl FnMut(u64)) {
        let BackoffNumbers { initial, step, max, times, kind, .. } = record.stage;
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
        mix_others(mix, self.rare_numbers());
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
    mix_others(mix, record.rare_numbers());
    mix_choices(&record.own, mix);
}

/// Mixes the numbers of fields that are not the default, each behind the number of its field.
fn mix_others(mix: &mut impl FnMut(u64), numbers: impl IntoIterator<Item = (Field, u64, u64)>) {
    for (field, number, _) in numbers.into_iter().filter(|row| row.1 != row.2) {
        [field.code().into(), number].into_iter().for_each(&mut *mix);
    }
}
