//! A policy's delays without outcomes: for previews, documentation and other people's loops.

use crate::decide::failure::{Failure, FailureKind};
use crate::decide::policy::{Limits, Policy, UNLIMITED};
use crate::decide::retry::{Decision, Retry};
use crate::decide::rng::unit;
use crate::time::{Span, Timestamp};

/// The delays an operation would sleep if every attempt failed at once without a hint: one fewer than the attempts, without
/// end for a policy that retries for ever. Deadlines are not looked at, since they depend on how long attempts take.
///
/// An iterator: delay after delay, equal bit for bit to what [`crate::Retry`] decides for the same seed and failures that
/// are transient and that no rule takes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Schedule {
    policy: Policy,
    retry: Retry,
    /// The value of every draw; above 2^32 for the draws of the generator.
    pinned: u64,
    /// How much longer the delays may be in all; the largest number for no limit.
    left: u64,
}

impl Schedule {
    /// The delays of `policy` for the operation with this seed.
    #[inline]
    pub fn new(policy: &Policy, seed: u64) -> Self {
        Self { policy: *policy, retry: Retry::new(seed, Timestamp::ZERO), pinned: u64::MAX, left: u64::MAX }
    }

    /// The delays of `policy` if the generator drew nothing but this number: 0 shows the bottom of every range, 2^31 its
    /// middle, 2^32-1 its top.
    pub fn pinned(policy: &Policy, draw: u32) -> Self {
        Self { pinned: draw as u64, ..Self::new(policy, 0) }
    }

    /// The delays that are together at most `total`: the schedule ends before the first delay with which they would be longer.
    #[must_use]
    pub const fn within(mut self, total: Span) -> Self {
        self.left = total.as_nanos();
        self
    }

    /// The next delay after a failure of this kind if the generator drew `u` from [0, 1) for it, as recordings of other
    /// systems have it.
    pub fn next_at(&mut self, kind: FailureKind, u: f64) -> Option<Span> {
        self.step(kind, Some(u))
    }

    fn step(&mut self, kind: FailureKind, pinned: Option<f64>) -> Option<Span> {
        // Attempts take no time, so that no limit asks for theirs.
        (self.policy.deadline, self.policy.limits, self.policy.reset_after) =
            (UNLIMITED, Limits::First.code(), UNLIMITED);
        let now = self.retry.latest();
        match self.retry.decide(&self.policy, now, Failure::new(kind), pinned) {
            Decision::Sleep { until, .. } => self.spend(until.since(now), until),
            Decision::GiveUp { .. } => None,
        }
    }

    /// The delay, if there is enough of the total left. Time passes only for a stage that it ends.
    fn spend(&mut self, delay: Span, until: Timestamp) -> Option<Span> {
        if self.left != u64::MAX {
            self.left = self.left.checked_sub(delay.as_nanos())?;
        }
        if self.policy.has_rules() && self.policy.ends_by_time() {
            self.retry.observe(until);
        }
        Some(delay)
    }

    /// The base delay, before jitter, after failure `n` (from 0), whether or not there is an attempt after it: `d(n)` of spec 4.
    /// Of a backoff that is its own jitter it is the shortest.
    ///
    /// One step, but for an exponential one a failure until the delay stops changing, at most 65536: whatever is after that
    /// one reads as it. Where a time ends a stage, a step for each failure.
    pub fn base_at(policy: &Policy, n: u32) -> Span {
        Span::from_nanos(policy.base_at(n))
    }
}

impl Iterator for Schedule {
    type Item = Span;

    #[inline]
    fn next(&mut self) -> Option<Span> {
        // As `Retry` does: most policies are one endless stage.
        if self.pinned & self.left == u64::MAX
            && let Some(delay) = self.retry.next_plain(&self.policy)
        {
            return Some(Span::from_nanos(delay));
        }
        self.general()
    }
}

impl Schedule {
    /// The next delay, drawn or pinned.
    #[cold]
    #[inline(never)]
    fn general(&mut self) -> Option<Span> {
        let pinned = u32::try_from(self.pinned).ok();
        self.step(FailureKind::Transient, pinned.map(unit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::backoff::Backoff;
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
    fn a_schedule_ends_before_its_delays_are_longer_than_a_total() {
        let second = Duration::from_secs(1);
        let policy = *Policy::options().backoff(Backoff::linear(second, second)).jitter(crate::Jitter::None).forever();
        let policy = policy.build().unwrap();
        let within = |seconds| Schedule::new(&policy, 0).within(Span::from_secs(seconds)).count();
        assert_eq!([0, 1, 2, 3, 9, 10].map(within), [0, 1, 1, 2, 3, 4]);
    }

    #[cfg(all(feature = "powers", feature = "rules"))]
    #[test]
    fn a_stage_that_ends_by_time_ends_in_a_schedule() {
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        let mut options = *Policy::options().backoff(Backoff::constant(minutes(15))).jitter(crate::Jitter::None);
        for (name, value) in [
            ("backoff[0].until", minutes(120)),
            ("backoff[1].initial", minutes(60)),
            ("backoff[1].until", minutes(400)),
        ] {
            options.set(name, value.into()).unwrap();
        }
        let policy = options.build().unwrap();
        let delays: std::vec::Vec<_> =
            Schedule::new(&policy, 0).map(|delay| delay.as_nanos() / 60_000_000_000).collect();
        assert_eq!(delays, [15, 15, 15, 15, 15, 15, 15, 15, 60, 120, 240]);
        for (n, delay) in (0..).zip(&delays) {
            assert_eq!(Schedule::base_at(&policy, n).as_nanos() / 60_000_000_000, *delay, "{n}");
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
