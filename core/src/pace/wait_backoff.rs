//! A delay that is its own state: it carries its configuration and changes with each step it takes.
//!
//! Where a policy is shared and a retry keeps the state, a loop that paces one thing for ever wants both in one value
//! that it can copy, restart and look at. This is the form of Kubernetes' `wait.Backoff`: the duration that comes next,
//! and how many times it may still grow (spec 16).

use crate::decide::backoff::{real, truncated};
use crate::error::{Error, ErrorCode, Quantity};
use crate::fields::Field;
use crate::time::Span;

/// A backoff that steps: 40 bytes, `Copy`, its own configuration and state.
///
/// # Contract
/// [`WaitBackoff::step`] says the delay and moves on; nothing else changes the value. The delay is the duration as it was
/// *before* the step, so the cap never touches the first one. A step with [`WaitBackoff::steps`] left takes one of them and
/// multiplies the duration; a product above the cap becomes the cap and uses up all steps. Without steps left the duration
/// stays. Jitter comes on top of the delay, is not bounded by the cap and does not feed back. Everything saturates at
/// [`Span::MAX`]; every bit pattern of the state is valid (zeroes read as "no delay, for ever"), and no input panics.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[repr(C)]
pub struct WaitBackoff {
    duration: u64,
    factor: f64,
    jitter: f64,
    cap: u64,
    steps: u64,
}

impl WaitBackoff {
    /// A backoff that begins with `duration`, may multiply it by `factor` as often as `steps` says, and adds up to
    /// `jitter` of it to each delay. A `factor` of 0 keeps the duration, steps counting down all the same; the `cap`
    /// bounds what multiplying gives, [`Span::MAX`] for none.
    ///
    /// # Errors
    /// [`ErrorCode::FactorRange`] and [`ErrorCode::JitterFactorRange`] unless both factors are finite and from 0 on.
    pub fn new(duration: Span, factor: f64, jitter: f64, cap: Span, steps: u64) -> Result<Self, Error> {
        check(factor, f64::MAX, ErrorCode::FactorRange, Field::BackoffFactor)?;
        check(jitter, f64::MAX, ErrorCode::JitterFactorRange, Field::JitterFactor)?;
        Ok(Self { duration: duration.as_nanos(), factor, jitter, cap: cap.as_nanos(), steps })
    }

    /// The same from the fields of a Kubernetes `wait.Backoff` (apimachinery, `pkg/util/wait/backoff.go`), where a `jitter`,
    /// `cap` or `steps` that is not positive means none.
    ///
    /// # Errors
    /// As [`WaitBackoff::new`], but for a negative `jitter`.
    pub fn kubernetes(duration: Span, factor: f64, jitter: f64, steps: i64, cap: i64) -> Result<Self, Error> {
        let cap = if cap > 0 { Span::from_nanos(cap.unsigned_abs()) } else { Span::MAX };
        let jitter = if jitter < 0.0 && jitter.is_finite() { 0.0 } else { jitter };
        Self::new(duration, factor, jitter, cap, steps.max(0).unsigned_abs())
    }

    /// The same duration at each step and up to `jitter` of it more.
    ///
    /// # Errors
    /// [`ErrorCode::JitterFactorRange`] unless `jitter` is finite and from 0 on.
    pub fn constant(duration: Span, jitter: f64) -> Result<Self, Error> {
        Self::new(duration, 0.0, jitter, Span::MAX, 0)
    }

    /// Kubernetes' `wait.Jitter`: a constant duration and up to `max_factor` of it more; a factor that is not positive
    /// reads as 1 there.
    ///
    /// # Errors
    /// [`ErrorCode::JitterFactorRange`] unless `max_factor` is finite.
    pub fn kubernetes_jitter(duration: Span, max_factor: f64) -> Result<Self, Error> {
        let read = if max_factor <= 0.0 && max_factor.is_finite() { 1.0 } else { max_factor };
        Self::constant(duration, read)
    }

    /// The next delay for the uniform `u` from [0, 1), which only jitter looks at; moves on (spec 16.2 to 20.4).
    pub fn step(&mut self, u: f64) -> Span {
        let delay = self.duration();
        if self.steps > 0 {
            self.steps = self.steps.saturating_sub(1);
            if self.factor != 0.0 {
                let next = truncated(real(delay.as_nanos()) * self.factor);
                if next > self.cap {
                    self.duration = self.cap;
                    self.steps = 0;
                } else {
                    self.duration = next;
                }
            }
        }
        if self.draws() { raised(delay, self.jitter, u) } else { delay }
    }

    /// Says if a step draws a uniform: always with jitter, never without.
    pub fn draws(&self) -> bool {
        self.jitter > 0.0
    }

    /// The delay of the next step, before jitter.
    pub const fn duration(&self) -> Span {
        Span::from_nanos(self.duration)
    }

    /// How many steps may still multiply the duration.
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    /// The factor of each step; 0 for none.
    pub const fn factor(&self) -> f64 {
        self.factor
    }

    /// The part of a delay that jitter may add.
    pub const fn jitter(&self) -> f64 {
        self.jitter
    }

    /// The longest duration; [`Span::MAX`] for no limit.
    pub const fn cap(&self) -> Span {
        Span::from_nanos(self.cap)
    }

    /// The same configuration, beginning again with `duration` and `steps`.
    #[must_use]
    pub const fn restarted(mut self, duration: Span, steps: u64) -> Self {
        self.duration = duration.as_nanos();
        self.steps = steps;
        self
    }
}

#[cfg(test)]
impl WaitBackoff {
    /// Any bits at all, for tests of the machines that hold one.
    pub(crate) const fn from_words([duration, factor, jitter, cap, steps]: [u64; 5]) -> Self {
        Self { duration, factor: f64::from_bits(factor), jitter: f64::from_bits(jitter), cap, steps }
    }
}

