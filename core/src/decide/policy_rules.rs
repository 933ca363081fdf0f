//! The rules that stages and limits must keep.

use crate::decide::backoff::{
    BackoffNumbers, CONSTANT, DECORRELATED, DECORRELATED_V2, EXPONENTIAL, LINEAR, LIST, POLYNOMIAL,
};
use crate::decide::policy::{FOREVER, Limits, OnDeadline, Policy, UNLIMITED};
use crate::error::{ErrorCode, Quantity};
use crate::fields::Field;
use crate::time::Span;

impl BackoffNumbers {
    /// The field that a kind's step is, where it has one.
    pub(crate) const fn step_of(kind: u8) -> Option<Field> {
        match kind {
            LINEAR => Some(Field::BackoffIncrement),
            EXPONENTIAL | DECORRELATED => Some(Field::BackoffFactor),
            POLYNOMIAL => Some(Field::BackoffExponent),
            _ => None,
        }
    }

    /// The first rule that the stage breaks, with field and value. `clip` says that the longest delay may be below the first.
    #[inline]
    pub(crate) const fn broken(&self, clip: bool) -> Option<(ErrorCode, Field, Quantity)> {
        if cfg!(not(feature = "powers")) && matches!(self.kind, POLYNOMIAL | DECORRELATED_V2) {
            return Some((ErrorCode::NotSupported, Field::BackoffKind, Quantity::None));
        }
        let factor = self.factor();
        let least = if self.kind == DECORRELATED { 1.0 } else { 0.0 };
        let ranged = matches!(self.kind, EXPONENTIAL | DECORRELATED | POLYNOMIAL);
        if ranged && !(factor >= least && factor < f64::INFINITY) {
            return Some(match self.kind {
                POLYNOMIAL => (ErrorCode::ExponentRange, Field::BackoffExponent, Quantity::Number(factor)),
                _ => (ErrorCode::FactorRange, Field::BackoffFactor, Quantity::Number(factor)),
            });
        }
        let bounded = !matches!(self.kind, CONSTANT | LIST) && (!clip || self.kind == DECORRELATED);
        if bounded && self.max < self.initial {
            return Some((ErrorCode::MaxBelowInitial, Field::BackoffMax, Quantity::Span(Span::from_nanos(self.max))));
        }
        None
    }
}

impl Policy {
    /// The first rule about limits that the policy breaks, with the field.
    #[inline]
    pub(crate) const fn broken_limit(&self) -> Option<(ErrorCode, Field)> {
        Some(match () {
            () if self.deadline == 0 => (ErrorCode::ZeroLimit, Field::Deadline),
            () if self.attempt_timeout == 0 => (ErrorCode::ZeroLimit, Field::AttemptTimeout),
            () if self.min_attempt >= self.deadline => (ErrorCode::MinAttemptRange, Field::MinAttempt),
            () if matches!(self.on_deadline(), OnDeadline::Clip) && self.min_attempt == 0 => {
                (ErrorCode::ClipNeedsMinAttempt, Field::OnDeadline)
            }
            () if matches!(self.limits(), Limits::Last)
                && (self.deadline == UNLIMITED
                    || self.attempts == FOREVER
                    || matches!(self.on_deadline(), OnDeadline::Clip)) =>
            {
                (ErrorCode::LimitsLast, Field::Limits)
            }
            () if self.reset_after == 0 => (ErrorCode::ZeroLimit, Field::ResetAfter),
            () => return None,
        })
    }
}
