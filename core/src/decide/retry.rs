//! One decision a failure: the state of one operation, without its policy and without its loop.

use crate::decide::backoff::{DECORRELATED, UNSTARTED, real, truncated};
use crate::decide::failure::{Failure, FailureKind};
use crate::decide::hint::{Hint, HintMode, HintOver};
use crate::decide::jitter::{self, Spread, capped};
use crate::decide::policy::{ASKED, DRAWS, OnDeadline, Policy, RULES, UNLIMITED};
use crate::decide::rng::Rng;
use crate::decide::stage_numbers::Choices;
use crate::error::StopReason;
use crate::time::{Span, Timestamp};
use crate::words::words;

words! {
    /// Why a sleep is as long as it is.
    #[non_exhaustive]
    pub enum Cause: u8 {
        /// The policy's backoff and jitter.
        Backoff = 1 "backoff" "the policy's own delay";
        /// The server's hint moved it.
        Hint = 2 "hint" "the server asked for it";
        /// The deadline cut it short.
        Clip = 3 "clip" "the deadline cut it short";
        /// The circuit breaker lets nobody through before.
        Breaker = 5 "breaker" "the circuit breaker is open until then";
        /// The rate limit has room then.
        Limiter = 6 "limiter" "the rate limit has a permit then";
        /// Until then at most, for a place in the bulkhead: ask again when one comes free.
        Bulkhead = 7 "bulkhead" "waits for a place in the bulkhead, until then at most";
    }
}

/// The decision after a failure.
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
        /// When another try might succeed, for a caller that can wait longer; [`Timestamp::NEVER`] if that is not known.
        retry_at: Timestamp,
    },
}

/// The state of one operation that may fail: 64 bytes, `Copy`, no policy inside.
///
/// # Contract
/// The only input is [`Retry::on_failure`], once for each failed attempt, in the order of their ends; its answer says when
/// to try again or why not to. An answer to give up does not lock the machine: the next failure is simply one more.
/// Time is monotonic; a `now` before the latest one seen reads as that one (spec 1.3). Pass the same
/// policy each time. Every bit pattern of the state is valid, and no input panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Retry {
    pub(crate) rng: Rng,
    pub(crate) started: Timestamp,
    pub(crate) latest: Timestamp,
    pub(crate) used: Used,
}

/// The numbers of a [`Retry`] that no clock changes: what an operation has used of its policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub(crate) struct Used {
    /// How long after `started` the latest attempt began, under a policy that asks for it; else 0.
    pub(crate) began: u64,
    /// The latest base delay (of Polly's backoff the bits of its `f`), or [`UNSTARTED`].
    pub(crate) base: u64,
    /// How many attempts have failed, without the failures that a rule counts for itself.
    pub(crate) failures: u32,
    /// How many delays there have been, at most [`COUNTED`](crate::decide::policy::COUNTED), and above that the number of the stage
    /// of the latest.
    pub(crate) count: u32,
    /// How many failures each rule has counted for itself.
    pub(crate) counts: [u16; RULES],
}

impl Used {
    pub(crate) const NONE: Self = Self { began: 0, base: UNSTARTED, failures: 0, count: 0, counts: [0; RULES] };
}

impl Retry {
    /// An operation whose first attempt began at `started`. The seed decides its jitter: draw it from the operating
    /// system, or give a fixed one to repeat a run.
    #[inline(always)]
    pub fn new(seed: u64, started: Timestamp) -> Self {
        let started = started.as_now();
        Self { rng: Rng::new(seed), started, latest: started, used: Used::NONE }
    }

    /// When the first attempt began; the epoch if it began before that, on another clock (spec 12.4).
    pub const fn started(&self) -> Timestamp {
        if self.started.as_nanos() <= self.latest.as_nanos() { self.started } else { Timestamp::ZERO }
    }

    /// How many attempts have failed.
    pub const fn failures(&self) -> u32 {
        self.used.failures
    }

    /// When the operation as a whole must be over; [`Timestamp::NEVER`] without a deadline (spec 6.1).
    #[inline(always)]
    pub fn deadline(&self, policy: &Policy) -> Timestamp {
        if !policy.has_rules() {
            return self.deadline_from_start(policy);
        }
        let retry = *self;
        retry.deadline_by_rules(policy)
    }

