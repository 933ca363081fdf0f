//! One stage of a backoff in the making: what was given of it, and what it becomes.

use crate::decide::backoff::{self, Backoff, Flat};
use crate::error::{ErrorCode, Given};
use crate::field::Field;
use crate::time::Span;

/// What is known of a stage. Every bit pattern is one, so that a builder can live in memory that another language owns.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(C)]
pub(super) struct Draft {
    pub(super) initial: u64,
    pub(super) increment: u64,
    /// The factor or the exponent.
    pub(super) factor: f64,
    pub(super) max: u64,
    pub(super) times: u32,
    /// One bit for each field that was given.
    given: u16,
    pub(super) kind: u8,
    pub(super) on: u8,
}

/// The bit of a field of a stage.
const fn bit(field: Field) -> u16 {
    match field {
        Field::BackoffKind => 1,
        Field::BackoffInitial => 1 << 1,
        Field::BackoffFactor => 1 << 2,
        Field::BackoffIncrement => 1 << 3,
        Field::BackoffMax => 1 << 4,
        Field::BackoffExponent => 1 << 5,
        Field::BackoffTimes => 1 << 6,
        Field::BackoffOn => 1 << 7,
        Field::BackoffDelays => 1 << 8,
        _ => 0,
    }
}

/// A rule that a stage breaks: which, and by which field.
pub(super) struct Broken(pub(super) ErrorCode, pub(super) Field);

impl Draft {
    /// A stage of which nothing is given: the default policy's.
    pub(super) const NEW: Self = Self {
        initial: 100_000_000,
        increment: 0,
        factor: 2.0,
        max: 5_000_000_000,
        times: 0,
        given: 0,
        kind: backoff::EXPONENTIAL,
        on: 0,
    };

    pub(super) const fn has(&self, field: Field) -> bool {
        self.given & bit(field) != 0
    }

    pub(super) const fn is_new(&self) -> bool {
        self.given == 0
    }

    pub(super) const fn give(&mut self, field: Field) {
        self.given |= bit(field);
    }

    /// A stage that is wholly given.
    pub(super) const fn of(backoff: Backoff) -> Self {
        let mut draft = Self::NEW;
        let (kind, initial, max) = match backoff {
            Backoff::Constant { delay } => (backoff::CONSTANT, delay, Span::MAX),
            Backoff::Linear { initial, increment, max } => {
                draft.increment = increment.as_nanos();
                draft.give(Field::BackoffIncrement);
                (backoff::LINEAR, initial, max)
            }
            Backoff::Exponential { initial, factor, max } => {
                draft.factor = factor;
                draft.give(Field::BackoffFactor);
                (backoff::EXPONENTIAL, initial, max)
            }
            Backoff::Polynomial { initial, exponent, max } => {
                draft.factor = exponent;
                draft.give(Field::BackoffExponent);
                (backoff::POLYNOMIAL, initial, max)
            }
            Backoff::Fibonacci { initial, max } => (backoff::FIBONACCI, initial, max),
            Backoff::Decorrelated { initial, factor, max } => {
                draft.factor = factor;
                draft.give(Field::BackoffFactor);
                (backoff::DECORRELATED, initial, max)
            }
            Backoff::DecorrelatedV2 { initial, max } => (backoff::DECORRELATED_V2, initial, max),
        };
        (draft.kind, draft.initial, draft.max) = (kind, initial.as_nanos(), max.as_nanos());
        draft.give(Field::BackoffKind);
        draft.give(Field::BackoffInitial);
        if kind != backoff::CONSTANT {
            draft.give(Field::BackoffMax);
        }
        draft
    }

    /// The stage of a preset, with what is given of this one in its place.
    pub(super) const fn over(self, preset: &Flat) -> Self {
        let mut draft = self;
        draft.kind = preset.kind;
        draft.give(Field::BackoffKind);
        if !self.has(Field::BackoffInitial) {
            draft.initial = preset.initial;
        }
        match preset.kind {
            backoff::LINEAR if !self.has(Field::BackoffIncrement) => {
                draft.increment = preset.step;
                draft.give(Field::BackoffIncrement);
            }
            backoff::EXPONENTIAL | backoff::DECORRELATED if !self.has(Field::BackoffFactor) => {
                draft.factor = preset.factor();
                draft.give(Field::BackoffFactor);
            }
            backoff::POLYNOMIAL if !self.has(Field::BackoffExponent) => {
                draft.factor = preset.factor();
                draft.give(Field::BackoffExponent);
            }
            _ => {}
        }
        if preset.kind != backoff::CONSTANT && !self.has(Field::BackoffMax) {
            draft.max = preset.max;
            draft.give(Field::BackoffMax);
        }
        draft
    }

