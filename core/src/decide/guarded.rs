//! The retry loop for a call that shares guards with others, or that hedges.
//!
//! A call without guards needs none of this, see [`crate::Call`]; the steps are the same, so that a host has one loop. The
//! guards are arguments of each transition and never stored.

use crate::decide::call::{Call, Machine, NoGuards, RUNNING, Step, Ticket};
use crate::decide::failure::{Failure, FailureKind};
use crate::decide::guards::guard::lent;
use crate::decide::guards::line::{Line, Waiter};
use crate::decide::guards::*;
use crate::decide::hint::Hint;
use crate::decide::policy::Policy;
use crate::decide::retry::{Cause, Retry};
use crate::each_guard;
use crate::error::StopReason;
use crate::time::{Span, Timestamp};

/// Declares the set of all guards.
macro_rules! guards {
    ($($(#[$doc:meta])* $name:ident: $class:ident $memory:ident, $config:ty, $state:ty $(, $words:ident)?;)*) => {
        /// The guards of a call for one transition: any of them, each with its configuration and, where it needs them, its words of
        /// memory. Pass the same ones each time.
        #[derive(Default, Debug)]
        pub struct Guards<'a> {
            $($(#[$doc])* pub $name: Option<lent!('a $config, $state $(, $words)?)>,)*
        }

        impl Guards<'_> {
            /// No guard at all.
            pub const fn none() -> Self {
                Self { $($name: None),* }
            }

            /// True if nothing that protects a server is lost when all of them are made anew at `now`: nobody runs or waits, and none
            /// refuses or remembers more than a new guard (spec 21.5). For a store of guards by key, which may drop only guards at rest.
            pub fn is_at_rest(&self, now: Timestamp) -> bool {
                true $(&& self.$name.as_ref().is_none_or(|lent| <$config as GuardConfig>::is_at_rest(lent, now)))*
            }

            /// How many guards there are, a hedge included.
            #[cfg(feature = "record")]
            pub(crate) fn count(&self) -> usize {
                [$(self.$name.is_some()),*].into_iter().filter(|is_given| *is_given).count()
            }
        }
    };
}
each_guard!(guards);

impl Guards<'_> {
    /// Asks the limits of the rate for an attempt; takes nothing. An error names the line in which the call may wait.
    fn ask_rate(&mut self, lines: Lines, overdue: bool, now: Timestamp) -> Result<(), (usize, Refusal, Timestamp)> {
        let [at_limiter, at_adaptive] = lines.map(|ticket| Waiter { ticket, overdue });
        if let Some((config, limiter, words)) = &mut self.limiter {
            let asked = limiter.ask(config, words, at_limiter, now);
            asked.map_err(|turn| (LIMITER, config.refusal(), turn))?;
        }
        if let Some((config, adaptive)) = &mut self.adaptive {
            let asked = adaptive.ask(config, at_adaptive, now);
            asked.map_err(|turn| (ADAPTIVE, config.refusal(), turn))?;
        }
        Ok(())
    }

    /// Pays for an attempt that [`Guards::ask_rate`] has let through at `now`.
    fn pay(&mut self, lines: Lines, now: Timestamp) {
        if let Some((config, limiter, words)) = &mut self.limiter {
            limiter.pass(config, words, lines[LIMITER], now);
        }
        if let Some((config, adaptive)) = &mut self.adaptive {
            adaptive.pass(config, lines[ADAPTIVE], now);
        }
    }

    /// The line at a limit of the rate.
    fn line(&mut self, of: usize) -> Option<&mut Line> {
        match of {
            LIMITER => self.limiter.as_mut().map(|(_, limiter, _)| limiter.line()),
            _ => self.adaptive.as_mut().map(|(_, adaptive)| adaptive.line()),
        }
    }

    /// When the breaker would let an attempt through that it refuses at `at`, and what is to be done about it.
    fn refused(&self, at: Timestamp) -> Option<(Refusal, Timestamp)> {
        let (config, breaker) = self.breaker.as_ref()?;
        breaker.refuses(config, at).map(|retry_at| (config.refusal(), retry_at))
    }

    /// The breaker's permit for an attempt that begins now, of a call that has waited as those flags say.
    fn permit(&mut self, waited: u8, now: Timestamp) -> Result<Permit, (Refusal, Timestamp)> {
        let Some((config, breaker)) = &mut self.breaker else { return Ok(Permit::from_raw(0)) };
        let permit = match waited & (BEHIND | QUEUED | in_line(LIMITER) | in_line(ADAPTIVE)) {
            0 => breaker.acquire(config, now),
            waited => breaker.acquire_after_wait(config, now, waited & BEHIND != 0),
        };
        permit.map_err(|retry_at| (config.refusal(), retry_at))
    }

    fn refund(&mut self, now: Timestamp, withdrawal: Option<Withdrawal>) {
        if let (Some((config, budget)), Some(withdrawal)) = (&mut self.budget, withdrawal) {
            budget.refund(config, now, withdrawal);
        }
    }

    fn leave(&mut self) {
        if let Some((_, bulkhead, _)) = &mut self.bulkhead {
            bulkhead.leave();
        }
    }
}

/// The guard at which a call waits until others have gone before it: see [`GuardedCall::awaited_turn`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// In the bulkhead's queue, at that place: to be woken when [`Bulkhead::entrant`] is that place.
    Bulkhead(QueuePlace),
    /// Behind other calls at a breaker: to be woken when [`Breaker::admits`] is above 0, the longest waiting calls first.
    Breaker,
    /// In the limiter's line: the call that has waited longest is to be woken when [`Limiter::to_wake`] is above 0.
    Limiter,
    /// In the line of the adaptive rate: as at the limiter, with [`Adaptive::to_wake`].
    Adaptive,
}

