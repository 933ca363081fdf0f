//! The whole loop for a call that shares guards with others, or that hedges: who goes first, who pays, and who gets it back.
//!
//! A call without guards needs none of this, see [`crate::Call`]; the steps are the same, so that a host has one loop. The
//! guards are lent for one transition and never stored.

use crate::decide::call::{Call, Outcome, Step, Ticket};
use crate::decide::failure::{Failure, FailureKind};
use crate::decide::guards::Refusal;
use crate::decide::guards::adaptive::{Adaptive, AdaptiveConfig};
use crate::decide::guards::breaker::config::BreakerConfig;
use crate::decide::guards::breaker::{Breaker, Permit, Verdict};
use crate::decide::guards::budget::{Budget, BudgetConfig, Held};
use crate::decide::guards::bulkhead::{Bulkhead, BulkheadConfig, Entry, QueuePlace};
use crate::decide::guards::latency::{HedgeConfig, Latency};
use crate::decide::guards::limiter::{Limiter, LimiterConfig};
use crate::decide::guards::stretch::{Stretch, StretchConfig};
use crate::decide::hint::Hint;
use crate::decide::policy::{IGNORE, Policy};
use crate::decide::retry::{Cause, Decision, Retry};
use crate::error::StopReason;
use crate::time::{Span, Timestamp};

/// The guards of a call, lent for one transition: any of them, each with its configuration. Lend the same ones each time.
#[derive(Default, Debug)]
pub struct Guards<'a> {
    /// How many retries there may be for the calls there are.
    pub budget: Option<(&'a BudgetConfig, &'a mut Budget)>,
    /// Whether the other side is well enough to be called.
    pub breaker: Option<(&'a BreakerConfig, &'a mut Breaker)>,
    /// How many attempts there may be in a time; with the room that its kind needs.
    pub limiter: Option<(&'a LimiterConfig, &'a mut Limiter, &'a mut [u64])>,
    /// A rate that follows the other side's throttling.
    pub adaptive: Option<(&'a AdaptiveConfig, &'a mut Adaptive)>,
    /// How many attempts there may be at once.
    pub bulkhead: Option<(&'a BulkheadConfig, &'a mut Bulkhead)>,
    /// Longer delays while much fails.
    pub stretch: Option<(&'a StretchConfig, &'a mut Stretch)>,
    /// A second attempt beside one that takes long; with what is known of how long they take.
    pub hedge: Option<(&'a HedgeConfig, &'a mut Latency)>,
}

impl Guards<'_> {
    /// No guard at all.
    #[must_use]
    pub const fn none() -> Self {
        Self { budget: None, breaker: None, limiter: None, adaptive: None, bulkhead: None, stretch: None, hedge: None }
    }

    /// What an attempt pays for its rate; on a refusal nothing is paid.
    fn pay(&mut self, now: Timestamp) -> Result<(), (Refusal, Timestamp)> {
        if let Some((config, limiter, room)) = &mut self.limiter {
            limiter.take(config, room, 1, now).map_err(|retry_at| (config.refusal(), retry_at))?;
        }
        if let Some((config, adaptive)) = &mut self.adaptive
            && let Err(retry_at) = adaptive.take(config, 1.0, now)
        {
            let refusal = config.refusal();
            if let Some((config, limiter, room)) = &mut self.limiter {
                limiter.give_back(config, room, 1, now);
            }
            return Err((refusal, retry_at));
        }
        Ok(())
    }

    fn pay_back(&mut self, now: Timestamp) {
        if let Some((config, limiter, room)) = &mut self.limiter {
            limiter.give_back(config, room, 1, now);
        }
        if let Some((config, adaptive)) = &mut self.adaptive {
            adaptive.give_back(config, 1.0, now);
        }
    }

    /// When the breaker would let an attempt through that it refuses at `at`, and what is to be done about it.
    fn refused(&self, at: Timestamp) -> Option<(Refusal, Timestamp)> {
        let (config, breaker) = self.breaker.as_ref()?;
        breaker.refuses(config, at).map(|retry_at| (config.refusal(), retry_at))
    }

    /// The breaker's permit for an attempt that begins now.
    fn permit(&mut self, now: Timestamp) -> Result<Permit, (Refusal, Timestamp)> {
        match &mut self.breaker {
            None => Ok(Permit::from_raw(0)),
            Some((config, breaker)) => breaker.acquire(config, now).map_err(|retry_at| (config.refusal(), retry_at)),
        }
    }

    fn refund(&mut self, now: Timestamp, held: Option<Held>) {
        if let (Some((config, budget)), Some(held)) = (&mut self.budget, held) {
            budget.refund(config, now, held);
        }
    }

    fn leave(&mut self) {
        if let Some((_, bulkhead)) = &mut self.bulkhead {
            bulkhead.leave();
        }
    }
}

