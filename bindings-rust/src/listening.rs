//! Adding hooks to a sentence.

use crate::hook::{
    Begun, Both, ChoosesDelay, Failed, GaveUp, Notes, OnAttempt, OnGiveUp, OnRetry, OnSuccess, Retried, Succeeded,
};
use crate::operation::Named;
use crate::retrying::Retrying;
use crate::statistics::{Counted, Statistics};
use holdoff_core::Hint;

#[expect(clippy::type_complexity, reason = "each part of the sentence is a parameter, and a listener has parts itself")]
impl<P, O, R, E, C, H, S, V, G> Retrying<P, O, R, E, C, H, S, V, G> {
    /// Gives the operation another name in events, traces and metrics than that of its type.
    ///
    /// ```
    /// let named = |begun: &holdoff::sentence::Begun| assert_eq!(begun.operation, "load");
    /// holdoff::retry(holdoff::Policy::default(), || Ok::<_, ()>(1)).name("load").on_attempt(named).call().unwrap();
    /// ```
    #[inline]
    pub fn name(self, name: &'static str) -> Retrying<P, Named<O>, R, E, C, H, S, V, G> {
        let Self { policy, operation, classifier, hook, sleeper, values, seed, cancel, guards, returns } = self;
        let operation = Named(operation, name);
        Retrying { policy, operation, classifier, hook, sleeper, values, seed, cancel, guards, returns }
    }

    /// Calls `hook` before each attempt.
    #[inline]
    pub fn on_attempt<F: FnMut(&Begun)>(self, hook: F) -> Retrying<P, O, R, E, C, Both<H, OnAttempt<F>>, S, V, G> {
        self.listen(OnAttempt::new(hook))
    }

    /// Asks `choose` for the delay after each failure that is not permanent, before the policy decides. [`Hint::after`] is obeyed
    /// exactly, however long a hint may be; [`Hint::NEVER`] stops the call; `None` leaves the delay to the policy. Attempts, deadline
    /// and guards still limit the call.
    ///
    /// ```
    /// use holdoff::core::{Hint, Span};
    /// use holdoff::{Policy, VirtualTime};
    ///
    /// let time = VirtualTime::new();
    /// let stopped = holdoff::retry(Policy::default(), || Err::<(), _>("busy"))
    ///     .delay(|failed| (failed.attempt == 1).then_some(Hint::after(Span::from_secs(3))).or(Some(Hint::NEVER)))
    ///     .sleeper(time.clone())
    ///     .call()
    ///     .unwrap_err();
    /// assert_eq!((stopped.attempts(), time.elapsed().as_secs()), (2, 3));
    /// ```
    #[inline]
    pub fn delay<F: FnMut(&Failed<'_, E>) -> Option<Hint>>(
        self,
        choose: F,
    ) -> Retrying<P, O, R, E, C, Both<H, ChoosesDelay<F>>, S, V, G> {
        self.listen(ChoosesDelay(choose, Notes::default()))
    }

    /// Calls `hook` before each sleep.
    #[inline]
    pub fn on_retry<F: FnMut(&Retried<'_, E>)>(self, hook: F) -> Retrying<P, O, R, E, C, Both<H, OnRetry<F>>, S, V, G> {
        self.listen(OnRetry::new(hook))
    }

    /// Calls `hook` after the attempt that succeeds, before its value is returned.
    #[inline]
    pub fn on_success<F: FnMut(&Succeeded)>(self, hook: F) -> Retrying<P, O, R, E, C, Both<H, OnSuccess<F>>, S, V, G> {
        self.listen(OnSuccess::new(hook))
    }

    /// Calls `hook` when the call ends without a success: by the policy, by a guard that refuses, or cancelled. Not if its future
    /// is dropped.
    #[inline]
    pub fn on_give_up<F: FnMut(&GaveUp<'_, E>)>(
        self,
        hook: F,
    ) -> Retrying<P, O, R, E, C, Both<H, OnGiveUp<F>>, S, V, G> {
        self.listen(OnGiveUp::new(hook))
    }

    /// Counts the events of the call in `statistics`.
    #[inline]
    pub fn statistics(self, statistics: &Statistics) -> Retrying<P, O, R, E, C, Both<H, Counted<'_>>, S, V, G> {
        self.listen(Counted(statistics, Notes::default()))
    }

    /// Counts the events of the call with the recorder of the crate `metrics`: `holdoff_attempts_total`,
    /// `holdoff_retries_total`, `holdoff_successes_total`, `holdoff_give_ups_total` and `holdoff_delay_seconds`.
    #[cfg(feature = "metrics")]
    #[inline]
    pub fn metrics(self) -> Retrying<P, O, R, E, C, Both<H, crate::metered::Metered>, S, V, G> {
        self.listen(crate::metered::Metered::default())
    }

    #[inline(always)]
    pub(crate) fn listen<L>(self, listener: L) -> Retrying<P, O, R, E, C, Both<H, L>, S, V, G> {
        let Self { policy, operation, classifier, hook, sleeper, values, seed, cancel, guards, returns } = self;
        let hook = Both(hook, listener);
        Retrying { policy, operation, classifier, hook, sleeper, values, seed, cancel, guards, returns }
    }
}
