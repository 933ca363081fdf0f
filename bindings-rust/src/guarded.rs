//! The loops for calls under guards: blocking, and as a future whose attempts may run beside each other.

use crate::accept::{Accept, AnyValue};
use crate::cancel::{CancelToken, Cancelled};
use crate::classify::{Classify, Everything};
use crate::guards::GuardSet;
use crate::hook::{Hook, Silent};
use crate::operation::{Attempt, Operation};
use crate::retrying::{Retrying, not_before};
use crate::sleeper::{AsyncSleeper, Sleeper, System};
use crate::stopped::Stopped;
use holdoff_core::{Cause, Failure, GuardedCall, Policy, Step, Ticket, Timestamp};
use std::borrow::Borrow;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

/// A retry under guards: [`Retrying::guards`] makes it, [`GuardedRetrying::call`] or `.await` runs it.
#[must_use = "nothing runs until `.call()` or `.await`"]
#[derive(Debug)]
pub struct GuardedRetrying<P, O, R, E, C = Everything, H = Silent, S = System, V = AnyValue> {
    retrying: Retrying<P, O, R, E, C, H, S, V>,
    guards: GuardSet,
}

impl<P, O, R, E, C, H, S, V> Retrying<P, O, R, E, C, H, S, V> {
    /// Runs it under guards that it shares with every other call that is given them. The last word before
    /// [`GuardedRetrying::call`] or `.await`.
    ///
    /// A guard may refuse the first attempt, too: then [`Stopped::attempts`] is 0 and there is no error.
    #[inline]
    pub fn guards(self, guards: &GuardSet) -> GuardedRetrying<P, O, R, E, C, H, S, V> {
        GuardedRetrying { retrying: self, guards: guards.clone() }
    }
}

/// A call under way: what it holds of the guards comes back when it is dropped, however that happens.
struct Held {
    call: GuardedCall,
    guards: GuardSet,
    hedging: bool,
    latest: Timestamp,
    /// Under which it waits for a place.
    waits: Option<u64>,
}

impl Held {
    fn begin(policy: &Policy, guards: &GuardSet, hedging: bool, seed: u64, now: Timestamp) -> (Self, Step) {
        let (call, step) = guards.lend(hedging, |guards| GuardedCall::begin(policy, guards, seed, now));
        (Self { call, guards: guards.clone(), hedging, latest: now, waits: None }, step)
    }

