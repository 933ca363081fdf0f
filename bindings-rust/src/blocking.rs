//! The loop for operations that block their thread.

use crate::cancel::Cancelled;
use crate::guarded::{CallGuards, DrivenCall};
use crate::handler::Handler;
use crate::operation::{Attempt, Operation};
use crate::retrying::Retrying;
use crate::sleeper::{Loop, Sleeper, not_before};
use crate::stopped::Stopped;
use holdoff_core::{Failure, Policy, Step, Ticket, Timestamp};
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::thread::Thread;

impl<P, O, T, E, H, S, G> Retrying<P, O, H, S, G>
where
    P: Deref<Target = Policy>,
    O: Operation<Returned = Result<T, E>, Value = T, Error = E>,
    H: Handler<T, E>,
    S: Sleeper,
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
        let (mut error, mut refused, mut started) = (None, None, None);
        if G::LAZY {
            let abort_at;
            (started, abort_at) = self.first_attempt(|sleeper| sleeper.now());
            let attempt = Attempt::new(1, abort_at, started.unwrap_or(Timestamp::ZERO));
            if let Some(value) = self.run(attempt, &mut error, &mut refused) {
                self.guards.succeeded_at_once(|| self.sleeper.now());
                self.tell_succeeded(1, Sleeper::now);
                return Ok(value);
            }
        }
        let mut now = self.sleeper.now();
        let limited = !G::LAZY || started.is_some();
        let host = Loop { hedging: false, clock: self.sleeper.clock() };
        let (mut call, begun) = self.begin(host, started.unwrap_or(now));
        let (mut ticket, mut next) = (Ticket::FIRST, (!G::LAZY).then_some(begun));
        loop {
            let mut step = match next.take() {
                Some(step) => step,
                None => {
                    let known = refused.as_ref().map(|(_, failure)| *failure);
                    self.failed(&mut call, ticket, now, error.as_ref(), known, || ())
                }
            };
            if let Step::Sleep { until, .. } = step {
                now = match !G::LAZY && call.is_in_line() {
                    true => self.wait_in_line(&mut call, until, now),
                    false => self.sleep(until, now, limited),
                };
                step = match self.is_cancelled() {
                    true => call.cancel(now),
                    false => call.tick(&self.policy, now),
                };
                // Only a guard has a call sleep again.
                if !G::LAZY && matches!(step, Step::Sleep { .. }) {
                    next = Some(step);
                    continue;
                }
            }
            let Step::Attempt { ticket: following, abort_at, .. } = step else {
                return self.ended(Some(&call), step, refused.map(|(value, _)| value), error, false, now);
            };
            ticket = following;
            if let Some(value) = self.run(Attempt::new(ticket.attempt(), abort_at, now), &mut error, &mut refused) {
                call.succeed(ticket, || self.sleeper.now());
                self.tell_succeeded(ticket.attempt(), Sleeper::now);
                return Ok(value);
            }
            now = not_before(now, self.sleeper.now());
        }
    }

    /// Runs the operation. Returns the value of a success; else keeps the error, or the value and the failure that it is.
    #[inline(always)]
    fn run(&mut self, attempt: Attempt, error: &mut Option<E>, refused: &mut Option<(T, Failure)>) -> Option<T> {
        *refused = None;
        let attempt = self.attempt(attempt, Sleeper::now);
        match self.operation.run(attempt) {
            Ok(value) => match self.handler.refuse(&value) {
                None => return Some(value),
                Some(failure) => *refused = Some((value, failure)),
            },
            Err(latest) => *error = Some(latest),
        }
        None
    }
}

impl<P, O, H, S: Sleeper, G: CallGuards> Retrying<P, O, H, S, G> {
    /// Sleeps; returns the time then.
    #[inline(always)]
    pub(crate) fn sleep(&self, until: Timestamp, now: Timestamp, limited: bool) -> Timestamp {
        // The hook may have cancelled, and not every sleeper looks at the token.
        if !self.is_cancelled() && !crate::switches::limits() {
            let token = self.settings.cancel.as_ref().map(Cancelled::token);
            self.sleeper.sleep(until.since(now).as_duration(), token);
        }
        // Without a limit only a failure's own time matters, and the call knows it already when a sleep is over.
        if limited { not_before(until, self.sleeper.now()) } else { until }
    }

    /// Blocks until the call may go on that waits for others, `until` or the token; returns the time then.
    pub(crate) fn wait_in_line(&mut self, call: &mut G::Call, until: Timestamp, now: Timestamp) -> Timestamp {
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        let is_cancelled =
            |cancelled: &mut Cancelled| Pin::new(cancelled).poll(&mut Context::from_waker(&waker)).is_ready();
        let cancel = &mut self.settings.cancel;
        // The first wait only asks again, now that this thread would be woken.
        if call.is_notified() && !cancel.as_mut().is_some_and(is_cancelled) && until > now {
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
    use crate::{CancelToken, SharedGuards};
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
        let guards = SharedGuards::new().with(BulkheadConfig::new(1, 2, Span::MAX).unwrap());
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
        let (mut retrying, mut queued) =
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
