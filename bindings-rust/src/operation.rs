//! The operation that is retried, and the attempt that it gets.

use holdoff_core::Timestamp;
use std::time::Duration;

/// One attempt, as its operation sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attempt {
    number: u32,
    abort_at: Timestamp,
    time_left: Option<Duration>,
}

impl Attempt {
    pub(crate) fn new(number: u32, abort_at: Timestamp, now: Timestamp) -> Self {
        let time_left = if abort_at.is_never() { None } else { Some(abort_at.since(now).as_duration()) };
        Self { number, abort_at, time_left }
    }

    /// The number of the attempt, from 1.
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// How long the attempt may take, at its start: the smaller of the policy's attempt timeout and what is left before
    /// the deadline. `None` without a limit.
    ///
    /// An async attempt is dropped when it is over. A blocking one cannot be: give this to the socket as its timeout.
    pub const fn time_left(&self) -> Option<Duration> {
        self.time_left
    }

    /// When the attempt has to be over, on the sleeper's clock. `None` without a limit.
    pub const fn abort_at(&self) -> Option<Timestamp> {
        if self.abort_at.is_never() { None } else { Some(self.abort_at) }
    }
}

/// An operation: something that can be run once for each attempt.
pub trait Operation<R> {
    /// Runs it.
    fn run(&mut self, attempt: Attempt) -> R;

    /// Its name in events: of a function its path, unless it was given another one.
    fn name(&self) -> &'static str;
}

/// An operation that does not look at its attempt, see [`retry`](crate::retry).
#[derive(Clone, Copy, Debug)]
pub struct Simple<O>(pub(crate) O);

/// An operation that does, see [`retry_with`](crate::retry_with).
#[derive(Clone, Copy, Debug)]
pub struct Informed<O>(pub(crate) O);

impl<O: FnMut() -> R, R> Operation<R> for Simple<O> {
    #[inline(always)]
    fn run(&mut self, _: Attempt) -> R {
        (self.0)()
    }

    fn name(&self) -> &'static str {
        std::any::type_name::<O>()
    }
}

impl<O: FnMut(Attempt) -> R, R> Operation<R> for Informed<O> {
    #[inline(always)]
    fn run(&mut self, attempt: Attempt) -> R {
        (self.0)(attempt)
    }

    fn name(&self) -> &'static str {
        std::any::type_name::<O>()
    }
}

/// An operation with another name, see [`Retrying::name`](crate::sentence::Retrying::name).
#[derive(Clone, Copy, Debug)]
pub struct Named<O>(pub(crate) O, pub(crate) &'static str);

impl<O: Operation<R>, R> Operation<R> for Named<O> {
    #[inline(always)]
    fn run(&mut self, attempt: Attempt) -> R {
        self.0.run(attempt)
    }

    fn name(&self) -> &'static str {
        self.1
    }
}

/// The return value of an operation: a `Result`, or a future of one. `M` tells the two apart and is always inferred.
pub trait Returns<M> {
    /// The value in it.
    type Value;
    /// The error in it.
    type Error;
}

/// Marks operations that return when they are done.
#[derive(Debug)]
pub enum Blocking {}

/// Marks operations that return a future.
#[derive(Debug)]
pub enum Async {}

impl<T, E> Returns<Blocking> for Result<T, E> {
    type Value = T;
    type Error = E;
}

impl<F: Future<Output = Result<T, E>>, T, E> Returns<Async> for F {
    type Value = T;
    type Error = E;
}
