//! The configuration of a breaker: when it opens, for how long, and when it closes again.

use crate::decide::backoff::{Backoff, RawStage, real, truncated};
use crate::decide::guards::Refusal;
use crate::decide::guards::window::slot_length;
use crate::error::{Error, ErrorCode, Quantity};
use crate::fields::Field;
use crate::time::Span;
use crate::words::words;

/// The rule that opens a closed breaker.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Trip {
    /// So many failures in a row.
    Consecutive {
        /// How many; from 1 on.
        failures: u32,
    },
    /// Too large a share of the latest calls.
    Count {
        /// How many of the latest calls count: 1 to 128.
        size: u32,
        /// Below how many no share counts: 1 to `size`.
        min_calls: u32,
        /// The share of failures from which on it opens: above 0, at most 1.
        failure_rate: f64,
        /// The same for slow calls; `None` to let them be.
        slow_rate: Option<f64>,
    },
    /// Too large a share of the calls of a sliding time.
    Time {
        /// How far back calls count; more than zero.
        window: Span,
        /// Into how many slots that is cut: 1 to 10.
        slots: u32,
        /// Below how many calls no share counts; from 1 on.
        min_calls: u32,
        /// The share of failures from which on it opens: above 0, at most 1.
        failure_rate: f64,
        /// The same for slow calls; `None` to let them be.
        slow_rate: Option<f64>,
    },
}

words! {
    /// The rule that opens a half-open breaker again.
    pub enum Reopen: u8 = First {
        /// Its first failure.
        First = 0 "first";
        /// A failure that makes the run of failures as long as [`Trip::Consecutive`] says. Opening does not end the run, a
        /// success does; so the first failure opens it too, but not one after a success.
        Streak = 1 "streak";
    }
}

words! {
    /// Enforces or only observes.
    pub enum BreakerMode: u8 = Enforce {
        /// It does.
        Enforce = 0 "enforce";
        /// It lets everything through and only shows what it would have done.
        Observe = 1 "observe";
    }
}

/// The choices for a breaker: [`BreakerOptions::build`] checks them once. The default opens after five failures in a row for
/// half a minute, and closes again when the one call that then tries it succeeds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BreakerOptions {
    /// The rule that opens it.
    pub trip: Trip,
    /// From which time on a call is slow; `None` for none. Not for [`Trip::Consecutive`].
    pub slow_after: Option<Span>,
    /// How long it stays open, the n-th time in a row without a closing; none of the random kinds.
    pub open_for: Backoff,
    /// Up to which part of itself each open time is lengthened, so that a fleet does not come back in step: finite, from 0
    /// on.
    pub jitter: f64,
    /// How many calls at once may try a half-open one; from 1 on.
    pub probes: u32,
    /// How many of their successes in a row close it; from 1 on.
    pub successes: u32,
    /// The rule that opens a half-open breaker again. [`Reopen::Streak`] with [`Trip::Consecutive`] only.
    pub reopen: Reopen,
    /// Enforces or only observes.
    pub mode: BreakerMode,
    /// True to open on a server's hint, for the time that the hint says.
    pub opens_on_hint: bool,
    /// The behaviour of a refused call.
    pub refusal: Refusal,
}

impl Default for BreakerOptions {
    fn default() -> Self {
        Self {
            trip: Trip::Consecutive { failures: 5 },
            slow_after: None,
            open_for: Backoff::Constant { delay: Span::from_secs(30) },
            jitter: 0.0,
            probes: 1,
            successes: 1,
            reopen: Reopen::First,
            mode: BreakerMode::Enforce,
            opens_on_hint: false,
            refusal: Refusal::Stop,
        }
    }
}

pub(super) const CONSECUTIVE: u8 = 0;
pub(super) const COUNT: u8 = 1;
pub(super) const TIME: u8 = 2;

/// No time, where a span may be missing.
const NONE: u64 = u64::MAX;