    fn transit(
        &mut self,
        now: Timestamp,
        f: impl FnOnce(&mut GuardedCall, &mut holdoff_core::Guards<'_>) -> Step,
    ) -> Step {
        self.latest = not_before(self.latest, now);
        let call = &mut self.call;
        self.guards.lend(self.hedging, |guards| f(call, guards))
    }

    fn tick(&mut self, policy: &Policy, now: Timestamp) -> Step {
        let step = self.transit(now, |call, guards| call.tick(policy, guards, now));
        if !matches!(step, Step::Sleep { cause: Cause::Bulkhead, .. }) {
            // Whoever queues up again begins anew.
            self.guards.stop_waiting(&mut self.waits);
        }
        step
    }

    fn stopped<E>(&self, step: Step, error: Option<E>, timed_out: bool, now: Timestamp) -> Stopped<E> {
        Stopped::after(self.call.attempt(), step, error, timed_out, now)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.guards.stop_waiting(&mut self.waits);
        let latest = self.latest;
        // A call that is over changes nothing more.
        self.transit(latest, |call, guards| call.cancel(guards, latest));
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl<P, O, T, E, C, H, S, V> GuardedRetrying<P, O, Result<T, E>, E, C, H, S, V>
where
    P: Borrow<Policy>,
    O: Operation<Result<T, E>>,
    C: Classify<E>,
    H: Hook<E>,
    S: Sleeper,
    V: Accept<T>,
{
    /// Runs the operation until it succeeds, the policy says stop or a guard does, and blocks meanwhile.
    ///
    /// # Errors
    /// [`Stopped`] with the reason and the last error, if there is one.
    pub fn call(self) -> Result<T, Stopped<E>> {
        let Self { mut retrying, guards } = self;
        let mut now = retrying.sleeper.now();
        if retrying.is_cancelled() {
            return Err(Stopped::cancelled(0, now));
        }
        let seed = retrying.seed.unwrap_or_else(crate::seed::next);
        let (mut held, mut step) = Held::begin(retrying.policy.borrow(), &guards, false, seed, now);
        let mut error = None;
        loop {
            match step {
                Step::Attempt { ticket, abort_at, .. } => {
                    drop(retrying.values.take());
                    let ended = match retrying.operation.run(Attempt::new(ticket.attempt(), abort_at, now)) {
                        Ok(value) => retrying.values.accept(value).map_err(Some),
                        Err(failed) => {
                            error = Some(failed);
                            Err(None)
                        }
                    };
                    now = not_before(now, retrying.sleeper.now());
                    step = match ended {
                        Ok(value) => {
                            held.transit(now, |call, guards| call.succeed(guards, ticket, now));
                            return Ok(value);
                        }
                        Err(_) if retrying.is_cancelled() => held.transit(now, |call, guards| call.cancel(guards, now)),
                        Err(known) => {
                            let (error, failure) = retrying.judged(error.as_ref(), known);
                            let policy = retrying.policy.borrow();
                            let step =
                                held.transit(now, |call, guards| call.fail(policy, guards, ticket, now, failure));
                            retrying.tell(ticket, now, error, failure, step);
                            step
                        }
                    };
                }
                Step::Sleep { until, cause } => {
                    if cause == Cause::Bulkhead {
                        now = retrying.wait_for_place(&mut held, until, now);
                    } else {
                        if !retrying.is_cancelled() {
                            retrying.sleeper.sleep(until.since(now).as_duration(), retrying.cancel.as_ref());
                        }
                        now = not_before(until, retrying.sleeper.now());
                    }
                    step = if retrying.is_cancelled() {
                        held.transit(now, |call, guards| call.cancel(guards, now))
                    } else {
                        held.tick(retrying.policy.borrow(), now)
                    };
                }
                Step::Wait { .. } | Step::Stop(_) => {
                    return retrying.ended(held.stopped(step, error, false, now));
                }
            }
        }
    }
}

impl<P, O, R, E, C, H, S: Sleeper, V> Retrying<P, O, R, E, C, H, S, V> {
    /// Blocks until a place in the bulkhead may have come free, `until` or the token; the time then.
    fn wait_for_place(&self, held: &mut Held, until: Timestamp, now: Timestamp) -> Timestamp {
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        let mut cancelled = self.cancel.as_ref().map(CancelToken::cancelled);
        let told = |cancelled: &mut Cancelled| Pin::new(cancelled).poll(&mut Context::from_waker(&waker)).is_ready();
        // The first time it only asks again, now that it would be woken.
        if held.waits.is_some() && !cancelled.as_mut().is_some_and(told) && until > now {
            self.sleeper.park(until.since(now).as_duration());
        }
        // Before the next look, so that a place that comes free after it ends the next wait.
        held.guards.wait(&mut held.waits, &waker);
        not_before(now, self.sleeper.now())
    }
}

/// An attempt in flight.
struct Flying<F, Z> {
    ticket: Ticket,
    attempt: Pin<Box<F>>,
    /// What ends at its limit, and when that is.
    limit: Option<Pin<Box<Z>>>,
    abort_at: Timestamp,
}

impl<F, Z: Future> Flying<F, Z> {
    /// Whether its limit is reached.
    fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        self.limit.as_mut().is_some_and(|limit| limit.as_mut().poll(context).is_ready())
    }
}

/// A retry under guards that runs: what `.await` on a [`GuardedRetrying`] polls. Dropping it drops its attempts, and gives
/// back what it holds of the guards.
#[must_use = "futures do nothing unless polled"]
pub struct GuardedFuture<P, O, F, E, C, H, S: AsyncSleeper, V = AnyValue> {
    retrying: Retrying<P, O, F, E, C, H, S, V>,
    guards: GuardSet,
    held: Option<Held>,
    flying: Vec<Flying<F, S::Sleep>>,
    /// Until the next transition that only time brings: the end of a sleep, or the next attempt beside.
    timer: Option<Pin<Box<S::Sleep>>>,
    until: Timestamp,
    queued: bool,
    error: Option<E>,
    timed_out: bool,
    cancelled: Option<Cancelled>,
}

// Nothing is pinned in place: attempts and timers have boxes of their own.
impl<P, O, F, E, C, H, S: AsyncSleeper, V> Unpin for GuardedFuture<P, O, F, E, C, H, S, V> {}

impl<P, O, F, E, C, H, S: AsyncSleeper, V> fmt::Debug for GuardedFuture<P, O, F, E, C, H, S, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardedFuture").finish_non_exhaustive()
    }
}