/// How many attempts of a call may be in flight at once.
const FLYING: usize = 8;

/// One call under guards, from its first attempt to its end: 176 bytes, `Copy`, no policy and no guard inside.
///
/// # Contract
/// As that of [`crate::Call`], with the guards lent to each input. In addition:
///
/// - the first step may be a `Sleep` or a `Stop`: a guard refuses the first attempt as it does any other;
/// - an `Attempt` may come with a `wake_at`: if nothing has ended by then, tick, and perhaps run another attempt beside it.
///   At a `Stop` all that still runs is to be aborted, and its results are of no interest;
/// - a `Sleep` whose cause is [`Cause::Bulkhead`] is for a place that comes free at any time: tick also whenever another call
///   that shares the bulkhead has ended an attempt;
/// - whoever drops a call before its `Stop` calls [`Guarded::cancel`], or what it holds of the guards is lost.
///
/// Every bit pattern of the state is valid (zeroes read as a cancelled call), and no input panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Guarded {
    retry: Retry,
    /// Sleeping: until when. Running: when the next attempt starts beside. Gave up: when to retry.
    at: Timestamp,
    /// The largest hint of this round.
    hint: Hint,
    /// When the attempts in flight began, each at its number modulo eight.
    starts: [Timestamp; FLYING],
    /// The breaker's generation that let each of them through.
    permits: [u32; FLYING],
    /// How many attempts have been started.
    attempt: u32,
    /// In the bulkhead's queue.
    place: u32,
    /// What the latest retry paid.
    held: u32,
    /// How many attempts this round has.
    round: u8,
    /// One bit for each attempt in flight.
    flying: u8,
    phase: u8,
    flags: u8,
    cause: u8,
    reason: u8,
    /// The kind of the round's latest failure.
    kind: u8,
    /// No padding: the state is its bytes.
    unused: [u8; 5],
}

const CANCELLED: u8 = 0;
const RUNNING: u8 = 1;
const SLEEPING: u8 = 2;
const SUCCEEDED: u8 = 3;
const GAVE_UP: u8 = 4;

/// A retry was paid for, be it this one or an earlier one.
const HELD: u8 = 1;
/// The retry that was paid for has not run yet.
const UNRUN: u8 = 2;
/// The budget has let this attempt through.
const ADMITTED: u8 = 4;
/// The limits of the rate are paid for this attempt.
const PAID: u8 = 8;
/// In the bulkhead's queue.
const QUEUED: u8 = 16;

impl Guarded {
    /// Begins a call at `now`; for a good seed see [`Retry::new`].
    #[must_use]
    #[inline]
    pub fn begin(policy: &Policy, guards: &mut Guards<'_>, seed: u64, now: Timestamp) -> (Self, Step) {
        // In line, or the state would be made in one place and copied to another.
        let mut call = Self::asleep(Retry::new(seed, now));
        let step = call.start(policy, guards, now.as_now());
        (call, step)
    }

    fn start(&mut self, policy: &Policy, guards: &mut Guards<'_>, now: Timestamp) -> Step {
        if let Some((config, budget)) = &mut guards.budget {
            budget.begin(config, now);
        }
        self.admit(policy, guards, now)
    }

