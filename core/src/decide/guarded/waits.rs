//! Where a call waits before an attempt: at a breaker, in a line for the rate, in the queue of a bulkhead.

use super::{ADAPTIVE, BEHIND, FLYING, GuardedCall, Guards, LIMITER, Lines, OVERDUE, QUEUED, Turn, in_line};
use crate::decide::call::{SLEEPING, Step};
use crate::decide::guards::Refusal;
use crate::decide::guards::bulkhead::{Entry, QueuePlace};
use crate::decide::policy::Policy;
use crate::decide::retry::Cause;
use crate::error::StopReason;
use crate::time::{Span, Timestamp};

impl GuardedCall {
    /// The place in the bulkhead's queue, while the call waits for one.
    pub const fn queue_place(&self) -> Option<QueuePlace> {
        if self.is(QUEUED) { Some(QueuePlace::from_raw(self.flight.queue_place)) } else { None }
    }

    /// The guard at which other calls come before this one, which sleeps: its host wakes it when its turn may have come, long before the
    /// sleep ends.
    pub fn awaited_turn(&self) -> Option<Turn> {
        if self.phase != SLEEPING {
            return None;
        }
        match Cause::read(self.cause) {
            Cause::Breaker => self.is_behind().then_some(Turn::Breaker),
            Cause::Bulkhead => self.queue_place().map(Turn::Bulkhead),
            _ if self.flight.is_first != 0 => None,
            _ if self.is(in_line(ADAPTIVE)) => Some(Turn::Adaptive),
            _ => self.is(in_line(LIMITER)).then_some(Turn::Limiter),
        }
    }

    /// Gives up the places of an attempt that waits to begin.
    pub(super) fn leave_queues(&mut self, guards: &mut Guards<'_>) {
        if self.is(QUEUED)
            && let Some((config, bulkhead, words)) = &mut guards.bulkhead
        {
            bulkhead.leave_queue(config, words, QueuePlace::from_raw(self.flight.queue_place));
        }
        self.flight.flags &= !QUEUED;
        self.leave_lines(guards);
    }

    /// The place in the bulkhead's queue, if it is not this call's turn yet.
    pub(super) fn queued(&self, guards: &mut Guards<'_>) -> Option<QueuePlace> {
        let place = self.queue_place()?;
        let (config, bulkhead, words) = guards.bulkhead.as_mut()?;
        (bulkhead.has_turn(config, words, place) == Some(false)).then_some(place)
    }

    pub(super) fn enter(&mut self, guards: &mut Guards<'_>) -> Entry {
        let Some((config, bulkhead, words)) = &mut guards.bulkhead else { return Entry::Entered };
        let entry = match self.is(QUEUED) {
            true => bulkhead.enter_from(config, words, QueuePlace::from_raw(self.flight.queue_place)),
            false => bulkhead.enter(config, words),
        };
        if !matches!(entry, Entry::Queued(_)) {
            self.flight.flags &= !QUEUED;
        }
        entry
    }

    /// Waits for a place, no longer than the bulkhead allows.
    pub(super) fn queue(
        &mut self,
        policy: &Policy,
        guards: &mut Guards<'_>,
        now: Timestamp,
        place: QueuePlace,
    ) -> Step {
        if self.is(QUEUED) && self.cause == Cause::Bulkhead.code() {
            if now >= self.at {
                return self.give_up(guards, StopReason::Bulkhead, Timestamp::NEVER);
            }
            return self.current_step();
        }
        self.leave_lines(guards);
        self.leave_breaker(guards);
        let longest = guards.bulkhead.as_ref().map_or(Span::ZERO, |(config, ..)| config.max_wait());
        self.flight.flags |= QUEUED;
        self.flight.queue_place = place.as_raw();
        self.sleep(now.after(longest).min(self.retry.deadline(policy)), Cause::Bulkhead)
    }

    /// The step after a refusal by the breaker: a sleep that fits before the deadline, or the end.
    pub(super) fn refuse(
        &mut self,
        policy: &Policy,
        guards: &mut Guards<'_>,
        now: Timestamp,
        (refusal, retry_at): (Refusal, Timestamp),
    ) -> Step {
        let until = retry_at.max(now.after(Span::from_nanos(1)));
        if refusal == Refusal::Wait && !retry_at.is_never() && self.retry.has_time(policy, until) {
            self.leave_queues(guards);
            self.wait_at_breaker(guards, false);
            return self.sleep(until, Cause::Breaker);
        }
        self.give_up(guards, StopReason::Breaker, retry_at)
    }

