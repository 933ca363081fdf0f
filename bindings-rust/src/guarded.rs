//! The call that a loop drives: without guards, or under a [`SharedGuards`] that it shares with other calls.

use crate::guards::{Line, SharedGuards};
use crate::in_flight::{InFlight, Many, One};
use crate::sleeper::{Loop, not_before};
use holdoff_core::{
    Call, Failure, GuardedCall, Guards, Outcome, Policy, Shortage, Step, StopReason, Ticket, Timestamp, Turn,
};
use std::borrow::Borrow;
use std::task::Waker;

/// The guards of a retry: [`Unguarded`], [`Guarded`] or [`Budgeted`](crate::guard::Budgeted).
pub trait CallGuards {
    /// The call that the loops drive.
    type Call: DrivenCall;

    /// True if every first attempt may start: then the call begins when that attempt has failed, and not at all if it succeeds.
    const LAZY: bool;

    /// Notes the state of the guards as the operation begins, before its first attempt.
    #[inline(always)]
    fn note(&mut self) {}

    /// The key of the budget; empty without one.
    #[inline(always)]
    fn key(&self) -> &str {
        ""
    }

    /// Learns that the first attempt succeeded, where it ran before the call began.
    #[inline(always)]
    fn succeeded_at_once(&self, _clock: impl FnOnce() -> Timestamp) {}

    /// Begins the call of that loop, once.
    fn begin(&mut self, policy: &Policy, host: Loop, seed: u64, now: Timestamp) -> (Self::Call, Step);
}

/// No guards.
#[derive(Clone, Copy, Debug)]
pub struct Unguarded;

/// A set of guards that calls share.
#[derive(Clone, Copy, Debug)]
pub struct Guarded<B>(Option<B>);

impl<B> Guarded<B> {
    pub(crate) const fn new(guards: B) -> Self {
        Self(Some(guards))
    }
}

impl CallGuards for Unguarded {
    type Call = Call;

    const LAZY: bool = true;

    #[inline(always)]
    fn begin(&mut self, policy: &Policy, _: Loop, seed: u64, now: Timestamp) -> (Call, Step) {
        Call::begin(policy, seed, now)
    }
}

impl<B: Borrow<SharedGuards>> CallGuards for Guarded<B> {
    type Call = SharedCall<OfSet<B>>;

    const LAZY: bool = false;

    fn begin(&mut self, policy: &Policy, host: Loop, seed: u64, now: Timestamp) -> (Self::Call, Step) {
        SharedCall::begin(self.0.take().map(OfSet), policy, host, seed, now)
    }
}

/// Guards that a call shares with others: locked for one transition of it.
pub trait ShareGuards {
    /// The attempts of an async call that are in flight.
    type InFlight<F: Future, Z: Future>: InFlight<F, Z>;

