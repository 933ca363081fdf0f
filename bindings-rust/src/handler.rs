//! The functions that a call asks and tells: what an error means, which values are failures, what goes on.

use crate::operation::Attempt;
use holdoff_core::{Cause, Facts, Failure, Hint, Rules, StopReason, Timestamp};
#[cfg(feature = "serde")]
use holdoff_core::{Document, TextList};
#[cfg(feature = "serde")]
use std::fmt::Display;
use std::time::Duration;

/// An attempt that is about to begin.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Begun {
    /// The name of the operation, see [`Retrying::name`](crate::builder::Retrying::name); else that of its type: of a function its path.
    pub operation: &'static str,
    /// Its number, from 1.
    pub attempt: u32,
    /// The time since the call began.
    pub elapsed: Duration,
}

/// A failed attempt that will be followed by another: what a hook is told before the sleep.
#[derive(Debug)]
#[non_exhaustive]
pub struct Retried<'a, E> {
    /// The name of the operation, see [`Retrying::name`](crate::builder::Retrying::name); else that of its type: of a function its path.
    pub operation: &'static str,
    /// The attempt that failed, from 1.
    pub attempt: u32,
    /// The time since the call began.
    pub elapsed: Duration,
    /// Its error; `None` when it was aborted at its limit, or when it returned a value that counts as a failure (see
    /// [`Retrying::when_result`](crate::builder::Retrying::when_result)).
    pub error: Option<&'a E>,
    /// The failure that the error or the value was classified as.
    pub failure: Failure,
    /// How long the sleep will be.
    pub delay: Duration,
    /// Why it is that long.
    pub cause: Cause,
}

/// A failed attempt whose delay is not decided yet.
#[derive(Debug)]
#[non_exhaustive]
pub struct Failed<'a, E> {
    /// The name of the operation, see [`Retrying::name`](crate::builder::Retrying::name); else that of its type: of a function its path.
    pub operation: &'static str,
    /// The attempt that failed, from 1.
    pub attempt: u32,
    /// The time since the call began.
    pub elapsed: Duration,
    /// Its error, as in [`Retried::error`].
    pub error: Option<&'a E>,
    /// The failure that the error or the value was classified as.
    pub failure: Failure,
}

/// An attempt that succeeded. The call returns its value.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Succeeded {
    /// The name of the operation, see [`Retrying::name`](crate::builder::Retrying::name); else that of its type: of a function its path.
    pub operation: &'static str,
    /// Its number, from 1.
    pub attempt: u32,
    /// The time since the call began.
    pub elapsed: Duration,
}

/// The end of a call without a success.
#[derive(Debug)]
#[non_exhaustive]
pub struct GaveUp<'a, E> {
    /// The name of the operation, see [`Retrying::name`](crate::builder::Retrying::name); else that of its type: of a function its path.
    pub operation: &'static str,
    /// The last attempt that began, from 1; 0 if none did.
    pub attempt: u32,
    /// The time since the call began.
    pub elapsed: Duration,
    /// The latest error that an attempt returned.
    pub error: Option<&'a E>,
    /// The failure of the latest attempt; `None` if none has failed.
    pub failure: Option<Failure>,
    /// Why there is no other attempt: the guard that refuses it, among others.
    pub reason: StopReason,
    /// How long from now on another try might succeed; `None` if nobody knows.
    pub retry_in: Option<Duration>,
}

/// What the events of a call need to know of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Notes {
    pub(crate) started: Timestamp,
    pub(crate) failure: Option<Failure>,
}

impl Notes {
    pub(crate) fn elapsed(&self, now: Timestamp) -> Duration {
        now.since(self.started).as_duration()
    }
}

/// Judges the answers of an operation and hears of its events. Each method of the [builder](crate::builder::Retrying) that takes a
/// function adds one; `()` takes every error for transient and every value for a success.
pub trait Handler<T, E> {
    /// True if it hears of events: then the clock is read for each.
    #[inline(always)]
    fn listens(&self) -> bool {
        false
    }

