//! The inputs of a recorded call beyond those of a live one: to be put where a log says that it is, and to run an interrupted
//! attempt again (spec 34).

use super::{Flight, GuardedCall, Guards, WITHDRAWN};
use crate::decide::call::{SLEEPING, Step, Ticket};
use crate::decide::policy::Policy;
use crate::decide::retry::{Cause, Retry};
use crate::error::StopReason;
use crate::time::Timestamp;

impl Guards<'_> {
    /// True if there is any guard but a hedge.
    pub(crate) fn any(&self) -> bool {
        self.count() > usize::from(self.hedge.is_some())
    }
}

impl GuardedCall {
    /// A call that has begun, and whose first attempt waits for the guards.
    pub(crate) fn waiting(seed: u64, now: Timestamp) -> Self {
        Self::asleep(Retry::new(seed, now), Flight::NONE)
    }

    /// The latest time that counted.
    pub(crate) const fn latest(&self) -> Timestamp {
        self.retry.clock(Timestamp::ZERO)
    }

    /// True if a result with this ticket would count.
    pub(crate) fn awaits(&self, ticket: Ticket) -> bool {
        self.awaited(ticket).is_some()
    }

    /// The ticket of the attempt in flight.
    pub(crate) fn running(&self) -> Option<Ticket> {
        let ticket = Ticket::from_raw(self.attempt.into());
        self.awaits(ticket).then_some(ticket)
    }

    /// True if it waits to begin an attempt.
    pub(crate) const fn sleeps(&self) -> bool {
        self.phase == SLEEPING
    }

    /// Asks the guards for the attempt that it sleeps for, whenever the sleep ends.
    pub(crate) fn ask(&mut self, policy: &Policy, guards: &mut Guards<'_>, now: Timestamp) -> Step {
        let now = self.retry.observe(now);
        match self.phase {
            SLEEPING => self.wake(policy, guards, now),
            _ => self.current_step(),
        }
    }

    /// Begins the attempt that it sleeps for, which a log says did begin.
    pub(crate) fn proceed(&mut self, policy: &Policy, now: Timestamp) {
        let now = self.retry.observe(now);
        self.start(policy, &mut Guards::none(), now);
    }

    /// Forgets the attempt in flight, as if it had never begun: it is to begin, under its own number, at `now`.
    pub(crate) fn interrupt(&mut self, now: Timestamp) {
        self.at = self.retry.observe(now);
        self.attempt = self.attempt.saturating_sub(1);
        (self.phase, self.cause) = (SLEEPING, Cause::Backoff.code());
        (self.flight.flying, self.flight.round, self.flight.flags) = (0, 0, self.flight.flags & WITHDRAWN);
    }

    /// Sleeps as a log says it did.
    pub(crate) fn put_asleep(&mut self, now: Timestamp, until: Timestamp, cause: Cause) {
        self.retry.observe(now);
        self.flight.flags &= WITHDRAWN;
        self.sleep(until, cause);
    }

    /// Has given up as a log says it did.
    pub(crate) fn put_down(&mut self, now: Timestamp, reason: StopReason, retry_at: Timestamp) {
        self.retry.observe(now);
        self.give_up(&mut Guards::none(), reason, retry_at);
    }
}
