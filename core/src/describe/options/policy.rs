//! A policy from its options, and the rules between its fields (spec 3).

use super::Options;
use super::stage::{Broken, Numbers};
use crate::decide::jitter;
use crate::decide::policy::{COUNTED, FOREVER, Policy, RULES, RuleNumbers, UNLIMITED};
use crate::decide::stage_numbers::{CAP, StageNumbers};
use crate::describe::preset::{NO_STAGE, Place, Preset};
use crate::error::{Error, ErrorCode, Quantity};
use crate::fields::Field;

impl Options {
    /// The policy, or the first rule that is broken (spec 3).
    ///
    /// # Errors
    /// An [`Error`] that names field, value and rule.
    pub fn build(&self) -> Result<Policy, Error> {
        // In the place that the caller has for it: a policy is long.
        let mut built = Ok(Policy::BLANK);
        if let Ok(policy) = &mut built
            && let Err(error) = self.build_into(policy)
        {
            built = Err(error);
        }
        built
    }

    /// [`Options::build`] into a policy that there is, which after an error is any.
    ///
    /// # Errors
    /// As of [`Options::build`].
    pub fn build_into(&self, policy: &mut Policy) -> Result<(), Error> {
        self.build_over(self.chosen(), policy)
    }

    /// Builds the policy of these options and a preset.
    fn build_over(&self, preset: Option<Preset>, policy: &mut Policy) -> Result<(), Error> {
        if self.overflow != 0 {
            return Err(unshown(ErrorCode::TooManyStages, Field::BackoffKind));
        }
        *policy = Policy::BLANK;
        let numbers = Numbers { options: self, preset: preset.map_or(&[], Preset::numbers), rule: 0, stage: NO_STAGE };
        let all = numbers.preset.iter().copied().chain(self.given());
        for (place, number) in all.filter(|given| given.0.rule == 0 && given.0.stage == NO_STAGE) {
            if let Some(field) = Field::from_code(place.field) {
                policy.put(field, number);
            }
        }
        policy.own = numbers.all_choices();
        self.add_stages(numbers, policy)?;
        match preset.and_then(Preset::ruled_kind) {
            Some(kind) if self.rules.is_none() => {
                let kinds = 0b1_0001_u8.wrapping_shl(u32::from(kind.code()).wrapping_sub(1));
                self.add_rule(Numbers { rule: 1, ..numbers }, kinds, false, policy)?;
            }
            _ => self.add_rules(Numbers { preset: &[], ..numbers }, policy)?,
        }
        self.check_limits(numbers, policy)
    }

    /// Checks the numbers that no stage has, and sets what follows from them all.
    #[inline(never)]
    fn check_limits(&self, numbers: Numbers<'_>, policy: &mut Policy) -> Result<(), Error> {
        if all_random(policy) {
            if numbers.own(Field::JitterKind).is_some() && policy.own.jitter != jitter::NONE {
                return Err(unshown(ErrorCode::NotForKind, Field::JitterKind));
            }
            (policy.own.jitter, policy.own.jitter_by, policy.own.grows) = (jitter::NONE, 0, 0);
        }
        numbers.check_jitter(policy.own.jitter, true).map_err(shown)?;
        let (code, field) = match policy.broken_limit() {
            _ if policy.attempts == 0 => (ErrorCode::AttemptsRange, Field::Attempts),
            _ if policy.total == 0 => (ErrorCode::AttemptsRange, Field::Total),
            Some(broken) => broken,
            None => return self.finish(policy),
        };
        Err(Error::new(code, field, field.shown(numbers.own(field).unwrap_or(0))))
    }

    /// Sets what follows from the numbers of a policy. The error about the first field that a build without rules has no code for.
    fn finish(&self, policy: &mut Policy) -> Result<(), Error> {
        policy.prepare();
        match policy.rare_field() {
            Some(field) if cfg!(not(feature = "rules")) => {
                let in_stage = matches!(field, Field::JitterKind | Field::Cap | Field::HintMode);
                Err(Error { in_stage, ..unshown(ErrorCode::NotSupported, field) })
            }
            _ => Ok(()),
        }
    }

