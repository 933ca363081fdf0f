//! A retry inside a retry: a client that retries in a job that is retried, a node that retries in a graph that does.
//!
//! Each level alone is reasonable, and together they multiply: three levels of four attempts are 64 (Beyer et al., "Site
//! Reliability Engineering", chapter 22), and nobody sees it, because each level counts its own. Here both levels are one
//! machine with one cap over all attempts and one deadline, and it knows which level stopped.

use crate::decide::call::{Call, NoGuards, Outcome, Step, Ticket};
use crate::decide::failure::{Failure, FailureKind};
use crate::decide::policy::Policy;
use crate::decide::rng::seed_at;
use crate::error::{Error, ErrorCode, Quantity, StopReason};
use crate::fields::Field;
use crate::time::{Span, Timestamp};
use crate::words::words;

/// The flat value of "no cap".
const UNCAPPED: u32 = u32::MAX;

/// A retry inside a retry: the policies of both levels, and what is between them. Plain numbers, valid by
/// construction.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(C)]
pub struct Layers {
    outer: Policy,
    inner: Policy,
    attempts: u32,
    /// One bit for each reason, by its number, after which the outer level goes on.
    goes_on: u16,
    /// No padding: the layers are their bytes.
    unused: u16,
}

/// After these reasons of the inner level the outer one goes on unless told otherwise: what ran out, not what is wrong.
const GOES_ON: u16 = bit(StopReason::Attempts) | bit(StopReason::Deadline) | bit(StopReason::Hint);

const fn bit(reason: StopReason) -> u16 {
    1_u16.wrapping_shl(reason.code() as u32)
}

impl Layers {
    /// Two levels with at most `attempts` attempts over both of them, 1 to 4294967294: the first one counts, and the
    /// attempts of every inner run. `None` for as many as the two policies allow, multiplied.
    ///
    /// The outer policy's deadline is shared: the inner level stops at it, or at the end of the outer level's attempt when
    /// that comes first (spec 14.3).
    ///
    /// # Errors
    /// [`ErrorCode::AttemptsRange`] for 0 and for the number that means "for ever".
    pub fn new(outer: Policy, inner: Policy, attempts: Option<u32>) -> Result<Self, Error> {
        if let Some(attempts @ (0 | UNCAPPED)) = attempts {
            return Err(Error::new(ErrorCode::AttemptsRange, Field::Attempts, Quantity::Number(attempts.into())));
        }
        let attempts = attempts.unwrap_or(UNCAPPED);
        Ok(Self { outer, inner, attempts, goes_on: GOES_ON, unused: 0 })
    }

    /// True if the outer level goes on when the inner one gave up for `reason`. Unless set, it does after attempts, deadline
    /// and hint, and does not after a permanent failure.
    #[must_use]
    pub const fn go_on_after(mut self, reason: StopReason, goes_on: bool) -> Self {
        self.goes_on = if goes_on { self.goes_on | bit(reason) } else { self.goes_on & !bit(reason) };
        self
    }

    /// The most attempts there can be over both levels; `None` without a limit.
    pub fn attempts(&self) -> Option<u32> {
        let product =
            self.outer.attempts().zip(self.inner.attempts()).map(|(outer, inner)| outer.saturating_mul(inner));
        let cap = Some(self.attempts).filter(|attempts| *attempts != UNCAPPED);
        product.into_iter().chain(cap).min()
    }

    /// The failure of the outer level when the inner one gave up for `reason` on `failure`; `None` when it does not go on.
    fn outward(&self, reason: StopReason, failure: Failure) -> Option<Failure> {
        if self.goes_on & bit(reason) == 0 {
            return None;
        }
        let kind = if failure.kind == FailureKind::Permanent { FailureKind::Transient } else { failure.kind };
        Some(Failure { kind, ..failure })
    }
}

words! {
    /// Which level ended it.
    pub enum Level: u8 {
        /// The inner level gave up for a reason after which the outer one does not go on.
        Inner = 1 "inner";
        /// The outer level gave up.
        Outer = 2 "outer";
        /// A level would have gone on, but the cap over both is reached.
        Cap = 3 "cap";
    }
}

/// A call inside a call, from the first attempt to the end: `Copy`, no policy inside.
///
/// # Contract
/// As that of [`Call`], step for step: [`Layered::begin`] makes one and says the first attempt; [`Layered::succeed`],
/// [`Layered::fail`], [`Layered::tick`] and [`Layered::cancel`] are the inputs, each answered with the step that holds. A
/// host drives it as it drives a call and need not know which level an attempt or a sleep is of: tickets count the
/// attempts over both levels, each attempt is said once, what is out of order changes nothing but the latest time seen,
/// and `Stop` is final.
///
/// An attempt of the outer level is a whole run of the inner one, begun anew. When the inner level gives up, the outer one
/// takes that for its failure, with the kind and the hint of the last one ([`Layers::go_on_after`] says for which reasons,
/// [`Layered::fail_as`] lets the host say it), or everything stops, and reason and time are the inner level's.
///
/// Time is monotonic; a `now` before the latest one seen reads as that one (spec 1.3). The same layers should be passed each
/// time. Every bit pattern of the state is valid (zeroes read as cancelled), and no input panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Layered {
    /// Its end is that of both levels.
    outer: Call,
    /// The run of the inner level in the outer level's latest attempt.
    inner: Call,
    seed: u64,
    /// When the run of the inner level must be over: the end of the outer level's attempt.
    limit: Timestamp,
    /// How many attempts were begun, over both levels.
    attempts: u32,
    /// Gave up: the level, 0 for the outer one.
    level: u8,
    /// Why the inner level last gave up; 0 for not yet.
    inner_reason: u8,
    /// The kind of the latest failure.
    kind: u8,
    /// No padding: the state is its bytes.
    unused: u8,
}

