//! The numbers of a stage, and the jitter, cap and use of hints that a stage or a rule may have of its own.

use crate::decide::backoff::{self, BackoffNumbers};
use crate::decide::jitter::{self, Jitter};
use crate::decide::policy_table::each_policy_number;
use crate::fields::{Field, UNLIMITED};

/// The most stages of a policy and its rules together.
pub(crate) const STAGES: usize = 16;
/// The most delays of its lists together.
pub(crate) const DELAYS: usize = 64;

/// The bits of [`Choices::given`].
pub(crate) const JITTER: u8 = 1;
pub(crate) const CAP: u8 = 2;
pub(crate) const HINT: u8 = 4;

impl Choices {
    pub(crate) const fn has(&self, choice: u8) -> bool {
        self.given & choice != 0
    }

    /// The public jitter.
    pub(crate) const fn jitter(&self) -> Jitter {
        Jitter::from_raw(self.jitter, self.jitter_by)
    }
}

/// `CHOICE: Field = member: type;` for each number of a jitter, a cap or a use of hints: how it is read, set and merged.
macro_rules! fields {
    ($($choice:ident: $field:ident = $member:ident: $type:ty;)+) => {
        impl Choices {
            /// The choice that a field belongs to; 0 for other fields.
            pub(crate) fn of(field: Field) -> u8 {
                match field {
                    $(Field::$field => $choice,)+
                    _ => 0,
                }
            }

            /// The same, with the others' numbers for each choice that is not given.
            pub(crate) fn or(&self, others: &Self) -> Self {
                let mut all = *self;
                $(all.$member = if self.has($choice) { self.$member } else { others.$member };)+
                all.given |= others.given;
                all
            }

            /// The number of a field; `None` for other fields, and for those that the jitter has no use for.
            pub(crate) fn number(&self, field: Field) -> Option<u64> {
                match field {
                    $(Field::$field if !field.is_of_jitter() || field.fits(self.jitter) => Some(self.$member.into()),)+
                    _ => None,
                }
            }

            /// Gives a field its number. Without a look at what the jitter has a use for: that would be text in every module.
            pub(crate) fn put(&mut self, field: Field, number: u64) {
                match field {
                    $(Field::$field => self.$member = number as $type,)+
                    _ => {}
                }
            }
        }
    };
}

