//! The loop for operations that block their thread.

use crate::accept::Accept;
use crate::classify::Classify;
use crate::hook::Hook;
use crate::operation::{Attempt, Operation};
use crate::retrying::{Retrying, first_abort, not_before};
use crate::sleeper::Sleeper;
use crate::stopped::Stopped;
use holdoff_core::{Failure, Policy, Step, Ticket, Timestamp};
use std::borrow::Borrow;

impl<P, O, T, E, C, H, S, V> Retrying<P, O, Result<T, E>, E, C, H, S, V>
where
    P: Borrow<Policy>,
    O: Operation<Result<T, E>>,
    C: Classify<E>,
    H: Hook<E>,
    S: Sleeper,
    V: Accept<T>,
{
    /// Runs the operation until it succeeds or the policy says stop, and blocks meanwhile.
    ///
    /// A first attempt that succeeds costs next to nothing: no clock is read unless the policy limits the attempt, and no
    /// seed is drawn. A panic of the operation is its own.
    ///
    /// # Errors
    /// [`Stopped`] with the reason and the last error.
    #[inline(always)]
    pub fn call(mut self) -> Result<T, Stopped<E>> {
        let mut attempt = Attempt::FIRST;
        let mut started = None;
        if self.is_cancelled() {
            return Err(Stopped::cancelled(0, self.sleeper.now()));
        }
        if let Some(limit) = self.policy.borrow().first_limit() {
            let now = self.sleeper.now();
            started = Some(now);
            attempt = Attempt::new(1, first_abort(now, limit), now);
        }
        let (error, known) = match self.operation.run(attempt) {
            Ok(value) => match self.values.accept(value) {
                Ok(value) => return Ok(value),
                Err(failure) => (None, Some(failure)),
            },
            Err(error) => (Some(error), None),
        };
        self.recover(started, error, known)
    }

    /// The rest of the loop, after the first failure: an error, or a value known to be a failure. In line, because then what
    /// the operation captures and the machine's state stay where they are; the code is there once for each operation anyway.
    #[inline(always)]
    fn recover(
        mut self,
        started: Option<Timestamp>,
        mut error: Option<E>,
        mut known: Option<Failure>,
    ) -> Result<T, Stopped<E>> {
        // Without a limit only a failure's own time matters, and the machine knows it already when a sleep is over.
        let limited = started.is_some();
        let mut now = self.sleeper.now();
        let mut call = self.underway(started, now);
        let mut ticket = Ticket::FIRST;
        loop {
            let step = self.failed(&mut call, ticket, now, error.as_ref(), known);
            let Step::Sleep { until, .. } = step else {
                return self.ended(Stopped::at(&call, step, error, false, now));
            };
            // The hook may have cancelled, and not every sleeper looks at the token.
            if !self.is_cancelled() {
                self.sleeper.sleep(until.since(now).as_duration(), self.cancel.as_ref());
            }
            now = if limited { not_before(until, self.sleeper.now()) } else { until };
            let step = if self.is_cancelled() { call.cancel(now) } else { call.tick(self.policy.borrow(), now) };
            let Step::Attempt { ticket: next, abort_at, .. } = step else {
                return self.ended(Stopped::at(&call, step, error, false, now));
            };
            ticket = next;
            drop(self.values.take());
            match self.operation.run(Attempt::new(ticket.attempt(), abort_at, now)) {
                Ok(value) => match self.values.accept(value) {
                    Ok(value) => return Ok(value),
                    Err(failure) => known = Some(failure),
                },
                Err(next) => (error, known) = (Some(next), None),
            }
            now = not_before(now, self.sleeper.now());
        }
    }
}
