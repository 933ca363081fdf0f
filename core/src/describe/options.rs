//! The options of a policy and its guards: a list of numbers, given in any order, held against each other when the policy is built.
//!
//! Programs in Rust give them by typed methods, documents and other languages by name (`set.rs`). A field's row in `fields.rs` says
//! what it takes, what stands for it when it is not given, and which kinds have a use for it. A preset is such a list, too: its
//! numbers count where the options have none.

use crate::decide::backoff::{self, Backoff, BackoffNumbers};
use crate::decide::failure::FailureKind;
use crate::decide::hint::{HintMode, HintOver};
use crate::decide::jitter::{self, Cap, Jitter};
use crate::decide::policy::{DeadlineFrom, DelayFrom, FOREVER, Limits, OnDeadline, Policy, RULES};
use crate::decide::policy_table::{each_policy_number, kind_of_number};
use crate::decide::stage_numbers::STAGES;
use crate::describe::preset::{Place, Preset};
use crate::describe::rules::Rules;
use crate::fields::Field;
use crate::time::Span;
use core::time::Duration;

pub(crate) mod guards;
mod policy;
mod set;
mod stage;
#[cfg(test)]
mod tests;

/// How many numbers there may be: few without the features that give stages and rules numbers of their own, for firmware.
const NUMBERS: usize = if cfg!(any(feature = "powers", feature = "rules")) { 320 } else { 64 };

/// The options of a policy and its guards: up to 320 numbers, every bit pattern valid. A build without the features `powers` and
/// `rules` takes up to 64.
///
/// # Contract
/// Set what differs from the default, by the typed methods or by [`Options::set`] with a document's names, in any order.
/// Then [`Options::build`] is the policy, [`Options::rules`] are the rules of classification, and [`Options::budget`],
/// [`Options::breaker`] and the others the guards' configurations. A field that is not set has the preset's value, else the
/// default. The methods change the options in place: a builder needs no more memory than the options and the policy.
///
/// ```
/// use core::time::Duration;
/// use holdoff_core::{Backoff, Policy};
///
/// let backoff = Backoff::exponential(Duration::from_millis(50), 2.0).max(Duration::from_secs(10));
/// let policy = Policy::options().backoff(backoff).attempts(5).deadline(Duration::from_secs(30)).build()?;
/// # Ok::<(), holdoff_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[must_use]
pub struct Options {
    /// The numbers in the order in which their places were given first: a word's number, nanoseconds, a whole number, or the bits of
    /// a double.
    numbers: [u64; NUMBERS],
    /// The place of each number.
    places: [Place; NUMBERS],
    /// How many there are.
    count: u16,
    /// 1 if more numbers, stages or delays were given than there is room for.
    overflow: u8,
    /// No padding: the options are their bytes.
    unused: [u8; 5],
    rules: Rules,
}

impl Default for Options {
    fn default() -> Self {
        Self::NEW
    }
}

/// Equal if the same numbers were given, in whatever order.
impl PartialEq for Options {
    fn eq(&self, other: &Self) -> bool {
        let same = |place: Place| self.all_at(place).eq(other.all_at(place));
        self.count == other.count && self.rules == other.rules && self.given().all(|(place, _)| same(place))
    }
}

impl Eq for Options {}

impl Policy {
    /// Options without any field set: those of the default policy.
    pub const fn options() -> Options {
        Options::NEW
    }
}

impl Options {
    /// Options without any field set.
    pub const NEW: Self = Self {
        numbers: [0; NUMBERS],
        places: [Place { rule: 0, stage: 0, field: 0 }; NUMBERS],
        count: 0,
        overflow: 0,
        unused: [0; 5],
        rules: Rules::NONE,
    };

    /// The numbers that are given, with their places.
    fn given(&self) -> impl Iterator<Item = (Place, u64)> {
        self.places.iter().copied().zip(self.numbers.iter().copied()).take(self.count.into())
    }

