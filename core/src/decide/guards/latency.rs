//! When an attempt takes longer than most: a quantile of their times, kept in two numbers.
//!
//! A second attempt beside a slow one is worth its cost only when the first is slower than nearly all of them. How slow that
//! is differs from server to server and from hour to hour, so it is estimated as the attempts end: by stochastic
//! approximation (Robbins, Monro, 1951), which needs no samples to be kept (spec 28).

use crate::decide::backoff::{real, truncated};
use crate::decide::guards::guard::{GuardFields, guard_config};
use crate::decide::guards::save::Pass;
use crate::error::Error;
use crate::fields::{Field, Section};
use crate::time::{Span, Timestamp};
use crate::value::checked;

/// How far one record can move the estimate, as a part of it.
const STEP: f64 = 0.05;
/// From how many records on the estimate is used.
const ENOUGH: u32 = 20;
/// The most attempts in a round.
const MOST: u32 = 8;

/// An estimate of how long the given share of attempts takes at most: 16 bytes, `Copy`. Zeroes are an estimate without records.
///
/// # Contract
/// [`Latency::record`] with each attempt's time and always the same share. Every bit pattern of the state is valid and no
/// input panics.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[repr(C)]
pub struct Latency {
    /// Nanoseconds.
    pub(crate) estimate: f64,
    pub(crate) records: u32,
    /// No padding: a state is its bytes.
    pub(crate) unused: u32,
}

impl Latency {
    /// An estimate without records.
    pub const fn new() -> Self {
        Self { estimate: 0.0, records: 0, unused: 0 }
    }

    /// An attempt took that long. `percentile` is the share of attempts below the estimate, 0.95 for the 95th percentile;
    /// read as 0 or 1 when it is outside of them (spec 28.2).
    pub fn record(&mut self, took: Span, percentile: f64) {
        let took = real(took.as_nanos());
        let share = if percentile > 0.0 { percentile.min(1.0) } else { 0.0 };
        self.estimate = if self.records == 0 || self.estimate < 1.0 || self.estimate.is_nan() {
            took
        } else if took > self.estimate {
            self.estimate + self.estimate * STEP * share
        } else {
            self.estimate - self.estimate * STEP * (1.0 - share)
        };
        self.records = self.records.saturating_add(1);
    }

    /// The estimate in whole nanoseconds; `None` before the first record.
    pub fn quantile(&self) -> Option<Span> {
        if self.records == 0 { None } else { Some(Span::from_nanos(truncated(self.estimate))) }
    }

    /// True: no call is worse off without an estimate (spec 21.5).
    pub const fn is_at_rest(&self, _: &HedgeConfig, _: Timestamp) -> bool {
        true
    }

    /// How many records there were, at most 2^32-1.
    pub const fn records(&self) -> u32 {
        self.records
    }
}

/// When a hedge starts beside a running attempt, and the limit of attempts at once: 24 bytes, `Copy`, plain numbers; every
/// bit pattern is valid.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(C)]
pub struct HedgeConfig {
    pub(crate) delay: u64,
    /// 0 for none.
    pub(crate) percentile: f64,
    pub(crate) attempts: u32,
    /// No padding: a configuration is its bytes.
    pub(crate) unused: u32,
}

impl HedgeConfig {
    /// The next attempt starts `delay` after the one before it, or, with a `percentile` (0.95 for the 95th), once it takes
    /// longer than that share of attempts; `attempts` in all, the first included, 1 to 8.
    ///
    /// # Errors
    /// [`ErrorCode::ShareRange`](crate::ErrorCode::ShareRange) unless the percentile is above 0 and at most 1;
    /// [`ErrorCode::CountRange`](crate::ErrorCode::CountRange) for `attempts`.
    pub fn new(delay: Span, percentile: Option<f64>, attempts: u32) -> Result<Self, Error> {
        let percentile = percentile.map_or(Ok(0.0), |share| checked!(HedgePercentile.number(share)))?;
        let attempts = checked!(HedgeAttempts.count(attempts))?;
        Ok(Self { delay: delay.as_nanos(), percentile, attempts, unused: 0 })
    }

    /// How long after an attempt's start the next one starts: the percentile once there are 20 records, `delay` without one
    /// and before (spec 28.5).
    pub fn delay(&self, latency: &Latency) -> Span {
        match latency.quantile() {
            Some(quantile) if self.percentile > 0.0 && latency.records >= ENOUGH => quantile,
            _ => Span::from_nanos(self.delay),
        }
    }

    /// The fixed delay.
    pub const fn fixed_delay(&self) -> Span {
        Span::from_nanos(self.delay)
    }

    /// The share of attempts that end before the next one starts.
    pub fn percentile(&self) -> Option<f64> {
        if self.percentile > 0.0 { Some(self.percentile) } else { None }
    }

    /// How many attempts there may be at once, the first included.
    pub fn attempts(&self) -> u32 {
        self.attempts.clamp(1, MOST)
    }
}

guard_config!(HedgeConfig: Section::HEDGE, Latency = |_, _, _| Latency::new(), 21 saved as 8 + 4;

    fn of_fields(_: u8, fields: &dyn GuardFields) -> Result<Self, Error> {
        let percentile = fields.number(Field::HedgePercentile).map(f64::from_bits);
        Self::new(fields.span(Field::HedgeDelay), percentile, fields.count(Field::HedgeAttempts))
    }

    fn pass(&self, state: &mut Latency, pass: &mut Pass<'_>) {
        pass.real("estimate", &mut state.estimate);
        pass.half(&mut state.records);
    }
);

#[cfg(test)]
mod tests;