impl Layered {
    /// Begins at `now` with the first attempt of both levels.
    ///
    /// The outer level draws from the seed itself, the inner one in attempt `m` of the outer (from 1) from
    /// [`seed_at`]`(seed, m - 1)`, so that no two runs are spread alike.
    pub fn begin(layers: &Layers, seed: u64, now: Timestamp) -> (Self, Step) {
        let now = now.as_now();
        let (outer, step) = Call::begin(&layers.outer, seed, now);
        let abort_at = if let Step::Attempt { abort_at, .. } = step { abort_at } else { Timestamp::NEVER };
        let mut layered = Self {
            outer,
            inner: Call::underway(seed, now),
            seed,
            limit: abort_at,
            attempts: 0,
            level: 0,
            inner_reason: 0,
            kind: FailureKind::Transient.code(),
            unused: 0,
        };
        let step = layered.begin_inner(layers, now, abort_at);
        (layered, step)
    }

    /// One whose first attempt, [`Ticket::FIRST`], already runs since `started`: the lazy way in, after a failure.
    pub fn underway(layers: &Layers, seed: u64, started: Timestamp) -> Self {
        Self::begin(layers, seed, started).0
    }

    /// The attempt in flight or the last one that ran, over both levels; counted from 1.
    pub const fn attempt(&self) -> u32 {
        self.attempts
    }

    /// The attempt of the outer level, counted from 1.
    pub const fn outer_attempt(&self) -> u32 {
        self.outer.attempt()
    }

    /// The attempt of the inner level in this attempt of the outer, counted from 1.
    pub const fn inner_attempt(&self) -> u32 {
        self.inner.attempt()
    }

    /// Which level gave up; `None` unless it is over without success and not cancelled.
    pub fn stopped_by(&self) -> Option<Level> {
        let gave_up = matches!(self.outer.current_step(), Step::Stop(Outcome::GaveUp { .. }));
        gave_up.then(|| Level::from_code(self.level.into()).unwrap_or(Level::Outer))
    }

    /// Why the inner level last gave up, whether or not the outer one went on; `None` when it has not.
    pub fn inner_reason(&self) -> Option<StopReason> {
        StopReason::from_code(self.inner_reason.into())
    }

    /// The attempt with this ticket succeeded at `now`. A success after a limit is a success (spec 6.5).
    pub fn succeed(&mut self, ticket: Ticket, now: Timestamp) -> Step {
        if self.awaits(ticket) {
            return self.outer.succeed(self.outer_ticket(), now);
        }
        self.outer.retry.observe(now);
        self.current_step()
    }

    /// The attempt with this ticket failed at `now`.
    pub fn fail(&mut self, layers: &Layers, ticket: Ticket, now: Timestamp, failure: Failure) -> Step {
        self.fail_as(layers, ticket, now, failure, None)
    }

    /// [`Layered::fail`] for a host that judges the inner level's error anew: `outward` is the failure for the outer level if
    /// the inner one gives up now, whatever the reason. A permanent one ends it.
    ///
    /// [`Layered::would_give_up`] says beforehand whether and why, for an error whose text depends on that.
    pub fn fail_as(
        &mut self,
        layers: &Layers,
        ticket: Ticket,
        now: Timestamp,
        failure: Failure,
        outward: Option<Failure>,
    ) -> Step {
        let now = self.outer.retry.observe(now);
        if !self.awaits(ticket) {
            return self.current_step();
        }
        self.kind = failure.kind.code();
        match self.inner_failed(layers, now, failure) {
            step @ Step::Sleep { .. } => self.sleep(layers, step),
            Step::Stop(Outcome::GaveUp { reason, retry_at }) => {
                let outward = match outward {
                    Some(failure) => Some(failure).filter(|failure| failure.kind != FailureKind::Permanent),
                    None => layers.outward(reason, failure),
                };
                self.inner_gave_up(layers, now, (reason, retry_at), outward)
            }
            _ => self.current_step(),
        }
    }

    /// Why the inner level would give up if the attempt with this ticket failed like that; `None` when it would not.
    pub fn would_give_up(
        &self,
        layers: &Layers,
        ticket: Ticket,
        now: Timestamp,
        failure: Failure,
    ) -> Option<StopReason> {
        let mut trial = *self;
        let now = trial.outer.retry.observe(now);
        match trial.awaits(ticket).then(|| trial.inner_failed(layers, now, failure)) {
            Some(Step::Stop(Outcome::GaveUp { reason, .. })) => Some(reason),
            _ => None,
        }
    }