    /// The numbers at a place: of a list one for each item.
    fn all_at(&self, place: Place) -> impl Iterator<Item = u64> {
        self.given().filter(move |given| given.0 == place).map(|given| given.1)
    }

    /// Adds a number, also where there is one. False without room.
    fn add(&mut self, place: Place, number: u64) -> bool {
        let index = usize::from(self.count);
        let (Some(slot), Some(known)) = (self.numbers.get_mut(index), self.places.get_mut(index)) else {
            self.overflow = 1;
            return false;
        };
        (*slot, *known) = (number, place);
        self.count = self.count.saturating_add(1);
        true
    }

    /// Gives a place its number. False without room.
    fn put_at(&mut self, place: Place, number: u64) -> bool {
        let mut known = self.places.iter().zip(&mut self.numbers).take(self.count.into());
        match known.find(|known| *known.0 == place) {
            Some((_, slot)) => *slot = number,
            None => return self.add(place, number),
        }
        true
    }

    /// Takes the numbers at some places away.
    fn remove(&mut self, at: impl Fn(Place) -> bool) {
        let count = core::mem::take(&mut self.count);
        for index in 0..usize::from(count) {
            if let (Some(place), Some(number)) = (self.places.get(index).copied(), self.numbers.get(index).copied())
                && !at(place)
            {
                self.add(place, number);
            }
        }
    }

    /// True if a field of the policy or of a guard is set.
    fn has(&self, field: Field) -> bool {
        self.all_at(Place::of(field)).next().is_some()
    }

    /// The number of a field of the policy or of a guard, 0 unless it was given.
    fn at(&self, field: Field) -> u64 {
        self.all_at(Place::of(field)).next().unwrap_or(0)
    }

    /// Gives a field of the policy or of a guard that number.
    pub(crate) fn put(&mut self, field: Field, number: u64) -> &mut Self {
        self.put_at(Place::of(field), number);
        self
    }

    /// Starts from a named policy and its guards instead of the default ones.
    pub fn preset(&mut self, preset: Preset) -> &mut Self {
        self.put(Field::Preset, preset.code().into())
    }

    /// The preset that is chosen.
    fn chosen(&self) -> Option<Preset> {
        Preset::from_code(self.at(Field::Preset) as u32)
    }

    /// How delays grow; exponential from 100 ms by 2 up to 5 s unless given. Replaces the stages there are; call it before
    /// [`Options::then`] and [`Options::backoff_after`].
    pub fn backoff(&mut self, backoff: Backoff) -> &mut Self {
        self.remove(Place::is_in_stage);
        self.overflow = 0;
        self.put_stage(0, 0, backoff)
    }

    /// Delay after delay as they are listed, up to 64; the last one stays. Unless given, there is one attempt more.
    /// Replaces all stages there are.
    pub fn delays(&mut self, delays: &[Duration]) -> &mut Self {
        self.remove(Place::is_in_stage);
        self.overflow = 0;
        for delay in delays {
            self.add(Place::in_stage(0, 0, Field::BackoffDelays), Span::from_duration(*delay).as_nanos());
        }
        self
    }

    /// Another backoff after `times` delays (1 to 268435455) of the one set last: `backoff(a).then(2, b)` is two delays of
    /// `a` and from then on `b`. Up to 16 in all.
    pub fn then(&mut self, times: u32, backoff: Backoff) -> &mut Self {
        let rule = self.given().filter(|given| given.0.is_in_stage()).last().map_or(0, |last| last.0.rule);
        let index = self.stages_of(rule).saturating_sub(1);
        self.put_at(Place::in_stage(rule, index, Field::BackoffTimes), times.into());
        self.put_stage(rule, index.saturating_add(1), backoff);
        self.put_at(Place::begins(rule, index.saturating_add(1)), 0);
        self
    }

