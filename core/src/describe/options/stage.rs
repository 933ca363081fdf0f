//! The options of one stage of a backoff, or of the jitter, cap and hint of a rule.

use crate::decide::backoff::{self, Backoff, RawStage};
use crate::decide::jitter;
use crate::decide::policy::UNLIMITED;
use crate::decide::record::{Choices, RawHint, RawJitter, Record};
use crate::error::{ErrorCode, Quantity};
use crate::fields::{Field, Takes};
use crate::time::Span;

/// How many numbers a stage may have.
const SLOTS: usize = 22;

/// The options of one stage: 184 bytes of plain numbers, every bit pattern valid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub(super) struct StageOptions {
    /// The value of each field but the list of delays, at its [`slot`].
    values: [u64; SLOTS],
    /// One bit for each field that is set, by its slot.
    is_set: u64,
}

/// The item with that index.
pub(super) const fn nth<T>(row: &mut [T], index: usize) -> Option<&mut T> {
    match row.split_at_mut_checked(index) {
        Some((_, [item, ..])) => Some(item),
        _ => None,
    }
}

/// The slot of a stage's field: numbers 1 to 7, 13 to 22, 85 to 89.
const fn slot(field: Field) -> u32 {
    let code = field.code() as u32;
    match code {
        0..13 => code.wrapping_sub(1),
        13..23 => code.wrapping_sub(6),
        _ => code.wrapping_sub(68),
    }
}

const _: () = assert!(slot(Field::JitterGrows) == 21 && slot(Field::HintReach) == 16 && slot(Field::HintMode) == 7);

/// A number that broke a rule.
pub(super) type Broken = (ErrorCode, Field, Quantity);

impl StageOptions {
    /// A stage without any field set.
    pub(super) const NEW: Self = Self { values: [0; SLOTS], is_set: 0 };

    pub(super) const fn is_new(&self) -> bool {
        self.is_set == 0
    }

    pub(super) const fn has(&self, field: Field) -> bool {
        self.is_set.wrapping_shr(slot(field)) & 1 == 1
    }

    pub(super) const fn put(&mut self, field: Field, number: u64) {
        if let Some(value) = nth(&mut self.values, slot(field) as usize) {
            *value = number;
        }
        self.is_set |= 1_u64.wrapping_shl(slot(field));
    }

    /// The number of a field, or its default.
    pub(super) const fn at(&self, field: Field) -> u64 {
        match (self.values.split_at_checked(slot(field) as usize), field.default()) {
            (Some((_, [value, ..])), _) if self.has(field) => *value,
            (_, Some(value)) => value,
            _ => 0,
        }
    }

    /// A stage that is wholly given.
    pub(super) const fn of(backoff: Backoff) -> Self {
        Self::NEW.over(&RawStage::of(backoff))
    }

    /// The stage with the fields of `base` where its own are not given.
    pub(super) const fn over(mut self, base: &RawStage) -> Self {
        self.put(Field::BackoffKind, base.kind as u64);
        let max = self.default_max(base.max);
        self.put_new(Field::BackoffInitial, base.initial);
        if let Some(field) = RawStage::step_of(base.kind) {
            self.put_new(field, base.step);
        }
        if base.kind != backoff::CONSTANT {
            self.put_new(Field::BackoffMax, max);
        }
        self
    }

    const fn put_new(&mut self, field: Field, number: u64) {
        if !self.has(field) {
            self.put(field, number);
        }
    }

    /// The longest delay where none is given: `usual`, or ten times a first delay that is given (spec 3.8).
    const fn default_max(&self, usual: u64) -> u64 {
        if !self.has(Field::BackoffInitial) {
            return usual;
        }
        let wide = Span::from_nanos(self.at(Field::BackoffInitial).saturating_mul(10)).as_nanos();
        if wide > usual { wide } else { usual }
    }

    /// The kind, which a list of delays says by itself.
    const fn kind(&self) -> u8 {
        if self.has(Field::BackoffDelays) && !self.has(Field::BackoffKind) {
            return backoff::LIST;
        }
        self.at(Field::BackoffKind) as u8
    }

    /// The first field of a stage that the kind has no use for.
    const fn first_unfit(&self, kind: u8) -> Option<Broken> {
        let mut fields = Field::ALL;
        while let [field, rest @ ..] = fields {
            if field.is_stages() && self.has(*field) && !field.fits(kind) {
                return Some((ErrorCode::NotForKind, *field, field.takes().shown(self.at(*field))));
            }
            fields = rest;
        }
        None
    }