    /// The deadline counted from the start.
    #[inline(always)]
    pub(crate) const fn deadline_from_start(&self, policy: &Policy) -> Timestamp {
        // "No limit" is the largest number there is, so the saturating sum is "never".
        if self.started.as_nanos() <= self.latest.as_nanos() {
            return Timestamp::from_nanos(self.started.as_nanos().saturating_add(policy.deadline));
        }
        self.deadline_of_older(policy)
    }

    /// When an attempt that begins at `now` is aborted, and the note of its beginning (spec 6.6).
    #[inline(always)]
    pub(crate) fn attempt_at(&self, policy: &Policy, now: Timestamp) -> (Timestamp, u64) {
        if !policy.is_limited() {
            return (Timestamp::NEVER, self.used.began);
        }
        if !policy.has_rules() {
            let timeout = Timestamp::from_nanos(now.as_nanos().saturating_add(policy.attempt_timeout));
            return (timeout.min(self.deadline_from_start(policy)), self.used.began);
        }
        // By value, so that the paths above keep the state in registers.
        let retry = *self;
        retry.attempt_at_by_rules(policy, now)
    }

    /// The same after a sleep; `None` after the deadline (spec 6.4).
    #[inline(always)]
    pub(crate) fn wake(&self, policy: &Policy, now: Timestamp) -> Option<(Timestamp, u64)> {
        let is_late = policy.is_limited() && now >= self.deadline(policy);
        if is_late { None } else { Some(self.attempt_at(policy, now)) }
    }

    /// The deadline of an operation that is older than the clock it was resumed on: it began before the epoch, so that
    /// `started` is negative, in two's complement, and the only way for it to be after the latest time (spec 12.4).
    #[cold]
    const fn deadline_of_older(&self, policy: &Policy) -> Timestamp {
        let before = self.started.as_nanos().wrapping_neg();
        match policy.deadline {
            UNLIMITED => Timestamp::NEVER,
            deadline => Timestamp::from_nanos(deadline.saturating_sub(before)),
        }
    }

    /// How long ago the operation began; what was before a `Retry::resume` counts.
    pub const fn elapsed(&self, now: Timestamp) -> Span {
        Span::from_nanos(self.age(self.clock(now)))
    }

    /// How long after the beginning that is. 584 years after a beginning before the epoch it counts from the epoch: no
    /// deadline is that long, and the sum would be no number of 64 bits (spec 12.4).
    pub(crate) const fn age(&self, at: Timestamp) -> u64 {
        if self.outlives(at) { at.as_nanos() } else { at.as_nanos().wrapping_sub(self.started.as_nanos()) }
    }

    /// True if the operation began before the epoch and so long ago that its age is no number of 64 bits.
    #[inline(always)]
    const fn outlives(&self, at: Timestamp) -> bool {
        let started = self.started.as_nanos();
        started > self.latest.as_nanos() && at.as_nanos() >= started
    }

    /// The latest time seen.
    #[inline(always)]
    pub(crate) const fn latest(&self) -> Timestamp {
        self.latest
    }

    /// The time that `now` reads as (spec 1.3).
    pub(crate) const fn clock(&self, now: Timestamp) -> Timestamp {
        self.latest.as_now().max(now.as_now())
    }

    /// Takes the time, and returns the latest time seen (spec 1.3).
    #[inline(always)]
    pub(crate) const fn observe(&mut self, now: Timestamp) -> Timestamp {
        if now.as_nanos() >= self.latest.as_nanos() && now.is_early() {
            self.latest = now;
        } else {
            *self = self.observed(now);
        }
        self.latest
    }

    /// The state after a time that is not simply a later one.
    #[cold]
    const fn observed(mut self, now: Timestamp) -> Self {
        let now = self.clock(now);
        if self.outlives(now) {
            self.started = Timestamp::ZERO;
        }
        self.latest = now;
        self
    }