    /// Runs a transition of a call of that loop at `now` under the guards.
    fn with_guards<R>(&self, host: Loop, now: Timestamp, run: impl FnOnce(&mut Guards<'_>) -> R) -> R;

    /// Wakes `waker` when the call can go on that waits in that line.
    fn wait(&self, _line: &mut Line, _waker: &Waker) {}

    /// Forgets that waker.
    fn stop_waiting(&self, _line: Line) {}
}

/// A [`SharedGuards`] of calls.
#[derive(Debug)]
pub struct OfSet<B>(B);

impl<B: Borrow<SharedGuards>> ShareGuards for OfSet<B> {
    type InFlight<F: Future, Z: Future> = Many<F, Z>;

    fn with_guards<R>(&self, host: Loop, _: Timestamp, run: impl FnOnce(&mut Guards<'_>) -> R) -> R {
        self.0.borrow().with_guards(host, run)
    }

    fn wait(&self, line: &mut Line, waker: &Waker) {
        self.0.borrow().wait(line, waker);
    }

    fn stop_waiting(&self, line: Line) {
        self.0.borrow().stop_waiting(line);
    }
}

/// One call as both loops drive it.
pub trait DrivenCall {
    /// The attempts of an async call that are in flight.
    type InFlight<F: Future, Z: Future>: InFlight<F, Z>;

    /// The attempt succeeded, at the time of the clock.
    fn succeed(&mut self, ticket: Ticket, clock: impl FnOnce() -> Timestamp);

    /// The attempt failed at `now`.
    fn fail(&mut self, policy: &Policy, ticket: Ticket, now: Timestamp, failure: Failure) -> Step;

    /// A sleep is over, or the call may go on before its end.
    fn tick(&mut self, policy: &Policy, now: Timestamp) -> Step;

    /// The caller cancels.
    fn cancel(&mut self, now: Timestamp) -> Step;

    /// How many attempts have begun.
    fn attempts(&self) -> u32;

    /// Why the budget allowed no retry, if it did not and can say so.
    fn shortage(&self) -> Option<Shortage> {
        None
    }

    /// True if the call may go on before the end of its sleep, when others have gone before it.
    fn is_in_line(&self) -> bool {
        false
    }

    /// True if [`DrivenCall::notify`] has been called since the call began to wait in its line.
    fn is_notified(&self) -> bool {
        false
    }

    /// Wakes `waker` when the call may go on.
    fn notify(&mut self, _waker: &Waker) {}
}

impl DrivenCall for Call {
    type InFlight<F: Future, Z: Future> = One<F, Z>;

    #[inline(always)]
    fn succeed(&mut self, _: Ticket, _: impl FnOnce() -> Timestamp) {}

    #[inline(always)]
    fn fail(&mut self, policy: &Policy, ticket: Ticket, now: Timestamp, failure: Failure) -> Step {
        self.fail(policy, ticket, now, failure)
    }

    #[inline(always)]
    fn tick(&mut self, policy: &Policy, now: Timestamp) -> Step {
        self.tick(policy, now)
    }

    #[inline]
    fn cancel(&mut self, now: Timestamp) -> Step {
        self.cancel(now)
    }

    #[inline(always)]
    fn attempts(&self) -> u32 {
        self.attempt()
    }
}

/// A call under guards: what it holds of them comes back when it is dropped, however that happens.
#[derive(Debug)]
pub struct SharedCall<L: ShareGuards> {
    guards: Option<L>,
    call: GuardedCall,
    over: bool,
    host: Loop,
    latest: Timestamp,
    /// The line in which a waker waits.
    waits_in: Option<Line>,
    shortage: Option<Shortage>,
}

impl<L: ShareGuards> SharedCall<L> {
    pub(crate) fn begin(guards: Option<L>, policy: &Policy, host: Loop, seed: u64, now: Timestamp) -> (Self, Step) {
        let begin = |guards: &mut Guards<'_>| GuardedCall::begin(policy, guards, seed, now);
        let (call, step) = match &guards {
            Some(guards) => guards.with_guards(host, now, begin),
            None => begin(&mut Guards::none()),
        };
        let over = matches!(step, Step::Stop(_));
        (Self { guards, call, over, host, latest: now, waits_in: None, shortage: None }, step)
    }

    /// The same call, which began when the budgets' latest refusal had that number.
    pub(crate) fn noting(mut self, refusals: u32) -> Self {
        self.call = self.call.noting(refusals);
        self
    }

    fn transit(&mut self, now: Timestamp, input: impl FnOnce(&mut GuardedCall, &mut Guards<'_>) -> Step) -> Step {
        self.latest = not_before(self.latest, now);
        let call = &mut self.call;
        let Some(guards) = &self.guards else { return input(call, &mut Guards::none()) };
        let step = guards.with_guards(self.host, self.latest, |guards| input(call, guards));
        self.over = matches!(step, Step::Stop(_));
        if let Some(line) = self.waits_in
            && self.line() != Some(line)
        {
            guards.stop_waiting(line);
            self.waits_in = None;
        }
        step
    }

    /// Where the call waits for others.
    fn line(&self) -> Option<Line> {
        let turn = self.call.awaited_turn()?;
        let key = match turn {
            Turn::Bulkhead(place) => Some(place.as_raw().into()),
            _ => self.waits_in.filter(|line| line.turn == turn).and_then(|line| line.key),
        };
        Some(Line { turn, key })
    }
}

impl<L: ShareGuards> DrivenCall for SharedCall<L> {
    type InFlight<F: Future, Z: Future> = L::InFlight<F, Z>;

    fn succeed(&mut self, ticket: Ticket, clock: impl FnOnce() -> Timestamp) {
        let now = not_before(self.latest, clock());
        self.transit(now, |call, guards| call.succeed(guards, ticket, now));
    }

    fn fail(&mut self, policy: &Policy, ticket: Ticket, now: Timestamp, failure: Failure) -> Step {
        let mut shortage = None;
        let step = self.transit(now, |call, guards| {
            let step = call.fail(policy, guards, ticket, now, failure);
            if let (Step::Stop(Outcome::GaveUp { reason: StopReason::Budget, .. }), Some((config, budget))) =
                (step, &guards.budget)
            {
                shortage = budget.shortage(config, now, failure.kind);
            }
            step
        });
        self.shortage = shortage;
        step
    }

    fn tick(&mut self, policy: &Policy, now: Timestamp) -> Step {
        self.transit(now, |call, guards| call.tick(policy, guards, now))
    }

    fn cancel(&mut self, now: Timestamp) -> Step {
        self.transit(now, |call, guards| call.cancel(guards, now))
    }

    fn attempts(&self) -> u32 {
        self.call.attempt()
    }

    fn shortage(&self) -> Option<Shortage> {
        self.shortage
    }

    fn is_in_line(&self) -> bool {
        self.line().is_some()
    }

    fn is_notified(&self) -> bool {
        self.waits_in.is_some()
    }

    fn notify(&mut self, waker: &Waker) {
        self.waits_in = self.line();
        if let (Some(guards), Some(line)) = (&self.guards, &mut self.waits_in) {
            guards.wait(line, waker);
        }
    }
}

impl<L: ShareGuards> Drop for SharedCall<L> {
    fn drop(&mut self) {
        if !self.over {
            self.cancel(self.latest);
        }
    }
}
