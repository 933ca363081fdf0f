//! The numbers of a policy, a rule, or one stage of a backoff, and the rules between them (spec 3).

use super::Options;
use crate::decide::backoff::{self, BackoffNumbers};
use crate::decide::jitter;
use crate::decide::stage_numbers::{CAP, Choices, JITTER, StageNumbers};
use crate::describe::preset::Place;
use crate::error::{ErrorCode, Quantity};
use crate::fields::Field;
use crate::time::Span;

/// The numbers at one place: those of the options, else those of a preset.
#[derive(Clone, Copy)]
pub(super) struct Numbers<'o> {
    pub(super) options: &'o Options,
    pub(super) preset: &'static [(Place, u64)],
    /// 0 for the policy, else the number of the rule.
    pub(super) rule: u8,
    pub(super) stage: u8,
}

/// A number that broke a rule.
pub(super) type Broken = (ErrorCode, Field, Quantity);

impl<'o> Numbers<'o> {
    fn place(&self, field: Field) -> Place {
        Place::in_stage(self.rule, self.stage, field)
    }

    /// The number that the options have.
    pub(super) fn own(&self, field: Field) -> Option<u64> {
        self.options.all_at(self.place(field)).next()
    }

    /// The number that the options or the preset have.
    pub(super) fn get(&self, field: Field) -> Option<u64> {
        let place = self.place(field);
        // A jitter has nothing of another kind's.
        if field.is_of_jitter() && self.own(Field::JitterKind).is_some() {
            return self.own(field);
        }
        self.own(field).or_else(|| self.preset.iter().find(|given| given.0 == place).map(|given| given.1))
    }

    pub(super) fn has(&self, field: Field) -> bool {
        self.get(field).is_some()
    }

    /// The number of a field, or its default.
    pub(super) fn at(&self, field: Field) -> u64 {
        self.get(field).or(field.default()).unwrap_or(0)
    }

