//! The retry loop under a policy of one stage without powers: the core's decisions from a machine of a tenth of its bytes.
//!
//! A web page loads the machine before it retries anything. Chains, powers, tables, saved states and clocks that run back
//! are most of the core's, and no call of `holdoff/lite` has them. `tests/tests/lite.rs` holds this one against the core's.

use super::policy::Policy;
use holdoff_core::{Cause, Failure, FailureKind, RawStep, Rng, Span, StopReason, Timestamp};

/// One call of an operation, from its first failure to its end; the same policy goes into each method.
///
/// Every bit pattern is a call, and no input panics. An input out of order, too early or after the end changes nothing but
/// the latest time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Call {
    rng: Rng,
    /// The latest base delay, in nanoseconds.
    base: u64,
    latest: Timestamp,
    /// When to abort the attempt, until when to sleep or, at the end, when another try might succeed.
    pub at: Timestamp,
    /// The number of the latest attempt, from 1.
    pub attempt: u32,
    /// [`RawStep::ATTEMPT`] while it runs, [`RawStep::SLEEP`] or [`RawStep::STOP`].
    pub step: u8,
    /// The number of the latest sleep's [`Cause`].
    pub cause: u8,
    /// At the end the number of its [`StopReason`].
    pub reason: u8,
    unused: u8,
}

impl Call {
    /// A call whose first attempt runs since time 0.
    #[must_use]
    pub fn underway(seed: u64) -> Self {
        let (rng, latest, at) = (Rng::new(seed), Timestamp::ZERO, Timestamp::NEVER);
        Self { rng, base: 0, latest, at, attempt: 1, step: RawStep::ATTEMPT, cause: 0, reason: 0, unused: 0 }
    }

    /// The attempt failed at `now` (spec 9.1 for the order of the tests).
    pub fn fail(&mut self, policy: &Policy, now: Timestamp, failure: Failure) {
        let now = self.observe(now);
        if self.step != RawStep::ATTEMPT {
            return;
        }
        if failure.kind == FailureKind::Permanent || failure.hint.is_never() {
            return self.give_up(StopReason::Permanent, Timestamp::NEVER);
        }
        if self.attempt >= policy.attempts {
            return self.give_up(StopReason::Attempts, Timestamp::NEVER);
        }
        let asked = failure.hint.span().unwrap_or(Span::ZERO);
        if asked.as_nanos() > policy.hint_max {
            return self.give_up(StopReason::Hint, now.after(asked));
        }
        let (low, delay) = self.delay(policy);
        // spec 7.2: the whole range moves up until its bottom is the hint
        let lift = asked.as_nanos().saturating_sub(low);
        let until = now.after(Span::from_nanos(delay.wrapping_add(lift)));
        // spec 6.2 and 6.3; without a deadline both are later than any time
        let deadline = Timestamp::from_nanos(policy.deadline);
        let last_start = Timestamp::from_nanos(policy.deadline.wrapping_sub(policy.min_attempt));
        if deadline.is_never() || until < deadline && until <= last_start {
            self.sleep(until, if lift > 0 { Cause::Hint } else { Cause::Backoff });
        } else if policy.clips() && now < last_start && now.after(asked) <= last_start {
            self.sleep(last_start, Cause::Clip);
        } else {
            self.give_up(StopReason::Deadline, until);
        }
    }

    /// Nothing but time has passed: the next attempt, when its sleep is over at `now`.
    pub fn tick(&mut self, policy: &Policy, now: Timestamp) {
        let now = self.observe(now);
        if self.step != RawStep::SLEEP || now < self.at {
            return;
        }
        if now.as_nanos() >= policy.deadline {
            // spec 6.4: the host woke up too late for this one
            return self.give_up(StopReason::Deadline, self.at);
        }
        self.attempt = self.attempt.saturating_add(1);
        self.step = RawStep::ATTEMPT;
        let timeout = now.as_nanos().saturating_add(policy.attempt_timeout);
        self.at = Timestamp::from_nanos(timeout.min(policy.deadline));
    }

    /// The shortest delay that the next draw could have led to, and the drawn delay (spec 4 and 5).
    fn delay(&mut self, policy: &Policy) -> (u64, u64) {
        let previous = if self.attempt == 1 { policy.initial } else { self.base };
        let grown = match policy.kind {
            Policy::LINEAR => previous.saturating_add(policy.increment),
            Policy::CONSTANT => previous,
            _ => (previous as f64 * policy.factor) as u64,
        };
        let random = policy.kind == Policy::DECORRELATED;
        let high = if self.attempt == 1 && !random { previous } else { grown.min(policy.max) };
        let low = match policy.jitter {
            _ if random => policy.initial,
            Policy::FULL => 0,
            Policy::EQUAL => high >> 1,
            _ => high,
        };
        let delay = low.wrapping_add((self.rng.uniform() * high.saturating_sub(low) as f64) as u64);
        self.base = if random { delay } else { high };
        (low, delay)
    }

    fn observe(&mut self, now: Timestamp) -> Timestamp {
        self.latest = self.latest.max(now.min(Timestamp::LAST));
        self.latest
    }

    fn sleep(&mut self, until: Timestamp, cause: Cause) {
        (self.step, self.at, self.cause) = (RawStep::SLEEP, until, cause.code());
    }

    fn give_up(&mut self, reason: StopReason, retry_at: Timestamp) {
        (self.step, self.at, self.reason) = (RawStep::STOP, retry_at, reason.code());
    }
}