    const fn asleep(retry: Retry) -> Self {
        Self {
            retry,
            at: retry.started(),
            hint: Hint::NONE,
            starts: [Timestamp::ZERO; FLYING],
            permits: [0; FLYING],
            attempt: 0,
            place: 0,
            held: 0,
            round: 0,
            flying: 0,
            phase: SLEEPING,
            flags: 0,
            cause: Cause::Backoff.code(),
            reason: 0,
            kind: 0,
            unused: [0; 5],
        }
    }

    /// The call without what it holds of its guards: to be saved, see [`Call::save`]. Attempts in flight are the latest one.
    #[must_use]
    pub const fn call(&self) -> Call {
        Call::holding(self.retry, self.attempt, self.held())
    }

    /// Takes up a call that was saved and resumed, at `now` and under these guards. It begins for them; a retry that it sleeps
    /// for counts as paid, and what it waited for at a guard it asks for again at the next [`Guarded::tick`]. An attempt in
    /// flight has failed with kind timeout, as in [`crate::Saved::call`] (spec 29.12).
    #[must_use]
    pub fn resume(policy: &Policy, guards: &mut Guards<'_>, call: &Call, now: Timestamp) -> Self {
        let mut call = *call;
        if let Step::Attempt { .. } | Step::Wait { .. } = call.held() {
            call.fail(policy, Ticket::from_raw(u64::from(call.attempt())), now, Failure::TIMEOUT);
        }
        let mut guarded = Self { attempt: call.attempt(), ..Self::asleep(*call.retry()) };
        let now = guarded.retry.observe(now);
        match call.held() {
            Step::Sleep { until, cause } => {
                let own = matches!(cause, Cause::Backoff | Cause::Hint | Cause::Clip);
                (guarded.at, guarded.cause) = (if own { until } else { now }, cause.code());
                guarded.join(guards, now);
            }
            Step::Stop(Outcome::Succeeded) => guarded.phase = SUCCEEDED,
            Step::Stop(Outcome::GaveUp { reason, retry_at }) => {
                (guarded.phase, guarded.reason, guarded.at) = (GAVE_UP, reason.code(), retry_at);
            }
            _ => guarded.phase = CANCELLED,
        }
        guarded
    }

    /// How many attempts have been started.
    #[must_use]
    pub const fn attempt(&self) -> u32 {
        self.attempt
    }

    /// How many attempts are in flight.
    #[must_use]
    pub const fn flying(&self) -> u32 {
        self.flying.count_ones()
    }

    /// When the call began.
    #[must_use]
    pub const fn started(&self) -> Timestamp {
        self.retry.started()
    }

    /// How long to sleep from `now` for a step that sleeps; zero for any other.
    #[must_use]
    pub const fn remaining(&self, now: Timestamp) -> Span {
        if self.phase == SLEEPING { self.at.since(now) } else { Span::ZERO }
    }

    /// The attempt with this ticket succeeded at `now`: the call is over, whatever else is in flight.
    pub fn succeed(&mut self, guards: &mut Guards<'_>, ticket: Ticket, now: Timestamp) -> Step {
        let now = self.retry.observe(now);
        let Some(slot) = self.awaited(ticket) else { return self.held() };
        let took = self.settle(guards, slot, now, Some(Verdict::Success));
        if let Some((config, latency)) = &mut guards.hedge
            && let Some(percentile) = config.percentile()
        {
            latency.record(took, percentile);
        }
        if let Some((config, stretch)) = &mut guards.stretch {
            stretch.record(config, now, false);
        }
        if let Some((config, adaptive)) = &mut guards.adaptive {
            adaptive.update(config, now, false);
        }
        if let Some((config, budget)) = &mut guards.budget {
            budget.succeed(config, now, if self.is(HELD) { Some(Held::from_raw(self.held)) } else { None });
        }
        self.end(guards, now, SUCCEEDED, Timestamp::NEVER)
    }

