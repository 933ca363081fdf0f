//! The builder of a call: what to retry, by which policy, and how; and what its loops have in common.

use crate::cancel::{CancelToken, Cancelled};
use crate::guarded::{CallGuards, DrivenCall, Guarded, Unguarded};
use crate::guards::SharedGuards;
#[cfg(feature = "serde")]
use crate::handler::DocumentRules;
use crate::handler::{
    Begun, Classify, Delay, Failed, GaveUp, Handler, KnownFacts, Notes, OnAttempt, OnGiveUp, OnRetry, OnSuccess,
    Retried, Succeeded, When, WhenResult, With,
};
use crate::operation::{Attempt, Informed, Operation, Plain, Returns};
use crate::sleeper::{Loop, System};
use crate::statistics::{Counted, Statistics};
use crate::stopped::{Spent, Stopped};
#[cfg(feature = "serde")]
use holdoff_core::Document;
use holdoff_core::{Facts, Failure, FailureKind, Hint, Outcome, Policy, Step, StopReason, Ticket, Timestamp};
use std::borrow::Borrow;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

/// Retries `operation` by `policy` until it succeeds or the policy says stop.
///
/// The operation returns a `Result` and the call ends with [`.call()`](Retrying::call), or it returns a future of one and the
/// call ends with `.await`. The policy is borrowed, or an `Arc` of it where the future has to be `'static`; a `Policy` by value goes
/// into an `Arc` of its own.
///
/// ```
/// use holdoff::Policy;
///
/// let policy = Policy::options().attempts(5).build()?;
/// let mut failures = 2;
/// let answer = holdoff::retry(&policy, || {
///     if failures > 0 {
///         failures -= 1;
///         return Err("not yet");
///     }
///     Ok(42)
/// })
/// .sleeper(holdoff::testing::VirtualTime::new()) // or the machine's own time
/// .call();
/// assert_eq!(answer.unwrap(), 42);
/// # Ok::<(), holdoff::Error>(())
/// ```
#[inline]
pub fn retry<P, F, R, M>(policy: P, operation: F) -> Retrying<P::Held, Plain<F, M>>
where
    P: IntoPolicy,
    F: FnMut() -> R,
    R: Returns<M>,
{
    Retrying::new(policy.into_policy(), std::any::type_name::<F>(), Plain(operation, PhantomData), Unguarded)
}

/// Like [`retry`], for an operation that wants to know which [`Attempt`] it is and how much time it has.
///
/// ```
/// use holdoff::Policy;
/// use std::time::Duration;
///
/// let policy = Policy::options().attempt_timeout(Duration::from_secs(2)).build()?;
/// let answer = holdoff::retry_with(&policy, |attempt| {
///     assert_eq!(attempt.time_left(), Some(Duration::from_secs(2))); // the socket's timeout
///     if attempt.number() < 3 { Err("not yet") } else { Ok(attempt.number()) }
/// })
/// .sleeper(holdoff::testing::VirtualTime::new())
/// .call();
/// assert_eq!(answer.unwrap(), 3);
/// # Ok::<(), holdoff::Error>(())
/// ```
#[inline]
pub fn retry_with<P, F, R, M>(policy: P, operation: F) -> Retrying<P::Held, Informed<F, M>>
where
    P: IntoPolicy,
    F: FnMut(Attempt) -> R,
    R: Returns<M>,
{
    Retrying::new(policy.into_policy(), std::any::type_name::<F>(), Informed(operation, PhantomData), Unguarded)
}

/// A policy, borrowed, shared or given.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a policy",
    label = "needs a `&Policy`, an `Arc<Policy>` or a `Policy`",
    note = "`.build()?` makes a policy of options; a `SharedPolicy` has a `retry` of its own"
)]
pub trait IntoPolicy {
    /// The policy as a call holds it.
    type Held: Deref<Target = Policy>;

    /// The policy of a call.
    fn into_policy(self) -> Self::Held;
}

impl IntoPolicy for &Policy {
    type Held = Self;