    /// Another backoff for one kind of failure: a throttled client may have to wait longer than others. A rule that holds for
    /// the kind, behind the rules there are; its delays count together with those of the policy.
    pub fn backoff_after(&mut self, kind: FailureKind, backoff: Backoff) -> &mut Self {
        match self.rules.add_kind(kind) {
            Some(rule) => self.put_stage(rule, 0, backoff),
            None => {
                self.overflow = 1;
                self
            }
        }
    }

    /// Gives a stage all numbers of a backoff.
    fn put_stage(&mut self, rule: u8, index: u8, backoff: Backoff) -> &mut Self {
        if !self.has_room(rule, index) {
            self.overflow = 1;
            return self;
        }
        let BackoffNumbers { kind, initial, step, max, .. } = BackoffNumbers::of(backoff);
        let mut put = |field, number| self.put_at(Place::in_stage(rule, index, field), number);
        put(Field::BackoffKind, kind.into());
        put(Field::BackoffInitial, initial);
        if let Some(field) = BackoffNumbers::step_of(kind) {
            put(field, step);
        }
        if kind != backoff::CONSTANT {
            put(Field::BackoffMax, max);
        }
        self
    }

    /// One bit for each stage that was begun, of the policy for rule 0, else of the rule with that number.
    fn begun(&self, rule: u8) -> u32 {
        let places = self.given().map(|given| given.0).filter(|place| place.is_in_stage() && place.rule == rule);
        places.fold(0, |begun, place| begun | 1_u32.wrapping_shl(place.stage.into()))
    }

    /// How many stages there are, with those between two that were begun.
    fn stages_of(&self, rule: u8) -> u8 {
        u32::BITS.saturating_sub(self.begun(rule).leading_zeros()) as u8
    }

    /// True if a stage was begun or there is room for it. One is the policy's, begun or not.
    fn has_room(&self, rule: u8, index: u8) -> bool {
        let begun = |of: u8| self.begun(of) | u32::from(of == 0);
        let known = begun(rule).wrapping_shr(index.into()) & 1 == 1;
        let sum = (0..=RULES as u8).fold(0_u32, |sum, of| sum.saturating_add(begun(of).count_ones()));
        usize::from(index) < STAGES && (known || (sum as usize) < STAGES)
    }

    /// How delays are spread; full jitter unless given.
    pub fn jitter(&mut self, jitter: Jitter) -> &mut Self {
        let (kind, by) = jitter.raw();
        let of_jitter = [Field::JitterFactor, Field::JitterBound, Field::JitterGrows].map(Place::of);
        self.remove(|place| of_jitter.contains(&place));
        if jitter::has_factor(kind) {
            self.put(Field::JitterFactor, by);
        } else if kind == jitter::BOUNDED {
            self.put(Field::JitterBound, by);
        }
        self.put(Field::JitterKind, kind.into())
    }

    /// No limit on attempts.
    pub fn forever(&mut self) -> &mut Self {
        self.put(Field::Attempts, FOREVER.into())
    }

    /// These options with rules that were set before.
    pub fn with_rules(&mut self, rules: Rules) -> &mut Self {
        self.rules = rules;
        self
    }

    /// The rules, without the texts of their names and patterns: the preset's, unless some are given.
    pub fn rules(&self) -> Rules {
        match self.chosen() {
            Some(preset) if self.rules.is_none() => preset.rules(),
            _ => self.rules,
        }
    }
}

/// A method for each number of a policy.
macro_rules! setters {
    ($($group:ident { $($(#[doc = $doc:literal])+ $name:ident: $type:ident, $field:ident, $kind:ident $more:tt;)+ })+) => {
        impl Options {
            $($($(#[doc = $doc])+ pub fn $name(&mut self, $name: kind_of_number!(given $kind)) -> &mut Self {
                self.put(Field::$field, kind_of_number!(take $kind $name).into())
            })+)+
        }
    };
}

each_policy_number!(setters);
