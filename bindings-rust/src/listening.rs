//! Adding hooks to a sentence.

use crate::hook::{Begun, Both, GaveUp, Notes, OnAttempt, OnGiveUp, OnRetry, OnSuccess, Retried, Succeeded};
use crate::retrying::Retrying;
use crate::statistics::{Counted, Statistics};

#[expect(clippy::type_complexity, reason = "each part of the sentence is a parameter, and a listener has parts itself")]
impl<P, O, R, E, C, H, S, V, G> Retrying<P, O, R, E, C, H, S, V, G> {
    /// Calls `hook` before each attempt.
    #[inline]
    pub fn on_attempt<F: FnMut(&Begun)>(self, hook: F) -> Retrying<P, O, R, E, C, Both<H, OnAttempt<F>>, S, V, G> {
        self.listen(OnAttempt::new(hook))
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
    fn listen<L>(self, listener: L) -> Retrying<P, O, R, E, C, Both<H, L>, S, V, G> {
        let Self { policy, operation, classifier, hook, sleeper, values, seed, cancel, guards, returns } = self;
        let hook = Both(hook, listener);
        Retrying { policy, operation, classifier, hook, sleeper, values, seed, cancel, guards, returns }
    }
}
