//! The loop for operations that block their thread.

use crate::accept::Accept;
use crate::cancel::{CancelToken, Cancelled};
use crate::classify::Classify;
use crate::guarded::{CallGuards, DrivenCall};
use crate::hook::Hook;
use crate::operation::{Attempt, Operation};
use crate::retrying::Retrying;
use crate::sleeper::{Loop, Sleeper, not_before};
use crate::stopped::Stopped;
use holdoff_core::{Failure, Policy, Step, Ticket, Timestamp};
use std::borrow::Borrow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::thread::Thread;

impl<P, O, T, E, C, H, S, V, G> Retrying<P, O, Result<T, E>, E, C, H, S, V, G>
where
    P: Borrow<Policy>,
    O: Operation<Result<T, E>>,
    C: Classify<E>,
    H: Hook<E>,
    S: Sleeper,
    V: Accept<T>,
    G: CallGuards,
{
    /// Runs the operation until it succeeds or the policy or a guard says stop, and blocks meanwhile.
    ///
    /// Without guards a first attempt that succeeds costs next to nothing: no clock is read unless the policy limits the
    /// attempt, and no seed is drawn. A panic of the operation is its own.
    ///
    /// # Errors
    /// [`Stopped`] with the reason and the last error, if there is one.
    #[inline(always)]
    pub fn call(mut self) -> Result<T, Stopped<E>> {
        if self.is_cancelled() {
            let now = self.sleeper.now();
            return Err(self.cancelled_at_once(now));
        }
        self.note_start(Sleeper::now);
        self.guards.note();
        let (mut error, mut known, mut started) = (None, None, None);
        if G::LAZY {
            let attempt;
            (started, attempt) = self.first_attempt(|sleeper| sleeper.now());
            match self.run(attempt, &mut error) {
                Ok(value) => {
                    self.guards.succeeded_at_once(|| self.sleeper.now());
                    self.tell_succeeded(1, Sleeper::now);
                    return Ok(value);
                }
                Err(failure) => known = failure,
            }
        }
        let mut now = self.sleeper.now();
        let limited = !G::LAZY || started.is_some();
        let (mut call, begun) =
            self.begin(Loop { hedging: false, clock: self.sleeper.clock() }, started.unwrap_or(now));
        let (mut ticket, mut begun) = (Ticket::FIRST, (!G::LAZY).then_some(begun));
        loop {
            let mut step = match begun.take() {
                Some(step) => step,
                None => self.failed(&mut call, ticket, now, error.as_ref(), known, || ()),
            };
            if let Step::Sleep { until, .. } = step {
                now = match !G::LAZY && call.is_in_line() {
                    true => self.wait_in_line(&mut call, until, now),
                    false => self.sleep(until, now, limited),
                };
                step = match self.is_cancelled() {
                    true => call.cancel(now),
                    false => call.tick(self.policy.borrow(), now),
                };
                // Only a guard has a call sleep again.
                if !G::LAZY && matches!(step, Step::Sleep { .. }) {
                    begun = Some(step);
                    continue;
                }
            }
            let Step::Attempt { ticket: next, abort_at, .. } = step else {
                return self.ended(Some(&call), step, error, false, now);
            };
            ticket = next;
            match self.run(Attempt::new(ticket.attempt(), abort_at, now), &mut error) {
                Ok(value) => {
                    call.succeed(ticket, || self.sleeper.now());
                    self.tell_succeeded(ticket.attempt(), Sleeper::now);
                    return Ok(value);
                }
                Err(failure) => known = failure,
            }
            now = not_before(now, self.sleeper.now());
        }
    }

    /// Runs the operation. A failure is the error, or what the value that it returned counts as.
    #[inline(always)]
    fn run(&mut self, attempt: Attempt, error: &mut Option<E>) -> Result<T, Option<Failure>> {
        drop(self.values.take());
        self.tell_begun(attempt.number(), Sleeper::now);
        let attempt = self.operation.enter(attempt);
        match self.operation.run(attempt) {
            Ok(value) => self.values.accept(value).map_err(Some),
            Err(latest) => {
                *error = Some(latest);
                Err(None)
            }
        }
    }
}

impl<P, O, R, E, C, H, S: Sleeper, V, G: CallGuards> Retrying<P, O, R, E, C, H, S, V, G> {
    /// Sleeps; returns the time then.
    #[inline(always)]
    pub(crate) fn sleep(&self, until: Timestamp, now: Timestamp, limited: bool) -> Timestamp {
        // The hook may have cancelled, and not every sleeper looks at the token.
        if !self.is_cancelled() && !crate::switches::limits() {
            self.sleeper.sleep(until.since(now).as_duration(), self.cancel.as_ref());
        }
        // Without a limit only a failure's own time matters, and the call knows it already when a sleep is over.
        if limited { not_before(until, self.sleeper.now()) } else { until }
    }

    /// Blocks until the call may go on that waits for others, `until` or the token; returns the time then.
    pub(crate) fn wait_in_line(&self, call: &mut G::Call, until: Timestamp, now: Timestamp) -> Timestamp {
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        let mut cancelled = self.cancel.as_ref().map(CancelToken::cancelled);
        let is_cancelled =
            |cancelled: &mut Cancelled| Pin::new(cancelled).poll(&mut Context::from_waker(&waker)).is_ready();
        // The first wait only asks again, now that this thread would be woken.
        if call.is_notified() && !cancelled.as_mut().is_some_and(is_cancelled) && until > now {
            self.sleeper.park(until.since(now).as_duration());
        }
        // Before the next look, so that what comes free after it ends the next wait.
        call.notify(&waker);
        not_before(now, self.sleeper.now())
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SharedGuards;
    use holdoff_core::{BulkheadConfig, Cause, Span};
    use std::cell::Cell;
    use std::time::{Duration, Instant};

    /// Calls a function before it waits.
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
        let guards = SharedGuards::new().with_bulkhead(BulkheadConfig::new(1, 2, Span::MAX).unwrap());
        let (policy, now) = (Policy::default(), Timestamp::ZERO);
        let begun = || {
            crate::retry(&policy, || Ok::<(), ()>(()))
                .guards(&guards)
                .guards
                .begin(&policy, Loop { hedging: false, clock: None }, 0, now)
                .0
        };
        let (running, first) = (Cell::new(Some(begun())), Cell::new(Some(begun())));
        let sleeper = Meanwhile(|| {
            if running.take().is_some()
                && let Some(mut call) = first.take()
            {
                assert!(matches!(call.tick(&policy, now), Step::Attempt { .. }));
                first.set(Some(call));
            }
        });
        let (retrying, mut queued) =
            (crate::retry(&policy, || Ok::<(), ()>(())).sleeper(sleeper).guards(&guards), begun());
        let until = Timestamp::from_nanos(10_000_000_000);
        // The first wait only asks again; the second one wakes all that wait, and the first in the queue takes the place.
        for _ in 0..2 {
            retrying.wait_in_line(&mut queued, until, now);
            assert!(matches!(queued.tick(&policy, now), Step::Sleep { cause: Cause::Bulkhead, .. }));
        }
        drop(first.take());
        let started = Instant::now();
        retrying.wait_in_line(&mut queued, until, now);
        assert!(started.elapsed() < Duration::from_secs(5));
        assert!(matches!(queued.tick(&policy, now), Step::Attempt { .. }));
        assert!(!queued.is_notified());
    }
}