    /// Adds the stages of the policy itself.
    #[inline(never)]
    fn add_stages(&self, mut numbers: Numbers<'_>, policy: &mut Policy) -> Result<(), Error> {
        let is_given = self.begun(0) != 0;
        let first = Numbers { stage: 0, ..numbers };
        let names_kind = first.own(Field::BackoffKind).or(first.own(Field::BackoffDelays)).is_some();
        if is_given && (names_kind || self.is_list(0)) {
            numbers.preset = &[];
        }
        let of_preset = stages_of(numbers.preset, 0);
        if is_given && of_preset > 1 {
            return Err(unshown(ErrorCode::PresetStages, Field::BackoffKind));
        }
        let count = if is_given { self.stages_of(0) } else { of_preset };
        self.chain(numbers, count.max(1), policy.own.cap, policy)?;
        if cfg!(not(feature = "powers")) && !(policy.own_count == 1 && policy.first().is_simple()) {
            return Err(unshown(ErrorCode::NotSupported, Field::BackoffKind));
        }
        if !self.has(Field::Attempts) {
            let limited = self.has(Field::Deadline) && policy.deadline != UNLIMITED;
            match ends_in(policy.own_stages()) {
                End::After(delays) if is_given => policy.attempts = delays.saturating_add(1),
                End::Never | End::After(_) if !limited => {}
                _ => policy.attempts = FOREVER,
            }
        }
        Ok(())
    }

    /// Adds the stages of the policy or of one of its rules.
    #[inline(never)]
    fn chain(&self, numbers: Numbers<'_>, count: u8, cap: u8, policy: &mut Policy) -> Result<(), Error> {
        let rule = numbers.rule;
        let (mut until, mut timed) = (0, false);
        let mut record = StageNumbers::EMPTY;
        for index in 0..count {
            let last = index.saturating_add(1) == count;
            let numbers = Numbers { stage: index, ..numbers };
            let stage = self.is_list(rule).then_some(index);
            if let Err(broken) = numbers.stage(cap, &mut record) {
                return Err(of_stage(broken, stage));
            }
            let ends = record.stage.times != 0 || record.is_list();
            let misplaced = record.until != UNLIMITED && (rule != 0 || record.until <= until);
            let (code, field) = match () {
                () if !last && !ends && record.until == UNLIMITED => (ErrorCode::TimesMissing, Field::BackoffTimes),
                () if record.repeats != 0 && (!last || !ends) => (ErrorCode::RepeatPlace, Field::BackoffRepeat),
                () if misplaced || record.repeats != 0 && (timed || record.until != UNLIMITED) => {
                    (ErrorCode::UntilPlace, Field::BackoffUntil)
                }
                () if !policy.add_stage(rule, &record) || !numbers.delays().all(|delay| policy.add_delay(delay)) => {
                    return Err(unshown(ErrorCode::TooManyStages, Field::BackoffKind));
                }
                () => {
                    if record.until != UNLIMITED {
                        (until, timed) = (record.until, true);
                    }
                    continue;
                }
            };
            return Err(of_stage((code, field, Quantity::None), stage));
        }
        Ok(())
    }

    /// Adds the rules: their counts, and their stages behind the policy's.
    fn add_rules(&self, numbers: Numbers<'_>, policy: &mut Policy) -> Result<(), Error> {
        for index in 0..self.rules.count() {
            let rule = Numbers { rule: index.saturating_add(1), ..numbers };
            let (kinds, never) = (self.rules.kinds(index), self.rules.never_retries(index));
            self.add_rule(rule, kinds, never, policy).map_err(|error| error.of_rule(index))?;
        }
        if !policy.has_deciding_rules() {
            policy.rules = [RuleNumbers::EMPTY; RULES];
        }
        Ok(())
    }