    /// The items of a list of delays.
    pub(super) fn delays(self) -> impl Iterator<Item = u64> + 'o {
        self.options.all_at(self.place(Field::BackoffDelays))
    }

    /// The kind, which a list of delays says by itself.
    fn kind(&self) -> u8 {
        let is_list = self.own(Field::BackoffDelays).is_some() && self.own(Field::BackoffKind).is_none();
        if is_list { backoff::LIST } else { self.at(Field::BackoffKind) as u8 }
    }

    /// The longest delay. Where the options have none it is the usual one, or ten times a first delay that they have (spec 3.8).
    fn max(&self) -> u64 {
        let usual = self.at(Field::BackoffMax);
        match self.own(Field::BackoffInitial) {
            Some(initial) if self.own(Field::BackoffMax).is_none() => {
                usual.max(Span::from_nanos(initial.saturating_mul(10)).as_nanos())
            }
            _ => usual,
        }
    }

    /// The error about a field.
    fn wrong(&self, code: ErrorCode, field: Field) -> Broken {
        (code, field, self.get(field).map_or(Quantity::None, |number| field.shown(number)))
    }

    /// Writes the stage, without the delays of a list, into `record`, or says the rule that it breaks. `cap` counts where the
    /// stage has no cap.
    pub(super) fn stage(&self, cap: u8, record: &mut StageNumbers) -> Result<(), Broken> {
        let kind = self.kind();
        let unfit = |field: &&Field| field.is_stages() && !field.fits(kind) && self.own(**field).is_some();
        if let Some(field) = Field::ALL.iter().find(unfit) {
            return Err(self.wrong(ErrorCode::NotForKind, *field));
        }
        *record = const { StageNumbers::of(BackoffNumbers::EMPTY) };
        record.stage.kind = kind;
        record.own = self.choices()?;
        for field in StageNumbers::RARE.iter().chain(&[Field::BackoffTimes]) {
            if let Some(number) = self.get(*field) {
                record.put(*field, number);
            }
        }
        let (is_list, initial) = (kind == backoff::LIST, self.at(Field::BackoffInitial));
        let stage = &mut record.stage;
        stage.initial = if is_list { 0 } else { initial };
        stage.step = match BackoffNumbers::step_of(kind) {
            Some(Field::BackoffIncrement) => self.get(Field::BackoffIncrement).unwrap_or(initial),
            // The default of Brooker's article, where an exponential backoff doubles.
            Some(field) if kind == backoff::DECORRELATED => self.get(field).unwrap_or(3.0_f64.to_bits()),
            Some(field) => self.at(field),
            None => 0,
        };
        stage.max = if is_list || kind == backoff::CONSTANT { Span::MAX.as_nanos() } else { self.max() };
        let cap = if record.own.has(CAP) { record.own.cap } else { cap };
        if let Some(broken) = record.stage.broken(cap == jitter::CAP_CLIP) {
            return Err(broken);
        }
        let max = record.stage.max;
        let (code, field) = match () {
            () if is_list && self.own(Field::BackoffDelays).is_none() => {
                (ErrorCode::DelaysMissing, Field::BackoffDelays)
            }
            () if record.floor > max => (ErrorCode::FloorAboveMax, Field::BackoffFloor),
            () if record.offset != 0 && record.offset >= max => (ErrorCode::OffsetRange, Field::BackoffOffset),
            () if record.until == 0 => (ErrorCode::ZeroLimit, Field::BackoffUntil),
            () if record.stage.is_random() && record.own.has(JITTER) => {
                return Err((ErrorCode::NotForKind, Field::JitterKind, Quantity::None));
            }
            () => return Ok(()),
        };
        Err(self.wrong(code, field))
    }

    /// The jitter, cap and hint of a stage or a rule: with defaults for the fields that are not given beside others.
    pub(super) fn choices(&self) -> Result<Choices, Broken> {
        let all = Field::ALL.iter().copied().filter(|field| self.has(*field));
        let given = all.fold(0, |given, field| given | Choices::of(field));
        if given & JITTER != 0 {
            self.check_jitter(self.at(Field::JitterKind) as u8, false)?;
        }
        Ok(Choices { given, ..self.all_choices() }.or(&Choices::NONE))
    }

    /// The jitter, cap and hint, with defaults.
    pub(super) fn all_choices(&self) -> Choices {
        let mut all = Choices::DEFAULT;
        for field in Field::ALL.iter().copied().filter(|field| field.is_shared()) {
            let unfit = field.is_of_jitter() && !field.fits(all.jitter);
            if let Some(number) = self.get(field).filter(|_| !unfit) {
                all.put(field, number);
            }
        }
        all
    }

    /// The rule that the fields of a jitter of that kind break.
    pub(super) fn check_jitter(&self, kind: u8, of_policy: bool) -> Result<(), Broken> {
        let (factored, bounded) = (jitter::has_factor(kind), kind == jitter::BOUNDED);
        let unfit = |field: Field| self.own(field).is_some() && !field.fits(kind);
        let grows = self.own(Field::JitterGrows).is_some_and(|grows| grows != 0 || !of_policy);
        let (code, field) = match () {
            () if unfit(Field::JitterBound) && (of_policy || !unfit(Field::JitterFactor)) => {
                (ErrorCode::NotForKind, Field::JitterBound)
            }
            () if unfit(Field::JitterFactor) => (ErrorCode::NotForKind, Field::JitterFactor),
            () if grows && !bounded => (ErrorCode::NotForKind, Field::JitterGrows),
            () if factored && !self.has(Field::JitterFactor) => (ErrorCode::JitterFactorMissing, Field::JitterFactor),
            () if bounded && !self.has(Field::JitterBound) => (ErrorCode::JitterBoundMissing, Field::JitterBound),
            () if jitter::breaks(kind, self.at(Field::JitterFactor)) => {
                (ErrorCode::JitterFactorRange, Field::JitterFactor)
            }
            () => return Ok(()),
        };
        Err(self.wrong(code, field))
    }
}

impl Field {
    /// A number of options as errors show it.
    pub(crate) const fn shown(self, number: u64) -> Quantity {
        match self.unit() {
            1 => Quantity::Span(Span::from_nanos(number)),
            2 => Quantity::Number(f64::from_bits(number)),
            3 => Quantity::Number(number as u32 as f64),
            _ => Quantity::None,
        }
    }
}
