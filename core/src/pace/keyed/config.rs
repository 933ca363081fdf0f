//! The configuration of a gate, and the presets of other systems.

use crate::decide::backoff::{real, truncated};
use crate::decide::policy::UNLIMITED;
use crate::decide::policy_table::kind_of_number;
use crate::error::{Error, ErrorCode};
use crate::fields::Field;
use crate::pace::wait_backoff::check;
use crate::time::Span;
use crate::words::words;

words! {
    /// How the delays of a [`crate::Gate`] grow.
    pub enum Growth: u8 {
        /// `initial * factor^n`, for the n-th failure that is not let off, n from 0. Successes can take it back step by step.
        Power = 0 "power";
        /// The last delay, jitter included, times `factor`. The first one is not held against `max`.
        Feedback = 1 "feedback";
    }
}

words! {
    /// Which way jitter moves a delay.
    pub enum Direction: u8 {
        /// Longer: from the delay up to `jitter` of it more.
        Up = 0 "up";
        /// Shorter: from the delay down to `jitter` of it less.
        Down = 1 "down";
    }
}

/// The choices for a gate, `member: kind as type in memory, default;` each.
macro_rules! gate {
    ($($(#[doc = $doc:literal])+ $member:ident: $kind:ident as $type:ident, $default:expr;)+) => {
        /// The choices for a gate: [`GateOptions::build`] checks them once. The default doubles from one second up to five minutes,
        /// forgives one failure a success, and keeps an entry for five minutes after it was last closed.
        #[derive(Clone, Copy, PartialEq, Debug)]
        pub struct GateOptions {
            $($(#[doc = $doc])+ pub $member: kind_of_number!(type $kind),)+
        }

        impl Default for GateOptions {
            fn default() -> Self {
                Self { $($member: $default,)+ }
            }
        }

        /// The checked choices for a gate: 96 bytes, `Copy`, plain numbers; every bit pattern gives an answer.
        #[derive(Clone, Copy, PartialEq, Debug)]
        #[repr(C)]
        pub struct GateConfig {
            $(pub(super) $member: $type,)+
            /// No padding: a configuration is its bytes.
            pub(super) unused: [u8; 5],
        }

        impl GateOptions {
            fn unchecked(&self) -> GateConfig {
                GateConfig { $($member: kind_of_number!(write $kind self.$member),)+ unused: [0; 5] }
            }
        }
    };
}

gate! {
    /// The first delay.
    initial: span as u64, Span::from_secs(1);
    /// The factor of each further failure: finite, from 0 on.
    factor: f64 as f64, 2.0;
    /// The longest delay.
    max: span as u64, Span::from_secs(300);
    /// The part of a delay that jitter moves it by: finite, from 0 on, at most 1 for [`Direction::Down`].
    jitter: f64 as f64, 0.0;
    /// The delay of the failures that are let off, see `grace`.
    grace_delay: span as u64, Span::ZERO;
    /// For how long at least it closes after a success.
    rest: span as u64, Span::ZERO;
    /// After more than this between two failures the second is the first again; `None` for never.
    quiet: limit as u64, None;
    /// For how long an entry that has been open without failures is worth keeping; `None` for ever.
    keep: limit as u64, Some(Span::from_secs(300));
    /// The same with failures.
    keep_failed: limit as u64, Some(Span::from_secs(300));
    /// Delays under [`Growth::Power`] and in the grace are rounded to whole multiples of this, half up; zero to cut them to
    /// nanoseconds.
    quantum: span as u64, Span::ZERO;
    /// How many failures are let off.
    grace: u32 as u32, 0;
    /// How many failures a success takes back; `u32::MAX` for all.
    forgives: u32 as u32, 1;
    /// Which way jitter moves a delay.
    direction: Direction as u8, Direction::Up;
    /// How delays grow.
    growth: Growth as u8, Growth::Power;
    /// Counts the first failure after the grace as the second. Under [`Growth::Power`] only.
    ahead: flag as u8, false;
}

impl GateOptions {
    /// The configuration.
    ///
    /// # Errors
    /// [`ErrorCode::FactorRange`] or [`ErrorCode::JitterFactorRange`] for a `factor` or `jitter` out of its range.
    pub fn build(&self) -> Result<GateConfig, Error> {
        let most_jitter = if self.direction == Direction::Down { 1.0 } else { f64::MAX };
        check(self.factor, f64::MAX, ErrorCode::FactorRange, Field::BackoffFactor)?;
        check(self.jitter, most_jitter, ErrorCode::JitterFactorRange, Field::JitterFactor)?;
        Ok(self.unchecked())
    }

    /// The options of an item that Kubernetes keeps until it is told to forget it.
    fn item() -> Self {
        Self { max: Span::MAX, forgives: u32::MAX, keep: None, keep_failed: None, ..Self::default() }
    }
}

impl GateConfig {
    /// An entry of Kubernetes' `flowcontrol.Backoff` (client-go, `util/flowcontrol/backoff.go`): it doubles with jitter that
    /// feeds back, the first delay is not held against `max`, and it begins again after more than twice `max` without a
    /// failure. A `max_jitter` that is not positive means none. `Next` is [`crate::Gate::failure_of`], `DeleteEntry` and
    /// `Reset` are [`crate::Gate::forget`].
    ///
    /// # Errors
    /// [`ErrorCode::JitterFactorRange`] for a `max_jitter` that is not finite.
    pub fn flowcontrol(initial: Span, max: Span, max_jitter: f64) -> Result<Self, Error> {
        let jitter = if max_jitter < 0.0 && max_jitter.is_finite() { 0.0 } else { max_jitter };
        let quiet = Span::from_nanos(max.as_nanos().saturating_mul(2));
        let options =
            GateOptions { initial, max, jitter, growth: Growth::Feedback, quiet: Some(quiet), ..GateOptions::item() };
        options.build()
    }

    /// The same, beginning again after more than `quiet` without a failure.
    #[must_use]
    pub const fn with_quiet(mut self, quiet: Span) -> Self {
        self.quiet = quiet.as_nanos();
        self
    }

    /// An item of Kubernetes' `ItemExponentialFailureRateLimiter` (client-go,
    /// `util/workqueue/default_rate_limiters.go`): `base * 2^failures` as a double, at most `max`. `When` is
    /// [`crate::Gate::failure`], `Forget` is [`crate::Gate::forget`], `NumRequeues` is [`crate::Gate::failures`].
    pub fn item_exponential(base: Span, max: Span) -> Self {
        let initial = Span::from_nanos(truncated(real(base.as_nanos())));
        GateOptions { initial, max, ..GateOptions::item() }.unchecked()
    }

    /// An item of Kubernetes' `ItemFastSlowRateLimiter` (same source): `fast` for the first `max_fast_attempts` failures,
    /// then `slow`; `slow` at once where that number is not positive.
    pub fn fast_slow(fast: Span, slow: Span, max_fast_attempts: i64) -> Self {
        let grace = u32::try_from(max_fast_attempts.max(0)).unwrap_or(u32::MAX);
        GateOptions { initial: slow, factor: 1.0, grace_delay: fast, grace, ..GateOptions::item() }.unchecked()
    }

    /// Chromium's `net::BackoffEntry` (`net/base/backoff_entry.cc`), from the fields of its policy in their order but for the
    /// first, times in milliseconds: jitter shortens, delays are whole milliseconds, a success takes back one failure, and
    /// nothing opens it sooner than it said. `None` is its -1: no longest delay, an entry that is kept for ever.
    ///
    /// # Errors
    /// [`ErrorCode::FactorRange`] or [`ErrorCode::JitterFactorRange`] for a factor out of its range.
    pub fn chromium(
        initial_delay: u64,
        multiply_factor: f64,
        jitter_factor: f64,
        maximum_backoff: Option<u64>,
        entry_lifetime: Option<u64>,
        errors_to_ignore: u32,
        always_use_initial_delay: bool,
    ) -> Result<Self, Error> {
        let initial = Span::from_millis(initial_delay);
        let at_once = if always_use_initial_delay { initial } else { Span::ZERO };
        let max = maximum_backoff.map(Span::from_millis);
        let keep = entry_lifetime.map(Span::from_millis);
        let options = GateOptions {
            initial,
            factor: multiply_factor,
            max: max.unwrap_or(Span::MAX),
            jitter: jitter_factor,
            direction: Direction::Down,
            grace: errors_to_ignore,
            grace_delay: at_once,
            ahead: always_use_initial_delay,
            rest: at_once,
            keep,
            keep_failed: keep.map(|keep| keep.max(max.unwrap_or(Span::ZERO))),
            quantum: Span::from_millis(1),
            ..GateOptions::default()
        };
        options.build()
    }
}

#[cfg(test)]
impl GateConfig {
    /// Any bits at all, for tests of the gate.
    pub(super) const fn from_words(
        words: [u64; 9],
        [grace, forgives]: [u32; 2],
        [direction, growth, ahead]: [u8; 3],
    ) -> Self {
        let [initial, factor, max, jitter, grace_delay, rest, quiet, keep, quantum] = words;
        let (factor, jitter) = (f64::from_bits(factor), f64::from_bits(jitter));
        let keep_failed = keep.rotate_left(7);
        Self {
            initial,
            factor,
            max,
            jitter,
            grace_delay,
            rest,
            quiet,
            keep,
            keep_failed,
            quantum,
            grace,
            forgives,
            direction,
            growth,
            ahead,
            unused: [0; 5],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_that_are_no_factors_are_refused() {
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            let error = GateOptions { factor: bad, ..GateOptions::default() }.build().unwrap_err();
            assert_eq!(error.code, ErrorCode::FactorRange);
            let error = GateOptions { jitter: bad, ..GateOptions::default() }.build().unwrap_err();
            assert_eq!(error.code, ErrorCode::JitterFactorRange);
        }
        let options = GateOptions { jitter: 1.5, ..GateOptions::default() };
        assert!(options.build().is_ok());
        assert!(GateOptions { direction: Direction::Down, ..options }.build().is_err());
    }
}
