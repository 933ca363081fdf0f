//! How long to wait before jitter: a pure step from the previous delay to the next.
//!
//! A delay that grows by itself is iterated, never computed from a power: `d(n+1)` depends on `d(n)` alone, which makes
//! the state one word and the bits the same on every machine that has IEEE doubles. Where a power or a root cannot be
//! avoided it is the one of the `libm` crate, in software and so the same everywhere (spec 4).

use crate::time::Span;
use crate::words::words;
use core::time::Duration;
#[cfg(feature = "powers")]
use libm::pow;

/// How the delay grows from one failure to the next, before jitter. `n` counts the delays from 0.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
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
        /// The step that each failure adds.
        increment: Span,
        /// The longest delay; not below `initial`.
        max: Span,
    },
    /// Grows by a fixed factor: `d(0) = initial`, `d(n+1) = min(trunc(d(n) * factor), max)`.
    Exponential {
        /// The first delay.
        initial: Span,
        /// The factor that each failure multiplies by: any finite number from 0 on.
        factor: f64,
        /// The longest delay; not below `initial`.
        max: Span,
    },
    /// Grows by a power: `d(n) = min(trunc(initial * (n+1)^exponent), max)`.
    Polynomial {
        /// The first delay.
        initial: Span,
        /// The power: any finite number from 0 on; 2 for a quadratic backoff, 0.5 for a root.
        exponent: f64,
        /// The longest delay; not below `initial`.
        max: Span,
    },
    /// Grows as Fibonacci's numbers: `d(n) = min(initial * F(n+1), max)`, that is 1, 1, 2, 3, 5, 8 ... times `initial`.
    Fibonacci {
        /// The first and the second delay.
        initial: Span,
        /// The longest delay; not below `initial`.
        max: Span,
    },
    /// Anywhere between the first delay and a multiple of the previous one:
    /// `d(n+1) = initial + trunc(u * (min(max, trunc(factor * d(n))) - initial))`, where `d(-1) = initial` (Brooker,
    /// "Exponential Backoff And Jitter", AWS 2015, "decorrelated jitter"). It is its own jitter.
    Decorrelated {
        /// The shortest delay.
        initial: Span,
        /// How many times the previous delay the next one may be; from 1 on, 3 in the source.
        factor: f64,
        /// The longest delay; not below `initial`.
        max: Span,
    },
    /// Polly's smooth form: with `t = n + u`, `f(t) = 2^t * tanh(sqrt(4t))`, the delay is the growth of `f` since the
    /// previous one, `trunc((f - previous f) * (1/1.4) * initial)`, at most `max` (Polly.Contrib.WaitAndRetry,
    /// `DecorrelatedJitterBackoffV2`). It is its own jitter.
    DecorrelatedV2 {
        /// The median of the first delay.
        initial: Span,
        /// The longest delay; not below `initial`.
        max: Span,
    },
}

impl Backoff {
    /// The same delay after every failure.
    pub const fn constant(delay: Duration) -> Self {
        Self::Constant { delay: Span::from_duration(delay) }
    }

    /// A delay that grows by `increment` a failure, without a limit until [`Backoff::max`] sets one.
    pub const fn linear(initial: Duration, increment: Duration) -> Self {
        Self::Linear {
            initial: Span::from_duration(initial),
            increment: Span::from_duration(increment),
            max: Span::MAX,
        }
    }

    /// A delay that grows by `factor` a failure, without a limit until [`Backoff::max`] sets one.
    pub const fn exponential(initial: Duration, factor: f64) -> Self {
        Self::Exponential { initial: Span::from_duration(initial), factor, max: Span::MAX }
    }

    /// A delay that grows with a power of the failures, without a limit until [`Backoff::max`] sets one.
    pub const fn polynomial(initial: Duration, exponent: f64) -> Self {
        Self::Polynomial { initial: Span::from_duration(initial), exponent, max: Span::MAX }
    }

    /// A delay that grows as Fibonacci's numbers, without a limit until [`Backoff::max`] sets one.
    pub const fn fibonacci(initial: Duration) -> Self {
        Self::Fibonacci { initial: Span::from_duration(initial), max: Span::MAX }
    }

    /// A delay between `initial` and three times the previous one, without a limit until [`Backoff::max`] sets one.
    pub const fn decorrelated(initial: Duration) -> Self {
        Self::Decorrelated { initial: Span::from_duration(initial), factor: 3.0, max: Span::MAX }
    }