    #[inline(always)]
    fn into_policy(self) -> Self {
        self
    }
}

impl IntoPolicy for Arc<Policy> {
    type Held = Self;

    fn into_policy(self) -> Self {
        self
    }
}

impl IntoPolicy for Policy {
    type Held = Arc<Self>;

    fn into_policy(self) -> Arc<Self> {
        Arc::new(self)
    }
}

/// A call that is being described; does nothing until [`Retrying::call`] or `.await`.
///
/// `P` is its policy, `O` its operation, `H` its [handlers](crate::builder::Handler), `S` the sleeper, `G` the guards.
#[must_use = "nothing runs until `.call()` or `.await`"]
#[derive(Debug)]
pub struct Retrying<P, O, H = (), S = System, G = Unguarded> {
    pub(crate) policy: P,
    pub(crate) operation: O,
    pub(crate) handler: H,
    pub(crate) sleeper: S,
    pub(crate) guards: G,
    pub(crate) settings: Settings,
}

/// The parts of a call that have the same type in all of them.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Of the operation, in events.
    pub(crate) name: &'static str,
    pub(crate) seed: Option<u64>,
    pub(crate) cancel: Option<Cancelled>,
    pub(crate) notes: Notes,
}

impl<P, O, G> Retrying<P, O, (), System, G> {
    #[inline(always)]
    pub(crate) const fn new(policy: P, name: &'static str, operation: O, guards: G) -> Self {
        let notes = Notes { started: Timestamp::ZERO, failure: None };
        let settings = Settings { name, seed: None, cancel: None, notes };
        Self { policy, operation, handler: (), sleeper: System, guards, settings }
    }
}

/// What errors and values mean, and who hears of events.
impl<P, O: Operation, H, S, G> Retrying<P, O, H, S, G> {
    /// Retries only the errors for which `predicate` is true; the others are permanent.
    ///
    /// With [`Retrying::classify`] before it, that one decides about the errors this one lets pass.
    #[inline]
    pub fn when<C: FnMut(&O::Error) -> bool>(self, predicate: C) -> Retrying<P, O, With<H, When<C>>, S, G> {
        self.with(When(predicate))
    }

    /// Says what each error is: its kind and what the server said about when to come back. Every error is transient
    /// unless said otherwise. See [`io_failure`](crate::classify::io_failure) and [`Failure::from_http`] for two ready ones.
    #[inline]
    pub fn classify<C: FnMut(&O::Error) -> Failure>(self, classifier: C) -> Retrying<P, O, With<H, Classify<C>>, S, G> {
        self.with(Classify(classifier))
    }

    /// Says what else is known of an error, over what the classifier before says.
    ///
    /// An operation that is not `idempotent` runs again only if the request was never sent, or was throttled: after a timeout nobody
    /// knows whether the server did the work.
    ///
    /// ```
    /// use holdoff::{Failure, core::Facts};
    ///
    /// let mut payments = 0;
    /// let answer = holdoff::retry(&holdoff::Policy::default(), || -> Result<(), &str> {
    ///     payments += 1;
    ///     Err("no answer")
    /// })
    /// .classify(|_| Failure::TIMEOUT)
    /// .facts(|error| Facts { idempotent: false, unsent: *error == "refused", ..Facts::NONE })
    /// .call();
    /// assert_eq!(answer.unwrap_err().attempts(), 1);
    /// ```
    #[inline]
    pub fn facts<C: FnMut(&O::Error) -> Facts>(self, facts: C) -> Retrying<P, O, With<H, KnownFacts<C>>, S, G> {
        self.with(KnownFacts(facts))
    }

