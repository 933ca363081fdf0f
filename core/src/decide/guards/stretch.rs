//! Longer delays while much fails: each policy backs off further from a server that is half broken.
//!
//! An exponential backoff looks at the failures of one call only. If every second answer of a server fails, few calls fail
//! twice in a row: each retries after its shortest delays, and retries are a third of the load. All calls together know the
//! share of attempts that failed lately; every delay is stretched by that share (spec 27).

use super::window::{self, Slots};
use crate::decide::backoff::{real, truncated};
use crate::decide::guards::guard::{GuardFields, guard_config};
use crate::decide::guards::save::Pass;
use crate::error::Error;
use crate::fields::{Field, Section};
use crate::time::{Span, Timestamp};
use crate::value::checked;

/// The factor of the delays and the window it is measured over: 24 bytes, `Copy`, plain numbers; every bit pattern is valid.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(C)]
pub struct StretchConfig {
    pub(crate) factor: f64,
    pub(crate) window: u64,
    pub(crate) min_calls: u32,
    /// No padding: a configuration is its bytes.
    pub(crate) unused: u32,
}

impl StretchConfig {
    /// Delays are multiplied by up to `factor`, which they are when every attempt of the last `window` failed; they stay as
    /// they are while there were fewer than `min_calls` attempts in it.
    ///
    /// # Errors
    /// [`ErrorCode::FactorRange`](crate::ErrorCode::FactorRange) unless `factor` is finite and from 1 on;
    /// [`ErrorCode::ZeroLimit`](crate::ErrorCode::ZeroLimit) for a `window` of zero;
    /// [`ErrorCode::CountRange`](crate::ErrorCode::CountRange) for a `min_calls` of 0.
    pub fn new(factor: f64, window: Span, min_calls: u32) -> Result<Self, Error> {
        let factor = checked!(StretchFactor.number(factor))?;
        let window = checked!(StretchWindow.span(window))?;
        Ok(Self { factor, window, min_calls: checked!(StretchMinCalls.count(min_calls))?, unused: 0 })
    }

    /// The factor of the delays when every attempt fails.
    pub const fn factor(&self) -> f64 {
        self.factor
    }

    /// A tenth of the window, rounded up.
    const fn slot(&self) -> u64 {
        window::slot_length(Span::from_nanos(self.window), window::SLOTS)
    }
}

/// The attempts of the last while: 144 bytes, `Copy`.
///
/// # Contract
/// [`Stretch::record`] with each attempt's end; [`Stretch::stretch`] looks and changes nothing. Both with the same
/// [`StretchConfig`]. A `now` before the latest one reads as that one (spec 1.3). Every bit pattern of the state is valid and
/// no input panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Stretch {
    pub(crate) slots: Slots,
}

impl Stretch {
    /// A guard that has seen nothing.
    pub const fn new(_config: &StretchConfig, now: Timestamp) -> Self {
        Self { slots: Slots::new(now) }
    }

    /// An attempt ended at `now`, and `failed` or not.
    pub fn record(&mut self, config: &StretchConfig, now: Timestamp, failed: bool) {
        self.slots.advance(now, config.slot(), window::SLOTS);
        self.slots.record(failed, false);
    }

    /// True if it counts no failure (spec 21.5).
    pub fn is_at_rest(&self, config: &StretchConfig, now: Timestamp) -> bool {
        let (total, failed) = self.counts(config, now);
        total == 0 || failed == 0
    }

    /// The attempts that count at `now`, and how many of them failed.
    pub fn counts(&self, config: &StretchConfig, now: Timestamp) -> (u32, u32) {
        let [calls, failed, _] = self.slots.sums_at(now, config.slot(), window::SLOTS);
        (calls, failed)
    }

    /// The stretched delay at `now`: `trunc(delay * (1 + (factor - 1) * (failed / calls)))` (spec 27.3).
    pub fn stretch(&self, config: &StretchConfig, now: Timestamp, delay: Span) -> Span {
        let (calls, failed) = self.counts(config, now);
        if failed == 0 || calls < config.min_calls || config.factor <= 1.0 {
            return delay;
        }
        let share = f64::from(failed) / f64::from(calls);
        Span::from_nanos(truncated(real(delay.as_nanos()) * (1.0 + (config.factor - 1.0) * share)))
    }
}

guard_config!(StretchConfig: Section::STRETCH, Stretch = |config, _, now| Stretch::new(config, now), 20 saved as Slots::SAVED;

    fn of_fields(_: u8, fields: &dyn GuardFields) -> Result<Self, Error> {
        let (factor, window) = (fields.real(Field::StretchFactor), fields.span(Field::StretchWindow));
        Self::new(factor, window, fields.count(Field::StretchMinCalls))
    }

    fn pass(&self, state: &mut Stretch, pass: &mut Pass<'_>) {
        state.slots.pass(pass);
    }

    fn within(&self, mut state: Stretch, _: Timestamp) -> Stretch {
        state.slots.hold_slots(window::SLOTS);
        state
    }
);

#[cfg(test)]
mod tests;