/// Checks that a factor is from 0 to `most`.
pub(super) fn check(factor: f64, most: f64, code: ErrorCode, field: Field) -> Result<(), Error> {
    if (0.0..=most).contains(&factor) {
        return Ok(());
    }
    Err(Error::new(code, field, Quantity::Number(factor)))
}

/// Additive jitter without a cap: `d + trunc((u*factor)*d)` (spec 5.2), at most [`Span::MAX`].
pub(crate) fn raised(delay: Span, factor: f64, u: f64) -> Span {
    let nanos = delay.as_nanos();
    Span::from_nanos(nanos.saturating_add(truncated((u * factor) * real(nanos))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    const fn ns(nanos: u64) -> Span {
        Span::from_nanos(nanos)
    }

    fn taken(mut backoff: WaitBackoff, count: usize) -> Vec<u64> {
        (0..count).map(|_| backoff.step(0.0).as_nanos()).collect()
    }

    #[test]
    fn a_step_says_the_duration_from_before_it_grew() {
        let mut backoff = WaitBackoff::new(ns(10), 2.0, 0.0, Span::MAX, 2).unwrap();
        assert_eq!(backoff.step(0.0), ns(10));
        assert_eq!((backoff.duration(), backoff.steps()), (ns(20), 1));
        assert_eq!(taken(backoff, 3), [20, 40, 40]);
    }

    #[test]
    fn the_cap_uses_up_the_steps_and_spares_the_first_delay() {
        let mut backoff = WaitBackoff::new(ns(10), 2.0, 0.0, ns(5), 9).unwrap();
        assert_eq!(backoff.step(0.0), ns(10));
        assert_eq!((backoff.duration(), backoff.steps()), (ns(5), 0));
        let exact = WaitBackoff::new(ns(10), 2.0, 0.0, ns(20), 9).unwrap();
        assert_eq!(taken(exact, 3), [10, 20, 20]);
    }

    #[test]
    fn a_factor_of_zero_counts_steps_without_growing_or_capping() {
        let mut backoff = WaitBackoff::new(ns(10), 0.0, 0.0, ns(5), 2).unwrap();
        assert_eq!(taken(backoff, 3), [10, 10, 10]);
        backoff.step(0.0);
        assert_eq!(backoff.steps(), 1);
    }

    #[test]
    fn jitter_passes_the_cap_and_does_not_feed_back() {
        let mut backoff = WaitBackoff::new(ns(100), 2.0, 1.0, ns(150), 5).unwrap();
        assert_eq!([0.5, 0.5, 0.25].map(|u| backoff.step(u).as_nanos()), [150, 225, 187]);
        assert!(backoff.draws());
    }

    #[test]
    fn growth_saturates_where_go_wraps() {
        let uncapped = WaitBackoff::new(ns(1 << 62), 2.0, 0.0, Span::MAX, 5).unwrap();
        assert_eq!(taken(uncapped, 3), [1 << 62, i64::MAX as u64, i64::MAX as u64]);
        let capped = WaitBackoff::new(ns(1 << 62), 2.0, 0.0, ns(3600), 5).unwrap();
        assert_eq!(taken(capped, 3), [1 << 62, 3600, 3600]);
    }

    #[test]
    fn factors_that_are_no_factors_are_refused() {
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            let error = WaitBackoff::new(ns(1), bad, 0.0, Span::MAX, 1).unwrap_err();
            assert_eq!(error.code, ErrorCode::FactorRange);
            let error = WaitBackoff::new(ns(1), 2.0, bad, Span::MAX, 1).unwrap_err();
            assert_eq!(error.code, ErrorCode::JitterFactorRange);
        }
        assert!(WaitBackoff::kubernetes(ns(1), 2.0, f64::NEG_INFINITY, 1, 1).is_err());
    }

    #[test]
    fn kubernetes_reads_what_is_not_positive_as_none() {
        let backoff = WaitBackoff::kubernetes(ns(7), 3.0, -1.0, -1, -1).unwrap();
        assert_eq!((backoff.steps(), backoff.cap(), backoff.jitter()), (0, Span::MAX, 0.0));
        assert_eq!(WaitBackoff::kubernetes_jitter(ns(8), -3.0).unwrap().step(0.25), ns(10));
    }

    #[test]
    fn a_draw_is_asked_only_for_jitter() {
        assert!(!WaitBackoff::new(ns(10), 2.0, 0.0, Span::MAX, 2).unwrap().draws());
        assert!(WaitBackoff::constant(ns(1000), 0.5).unwrap().draws());
    }

    proptest! {
        #[test]
        fn no_numbers_panic_or_leave_the_range(
            duration: u64, factor: u64, jitter: u64, cap: u64, steps: u64, u: f64
        ) {
            let (factor, jitter) = (f64::from_bits(factor), f64::from_bits(jitter));
            let mut backoff = WaitBackoff { duration, factor, jitter, cap, steps };
            for _ in 0..8 {
                prop_assert!(backoff.step(u) <= Span::MAX);
                prop_assert!(backoff.duration() <= Span::MAX);
            }
        }

        #[test]
        fn no_delay_but_the_first_passes_the_cap_without_jitter(
            duration in 0..=i64::MAX as u64, factor in 0.001..1e6f64, cap in 0..=i64::MAX as u64, steps in 1u64..100
        ) {
            let mut backoff = WaitBackoff::new(ns(duration), factor, 0.0, ns(cap), steps).unwrap();
            backoff.step(0.0);
            for _ in 0..steps {
                prop_assert!(backoff.step(0.0) <= ns(cap));
            }
        }
    }
}