    /// Follows the rules of a document, over what the classifier before says.
    ///
    /// `facts` says what is known of an error, as in [`Retrying::facts`]: its HTTP status or gRPC code, and whether the operation can run
    /// twice.
    /// Patterns are looked up in the error's text here.
    ///
    /// ```
    /// use holdoff::core::{Document, Facts};
    ///
    /// let document: Document = serde_json::from_str(
    ///     r#"{ "attempts": 5, "rules": [
    ///         { "if": { "patterns": ["timeout", "connection reset"] }, "retry": true },
    ///         { "if": {}, "retry": false }
    ///     ] }"#,
    /// )?;
    /// let mut calls = 0;
    /// let answer = holdoff::retry(document.policy, || -> Result<(), &str> {
    ///     calls += 1;
    ///     Err(if calls < 3 { "read timeout" } else { "no such table" })
    /// })
    /// .rules(&document, |_| Facts::NONE)
    /// .sleeper(holdoff::testing::VirtualTime::new())
    /// .call();
    /// assert_eq!(answer.unwrap_err().attempts(), 3);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[cfg(feature = "serde")]
    #[inline]
    pub fn rules<C: FnMut(&O::Error) -> Facts>(
        self,
        document: &Document,
        facts: C,
    ) -> Retrying<P, O, With<H, DocumentRules<'_, C>>, S, G> {
        self.with(DocumentRules { document, facts })
    }

    /// Takes a value for a failure when `predicate` says which one it is; `None` is a success.
    ///
    /// Such a value is judged as an error of that kind and hint would be. When the policy stops after it, because its
    /// failure is permanent, all attempts are used or the deadline is near, the operation ends with `Ok` and this value, so
    /// that the caller has the answer in hand. It is kept during the sleep only and dropped before the next attempt.
    /// Cancelling is not the policy's: it ends with [`Stopped`] as ever.
    ///
    /// [`Retrying::when`] and [`Retrying::classify`] see errors, never values. With another `when_result` before it, this
    /// one is asked about the values that the other lets pass.
    ///
    /// ```
    /// use holdoff::{Failure, Policy, testing::VirtualTime};
    ///
    /// struct Answer { status: u32, retry_after: Option<&'static [u8]> }
    /// let mut answers = vec![
    ///     Answer { status: 200, retry_after: None },
    ///     Answer { status: 503, retry_after: Some(b"7") },
    /// ];
    /// let get = || answers.pop().ok_or("connection refused");
    ///
    /// let time = VirtualTime::new();
    /// let answer = holdoff::retry(Policy::default(), get)
    ///     .when_result(|answer| Failure::from_http(answer.status, answer.retry_after))
    ///     .sleeper(time.clone())
    ///     .call();
    /// assert_eq!(answer.unwrap().status, 200);
    /// assert!(time.elapsed().as_secs() >= 7); // as the server asked
    ///
    /// let unavailable = || Ok::<_, &str>(Answer { status: 503, retry_after: None });
    /// let answer = holdoff::retry(Policy::default(), unavailable)
    ///     .when_result(|answer| Failure::from_http(answer.status, answer.retry_after))
    ///     .sleeper(VirtualTime::new())
    ///     .call();
    /// assert_eq!(answer.unwrap().status, 503); // the third and last one
    /// ```
    #[inline]
    pub fn when_result<C: FnMut(&O::Value) -> Option<Failure>>(
        self,
        predicate: C,
    ) -> Retrying<P, O, With<H, WhenResult<C>>, S, G> {
        self.with(WhenResult(predicate))
    }

    /// Calls `hook` before each attempt.
    #[inline]
    pub fn on_attempt<L: FnMut(&Begun)>(self, hook: L) -> Retrying<P, O, With<H, OnAttempt<L>>, S, G> {
        self.with(OnAttempt(hook))
    }

    /// Asks `choose` for the delay after each failure that is not permanent, before the policy decides. [`Hint::after`] is obeyed
    /// exactly, however long a hint may be; [`Hint::NEVER`] stops the call; `None` leaves the delay to the policy. Attempts, deadline
    /// and guards still limit the call.
    ///
    /// ```
    /// use holdoff::core::{Hint, Span};
    /// use holdoff::{Policy, testing::VirtualTime};
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
    pub fn delay<L: FnMut(&Failed<'_, O::Error>) -> Option<Hint>>(
        self,
        choose: L,
    ) -> Retrying<P, O, With<H, Delay<L>>, S, G> {
        self.with(Delay(choose))
    }

    /// Calls `hook` before each sleep.
    #[inline]
    pub fn on_retry<L: FnMut(&Retried<'_, O::Error>)>(self, hook: L) -> Retrying<P, O, With<H, OnRetry<L>>, S, G> {
        self.with(OnRetry(hook))
    }

    /// Calls `hook` after the attempt that succeeds, before its value is returned.
    #[inline]
    pub fn on_success<L: FnMut(&Succeeded)>(self, hook: L) -> Retrying<P, O, With<H, OnSuccess<L>>, S, G> {
        self.with(OnSuccess(hook))
    }

    /// Calls `hook` when the call ends without a success: by the policy, by a guard that refuses, or cancelled. Not if its future
    /// is dropped.
    #[inline]
    pub fn on_give_up<L: FnMut(&GaveUp<'_, O::Error>)>(self, hook: L) -> Retrying<P, O, With<H, OnGiveUp<L>>, S, G> {
        self.with(OnGiveUp(hook))
    }
}

