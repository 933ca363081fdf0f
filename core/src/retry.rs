//! One decision a failure: the state of one operation, without its policy and without its loop.

use crate::backoff::UNSTARTED;
use crate::error::StopReason;
use crate::failure::{Failure, FailureKind};
use crate::jitter::{self, jittered, spread};
use crate::policy::{CLAMP, CLIP, IGNORE, Policy, REPLACE, UNLIMITED};
use crate::rng::Rng;
use crate::time::{Span, Timestamp};

/// Why a sleep is as long as it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Cause {
    /// The policy's backoff and jitter.
    Backoff = 1,
    /// The server's hint moved it.
    Hint = 2,
    /// The deadline cut it short.
    Clip = 3,
}

impl Cause {
    /// Every cause, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Backoff, Self::Hint, Self::Clip];

    /// The number, the same in every language.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The word, the same in every language.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Backoff => "backoff",
            Self::Hint => "hint",
            Self::Clip => "clip",
        }
    }
}

/// What to do after a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decision {
    /// Sleep until then and try again.
    Sleep {
        /// When to try again; not before the failure.
        until: Timestamp,
        /// Why then.
        cause: Cause,
    },
    /// Do not try again.
    GiveUp {
        /// Why not.
        reason: StopReason,
        /// When another try might succeed, for a caller that can wait longer; [`Timestamp::NEVER`] when nobody knows.
        retry_at: Timestamp,
    },
}

/// The state of one operation that may fail: 40 bytes, `Copy`, no policy inside.
///
/// # Contract
/// The only input is [`Retry::on_failure`], once for each failed attempt, in the order of their ends; its answer says when
/// to try again or why not to. An answer to give up does not lock the machine: the next failure is simply one more.
/// Time is monotonic; a `now` before the latest one seen reads as that one (spec 1.3). The policy is lent, and the same
/// one should be lent each time. Every bit pattern of the state is valid, and no input panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Retry {
    rng: Rng,
    started: Timestamp,
    latest: Timestamp,
    /// The base delay of the latest computed sleep, or [`UNSTARTED`].
    base: u64,
    failures: u32,
    /// No padding: the state is its bytes.
    unused: u32,
}

impl Retry {
    /// An operation whose first attempt began at `started`. The seed decides its jitter: draw it from the operating
    /// system, or give a fixed one to repeat a run.
    #[must_use]
    #[inline(always)]
    pub const fn new(seed: u64, started: Timestamp) -> Self {
        let started = started.as_now();
        Self { rng: Rng::new(seed), started, latest: started, base: UNSTARTED, failures: 0, unused: 0 }
    }

    /// When the first attempt began.
    #[must_use]
    pub const fn started(&self) -> Timestamp {
        self.started
    }

    /// How many attempts have failed.
    #[must_use]
    pub const fn failures(&self) -> u32 {
        self.failures
    }

    /// When the operation as a whole must be over; [`Timestamp::NEVER`] without a deadline (spec 6.1).
    #[must_use]
    #[inline(always)]
    pub const fn deadline(&self, policy: &Policy) -> Timestamp {
        // "No limit" is the largest number there is, so the saturating sum is "never".
        Timestamp::from_nanos(self.started.as_nanos().saturating_add(policy.deadline))
    }

    /// Takes the time, and answers with the latest time seen (spec 1.3).
    #[inline(always)]
    pub(crate) const fn observe(&mut self, now: Timestamp) -> Timestamp {
        self.latest = self.latest.max(now.as_now());
        self.latest
    }