    /// The attempt with this ticket failed at `now`.
    pub fn fail(
        &mut self,
        policy: &Policy,
        guards: &mut Guards<'_>,
        ticket: Ticket,
        now: Timestamp,
        failure: Failure,
    ) -> Step {
        let now = self.retry.observe(now);
        let Some(slot) = self.awaited(ticket) else { return self.held() };
        self.learn(guards, slot, now, failure);
        if failure.kind == FailureKind::Permanent {
            return self.give_up(guards, now, StopReason::Permanent, Timestamp::NEVER);
        }
        let obeyed = policy.hint_mode != IGNORE;
        self.kind = failure.kind.code();
        self.hint = self.hint.or_later(failure.hint);
        if self.may_hedge(policy, guards) && !(obeyed && self.hint.is_never()) {
            self.at = match failure.hint.span() {
                Some(asked) if obeyed => now.after(asked),
                _ => now,
            };
            if self.at <= now
                && let Some(permit) = self.hedged(policy, guards, now)
            {
                return self.launch(policy, guards, now, permit);
            }
        } else {
            self.at = Timestamp::NEVER;
        }
        if self.flying != 0 {
            return self.held();
        }
        self.decide(policy, guards, now)
    }

    /// The attempt with this ticket ended at `now` in a way that says nothing about the other side: a fault of the caller's own
    /// program. The call is over, as after a permanent failure.
    pub fn abandon(&mut self, guards: &mut Guards<'_>, ticket: Ticket, now: Timestamp) -> Step {
        let now = self.retry.observe(now);
        let Some(slot) = self.awaited(ticket) else { return self.held() };
        self.settle(guards, slot, now, None);
        self.give_up(guards, now, StopReason::Permanent, Timestamp::NEVER)
    }

    /// Nothing but time has passed, or a place in the bulkhead has come free: the next attempt, when it is due at `now`.
    pub fn tick(&mut self, policy: &Policy, guards: &mut Guards<'_>, now: Timestamp) -> Step {
        let now = self.retry.observe(now);
        match self.phase {
            RUNNING if now >= self.at => {
                if self.may_hedge(policy, guards)
                    && let Some(permit) = self.hedged(policy, guards, now)
                {
                    return self.launch(policy, guards, now, permit);
                }
                self.held()
            }
            SLEEPING if now >= self.at || self.is(QUEUED) => {
                if now >= self.retry.deadline(policy) {
                    return self.give_up(guards, now, StopReason::Deadline, self.at);
                }
                self.admit(policy, guards, now)
            }
            _ => self.held(),
        }
    }

    /// The caller wants no more of it, whatever is going on.
    pub fn cancel(&mut self, guards: &mut Guards<'_>, now: Timestamp) -> Step {
        let now = self.retry.observe(now);
        match self.phase {
            RUNNING | SLEEPING => self.end(guards, now, CANCELLED, Timestamp::NEVER),
            _ => self.held(),
        }
    }

    const fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// The place of an attempt in flight.
    fn awaited(&self, ticket: Ticket) -> Option<usize> {
        let number = ticket.attempt();
        let known = number != 0 && number <= self.attempt && self.attempt.wrapping_sub(number) < FLYING as u32;
        let slot = number as usize % FLYING;
        (self.phase == RUNNING && known && self.flies(slot)).then_some(slot)
    }

    const fn flies(&self, slot: usize) -> bool {
        self.flying & bit(slot) != 0
    }