    /// Polly's smooth decorrelated delay, without a limit until [`Backoff::max`] sets one.
    pub const fn decorrelated_v2(initial: Duration) -> Self {
        Self::DecorrelatedV2 { initial: Span::from_duration(initial), max: Span::MAX }
    }

    /// The same backoff with a longest delay. A constant delay has none, so there it changes nothing.
    #[must_use]
    pub const fn max(self, longest: Duration) -> Self {
        BackoffNumbers { max: Span::from_duration(longest).as_nanos(), ..BackoffNumbers::of(self) }.backoff()
    }
}

words! {
    /// How the delays of one stage grow. A list of delays is no kind of its own here.
    pub enum BackoffKind: u8 {
        /// The same delay each time.
        Constant = 1 "constant";
        /// Each delay the increment longer than the one before.
        Linear = 2 "linear";
        /// Each delay the factor times the one before.
        Exponential = 3 "exponential";
        /// The first delay times the number of the retry to the power of the factor.
        Polynomial = 4 "polynomial";
        /// The first delay times Fibonacci's numbers.
        Fibonacci = 5 "fibonacci";
        /// Drawn between the first delay and the factor times the last one; without another jitter.
        Decorrelated = 7 "decorrelated";
        /// Polly's decorrelated jitter; without another jitter.
        DecorrelatedV2 = 8 "decorrelated_v2";
    }
}

/// The numbers of the kinds in a policy's memory and in a document.
pub(crate) const CONSTANT: u8 = BackoffKind::Constant.code();
pub(crate) const LINEAR: u8 = BackoffKind::Linear.code();
pub(crate) const EXPONENTIAL: u8 = BackoffKind::Exponential.code();
pub(crate) const POLYNOMIAL: u8 = BackoffKind::Polynomial.code();
pub(crate) const FIBONACCI: u8 = BackoffKind::Fibonacci.code();
pub(crate) const LIST: u8 = 6;
pub(crate) const DECORRELATED: u8 = BackoffKind::Decorrelated.code();
pub(crate) const DECORRELATED_V2: u8 = BackoffKind::DecorrelatedV2.code();

/// The state before the first delay: no span has this value.
pub(crate) const UNSTARTED: u64 = u64::MAX;

/// How many steps are walked to an exponential delay at most: a factor that still moves it then is hardly above 1.
const WALKED: u32 = 1 << 16;

/// A stage as numbers: every bit pattern gives an answer, so that state and policy can live in
/// memory that another language owns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct BackoffNumbers {
    /// The first delay.
    pub(crate) initial: u64,
    /// The increment, or the bits of the factor or exponent.
    pub(crate) step: u64,
    /// The longest delay.
    pub(crate) max: u64,
    /// For how many delays; 0 for ever.
    pub(crate) times: u32,
    pub(crate) kind: u8,
    /// No padding: a policy is its bytes.
    pub(crate) unused: [u8; 3],
}

impl BackoffNumbers {
    pub(crate) const EMPTY: Self = Self { initial: 0, step: 0, max: 0, times: 0, kind: 0, unused: [0; 3] };

    /// A backoff as a stage without an end, for every kind of failure.
    pub(crate) const fn of(backoff: Backoff) -> Self {
        let (kind, initial, step, max) = match backoff {
            Backoff::Constant { delay } => (CONSTANT, delay, 0, Span::MAX),
            Backoff::Linear { initial, increment, max } => (LINEAR, initial, increment.as_nanos(), max),
            Backoff::Exponential { initial, factor, max } => (EXPONENTIAL, initial, factor.to_bits(), max),
            Backoff::Polynomial { initial, exponent, max } => (POLYNOMIAL, initial, exponent.to_bits(), max),
            Backoff::Fibonacci { initial, max } => (FIBONACCI, initial, 0, max),
            Backoff::Decorrelated { initial, factor, max } => (DECORRELATED, initial, factor.to_bits(), max),
            Backoff::DecorrelatedV2 { initial, max } => (DECORRELATED_V2, initial, 0, max),
        };
        Self { initial: initial.as_nanos(), step, max: max.as_nanos(), kind, ..Self::EMPTY }
    }