    /// Decides what to do about an attempt that failed at `now` (spec 9.1 for the order of the tests).
    #[inline(always)]
    pub fn on_failure(&mut self, policy: &Policy, now: Timestamp, failure: Failure) -> Decision {
        // A build without rules has to be small, so it has one path.
        if !cfg!(feature = "rules") {
            return self.decide(policy, now, failure, None);
        }
        if failure.hint.is_none()
            && failure.kind as u8 != FailureKind::Permanent as u8
            && let Some(until) = self.at_once(policy, now)
        {
            return Decision::Sleep { until, cause: Cause::Backoff };
        }
        // A copy, so that the path above keeps the state in registers.
        let mut state = *self;
        let Failure { kind, rule, hint } = failure;
        let decision = decided(&mut state, policy, now, kind, rule, hint);
        *self = state;
        decision
    }

    /// The fast path of [`Retry::on_failure`]: the sleep after a failure that may be retried and has no hint, under a policy
    /// of one endless stage. `None`, and nothing has happened, where the rules have more to decide. Bindings call it first.
    #[doc(hidden)]
    #[inline(always)]
    pub fn at_once(&mut self, policy: &Policy, now: Timestamp) -> Option<Timestamp> {
        if self.used.failures.max(self.used.count) >= policy.plain_delays || now < self.latest || !now.is_early() {
            return None;
        }
        let mut next = *self;
        let until = Timestamp::from_nanos(now.as_nanos().wrapping_add(next.next_plain(policy)?));
        if policy.is_limited() && !(until.is_early() && fits(policy, self.started, until)) {
            return None;
        }
        next.latest = now;
        *self = next;
        Some(until)
    }

    /// The next delay of an operation each of whose failures was followed by a delay, whatever the time; `None`, and nothing has
    /// happened, where the rules have more to decide.
    #[inline(always)]
    pub(crate) fn next_plain(&mut self, policy: &Policy) -> Option<u64> {
        let (n, stage) = (self.used.count, &policy.first().stage);
        if n >= policy.plain_delays {
            return None;
        }
        let u = if policy.path & DRAWS != 0 { self.rng.uniform() } else { 0.0 };
        let fresh = self.used.base == UNSTARTED;
        let previous = if fresh { stage.initial } else { self.used.base };
        self.used.base = match stage.kind {
            DECORRELATED => {
                let width = stage.grown(previous).min(stage.max).max(stage.initial).wrapping_sub(stage.initial);
                stage.initial.saturating_add(truncated(u * real(width)))
            }
            _ if fresh => stage.at(n, stage.max),
            _ => stage.next(previous, n, stage.max),
        };
        let (value, low, high) = jitter::range(policy.own.jitter, policy.own.jitter_by, self.used.base, u);
        (self.used.failures, self.used.count) = (self.used.failures.wrapping_add(1), n.wrapping_add(1));
        Some(if high <= stage.max { value } else { capped(value, low, high, stage.max, policy.own.cap, u).value })
    }
}

pub(crate) const fn give_up(reason: StopReason) -> Decision {
    Decision::GiveUp { reason, retry_at: Timestamp::NEVER }
}

/// True if a sleep until then leaves an attempt its time before the deadline (spec 6.2).
#[inline(always)]
const fn fits(policy: &Policy, started: Timestamp, until: Timestamp) -> bool {
    // spec 12.4: an operation older than its clock began at a negative time
    let elapsed = Span::from_nanos(until.as_nanos().wrapping_sub(started.as_nanos())).as_nanos();
    elapsed < policy.deadline && elapsed <= policy.deadline.saturating_sub(policy.min_attempt)
}

/// Any decision. The failure comes in parts, which stay in registers: in one piece it would be written to memory before the
/// fast path, too.
#[cold]
#[inline(never)]
fn decided(retry: &mut Retry, policy: &Policy, now: Timestamp, kind: FailureKind, rule: u8, hint: Hint) -> Decision {
    retry.decide(policy, now, Failure { kind, rule, hint }, None)
}

impl Retry {
    /// The same state with another seed.
    pub(crate) fn with_seed(self, seed: u64) -> Self {
        Self { rng: Rng::new(seed), ..self }
    }

    /// True if an attempt at that time would have its time before the deadline, if there is one (spec 6.2).
    pub(crate) fn has_time(&self, policy: &Policy, at: Timestamp) -> bool {
        self.deadline(policy).is_never() || !self.outlives(at) && fits(policy, self.started, at)
    }

