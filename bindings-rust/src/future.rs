//! The loop for async operations, as a future that any executor can poll.

use crate::accept::{Accept, AnyValue};
use crate::cancel::Cancelled;
use crate::classify::Classify;
use crate::hook::Hook;
use crate::operation::{Attempt, Operation};
use crate::retrying::{Retrying, first_abort, not_before};
use crate::sleeper::AsyncSleeper;
use crate::stopped::Stopped;
use holdoff_core::{Call, Failure, Policy, Step, Ticket, Timestamp};
use pin_project_lite::pin_project;
use std::borrow::Borrow;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// What the future waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Start,
    Running,
    Sleeping,
    Done,
}

pin_project! {
    /// A retry that runs: what `.await` on a [`Retrying`] polls. Dropping it drops the attempt and ends everything.
    #[must_use = "futures do nothing unless polled"]
    pub struct RetryFuture<P, O, F, E, C, H, S, V = AnyValue>
    where
        S: AsyncSleeper,
    {
        retrying: Retrying<P, O, F, E, C, H, S, V>,
        #[pin]
        attempt: Option<F>,
        // The limit of the running attempt, or the sleep.
        #[pin]
        timer: Option<S::Sleep>,
        // When that timer ends.
        until: Timestamp,
        started: Option<Timestamp>,
        // The latest time that was decided about.
        latest: Timestamp,
        // The machine of an operation that has failed at least once.
        failing: Option<Call>,
        error: Option<E>,
        timed_out: bool,
        cancelled: Option<Cancelled>,
        phase: Phase,
    }
}

impl<P, O, F, E, C, H, S: AsyncSleeper, V> fmt::Debug for RetryFuture<P, O, F, E, C, H, S, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryFuture").finish_non_exhaustive()
    }
}

impl<P, O, F, T, E, C, H, S, V> IntoFuture for Retrying<P, O, F, E, C, H, S, V>
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
    type IntoFuture = RetryFuture<P, O, F, E, C, H, S, V>;

    #[inline]
    fn into_future(self) -> Self::IntoFuture {
        RetryFuture {
            retrying: self,
            attempt: None,
            timer: None,
            until: Timestamp::NEVER,
            started: None,
            latest: Timestamp::ZERO,
            failing: None,
            error: None,
            timed_out: false,
            cancelled: None,
            phase: Phase::Start,
        }
    }
}

impl<P, O, F, T, E, C, H, S, V> Future for RetryFuture<P, O, F, E, C, H, S, V>
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

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // Each phase is followed by the next one in the order of the code, so that none has to be looked up.
        let stopped = 'stopped: {
            if self.phase == Phase::Start
                && let Err(stopped) = self.as_mut().start()
            {
                break 'stopped stopped;
            }
            loop {
                if self.phase == Phase::Running {
                    let next = match self.as_mut().poll_attempt(context) {
                        Poll::Ready(result) => match self.as_mut().accepted(result) {
                            Ok(value) => {
                                self.as_mut().finish();
                                return Poll::Ready(Ok(value));
                            }
                            Err((error, known)) => self.as_mut().failed(error, known),
                        },
                        Poll::Pending => match ready!(self.as_mut().poll_wait(context)) {
                            Woken::ByTime => self.as_mut().timed_out(),
                            Woken::ByCancel => Err(self.as_mut().cancelled()),
                        },
                    };
                    if let Err(stopped) = next {
                        break 'stopped stopped;
                    }
                }
                assert!(self.phase == Phase::Sleeping, "`RetryFuture` polled after it ended");
                let next = match ready!(self.as_mut().poll_wait(context)) {
                    Woken::ByTime => self.as_mut().slept(),
                    Woken::ByCancel => Err(self.as_mut().cancelled()),
                };
                if let Err(stopped) = next {
                    break 'stopped stopped;
                }
            }
        };
        self.as_mut().finish();
        Poll::Ready(self.project().retrying.ended(stopped))
    }
}

enum Woken {
    ByTime,
    ByCancel,
}