impl Turn {
    /// The number of the guard, for other languages.
    pub const fn code(self) -> u32 {
        match self {
            Self::Bulkhead(_) => 1,
            Self::Breaker => 2,
            Self::Limiter => 3,
            Self::Adaptive => 4,
        }
    }
}

/// A call's tickets in the lines at the limits of the rate, where it waits.
type Lines = [Option<u32>; 2];

/// The line at the limiter, and that at the adaptive rate.
const LIMITER: usize = 0;
const ADAPTIVE: usize = 1;

/// How many attempts of a call may be in flight at once.
const FLYING: usize = 8;

/// One call under guards, from its first attempt to its end: 200 bytes, `Copy`, no policy and no guard inside.
///
/// # Contract
/// As that of [`crate::Call`], with the guards as an argument of each input. In addition:
///
/// - the first step may be a `Sleep` or a `Stop`: a guard refuses the first attempt as it does any other;
/// - an `Attempt` may come with a `wake_at`: if nothing has ended by then, tick, and perhaps run another attempt beside it.
///   At a `Stop` all that still runs is to be aborted, and its results are of no interest;
/// - a `Sleep` may end before its time: see [`GuardedCall::awaited_turn`], and tick also when it is the call's turn there;
/// - before a host drops a call that has not ended, it calls [`GuardedCall::cancel`]; else the guards count it for ever.
///
/// Every bit pattern of the state is valid (zeroes read as a cancelled call), and no input panics.
pub type GuardedCall = Machine<Flight>;

/// The state that a call keeps for its guards and its attempts in flight: 120 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Flight {
    /// The largest hint of this round.
    hint: Hint,
    /// When the attempts in flight began, each at its number modulo eight.
    starts: [Timestamp; FLYING],
    /// The breaker's generation that let each of them through. While the call waits to begin an attempt, its permits have no use: in
    /// their places are what the retry took of a token budget, and the tickets in the lines.
    permits: [u32; FLYING],
    /// In the bulkhead's queue.
    queue_place: u32,
    /// The budget's withdrawal that the call holds.
    withdrawal: u32,
    /// The number of the budget's latest refusal when the call began.
    noted: u32,
    /// How many attempts this round has.
    round: u8,
    /// One bit for each attempt in flight.
    flying: u8,
    flags: u8,
    /// Above 0 if nobody needs to wake the call: no call waits before it in its line for the rate, or its breaker is open.
    is_first: u8,
}

impl Flight {
    const NONE: Self = Self {
        hint: Hint::NONE,
        starts: [Timestamp::ZERO; FLYING],
        permits: [0; FLYING],
        queue_place: 0,
        withdrawal: 0,
        noted: 0,
        round: 0,
        flying: 0,
        flags: 0,
        is_first: 0,
    };
}

/// A retry was paid for, be it this one or an earlier one.
const WITHDRAWN: u8 = 1;
/// The retry that was paid for has not run yet.
const UNRUN: u8 = 2;
/// The budget has let this attempt through.
const ADMITTED: u8 = 4;
/// At its turn in a line a call before it had not come.
const OVERDUE: u8 = 8;
/// In the bulkhead's queue.
const QUEUED: u8 = 16;
/// Waits at a breaker.
const BEHIND: u8 = 32;

/// In the line at that limit of the rate.
const fn in_line(of: usize) -> u8 {
    if of == LIMITER { 64 } else { 128 }
}

