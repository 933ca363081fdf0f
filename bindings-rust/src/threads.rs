//! The loop for operations that block, with attempts beside each other: each in a thread of its own.

use crate::cancel::CancelToken;
use crate::guarded::{CallGuards, DrivenCall};
use crate::handler::Handler;
use crate::operation::{Attempt, Operation};
use crate::retrying::Retrying;
use crate::sleeper::{Loop, Sleeper, not_before};
use crate::stopped::Stopped;
use holdoff_core::{Policy, Step, Ticket, Timestamp};
use std::cell::RefCell;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Wake, Waker};
use std::thread;

/// News for the caller's thread: an attempt that has ended, with its result or its panic; or the token, which is cancelled.
type News<R> = Option<(Ticket, thread::Result<R>)>;

impl<P, O, T, E, H, S, G> Retrying<P, O, H, S, G>
where
    P: Deref<Target = Policy>,
    O: Operation<Returned = Result<T, E>, Value = T, Error = E> + Clone + Send + 'static,
    T: Send + 'static,
    E: Send + 'static,
    H: Handler<T, E>,
    S: Sleeper,
    G: CallGuards,
{
    /// Runs the operation as [`call`](Self::call) does, each attempt in a thread of its own, so that a hedge may start another attempt beside
    /// a slow one (a [`HedgeConfig`](holdoff_core::HedgeConfig) among its [guards](Self::guards)). Each attempt runs a clone of the operation.
    ///
    /// The first success is the result. A thread cannot be ended: the results of attempts that lose are dropped, and their threads go on
    /// until the operation returns. The operation can ask [`CancelToken::of_attempt`] to end early. The sleeper's clock must go with real time, or
    /// no attempt starts beside another one. A panic of an attempt is passed on, unless the attempt has lost.
    ///
    /// ```
    /// use holdoff::core::{HedgeConfig, Span};
    /// use holdoff::{Policy, SharedGuards};
    ///
    /// let guards = SharedGuards::new().with(HedgeConfig::new(Span::from_millis(50), None, 2).unwrap());
    /// let page = holdoff::retry(&Policy::default(), || Ok::<_, std::io::Error>("page")).guards(&guards).call_in_threads();
    /// assert_eq!(page.unwrap(), "page");
    /// ```
    ///
    /// # Errors
    /// [`Stopped`] with the reason and the last error, if there is one.
    ///
    /// # Panics
    /// If the system starts no other thread.
    pub fn call_in_threads(mut self) -> Result<T, Stopped<E>> {
        if self.is_cancelled() {
            let now = self.sleeper.now();
            return Err(self.cancelled_at_once(now));
        }
        self.note_start(Sleeper::now);
        let (sender, news) = channel();
        let waker = Waker::from(Arc::new(Tell(sender.clone())));
        let lost = CancelToken::new();
        let _over = Over(&lost);
        let (mut error, mut refused) = (None, None);
        let mut now = self.sleeper.now();
        let (mut call, mut step) = self.begin(Loop { hedging: true, clock: self.sleeper.clock() }, now);
        loop {
            let wake_at = match step {
                Step::Sleep { until, .. } => {
                    now = match call.is_in_line() {
                        true => self.wait_in_line(&mut call, until, now),
                        false => self.sleep(until, now, true),
                    };
                    step = match self.is_cancelled() {
                        true => call.cancel(now),
                        false => call.tick(&self.policy, now),
                    };
                    continue;
                }
                Step::Attempt { ticket, abort_at, wake_at } => {
                    refused = None;
                    let attempt = self.attempt(Attempt::new(ticket.attempt(), abort_at, now), Sleeper::now);
                    spawn(self.operation.clone(), attempt, ticket, lost.clone(), sender.clone());
                    wake_at
                }
                Step::Wait { until } => until,
                Step::Stop(_) => return self.ended(Some(&call), step, refused, error, false, now),
            };
            let mut look = Context::from_waker(&waker);
            let cancelled = self.settings.cancel.as_mut();
            let is_cancelled = cancelled.is_some_and(|cancelled| Pin::new(cancelled).poll(&mut look).is_ready());
            let next = if is_cancelled { None } else { next(&news, wake_at, now) };
            now = not_before(now, self.sleeper.now());
            step = match next {
                Some((ticket, ended)) => match ended.unwrap_or_else(|panic| resume_unwind(panic)) {
                    Ok(value) => match self.handler.refuse(&value) {
                        None => {
                            call.succeed(ticket, || now);
                            self.tell_succeeded(ticket.attempt(), Sleeper::now);
                            return Ok(value);
                        }
                        Some(failure) => {
                            refused = Some(value);
                            self.failed(&mut call, ticket, now, error.as_ref(), Some(failure), || ())
                        }
                    },
                    Err(latest) => {
                        error = Some(latest);
                        self.failed(&mut call, ticket, now, error.as_ref(), None, || ())
                    }
                },
                None if self.is_cancelled() => call.cancel(now),
                None => call.tick(&self.policy, now),
            };
        }
    }
}

/// Waits for the next attempt to end; `None` when it is time to ask for another one, or for the token.
fn next<R>(news: &Receiver<News<R>>, wake_at: Timestamp, now: Timestamp) -> News<R> {
    if wake_at.is_never() {
        // The caller's thread has a sender itself.
        return news.recv().unwrap_or_default();
    }
    news.recv_timeout(wake_at.since(now).as_duration()).unwrap_or_default()
}

fn spawn<R: Send + 'static>(
    mut operation: impl Operation<Returned = R> + Send + 'static,
    attempt: Attempt,
    ticket: Ticket,
    lost: CancelToken,
    sender: Sender<News<R>>,
) {
    thread::spawn(move || {
        ATTEMPT.set(Some(lost));
        let ended = catch_unwind(AssertUnwindSafe(|| operation.run(attempt)));
        // Nobody receives the end of an attempt that has lost.
        drop(sender.send(Some((ticket, ended))));
    });
}

thread_local! {
    /// The token of the attempt that runs in this thread.
    static ATTEMPT: RefCell<Option<CancelToken>> = const { RefCell::new(None) };
}

impl CancelToken {
    /// The token of the attempt that [`call_in_threads`](crate::builder::Retrying::call_in_threads) runs in this thread: it is cancelled when
    /// the call is over, so that an attempt that has lost can end early. `None` in any other thread.
    pub fn of_attempt() -> Option<Self> {
        ATTEMPT.with_borrow(Clone::clone)
    }
}

/// Wakes the caller's thread.
struct Tell<R>(Sender<News<R>>);

impl<R: Send + 'static> Wake for Tell<R> {
    fn wake(self: Arc<Self>) {
        drop(self.0.send(None));
    }
}

/// Tells the attempts at the end of the call that they have lost.
struct Over<'a>(&'a CancelToken);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
