//! A policy's delays without outcomes: for previews, documentation and other people's loops.

use crate::decide::failure::FailureKind;
use crate::decide::policy::{DRAWS, Policy};
use crate::decide::rng::{Rng, unit};
use crate::decide::stages::Position;
use crate::time::Span;

/// The delays an operation would sleep if every attempt failed at once without a hint: one fewer than the attempts, without
/// end for a policy that retries for ever. Deadlines are not looked at, since they depend on how long attempts take.
///
/// An iterator: delay after delay, equal bit for bit to what [`crate::Retry`] decides for the same seed and failures that
/// are transient.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Schedule {
    policy: Policy,
    rng: Rng,
    /// The value of every draw; above 2^32 for the draws of the generator.
    pinned: u64,
    base: u64,
    count: u32,
    failures: u32,
}

impl Schedule {
    /// The delays of `policy` for the operation with this seed.
    pub fn new(policy: &Policy, seed: u64) -> Self {
        let Position { base, count } = Position::START;
        Self { policy: *policy, rng: Rng::new(seed), pinned: u64::MAX, base, count, failures: 0 }
    }

    /// The delays of `policy` if the generator drew nothing but this number: 0 shows the bottom of every range, 2^31 its
    /// middle, 2^32-1 its top.
    pub fn pinned(policy: &Policy, draw: u32) -> Self {
        Self { pinned: draw as u64, ..Self::new(policy, 0) }
    }

    /// The next delay after a failure of this kind if the generator drew `u` from [0, 1) for it, as recordings of other
    /// systems have it.
    pub fn next_at(&mut self, kind: FailureKind, u: f64) -> Option<Span> {
        self.step(kind, |_| u)
    }

    fn step(&mut self, kind: FailureKind, draw: impl FnOnce(&mut Rng) -> f64) -> Option<Span> {
        self.failures = self.failures.saturating_add(1).min(u32::MAX - 1);
        if self.failures >= self.policy.attempts {
            return None;
        }
        let mut at = Position { base: self.base, count: self.count };
        let delay = self.policy.delay(&mut at, kind.code(), || draw(&mut self.rng));
        (self.base, self.count) = (at.base, at.count);
        Some(Span::from_nanos(delay.value))
    }

    /// The base delay, before jitter, after failure `n` (from 0), whether or not there is an attempt after it: `d(n)` of spec 4.
    /// Of a backoff that is its own jitter it is the shortest.
    ///
    /// One step, but for an exponential one a failure until the delay stops changing, at most 65536: whatever is after that
    /// one reads as it.
    pub fn base_at(policy: &Policy, n: u32) -> Span {
        Span::from_nanos(policy.base_at(n))
    }
}

impl Iterator for Schedule {
    type Item = Span;

    #[inline]
    fn next(&mut self) -> Option<Span> {
        // As `Retry::at_once` does: most policies are one endless stage.
        if self.failures.max(self.count) < self.policy.steady && self.pinned == u64::MAX {
            let mut rng = self.rng;
            let (base, delay) = self.policy.steady_delay(self.base, self.count, rng.next_u32());
            if self.policy.path & DRAWS != 0 {
                self.rng = rng;
            }
            self.base = base;
            (self.failures, self.count) = (self.failures.wrapping_add(1), self.count.wrapping_add(1));
            return Some(Span::from_nanos(delay));
        }
        self.general()
    }
}

impl Schedule {
    /// The next delay, drawn or pinned.
    fn general(&mut self) -> Option<Span> {
        let pinned = u32::try_from(self.pinned).ok();
        self.step(FailureKind::Transient, |rng| pinned.map_or_else(|| rng.uniform(), unit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::backoff::Backoff;
    use crate::decide::failure::Failure;
    use crate::decide::retry::{Decision, Retry};
    use crate::time::Timestamp;
    use core::time::Duration;

    #[test]
    fn a_schedule_is_what_retry_decides() {
        let policy = Policy::options().attempts(40).build().unwrap();
        let mut retry = Retry::new(5, Timestamp::ZERO);
        let mut schedule = Schedule::new(&policy, 5);
        while let Decision::Sleep { until, .. } = retry.on_failure(&policy, Timestamp::ZERO, Failure::TRANSIENT) {
            assert_eq!(schedule.next(), Some(until.since(Timestamp::ZERO)));
        }
        assert_eq!(schedule.next(), None);
        assert_eq!(schedule.next(), None);
    }

    #[test]
    fn a_plain_delay_is_what_the_rules_say() {
        for policy in [Policy::options().attempts(40), Policy::options().forever().deadline(Duration::from_secs(9))] {
            let policy = policy.build().unwrap();
            let (mut plain, mut general) = (Schedule::new(&policy, 5), Schedule::new(&policy, 5));
            for _ in 0..50 {
                assert_eq!(plain.next(), general.general());
            }
        }
    }

    #[test]
    fn base_delays_are_found_without_walking_there() {
        let second = Duration::from_secs(1);
        for (backoff, n, seconds) in [
            (Backoff::constant(second), u32::MAX, 1),
            (Backoff::linear(second, second), 9, 10),
            (Backoff::linear(second, second).max(second * 7), u32::MAX, 7),
            (Backoff::exponential(second, 2.0), 5, 32),
            (Backoff::exponential(second, 2.0).max(second * 9), u32::MAX, 9),
            (Backoff::exponential(second, 0.5), u32::MAX, 0),
            // Hundreds of millions of steps if they were walked, which is seconds.
            (Backoff::exponential(second, 1.0 + 1e-9), u32::MAX, 1),
        ] {
            let policy = Policy::options().backoff(backoff).build().unwrap();
            assert_eq!(Schedule::base_at(&policy, n).as_nanos() / 1_000_000_000, seconds, "{backoff:?} {n}");
        }
    }
}