impl GuardedCall {
    /// Begins a call at `now`; for a good seed see [`Retry::new`].
    #[inline]
    pub fn begin(policy: &Policy, guards: &mut Guards<'_>, seed: u64, now: Timestamp) -> (Self, Step) {
        // In line, or the state would be made in one place and copied to another.
        let mut call = Self::asleep(Retry::new(seed, now), Flight::NONE);
        let step = call.open(policy, guards, now.as_now());
        (call, step)
    }

    fn open(&mut self, policy: &Policy, guards: &mut Guards<'_>, now: Timestamp) -> Step {
        self.begin_for_budget(guards, now);
        self.start(policy, guards, now)
    }

    /// A call whose first attempt, [`Ticket::FIRST`], already runs since `started` with the breaker's `permit`: the lazy
    /// way in, for a call whose guards let the first attempt through at once.
    pub fn underway(seed: u64, started: Timestamp, permit: Permit) -> Self {
        let mut call = Self::asleep(Retry::new(seed, started), Flight::NONE);
        call.launch(call.at, permit);
        call.at = Timestamp::NEVER;
        call
    }

    /// A call that is underway, and began when the budget's latest refusal had that number: see [`Budget::refusals`]. Unless
    /// given it is 0.
    #[must_use]
    pub const fn noting(mut self, refusals: u32) -> Self {
        self.flight.noted = refusals;
        self
    }

    /// The number that [`GuardedCall::noting`] gives it.
    pub const fn noted(&self) -> u32 {
        self.flight.noted
    }

    /// The call begins for the budget of its guards.
    fn begin_for_budget(&mut self, guards: &mut Guards<'_>, now: Timestamp) {
        if let Some((config, budget)) = &mut guards.budget {
            budget.begin(config, now);
            self.flight.noted = budget.refusals();
        }
    }

    /// The breaker's permit of the latest attempt, for a host that keeps it in place of the call: see
    /// [`GuardedCall::underway`].
    pub fn permit(&self) -> Permit {
        Permit::from_raw(self.flight.permits.get(self.attempt as usize % FLYING).copied().unwrap_or(0))
    }

    /// Takes up a call that was saved and resumed, at `now` and under these guards. It begins for them; a retry that it sleeps
    /// for counts as paid, and what it waited for at a guard it asks for again at the next [`GuardedCall::tick`]. An attempt in
    /// flight has failed with kind timeout, as in `Saved::call` (spec 29.12).
    pub fn resume(policy: &Policy, guards: &mut Guards<'_>, call: &Call, now: Timestamp) -> Self {
        let mut call = *call;
        if let Step::Attempt { .. } | Step::Wait { .. } = call.current_step() {
            call.fail(policy, Ticket::from_raw(u64::from(call.attempt())), now, Failure::TIMEOUT);
        }
        let Call { retry, at, attempt, phase, cause, reason, unused, flight: NoGuards } = call;
        let mut guarded = Self { retry, at, attempt, phase, cause, reason, unused, flight: Flight::NONE };
        let now = guarded.retry.observe(now);
        if let Step::Sleep { cause, .. } = call.current_step() {
            if !matches!(cause, Cause::Backoff | Cause::Hint | Cause::Clip) {
                guarded.at = now;
            }
            guarded.resume_under(guards, now);
        }
        guarded
    }

    /// How many attempts are in flight.
    pub const fn flying(&self) -> u32 {
        self.flight.flying.count_ones()
    }

    /// The attempt with this ticket succeeded at `now`: the call is over, whatever else is in flight.
    pub fn succeed(&mut self, guards: &mut Guards<'_>, ticket: Ticket, now: Timestamp) -> Step {
        self.succeeded(guards, ticket, now)
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
        self.failed(policy, guards, ticket, now, failure)
    }

    /// The attempt with this ticket ended at `now` in a way that says nothing about the other side: a fault of the caller's own
    /// program. The call is over, as after a permanent failure.
    pub fn abandon(&mut self, guards: &mut Guards<'_>, ticket: Ticket, now: Timestamp) -> Step {
        let now = self.retry.observe(now);
        let Some(slot) = self.awaited(ticket) else { return self.current_step() };
        self.finish_attempt(guards, slot, now, None);
        self.give_up(guards, StopReason::Permanent, Timestamp::NEVER)
    }

    /// Nothing but time has passed, or a place in the bulkhead has come free: the next attempt, when it is due at `now`.
    pub fn tick(&mut self, policy: &Policy, guards: &mut Guards<'_>, now: Timestamp) -> Step {
        self.ticked(policy, guards, now)
    }

    /// The caller cancels, at any moment.
    pub fn cancel(&mut self, guards: &mut Guards<'_>, now: Timestamp) -> Step {
        self.cancelled(guards, now)
    }

