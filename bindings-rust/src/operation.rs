//! The operation that is retried, and the attempt that it gets.

use holdoff_core::{Timestamp, Token};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// One attempt, as its operation sees it.
#[derive(Clone, Debug)]
pub struct Attempt {
    number: u32,
    abort_at: Timestamp,
    time_left: Option<Duration>,
    pub(crate) inside: Option<Arc<Inside>>,
}

impl Attempt {
    pub(crate) fn new(number: u32, abort_at: Timestamp, now: Timestamp) -> Self {
        let time_left = if abort_at.is_never() { None } else { Some(abort_at.since(now).as_duration()) };
        Self { number, abort_at, time_left, inside: None }
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

    /// The token to send to another program, as the header [`Token::HEADER`]; `None` unless the retry is
    /// [`nested`](crate::builder::Retrying::nested).
    pub fn token(&self) -> Option<Token> {
        self.inside.as_ref().map(|inside| inside.token())
    }

    /// True if the latest retry inside this attempt gave up, of the retries that were told of it by
    /// [`nested`](crate::builder::Retrying::nested).
    pub fn given_up(&self) -> bool {
        self.inside.as_ref().is_some_and(|inside| inside.given_up())
    }
}

/// The state that an attempt shares with the retries inside it.
#[derive(Debug)]
pub(crate) struct Inside {
    token: Token,
    given_up: AtomicBool,
}

impl Inside {
    pub(crate) const fn new(token: Token) -> Self {
        Self { token, given_up: AtomicBool::new(false) }
    }

    pub(crate) const fn token(&self) -> Token {
        self.token
    }

    pub(crate) fn given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }

    /// Sets the mark, or clears it.
    pub(crate) fn note(&self, given_up: bool) {
        self.given_up.store(given_up, Ordering::Relaxed);
    }
}

/// An operation: something that can be run once for each attempt.
pub trait Operation {
    /// A result, or a future of one.
    type Returned;
    /// The value in it.
    type Value;
    /// The error in it.
    type Error;

    /// Runs it.
    fn run(&mut self, attempt: Attempt) -> Self::Returned;
}

/// An operation that does not look at its attempt, see [`retry`](crate::retry).
#[derive(Clone, Copy, Debug)]
pub struct Plain<F, M>(pub(crate) F, pub(crate) PhantomData<M>);

impl<F: FnMut() -> R, R: Returns<M>, M> Operation for Plain<F, M> {
    type Returned = R;
    type Value = R::Value;
    type Error = R::Error;

    #[inline(always)]
    fn run(&mut self, _: Attempt) -> R {
        (self.0)()
    }
}

/// An operation that does, see [`retry_with`](crate::retry_with).
#[derive(Clone, Copy, Debug)]
pub struct Informed<F, M>(pub(crate) F, pub(crate) PhantomData<M>);

impl<F: FnMut(Attempt) -> R, R: Returns<M>, M> Operation for Informed<F, M> {
    type Returned = R;
    type Value = R::Value;
    type Error = R::Error;

    #[inline(always)]
    fn run(&mut self, attempt: Attempt) -> R {
        (self.0)(attempt)
    }
}

/// The return value of an operation: a `Result`, or a future of one. `M` tells the two apart and is always inferred.
#[diagnostic::on_unimplemented(
    message = "an operation returns a `Result`, or a future of one, and this one returns `{Self}`",
    label = "needs an operation that can fail",
    note = "`Ok::<_, std::convert::Infallible>(value)` is a result that cannot fail; `when_result` judges values"
)]
pub trait Returns<M> {
    /// The value in it.
    type Value;
    /// The error in it.
    type Error;
}

/// Marks operations that return when they are done.
#[derive(Clone, Copy, Debug)]
pub enum Blocking {}

/// Marks operations that return a future.
#[derive(Clone, Copy, Debug)]
pub enum Async {}

impl<T, E> Returns<Blocking> for Result<T, E> {
    type Value = T;
    type Error = E;
}

impl<F: Future<Output = Result<T, E>>, T, E> Returns<Async> for F {
    type Value = T;
    type Error = E;
}