impl<P, O, F, T, E, C, H, S, V> RetryFuture<P, O, F, E, C, H, S, V>
where
    P: Borrow<Policy>,
    O: Operation<F>,
    F: Future<Output = Result<T, E>>,
    C: Classify<E>,
    H: Hook<E>,
    S: AsyncSleeper,
    V: Accept<T>,
{
    /// Begins the first attempt: no clock unless it has a limit, no seed, no machine.
    #[inline(always)]
    fn start(mut self: Pin<&mut Self>) -> Result<(), Stopped<E>> {
        let this = self.as_mut().project();
        if this.retrying.is_cancelled() {
            return Err(Stopped::cancelled(0, this.retrying.sleeper.now()));
        }
        let mut attempt = Attempt::FIRST;
        if let Some(limit) = this.retrying.policy.borrow().first_limit() {
            let now = this.retrying.sleeper.now();
            *this.started = Some(now);
            attempt = Attempt::new(1, first_abort(now, limit), now);
        }
        self.run(attempt);
        Ok(())
    }

    /// Runs the operation, beside a timer if it has a limit.
    #[inline(always)]
    fn run(self: Pin<&mut Self>, attempt: Attempt) {
        let mut this = self.project();
        if let (Some(abort_at), Some(left)) = (attempt.abort_at(), attempt.time_left()) {
            *this.until = abort_at;
            this.timer.set(Some(this.retrying.sleeper.sleep(left)));
        }
        drop(this.retrying.values.take());
        this.attempt.set(Some(this.retrying.operation.run(attempt)));
        *this.phase = Phase::Running;
    }

    #[inline(always)]
    fn poll_attempt(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T, E>> {
        match self.project().attempt.as_pin_mut() {
            Some(attempt) => attempt.poll(context),
            None => Poll::Pending,
        }
    }

    /// Waits for the timer, if there is one, or the token. Asked after the attempt, because a success that arrives
    /// together with its limit is a success.
    fn poll_wait(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Woken> {
        let this = self.project();
        if let Some(token) = &this.retrying.cancel {
            let cancelled = this.cancelled.get_or_insert_with(|| token.cancelled());
            if Pin::new(cancelled).poll(context).is_ready() {
                return Poll::Ready(Woken::ByCancel);
            }
        }
        match this.timer.as_pin_mut() {
            Some(timer) => timer.poll(context).map(|_| Woken::ByTime),
            None => Poll::Pending,
        }
    }

    /// The value of an attempt that succeeded; else its error, or what its value counts as.
    #[inline(always)]
    fn accepted(self: Pin<&mut Self>, result: Result<T, E>) -> Result<T, (Option<E>, Option<Failure>)> {
        match result {
            Ok(value) => self.project().retrying.values.accept(value).map_err(|failure| (None, Some(failure))),
            Err(error) => Err((Some(error), None)),
        }
    }

    /// The attempt returned an error, or a value known to be a failure.
    #[inline(always)]
    fn failed(mut self: Pin<&mut Self>, error: Option<E>, known: Option<Failure>) -> Result<(), Stopped<E>> {
        let this = self.as_mut().project();
        *this.timed_out = false;
        let now = not_before(*this.latest, this.retrying.sleeper.now());
        self.decide(now, error, known)
    }

    #[cold]
    #[inline(never)]
    fn timed_out(mut self: Pin<&mut Self>) -> Result<(), Stopped<E>> {
        let this = self.as_mut().project();
        *this.timed_out = true;
        let now = not_before(*this.until, this.retrying.sleeper.now());
        self.decide(now, None, Some(Failure::TIMEOUT))
    }

    /// An attempt has failed at `now`, with an error or as is known: the machine says what next.
    #[inline(always)]
    fn decide(
        self: Pin<&mut Self>,
        now: Timestamp,
        error: Option<E>,
        known: Option<Failure>,
    ) -> Result<(), Stopped<E>> {
        let mut this = self.project();
        this.attempt.set(None);
        this.timer.set(None);
        *this.latest = now;
        let error = error.map(|error| &*this.error.insert(error));
        let (retrying, started) = (this.retrying, *this.started);
        let call = this.failing.get_or_insert_with(|| retrying.underway(started, now));
        let ticket = Ticket::from_raw(u64::from(call.attempt()));
        let step = retrying.failed(call, ticket, now, error, known);
        let Step::Sleep { until, .. } = step else {
            return Err(Stopped::at(call, step, this.error.take(), *this.timed_out, now));
        };
        *this.until = until;
        this.timer.set(Some(retrying.sleeper.sleep(until.since(now).as_duration())));
        *this.phase = Phase::Sleeping;
        Ok(())
    }

    /// The sleep is over.
    #[inline(always)]
    fn slept(mut self: Pin<&mut Self>) -> Result<(), Stopped<E>> {
        let mut this = self.as_mut().project();
        this.timer.set(None);
        let now = not_before(*this.until, this.retrying.sleeper.now());
        *this.latest = now;
        let Some(call) = this.failing else { return Err(self.cancelled()) };
        let step = call.tick(this.retrying.policy.borrow(), now);
        let Step::Attempt { ticket, abort_at, .. } = step else {
            return Err(Stopped::at(call, step, this.error.take(), *this.timed_out, now));
        };
        self.run(Attempt::new(ticket.attempt(), abort_at, now));
        Ok(())
    }

    /// The token was cancelled while an attempt ran or a sleep lasted.
    #[cold]
    fn cancelled(self: Pin<&mut Self>) -> Stopped<E> {
        let this = self.project();
        let now = this.retrying.sleeper.now();
        match this.failing {
            Some(call) => {
                let step = call.cancel(now);
                Stopped::at(call, step, this.error.take(), *this.timed_out, now)
            }
            None => Stopped::cancelled(1, now),
        }
    }

    /// Lets go of what still runs, without waiting for the future itself to be dropped.
    #[inline(always)]
    fn finish(self: Pin<&mut Self>) {
        let mut this = self.project();
        this.attempt.set(None);
        this.timer.set(None);
        *this.cancelled = None;
        *this.phase = Phase::Done;
    }
}