    /// Waits in a line for the rate, or gives up. A call whose turn it is at the bulkhead waits in any case, and keeps its place there.
    pub(super) fn line_up(
        &mut self,
        policy: &Policy,
        guards: &mut Guards<'_>,
        now: Timestamp,
        (of, refusal, turn): (usize, Refusal, Timestamp),
    ) -> Step {
        let until = turn.max(now.after(Span::from_nanos(1)));
        let waits = refusal == Refusal::Wait || self.is(QUEUED);
        if !waits || turn.is_never() || !self.retry.has_time(policy, until) {
            return self.give_up(guards, StopReason::Limiter, turn);
        }
        self.leave_breaker(guards);
        let ticket = self.ticket_in(of);
        self.flight.flags &= !OVERDUE;
        if ticket.is_some() && turn <= now {
            self.flight.flags |= OVERDUE;
        }
        if let Some(line) = guards.line(of) {
            let ticket = line.add_waiter(ticket);
            self.flight.is_first = line.is_first(ticket).into();
            self.flight.flags |= in_line(of);
            let place = self.ticket_place(of);
            if let Some(place) = self.flight.permits.get_mut(place) {
                *place = ticket;
            }
        }
        self.sleep(until, Cause::Limiter)
    }

    /// The place of a ticket among the permits, after that of the price of the next attempt.
    const fn ticket_place(&self, of: usize) -> usize {
        (self.attempt as usize).wrapping_add(of).wrapping_add(2) % FLYING
    }

    /// The ticket of a call that waits in that line.
    fn ticket_in(&self, of: usize) -> Option<u32> {
        self.flight.permits.get(self.ticket_place(of)).copied().filter(|_| self.is(in_line(of)))
    }

    pub(super) fn lines(&self) -> Lines {
        [LIMITER, ADAPTIVE].map(|of| self.ticket_in(of))
    }

    /// True if the call is the first in the line in which it waits for the rate.
    pub(super) fn is_first(&self, guards: &mut Guards<'_>) -> bool {
        let of = if self.is(in_line(ADAPTIVE)) { ADAPTIVE } else { LIMITER };
        let ticket = self.ticket_in(of);
        ticket.zip(guards.line(of)).is_some_and(|(ticket, line)| line.is_first(ticket))
    }

    /// Leaves the lines at the limits of the rate.
    fn leave_lines(&mut self, guards: &mut Guards<'_>) {
        for (of, ticket) in self.lines().into_iter().enumerate() {
            if let Some(line) = guards.line(of) {
                line.leave(ticket);
            }
        }
        self.flight.flags &= !(in_line(LIMITER) | in_line(ADAPTIVE) | OVERDUE);
    }

    /// The step behind other calls at a breaker: a sleep until their permits expire or the ramp goes on, which the deadline may
    /// cut, because the turn may come long before; or the end.
    pub(super) fn queue_behind(
        &mut self,
        policy: &Policy,
        guards: &mut Guards<'_>,
        now: Timestamp,
        (refusal, expiry): (Refusal, Timestamp),
    ) -> Step {
        if refusal == Refusal::Stop {
            return self.give_up(guards, StopReason::Breaker, expiry);
        }
        self.leave_queues(guards);
        self.wait_at_breaker(guards, true);
        self.sleep(expiry.max(now.after(Span::from_nanos(1))).min(self.retry.deadline(policy)), Cause::Breaker)
    }

    /// Waits at the breaker: behind other calls, or else until it is open no longer.
    pub(super) fn wait_at_breaker(&mut self, guards: &mut Guards<'_>, behind: bool) {
        if !self.is(BEHIND)
            && let Some((_, breaker)) = &mut guards.breaker
        {
            breaker.add_waiter();
            self.flight.flags |= BEHIND;
        }
        self.flight.is_first = (!behind).into();
    }

    /// Waits at the breaker no longer.
    pub(super) fn leave_breaker(&mut self, guards: &mut Guards<'_>) {
        if self.is(BEHIND)
            && let Some((_, breaker)) = &mut guards.breaker
        {
            breaker.remove_waiter();
        }
        self.flight.flags &= !BEHIND;
    }

    const fn is_behind(&self) -> bool {
        self.is(BEHIND) && self.flight.is_first == 0
    }

    /// True if the call waited behind others at a breaker that lets somebody through now.
    pub(super) fn has_turn(&self, guards: &Guards<'_>) -> bool {
        self.is_behind() && guards.breaker.as_ref().is_none_or(|(config, breaker)| breaker.admits(config) > 0)
    }
}
