//! The retry loop as a state machine, so that a host only waits and runs the operation.

use crate::decide::failure::{Failure, FailureKind};
use crate::decide::policy::Policy;
use crate::decide::retry::{Cause, Decision, Retry};
use crate::error::StopReason;
use crate::time::{Span, Timestamp};

/// Names one attempt of a call, so that the result of an earlier or foreign attempt is recognized.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct Ticket(u32);

impl Ticket {
    /// The ticket of a call's first attempt, which runs when a call is [`Call::underway`].
    pub const FIRST: Self = Self(1);

    /// The number of the attempt, from 1.
    pub const fn attempt(self) -> u32 {
        self.0
    }

    /// The ticket as a number, for other languages.
    pub const fn as_raw(self) -> u64 {
        self.0 as u64
    }

    /// The ticket with that number; a number that no ticket has names no attempt.
    pub const fn from_raw(raw: u64) -> Self {
        Self(if raw > u32::MAX as u64 { 0 } else { raw as u32 })
    }
}

/// How a call ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// An attempt succeeded.
    Succeeded,
    /// No attempt succeeded and there will be no other.
    GaveUp {
        /// Why there is no other.
        reason: StopReason,
        /// When another try might succeed, for a caller that can wait longer; [`Timestamp::NEVER`] if that is not known.
        retry_at: Timestamp,
    },
    /// The caller cancelled.
    Cancelled,
}

/// The next thing for the host to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Run the operation, then call [`Call::succeed`] or [`Call::fail`]. The step comes once for each attempt.
    Attempt {
        /// Goes back with the result.
        ticket: Ticket,
        /// When to abort the attempt and report a timeout; [`Timestamp::NEVER`] without a limit.
        abort_at: Timestamp,
        /// When to tick although the attempt still runs; [`Timestamp::NEVER`] unless a hedge is due then, and no policy
        /// of this version hedges.
        wake_at: Timestamp,
    },
    /// Nothing is in flight: wait until then, then tick.
    Sleep {
        /// When to tick.
        until: Timestamp,
        /// Why then.
        cause: Cause,
    },
    /// An attempt is in flight: keep what you are doing.
    Wait {
        /// When to tick; [`Timestamp::NEVER`] for "only when the attempt ends".
        until: Timestamp,
    },
    /// The call is over. Every later input gets the same step.
    Stop(Outcome),
}

/// One call of an operation, from its first attempt to its end, with what it remembers for its guards: the one state machine
/// behind [`Call`] and [`GuardedCall`](crate::GuardedCall).
///
/// `F` is what a call keeps about guards and attempts beside each other: nothing for a call without guards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Machine<F> {
    pub(crate) retry: Retry,
    /// Sleeping: until when. Running: when to start an attempt beside it. Gave up: when to retry.
    pub(crate) at: Timestamp,
    /// How many attempts have been started: the number of the latest.
    pub(crate) attempt: u32,
    pub(crate) phase: u8,
    /// The number of the latest sleep's cause.
    pub(crate) cause: u8,
    /// Gave up: the number of the reason.
    pub(crate) reason: u8,
    /// No padding: the state is its bytes.
    pub(crate) unused: u8,
    pub(crate) flight: F,
}

/// A call without guards: 80 bytes, `Copy`, no policy inside.
///
/// # Contract
/// [`Call::begin`] makes one and answers with the first step; [`Call::underway`] makes one for an attempt that already runs,
/// so that a host whose first attempt succeeds never needs a call. The inputs are [`Call::succeed`] and [`Call::fail`] with
/// the ticket of the attempt, [`Call::tick`] when a sleep is over, and [`Call::cancel`] at any moment. Each answers with
/// the step that holds now:
///
/// - each attempt is announced exactly once; an input while it runs is answered with `Wait`;
/// - an input that is out of order, too early, after the end, or with the ticket of another attempt changes nothing but
///   the latest time seen, and is answered with the step that still holds;
/// - `Stop` is final.
///
/// Time is monotonic; a `now` before the latest one seen reads as that one (spec 1.3). Every bit pattern of the state is
/// valid (zeroes read as a cancelled call), and no input panics.
pub type Call = Machine<NoGuards>;

