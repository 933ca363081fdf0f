//! Machines for tests: draws that a test chooses, and failures on purpose.

use crate::config;
use crate::machine::Schedule;
use crate::parameters::{Delay, Duration, Kind, Longest, Place, Seed, SpanOr as _};
use crate::policy::PolicyOrName;
use holdoff_core::Span;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};

/// The most attempts of an operation, whatever its policy says.
static MOST_ATTEMPTS: AtomicU32 = AtomicU32::new(u32::MAX);

/// True if a test allows no attempt after this number.
pub(crate) fn is_last(attempt: u32) -> bool {
    attempt >= MOST_ATTEMPTS.load(Ordering::Relaxed)
}

functions! { py;
    /// Limits the attempts of every operation; None removes the limit. Returns the limit before.
    fn override_attempts(most: Option<u32>) -> Option<u32> =
        Some(MOST_ATTEMPTS.swap(most.unwrap_or(u32::MAX), Ordering::Relaxed)).filter(|most| *most != u32::MAX);

    /// The delays of a policy if the generator drew nothing but this number: 0 shows the bottom of every range, 2**31 its
    /// middle, 2**32-1 its top.
    fn pinned(policy: PolicyOrName<'_>, draw: u32) -> Schedule =
        Schedule(holdoff_core::Schedule::pinned(policy.core(), draw));

    /// The next delay of a schedule after a failure of this kind if the generator drew u from [0, 1); None at the end.
    fn next_at(schedule: &Bound<'_, Schedule>, kind: Kind, u: f64) -> PyResult<Option<u64>> =
        Ok(schedule.try_borrow_mut()?.0.next_at(kind.0, u).map(Span::as_nanos));

    /// The delay that the policy's jitter makes of a delay for the draw u from [0, 1). `longest` is the cap, no limit unless
    /// given; `drawn` is the whole number that bounded jitter takes in place of u. All in nanoseconds.
    fn jittered(
        policy: PolicyOrName<'_>, delay: Delay, u: f64 = 0.0; longest: Option<Longest> = None, drawn: Option<i64> = None
    ) -> u64 = {
        let (policy, longest) = (policy.core(), longest.map_or(Span::MAX, |longest| longest.0));
        let capped = || policy.jitter().apply_capped(delay.0, longest, policy.cap(), u);
        drawn.map_or_else(capped, |drawn| policy.jitter().apply_drawn(delay.0, drawn)).as_nanos()
    };
}

/// Which attempts fail on purpose and how long each is held up, by its number from 0.
#[pyclass(module = "holdoff.machines", frozen)]
pub(crate) struct Chaos(holdoff_core::Chaos);

methods! { Chaos(self, py);
    shown "<Chaos>";

    new(
        ; seed: Seed = None, failure_rate: f64 = 0.0, latency_rate: f64 = 1.0, shortest: Option<Duration<'_, '_>> = None,
        longest: Option<Duration<'_, '_>> = None
    ) -> PyResult<Self> = {
        let (shortest, longest) = (shortest.span_or("latency", Span::ZERO)?, longest.span_or("latency", Span::ZERO)?);
        let seed = seed.map_or(0, |seed| seed.0);
        let made = holdoff_core::Chaos::new(seed, failure_rate, latency_rate, shortest, longest);
        config::valid(py, made).map(Self)
    };

    /// True if the attempt fails on purpose.
    ref fails(k: Place) -> bool = self.0.fails(k.0);

    /// The nanoseconds by which the attempt is held up.
    ref latency(k: Place) -> u64 = self.0.latency(k.0).as_nanos();
}
