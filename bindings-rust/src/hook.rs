//! Telling the user about what goes on.

use holdoff_core::{Cause, Failure, Hint, StopReason, Timestamp};
use std::time::Duration;

/// An attempt that is about to begin.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Begun {
    /// The name of the operation, see [`Retrying::name`](crate::sentence::Retrying::name); else that of its type: of a function its path.
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
    /// The name of the operation, see [`Retrying::name`](crate::sentence::Retrying::name); else that of its type: of a function its path.
    pub operation: &'static str,
    /// The attempt that failed, from 1.
    pub attempt: u32,
    /// The time since the call began.
    pub elapsed: Duration,
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

/// A failed attempt whose delay is not decided yet.
#[derive(Debug)]
#[non_exhaustive]
pub struct Failed<'a, E> {
    /// The name of the operation, see [`Retrying::name`](crate::sentence::Retrying::name); else that of its type: of a function its path.
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
    /// The name of the operation, see [`Retrying::name`](crate::sentence::Retrying::name); else that of its type: of a function its path.
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
    /// The name of the operation, see [`Retrying::name`](crate::sentence::Retrying::name); else that of its type: of a function its path.
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

/// The facts about a call that its listeners share.
#[derive(Clone, Copy, Debug, Default)]
pub struct Notes {
    pub(crate) started: Timestamp,
    pub(crate) failure: Option<Failure>,
}

impl Notes {
    pub(crate) fn elapsed(&self, now: Timestamp) -> Duration {
        now.since(self.started).as_duration()
    }
}

/// Is told what a call does. Made by [`Retrying::on_attempt`](crate::sentence::Retrying::on_attempt) and its like.
pub trait Hook<E> {
    /// The notes for the events; `None` if nobody listens, and then there are none.
    fn notes(&mut self) -> Option<&mut Notes>;

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

/// Nobody is told.
#[derive(Clone, Copy, Debug)]
pub struct NoHook;

impl<E> Hook<E> for NoHook {
    #[inline(always)]
    fn notes(&mut self) -> Option<&mut Notes> {
        None
    }
}

/// Both are told, in their order.
#[derive(Clone, Copy, Debug)]
pub struct Both<H, L>(pub(crate) H, pub(crate) L);

impl<E, H: Hook<E>, L: Hook<E>> Hook<E> for Both<H, L> {
    fn notes(&mut self) -> Option<&mut Notes> {
        self.1.notes()
    }

    fn begun(&mut self, event: &Begun) {
        self.0.begun(event);
        self.1.begun(event);
    }

    fn delay(&mut self, event: &Failed<'_, E>) -> Option<Hint> {
        self.1.delay(event).or_else(|| self.0.delay(event))
    }

    fn retried(&mut self, event: &Retried<'_, E>) {
        self.0.retried(event);
        self.1.retried(event);
    }

    fn succeeded(&mut self, event: &Succeeded) {
        self.0.succeeded(event);
        self.1.succeeded(event);
    }

    fn gave_up(&mut self, event: &GaveUp<'_, E>) {
        self.0.gave_up(event);
        self.1.gave_up(event);
    }
}

/// Asks a function for the delay after each failure.
#[derive(Clone, Copy, Debug)]
pub struct ChoosesDelay<F>(pub(crate) F, pub(crate) Notes);

impl<E, F: FnMut(&Failed<'_, E>) -> Option<Hint>> Hook<E> for ChoosesDelay<F> {
    fn notes(&mut self) -> Option<&mut Notes> {
        Some(&mut self.1)
    }

    fn delay(&mut self, event: &Failed<'_, E>) -> Option<Hint> {
        (self.0)(event)
    }
}

/// Types that hand one event to a function of the user's.
macro_rules! listeners {
    ($($(#[$about:meta])* $name:ident: $method:ident($event:ty);)*) => { $(
        $(#[$about])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<F>(F, Notes);

        impl<F> $name<F> {
            pub(crate) fn new(told: F) -> Self {
                Self(told, Notes::default())
            }
        }

        impl<E, F: FnMut(&$event)> Hook<E> for $name<F> {
            fn notes(&mut self) -> Option<&mut Notes> {
                Some(&mut self.1)
            }

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
