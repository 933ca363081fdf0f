//! The options of one stage of a backoff.

use crate::decide::backoff::{self, Backoff, RawStage};
use crate::decide::jitter;
use crate::error::{ErrorCode, Quantity};
use crate::fields::{Field, Takes};
use crate::time::Span;

/// The options of one stage: 72 bytes of plain numbers, every bit pattern valid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub(super) struct StageOptions {
    /// The value of each field but the list of delays, at its [`slot`].
    values: [u64; 8],
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

/// The slot of a stage's field: numbers 1 to 5, then 16 to 19.
const fn slot(field: Field) -> u32 {
    let code = field.code() as u32;
    code.wrapping_sub(if code < 16 { 1 } else { 11 })
}

impl StageOptions {
    /// A stage without any field set.
    pub(super) const NEW: Self = Self { values: [0; 8], is_set: 0 };

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
        self.put_new(Field::BackoffInitial, base.initial);
        if let Some(field) = RawStage::step_of(base.kind) {
            self.put_new(field, base.step);
        }
        if base.kind != backoff::CONSTANT {
            self.put_new(Field::BackoffMax, base.max);
        }
        self
    }

    const fn put_new(&mut self, field: Field, number: u64) {
        if !self.has(field) {
            self.put(field, number);
        }
    }

    /// The kind, which a list of delays says by itself.
    const fn kind(&self) -> u8 {
        if self.has(Field::BackoffDelays) && !self.has(Field::BackoffKind) {
            return backoff::LIST;
        }
        self.at(Field::BackoffKind) as u8
    }

    /// The kind of failure that the stage is for, 0 for every kind.
    pub(super) const fn on(&self) -> u8 {
        self.at(Field::BackoffOn) as u8
    }

    /// The stage in flat form, without the delays of a list, or the rule that it breaks.
    pub(super) const fn build(&self, cap: u8) -> Result<RawStage, (ErrorCode, Field, Quantity)> {
        let kind = self.kind();
        let mut fields = Field::ALL;
        while let [field, rest @ ..] = fields {
            if field.is_stages() && self.has(*field) && !field.fits(kind) {
                return Err((ErrorCode::NotForKind, *field, field.takes().shown(self.at(*field))));
            }
            fields = rest;
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
            _ => self.at(Field::BackoffMax),
        };
        let times = self.at(Field::BackoffTimes) as u32;
        let stage = RawStage {
            initial: self.at(Field::BackoffInitial),
            step,
            max,
            times,
            kind,
            on: self.on(),
            ..RawStage::EMPTY
        };
        if let Some(broken) = stage.broken(cap == jitter::CAP_CLIP) {
            return Err(broken);
        }
        if kind == backoff::LIST && !self.has(Field::BackoffDelays) {
            return Err((ErrorCode::DelaysMissing, Field::BackoffDelays, Quantity::None));
        }
        Ok(stage)
    }
}

impl Takes {
    /// A number of options as errors show it.
    pub(crate) const fn shown(self, number: u64) -> Quantity {
        match self {
            Self::Word(_) | Self::Spans | Self::Version => Quantity::None,
            Self::Span { .. } | Self::SpanOrNone { .. } => Quantity::Span(Span::from_nanos(number)),
            Self::Number(_) => Quantity::Number(f64::from_bits(number)),
            Self::WholeNumber(..) | Self::Attempts => Quantity::Number(number as u32 as f64),
        }
    }
}

#[cfg(test)]
impl StageOptions {
    /// Any bits at all.
    pub(super) fn any(words: &[u64]) -> Self {
        let mut stage = Self { is_set: words.iter().fold(0, |all, word| all ^ word), ..Self::NEW };
        stage.values.iter_mut().zip(words.iter().cycle()).for_each(|(slot, word)| *slot = *word);
        stage
    }
}