    /// The failure that an error is. `rest` is the judgement of the handlers before this one.
    #[inline(always)]
    fn classify(&mut self, error: &E, rest: impl FnOnce(&E) -> Failure) -> Failure {
        rest(error)
    }

    /// The failure that a value is; `None` for a success.
    #[inline(always)]
    fn refuse(&mut self, _: &T) -> Option<Failure> {
        None
    }

    /// The failure of the attempt with that number, after what the retries inside it say.
    #[inline(always)]
    fn judge(&mut self, _attempt: u32, failure: Failure) -> Failure {
        failure
    }

    /// The attempt as its operation sees it.
    #[inline(always)]
    fn enter(&mut self, attempt: Attempt) -> Attempt {
        attempt
    }

    /// The end of the call, by a success or by giving up; not if it is cancelled.
    #[inline(always)]
    fn end(&mut self, _given_up: bool) {}

    /// An attempt is about to begin.
    #[inline(always)]
    fn begun(&mut self, _: &Begun) {}

    /// The delay that the user chooses after a failure that is not permanent; `None` leaves it to the policy.
    #[inline(always)]
    fn delay(&mut self, _: &Failed<'_, E>) -> Option<Hint> {
        None
    }

    /// An attempt failed and there will be another.
    #[inline(always)]
    fn retried(&mut self, _: &Retried<'_, E>) {}

    /// An attempt succeeded.
    #[inline(always)]
    fn succeeded(&mut self, _: &Succeeded) {}

    /// The call ended without a success.
    #[inline(always)]
    fn gave_up(&mut self, _: &GaveUp<'_, E>) {}
}

impl<T, E> Handler<T, E> for () {}

/// A handler after others.
#[derive(Clone, Copy, Debug)]
pub struct With<H, L>(pub(crate) H, pub(crate) L);

impl<T, E, H: Handler<T, E>, L: Handler<T, E>> Handler<T, E> for With<H, L> {
    #[inline(always)]
    fn listens(&self) -> bool {
        self.0.listens() || self.1.listens()
    }

    #[inline(always)]
    fn classify(&mut self, error: &E, rest: impl FnOnce(&E) -> Failure) -> Failure {
        let before = &mut self.0;
        self.1.classify(error, |error| before.classify(error, rest))
    }

    #[inline(always)]
    fn refuse(&mut self, value: &T) -> Option<Failure> {
        self.0.refuse(value).or_else(|| self.1.refuse(value))
    }

    #[inline(always)]
    fn judge(&mut self, attempt: u32, failure: Failure) -> Failure {
        let failure = self.0.judge(attempt, failure);
        self.1.judge(attempt, failure)
    }

    #[inline(always)]
    fn enter(&mut self, attempt: Attempt) -> Attempt {
        let attempt = self.0.enter(attempt);
        self.1.enter(attempt)
    }

    #[inline(always)]
    fn end(&mut self, given_up: bool) {
        self.0.end(given_up);
        self.1.end(given_up);
    }

    #[inline(always)]
    fn begun(&mut self, event: &Begun) {
        self.0.begun(event);
        self.1.begun(event);
    }

    #[inline(always)]
    fn delay(&mut self, event: &Failed<'_, E>) -> Option<Hint> {
        self.1.delay(event).or_else(|| self.0.delay(event))
    }

    #[inline(always)]
    fn retried(&mut self, event: &Retried<'_, E>) {
        self.0.retried(event);
        self.1.retried(event);
    }

    #[inline(always)]
    fn succeeded(&mut self, event: &Succeeded) {
        self.0.succeeded(event);
        self.1.succeeded(event);
    }

    #[inline(always)]
    fn gave_up(&mut self, event: &GaveUp<'_, E>) {
        self.0.gave_up(event);
        self.1.gave_up(event);
    }
}

/// Handlers that hand one event to a function of the user's.
macro_rules! listeners {
    ($($(#[$about:meta])* $name:ident: $method:ident($event:ty);)*) => { $(
        $(#[$about])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<F>(pub(crate) F);

        impl<T, E, F: FnMut(&$event)> Handler<T, E> for $name<F> {
            #[inline(always)]
            fn listens(&self) -> bool {
                true
            }

            #[inline]
            fn $method(&mut self, event: &$event) {
                (self.0)(event);
            }
        }
    )* };
}

listeners! {
    /// Tells a function of each attempt that is about to begin.
    OnAttempt: begun(Begun);
    /// Tells a function of each retry, before its sleep.
    OnRetry: retried(Retried<'_, E>);
    /// Tells a function of the attempt that succeeds.
    OnSuccess: succeeded(Succeeded);
    /// Tells a function of the end of a call without a success.
    OnGiveUp: gave_up(GaveUp<'_, E>);
}

/// Asks a function for the delay after each failure.
#[derive(Clone, Copy, Debug)]
pub struct Delay<F>(pub(crate) F);

impl<T, E, F: FnMut(&Failed<'_, E>) -> Option<Hint>> Handler<T, E> for Delay<F> {
    #[inline(always)]
    fn listens(&self) -> bool {
        true
    }

    #[inline]
    fn delay(&mut self, event: &Failed<'_, E>) -> Option<Hint> {
        (self.0)(event)
    }
}

/// Asks a function which failure a value is.
#[derive(Clone, Copy, Debug)]
pub struct WhenResult<F>(pub(crate) F);

impl<T, E, F: FnMut(&T) -> Option<Failure>> Handler<T, E> for WhenResult<F> {
    #[inline]
    fn refuse(&mut self, value: &T) -> Option<Failure> {
        (self.0)(value)
    }
}

/// Asks a function which failure an error is, and no handler before it.
#[derive(Clone, Copy, Debug)]
pub struct Classify<F>(pub(crate) F);

impl<T, E, F: FnMut(&E) -> Failure> Handler<T, E> for Classify<F> {
    #[inline]
    fn classify(&mut self, error: &E, _: impl FnOnce(&E) -> Failure) -> Failure {
        (self.0)(error)
    }
}

/// Errors that a function refuses are permanent; the handlers before it judge the others.
#[derive(Clone, Copy, Debug)]
pub struct When<F>(pub(crate) F);

impl<T, E, F: FnMut(&E) -> bool> Handler<T, E> for When<F> {
    #[inline]
    fn classify(&mut self, error: &E, rest: impl FnOnce(&E) -> Failure) -> Failure {
        if (self.0)(error) { rest(error) } else { Failure::PERMANENT }
    }
}

/// Asks a function for facts about an error, beside its failure.
#[derive(Clone, Copy, Debug)]
pub struct KnownFacts<F>(pub(crate) F);

impl<T, E, F: FnMut(&E) -> Facts> Handler<T, E> for KnownFacts<F> {
    #[inline]
    fn classify(&mut self, error: &E, rest: impl FnOnce(&E) -> Failure) -> Failure {
        Rules::NONE.judge((self.0)(error), rest(error))
    }
}

/// Follows the rules of a document.
#[cfg(feature = "serde")]
#[derive(Clone, Copy, Debug)]
pub struct DocumentRules<'d, F> {
    pub(crate) document: &'d Document,
    pub(crate) facts: F,
}

#[cfg(feature = "serde")]
impl<T, E: Display, F: FnMut(&E) -> Facts> Handler<T, E> for DocumentRules<'_, F> {
    fn classify(&mut self, error: &E, rest: impl FnOnce(&E) -> Failure) -> Failure {
        let (default, Document { rules, texts, .. }) = (rest(error), self.document);
        let mut facts = (self.facts)(error);
        if rules.has_texts(TextList::Patterns) {
            let message = error.to_string();
            facts.patterns = texts.bits(TextList::Patterns, |pattern| message.contains(pattern));
        }
        rules.judge(facts, default)
    }
}