/// The part of a call that its guards need, for a call without guards: nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct NoGuards;

pub(crate) const CANCELLED: u8 = 0;
pub(crate) const RUNNING: u8 = 1;
pub(crate) const SLEEPING: u8 = 2;
pub(crate) const SUCCEEDED: u8 = 3;
pub(crate) const GAVE_UP: u8 = 4;

/// The questions that a call asks its guards during one transition. The answers here are those of [`NoGuards`], which lets
/// everything through and compiles to nothing.
pub(crate) trait CallGuards {
    /// The state that a call keeps for its guards.
    type Flight: Copy;

    /// True if the result of this attempt counts.
    #[inline(always)]
    fn awaits(call: &Machine<Self::Flight>, ticket: Ticket) -> bool {
        call.phase == RUNNING && call.attempt == ticket.0
    }

    /// Learns of a success.
    #[inline(always)]
    fn on_success(&mut self, _: &mut Machine<Self::Flight>, _: Ticket, _: Timestamp) {}

    /// Learns of a failure. Returns the failure to decide about, or the step that holds: another attempt runs beside the
    /// failed one, or the call is over.
    #[inline(always)]
    fn on_failure(
        &mut self,
        _: &mut Machine<Self::Flight>,
        _: &Policy,
        _: Ticket,
        _: Timestamp,
        failure: Failure,
    ) -> Result<Failure, Step> {
        Ok(failure)
    }

    /// The sleep that the policy decided, perhaps longer; or why there is no retry, and when another try might succeed.
    #[inline(always)]
    fn allow_retry(
        &mut self,
        _: &mut Machine<Self::Flight>,
        _: &Policy,
        _: FailureKind,
        sleep: (Timestamp, Cause),
    ) -> Result<(Timestamp, Cause), (StopReason, Timestamp)> {
        Ok(sleep)
    }

    /// The step of a call for which no attempt is due at `now`.
    #[inline(always)]
    fn not_due(&mut self, call: &mut Machine<Self::Flight>, _: &Policy, now: Timestamp) -> Option<Step> {
        (call.phase != SLEEPING || now < call.at).then(|| call.current_step())
    }

    /// Starts the next attempt, or returns the step that holds without it.
    #[inline(always)]
    fn admit(&mut self, call: &mut Machine<Self::Flight>, _: &Policy, _: Timestamp) -> Result<(), Step> {
        (call.phase, call.attempt, call.at) = (RUNNING, call.attempt.saturating_add(1), Timestamp::NEVER);
        Ok(())
    }

    /// Gives back what the call holds of the guards, because it is over.
    #[inline(always)]
    fn release(&mut self, _: &mut Machine<Self::Flight>, _: Timestamp) {}
}

impl CallGuards for NoGuards {
    type Flight = Self;
}

/// The loop, for calls with and without guards.
impl<F: Copy> Machine<F> {
    /// A call that has not started its first attempt.
    #[inline(always)]
    pub(crate) const fn asleep(retry: Retry, flight: F) -> Self {
        let at = retry.started();
        Self { retry, at, attempt: 0, phase: SLEEPING, cause: Cause::Backoff.code(), reason: 0, unused: 0, flight }
    }

    #[inline(always)]
    pub(crate) fn start<G: CallGuards<Flight = F>>(&mut self, policy: &Policy, guards: &mut G, now: Timestamp) -> Step {
        match guards.admit(self, policy, now) {
            Ok(()) => self.attempt_step(policy, now),
            Err(step) => step,
        }
    }

    #[inline(always)]
    pub(crate) fn succeeded<G: CallGuards<Flight = F>>(
        &mut self,
        guards: &mut G,
        ticket: Ticket,
        now: Timestamp,
    ) -> Step {
        let now = self.retry.observe(now);
        if !G::awaits(self, ticket) {
            return self.current_step();
        }
        guards.on_success(self, ticket, now);
        self.end(guards, now, SUCCEEDED, Timestamp::NEVER)
    }

