//! The configuration of a breaker: when it opens, for how long, and when it closes again.

use crate::decide::backoff::{BackoffNumbers, CONSTANT, real, truncated};
use crate::decide::guards::guard::Refusal;
use crate::decide::guards::window::slot_length;
use crate::error::{Error, ErrorCode, Quantity};
use crate::fields::Field;
use crate::time::Span;
use crate::value::checked;

pub(crate) const CONSECUTIVE: u8 = 0;
pub(crate) const COUNT: u8 = 1;
pub(crate) const TIME: u8 = 2;

/// No time, where a span may be missing.
const NONE: u64 = u64::MAX;

/// The most open times of a list.
pub(crate) const OPEN_TIMES: usize = 8;

/// When a breaker opens and closes, checked: 168 bytes, `Copy`, plain numbers; every bit pattern is valid. The default opens
/// after five failures in a row for half a minute, and closes again when the one call that then tries it succeeds.
/// [`Options::breaker`](crate::Options::breaker) makes any other.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(C)]
pub struct BreakerConfig {
    /// The number of listed open times, the first one included, is its `times`; 0 without a list.
    pub(crate) open: BackoffNumbers,
    pub(crate) failure_rate: f64,
    /// Above any share when slow calls are let be.
    pub(crate) slow_rate: f64,
    pub(crate) jitter: f64,
    pub(crate) slow_after: u64,
    pub(crate) window: u64,
    pub(crate) slot_length: u64,
    /// In a row, for the consecutive kind.
    pub(crate) failures: u32,
    /// Of calls, or the number of slots.
    pub(crate) size: u32,
    pub(crate) min_calls: u32,
    pub(crate) probes: u32,
    pub(crate) successes: u32,
    pub(crate) kind: u8,
    pub(crate) reopen: u8,
    pub(crate) mode: u8,
    pub(crate) hint: u8,
    pub(crate) refusal: u8,
    pub(crate) ramp: u8,
    /// No padding: a configuration is its bytes.
    pub(crate) unused: [u8; 2],
    /// The failures while half-open that do not open it.
    pub(crate) probe_failures: u32,
    /// The listed open times after the first one.
    pub(crate) more_open: [u64; OPEN_TIMES - 1],
}

impl Default for BreakerConfig {
    fn default() -> Self {
        Self {
            open: BackoffNumbers {
                initial: 30_000_000_000,
                max: Span::MAX.as_nanos(),
                kind: CONSTANT,
                ..BackoffNumbers::EMPTY
            },
            failure_rate: 1.0,
            slow_rate: f64::INFINITY,
            jitter: 0.0,
            slow_after: NONE,
            window: 0,
            slot_length: 1,
            failures: 5,
            size: 1,
            min_calls: 1,
            probes: 1,
            successes: 1,
            kind: CONSECUTIVE,
            reopen: 0,
            mode: 0,
            hint: 0,
            refusal: 0,
            ramp: 0,
            unused: [0; 2],
            probe_failures: 0,
            more_open: [0; OPEN_TIMES - 1],
        }
    }
}

fn share_of(some: u32, all: u32) -> f64 {
    f64::from(some) / f64::from(all)
}

impl BreakerConfig {
    /// Opens for `open` after that many `failures` in a row; every other field has its default.
    ///
    /// # Errors
    /// [`ErrorCode::CountRange`] for no failures.
    pub fn consecutive(failures: u32, open: Span) -> Result<Self, Error> {
        Ok(Self { failures: checked!(BreakerFailures.count(failures))?, ..Self::opening_for(open) })
    }

    /// Opens for `open` when at least the share `failure_rate` of the last `size` calls failed, `min_calls` or more of them.
    ///
    /// # Errors
    /// [`ErrorCode::CountRange`] for the counts (`size` is at most 128, `min_calls` at most `size`), [`ErrorCode::ShareRange`]
    /// for the rate.
    pub fn count(size: u32, min_calls: u32, failure_rate: f64, open: Span) -> Result<Self, Error> {
        let size = checked!(BreakerSize.count(size))?;
        // A breaker by count has no use for its window; options leave the default in it, and so do these numbers.
        let window = Field::BreakerWindow.default_number();
        Self { kind: COUNT, window, size, ..Self::opening_for(open) }.with_rate(min_calls, failure_rate)
    }

    /// Opens for `open` when at least the share `failure_rate` of the calls of the last `window` failed, `min_calls` or more of
    /// them. The window moves by `slots` steps.
    ///
    /// # Errors
    /// [`ErrorCode::ZeroLimit`] for the window, [`ErrorCode::CountRange`] for the counts, [`ErrorCode::ShareRange`] for the rate.
    pub fn time(window: Span, slots: u32, min_calls: u32, failure_rate: f64, open: Span) -> Result<Self, Error> {
        let (size, window) = (checked!(BreakerSlots.count(slots))?, checked!(BreakerWindow.span(window))?);
        Self { kind: TIME, window, size, ..Self::opening_for(open) }.with_rate(min_calls, failure_rate)
    }

    /// The same, which opens for one of these times after the other in a row; the last one repeats.
    ///
    /// # Errors
    /// [`ErrorCode::DelaysMissing`] for none, [`ErrorCode::TooManyStages`] for more than 8.
    pub fn with_open_times(mut self, times: &[Span]) -> Result<Self, Error> {
        let wrong = |code| Error::new(code, Field::BreakerOpenFor, Quantity::None);
        let [first, more @ ..] = times else { return Err(wrong(ErrorCode::DelaysMissing)) };
        let Some(slots) = self.more_open.get_mut(..more.len()) else { return Err(wrong(ErrorCode::TooManyStages)) };
        slots.iter_mut().zip(more).for_each(|(slot, time)| *slot = time.as_nanos());
        self.open = BackoffNumbers { initial: first.as_nanos(), times: times.len() as u32, ..Self::default().open };
        Ok(self)
    }

