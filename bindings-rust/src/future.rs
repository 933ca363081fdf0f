//! The loop for async operations, as a future that any executor can poll.

use crate::guarded::{CallGuards, DrivenCall, Unguarded};
use crate::handler::Handler;
use crate::in_flight::{InFlight, Settled};
use crate::operation::{Attempt, Operation};
use crate::retrying::Retrying;
use crate::sleeper::{AsyncSleeper, Loop, not_before};
use crate::stopped::Stopped;
use holdoff_core::{Failure, Outcome, Policy, Step, Ticket, Timestamp};
use pin_project_lite::pin_project;
use std::fmt;
use std::ops::Deref;
use std::pin::Pin;
use std::task::{Context, Poll};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Start,
    Running,
    /// Asleep between attempts.
    Sleeping,
    /// Asleep until the call may go on that waits for others.
    InLine,
    Done,
}

pin_project! {
    /// A retry that runs: what `.await` on a [`Retrying`] polls. Dropping it drops its attempts, and gives back what it holds of
    /// its guards.
    #[must_use = "futures do nothing unless polled"]
    pub struct RetryFuture<P, O, H, S, G = Unguarded>
    where
        O: Operation,
        O::Returned: Future,
        S: AsyncSleeper,
        G: CallGuards,
    {
        // First, so that it is dropped first: an attempt may not outlive its place in a bulkhead, which the call gives back.
        #[pin]
        in_flight: <G::Call as DrivenCall>::InFlight<O::Returned, S::Sleep>,
        retrying: Retrying<P, O, H, S, G>,
        // Of a call without guards, once its first attempt has failed.
        call: Option<G::Call>,
        started: Option<Timestamp>,
        // The end of a sleep, or the next attempt beside those in flight.
        #[pin]
        timer: Option<S::Sleep>,
        // When that timer ends.
        until: Timestamp,
        // The latest time that was decided about.
        latest: Timestamp,
        error: Option<O::Error>,
        // The latest value that is a failure.
        refused: Option<O::Value>,
        timed_out: bool,
        phase: Phase,
    }
}

impl<P, O: Operation<Returned: Future>, H, S: AsyncSleeper, G: CallGuards> fmt::Debug for RetryFuture<P, O, H, S, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryFuture").finish_non_exhaustive()
    }
}

impl<P, O, T, E, H, S, G> IntoFuture for Retrying<P, O, H, S, G>
where
    P: Deref<Target = Policy>,
    O: Operation<Returned: Future<Output = Result<T, E>>, Value = T, Error = E>,
    H: Handler<T, E>,
    S: AsyncSleeper,
    G: CallGuards,
{
    type Output = Result<T, Stopped<E>>;
    type IntoFuture = RetryFuture<P, O, H, S, G>;

    #[inline(always)]
    fn into_future(self) -> Self::IntoFuture {
        const {
            assert!(
                S::CAN_WAIT,
                "`.await` waits with tokio's timer: add it by `cargo add holdoff --features tokio`, or give another \
                 timer, as `.sleeper(|delay| async_io::Timer::after(delay))`"
            );
        }
        RetryFuture {
            in_flight: Default::default(),
            retrying: self,
            call: None,
            started: None,
            timer: None,
            until: Timestamp::NEVER,
            latest: Timestamp::ZERO,
            error: None,
            refused: None,
            timed_out: false,
            phase: Phase::Start,
        }
    }
}

impl<P, O, T, E, H, S, G> Future for RetryFuture<P, O, H, S, G>
where
    P: Deref<Target = Policy>,
    O: Operation<Returned: Future<Output = Result<T, E>>, Value = T, Error = E>,
    H: Handler<T, E>,
    S: AsyncSleeper,
    G: CallGuards,
{
    type Output = Result<T, Stopped<E>>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut next = match self.phase {
            Phase::Start if self.retrying.is_cancelled() => {
                let now = self.as_mut().now(Timestamp::ZERO);
                self.as_mut().release();
                return Poll::Ready(Err(self.project().retrying.cancelled_at_once(now)));
            }
            Phase::Start => self.as_mut().begin(),
            Phase::Running | Phase::Sleeping | Phase::InLine => None,
            Phase::Done => panic!("`RetryFuture` polled after it ended"),
        };
        loop {
            if let Some(step) = next
                && let Some(end) = self.as_mut().follow(step)
            {
                return Poll::Ready(end);
            }
            next = match self.as_mut().advance(context) {
                Poll::Ready(Ok(step)) => Some(step),
                Poll::Ready(Err(value)) => return Poll::Ready(Ok(value)),
                Poll::Pending => return Poll::Pending,
            };
        }
    }
}