    #[inline(always)]
    pub(crate) fn failed<G: CallGuards<Flight = F>>(
        &mut self,
        policy: &Policy,
        guards: &mut G,
        ticket: Ticket,
        now: Timestamp,
        failure: Failure,
    ) -> Step {
        if !G::awaits(self, ticket) {
            self.retry.observe(now);
            return self.current_step();
        }
        let failure = match guards.on_failure(self, policy, ticket, now, failure) {
            Ok(failure) => failure,
            Err(step) => return step,
        };
        let decided = match self.retry.on_failure(policy, now, failure) {
            Decision::Sleep { until, cause } => guards.allow_retry(self, policy, failure.kind, (until, cause)),
            Decision::GiveUp { reason, retry_at } => Err((reason, retry_at)),
        };
        match decided {
            Ok((until, cause)) => self.sleep(until, cause),
            Err((reason, retry_at)) => self.give_up(guards, reason, retry_at),
        }
    }

    #[inline(always)]
    pub(crate) fn ticked<G: CallGuards<Flight = F>>(
        &mut self,
        policy: &Policy,
        guards: &mut G,
        now: Timestamp,
    ) -> Step {
        let now = self.retry.observe(now);
        match guards.not_due(self, policy, now) {
            Some(step) => step,
            None => self.wake(policy, guards, now),
        }
    }

    /// Goes on after a sleep, at a time that has been observed.
    #[inline(always)]
    pub(crate) fn wake<G: CallGuards<Flight = F>>(&mut self, policy: &Policy, guards: &mut G, now: Timestamp) -> Step {
        let Some((abort_at, began)) = self.retry.wake(policy, now) else {
            // spec 6.4: the host woke up too late for this one
            return self.give_up(guards, StopReason::Deadline, self.at);
        };
        match guards.admit(self, policy, now) {
            Ok(()) => self.begin_attempt(abort_at, began),
            Err(step) => step,
        }
    }

    #[inline(always)]
    pub(crate) fn cancelled<G: CallGuards<Flight = F>>(&mut self, guards: &mut G, now: Timestamp) -> Step {
        let now = self.retry.observe(now);
        match self.phase {
            RUNNING | SLEEPING => self.end(guards, now, CANCELLED, Timestamp::NEVER),
            _ => self.current_step(),
        }
    }

    /// The attempt that starts at `now`, to be aborted at the earlier of its own limit and the deadline (spec 6.6).
    #[inline(always)]
    pub(crate) fn attempt_step(&mut self, policy: &Policy, now: Timestamp) -> Step {
        let (abort_at, began) = self.retry.attempt_at(policy, now);
        self.begin_attempt(abort_at, began)
    }

    #[inline(always)]
    const fn begin_attempt(&mut self, abort_at: Timestamp, began: u64) -> Step {
        self.retry.used.began = began;
        Step::Attempt { ticket: Ticket(self.attempt), abort_at, wake_at: self.at }
    }

    #[inline(always)]
    pub(crate) const fn sleep(&mut self, until: Timestamp, cause: Cause) -> Step {
        (self.phase, self.at, self.cause) = (SLEEPING, until, cause as u8);
        Step::Sleep { until, cause }
    }

    /// Gives up at the latest time seen.
    #[inline(always)]
    pub(crate) fn give_up<G: CallGuards<Flight = F>>(
        &mut self,
        guards: &mut G,
        reason: StopReason,
        retry_at: Timestamp,
    ) -> Step {
        self.reason = reason as u8;
        self.end(guards, self.retry.latest(), GAVE_UP, retry_at);
        Step::Stop(Outcome::GaveUp { reason, retry_at })
    }

    #[inline(always)]
    fn end<G: CallGuards<Flight = F>>(&mut self, guards: &mut G, now: Timestamp, phase: u8, at: Timestamp) -> Step {
        guards.release(self, now);
        (self.phase, self.at) = (phase, at);
        self.current_step()
    }

    /// The step that still holds.
    // Out of line it would be a call in each input of a library that is built for size.
    #[inline(always)]
    pub(crate) const fn current_step(&self) -> Step {
        match self.phase {
            RUNNING => Step::Wait { until: self.at },
            SLEEPING => Step::Sleep { until: self.at, cause: Cause::read(self.cause) },
            SUCCEEDED => Step::Stop(Outcome::Succeeded),
            GAVE_UP => Step::Stop(Outcome::GaveUp { reason: StopReason::read(self.reason), retry_at: self.at }),
            _ => Step::Stop(Outcome::Cancelled),
        }
    }