    /// Adds a rule, which takes failures of those kinds whatever else is known, or `never` retries.
    #[inline(never)]
    fn add_rule(&self, numbers: Numbers<'_>, kinds: u8, never: bool, policy: &mut Policy) -> Result<(), Error> {
        let attempts = numbers.get(Field::Attempts);
        let count = self.stages_of(numbers.rule).max(stages_of(numbers.preset, numbers.rule));
        let own = numbers.choices();
        let is_given = attempts.is_some() || count != 0 || !matches!(own, Ok(own) if own.given == 0);
        if never && is_given {
            let field = if attempts.is_some() { Field::Attempts } else { Field::BackoffKind };
            return Err(unshown(ErrorCode::NeverRetries, field));
        }
        let own = match own {
            Ok(own) => own,
            Err(broken) => return Err(shown(broken)),
        };
        if cfg!(not(feature = "rules")) && is_given {
            let field = match () {
                () if !numbers.preset.is_empty() => Field::Preset,
                () if attempts.is_some() => Field::Attempts,
                () if count != 0 => Field::BackoffKind,
                () => Field::JitterKind,
            };
            return Err(unshown(ErrorCode::NotSupported, field));
        }
        let Some(rule) = policy.rule_mut(numbers.rule) else { return Ok(()) };
        (rule.own, rule.kinds, rule.attempts) = (own, kinds, attempts.unwrap_or(0) as u32);
        let cap = if own.has(CAP) { own.cap } else { policy.own.cap };
        self.chain(numbers, count, cap, policy)?;
        if let (None, Some(rule)) = (attempts, policy.rule_mut(numbers.rule).copied())
            && let End::After(delays) = ends_in(policy.of_rule(&rule))
            && let Some(rule) = policy.rule_mut(numbers.rule)
        {
            rule.attempts = delays.min(u32::from(u16::MAX).saturating_sub(1)).saturating_add(1);
        }
        Ok(())
    }

    /// True if the stages of the policy, or of a rule, are given as a list, so that their paths have an index.
    fn is_list(&self, rule: u8) -> bool {
        self.given().any(|(place, _)| place.rule == rule && place.field == 0)
    }
}

impl Preset {
    /// Its policy. That of a preset with rules or several stages needs the features `rules` and `powers`, without which
    /// [`Options::build`] refuses the preset.
    pub fn policy(self) -> Policy {
        let mut policy = Policy::BLANK;
        // A test builds them all.
        if self.build_into(&mut policy).is_err() {
            policy = Policy::DEFAULT;
        }
        policy
    }

    /// [`Preset::policy`] into a policy that there is, which after an error is any.
    ///
    /// # Errors
    /// [`ErrorCode::NotSupported`] in a build without the features that the preset needs.
    pub fn build_into(self, policy: &mut Policy) -> Result<(), Error> {
        const NOTHING: &Options = &Options::NEW;
        NOTHING.build_over(Some(self), policy)
    }

    /// Its guards: the retry quota of the AWS SDKs, and the send rate of their adaptive mode. The others have none.
    pub fn guards(self) -> Options {
        Policy::options().preset(self).guards()
    }
}

/// An error about a field whose value is not shown. Errors are long: they are made apart from the frames that build.
#[cold]
#[inline(never)]
fn unshown(code: ErrorCode, field: Field) -> Error {
    Error::new(code, field, Quantity::None)
}

#[cold]
#[inline(never)]
fn shown((code, field, value): Broken) -> Error {
    Error::new(code, field, value)
}

/// The same of a field of a stage.
#[cold]
#[inline(never)]
fn of_stage(broken: Broken, stage: Option<u8>) -> Error {
    Error { stage, in_stage: broken.1.is_shared(), ..shown(broken) }
}

/// How many stages a preset has.
fn stages_of(preset: &[(Place, u64)], rule: u8) -> u8 {
    let stages = preset.iter().filter(|given| given.0.rule == rule && given.0.is_in_stage());
    stages.map(|given| given.0.stage.saturating_add(1)).max().unwrap_or(0)
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
fn ends_in(stages: &[StageNumbers]) -> End {
    let sum = stages.iter().fold(0_u32, |sum, record| sum.saturating_add(record.stage.times));
    match stages.last() {
        _ if stages.iter().any(|record| record.until != UNLIMITED || record.repeats != 0) => End::Open,
        Some(last) if last.stage.times != 0 => End::After(sum.min(COUNTED)),
        _ => End::Never,
    }
}

/// True if every stage of the policy and of its rules, which stand behind its own, is its own jitter.
fn all_random(policy: &Policy) -> bool {
    policy.stages.iter().all(|record| record.stage.kind == 0 || record.stage.is_random())
}