    /// Nothing but time has passed: the next attempt, when the sleep is over at `now`.
    pub fn tick(&mut self, layers: &Layers, now: Timestamp) -> Step {
        let now = self.outer.retry.observe(now);
        match self.outer.tick(&layers.outer, now) {
            Step::Attempt { abort_at, .. } => self.begin_inner(layers, now, abort_at),
            step @ (Step::Sleep { .. } | Step::Stop(_)) => step,
            Step::Wait { .. } => match self.inner.tick(&self.inner_policy(layers), now) {
                Step::Attempt { abort_at, .. } => self.attempt_step(abort_at),
                Step::Stop(Outcome::GaveUp { reason, retry_at }) => {
                    // The hint was slept; the kind is that of the failure before the sleep.
                    let kind = FailureKind::from_code(u32::from(self.kind)).unwrap_or(FailureKind::Transient);
                    let outward = layers.outward(reason, Failure::new(kind));
                    self.inner_gave_up(layers, now, (reason, retry_at), outward)
                }
                step => step,
            },
        }
    }

    /// The caller wants no more of it, whatever is going on.
    pub fn cancel(&mut self, now: Timestamp) -> Step {
        self.outer.cancel(now)
    }

    /// How long to sleep from `now` for a step that sleeps; zero for any other. At most the decided delay, also on a clock that was set
    /// back since (spec 1.3).
    pub const fn remaining(&self, now: Timestamp) -> Span {
        if let Step::Sleep { until, .. } = self.current_step() {
            return until.since(self.outer.retry.clock(now));
        }
        Span::ZERO
    }

    /// The inner level's step after a failure of its attempt.
    fn inner_failed(&mut self, layers: &Layers, now: Timestamp, failure: Failure) -> Step {
        let policy = self.inner_policy(layers);
        let ticket = Ticket::from_raw(u64::from(self.inner.attempt()));
        self.inner.fail(&policy, ticket, now, failure)
    }

    /// The inner policy with its deadline no later than the end of the outer level's attempt (spec 14.3).
    fn inner_policy(&self, layers: &Layers) -> Policy {
        let room = self.limit.as_nanos().saturating_sub(self.inner.started().as_nanos());
        let mut policy = layers.inner;
        if !self.limit.is_never() && room < policy.deadline {
            policy.deadline = room;
            (policy.limits, policy.deadline_from, policy.abort_at_deadline) = (0, 0, 1);
            policy.prepare();
        }
        policy
    }

    /// A new run of the inner level, which must be over at `limit`.
    fn begin_inner(&mut self, layers: &Layers, now: Timestamp, limit: Timestamp) -> Step {
        let seed = seed_at(self.seed, u64::from(self.outer.attempt()).saturating_sub(1));
        self.limit = limit;
        self.inner = Call::underway(seed, now);
        let (inner, step) = Call::begin(&self.inner_policy(layers), seed, now);
        self.inner = inner;
        self.attempt_step(if let Step::Attempt { abort_at, .. } = step { abort_at } else { limit })
    }

    fn inner_gave_up(
        &mut self,
        layers: &Layers,
        now: Timestamp,
        (reason, retry_at): (StopReason, Timestamp),
        outward: Option<Failure>,
    ) -> Step {
        self.inner_reason = reason.code();
        let Some(failure) = outward else { return self.give_up(reason, retry_at, Level::Inner) };
        match self.outer.fail(&layers.outer, self.outer_ticket(), now, failure) {
            step @ Step::Sleep { .. } => self.sleep(layers, step),
            step => step,
        }
    }

    /// Sleeps before one more attempt, if the cap over both levels leaves one (spec 14.4).
    fn sleep(&mut self, layers: &Layers, step: Step) -> Step {
        if layers.attempts != UNCAPPED && self.attempts >= layers.attempts {
            return self.give_up(StopReason::Attempts, Timestamp::NEVER, Level::Cap);
        }
        step
    }

    fn attempt_step(&mut self, abort_at: Timestamp) -> Step {
        self.attempts = self.attempts.saturating_add(1);
        let ticket = Ticket::from_raw(u64::from(self.attempts));
        Step::Attempt { ticket, abort_at, wake_at: Timestamp::NEVER }
    }

    fn give_up(&mut self, reason: StopReason, retry_at: Timestamp, level: Level) -> Step {
        self.level = level as u8;
        self.outer.give_up(&mut NoGuards, reason, retry_at)
    }

    const fn awaits(&self, ticket: Ticket) -> bool {
        ticket.attempt() == self.attempts && matches!(self.current_step(), Step::Wait { .. })
    }

    const fn outer_ticket(&self) -> Ticket {
        Ticket::from_raw(self.outer.attempt() as u64)
    }

    /// The step that still holds: the outer level's, and while it waits for its attempt the inner level's.
    const fn current_step(&self) -> Step {
        match self.outer.current_step() {
            Step::Wait { .. } => self.inner.current_step(),
            step => step,
        }
    }
}

#[cfg(test)]
mod tests;