/// The numbers that a policy, a stage and a rule have.
macro_rules! choices {
    (
        shared { $($(#[doc = $doc:literal])+ $member:ident: $type:ident, $field:ident, $kind:ident ($choice:ident $($more:tt)*);)+ }
        $($others:tt)+
    ) => {
        /// The jitter, cap and use of hints of one delay. The policy has them; a stage or a rule may have its own.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(C)]
        pub(crate) struct Choices {
            /// No padding: a policy is its bytes.
            pub(crate) unused: [u8; 2],
            /// The choices that are given: the bits [`JITTER`], [`CAP`] and [`HINT`].
            pub(crate) given: u8,
            pub(crate) jitter: u8,
            /// 1 if a jitter's bound is multiplied by the number of the delay, else 0.
            pub(crate) grows: u8,
            $(pub(crate) $member: $type,)+
            /// The bits of the jitter's factor, or its bound.
            pub(crate) jitter_by: u64,
        }

        impl Choices {
            /// The choices of the default policy (spec 3.1).
            pub(crate) const DEFAULT: Self = Self {
                unused: [0; 2],
                given: JITTER | CAP | HINT,
                jitter: jitter::FULL,
                grows: 0,
                $($member: Field::$field.default_number() as $type,)+
                jitter_by: 0,
            };
            pub(crate) const NONE: Self =
                Self { jitter: jitter::NONE, given: 0, $($member: 0,)+ ..Self::DEFAULT };
        }

        fields! {
            JITTER: JitterKind = jitter: u8;
            JITTER: JitterFactor = jitter_by: u64;
            JITTER: JitterBound = jitter_by: u64;
            JITTER: JitterGrows = grows: u8;
            $($choice: $field = $member: $type;)+
        }
    };
}

each_policy_number!(choices);

/// A stage of a policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub(crate) struct StageNumbers {
    /// The numbers of the backoff; of a list only kind and number of delays.
    pub(crate) stage: BackoffNumbers,
    /// The shortest delay.
    pub(crate) floor: u64,
    /// The time that is added after the jitter.
    pub(crate) offset: u64,
    /// The time since the start after which the stage is over.
    pub(crate) until: u64,
    pub(crate) own: Choices,
    /// The first index of a polynomial.
    pub(crate) from: u32,
    /// 1 if the first stage begins again behind this one.
    pub(crate) repeats: u8,
    /// The place of a list's first delay among those of the policy.
    pub(crate) delays: u8,
    /// No padding: a policy is its bytes.
    pub(crate) unused: [u8; 2],
}

impl StageNumbers {
    /// An unused place for a stage: nothing but zeroes.
    pub(crate) const EMPTY: Self = Self { until: 0, from: 0, ..Self::of(BackoffNumbers::EMPTY) };

    /// A stage with this backoff, and defaults for its other numbers.
    pub(crate) const fn of(stage: BackoffNumbers) -> Self {
        Self {
            stage,
            floor: 0,
            offset: 0,
            until: UNLIMITED,
            own: Choices::NONE,
            from: 1,
            repeats: 0,
            delays: 0,
            unused: [0; 2],
        }
    }

    /// True if it is a stage without an end and without anything of its own.
    pub(crate) const fn is_simple(&self) -> bool {
        self.stage.times == 0 && self.stage.kind != backoff::LIST && self.rare_field().is_none()
    }

    pub(crate) const fn is_list(&self) -> bool {
        self.stage.kind == backoff::LIST
    }

    /// The delays of a list, of those of the policy.
    pub(crate) fn listed<'d>(&self, delays: &'d [u64; DELAYS]) -> &'d [u64] {
        if self.is_list() { part(delays, self.delays, self.stage.times as usize) } else { &[] }
    }

    /// Base delay `n` of the stage, at most `limit`, without those before it (spec 4).
    pub(crate) fn at(&self, delays: &[u64; DELAYS], n: u32, limit: u64) -> u64 {
        match self.stage.kind {
            backoff::LIST if cfg!(feature = "powers") => {
                let listed = self.listed(delays);
                listed.get(n as usize).or(listed.last()).copied().unwrap_or_default()
            }
            backoff::POLYNOMIAL if cfg!(feature = "powers") => self.stage.polynomial(n, self.from, limit),
            _ => self.stage.at(n, limit),
        }
    }
}

/// `Field = member: type, default;` for each number that few stages have.
macro_rules! rare {
    ($($field:ident = $member:ident: $type:ty, $default:expr;)+) => {
        impl StageNumbers {
            /// The fields that few stages have, and no rule of its own.
            pub(crate) const RARE: &[Field] = &[$(Field::$field),+];

            /// Their numbers, with the fields and the defaults.
            pub(crate) fn rare_numbers(&self) -> [(Field, u64, u64); 5] {
                [$((Field::$field, self.$member.into(), $default)),+]
            }

            /// The first of the fields that few stages have.
            pub(crate) const fn rare_field(&self) -> Option<Field> {
                Some(match () {
                    $(() if self.$member as u64 != $default => Field::$field,)+
                    () if self.own.has(JITTER) => Field::JitterKind,
                    () if self.own.has(CAP) => Field::Cap,
                    () if self.own.has(HINT) => Field::HintMode,
                    () => return None,
                })
            }

            /// Gives a field of a stage its number. A list gets its delays one by one.
            pub(crate) fn put(&mut self, field: Field, number: u64) {
                match field {
                    Field::BackoffInitial => self.stage.initial = number,
                    Field::BackoffFactor | Field::BackoffIncrement | Field::BackoffExponent => self.stage.step = number,
                    Field::BackoffMax => self.stage.max = number,
                    Field::BackoffTimes => self.stage.times = number as u32,
                    $(Field::$field => self.$member = number as $type,)+
                    _ => {}
                }
            }
        }
    };
}

rare! {
    BackoffFloor = floor: u64, 0;
    BackoffOffset = offset: u64, 0;
    BackoffFrom = from: u32, 1;
    BackoffUntil = until: u64, UNLIMITED;
    BackoffRepeat = repeats: u8, 0;
}

/// Returns `count` items of a row from `at` on, or as many as there are.
pub(crate) fn part<T>(row: &[T], at: u8, count: usize) -> &[T] {
    let rest = row.get(at.into()..).unwrap_or_default();
    rest.get(..count).unwrap_or(rest)
}
