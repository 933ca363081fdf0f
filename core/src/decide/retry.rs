//! One decision a failure: the state of one operation, without its policy and without its loop.

use crate::decide::backoff::{UNSTARTED, truncated};
use crate::decide::failure::{Failure, FailureKind};
use crate::decide::jitter::{full_in_line, full_of_small, whole_of_small};
use crate::decide::policy::{AT_LEAST, CLAMP, CLIP, EXACT, IGNORE, LIMITED_PLAINLY, Policy, REPLACE, UNLIMITED};
use crate::decide::rng::Rng;
use crate::decide::stages::Position;
use crate::error::StopReason;
use crate::time::{Span, Timestamp};
use crate::words::words;

words! {
    /// Why a sleep is as long as it is.
    pub enum Cause: u8 {
        /// The policy's backoff and jitter.
        Backoff = 1 "backoff" "the policy's own delay";
        /// The server's hint moved it.
        Hint = 2 "hint" "a server's hint moved it";
        /// The deadline cut it short.
        Clip = 3 "clip" "the deadline cut it short";
        /// The circuit breaker lets nobody through before.
        Breaker = 5 "breaker" "the circuit breaker lets nobody through before";
        /// The rate limit has room then.
        Limiter = 6 "limiter" "the rate limit has room then";
        /// Until then at most, for a place in the bulkhead: ask again when one comes free.
        Bulkhead = 7 "bulkhead" "until then at most, for a place in the bulkhead";
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
    /// The latest base delay, see [`Position`].
    base: u64,
    /// How many attempts have failed and the place of a [`Position`], see [`counts`].
    counts: u64,
}

/// The numbers of a [`Retry`] that are saved, all times relative (spec 12.2).
#[derive(Clone, Copy)]
pub(crate) struct Snapshot {
    pub(crate) seed: u64,
    pub(crate) elapsed: u64,
    pub(crate) base: u64,
    pub(crate) place: u32,
    pub(crate) failures: u32,
}

/// What the lower half of the counts says when both counts are one number: the upper half and one more.
const ALIKE: u64 = u32::MAX as u64;

/// The counts of a state that has seen nothing yet.
const START: u64 = counts(0, 0, false);

/// The two counts of a [`Retry`] as one number: how many attempts have failed, and above that how far the place is from it.
///
/// Below 2^32 the two are the same: each failure was followed by a delay of the first stage. Such a number promises besides
/// that the state is `plain`, which is that it has a base delay and that its latest time is early. So one comparison with a
/// policy's limit is nearly all that the hot path asks, and adding 1 counts both. The two counts of a state that is not
/// plain are kept under [`ALIKE`] if they are the same; of them [`START`] is the largest number there is.
const fn counts(failures: u32, place: u32, plain: bool) -> u64 {
    let apart = place.wrapping_sub(failures);
    let failures = failures as u64;
    if apart == 0 && !plain { failures.wrapping_sub(1) << 32 | ALIKE } else { (apart as u64) << 32 | failures }
}

/// How long before the epoch an operation begins at the earliest: 146 years. What is decided in line then needs no test for
/// an age that is no number of 64 bits.
const OLDEST: u64 = 1 << 62;

impl Retry {
    /// An operation whose first attempt began at `started`. The seed decides its jitter: draw it from the operating
    /// system, or give a fixed one to repeat a run.
    #[must_use]
    #[inline(always)]
    pub fn new(seed: u64, started: Timestamp) -> Self {
        let started = started.as_now();
        let Position { base, place } = Position::START;
        Self { rng: Rng::new(seed), started, latest: started, base, counts: counts(0, place, false) }
    }

    /// When the first attempt began; the epoch for one that began before it, on another clock (spec 12.4).
    #[must_use]
    pub const fn started(&self) -> Timestamp {
        if self.started.as_nanos() <= self.latest.as_nanos() { self.started } else { Timestamp::ZERO }
    }

    /// How many attempts have failed.
    #[must_use]
    pub const fn failures(&self) -> u32 {
        let [failures, alike] = halves(self.counts);
        if failures == u32::MAX { alike.wrapping_add(1) } else { failures }
    }

    /// The place of a [`Position`].
    const fn place(&self) -> u32 {
        let [failures, apart] = halves(self.counts);
        if failures == u32::MAX { apart.wrapping_add(1) } else { failures.wrapping_add(apart) }
    }

    /// Takes both counts, the base delay and the latest time being known.
    const fn count(&mut self, failures: u32, place: u32) {
        self.counts = counts(failures, place, self.base != UNSTARTED && self.latest.is_early());
    }

    /// When the operation as a whole must be over; [`Timestamp::NEVER`] without a deadline (spec 6.1).
    #[must_use]
    #[inline(always)]
    pub const fn deadline(&self, policy: &Policy) -> Timestamp {
        self.ends::<true>(policy)
    }

    /// The deadline; `WHOLE` as for [`Retry::decide`].
    #[inline(always)]
    pub(crate) const fn ends<const WHOLE: bool>(&self, policy: &Policy) -> Timestamp {
        // "No limit" is the largest number there is, so the saturating sum is "never".
        if !WHOLE || self.started.as_nanos() <= self.latest.as_nanos() {
            return Timestamp::from_nanos(self.started.as_nanos().saturating_add(policy.deadline));
        }
        self.deadline_of_older(policy)
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

    /// How long ago the operation began; what was before a [`Retry::resume`] counts.
    #[must_use]
    pub const fn elapsed(&self, now: Timestamp) -> Span {
        Span::from_nanos(self.age(self.clock(now)))
    }

    /// How long after the beginning that is. 584 years after a beginning before the epoch it counts from the epoch: no
    /// deadline is that long, and the sum would be no number of 64 bits (spec 12.4).
    const fn age(&self, at: Timestamp) -> u64 {
        if self.outlives::<true>(at) { at.as_nanos() } else { at.as_nanos().wrapping_sub(self.started.as_nanos()) }
    }

    /// Whether the operation began before the epoch and so long ago that its age is no number of 64 bits.
    #[inline(always)]
    const fn outlives<const WHOLE: bool>(&self, at: Timestamp) -> bool {
        let started = self.started.as_nanos();
        WHOLE && started > self.latest.as_nanos() && at.as_nanos() >= started
    }

    /// The time that `now` reads as (spec 1.3).
    pub(crate) const fn clock(&self, now: Timestamp) -> Timestamp {
        self.latest.as_now().max(now.as_now())
    }

    /// What is saved of the state (spec 12.2).
    pub(crate) fn snapshot(&self, now: Timestamp) -> Snapshot {
        Snapshot {
            seed: self.rng.state(),
            elapsed: self.age(self.clock(now)),
            base: self.base,
            place: self.place(),
            failures: self.failures(),
        }
    }

    /// The state of which that was saved, on a clock that reads `now` (spec 12.4).
    pub(crate) fn restored(snapshot: Snapshot, now: Timestamp) -> Self {
        let now = now.as_now();
        let elapsed = match snapshot.elapsed.saturating_sub(now.as_nanos()) {
            before if before > OLDEST => now.as_nanos().wrapping_add(OLDEST),
            _ => snapshot.elapsed,
        };
        let mut retry = Self {
            rng: Rng::new(snapshot.seed),
            started: Timestamp::from_nanos(now.as_nanos().wrapping_sub(elapsed)),
            latest: now,
            base: snapshot.base,
            counts: 0,
        };
        retry.count(if snapshot.failures == u32::MAX { u32::MAX - 1 } else { snapshot.failures }, snapshot.place);
        retry
    }

    /// Takes the time, and answers with the latest time seen (spec 1.3).
    #[inline(always)]
    pub(crate) const fn observe(&mut self, now: Timestamp) -> Timestamp {
        self.sees::<true>(now)
    }

    /// Takes the time; `WHOLE` as for [`Retry::decide`].
    #[inline(always)]
    pub(crate) const fn sees<const WHOLE: bool>(&mut self, now: Timestamp) -> Timestamp {
        if !WHOLE {
            self.latest = self.latest.max(now.as_now());
        } else if now.as_nanos() >= self.latest.as_nanos() && now.is_early() {
            self.latest = now;
        } else {
            *self = self.observed(now);
        }
        self.latest
    }

    /// Takes a time that is simply a later one; says whether it is.
    #[inline(always)]
    pub(crate) fn observe_at_once(&mut self, now: Timestamp) -> bool {
        let later = now >= self.latest && now.is_early();
        if later {
            self.latest = now;
        }
        later
    }

    /// The state after a time that is not simply a later one.
    #[cold]
    const fn observed(mut self, now: Timestamp) -> Self {
        let now = self.clock(now);
        if self.outlives::<true>(now) {
            self.started = Timestamp::ZERO;
        }
        self.latest = now;
        self.count(self.failures(), self.place());
        self
    }

    /// Decides what to do about an attempt that failed at `now` (spec 9.1 for the order of the tests).
    #[inline(always)]
    pub fn on_failure(&mut self, policy: &Policy, now: Timestamp, failure: Failure) -> Decision {
        // Most failures need a few instructions: these are made in line, and say what `decide` says.
        if failure.hint.is_none() && failure.kind as u8 != FailureKind::Permanent as u8 {
            let in_line = u64::from(policy.in_line);
            if self.counts < in_line {
                if now.is_early_from(self.latest) {
                    let base = policy.first.doubled(self.base);
                    let until = now.after_early(full_of_small(base, { self.rng }.next_u32()));
                    return self.retried(base, self.counts.wrapping_add(1), now, until);
                }
            } else if now >= self.latest && now.is_early() {
                if self.counts.wrapping_add(1) < in_line {
                    let base = policy.first.initial;
                    let until = now.after_early(full_of_small(base, { self.rng }.next_u32()));
                    return self.retried(base, 1, now, until);
                }
                if policy.limited == LIMITED_PLAINLY
                    && let (until, base) =
                        limited(policy, { self.rng }.next_u32(), self.base, self.counts, self.started, now)
                    && !until.is_never()
                {
                    let counts = if self.counts == START { 1 } else { self.counts.wrapping_add(1) };
                    return self.retried(base, counts, now, until);
                }
            }
        }
        // A copy, so that the paths above keep the state in registers.
        let mut state = *self;
        let decision = decided(&mut state, policy, now, failure);
        *self = state;
        decision
    }

    /// The sleep after a failure without a hint that may be retried, under a policy without a deadline that is decided in
    /// line: what [`Retry::on_failure`] says of it. `None`, and nothing has happened, under any other policy and at a time that
    /// is not simply a later one. For bindings: it calls nothing, so that a function that is called has no registers to save.
    #[doc(hidden)]
    #[must_use]
    #[inline(always)]
    pub fn at_once(&mut self, policy: &Policy, now: Timestamp) -> Option<Timestamp> {
        let in_line = u64::from(policy.in_line);
        if self.counts < in_line {
            if !now.is_early_from(self.latest) {
                return None;
            }
            (self.base, self.counts) = (policy.first.doubled(self.base), self.counts.wrapping_add(1));
        } else {
            if self.counts.wrapping_add(1) >= in_line || now < self.latest || !now.is_early() {
                return None;
            }
            (self.base, self.counts) = (policy.first.initial, 1);
        }
        self.latest = now;
        let until = now.after_early(full_in_line(self.base, self.rng.next_u32()));
        Some(until)
    }

    /// The sleep after one more failure, and the counts and the base delay that it leads to. The draw has been looked at;
    /// that it is over is said last, because a state that is changed in one go stays in registers.
    #[inline(always)]
    fn retried(&mut self, base: u64, counts: u64, now: Timestamp, until: Timestamp) -> Decision {
        self.latest = now;
        self.counts = counts;
        self.base = base;
        self.rng.next_u32();
        Decision::Sleep { until, cause: Cause::Backoff }
    }
}

const fn halves(counts: u64) -> [u32; 2] {
    [counts as u32, (counts >> 32) as u32]
}

const fn give_up(reason: StopReason) -> Decision {
    Decision::GiveUp { reason, retry_at: Timestamp::NEVER }
}

/// The sleep and the base delay under a policy that has a deadline and is plain otherwise; never, where more is to be decided.
/// All goes in and comes out in registers, because a state that is lent lives in memory from then on.
#[cold]
#[inline(never)]
const fn limited(
    policy: &Policy,
    draw: u32,
    base: u64,
    counts: u64,
    started: Timestamp,
    now: Timestamp,
) -> (Timestamp, u64) {
    let most = policy.doubled() as u64;
    let base = match counts {
        _ if counts < most => policy.first.doubled(base),
        START if most > 0 => policy.first.initial,
        _ => return (Timestamp::NEVER, base),
    };
    let Some(delay) = whole_of_small(base, draw) else { return (Timestamp::NEVER, base) };
    let until = now.after_early(delay);
    (if fits(policy, started, until) { until } else { Timestamp::NEVER }, base)
}

/// Whether a sleep until then leaves an attempt its time before the deadline (spec 6.2).
#[inline(always)]
const fn fits(policy: &Policy, started: Timestamp, until: Timestamp) -> bool {
    // spec 12.4: an operation older than its clock began at a negative time
    let elapsed = Span::from_nanos(until.as_nanos().wrapping_sub(started.as_nanos())).as_nanos();
    elapsed < policy.deadline && elapsed <= policy.deadline.saturating_sub(policy.min_attempt)
}

/// Any decision.
#[cold]
#[inline(never)]
fn decided(retry: &mut Retry, policy: &Policy, now: Timestamp, failure: Failure) -> Decision {
    retry.decide::<true>(policy, now, failure)
}

impl Retry {
    /// Decides in full. `WHOLE` says that policy and operation may be any; else they are those of a
    /// [`PlainCall`](crate::PlainCall), and what those never need is left out of the machine.
    pub(crate) fn decide<const WHOLE: bool>(&mut self, policy: &Policy, now: Timestamp, failure: Failure) -> Decision {
        let now = self.sees::<WHOLE>(now);
        let (failures, place) = match WHOLE {
            true => {
                let (failures, place) = (self.failures().saturating_add(1).min(u32::MAX - 1), self.place());
                self.count(failures, place);
                (failures, place)
            }
            // A plain policy has one stage: only its first delay asks where it is, and knows that by the base.
            false => {
                self.counts = self.counts.wrapping_add(1 << 32);
                (((self.counts >> 32) as u32).wrapping_add(1), 0)
            }
        };
        if failure.kind as u8 == FailureKind::Permanent as u8 {
            return give_up(StopReason::Permanent);
        }
        let obeyed = !WHOLE || policy.hint_mode != IGNORE;
        if failure.hint.is_never() && obeyed {
            return give_up(StopReason::Permanent);
        }
        if failures >= policy.attempts {
            return give_up(StopReason::Attempts);
        }
        let mut hint = if obeyed { failure.hint.span() } else { None };
        if let Some(asked) = hint
            && asked.as_nanos() > policy.hint_max
        {
            if !WHOLE || policy.hint_over != CLAMP {
                return Decision::GiveUp { reason: StopReason::Hint, retry_at: now.after(asked) };
            }
            hint = Some(Span::from_nanos(policy.hint_max));
        }
        let mut at = Position { base: self.base, place };
        let mut u = 0.0;
        let own = policy.delay::<WHOLE>(&mut at, failure.kind.code(), hint.is_some(), || {
            u = self.rng.uniform();
            u
        });
        self.base = at.base;
        if !WHOLE {
            // What the following comes to when hints are floors.
            let (delay, cause) = match hint.map(Span::as_nanos) {
                Some(asked) if asked > own.low => (own.value.wrapping_add(asked.wrapping_sub(own.low)), Cause::Hint),
                _ => (own.value, Cause::Backoff),
            };
            return self.fit::<false>(policy, now, now.after(Span::from_nanos(delay)), cause, hint);
        }
        self.count(failures, at.place);
        let Some(asked) = hint.map(Span::as_nanos) else {
            return self.fit::<WHOLE>(policy, now, now.after(Span::from_nanos(own.value)), Cause::Backoff, None);
        };
        let (delay, cause) = match policy.hint_mode {
            // spec 7.3: the hint, and the spread on top of it
            REPLACE if WHOLE => (asked.saturating_add(truncated(u * own.width as f64)), Cause::Hint),
            EXACT if WHOLE => (asked, Cause::Hint),
            AT_LEAST if WHOLE && asked > own.value => (asked, Cause::Hint),
            AT_LEAST if WHOLE => (own.value, Cause::Backoff),
            // spec 7.2: the whole range moves up until its bottom is the hint
            _ if asked > own.low => (own.value.saturating_add(asked.saturating_sub(own.low)), Cause::Hint),
            _ => (own.value, Cause::Backoff),
        };
        // spec 7.15: no further than the policy lets a hint reach
        let furthest = if WHOLE { own.value.saturating_add(policy.hint_reach) } else { u64::MAX };
        let obeyed = Span::from_nanos(asked.min(furthest));
        self.fit::<WHOLE>(policy, now, now.after(Span::from_nanos(delay.min(furthest))), cause, Some(obeyed))
    }

    /// Whether an attempt at that time would have its time before the deadline, if there is one (spec 6.2).
    pub(crate) const fn has_time(&self, policy: &Policy, at: Timestamp) -> bool {
        self.leaves_time::<true>(policy, at)
    }

    const fn leaves_time<const WHOLE: bool>(&self, policy: &Policy, at: Timestamp) -> bool {
        self.ends::<WHOLE>(policy).is_never() || !self.outlives::<WHOLE>(at) && fits(policy, self.started, at)
    }

    /// Holds a sleep against the deadline (spec 6.2 and 6.3).
    fn fit<const WHOLE: bool>(
        &self,
        policy: &Policy,
        now: Timestamp,
        until: Timestamp,
        cause: Cause,
        hint: Option<Span>,
    ) -> Decision {
        let deadline = self.ends::<WHOLE>(policy);
        let last_start = Timestamp::from_nanos(deadline.as_nanos().saturating_sub(policy.min_attempt));
        if self.leaves_time::<WHOLE>(policy, until) {
            return Decision::Sleep { until, cause };
        }
        // spec 6.3: later than the failure, or the last attempt would be made again and again; never below the hint
        let earliest = hint.map_or(now, |asked| now.after(asked));
        if policy.on_deadline == CLIP && now < last_start && earliest <= last_start && last_start < deadline {
            return Decision::Sleep { until: last_start, cause: Cause::Clip };
        }
        Decision::GiveUp { reason: StopReason::Deadline, retry_at: until }
    }
}

#[cfg(test)]
mod tests;