    /// The kind that is meant: delays say "list" by themselves.
    pub(super) const fn meant(&self) -> u8 {
        if self.has(Field::BackoffDelays) && !self.has(Field::BackoffKind) { backoff::LIST } else { self.kind }
    }

    /// The stage in flat form; a list's delays are not in it. `clip` says that the longest delay may be below the first.
    pub(super) const fn frozen(&self, clip: bool) -> Result<Flat, Broken> {
        let kind = self.meant();
        if let Some(field) = self.useless(kind) {
            return Err(Broken(ErrorCode::NotForKind, field));
        }
        let (random, power) = (kind == backoff::DECORRELATED, kind == backoff::POLYNOMIAL);
        let factor = match kind {
            backoff::DECORRELATED if !self.has(Field::BackoffFactor) => 3.0,
            _ => self.factor,
        };
        let steep = kind == backoff::EXPONENTIAL || random;
        let finite = factor >= 0.0 && factor < f64::INFINITY;
        let step = match kind {
            _ if steep && !(finite && (!random || factor >= 1.0)) => {
                return Err(Broken(ErrorCode::FactorRange, Field::BackoffFactor));
            }
            _ if power && !finite => return Err(Broken(ErrorCode::ExponentRange, Field::BackoffExponent)),
            _ if steep || power => factor.to_bits(),
            backoff::LINEAR if self.has(Field::BackoffIncrement) => self.increment,
            backoff::LINEAR => self.initial,
            _ => 0,
        };
        let max = match kind {
            backoff::CONSTANT | backoff::LIST => Span::MAX.as_nanos(),
            _ => self.max,
        };
        if max < self.initial && (random || !clip) {
            return Err(Broken(ErrorCode::MaxBelowInitial, Field::BackoffMax));
        }
        if kind == backoff::LIST && !self.has(Field::BackoffDelays) {
            return Err(Broken(ErrorCode::DelaysMissing, Field::BackoffDelays));
        }
        Ok(Flat { initial: self.initial, step, max, times: self.times, kind, on: self.on, unused: [0; 2] })
    }

    /// A given field that the kind has no use for.
    const fn useless(&self, kind: u8) -> Option<Field> {
        let list = kind == backoff::LIST;
        let factor = kind == backoff::EXPONENTIAL || kind == backoff::DECORRELATED;
        match () {
            () if self.has(Field::BackoffFactor) && !factor => Some(Field::BackoffFactor),
            () if self.has(Field::BackoffExponent) && kind != backoff::POLYNOMIAL => Some(Field::BackoffExponent),
            () if self.has(Field::BackoffIncrement) && kind != backoff::LINEAR => Some(Field::BackoffIncrement),
            () if self.has(Field::BackoffMax) && (list || kind == backoff::CONSTANT) => Some(Field::BackoffMax),
            () if self.has(Field::BackoffDelays) && !list => Some(Field::BackoffDelays),
            () if self.has(Field::BackoffInitial) && list => Some(Field::BackoffInitial),
            () if self.has(Field::BackoffTimes) && list => Some(Field::BackoffTimes),
            () => None,
        }
    }

    /// The value of a field, as a number.
    pub(super) const fn value(&self, field: Field) -> crate::error::Given {
        match field {
            // Given both, only the later one is known.
            Field::BackoffFactor if !self.has(Field::BackoffExponent) => Given::Number(self.factor),
            Field::BackoffExponent if !self.has(Field::BackoffFactor) => Given::Number(self.factor),
            Field::BackoffIncrement => Given::Span(Span::from_nanos(self.increment)),
            Field::BackoffMax => Given::Span(Span::from_nanos(self.max)),
            Field::BackoffInitial => Given::Span(Span::from_nanos(self.initial)),
            Field::BackoffTimes => Given::Number(self.times as f64),
            _ => Given::Unshown,
        }
    }
}

/// A backoff as a checked stage, for whatever else grows like a delay; or the rule it breaks, by which field, and what was
/// given.
pub(crate) fn checked_stage(backoff: Backoff) -> Result<Flat, (ErrorCode, Field, Given)> {
    let draft = Draft::of(backoff);
    draft.frozen(false).map_err(|Broken(code, field)| (code, field, draft.value(field)))
}