    /// Asks the guards for the next attempt, in their order: breaker, limits of the rate, bulkhead (spec 29.3).
    fn admit(&mut self, policy: &Policy, guards: &mut Guards<'_>, now: Timestamp) -> Step {
        if !self.is(ADMITTED) {
            if let Some((config, budget)) = &mut guards.budget
                && !budget.admit(config, now)
            {
                return self.give_up(guards, now, StopReason::Budget, Timestamp::NEVER);
            }
            self.flags |= ADMITTED;
        }
        if let Some((refusal, retry_at)) = guards.refused(now) {
            return self.refuse(policy, guards, now, (refusal, retry_at), StopReason::Breaker);
        }
        if !self.is(PAID) {
            if let Err(refused) = guards.pay(now) {
                return self.refuse(policy, guards, now, refused, StopReason::Limiter);
            }
            self.flags |= PAID;
        }
        match self.enter(guards) {
            Entry::Entered => match guards.permit(now) {
                Ok(permit) => self.launch(policy, guards, now, permit),
                // Half-open, with as many probes out as there may be.
                Err(refused) => {
                    guards.leave();
                    self.refuse(policy, guards, now, refused, StopReason::Breaker)
                }
            },
            Entry::Queued(place) => self.queue(policy, guards, now, place),
            Entry::Refused => self.give_up(guards, now, StopReason::Bulkhead, Timestamp::NEVER),
        }
    }

    fn enter(&mut self, guards: &mut Guards<'_>) -> Entry {
        let Some((config, bulkhead)) = &mut guards.bulkhead else { return Entry::Entered };
        let entry = match self.is(QUEUED) {
            true => bulkhead.enter_from(config, QueuePlace::from_raw(self.place)),
            false => bulkhead.enter(config),
        };
        if !matches!(entry, Entry::Queued(_)) {
            self.flags &= !QUEUED;
        }
        entry
    }

    /// Waits for a place, no longer than the bulkhead allows.
    fn queue(&mut self, policy: &Policy, guards: &mut Guards<'_>, now: Timestamp, place: QueuePlace) -> Step {
        if self.is(QUEUED) {
            if now >= self.at {
                return self.give_up(guards, now, StopReason::Bulkhead, Timestamp::NEVER);
            }
            return self.held();
        }
        let longest = guards.bulkhead.as_ref().map_or(Span::ZERO, |(config, _)| config.max_wait());
        self.flags |= QUEUED;
        self.place = place.as_raw();
        self.sleep(now.after(longest).min(self.retry.deadline(policy)), Cause::Bulkhead)
    }

    /// What follows from a refusal: a sleep that fits before the deadline, or the end.
    fn refuse(
        &mut self,
        policy: &Policy,
        guards: &mut Guards<'_>,
        now: Timestamp,
        (refusal, retry_at): (Refusal, Timestamp),
        reason: StopReason,
    ) -> Step {
        let until = retry_at.max(now.after(Span::from_nanos(1)));
        if refusal == Refusal::Wait && !retry_at.is_never() && self.retry.has_time(policy, until) {
            self.unwait(guards, now);
            let cause = if reason == StopReason::Breaker { Cause::Breaker } else { Cause::Limiter };
            return self.sleep(until, cause);
        }
        self.give_up(guards, now, reason, retry_at)
    }

    /// Starts an attempt that all guards have let through, at `now`.
    fn launch(&mut self, policy: &Policy, guards: &Guards<'_>, now: Timestamp, permit: Permit) -> Step {
        self.attempt = self.attempt.saturating_add(1).min(u32::MAX - 1);
        self.round = self.round.saturating_add(1);
        let slot = self.attempt as usize % FLYING;
        if let (Some(start), Some(given)) = (self.starts.get_mut(slot), self.permits.get_mut(slot)) {
            (*start, *given) = (now, permit.as_raw());
        }
        self.flying |= bit(slot);
        self.flags &= HELD;
        self.phase = RUNNING;
        self.at = match &guards.hedge {
            Some((config, latency)) if self.may_hedge(policy, guards) => now.after(config.delay(latency)),
            _ => Timestamp::NEVER,
        };
        let timeout = Timestamp::from_nanos(now.as_nanos().saturating_add(policy.attempt_timeout));
        let ticket = Ticket::from_raw(u64::from(self.attempt));
        Step::Attempt { ticket, abort_at: timeout.min(self.retry.deadline(policy)), wake_at: self.at }
    }