impl<P, O, T, E, H, S, G> RetryFuture<P, O, H, S, G>
where
    P: Deref<Target = Policy>,
    O: Operation<Returned: Future<Output = Result<T, E>>, Value = T, Error = E>,
    H: Handler<T, E>,
    S: AsyncSleeper,
    G: CallGuards,
{
    /// Begins the call and returns its first step; without guards begins the first attempt alone.
    #[inline(always)]
    fn begin(mut self: Pin<&mut Self>) -> Option<Step> {
        let this = self.as_mut().project();
        this.retrying.note_start(AsyncSleeper::now);
        if G::LAZY {
            let (started, abort_at) = this.retrying.first_attempt(|sleeper| sleeper.now());
            (*this.started, *this.latest) = (started, started.unwrap_or(Timestamp::ZERO));
            self.launch(Ticket::FIRST, abort_at);
            return None;
        }
        let now = this.retrying.sleeper.now();
        let (call, step) = this.retrying.begin(Loop { hedging: true, clock: this.retrying.sleeper.clock() }, now);
        (*this.call, *this.latest) = (Some(call), now);
        Some(step)
    }

    /// Begins an attempt.
    #[inline(always)]
    fn launch(self: Pin<&mut Self>, ticket: Ticket, abort_at: Timestamp) {
        let this = self.project();
        *this.refused = None;
        let attempt = Attempt::new(ticket.attempt(), abort_at, *this.latest);
        let attempt = this.retrying.attempt(attempt, AsyncSleeper::now);
        let limit = attempt.time_left().map(|left| this.retrying.sleeper.sleep(left));
        this.in_flight.launch(ticket, abort_at, this.retrying.operation.run(attempt), limit);
        *this.phase = Phase::Running;
    }

    /// The time of an event that came not before `passed`.
    #[inline(always)]
    fn now(self: Pin<&mut Self>, passed: Timestamp) -> Timestamp {
        let this = self.project();
        *this.latest = not_before(*this.latest, not_before(passed, this.retrying.sleeper.now()));
        *this.latest
    }

    /// Does what the step says; returns the end of the call, if it is one.
    #[inline(always)]
    fn follow(mut self: Pin<&mut Self>, step: Step) -> Option<Result<T, Stopped<E>>> {
        let mut this = self.as_mut().project();
        let now = *this.latest;
        let until = match step {
            Step::Attempt { ticket, abort_at, wake_at } => {
                self.as_mut().launch(ticket, abort_at);
                wake_at
            }
            Step::Wait { until } => until,
            Step::Sleep { until, .. } => {
                let in_line = !G::LAZY && this.call.as_ref().is_some_and(DrivenCall::is_in_line);
                *this.phase = if in_line { Phase::InLine } else { Phase::Sleeping };
                until
            }
            Step::Stop(_) => {
                let (refused, error) = (this.refused.take(), this.error.take());
                let end = this.retrying.ended(this.call.as_ref(), step, refused, error, *this.timed_out, now);
                self.release();
                return Some(end);
            }
        };
        this = self.project();
        *this.until = until;
        let timer = (!until.is_never()).then(|| this.retrying.sleeper.sleep(until.since(now).as_duration()));
        this.timer.set(timer);
        None
    }

    /// Waits for the next event: the end of an attempt, the token, the timer, or its turn after others. Returns the step
    /// after it, or the value of an attempt that succeeded.
    #[inline(always)]
    fn advance(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<Step, T>> {
        let mut this = self.as_mut().project();
        if let Poll::Ready(settled) = this.in_flight.as_mut().poll(context) {
            return Poll::Ready(self.settled(settled));
        }
        if let Some(cancelled) = &mut this.retrying.settings.cancel
            && Pin::new(cancelled).poll(context).is_ready()
        {
            this.in_flight.clear();
            let now = self.as_mut().now(Timestamp::ZERO);
            let call = self.project().call.as_mut();
            return Poll::Ready(Ok(call.map_or(Step::Stop(Outcome::Cancelled), |call| call.cancel(now))));
        }
        if let Some(timer) = this.timer.as_mut().as_pin_mut()
            && (timer.poll(context).is_ready() || crate::switches::limits() && *this.phase == Phase::Sleeping)
        {
            this.timer.set(None);
            // Without a limit only a failure's own time matters, and the call knows it already when a sleep is over.
            let until = *this.until;
            let limited = !G::LAZY || this.started.is_some();
            let now = if limited { self.as_mut().now(until) } else { until };
            return Poll::Ready(Ok(self.tick(now)));
        }
        if !G::LAZY && *this.phase == Phase::InLine {
            if let Some(call) = this.call {
                call.notify(context.waker());
            }
            let (now, until) = (self.as_mut().now(Timestamp::ZERO), self.until);
            let step = self.as_mut().tick(now);
            let waits_on = self.project().call.as_ref().is_some_and(DrivenCall::is_in_line);
            if !waits_on || !matches!(step, Step::Sleep { until: end, .. } if end == until) {
                return Poll::Ready(Ok(step));
            }
        }
        Poll::Pending
    }

    #[inline(always)]
    fn tick(self: Pin<&mut Self>, now: Timestamp) -> Step {
        let this = self.project();
        *this.latest = now;
        let policy = &*this.retrying.policy;
        this.call.as_mut().map_or(Step::Stop(Outcome::Cancelled), |call| call.tick(policy, now))
    }

    /// An attempt has ended, with a result or at its limit.
    #[inline(always)]
    fn settled(mut self: Pin<&mut Self>, (ticket, abort_at, result): Settled<Result<T, E>>) -> Result<Step, T> {
        let timed_out = result.is_none();
        let this = self.as_mut().project();
        *this.timed_out = timed_out;
        // The call ends with a value only if it is the latest answer.
        *this.refused = None;
        let known = match result {
            None => Some(Failure::TIMEOUT),
            Some(Err(error)) => {
                *this.error = Some(error);
                None
            }
            Some(Ok(value)) => match this.retrying.handler.refuse(&value) {
                None => {
                    if !G::LAZY {
                        // Attempts beside it go before their places are free.
                        this.in_flight.clear();
                    }
                    match this.call {
                        Some(call) => call.succeed(ticket, || this.retrying.sleeper.now()),
                        None => this.retrying.guards.succeeded_at_once(|| this.retrying.sleeper.now()),
                    }
                    this.retrying.tell_succeeded(ticket.attempt(), AsyncSleeper::now);
                    self.release();
                    return Err(value);
                }
                Some(failure) => {
                    *this.refused = Some(value);
                    Some(failure)
                }
            },
        };
        let now = self.as_mut().now(if timed_out { abort_at } else { Timestamp::ZERO });
        let this = self.project();
        let (retrying, started, in_flight) = (this.retrying, this.started.unwrap_or(now), this.in_flight);
        let host = Loop { hedging: true, clock: retrying.sleeper.clock() };
        let call = this.call.get_or_insert_with(|| retrying.begin(host, started).0);
        Ok(retrying.failed(call, ticket, now, this.error.as_ref(), known, || in_flight.clear()))
    }

    /// Lets go of what still runs, without waiting for the future itself to be dropped.
    #[inline(always)]
    fn release(self: Pin<&mut Self>) {
        let mut this = self.project();
        this.in_flight.clear();
        this.timer.set(None);
        (this.retrying.settings.cancel, *this.phase) = (None, Phase::Done);
    }
}
