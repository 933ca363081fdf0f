//! A recorder put where its log says that it is, event by event.

use super::{Recorder, UNDECIDED};
use crate::decide::call::Step;
use crate::decide::guarded::{GuardedCall, Guards};
use crate::decide::policy::Policy;
use crate::decide::retry::Cause;
use crate::error::StopReason;
use crate::record::event::{Event, EventKind};
use crate::time::Timestamp;

/// The decision of the machine where the log has an event.
pub(crate) enum Computed {
    /// The event of the log, or the machine does not know.
    Same,
    /// Another event, or none.
    Other(Option<Event>),
}

impl Recorder {
    /// The recorder after its first event.
    pub(crate) fn replayed(policy: &Policy, event: &Event) -> Self {
        let call = match event.attempt() {
            0 => GuardedCall::waiting(event.seed(), event.at()),
            _ => GuardedCall::begin(policy, &mut Guards::none(), event.seed(), event.at()).0,
        };
        Self { sequence: event.sequence(), ..Self::beginning(call, event.is_guarded()) }
    }

    /// The time of the latest event.
    pub(crate) const fn latest(&self) -> Timestamp {
        self.call.latest()
    }

    /// Takes the next event and does what it records, even if this policy would decide otherwise. Returns the decision of this
    /// policy; `None` for an event that no machine writes here.
    pub(crate) fn replay(&mut self, policy: &Policy, event: &Event) -> Option<Computed> {
        let computed = match event.kind() {
            EventKind::Started => None,
            EventKind::AttemptFailed => self.replay_failure(policy, event),
            EventKind::RetryScheduled => self.replay_sleep(policy, event),
            EventKind::Resumed => self.replay_attempt(policy, event),
            EventKind::GaveUp => self.replay_end(policy, event),
            EventKind::Succeeded | EventKind::Cancelled => self.replay_outcome(event),
        };
        self.sequence = event.sequence();
        computed
    }

    fn replay_failure(&mut self, policy: &Policy, event: &Event) -> Option<Computed> {
        let ticket = self.call.running().filter(|ticket| ticket.attempt() == event.attempt())?;
        self.call.fail(policy, &mut Guards::none(), ticket, event.at(), event.as_failure());
        (self.reruns, self.pending) = (0, UNDECIDED);
        Some(Computed::Same)
    }

    fn replay_sleep(&mut self, policy: &Policy, event: &Event) -> Option<Computed> {
        let (at, until) = (event.at(), event.until());
        let cause = event.cause()?;
        let guards = of_guards(cause);
        if guards && !self.is_guarded() {
            return None;
        }
        if self.undecided() {
            possible(event.attempt() == self.call.attempt().saturating_add(1))?;
            let is_stretched = self.is_guarded() && cause == Cause::Backoff;
            let is_shorter = |own: Event| own.cause() == Some(cause) && own.at() == at && own.until() <= until;
            let right = |own| guards && asks(own, at) || is_stretched && is_shorter(own);
            return Some(self.decided(event, right, |call| call.put_asleep(at, until, cause)));
        }
        possible(guards)?;
        let late = self.late(policy, event);
        if let Some(ticket) = self.call.running() {
            possible(ticket.attempt() == event.attempt())?;
            self.call.interrupt(at);
        } else {
            possible(event.attempt() == self.call.attempt().saturating_add(1) && self.due(at))?;
        }
        self.call.put_asleep(at, until, cause);
        Some(late)
    }

    /// Compares the decision about the latest failure with the event of the log, which is `right` after some others, too, and `put`
    /// in their place.
    fn decided(
        &mut self,
        event: &Event,
        right: impl Fn(Event) -> bool,
        put: impl FnOnce(&mut GuardedCall),
    ) -> Computed {
        self.pending = 0;
        let computed = self.decision(self.call.current_step());
        if is(computed, event) {
            return Computed::Same;
        }
        put(&mut self.call);
        if computed.is_some_and(right) { Computed::Same } else { Computed::Other(computed) }
    }