    /// The public backoff; a list has none.
    pub(crate) const fn backoff(&self) -> Backoff {
        let (initial, max) = (Span::from_nanos(self.initial), Span::from_nanos(self.max));
        match self.kind {
            LINEAR => Backoff::Linear { initial, increment: Span::from_nanos(self.step), max },
            EXPONENTIAL => Backoff::Exponential { initial, factor: self.factor(), max },
            POLYNOMIAL => Backoff::Polynomial { initial, exponent: self.factor(), max },
            FIBONACCI => Backoff::Fibonacci { initial, max },
            DECORRELATED => Backoff::Decorrelated { initial, factor: self.factor(), max },
            DECORRELATED_V2 => Backoff::DecorrelatedV2 { initial, max },
            _ => Backoff::Constant { delay: initial },
        }
    }

    pub(crate) const fn factor(&self) -> f64 {
        f64::from_bits(self.step)
    }

    /// True if delays need a draw of their own and take no other jitter.
    pub(crate) const fn is_random(&self) -> bool {
        self.kind == DECORRELATED || self.kind == DECORRELATED_V2
    }

    /// The base delay after `previous`, which is delay `n` of the stage, at most `limit` (spec 4.2 to 4.7).
    #[inline(always)]
    pub(crate) fn next(&self, previous: u64, n: u32, limit: u64) -> u64 {
        match self.kind {
            EXPONENTIAL => self.grown(previous).min(limit),
            LINEAR => previous.saturating_add(self.step).min(limit),
            _ => self.at(n, limit),
        }
    }

    /// Base delay `n` of the stage, at most `limit`, without those before it.
    ///
    /// One step, but for an exponential one a failure until the delay stops changing, at most [`WALKED`] (spec 4.10).
    pub(crate) fn at(&self, n: u32, limit: u64) -> u64 {
        match self.kind {
            EXPONENTIAL => {
                let mut delay = self.initial;
                for _ in 0..n.min(WALKED) {
                    let next = self.next(delay, 0, limit);
                    if next == delay {
                        break;
                    }
                    delay = next;
                }
                delay
            }
            LINEAR => match n {
                0 => self.initial,
                _ => self.initial.saturating_add(self.step.saturating_mul(u64::from(n))).min(limit),
            },
            POLYNOMIAL => self.polynomial(n, 1, limit),
            FIBONACCI => fibonacci(self.initial, n).min(limit.max(self.initial)),
            _ => self.initial,
        }
    }

    /// Delay `n` of a polynomial whose first index is `from`, at most `limit` (spec 4.5).
    pub(crate) fn polynomial(&self, n: u32, from: u32, limit: u64) -> u64 {
        let power = pow(f64::from(n) + f64::from(from), self.factor());
        truncated(self.initial as f64 * power).min(limit.max(self.initial))
    }

    /// `trunc(previous * factor)`.
    #[inline(always)]
    pub(crate) fn grown(&self, previous: u64) -> u64 {
        truncated(real(previous) * self.factor())
    }

    /// Polly's delay for `t = n + u` and its `f(t)`, given the `f` before it. The one power function does for the root and
    /// the hyperbolic tangent as well: each other one would be a kilobyte of every web page.
    pub(crate) fn smooth(&self, previous: f64, n: u32, u: f64) -> (u64, f64) {
        let t = f64::from(n) + u;
        let root = pow(4.0 * t, 0.5);
        let tangent = 1.0 - 2.0 / (pow(core::f64::consts::E, 2.0 * root) + 1.0);
        let grown = pow(2.0, t) * tangent;
        if grown == f64::INFINITY {
            return (Span::MAX.as_nanos(), grown);
        }
        (truncated((grown - previous) * (1.0 / 1.4) * self.initial as f64), grown)
    }
}

/// Stands for the power function that the crate was built without: the delays that need it are the longest ones.
#[cfg(not(feature = "powers"))]
const fn pow(_: f64, _: f64) -> f64 {
    f64::INFINITY
}

/// `initial * F(n+1)`: 1, 1, 2, 3, 5 ... times `initial`, at most 2^64-1.
fn fibonacci(initial: u64, n: u32) -> u64 {
    let (mut previous, mut number) = (0_u64, initial);
    for _ in 0..n.min(93) {
        (previous, number) = (number, number.saturating_add(previous));
    }
    number
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