    /// The same, which lets `probes` calls at once try it while half-open, closes after `successes` of them and opens again when
    /// more than `failures` of them have failed.
    ///
    /// # Errors
    /// [`ErrorCode::CountRange`] for no probes or no successes.
    pub fn with_probes(self, probes: u32, successes: u32, failures: u32) -> Result<Self, Error> {
        let (probes, successes) =
            (checked!(BreakerProbes.count(probes))?, checked!(BreakerSuccesses.count(successes))?);
        Ok(Self { probes, successes, probe_failures: failures, reopen: 0, ..self })
    }

    fn opening_for(open: Span) -> Self {
        let default = Self::default();
        Self { open: BackoffNumbers { initial: open.as_nanos(), ..default.open }, ..default }
    }

    fn with_rate(self, min_calls: u32, failure_rate: f64) -> Result<Self, Error> {
        let (min_calls, slot_length) = (self.checked_calls(min_calls)?, self.slot());
        Ok(Self { min_calls, slot_length, failure_rate: checked!(BreakerFailureRate.number(failure_rate))?, ..self })
    }

    /// The calls below which no share counts: of a count no more than there may be.
    pub(super) fn checked_calls(&self, min_calls: u32) -> Result<u32, Error> {
        if self.kind == COUNT && min_calls > self.size {
            return Err(Error::new(ErrorCode::CountRange, Field::BreakerMinCalls, Quantity::Number(min_calls.into())));
        }
        checked!(BreakerMinCalls.count(min_calls))
    }

    pub(super) const fn slot(&self) -> u64 {
        slot_length(Span::from_nanos(self.window), self.size)
    }

    /// The behaviour of a refused call.
    pub const fn refusal(&self) -> Refusal {
        Refusal::read(self.refusal)
    }

    /// The open time after `row` others in a row, before jitter (spec 23.10).
    pub(crate) fn open_time(&self, row: u32) -> Span {
        let behind = row.min(self.open.times.wrapping_sub(1)).checked_sub(1);
        if self.open.times != 0
            && let Some(listed) = behind.and_then(|index| self.more_open.get(index as usize))
        {
            return Span::from_nanos(*listed);
        }
        Span::from_nanos(self.open.at(row, self.open.max))
    }

    /// The same, lengthened by the uniform that `draw` is asked for if there is a jitter.
    pub(crate) fn jittered(&self, open: Span, draw: impl FnOnce() -> f64) -> Span {
        if self.jitter > 0.0 {
            let more = truncated((draw() * self.jitter) * real(open.as_nanos()));
            return Span::from_nanos(open.as_nanos().saturating_add(more));
        }
        open
    }

    #[inline(always)]
    pub(crate) const fn is_slow(&self, took: Span) -> bool {
        took.as_nanos() >= self.slow_after
    }

    /// True if slow answers count against it.
    pub(crate) const fn minds_slow(&self) -> bool {
        self.slow_rate <= 1.0
    }

    /// True if one failure while half-open need not open it, whatever the run of failures before.
    pub(crate) const fn tolerates(&self) -> bool {
        self.probe_failures != 0 && !self.by_streak()
    }

    pub(crate) const fn by_streak(&self) -> bool {
        self.reopen == 1
    }

    #[inline(always)]
    pub(crate) const fn observes(&self) -> bool {
        self.mode == 1
    }

    /// True if calls that waited begin in growing numbers.
    pub(crate) const fn ramps(&self) -> bool {
        self.ramp == 0
    }

    pub(crate) const fn opens_on_hint(&self) -> bool {
        self.hint == 1
    }

    /// True if these counts open it (spec 23.5): a quotient, since a share of 7 in 100 is then the number 0.07 itself.
    #[inline(always)]
    pub(crate) fn trips(&self, [total, failed, slow]: [u32; 3]) -> bool {
        // Hardly ever anything failed or was slow, and none is never enough.
        total >= self.min_calls
            && (failed > 0 && share_of(failed, total) >= self.failure_rate
                || slow > 0 && share_of(slow, total) >= self.slow_rate)
    }
}

#[cfg(test)]
impl BreakerConfig {
    /// Any bits at all, for tests of the breaker.
    pub(crate) const fn from_words(
        words: [u64; 10],
        counts: [u32; 5],
        [kind, reopen, mode, hint, open]: [u8; 5],
    ) -> Self {
        let [initial, step, max, times, failure, slow, jitter, slow_after, window, slot_length] = words;
        let [failures, size, min_calls, probes, successes] = counts;
        Self {
            open: BackoffNumbers { initial, step, max, times: times as u32, kind: open, unused: [0; 3] },
            failure_rate: f64::from_bits(failure),
            slow_rate: f64::from_bits(slow),
            jitter: f64::from_bits(jitter),
            slow_after,
            window,
            slot_length,
            failures,
            size,
            min_calls,
            probes,
            successes,
            kind,
            reopen,
            mode,
            hint,
            refusal: 0,
            ramp: 0,
            unused: [0; 2],
            probe_failures: step as u32 % 4,
            more_open: [max; OPEN_TIMES - 1],
        }
    }
}

#[cfg(test)]
mod tests;
