//! The call that a loop drives: without guards, or under a [`SharedGuards`] that it shares with other calls.

use crate::flights::{Flights, Many, One};
use crate::guards::SharedGuards;
use crate::sleeper::not_before;
use holdoff_core::{Call, Cause, Failure, GuardedCall, Guards, Policy, Step, Ticket, Timestamp};
use std::borrow::Borrow;
use std::task::Waker;

/// The guards of a retry: [`Unguarded`] or [`Guarded`].
pub trait CallGuards {
    /// The call that the loops drive.
    type Call: DrivenCall;

    /// True if every first attempt may start: then the call begins when that attempt has failed, and not at all if it succeeds.
    const LAZY: bool;

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
    type Call = SharedCall<B>;

    const LAZY: bool = false;

    fn begin(&mut self, policy: &Policy, hedging: bool, seed: u64, now: Timestamp) -> (SharedCall<B>, Step) {
        let guards = self.0.take();
        let begin = |guards: &mut Guards<'_>| GuardedCall::begin(policy, guards, seed, now);
        let (call, step) = match &guards {
            Some(guards) => guards.borrow().lend(hedging, begin),
            None => begin(&mut Guards::none()),
        };
        let over = matches!(step, Step::Stop(_));
        (SharedCall { guards, call, over, hedging, latest: now, key: None }, step)
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
pub struct SharedCall<B: Borrow<SharedGuards>> {
    guards: Option<B>,
    call: GuardedCall,
    over: bool,
    hedging: bool,
    latest: Timestamp,
    /// Under which a waker waits for a place in the bulkhead.
    key: Option<u64>,
}

impl<B: Borrow<SharedGuards>> SharedCall<B> {
    fn transit(&mut self, now: Timestamp, input: impl FnOnce(&mut GuardedCall, &mut Guards<'_>) -> Step) -> Step {
        self.latest = not_before(self.latest, now);
        let call = &mut self.call;
        let Some(guards) = &self.guards else { return input(call, &mut Guards::none()) };
        let step = guards.borrow().lend(self.hedging, |guards| input(call, guards));
        self.over = matches!(step, Step::Stop(_));
        if self.key.is_some() && !matches!(step, Step::Sleep { cause: Cause::Bulkhead, .. }) {
            guards.borrow().stop_waiting(&mut self.key);
        }
        step
    }
}

impl<B: Borrow<SharedGuards>> DrivenCall for SharedCall<B> {
    type Flights<F: Future, Z: Future> = Many<F, Z>;

    fn succeed(&mut self, ticket: Ticket, clock: impl FnOnce() -> Timestamp) {
        let now = not_before(self.latest, clock());
        self.transit(now, |call, guards| call.succeed(guards, ticket, now));
    }

    fn fail(&mut self, policy: &Policy, ticket: Ticket, now: Timestamp, failure: Failure) -> Step {
        self.transit(now, |call, guards| call.fail(policy, guards, ticket, now, failure))
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

    fn is_notified(&self) -> bool {
        self.key.is_some()
    }

    fn notify(&mut self, waker: &Waker) {
        if let Some(guards) = &self.guards {
            guards.borrow().wait(&mut self.key, waker);
        }
    }
}

impl<B: Borrow<SharedGuards>> Drop for SharedCall<B> {
    fn drop(&mut self) {
        if !self.over {
            self.cancel(self.latest);
        }
    }
}
