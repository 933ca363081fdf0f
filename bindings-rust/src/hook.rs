//! Telling the user about what goes on.

use holdoff_core::{Cause, Failure};
use std::time::Duration;

/// A failed attempt that will be followed by another: what a hook is told before the sleep.
#[derive(Debug)]
#[non_exhaustive]
pub struct Retried<'a, E> {
    /// The attempt that failed, from 1.
    pub attempt: u32,
    /// Its error; `None` when it was aborted at its limit, or when it returned a value that counts as a failure (see
    /// [`Retrying::when_result`](crate::sentence::Retrying::when_result)).
    pub error: Option<&'a E>,
    /// The failure that the error or the value was classified as.
    pub failure: Failure,
    /// How long the sleep will be.
    pub delay: Duration,
    /// Why it is that long.
    pub cause: Cause,
}

/// Is told before each sleep. Made by [`Retrying::on_retry`](crate::sentence::Retrying::on_retry).
pub trait Hook<E> {
    /// An attempt failed and there will be another.
    fn retried(&mut self, event: &Retried<'_, E>);
}

/// Nobody is told.
#[derive(Clone, Copy, Debug)]
pub struct NoHook;

impl<E> Hook<E> for NoHook {
    #[inline(always)]
    fn retried(&mut self, _: &Retried<'_, E>) {}
}

/// A function of the user's.
#[derive(Clone, Copy, Debug)]
pub struct OnRetry<F>(pub(crate) F);

impl<E, F: FnMut(&Retried<'_, E>)> Hook<E> for OnRetry<F> {
    #[inline]
    fn retried(&mut self, event: &Retried<'_, E>) {
        (self.0)(event);
    }
}