    /// Decides what to do about an attempt that failed at `now` (spec 9.1 for the order of the tests).
    #[inline(always)]
    pub fn on_failure(&mut self, policy: &Policy, now: Timestamp, failure: Failure) -> Decision {
        let now = self.observe(now);
        self.failures = self.failures.saturating_add(1).min(u32::MAX - 1);
        if failure.kind as u8 == FailureKind::Permanent as u8 {
            return give_up(StopReason::Permanent);
        }
        if !failure.hint.is_none() || policy.deadline != UNLIMITED {
            let (state, decision) = limited(*self, policy, now, failure);
            *self = state;
            return decision;
        }
        if self.failures >= policy.attempts {
            return give_up(StopReason::Attempts);
        }
        let base = self.advance(policy);
        let u = self.draw(policy);
        let delay = jittered(policy.jitter, policy.jitter_factor, base, policy.stage.max, u);
        Decision::Sleep { until: now.after(Span::from_nanos(delay)), cause: Cause::Backoff }
    }

    /// The next base delay (spec 4.1).
    #[inline(always)]
    fn advance(&mut self, policy: &Policy) -> u64 {
        self.base = policy.stage.next(policy.backoff, self.base);
        self.base
    }

    /// One uniform, when the jitter uses one (spec 2.4).
    #[inline(always)]
    fn draw(&mut self, policy: &Policy) -> f64 {
        if policy.jitter == jitter::NONE { 0.0 } else { self.rng.uniform() }
    }
}

const fn give_up(reason: StopReason) -> Decision {
    Decision::GiveUp { reason, retry_at: Timestamp::NEVER }
}

/// A decision with a hint or a deadline in it. The state is a copy, so that the common path keeps its own in registers.
#[cold]
#[inline(never)]
fn limited(mut retry: Retry, policy: &Policy, now: Timestamp, failure: Failure) -> (Retry, Decision) {
    let decision = retry.decide(policy, now, failure);
    (retry, decision)
}

impl Retry {
    fn decide(&mut self, policy: &Policy, now: Timestamp, failure: Failure) -> Decision {
        let obeyed = policy.hint_mode != IGNORE;
        if failure.hint.is_never() && obeyed {
            return give_up(StopReason::Permanent);
        }
        if self.failures >= policy.attempts {
            return give_up(StopReason::Attempts);
        }
        let mut hint = if obeyed { failure.hint.span() } else { None };
        if let Some(asked) = hint
            && asked.as_nanos() > policy.hint_max
        {
            if policy.hint_over != CLAMP {
                return Decision::GiveUp { reason: StopReason::Hint, retry_at: now.after(asked) };
            }
            hint = Some(Span::from_nanos(policy.hint_max));
        }
        let base = self.advance(policy);
        let u = self.draw(policy);
        let own = spread(policy.jitter, policy.jitter_factor, base, policy.stage.max, u);
        let (delay, cause) = match hint.map(Span::as_nanos) {
            Some(asked) if policy.hint_mode == REPLACE => {
                // spec 7.3: the hint, and the spread on top of it
                (asked.saturating_add(crate::backoff::truncated(u * own.width as f64)), Cause::Hint)
            }
            Some(asked) if asked > own.low => {
                // spec 7.2: the whole range moves up until its bottom is the hint
                (own.value.saturating_add(asked.saturating_sub(own.low)), Cause::Hint)
            }
            _ => (own.value, Cause::Backoff),
        };
        self.fit(policy, now, now.after(Span::from_nanos(delay)), cause, hint)
    }

    /// Holds a sleep against the deadline (spec 6.2 and 6.3).
    fn fit(&self, policy: &Policy, now: Timestamp, until: Timestamp, cause: Cause, hint: Option<Span>) -> Decision {
        let deadline = self.deadline(policy);
        let last_start = Timestamp::from_nanos(deadline.as_nanos().saturating_sub(policy.min_attempt));
        if deadline.is_never() || (until < deadline && until <= last_start) {
            return Decision::Sleep { until, cause };
        }
        // spec 6.3: never below the hint
        let earliest = hint.map_or(now, |asked| now.after(asked));
        if policy.on_deadline == CLIP && earliest <= last_start && last_start < deadline {
            return Decision::Sleep { until: last_start, cause: Cause::Clip };
        }
        Decision::GiveUp { reason: StopReason::Deadline, retry_at: until }
    }
}