    /// Holds a sleep against the deadline, beyond which the operation ends for that reason (spec 6.2, 6.3 and 6.7).
    pub(crate) fn fit(
        &self,
        policy: &Policy,
        now: Timestamp,
        until: Timestamp,
        cause: Cause,
        hint: Option<Span>,
        reason: StopReason,
    ) -> Decision {
        if policy.deadline == UNLIMITED || self.has_time(policy, until) {
            return Decision::Sleep { until, cause };
        }
        let deadline = self.deadline(policy);
        let last_start = Timestamp::from_nanos(deadline.as_nanos().saturating_sub(policy.min_attempt));
        // spec 6.3: later than the failure, or the last attempt would be made again and again; never below the hint
        let earliest = hint.map_or(now, |asked| now.after(asked));
        if policy.on_deadline() == OnDeadline::Clip
            && now < last_start
            && earliest <= last_start
            && last_start < deadline
        {
            return Decision::Sleep { until: last_start, cause: Cause::Clip };
        }
        Decision::GiveUp { reason, retry_at: if reason == StopReason::Attempts { Timestamp::NEVER } else { until } }
    }
}

impl Policy {
    /// The shortest delay that a hint may ask for instead of the policy's own (spec 7.18).
    fn hint_floor(&self, own: u64) -> u64 {
        // spec 7.17: a delay of the program's own is no hint
        if self.most() <= MANY || self.path & ASKED != 0 { 0 } else { own.min(LONGEST_FLOOR) }
    }
}

/// The attempts up to which a server may drive retries as fast as it likes.
pub(crate) const MANY: u32 = 10;
/// The longest floor of a hint, in nanoseconds.
const LONGEST_FLOOR: u64 = 1_000_000_000;

impl Choices {
    /// The hint that is obeyed, in nanoseconds; or the end of an operation whose hint is too long (spec 7.4).
    #[inline(always)]
    pub(crate) fn allowed(&self, hint: Hint, now: Timestamp) -> Result<Option<u64>, Decision> {
        let Some(asked) = hint.span().filter(|_| HintMode::read(self.hint_mode) != HintMode::Ignore) else {
            return Ok(None);
        };
        let nanos = asked.as_nanos();
        match HintOver::read(self.hint_over) {
            HintOver::Ignore if nanos == 0 || nanos > self.hint_max => Ok(None),
            _ if nanos <= self.hint_max => Ok(Some(nanos)),
            HintOver::Clamp => Ok(Some(self.hint_max)),
            _ => Err(Decision::GiveUp { reason: StopReason::Hint, retry_at: now.after(asked) }),
        }
    }

    /// The delay under a hint, its cause, and the hint that no sleep may be shorter than (spec 7.2, 7.3, 7.14, 7.15 and 7.18).
    pub(crate) fn applied(
        &self,
        policy: &Policy,
        own: &Spread,
        asked: Option<u64>,
        u: f64,
    ) -> (u64, Cause, Option<Span>) {
        let Some(asked) = asked else { return (own.value, Cause::Backoff, None) };
        let mode = HintMode::read(self.hint_mode);
        let (delay, cause) = match mode {
            HintMode::Replace | HintMode::Exact => {
                // spec 7.3: the hint, and the spread on top of it
                let spread = if mode == HintMode::Replace { truncated(u * own.width as f64) } else { 0 };
                let (delay, floor) = (asked.saturating_add(spread), policy.hint_floor(own.value));
                if delay < floor { (floor, Cause::Backoff) } else { (delay, Cause::Hint) }
            }
            HintMode::AtLeast if asked > own.value => (asked, Cause::Hint),
            HintMode::AtLeast => (own.value, Cause::Backoff),
            // spec 7.2: the whole range moves up until its bottom is the hint
            _ if asked > own.low => (own.value.saturating_add(asked.saturating_sub(own.low)), Cause::Hint),
            _ => (own.value, Cause::Backoff),
        };
        // spec 7.15: no further than the policy lets a hint reach
        let furthest = own.value.saturating_add(self.hint_reach);
        (delay.min(furthest), cause, Some(Span::from_nanos(asked.min(furthest))))
    }
}

#[cfg(test)]
mod tests;
