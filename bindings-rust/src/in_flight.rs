//! The attempts of an async call that are in flight, each beside a timer if it has a limit.

use holdoff_core::{Ticket, Timestamp};
use pin_project_lite::pin_project;
use std::pin::Pin;
use std::task::{Context, Poll};

/// An attempt that has ended: its ticket, when it had to be over, and its result unless it reached that limit.
pub(crate) type Settled<R> = (Ticket, Timestamp, Option<R>);

/// Attempts in flight: [`One`] in its place, or [`Many`] on the heap.
pub trait InFlight<F: Future, Z: Future>: Default {
    /// Starts an attempt.
    fn launch(self: Pin<&mut Self>, ticket: Ticket, abort_at: Timestamp, attempt: F, limit: Option<Z>);

    /// The next attempt that ends. Attempts come before their limits: a success that arrives together with its limit is a
    /// success.
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Settled<F::Output>>;

    /// Drops what is in flight.
    fn clear(self: Pin<&mut Self>);
}

pin_project! {
    /// At most one attempt, in its place: of a call without guards, which runs one after the other and allocates nothing.
    #[derive(Debug)]
    pub struct One<F, Z> {
        #[pin]
        attempt: Option<F>,
        #[pin]
        limit: Option<Z>,
        ticket: Ticket,
        abort_at: Timestamp,
    }
}

impl<F, Z> Default for One<F, Z> {
    #[inline(always)]
    fn default() -> Self {
        Self { attempt: None, limit: None, ticket: Ticket::FIRST, abort_at: Timestamp::NEVER }
    }
}

impl<F: Future, Z: Future> InFlight<F, Z> for One<F, Z> {
    #[inline(always)]
    fn launch(self: Pin<&mut Self>, ticket: Ticket, abort_at: Timestamp, attempt: F, limit: Option<Z>) {
        let mut this = self.project();
        (*this.ticket, *this.abort_at) = (ticket, abort_at);
        this.attempt.set(Some(attempt));
        this.limit.set(limit);
    }

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Settled<F::Output>> {
        let this = self.as_mut().project();
        let Some(attempt) = this.attempt.as_pin_mut() else { return Poll::Pending };
        let result = match attempt.poll(context) {
            Poll::Ready(result) => Some(result),
            Poll::Pending if this.limit.as_pin_mut().is_some_and(|limit| limit.poll(context).is_ready()) => None,
            Poll::Pending => return Poll::Pending,
        };
        let settled = (*this.ticket, *this.abort_at, result);
        self.clear();
        Poll::Ready(settled)
    }

    #[inline(always)]
    fn clear(self: Pin<&mut Self>) {
        let mut this = self.project();
        this.attempt.set(None);
        this.limit.set(None);
    }
}

/// Any number of attempts, beside each other.
#[derive(Debug)]
pub struct Many<F, Z>(Vec<Pin<Box<One<F, Z>>>>);

impl<F, Z> Default for Many<F, Z> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<F: Future, Z: Future> InFlight<F, Z> for Many<F, Z> {
    fn launch(mut self: Pin<&mut Self>, ticket: Ticket, abort_at: Timestamp, attempt: F, limit: Option<Z>) {
        self.0.push(Box::pin(One { attempt: Some(attempt), limit, ticket, abort_at }));
    }

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Settled<F::Output>> {
        for at in 0..self.0.len() {
            if let Poll::Ready(settled) = self.0[at].as_mut().poll(context) {
                self.0.remove(at);
                return Poll::Ready(settled);
            }
        }
        Poll::Pending
    }

    fn clear(mut self: Pin<&mut Self>) {
        self.0.clear();
    }
}
