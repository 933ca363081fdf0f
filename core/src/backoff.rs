//! How long to wait before jitter: a pure step from the previous delay to the next.
//!
//! The delay is iterated, never computed from a power: `d(n+1)` depends on `d(n)` alone, which makes the state one word
//! and the bits the same on every machine that has IEEE doubles (spec 4).

use crate::time::Span;
use core::time::Duration;

/// How the delay grows from one failure to the next, before jitter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Backoff {
    /// Always the same: `d(n) = delay`.
    Constant {
        /// The delay.
        delay: Span,
    },
    /// Grows by a fixed step: `d(0) = initial`, `d(n+1) = min(d(n) + increment, max)`.
    Linear {
        /// The first delay.
        initial: Span,
        /// What each failure adds.
        increment: Span,
        /// The longest delay; not below `initial`.
        max: Span,
    },
    /// Grows by a fixed factor: `d(0) = initial`, `d(n+1) = min(trunc(d(n) * factor), max)`.
    Exponential {
        /// The first delay.
        initial: Span,
        /// What each failure multiplies by: any finite number from 0 on.
        factor: f64,
        /// The longest delay; not below `initial`.
        max: Span,
    },
}

impl Backoff {
    /// The same delay after every failure.
    #[must_use]
    pub const fn constant(delay: Duration) -> Self {
        Self::Constant { delay: Span::from_duration(delay) }
    }

    /// A delay that grows by `increment` a failure, without a limit until [`Backoff::max`] sets one.
    #[must_use]
    pub const fn linear(initial: Duration, increment: Duration) -> Self {
        Self::Linear {
            initial: Span::from_duration(initial),
            increment: Span::from_duration(increment),
            max: Span::MAX,
        }
    }

    /// A delay that grows by `factor` a failure, without a limit until [`Backoff::max`] sets one.
    #[must_use]
    pub const fn exponential(initial: Duration, factor: f64) -> Self {
        Self::Exponential { initial: Span::from_duration(initial), factor, max: Span::MAX }
    }

    /// The same backoff with a longest delay. A constant delay has none, so there it changes nothing.
    #[must_use]
    pub const fn max(mut self, longest: Duration) -> Self {
        match &mut self {
            Self::Constant { .. } => {}
            Self::Linear { max, .. } | Self::Exponential { max, .. } => *max = Span::from_duration(longest),
        }
        self
    }
}

/// The numbers of the kinds in a policy's flat form and in a document.
pub(crate) const CONSTANT: u8 = 1;
pub(crate) const LINEAR: u8 = 2;
pub(crate) const EXPONENTIAL: u8 = 3;

/// The state before the first delay: no span has this value.
pub(crate) const UNSTARTED: u64 = u64::MAX;

/// A backoff in flat form: plain numbers of which every bit pattern gives an answer, so that state and policy can live in
/// memory that another language owns.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(C)]
pub(crate) struct Stage {
    pub(crate) initial: u64,
    pub(crate) increment: u64,
    pub(crate) factor: f64,
    pub(crate) max: u64,
}

impl Stage {
    /// The base delay after `previous`, or the first one (spec 4.1 to 4.4).
    #[inline(always)]
    pub(crate) fn next(&self, kind: u8, previous: u64) -> u64 {
        if previous == UNSTARTED {
            return self.initial;
        }
        match kind {
            EXPONENTIAL => truncated(real(previous) * self.factor).min(self.max),
            LINEAR => previous.saturating_add(self.increment).min(self.max),
            _ => self.initial,
        }
    }
}

impl Stage {
    /// [`Stage::next`] for an exponential of factor 2 whose delays a double holds exactly: a shift is the same number.
    #[inline(always)]
    pub(crate) const fn doubled(&self, previous: u64) -> u64 {
        if previous == UNSTARTED {
            return self.initial;
        }
        let next = previous << 1;
        if next < self.max { next } else { self.max }
    }
}

/// A number of nanoseconds as a double. The signed conversion is one instruction on common processors, the unsigned one is
/// not.
#[inline(always)]
pub(crate) const fn real(nanos: u64) -> f64 {
    nanos as i64 as f64
}

/// `trunc(x)` into 0 to 2^63-1. The signed conversion is one instruction on common processors, the unsigned one is not.
#[inline(always)]
pub(crate) fn truncated(x: f64) -> u64 {
    (x as i64).max(0) as u64
}
