//! The call that a loop drives: without guards, or under a [`SharedGuards`] that it shares with other calls.

use crate::flights::{Flights, Many, One};
use crate::guards::SharedGuards;
use crate::sleeper::not_before;
use holdoff_core::{
    Call, Failure, GuardedCall, Guards, Outcome, Policy, QueuePlace, Shortage, Step, StopReason, Ticket, Timestamp,
};
use std::borrow::Borrow;
use std::task::Waker;

/// The guards of a retry: [`Unguarded`], [`Guarded`] or [`Budgeted`](crate::guard::Budgeted).
pub trait CallGuards {
    /// The call that the loops drive.
    type Call: DrivenCall;

    /// True if every first attempt may start: then the call begins when that attempt has failed, and not at all if it succeeds.
    const LAZY: bool;

    /// Learns that the first attempt succeeded, where it ran before the call began.
    #[inline(always)]
    fn succeeded_at_once(&self, _clock: impl FnOnce() -> Timestamp) {}

    /// Begins the call, once. `hedging` says that the host can run attempts beside each other.
    fn begin(&mut self, policy: &Policy, hedging: bool, seed: u64, now: Timestamp) -> (Self::Call, Step);
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
    fn begin(&mut self, policy: &Policy, _: bool, seed: u64, now: Timestamp) -> (Call, Step) {
        Call::begin(policy, seed, now)
    }
}

impl<B: Borrow<SharedGuards>> CallGuards for Guarded<B> {
    type Call = SharedCall<OfSet<B>>;

    const LAZY: bool = false;

    fn begin(&mut self, policy: &Policy, hedging: bool, seed: u64, now: Timestamp) -> (Self::Call, Step) {
        SharedCall::begin(self.0.take().map(OfSet), policy, hedging, seed, now)
    }
}

/// Lends guards for one transition of a call.
pub trait Lend {
    /// The attempts of an async call that are in flight.
    type Flights<F: Future, Z: Future>: Flights<F, Z>;

    /// Lends them at `now`.
    fn lend<R>(&self, hedging: bool, now: Timestamp, run: impl FnOnce(&mut Guards<'_>) -> R) -> R;

    /// Wakes `waker` when the caller at that place of the bulkhead's queue can enter.
    fn wait(&self, _place: QueuePlace, _waker: &Waker) {}

    /// Forgets that waker.
    fn stop_waiting(&self, _place: QueuePlace) {}
}

/// A [`SharedGuards`] of calls.
#[derive(Debug)]
pub struct OfSet<B>(B);

impl<B: Borrow<SharedGuards>> Lend for OfSet<B> {
    type Flights<F: Future, Z: Future> = Many<F, Z>;

    fn lend<R>(&self, hedging: bool, _: Timestamp, run: impl FnOnce(&mut Guards<'_>) -> R) -> R {
        self.0.borrow().lend(hedging, run)
    }

    fn wait(&self, place: QueuePlace, waker: &Waker) {
        self.0.borrow().wait(place, waker);
    }

    fn stop_waiting(&self, place: QueuePlace) {
        self.0.borrow().stop_waiting(place);
    }
}

/// One call as both loops drive it.
pub trait DrivenCall {
    /// The attempts of an async call that are in flight.
    type Flights<F: Future, Z: Future>: Flights<F, Z>;

    /// The attempt succeeded, at the time of the clock.
    fn succeed(&mut self, ticket: Ticket, clock: impl FnOnce() -> Timestamp);

    /// The attempt failed at `now`.
    fn fail(&mut self, policy: &Policy, ticket: Ticket, now: Timestamp, failure: Failure) -> Step;

    /// A sleep is over, or a place in a bulkhead may have come free.
    fn tick(&mut self, policy: &Policy, now: Timestamp) -> Step;

    /// The caller cancels.
    fn cancel(&mut self, now: Timestamp) -> Step;

    /// How many attempts have begun.
    fn attempts(&self) -> u32;

    /// Why the budget allowed no retry, if it did not and can say so.
    fn shortage(&self) -> Option<Shortage> {
        None
    }

    /// True if [`DrivenCall::notify`] has been called since the call began to wait for a place.
    fn is_notified(&self) -> bool;

    /// Wakes `waker` when a place in the bulkhead may have come free.
    fn notify(&mut self, waker: &Waker);
}

impl DrivenCall for Call {
    type Flights<F: Future, Z: Future> = One<F, Z>;

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

    fn is_notified(&self) -> bool {
        false
    }

    fn notify(&mut self, _: &Waker) {}
}

/// A call under guards: what it holds of them comes back when it is dropped, however that happens.
#[derive(Debug)]
pub struct SharedCall<L: Lend> {
    guards: Option<L>,
    call: GuardedCall,
    over: bool,
    hedging: bool,
    latest: Timestamp,
    /// The place in the bulkhead's queue under which a waker waits.
    waits_at: Option<QueuePlace>,
    shortage: Option<Shortage>,
}

impl<L: Lend> SharedCall<L> {
    pub(crate) fn begin(guards: Option<L>, policy: &Policy, hedging: bool, seed: u64, now: Timestamp) -> (Self, Step) {
        let begin = |guards: &mut Guards<'_>| GuardedCall::begin(policy, guards, seed, now);
        let (call, step) = match &guards {
            Some(guards) => guards.lend(hedging, now, begin),
            None => begin(&mut Guards::none()),
        };
        let over = matches!(step, Step::Stop(_));
        (Self { guards, call, over, hedging, latest: now, waits_at: None, shortage: None }, step)
    }

    fn transit(&mut self, now: Timestamp, input: impl FnOnce(&mut GuardedCall, &mut Guards<'_>) -> Step) -> Step {
        self.latest = not_before(self.latest, now);
        let call = &mut self.call;
        let Some(guards) = &self.guards else { return input(call, &mut Guards::none()) };
        let step = guards.lend(self.hedging, self.latest, |guards| input(call, guards));
        self.over = matches!(step, Step::Stop(_));
        if self.waits_at != self.call.queue_place()
            && let Some(left) = self.waits_at.take()
        {
            guards.stop_waiting(left);
        }
        step
    }
}

impl<L: Lend> DrivenCall for SharedCall<L> {
    type Flights<F: Future, Z: Future> = L::Flights<F, Z>;

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

    fn is_notified(&self) -> bool {
        self.waits_at.is_some()
    }

    fn notify(&mut self, waker: &Waker) {
        self.waits_at = self.call.queue_place();
        if let (Some(guards), Some(place)) = (&self.guards, self.waits_at) {
            guards.wait(place, waker);
        }
    }
}

impl<L: Lend> Drop for SharedCall<L> {
    fn drop(&mut self) {
        if !self.over {
            self.cancel(self.latest);
        }
    }
}