    /// The stage, without the delays of a list, or the rule that it breaks. `cap` counts where the stage has no cap.
    pub(super) const fn build(&self, cap: u8) -> Result<Record, Broken> {
        let kind = self.kind();
        if let Some(broken) = self.first_unfit(kind) {
            return Err(broken);
        }
        let step = match RawStage::step_of(kind) {
            Some(Field::BackoffIncrement) if !self.has(Field::BackoffIncrement) => self.at(Field::BackoffInitial),
            // The default of Brooker's article, where an exponential backoff doubles.
            Some(Field::BackoffFactor) if kind == backoff::DECORRELATED && !self.has(Field::BackoffFactor) => {
                3.0_f64.to_bits()
            }
            Some(field) => self.at(field),
            None => 0,
        };
        let max = match kind {
            backoff::CONSTANT | backoff::LIST => Span::MAX.as_nanos(),
            _ if self.has(Field::BackoffMax) => self.at(Field::BackoffMax),
            _ => self.default_max(self.at(Field::BackoffMax)),
        };
        let is_list = kind == backoff::LIST;
        let initial = if is_list { 0 } else { self.at(Field::BackoffInitial) };
        let times = self.at(Field::BackoffTimes) as u32;
        let mut record = Record::of(RawStage { initial, step, max, times, kind, ..RawStage::EMPTY });
        record.own = match self.choices() {
            Ok(own) => own,
            Err(broken) => return Err(broken),
        };
        record.floor = self.at(Field::BackoffFloor);
        record.offset = self.at(Field::BackoffOffset);
        record.from = self.at(Field::BackoffFrom) as u32;
        record.repeats = self.at(Field::BackoffRepeat) as u8;
        record.until = if self.has(Field::BackoffUntil) { self.at(Field::BackoffUntil) } else { UNLIMITED };
        let cap = match record.own.cap() {
            Some(own) => own,
            None => cap,
        };
        if let Some(broken) = record.stage.broken(cap == jitter::CAP_CLIP) {
            return Err(broken);
        }
        match () {
            () if is_list && !self.has(Field::BackoffDelays) => {
                Err((ErrorCode::DelaysMissing, Field::BackoffDelays, Quantity::None))
            }
            () if record.floor > max => {
                Err((ErrorCode::FloorAboveMax, Field::BackoffFloor, Field::BackoffFloor.takes().shown(record.floor)))
            }
            () if record.offset != 0 && record.offset >= max => {
                Err((ErrorCode::OffsetRange, Field::BackoffOffset, Field::BackoffOffset.takes().shown(record.offset)))
            }
            () if record.until == 0 => {
                Err((ErrorCode::ZeroLimit, Field::BackoffUntil, Field::BackoffUntil.takes().shown(0)))
            }
            () if record.stage.is_random() && record.own.jitter().is_some() => {
                Err((ErrorCode::NotForKind, Field::JitterKind, Quantity::None))
            }
            () => Ok(record),
        }
    }

    /// The jitter, cap and hint that are given.
    pub(super) const fn choices(&self) -> Result<Choices, Broken> {
        let mut own = None;
        let any_jitter = self.has(Field::JitterKind)
            || self.has(Field::JitterFactor)
            || self.has(Field::JitterBound)
            || self.has(Field::JitterGrows);
        if any_jitter {
            match self.jitter() {
                Ok(jitter) => own = Some(jitter),
                Err(broken) => return Err(broken),
            }
        }
        let cap = if self.has(Field::Cap) { Some(self.at(Field::Cap) as u8) } else { None };
        let any_hint = self.has(Field::HintMode)
            || self.has(Field::HintMax)
            || self.has(Field::HintOver)
            || self.has(Field::HintReach);
        let hint = RawHint {
            mode: self.at(Field::HintMode) as u8,
            over: self.at(Field::HintOver) as u8,
            max: self.at(Field::HintMax),
            reach: self.at(Field::HintReach),
        };
        Ok(Choices::new(own, cap, if any_hint { Some(hint) } else { None }))
    }

    const fn jitter(&self) -> Result<RawJitter, Broken> {
        let kind = self.at(Field::JitterKind) as u8;
        let (factored, bounded) = (jitter::has_factor(kind), kind == jitter::BOUNDED);
        let (code, field) = match () {
            () if self.has(Field::JitterFactor) && !factored => (ErrorCode::NotForKind, Field::JitterFactor),
            () if self.has(Field::JitterBound) && !bounded => (ErrorCode::NotForKind, Field::JitterBound),
            () if self.has(Field::JitterGrows) && !bounded => (ErrorCode::NotForKind, Field::JitterGrows),
            () if factored && !self.has(Field::JitterFactor) => (ErrorCode::JitterFactorMissing, Field::JitterFactor),
            () if bounded && !self.has(Field::JitterBound) => (ErrorCode::JitterBoundMissing, Field::JitterBound),
            () => {
                let by = if bounded { Field::JitterBound } else { Field::JitterFactor };
                let by = if factored || bounded { self.at(by) } else { 0 };
                if jitter::breaks(kind, by) {
                    return Err((ErrorCode::JitterFactorRange, Field::JitterFactor, Takes::NUMBER.shown(by)));
                }
                return Ok(RawJitter { kind, grows: self.at(Field::JitterGrows) != 0, by });
            }
        };
        Err((code, field, if self.has(field) { field.takes().shown(self.at(field)) } else { Quantity::None }))
    }
}

impl Takes {
    const NUMBER: Self = Field::JitterFactor.takes();

    /// A number of options as errors show it.
    pub(crate) const fn shown(self, number: u64) -> Quantity {
        match self {
            Self::Word(_) | Self::Spans | Self::Version | Self::Flag => Quantity::None,
            Self::Span { .. } | Self::SpanOrNone { .. } | Self::SpanOrSpans(_) => {
                Quantity::Span(Span::from_nanos(number))
            }
            Self::Number(_) => Quantity::Number(f64::from_bits(number)),
            Self::WholeNumber(..) | Self::Attempts => Quantity::Number(number as u32 as f64),
        }
    }
}

#[cfg(all(test, feature = "serde", feature = "powers", feature = "rules"))]
impl StageOptions {
    pub(super) fn any(words: &[u64]) -> Self {
        let mut stage = Self { is_set: words.iter().fold(0, |all, word| all ^ word), ..Self::NEW };
        stage.values.iter_mut().zip(words.iter().cycle()).for_each(|(slot, word)| *slot = *word);
        stage
    }
}