    const fn is(&self, flag: u8) -> bool {
        self.flight.flags & flag != 0
    }

    /// The place of an attempt in flight.
    fn awaited(&self, ticket: Ticket) -> Option<usize> {
        let number = ticket.attempt();
        let known = number != 0 && number <= self.attempt && self.attempt.wrapping_sub(number) < FLYING as u32;
        let slot = number as usize % FLYING;
        (self.phase == RUNNING && known && self.flies(slot)).then_some(slot)
    }

    const fn flies(&self, slot: usize) -> bool {
        self.flight.flying & bit(slot) != 0
    }

    /// Notes an attempt that all guards have let through, at `now`.
    fn launch(&mut self, now: Timestamp, permit: Permit) {
        self.attempt = self.attempt.saturating_add(1).min(u32::MAX - 1);
        self.phase = RUNNING;
        let slot = self.attempt as usize % FLYING;
        let flight = &mut self.flight;
        flight.round = flight.round.saturating_add(1);
        if let (Some(start), Some(generation)) = (flight.starts.get_mut(slot), flight.permits.get_mut(slot)) {
            (*start, *generation) = (now, permit.as_raw());
        }
        flight.flying |= bit(slot);
        flight.flags &= WITHDRAWN;
    }

    /// The budget's withdrawal that the call holds, if there was one.
    fn withdrawal(&self) -> Option<Withdrawal> {
        self.is(WITHDRAWN).then_some(Withdrawal::from_raw(self.flight.withdrawal))
    }

    fn hold(&mut self, config: &BudgetConfig, withdrawal: Withdrawal) {
        let held = match self.withdrawal() {
            Some(held) if config.returns_all() => held.plus(withdrawal),
            _ => withdrawal,
        };
        self.flight.withdrawal = held.as_raw();
        self.flight.flags |= WITHDRAWN;
    }

    /// Holds the withdrawal for a retry that has not begun.
    fn hold_unrun(&mut self, config: &BudgetConfig, withdrawal: Withdrawal) {
        self.hold(config, withdrawal);
        self.flight.flags |= UNRUN;
        if let Some(price) = self.flight.permits.get_mut(self.attempt.wrapping_add(1) as usize % FLYING) {
            *price = withdrawal.as_raw();
        }
    }

    /// The withdrawal for the retry that has not begun.
    fn unrun(&self) -> Option<Withdrawal> {
        let price = self.flight.permits.get(self.attempt.wrapping_add(1) as usize % FLYING);
        self.is(UNRUN).then_some(Withdrawal::from_raw(price.copied().unwrap_or(0)))
    }

    /// Takes an attempt out of flight and reports its verdict to the guards, `None` for none; returns how long it took.
    fn finish_attempt(
        &mut self,
        guards: &mut Guards<'_>,
        slot: usize,
        now: Timestamp,
        answer: Option<Verdict>,
    ) -> Span {
        self.flight.flying &= !bit(slot);
        let took = now.since(self.flight.starts.get(slot).copied().unwrap_or(now));
        let permit = Permit::from_raw(self.flight.permits.get(slot).copied().unwrap_or(0));
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

    /// Reports a failure to the guards.
    fn record_failure(&mut self, guards: &mut Guards<'_>, slot: usize, now: Timestamp, failure: Failure) {
        let permanent = failure.kind == FailureKind::Permanent;
        // spec 29.6: an answer that will always be the same is an answer
        self.finish_attempt(guards, slot, now, Some(if permanent { Verdict::Success } else { Verdict::Failure }));
        if let Some((config, stretch)) = &mut guards.stretch {
            stretch.record(config, now, !permanent);
        }
        if let Some((config, adaptive)) = &mut guards.adaptive {
            adaptive.update(config, now, failure.kind == FailureKind::Throttled);
        }
        if let Some((config, budget)) = &mut guards.budget {
            budget.fail(config, now, failure.kind);
        }
    }

    /// Resumes the call under guards that do not know of it. It begins for them; the retry that it sleeps for counts as paid
    /// (spec 29.12).
    pub(crate) fn resume_under(&mut self, guards: &mut Guards<'_>, now: Timestamp) {
        self.flight.flags = 0;
        self.begin_for_budget(guards, now);
        if let Some((config, budget)) = &mut guards.budget
            && self.attempt > 0
            && let Some(withdrawal) = budget.resume(config)
        {
            self.hold_unrun(config, withdrawal);
        }
    }
}

#[cfg(feature = "record")]
mod recorded;
mod transitions;
mod waits;

/// The bit of an attempt in flight.
const fn bit(slot: usize) -> u8 {
    1_u8.wrapping_shl(slot as u32)
}

#[cfg(test)]
mod tests;
