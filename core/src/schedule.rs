//! A policy's delays without outcomes: for previews, documentation and other people's loops.

use crate::backoff::{LINEAR, UNSTARTED};
use crate::jitter::{self, jittered};
use crate::policy::Policy;
use crate::rng::Rng;
use crate::time::Span;

/// The delays an operation would sleep if every attempt failed at once without a hint: one fewer than the attempts, without
/// end for a policy that retries for ever. Deadlines are not looked at, since they depend on how long attempts take.
///
/// An iterator: delay after delay, equal bit for bit to what [`crate::Retry`] decides for the same seed.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    policy: Policy,
    rng: Rng,
    base: u64,
    failures: u32,
}

impl Schedule {
    /// The delays of `policy` for the operation with this seed.
    #[must_use]
    pub const fn new(policy: &Policy, seed: u64) -> Self {
        Self { policy: *policy, rng: Rng::new(seed), base: UNSTARTED, failures: 0 }
    }

    /// The base delay, before jitter, after failure `n` (from 0), whether or not there is an attempt after it (spec 4.5).
    ///
    /// Constant and linear take one step; exponential takes one a failure until the delay stops changing.
    #[must_use]
    pub fn base_at(policy: &Policy, n: u32) -> Span {
        if policy.backoff == LINEAR {
            let grown = u64::from(n).saturating_mul(policy.stage.increment);
            return Span::from_nanos(policy.stage.initial.saturating_add(grown).min(policy.stage.max));
        }
        let mut base = policy.stage.initial;
        for _ in 0..n {
            let next = policy.stage.next(policy.backoff, base);
            if next == base {
                break;
            }
            base = next;
        }
        Span::from_nanos(base)
    }
}

impl Iterator for Schedule {
    type Item = Span;

    fn next(&mut self) -> Option<Span> {
        self.failures = self.failures.saturating_add(1).min(u32::MAX - 1);
        if self.failures >= self.policy.attempts {
            return None;
        }
        let policy = &self.policy;
        self.base = policy.stage.next(policy.backoff, self.base);
        let u = if policy.jitter == jitter::NONE { 0.0 } else { self.rng.uniform() };
        Some(Span::from_nanos(jittered(policy.jitter, policy.jitter_factor, self.base, policy.stage.max, u)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backoff::Backoff;
    use crate::failure::Failure;
    use crate::retry::{Decision, Retry};
    use crate::time::Timestamp;
    use core::time::Duration;

    #[test]
    fn a_schedule_is_what_retry_decides() {
        let policy = Policy::builder().attempts(40).build().unwrap();
        let mut retry = Retry::new(5, Timestamp::ZERO);
        let mut schedule = Schedule::new(&policy, 5);
        while let Decision::Sleep { until, .. } = retry.on_failure(&policy, Timestamp::ZERO, Failure::TRANSIENT) {
            assert_eq!(schedule.next(), Some(until.since(Timestamp::ZERO)));
        }
        assert_eq!(schedule.next(), None);
        assert_eq!(schedule.next(), None);
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
        ] {
            let policy = Policy::builder().backoff(backoff).build().unwrap();
            assert_eq!(Schedule::base_at(&policy, n), Span::from_secs(seconds), "{backoff:?} {n}");
        }
    }
}