impl<P, O, H, S, G> Retrying<P, O, H, S, G> {
    #[inline(always)]
    pub(crate) fn with<L>(self, handler: L) -> Retrying<P, O, With<H, L>, S, G> {
        let Self { policy, operation, handler: before, sleeper, guards, settings } = self;
        Retrying { policy, operation, handler: With(before, handler), sleeper, guards, settings }
    }

    /// Counts the events of the call in `statistics`.
    #[inline]
    pub fn statistics(self, statistics: &Statistics) -> Retrying<P, O, With<H, Counted<'_>>, S, G> {
        self.with(Counted(statistics))
    }

    /// Counts the events of the call with the recorder of the crate `metrics`: `holdoff_attempts_total`,
    /// `holdoff_retries_total`, `holdoff_successes_total`, `holdoff_give_ups_total` and `holdoff_delay_seconds`.
    #[cfg(feature = "metrics")]
    #[inline]
    pub fn metrics(self) -> Retrying<P, O, With<H, crate::metered::Metered>, S, G> {
        self.with(crate::metered::Metered)
    }

    /// Waits with another sleeper, by its clock: [`VirtualTime`](crate::testing::VirtualTime) in tests, another runtime's timer in
    /// async programs.
    #[inline]
    pub fn sleeper<T>(self, sleeper: T) -> Retrying<P, O, H, T, G> {
        let Self { policy, operation, handler, guards, settings, .. } = self;
        Retrying { policy, operation, handler, sleeper, guards, settings }
    }

    /// Gives the operation another name in events, traces and metrics than that of its type.
    ///
    /// ```
    /// let named = |begun: &holdoff::builder::Begun| assert_eq!(begun.operation, "load");
    /// holdoff::retry(holdoff::Policy::default(), || Ok::<_, ()>(1)).name("load").on_attempt(named).call().unwrap();
    /// ```
    #[inline]
    pub fn name(mut self, name: &'static str) -> Self {
        self.settings.name = name;
        self
    }

    /// Repeats a run: the same seed, policy and failures at the same times give the same decisions in every language.
    /// Without it the seed comes from [`seed`](crate::testing::seed()), or else it is random.
    #[inline]
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = Some(seed);
        self
    }

    /// Stops, with [`StopReason::Cancelled`], when the token is cancelled: at once while it sleeps, and at once during an
    /// async attempt, which is dropped; a blocking attempt ends first.
    #[inline]
    pub fn cancel(mut self, token: &CancelToken) -> Self {
        self.settings.cancel = Some(token.cancelled());
        self
    }

    #[inline(always)]
    pub(crate) fn is_cancelled(&self) -> bool {
        self.settings.cancel.as_ref().is_some_and(Cancelled::is_cancelled)
    }
}

