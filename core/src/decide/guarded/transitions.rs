//! The answers of the guards to the questions of a call.

use super::{ADMITTED, FLYING, Flight, GuardedCall, Guards, Lines, OVERDUE, QUEUED};
use crate::decide::call::{CallGuards, RUNNING, SLEEPING, Step, Ticket};
use crate::decide::failure::{Failure, FailureKind};
use crate::decide::guards::Refusal;
use crate::decide::guards::breaker::{Permit, Verdict};
use crate::decide::guards::bulkhead::Entry;
use crate::decide::hint::{Hint, HintMode};
use crate::decide::policy::{ASKED, Policy};
use crate::decide::retry::Cause;
use crate::error::StopReason;
use crate::time::{Span, Timestamp};

impl Guards<'_> {
    /// Tells the guards of a hint on when to come back.
    fn hint(&mut self, now: Timestamp, asked: Span) {
        if let Some((config, breaker)) = &mut self.breaker {
            breaker.hint(config, now, asked);
        }
        if let Some((config, pause)) = &mut self.pause {
            pause.hint(config, now, asked);
        }
    }

    /// True if a pause would refuse an attempt at that time.
    fn is_paused(&self, at: Timestamp) -> bool {
        self.pause.as_ref().is_some_and(|(_, pause)| pause.refuses(at).is_some())
    }

    /// The turn of a call that would begin an attempt at `at`, which is not after the pause: when it may begin. The call has the place.
    ///
    /// # Errors
    /// That time, if the call does not wait so long.
    fn take_turn(
        &mut self,
        call: &GuardedCall,
        policy: &Policy,
        now: Timestamp,
        at: Timestamp,
    ) -> Option<Result<Timestamp, Timestamp>> {
        let (config, pause) = self.pause.as_mut()?;
        let turn = pause.turn_after(now, at)?;
        let waits = config.refusal() == Refusal::Wait && call.retry.has_time(policy, turn);
        if waits {
            pause.wait();
        }
        Some(if waits { Ok(turn) } else { Err(turn) })
    }
}

impl GuardedCall {
    /// When to start another attempt beside an attempt that began at `now`.
    pub(super) fn hedge_at(&self, policy: &Policy, guards: &Guards<'_>, now: Timestamp) -> Timestamp {
        match &guards.hedge {
            Some((config, latency)) if self.may_hedge(policy, guards) => now.after(config.delay(latency)),
            _ => Timestamp::NEVER,
        }
    }

    /// Starts an attempt beside the others, if every guard lets it through.
    pub(super) fn hedge(&mut self, policy: &Policy, guards: &mut Guards<'_>, now: Timestamp) -> Option<Step> {
        let permit = self.hedged(policy, guards, now)?;
        self.launch(now, permit);
        self.at = self.hedge_at(policy, guards, now);
        Some(self.attempt_step(policy, now))
    }

    /// True if this round may have another attempt.
    pub(super) fn may_hedge(&self, policy: &Policy, guards: &Guards<'_>) -> bool {
        let Some((config, _)) = &guards.hedge else { return false };
        let next = self.attempt.wrapping_add(1) as usize % FLYING;
        u32::from(self.flight.round) < config.attempts() && policy.allows_beside(self.attempt) && !self.flies(next)
    }

    /// The breaker's permit when every guard lets an attempt through beside the others, without a wait; it is paid for then
    /// (spec 29.9).
    pub(super) fn hedged(&mut self, policy: &Policy, guards: &mut Guards<'_>, now: Timestamp) -> Option<Permit> {
        self.at = Timestamp::NEVER;
        let new = Lines::default();
        if !self.retry.has_time(policy, now)
            || guards.is_paused(now)
            || guards.refused(now).is_some()
            || guards.ask_rate(new, false, now).is_err()
        {
            return None;
        }
        let entered =
            guards.bulkhead.as_mut().is_none_or(|(config, bulkhead, words)| match bulkhead.enter(config, words) {
                Entry::Queued(place) => {
                    bulkhead.leave_queue(config, words, place);
                    false
                }
                entry => entry == Entry::Entered,
            });
        let mut withdrawal = None;
        let admitted = entered
            && guards.budget.as_mut().is_none_or(|(config, budget)| {
                // spec 29.9: nothing has failed, so there is no grace.
                withdrawal = budget.withdraw_without_grace(config, now, FailureKind::Transient);
                withdrawal.is_some() && budget.admit(config, now)
            });
        let permit = if admitted { guards.permit(0, now).ok() } else { None };
        match (permit, withdrawal, &guards.budget) {
            (Some(_), Some(withdrawal), Some((config, _))) => self.hold(config, withdrawal),
            (Some(_), ..) => {}
            (None, ..) => {
                guards.refund(now, withdrawal);
                if entered {
                    guards.leave();
                }
            }
        }
        permit.inspect(|_| guards.pay(new, now))
    }
}