/// The checked choices for a breaker: 112 bytes, `Copy`, plain numbers; every bit pattern is valid.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(C)]
pub struct BreakerConfig {
    open: RawStage,
    failure_rate: f64,
    /// Above any share when slow calls are let be.
    slow_rate: f64,
    jitter: f64,
    slow_after: u64,
    window: u64,
    pub(super) slot_length: u64,
    /// In a row; of a window of calls, among them all.
    pub(super) failures: u32,
    /// Of calls, or the number of slots.
    pub(super) size: u32,
    pub(super) min_calls: u32,
    pub(super) probes: u32,
    pub(super) successes: u32,
    pub(super) kind: u8,
    reopen: u8,
    mode: u8,
    hint: u8,
    refusal: u8,
    /// No padding: a configuration is its bytes.
    unused: [u8; 7],
}

impl Default for BreakerConfig {
    /// Of the default options.
    fn default() -> Self {
        Self {
            open: RawStage {
                initial: 30_000_000_000,
                max: Span::MAX.as_nanos(),
                kind: crate::decide::backoff::CONSTANT,
                ..RawStage::EMPTY
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
            unused: [0; 7],
        }
    }
}

impl BreakerOptions {
    /// The configuration.
    ///
    /// # Errors
    /// [`ErrorCode::CountRange`] for a count out of its range, [`ErrorCode::ShareRange`] for a share that is none,
    /// [`ErrorCode::ZeroLimit`] for a window of zero, [`ErrorCode::RateRange`] for a jitter that is negative or not finite,
    /// [`ErrorCode::FieldMissing`] for a slow rate without the time from which on calls are slow, [`ErrorCode::NotForKind`]
    /// for a field that the kind of trip has no use for and for random open times, and the errors of a backoff.
    pub fn build(&self) -> Result<BreakerConfig, Error> {
        let not_for = |field| Error::new(ErrorCode::NotForKind, field, Quantity::None);
        let mut config = BreakerConfig { open: opening(self.open_for)?, ..BreakerConfig::default() };
        let (slow_rate, consecutive) = match self.trip {
            Trip::Consecutive { failures } => {
                config.failures = Field::BreakerFailures.whole(failures)?;
                (None, true)
            }
            Trip::Count { size, min_calls, failure_rate, slow_rate } => {
                config.kind = COUNT;
                config.size = Field::BreakerSize.whole(size)?;
                config.min_calls = Field::BreakerMinCalls.whole(min_calls)?;
                if min_calls > size {
                    let given = Quantity::Number(f64::from(min_calls));
                    return Err(Error::new(ErrorCode::CountRange, Field::BreakerMinCalls, given));
                }
                config.failure_rate = Field::BreakerFailureRate.number(failure_rate)?;
                config.failures = config.enough_of(size);
                (slow_rate, false)
            }
            Trip::Time { window, slots, min_calls, failure_rate, slow_rate } => {
                config.kind = TIME;
                config.window = Field::BreakerWindow.span(window)?;
                config.size = Field::BreakerSlots.whole(slots)?;
                config.slot_length = slot_length(window, slots);
                config.min_calls = Field::BreakerMinCalls.whole(min_calls)?;
                config.failure_rate = Field::BreakerFailureRate.number(failure_rate)?;
                (slow_rate, false)
            }
        };
        if let Some(rate) = slow_rate {
            config.slow_rate = Field::BreakerSlowRate.number(rate)?;
            if self.slow_after.is_none() {
                return Err(Error::new(ErrorCode::FieldMissing, Field::BreakerSlowAfter, Quantity::None));
            }
        }
        if let Some(slow_after) = self.slow_after {
            if consecutive {
                return Err(not_for(Field::BreakerSlowAfter));
            }
            config.slow_after = slow_after.as_nanos();
        }
        config.jitter = Field::BreakerJitter.number(self.jitter)?;
        config.probes = Field::BreakerProbes.whole(self.probes)?;
        config.successes = Field::BreakerSuccesses.whole(self.successes)?;
        if self.reopen == Reopen::Streak && !consecutive {
            return Err(not_for(Field::BreakerReopen));
        }
        config.reopen = u8::from(self.reopen == Reopen::Streak);
        config.mode = u8::from(self.mode == BreakerMode::Observe);
        config.hint = u8::from(self.opens_on_hint);
        config.refusal = u8::from(self.refusal == Refusal::Wait);
        Ok(config)
    }
}

fn share_of(some: u32, all: u32) -> f64 {
    f64::from(some) / f64::from(all)
}

/// The open times as a stage of a backoff.
fn opening(backoff: Backoff) -> Result<RawStage, Error> {
    let renamed = |field| match field {
        Field::BackoffFactor => Field::BreakerOpenFactor,
        Field::BackoffIncrement => Field::BreakerOpenIncrement,
        Field::BackoffExponent => Field::BreakerOpenExponent,
        Field::BackoffMax => Field::BreakerOpenMax,
        Field::BackoffKind => Field::BreakerOpenKind,
        _ => Field::BreakerOpenFor,
    };
    let stage = RawStage::of(backoff);
    if let Some((code, field, given)) = stage.broken(false) {
        return Err(Error::new(code, renamed(field), given));
    }
    if stage.is_random() {
        return Err(Error::new(ErrorCode::NotForKind, Field::BreakerOpenKind, Quantity::None));
    }
    Ok(stage)
}

impl BreakerConfig {
    /// True if the breaker does not count slow calls, so that hosts need not measure how long a call takes.
    pub const fn is_untimed(&self) -> bool {
        self.slow_after == NONE
    }