impl<P, O, F, T, E, C, H, S, V> IntoFuture for GuardedRetrying<P, O, F, E, C, H, S, V>
where
    P: Borrow<Policy>,
    O: Operation<F>,
    F: Future<Output = Result<T, E>>,
    C: Classify<E>,
    H: Hook<E>,
    S: AsyncSleeper,
    V: Accept<T>,
{
    type Output = Result<T, Stopped<E>>;
    type IntoFuture = GuardedFuture<P, O, F, E, C, H, S, V>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { retrying, guards } = self;
        let cancelled = retrying.cancel.as_ref().map(CancelToken::cancelled);
        GuardedFuture {
            retrying,
            guards,
            held: None,
            flying: Vec::new(),
            timer: None,
            until: Timestamp::NEVER,
            queued: false,
            error: None,
            timed_out: false,
            cancelled,
        }
    }
}

impl<P, O, F, T, E, C, H, S, V> Future for GuardedFuture<P, O, F, E, C, H, S, V>
where
    P: Borrow<Policy>,
    O: Operation<F>,
    F: Future<Output = Result<T, E>>,
    C: Classify<E>,
    H: Hook<E>,
    S: AsyncSleeper,
    V: Accept<T>,
{
    type Output = Result<T, Stopped<E>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if this.cancelled.as_mut().is_some_and(|cancelled| Pin::new(cancelled).poll(context).is_ready()) {
            return Poll::Ready(this.cancel());
        }
        if this.held.is_none() {
            let now = this.retrying.sleeper.now();
            let seed = this.retrying.seed.unwrap_or_else(crate::seed::next);
            let (held, step) = Held::begin(this.retrying.policy.borrow(), &this.guards, true, seed, now);
            this.held = Some(held);
            if let Some(end) = this.follow(step, now) {
                return Poll::Ready(end);
            }
        }
        loop {
            match this.advance(context) {
                Poll::Ready(Some(end)) => return Poll::Ready(end),
                Poll::Ready(None) => {}
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

/// How it ends, if it does.
type End<T, E> = Option<Result<T, Stopped<E>>>;

impl<P, O, F, T, E, C, H, S, V> GuardedFuture<P, O, F, E, C, H, S, V>
where
    P: Borrow<Policy>,
    O: Operation<F>,
    F: Future<Output = Result<T, E>>,
    C: Classify<E>,
    H: Hook<E>,
    S: AsyncSleeper,
    V: Accept<T>,
{
    /// One thing that happens: an attempt ends, or time has passed. Attempts come before their limits, because a success that
    /// arrives together with its limit is a success.
    fn advance(&mut self, context: &mut Context<'_>) -> Poll<End<T, E>> {
        for at in 0..self.flying.len() {
            let flying = &mut self.flying[at];
            let ended = match flying.attempt.as_mut().poll(context) {
                Poll::Ready(result) => Some(result),
                Poll::Pending if flying.is_over(context) => None,
                Poll::Pending => continue,
            };
            let Flying { ticket, abort_at, .. } = self.flying.remove(at);
            return Poll::Ready(self.ended(ticket, abort_at, ended));
        }
        if let Some(timer) = &mut self.timer
            && timer.as_mut().poll(context).is_ready()
        {
            self.timer = None;
            let now = not_before(self.until, self.now());
            return Poll::Ready(self.tick(now));
        }
        if self.queued
            && let Some(held) = &mut self.held
        {
            self.guards.wait(&mut held.waits, context.waker());
            let now = not_before(held.latest, self.retrying.sleeper.now());
            let step = held.tick(self.retrying.policy.borrow(), now);
            if !matches!(step, Step::Sleep { cause: Cause::Bulkhead, .. }) {
                return Poll::Ready(self.follow(step, now));
            }
        }
        Poll::Pending
    }

    fn now(&self) -> Timestamp {
        let latest = self.held.as_ref().map_or(Timestamp::ZERO, |held| held.latest);
        not_before(latest, self.retrying.sleeper.now())
    }

    fn tick(&mut self, now: Timestamp) -> End<T, E> {
        let policy = self.retrying.policy.borrow();
        let step = self.held.as_mut()?.tick(policy, now);
        self.follow(step, now)
    }

    /// An attempt has ended with a result, or at its limit.
    fn ended(&mut self, ticket: Ticket, abort_at: Timestamp, result: Option<Result<T, E>>) -> End<T, E> {
        self.timed_out = result.is_none();
        // A value is what the call ends with only when it is the latest answer.
        drop(self.retrying.values.take());
        let known = match result {
            None => Some(Failure::TIMEOUT),
            Some(Err(error)) => {
                self.error = Some(error);
                None
            }
            Some(Ok(value)) => match self.retrying.values.accept(value) {
                Ok(value) => {
                    let now = self.now();
                    self.flying.clear();
                    self.held.as_mut()?.transit(now, |call, guards| call.succeed(guards, ticket, now));
                    return Some(Ok(value));
                }
                Err(failure) => Some(failure),
            },
        };
        let now = if self.timed_out { not_before(abort_at, self.now()) } else { self.now() };
        let held = self.held.as_mut()?;
        let (error, failure) = self.retrying.judged(self.error.as_ref(), known);
        let policy = self.retrying.policy.borrow();
        let step = held.transit(now, |call, guards| call.fail(policy, guards, ticket, now, failure));
        self.retrying.tell(ticket, now, error, failure, step);
        self.follow(step, now)
    }

    /// Does what the machine said.
    fn follow(&mut self, step: Step, now: Timestamp) -> End<T, E> {
        self.queued = matches!(step, Step::Sleep { cause: Cause::Bulkhead, .. });
        match step {
            Step::Attempt { ticket, abort_at, wake_at } => {
                drop(self.retrying.values.take());
                let attempt = Attempt::new(ticket.attempt(), abort_at, now);
                let limit = attempt.time_left().map(|left| Box::pin(self.retrying.sleeper.sleep(left)));
                let attempt = Box::pin(self.retrying.operation.run(attempt));
                self.flying.push(Flying { ticket, attempt, limit, abort_at });
                self.wait_until(wake_at, now);
                None
            }
            Step::Sleep { until, .. } | Step::Wait { until } => {
                self.wait_until(until, now);
                None
            }
            Step::Stop(_) => {
                self.flying.clear();
                let stopped = self.held.as_ref()?.stopped(step, self.error.take(), self.timed_out, now);
                Some(self.retrying.ended(stopped))
            }
        }
    }

    fn wait_until(&mut self, until: Timestamp, now: Timestamp) {
        self.until = until;
        self.timer = match until.is_never() {
            true => None,
            false => Some(Box::pin(self.retrying.sleeper.sleep(until.since(now).as_duration()))),
        };
    }

    /// The token was cancelled.
    #[cold]
    fn cancel(&mut self) -> Result<T, Stopped<E>> {
        self.flying.clear();
        let now = self.now();
        match &mut self.held {
            Some(held) => {
                let step = held.transit(now, |call, guards| call.cancel(guards, now));
                Err(held.stopped(step, self.error.take(), self.timed_out, now))
            }
            None => Err(Stopped::cancelled(0, now)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdoff_core::{BulkheadConfig, Span};
    use std::cell::Cell;
    use std::time::{Duration, Instant};

    /// Does something before it waits.
    struct Meanwhile<F>(F);

    impl<F: Fn()> Sleeper for Meanwhile<F> {
        fn sleep(&self, _: Duration, _: Option<&CancelToken>) {}

        fn park(&self, duration: Duration) {
            (self.0)();
            std::thread::park_timeout(duration);
        }
    }

    #[test]
    fn a_place_that_comes_free_between_a_look_and_the_next_wait_is_not_missed() {
        let guards = GuardSet::new().with_bulkhead(BulkheadConfig::new(1, 2, Span::MAX).unwrap());
        let (policy, now) = (Policy::default(), Timestamp::ZERO);
        let begin = || Held::begin(&policy, &guards, false, 0, now).0;
        let (running, first, mut queued) = (Cell::new(Some(begin())), Cell::new(Some(begin())), begin());
        let sleeper = Meanwhile(|| {
            if running.take().is_some()
                && let Some(mut held) = first.take()
            {
                assert!(matches!(held.tick(&policy, now), Step::Attempt { .. }));
                first.set(Some(held));
            }
        });
        let retrying = crate::retry(&policy, || Ok::<(), ()>(())).sleeper(sleeper);
        let until = Timestamp::from_nanos(10_000_000_000);
        // The first wait only asks again; in the second one everybody is told of a place, and the first in the queue takes it.
        for _ in 0..2 {
            retrying.wait_for_place(&mut queued, until, now);
            assert!(matches!(queued.tick(&policy, now), Step::Sleep { cause: Cause::Bulkhead, .. }));
        }
        drop(first.take());
        let started = Instant::now();
        retrying.wait_for_place(&mut queued, until, now);
        assert!(started.elapsed() < Duration::from_secs(5));
        assert!(matches!(queued.tick(&policy, now), Step::Attempt { .. }));
        assert_eq!(queued.waits, None);
    }
}