impl CallGuards for Guards<'_> {
    type Flight = Flight;

    fn awaits(call: &GuardedCall, ticket: Ticket) -> bool {
        call.awaited(ticket).is_some()
    }

    fn on_success(&mut self, call: &mut GuardedCall, ticket: Ticket, now: Timestamp) {
        let Some(slot) = call.awaited(ticket) else { return };
        let took = call.finish_attempt(self, slot, now, Some(Verdict::Success));
        if let Some((config, latency)) = &mut self.hedge
            && let Some(percentile) = config.percentile()
        {
            latency.record(took, percentile);
        }
        if let Some((config, stretch)) = &mut self.stretch {
            stretch.record(config, now, false);
        }
        if let Some((config, adaptive)) = &mut self.adaptive {
            adaptive.update(config, now, false);
        }
        if let Some((config, budget)) = &mut self.budget {
            budget.succeed(config, now, call.withdrawal());
        }
    }

    /// Attempts beside each other fail as one: the latest failure with the largest hint (spec 29.5).
    fn on_failure(
        &mut self,
        call: &mut GuardedCall,
        policy: &Policy,
        ticket: Ticket,
        now: Timestamp,
        failure: Failure,
    ) -> Result<Failure, Step> {
        let now = call.retry.observe(now);
        let Some(slot) = call.awaited(ticket) else { return Err(call.current_step()) };
        let began = call.flight.starts.get(slot).copied().unwrap_or(now);
        // spec 7.17: a delay that the program chose is no server's hint
        let heard = match failure.hint.span() {
            Some(asked) if policy.path & ASKED == 0 => Hint::after(asked.min(policy.hint_max())),
            _ => Hint::NONE,
        };
        let heard = failure.with_hint(heard);
        call.record_failure(self, slot, now, heard);
        if let Some(asked) = heard.hint.span() {
            self.hint(now, asked);
        }
        call.retry.begin_at(policy, began);
        if failure.kind == FailureKind::Permanent {
            return Err(call.give_up(self, StopReason::Permanent, Timestamp::NEVER));
        }
        let obeyed = policy.hint_mode() != HintMode::Ignore;
        call.flight.hint = call.flight.hint.or_later(failure.hint);
        let never = obeyed && call.flight.hint.is_never();
        if call.may_hedge(policy, self) && !never {
            call.at = match failure.hint.span() {
                Some(asked) if obeyed => now.after(asked),
                _ => now,
            };
            if call.at <= now
                && let Some(step) = call.hedge(policy, self, now)
            {
                call.retry.count_hedged(policy, failure);
                return Err(step);
            }
        } else {
            call.at = Timestamp::NEVER;
        }
        if call.flight.flying != 0 {
            call.retry.count_hedged(policy, failure);
            return Err(call.current_step());
        }
        let failure = failure.with_hint(call.flight.hint);
        (call.flight.round, call.flight.hint) = (0, Hint::NONE);
        // The call is over: its count of failures stays as it was.
        if call.retry.has_begun_all(policy, failure, call.attempt) && !never {
            return Err(call.give_up(self, StopReason::Attempts, Timestamp::NEVER));
        }
        Ok(failure)
    }

    fn allow_retry(
        &mut self,
        call: &mut GuardedCall,
        policy: &Policy,
        kind: FailureKind,
        (mut until, mut cause): (Timestamp, Cause),
    ) -> Result<(Timestamp, Cause), (StopReason, Timestamp)> {
        let now = call.retry.latest();
        if let Some((config, stretch)) = &mut self.stretch
            && cause == Cause::Backoff
        {
            let longer = now.after(stretch.stretch(config, now, until.since(now)));
            if call.retry.has_time(policy, longer) {
                until = longer;
            }
        }
        match self.take_turn(call, policy, now, until) {
            Some(Ok(turn)) if turn > until => (until, cause) = (turn, Cause::Hint),
            Some(Err(turn)) if self.is_paused(until) => return Err((StopReason::Hint, turn)),
            _ => {}
        }
        if let Some((refusal, retry_at)) = self.refused(until) {
            if refusal == Refusal::Stop || retry_at.is_never() || !call.retry.has_time(policy, retry_at) {
                return Err((StopReason::Breaker, retry_at));
            }
            (until, cause) = (retry_at, Cause::Breaker);
        }
        if let Some((config, budget)) = &mut self.budget
            && !(cause == Cause::Hint && config.is_free_for_hints())
        {
            let noted = call.flight.noted;
            let withdrawal = match cause {
                Cause::Hint => budget.withdraw_hinted(config, now, kind, noted),
                _ => budget.withdraw(config, now, kind, noted),
            };
            call.hold_unrun(config, withdrawal.ok_or((StopReason::Budget, until))?);
        }
        if cause == Cause::Breaker {
            call.wait_at_breaker(self, false);
        }
        Ok((until, cause))
    }

    fn not_due(&mut self, call: &mut GuardedCall, policy: &Policy, now: Timestamp) -> Option<Step> {
        match call.phase {
            SLEEPING if now >= call.at || call.is(QUEUED) || call.has_turn(self) || call.is_first(self) => None,
            RUNNING if now >= call.at && call.may_hedge(policy, self) => {
                Some(call.hedge(policy, self, now).unwrap_or_else(|| call.current_step()))
            }
            _ => Some(call.current_step()),
        }
    }

    /// Asks the guards in their order: breaker, limits of the rate, bulkhead; and pays when all let the attempt through (spec 29.3).
    fn admit(&mut self, call: &mut GuardedCall, policy: &Policy, now: Timestamp) -> Result<(), Step> {
        if !call.is(ADMITTED) {
            if let Some((config, budget)) = &mut self.budget
                && !budget.admit(config, now)
            {
                return Err(call.give_up(self, StopReason::Budget, Timestamp::NEVER));
            }
            call.flight.flags |= ADMITTED;
        }
        if self.is_paused(now) {
            return Err(match self.take_turn(call, policy, now, now) {
                Some(Ok(turn)) => {
                    call.leave_queues(self);
                    call.leave_breaker(self);
                    call.sleep(turn, Cause::Hint)
                }
                turn => call.give_up(self, StopReason::Hint, turn.and_then(Result::err).unwrap_or(now)),
            });
        }
        if let Some(refused) = self.refused(now) {
            return Err(call.refuse(policy, self, now, refused));
        }
        if let Some(place) = call.queued(self) {
            return Err(call.queue(policy, self, now, place));
        }
        if let Err(refused) = self.ask_rate(call.lines(), call.is(OVERDUE), now) {
            return Err(call.line_up(policy, self, now, refused));
        }
        let waited = call.flight.flags;
        match call.enter(self) {
            Entry::Entered => match self.permit(waited, now) {
                Ok(permit) => {
                    self.pay(call.lines(), now);
                    call.launch(now, permit);
                    call.at = call.hedge_at(policy, self, now);
                    Ok(())
                }
                // Half-open, with as many probes out as there may be; or others begin first.
                Err(refused) => {
                    self.leave();
                    Err(call.queue_behind(policy, self, now, refused))
                }
            },
            Entry::Queued(place) => Err(call.queue(policy, self, now, place)),
            Entry::Refused => Err(call.give_up(self, StopReason::Bulkhead, Timestamp::NEVER)),
        }
    }

    /// Abandons the attempts in flight, and takes back what was paid for and not used.
    fn release(&mut self, call: &mut GuardedCall, now: Timestamp) {
        while call.flight.flying != 0 {
            call.finish_attempt(self, call.flight.flying.trailing_zeros() as usize, now, None);
        }
        call.leave_queues(self);
        call.leave_breaker(self);
        self.refund(now, call.unrun());
        if let Some((config, budget)) = &mut self.budget {
            budget.end(config, None);
        }
        call.flight.flags = 0;
    }
}