    /// The caller wants the next attempt at `now` (a network is back): a sleep that neither the server nor a guard asked for is over,
    /// and a tick starts the attempt (spec 10.10).
    pub fn hurry(&mut self, now: Timestamp) {
        let now = self.retry.observe(now);
        if self.phase == SLEEPING && matches!(Cause::read(self.cause), Cause::Backoff | Cause::Clip) {
            self.at = self.at.min(now);
        }
    }

    /// The latest attempt that has been started, counted from 1.
    pub const fn attempt(&self) -> u32 {
        self.attempt
    }

    /// When the call began.
    pub const fn started(&self) -> Timestamp {
        self.retry.started()
    }

    /// How long to sleep from `now` for a step that sleeps; zero for any other. At most the decided delay, also on a clock that was set
    /// back since (spec 1.3).
    pub const fn remaining(&self, now: Timestamp) -> Span {
        if self.phase == SLEEPING { self.at.since(self.retry.clock(now)) } else { Span::ZERO }
    }

    /// The call without its guards: to be saved, see `Call::save`. Of several attempts in flight it has the latest.
    pub const fn call(&self) -> Call {
        let (retry, attempt) = (self.retry, self.attempt);
        let (phase, at, cause, reason) = match self.phase {
            phase @ (RUNNING | SUCCEEDED) => (phase, Timestamp::NEVER, 0, 0),
            SLEEPING => (SLEEPING, self.at, Cause::read(self.cause).code(), 0),
            GAVE_UP => (GAVE_UP, self.at, 0, StopReason::read(self.reason).code()),
            _ => (CANCELLED, Timestamp::NEVER, 0, 0),
        };
        Call { retry, at, attempt, phase, cause, reason, unused: 0, flight: NoGuards }
    }
}

impl Call {
    /// Begins a call at `now`: the first step is the first attempt. For a good seed see [`Retry::new`].
    #[inline(always)]
    pub fn begin(policy: &Policy, seed: u64, now: Timestamp) -> (Self, Step) {
        let mut call = Self::underway(seed, now);
        let step = call.attempt_step(policy, call.retry.started());
        (call, step)
    }

    /// A call whose first attempt, [`Ticket::FIRST`], already runs since `started`: the lazy way in, after a failure.
    #[inline(always)]
    pub fn underway(seed: u64, started: Timestamp) -> Self {
        let call = Self::asleep(Retry::new(seed, started), NoGuards);
        Self { at: Timestamp::NEVER, attempt: 1, phase: RUNNING, cause: 0, ..call }
    }

    /// The attempt with this ticket succeeded at `now`. A success after a limit is a success (spec 6.5).
    #[inline(always)]
    pub fn succeed(&mut self, ticket: Ticket, now: Timestamp) -> Step {
        self.succeeded(&mut NoGuards, ticket, now)
    }

    /// The attempt with this ticket failed at `now`.
    #[inline(always)]
    pub fn fail(&mut self, policy: &Policy, ticket: Ticket, now: Timestamp, failure: Failure) -> Step {
        self.failed(policy, &mut NoGuards, ticket, now, failure)
    }

    /// Nothing but time has passed: the next attempt, when its sleep is over at `now`.
    #[inline(always)]
    pub fn tick(&mut self, policy: &Policy, now: Timestamp) -> Step {
        self.ticked(policy, &mut NoGuards, now)
    }

    /// Ends a call that sleeps with reason `budget` (spec 29.5), for a host that has asked a budget of its own to pay for the retry.
    /// Changes no other call.
    #[inline]
    pub fn refuse(&mut self) -> Step {
        if self.phase != SLEEPING {
            return self.current_step();
        }
        self.give_up(&mut NoGuards, StopReason::Budget, self.at)
    }

    /// The caller cancels, at any moment.
    #[inline]
    pub fn cancel(&mut self, now: Timestamp) -> Step {
        self.cancelled(&mut NoGuards, now)
    }

    /// The same call with another seed for the draws to come, for tests that say what is drawn.
    #[doc(hidden)]
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.retry = self.retry.with_seed(seed);
        self
    }
}

#[cfg(test)]
mod tests;