    /// Whether this round may have another attempt.
    fn may_hedge(&self, policy: &Policy, guards: &Guards<'_>) -> bool {
        let Some((config, _)) = &guards.hedge else { return false };
        let next = self.attempt.wrapping_add(1) as usize % FLYING;
        u32::from(self.round) < config.attempts() && self.attempt < policy.attempts && !self.flies(next)
    }

    /// The breaker's permit when every guard lets an attempt through beside the others, without a wait; it is paid for then
    /// (spec 29.9).
    fn hedged(&mut self, policy: &Policy, guards: &mut Guards<'_>, now: Timestamp) -> Option<Permit> {
        self.at = Timestamp::NEVER;
        if !self.retry.has_time(policy, now) || guards.refused(now).is_some() || guards.pay(now).is_err() {
            return None;
        }
        let permit = self.beside(guards, now);
        if permit.is_none() {
            guards.pay_back(now);
        }
        permit
    }

    /// The same, once the limits of the rate are paid.
    fn beside(&mut self, guards: &mut Guards<'_>, now: Timestamp) -> Option<Permit> {
        if let Some((config, bulkhead)) = &mut guards.bulkhead {
            match bulkhead.enter(config) {
                Entry::Entered => {}
                Entry::Queued(place) => {
                    bulkhead.leave_queue(place);
                    return None;
                }
                Entry::Refused => return None,
            }
        }
        let held = match &mut guards.budget {
            None => None,
            Some((config, budget)) => {
                let held = budget.withdraw(config, now, FailureKind::Transient);
                if held.is_none() || !budget.admit(config, now) {
                    guards.refund(now, held);
                    guards.leave();
                    return None;
                }
                held
            }
        };
        match guards.permit(now) {
            Ok(permit) => {
                if let Some(held) = held {
                    self.hold(held);
                }
                Some(permit)
            }
            Err(_) => {
                guards.refund(now, held);
                guards.leave();
                None
            }
        }
    }

    const fn hold(&mut self, held: Held) {
        self.held = held.as_raw();
        self.flags |= HELD;
    }

    /// Takes an attempt out of flight and tells the guards how it ended, `None` for a way that says nothing; how long it took.
    fn settle(&mut self, guards: &mut Guards<'_>, slot: usize, now: Timestamp, answer: Option<Verdict>) -> Span {
        self.flying &= !bit(slot);
        let took = now.since(self.starts.get(slot).copied().unwrap_or(now));
        let permit = Permit::from_raw(self.permits.get(slot).copied().unwrap_or(0));
        if let Some((config, breaker)) = &mut guards.breaker {
            match answer {
                Some(answer) => breaker.record(config, permit, now, answer, took),
                None => breaker.abandon(config, permit, now),
            }
        }
        guards.leave();
        if let Some((config, budget)) = &mut guards.budget
            && !(self.attempt <= FLYING as u32 && slot == 1)
        {
            budget.retried(config);
        }
        took
    }

    /// What the guards learn from a failure.
    fn learn(&mut self, guards: &mut Guards<'_>, slot: usize, now: Timestamp, failure: Failure) {
        let permanent = failure.kind == FailureKind::Permanent;
        // spec 29.6: an answer that will always be the same is an answer
        self.settle(guards, slot, now, Some(if permanent { Verdict::Success } else { Verdict::Failure }));
        if let Some((config, stretch)) = &mut guards.stretch {
            stretch.record(config, now, !permanent);
        }
        if let Some((config, adaptive)) = &mut guards.adaptive {
            adaptive.update(config, now, failure.kind == FailureKind::Throttled);
        }
        if let Some((config, budget)) = &mut guards.budget {
            budget.fail(config, now, failure.kind);
        }
        if let (Some((config, breaker)), Some(asked)) = (&mut guards.breaker, failure.hint.span()) {
            breaker.hint(config, now, asked);
        }
    }