impl<P, O, H, S> Retrying<P, O, H, S> {
    /// Runs it under guards that it shares with every other call that has them, borrowed, or given (a clone is the same
    /// guards) where the future has to be `'static`.
    ///
    /// A guard may refuse the first attempt, too: then [`Stopped::attempts`] is 0 and there is no error.
    #[inline]
    pub fn guards<B: Borrow<SharedGuards>>(self, guards: B) -> Retrying<P, O, H, S, Guarded<B>> {
        let Self { policy, operation, handler, sleeper, settings, .. } = self;
        Retrying { policy, operation, handler, sleeper, guards: Guarded::new(guards), settings }
    }
}

/// The parts that all loops share.
impl<P, O, H, S, G> Retrying<P, O, H, S, G>
where
    P: Deref<Target = Policy>,
    O: Operation,
    H: Handler<O::Value, O::Error>,
    G: CallGuards,
{
    /// The first attempt of a call that is not made yet: no clock unless the policy counts from there.
    #[inline(always)]
    pub(crate) fn first_attempt(&self, clock: impl FnOnce(&S) -> Timestamp) -> (Option<Timestamp>, Timestamp) {
        let policy = &*self.policy;
        if !policy.is_timed() {
            return (None, Timestamp::NEVER);
        }
        let now = clock(&self.sleeper);
        // No time, if it lies behind the last instant (spec 1.4).
        let abort_at = policy.first_limit().map_or(u64::MAX, |limit| now.as_nanos().saturating_add(limit.as_nanos()));
        (Some(now), Timestamp::from_nanos(abort_at))
    }

    /// Begins the call.
    #[inline(always)]
    pub(crate) fn begin(&mut self, host: Loop, now: Timestamp) -> (G::Call, Step) {
        let seed = self.settings.seed.unwrap_or_else(|| crate::seed::next(now));
        self.guards.begin(&self.policy, host, seed, now)
    }

    /// An attempt that begins: tells the hooks, and the retries inside it who is around them.
    #[inline(always)]
    pub(crate) fn attempt(&mut self, attempt: Attempt, clock: impl FnOnce(&S) -> Timestamp) -> Attempt {
        if self.handler.listens() {
            let elapsed = self.settings.notes.elapsed(clock(&self.sleeper));
            self.handler.begun(&Begun { operation: self.settings.name, attempt: attempt.number(), elapsed });
        }
        self.handler.enter(attempt)
    }

    /// Decides what follows an attempt that failed at `now`: with the latest error, unless `known` says what it failed as,
    /// because it returned a value or was aborted at its limit. The hook runs before a sleep. `last` drops the other attempts before
    /// the guards get their places back.
    #[inline(always)]
    pub(crate) fn failed(
        &mut self,
        call: &mut G::Call,
        ticket: Ticket,
        now: Timestamp,
        error: Option<&O::Error>,
        known: Option<Failure>,
        last: impl FnOnce(),
    ) -> Step {
        if self.is_cancelled() {
            last();
            return call.cancel(now);
        }
        let (error, mut failure) = match (error, known) {
            (Some(error), None) => (Some(error), self.handler.classify(error, |_| Failure::TRANSIENT)),
            (_, known) => (None, known.unwrap_or(Failure::TIMEOUT)),
        };
        failure = self.handler.judge(ticket.attempt(), failure);
        if failure.kind == FailureKind::Permanent {
            last();
        }
        let policy = &*self.policy;
        let (operation, attempt, listens) = (self.settings.name, ticket.attempt(), self.handler.listens());
        let elapsed = if listens { self.settings.notes.elapsed(now) } else { Default::default() };
        // The delay that the user chooses, if there is a choice (spec 7.17).
        let mut chosen = None;
        if listens && failure.kind != FailureKind::Permanent {
            chosen = self.handler.delay(&Failed { operation, attempt, elapsed, error, failure });
        }
        let mut step = match chosen {
            None => call.fail(policy, ticket, now, failure),
            Some(hint) => call.fail(&policy.with_exact_hints(), ticket, now, failure.with_hint(hint)),
        };
        if crate::switches::limits() {
            step = crate::switches::limited_step(call, ticket, now, step);
        }
        #[cfg(feature = "tracing")]
        if let Step::Sleep { until, cause } = step {
            crate::traced::retried(operation, attempt, failure, until.since(now).as_duration(), cause);
        }
        if listens {
            self.settings.notes.failure = Some(failure);
            if let Step::Sleep { until, cause } = step {
                let delay = until.since(now).as_duration();
                self.handler.retried(&Retried { operation, attempt, elapsed, error, failure, delay, cause });
            }
        }
        step
    }

    /// Takes a note of the beginning, if anybody listens.
    #[inline(always)]
    pub(crate) fn note_start(&mut self, clock: impl FnOnce(&S) -> Timestamp) {
        if self.handler.listens() {
            self.settings.notes.started = clock(&self.sleeper);
        }
        self.guards.note();
    }

    /// Tells the hook that an attempt succeeded, if anybody listens.
    #[inline(always)]
    pub(crate) fn tell_succeeded(&mut self, attempt: u32, clock: impl FnOnce(&S) -> Timestamp) {
        self.handler.end(false);
        if self.handler.listens() {
            let elapsed = self.settings.notes.elapsed(clock(&self.sleeper));
            self.handler.succeeded(&Succeeded { operation: self.settings.name, attempt, elapsed });
        }
    }

    /// The end of an operation that was cancelled before its first attempt.
    pub(crate) fn cancelled_at_once(&mut self, now: Timestamp) -> Stopped<O::Error> {
        self.note_start(|_| now);
        let (reason, retry_at) = (StopReason::Cancelled, Timestamp::NEVER);
        self.tell_gave_up(0, None, reason, retry_at, now);
        Stopped { error: None, reason, timed_out: false, attempts: 0, stopped_at: now, retry_at, shortage: None }
    }

    #[inline(always)]
    fn tell_gave_up(
        &mut self,
        attempt: u32,
        error: Option<&O::Error>,
        reason: StopReason,
        retry_at: Timestamp,
        now: Timestamp,
    ) {
        let retry_in = (!retry_at.is_never()).then(|| retry_at.since(now).as_duration());
        let (operation, Notes { failure, .. }) = (self.settings.name, self.settings.notes);
        #[cfg(feature = "tracing")]
        crate::traced::gave_up(operation, attempt, reason, retry_in);
        if self.handler.listens() {
            let elapsed = self.settings.notes.elapsed(now);
            self.handler.gave_up(&GaveUp { operation, attempt, elapsed, error, failure, reason, retry_in });
        }
    }

    /// The end for any step but an attempt: the value that the last attempt returned and the policy would not retry, or none.
    #[inline(always)]
    pub(crate) fn ended(
        &mut self,
        call: Option<&G::Call>,
        step: Step,
        refused: Option<O::Value>,
        error: Option<O::Error>,
        timed_out: bool,
        stopped_at: Timestamp,
    ) -> Result<O::Value, Stopped<O::Error>> {
        let (attempts, shortage) = call.map_or((1, None), |call| (call.attempts(), call.shortage()));
        let shortage = shortage.map(|shortage| Box::new(Spent { shortage, key: self.guards.key().into() }));
        let (reason, retry_at) = match step {
            Step::Stop(Outcome::GaveUp { reason, retry_at }) => (reason, retry_at),
            _ => (StopReason::Cancelled, Timestamp::NEVER),
        };
        if reason != StopReason::Cancelled {
            self.handler.end(true);
        }
        self.tell_gave_up(attempts, error.as_ref(), reason, retry_at, stopped_at);
        match refused {
            Some(value) if reason != StopReason::Cancelled => Ok(value),
            _ => Err(Stopped { error, reason, timed_out, attempts, stopped_at, retry_at, shortage }),
        }
    }
}

/// Calls that do not compile, each with a message of ours first: an operation that cannot fail, and options that are not built.
///
/// ```compile_fail,E0277
/// let _ = holdoff::retry(holdoff::Policy::default(), || 5);
/// ```
///
/// ```compile_fail,E0277
/// let _ = holdoff::retry(holdoff::Policy::options().attempts(3), || Ok::<_, ()>(5));
/// ```
#[cfg(doctest)]
struct MessagesOfTheCompiler;
