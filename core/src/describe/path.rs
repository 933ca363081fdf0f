//! The delays of one operation whose draws are pinned, for sums and tables of delays.

use crate::decide::failure::Failure;
use crate::decide::policy::Policy;
use crate::decide::retry::{Decision, Retry};
use crate::decide::rng::unit;
use crate::error::StopReason;
use crate::time::{Span, Timestamp};

/// How many retries are run to sum up their delays.
pub(crate) const COUNTED: u32 = 1 << 12;

/// An operation all of whose attempts fail at once and all of whose draws are the same.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Path {
    pub(crate) retry: Retry,
    pub(crate) draw: u32,
    pub(crate) total: Span,
}

impl Path {
    pub(crate) fn pinned(draw: u32) -> Self {
        Self { retry: Retry::new(0, Timestamp::ZERO), draw, total: Span::ZERO }
    }

    /// The next delay and whether it ends in time; nothing when no attempt is left.
    pub(crate) fn next(&mut self, policy: &Policy, failure: Failure) -> Option<(Span, bool)> {
        // Without a deadline time decides nothing, and at the beginning of it no sum saturates.
        let passed = if policy.deadline().is_none() { Span::ZERO } else { self.total };
        let now = Timestamp::ZERO.after(passed);
        let (until, in_time) = match self.retry.decide(policy, now, failure, Some(unit(self.draw))) {
            Decision::Sleep { until, .. } => (until, true),
            Decision::GiveUp { reason: StopReason::Deadline, retry_at } => (retry_at, false),
            Decision::GiveUp { .. } => return None,
        };
        let delay = until.since(now);
        self.total = Span::from_nanos(self.total.as_nanos().saturating_add(delay.as_nanos()));
        Some((delay, in_time))
    }
}