    /// True if a success leaves no trace in a closed breaker, so that hosts need not read the clock for it.
    pub const fn forgets_successes(&self) -> bool {
        self.kind == CONSECUTIVE
    }

    /// The behaviour of a refused call.
    pub const fn refusal(&self) -> Refusal {
        if self.refusal == 1 { Refusal::Wait } else { Refusal::Stop }
    }

    /// The open time after `row` others in a row, before jitter (spec 23.10).
    pub(super) fn open_time(&self, row: u32) -> Span {
        Span::from_nanos(self.open.at(row, self.open.max))
    }

    /// The same, lengthened by the uniform that `draw` is asked for if there is a jitter.
    pub(super) fn jittered(&self, open: Span, draw: impl FnOnce() -> f64) -> Span {
        if self.jitter > 0.0 {
            let more = truncated((draw() * self.jitter) * real(open.as_nanos()));
            return Span::from_nanos(open.as_nanos().saturating_add(more));
        }
        open
    }

    #[inline(always)]
    pub(super) const fn is_slow(&self, took: Span) -> bool {
        took.as_nanos() >= self.slow_after
    }

    /// True if slow answers count against it.
    pub(super) const fn minds_slow(&self) -> bool {
        self.slow_rate <= 1.0
    }

    pub(super) const fn by_streak(&self) -> bool {
        self.reopen == 1
    }

    #[inline(always)]
    pub(super) const fn observes(&self) -> bool {
        self.mode == 1
    }

    pub(super) const fn opens_on_hint(&self) -> bool {
        self.hint == 1
    }

    /// True if these counts open it (spec 23.5): a quotient, since a share of 7 in 100 is then the number 0.07 itself.
    #[inline(always)]
    pub(super) fn trips(&self, [total, failed, slow]: [u32; 3]) -> bool {
        // Hardly ever anything failed or was slow, and none is never enough.
        total >= self.min_calls
            && (failed > 0 && share_of(failed, total) >= self.failure_rate
                || slow > 0 && share_of(slow, total) >= self.slow_rate)
    }

    /// How many failures of that many calls open it.
    fn enough_of(&self, calls: u32) -> u32 {
        (1..calls).find(|failed| share_of(*failed, calls) >= self.failure_rate).unwrap_or(calls)
    }
}

#[cfg(test)]
impl BreakerConfig {
    /// Any bits at all, for tests of the breaker.
    pub(super) const fn from_words(
        words: [u64; 10],
        counts: [u32; 5],
        [kind, reopen, mode, hint, open]: [u8; 5],
    ) -> Self {
        let [initial, step, max, times, failure, slow, jitter, slow_after, window, slot_length] = words;
        let [failures, size, min_calls, probes, successes] = counts;
        Self {
            open: RawStage { initial, step, max, times: times as u32, kind: open, on: 0, unused: [0; 2] },
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
            unused: [0; 7],
        }
    }
}

#[cfg(test)]
mod tests;