    /// What to do when a round is over and nothing of it succeeded (spec 29.5).
    fn decide(&mut self, policy: &Policy, guards: &mut Guards<'_>, now: Timestamp) -> Step {
        let kind = FailureKind::from_code(u32::from(self.kind)).unwrap_or(FailureKind::Transient);
        let failure = Failure::new(kind).with_hint(self.hint);
        let never = self.hint.is_never() && policy.hint_mode != IGNORE;
        (self.round, self.hint) = (0, Hint::NONE);
        if self.attempt >= policy.attempts && !never {
            return self.give_up(guards, now, StopReason::Attempts, Timestamp::NEVER);
        }
        let (mut until, mut cause) = match self.retry.on_failure(policy, now, failure) {
            Decision::Sleep { until, cause } => (until, cause),
            Decision::GiveUp { reason, retry_at } => return self.give_up(guards, now, reason, retry_at),
        };
        if let Some((config, stretch)) = &mut guards.stretch
            && cause == Cause::Backoff
        {
            let longer = now.after(stretch.stretch(config, now, until.since(now)));
            if self.retry.has_time(policy, longer) {
                until = longer;
            }
        }
        if let Some((refusal, retry_at)) = guards.refused(until) {
            if refusal == Refusal::Stop || retry_at.is_never() || !self.retry.has_time(policy, retry_at) {
                return self.give_up(guards, now, StopReason::Breaker, retry_at);
            }
            (until, cause) = (retry_at, Cause::Breaker);
        }
        if let Some((config, budget)) = &mut guards.budget {
            let Some(held) = budget.withdraw(config, now, kind) else {
                return self.give_up(guards, now, StopReason::Budget, until);
            };
            self.hold(held);
            self.flags |= UNRUN;
        }
        self.sleep(until, cause)
    }

    const fn sleep(&mut self, until: Timestamp, cause: Cause) -> Step {
        (self.phase, self.at, self.cause) = (SLEEPING, until, cause.code());
        Step::Sleep { until, cause }
    }

    fn give_up(&mut self, guards: &mut Guards<'_>, now: Timestamp, reason: StopReason, retry_at: Timestamp) -> Step {
        self.reason = reason.code();
        self.end(guards, now, GAVE_UP, retry_at)
    }

    /// Gives back what an attempt holds that waits to begin.
    fn unwait(&mut self, guards: &mut Guards<'_>, now: Timestamp) {
        if self.is(QUEUED)
            && let Some((_, bulkhead)) = &mut guards.bulkhead
        {
            bulkhead.leave_queue(QueuePlace::from_raw(self.place));
        }
        if self.is(PAID) {
            guards.pay_back(now);
        }
        self.flags &= !(QUEUED | PAID);
    }

    /// The end, however it came about: what is in flight is abandoned, what was paid for and not used comes back.
    fn end(&mut self, guards: &mut Guards<'_>, now: Timestamp, phase: u8, at: Timestamp) -> Step {
        while self.flying != 0 {
            self.settle(guards, self.flying.trailing_zeros() as usize, now, None);
        }
        if self.is(QUEUED | PAID) {
            self.unwait(guards, now);
        }
        if self.is(UNRUN) {
            guards.refund(now, Some(Held::from_raw(self.held)));
        }
        if let Some((config, budget)) = &mut guards.budget {
            budget.end(config, None);
        }
        (self.phase, self.at, self.flags) = (phase, at, 0);
        self.held()
    }

    /// The step that still holds.
    pub(crate) const fn held(&self) -> Step {
        match self.phase {
            RUNNING => Step::Wait { until: self.at },
            SLEEPING => Step::Sleep { until: self.at, cause: Cause::read(self.cause) },
            SUCCEEDED => Step::Stop(Outcome::Succeeded),
            GAVE_UP => Step::Stop(Outcome::GaveUp { reason: StopReason::read(self.reason), retry_at: self.at }),
            _ => Step::Stop(Outcome::Cancelled),
        }
    }
}

mod recorded;

/// The bit of an attempt in flight.
const fn bit(slot: usize) -> u8 {
    1_u8.wrapping_shl(slot as u32)
}

#[cfg(test)]
mod tests;