    fn replay_attempt(&mut self, policy: &Policy, event: &Event) -> Option<Computed> {
        possible(!self.undecided())?;
        let late = self.late(policy, event);
        if let Some(ticket) = self.call.running() {
            possible(ticket.attempt() == event.attempt())?;
            self.call.interrupt(event.at());
            self.call.resume_under(&mut Guards::none(), event.at());
        } else {
            possible(event.attempt() == self.call.attempt().saturating_add(1) && self.due(event.at()))?;
        }
        self.call.proceed(policy, event.at());
        self.runs();
        Some(late)
    }

    fn replay_end(&mut self, policy: &Policy, event: &Event) -> Option<Computed> {
        possible(event.attempt() == self.ran)?;
        let (at, retry_at) = (event.at(), event.until());
        let reason = event.reason()?;
        let guards =
            matches!(reason, StopReason::Budget | StopReason::Breaker | StopReason::Limiter | StopReason::Bulkhead);
        possible(reason != StopReason::Cancelled && (!guards || self.is_guarded()))?;
        if self.undecided() {
            let right = |own| guards && asks(own, at);
            return Some(self.decided(event, right, |call| call.put_down(at, reason, retry_at)));
        }
        possible(guards || reason == StopReason::Deadline)?;
        let running = self.call.running().is_some();
        possible(running || self.due(at))?;
        let computed = match self.late(policy, event) {
            Computed::Other(computed) if is(computed, event) => Computed::Same,
            Computed::Other(computed) => Computed::Other(computed),
            Computed::Same if guards => Computed::Same,
            Computed::Same => {
                let attempt = if running { self.ran } else { self.call.attempt().saturating_add(1) };
                Computed::Other(Some(Event::new(EventKind::Resumed, at, attempt)))
            }
        };
        if running && guards {
            self.call.interrupt(at);
        }
        self.call.put_down(at, reason, retry_at);
        Some(computed)
    }

    fn replay_outcome(&mut self, event: &Event) -> Option<Computed> {
        possible(!self.undecided() && event.attempt() == self.ran)?;
        let none = &mut Guards::none();
        match self.call.running() {
            Some(ticket) if event.kind() == EventKind::Succeeded => self.call.succeed(none, ticket, event.at()),
            Some(_) => self.call.cancel(none, event.at()),
            None => {
                possible(event.kind() == EventKind::Cancelled && self.call.sleeps())?;
                self.call.cancel(none, event.at())
            }
        };
        Some(Computed::Same)
    }

    /// True if an attempt may begin at that time: its sleep is over, or it was for a guard, which is asked at any time.
    fn due(&self, at: Timestamp) -> bool {
        match self.call.current_step() {
            Step::Sleep { until, cause } => at >= until || of_guards(cause),
            _ => false,
        }
    }

    /// The step of the machine after the deadline.
    fn late(&self, policy: &Policy, event: &Event) -> Computed {
        if event.at() < self.call.retry.deadline(policy) {
            return Computed::Same;
        }
        let retry_at = match self.call.current_step() {
            Step::Sleep { until, .. } => until,
            _ => event.at(),
        };
        Computed::Other(Some(Event::gave_up(event.at(), self.ran, StopReason::Deadline, retry_at)))
    }

    const fn undecided(&self) -> bool {
        self.pending == UNDECIDED
    }
}

/// `None` if an event cannot come here.
fn possible(is: bool) -> Option<()> {
    is.then_some(())
}

/// True if a computed event is the recorded one.
fn is(computed: Option<Event>, event: &Event) -> bool {
    computed.is_some_and(|own| own.numbered(event.sequence()) == *event)
}

/// True if guards are asked after the decision: it is a sleep (spec 29.5).
fn asks(own: Event, at: Timestamp) -> bool {
    own.kind() == EventKind::RetryScheduled && own.at() == at
}

const fn of_guards(cause: Cause) -> bool {
    matches!(cause, Cause::Breaker | Cause::Limiter | Cause::Bulkhead)
}
