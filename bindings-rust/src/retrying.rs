//! The sentence a user writes: what to retry, by which policy, and how.

use crate::accept::{Accept, AnyValue, Unless};
use crate::cancel::CancelToken;
#[cfg(feature = "serde")]
use crate::classify::Ruled;
use crate::classify::{By, Classify, Everything, Known, When};
use crate::guarded::{CallGuards, DrivenCall, Guarded, Unguarded};
use crate::guards::SharedGuards;
use crate::hook::{Begun, Failed, GaveUp, Hook, NoHook, Retried, Succeeded};
use crate::operation::{Attempt, Informed, Operation, Returns, Simple};
use crate::sleeper::{Loop, System};
use crate::stopped::{Spent, Stopped};
#[cfg(feature = "serde")]
use holdoff_core::Document;
use holdoff_core::{Facts, Failure, FailureKind, Hint, Outcome, Policy, Step, StopReason, Ticket, Timestamp};
use std::borrow::{Borrow, Cow};
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;

/// Retries `operation` by `policy` until it succeeds or the policy says stop.
///
/// The operation returns a `Result` and the sentence ends with [`.call()`](Retrying::call), or it returns a future of one
/// and the sentence ends with `.await`. The policy is borrowed, or given (`Policy` is `Copy`) where the future has to be
/// `'static`.
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
/// .sleeper(holdoff::VirtualTime::new()) // or the machine's own time
/// .call();
/// assert_eq!(answer.unwrap(), 42);
/// # Ok::<(), holdoff::Error>(())
/// ```
#[inline]
pub fn retry<P, O, R, M>(policy: P, operation: O) -> Retrying<P, Simple<O>, R, R::Error>
where
    P: PolicyRef,
    O: FnMut() -> R,
    R: Returns<M>,
{
    Retrying::new(policy, Simple(operation))
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
/// .sleeper(holdoff::VirtualTime::new())
/// .call();
/// assert_eq!(answer.unwrap(), 3);
/// # Ok::<(), holdoff::Error>(())
/// ```
#[inline]
pub fn retry_with<P, O, R, M>(policy: P, operation: O) -> Retrying<P, Informed<O>, R, R::Error>
where
    P: PolicyRef,
    O: FnMut(Attempt) -> R,
    R: Returns<M>,
{
    Retrying::new(policy, Informed(operation))
}

/// A policy, borrowed or given.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a policy",
    label = "needs a `Policy` or a `&Policy`",
    note = "`.build()?` makes a policy of options; a `SharedPolicy` has a `retry` of its own"
)]
pub trait PolicyRef: Borrow<Policy> {}

impl PolicyRef for Policy {}
impl PolicyRef for &Policy {}
impl PolicyRef for &mut Policy {}
impl PolicyRef for Box<Policy> {}
impl PolicyRef for Rc<Policy> {}
impl PolicyRef for Arc<Policy> {}
impl PolicyRef for Cow<'_, Policy> {}

/// A retry that is being put into words; does nothing until [`Retrying::call`] or `.await`.
#[must_use = "nothing runs until `.call()` or `.await`"]
#[derive(Debug)]
pub struct Retrying<P, O, R, E, C = Everything, H = NoHook, S = System, V = AnyValue, G = Unguarded> {
    pub(crate) policy: P,
    pub(crate) operation: O,
    pub(crate) classifier: C,
    pub(crate) hook: H,
    pub(crate) sleeper: S,
    pub(crate) values: V,
    pub(crate) seed: Option<u64>,
    pub(crate) cancel: Option<CancelToken>,
    pub(crate) guards: G,
    pub(crate) returns: PhantomData<fn() -> (R, E)>,
}

impl<P, O, R, E> Retrying<P, O, R, E> {
    #[inline(always)]
    const fn new(policy: P, operation: O) -> Self {
        Self::with_guards(policy, operation, Unguarded)
    }
}

impl<P, O, R, E, G> Retrying<P, O, R, E, Everything, NoHook, System, AnyValue, G> {
    #[inline(always)]
    pub(crate) const fn with_guards(policy: P, operation: O, guards: G) -> Self {
        let (classifier, hook, sleeper, values) = (Everything, NoHook, System, AnyValue);
        let (seed, cancel, returns) = (None, None, PhantomData);
        Self { policy, operation, classifier, hook, sleeper, values, seed, cancel, guards, returns }
    }
}

impl<P, O, R, E, C, H, S, V, G> Retrying<P, O, R, E, C, H, S, V, G> {
    /// Retries only the errors for which `predicate` is true; the others are permanent.
    ///
    /// With [`Retrying::classify`] before it, that one decides about the errors this one lets pass.
    #[inline]
    pub fn when<F: FnMut(&E) -> bool>(self, predicate: F) -> Retrying<P, O, R, E, When<C, F>, H, S, V, G> {
        let classifier = When { rest: self.classifier, predicate };
        let Self { policy, operation, hook, sleeper, values, seed, cancel, guards, returns, .. } = self;
        Retrying { policy, operation, classifier, hook, sleeper, values, seed, cancel, guards, returns }
    }

    /// Says what each error is: its kind and what the server said about when to come back. Every error is transient
    /// unless said otherwise. See [`io_failure`](crate::io_failure) and [`Failure::from_http`] for two ready ones.
    #[inline]
    pub fn classify<F: FnMut(&E) -> Failure>(self, classifier: F) -> Retrying<P, O, R, E, By<F>, H, S, V, G> {
        let classifier = By(classifier);
        let Self { policy, operation, hook, sleeper, values, seed, cancel, guards, returns, .. } = self;
        Retrying { policy, operation, classifier, hook, sleeper, values, seed, cancel, guards, returns }
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
    pub fn facts<F: FnMut(&E) -> Facts>(self, facts: F) -> Retrying<P, O, R, E, Known<C, F>, H, S, V, G> {
        let classifier = Known { rest: self.classifier, facts };
        let Self { policy, operation, hook, sleeper, values, seed, cancel, guards, returns, .. } = self;
        Retrying { policy, operation, classifier, hook, sleeper, values, seed, cancel, guards, returns }
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
    /// .sleeper(holdoff::VirtualTime::new())
    /// .call();
    /// assert_eq!(answer.unwrap_err().attempts(), 3);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[cfg(feature = "serde")]
    #[inline]
    pub fn rules<F: FnMut(&E) -> Facts>(
        self,
        document: &Document,
        facts: F,
    ) -> Retrying<P, O, R, E, Ruled<'_, C, F>, H, S, V, G> {
        let Document { rules, texts, .. } = document;
        let classifier = Ruled { rest: self.classifier, rules, texts, facts };
        let Self { policy, operation, hook, sleeper, values, seed, cancel, guards, returns, .. } = self;
        Retrying { policy, operation, classifier, hook, sleeper, values, seed, cancel, guards, returns }
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
    /// use holdoff::{Failure, Policy, VirtualTime};
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
    #[expect(
        clippy::type_complexity,
        reason = "each part of the sentence is a parameter, and this one has parts itself"
    )]
    #[inline]
    pub fn when_result<F, M>(self, predicate: F) -> Retrying<P, O, R, E, C, H, S, Unless<V, F, R::Value>, G>
    where
        R: Returns<M>,
        F: FnMut(&R::Value) -> Option<Failure>,
    {
        let values = Unless { rest: self.values, predicate, refused: None };
        let Self { policy, operation, classifier, hook, sleeper, seed, cancel, guards, returns, .. } = self;
        Retrying { policy, operation, classifier, hook, sleeper, values, seed, cancel, guards, returns }
    }

    /// Waits with another sleeper, by its clock: [`VirtualTime`](crate::VirtualTime) in tests, another runtime's timer in
    /// async programs.
    #[inline]
    pub fn sleeper<T>(self, sleeper: T) -> Retrying<P, O, R, E, C, H, T, V, G> {
        let Self { policy, operation, classifier, hook, values, seed, cancel, guards, returns, .. } = self;
        Retrying { policy, operation, classifier, hook, sleeper, values, seed, cancel, guards, returns }
    }

    /// Repeats a run: the same seed, policy and failures at the same times give the same decisions in every language.
    /// Without it the seed comes from [`seed`](crate::seed()), or else it is random.
    #[inline]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Stops, with [`StopReason::Cancelled`], when the token is cancelled: at once while it sleeps, and at once during an
    /// async attempt, which is dropped; a blocking attempt ends first.
    #[inline]
    pub fn cancel(mut self, token: &CancelToken) -> Self {
        self.cancel = Some(token.clone());
        self
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(CancelToken::is_cancelled)
    }
}

impl<P, O, R, E, C, H, S, V> Retrying<P, O, R, E, C, H, S, V> {
    /// Runs it under guards that it shares with every other call that has them, borrowed, or given (a clone is the same
    /// guards) where the future has to be `'static`.
    ///
    /// A guard may refuse the first attempt, too: then [`Stopped::attempts`] is 0 and there is no error.
    #[inline]
    pub fn guards<B: Borrow<SharedGuards>>(self, guards: B) -> Retrying<P, O, R, E, C, H, S, V, Guarded<B>> {
        let guards = Guarded::new(guards);
        let Self { policy, operation, classifier, hook, sleeper, values, seed, cancel, returns, .. } = self;
        Retrying { policy, operation, classifier, hook, sleeper, values, seed, cancel, guards, returns }
    }
}

/// The parts that the blocking loop and the async loop share.
impl<P, O, R, E, C, H, S, V, G> Retrying<P, O, R, E, C, H, S, V, G>
where
    P: Borrow<Policy>,
    O: Operation<R>,
    C: Classify<E>,
    H: Hook<E>,
    G: CallGuards,
{
    /// The first attempt of a call that is not made yet: no clock unless the policy counts from there.
    #[inline(always)]
    pub(crate) fn first_attempt(&self, clock: impl FnOnce(&S) -> Timestamp) -> (Option<Timestamp>, Attempt) {
        let policy = self.policy.borrow();
        if !policy.is_timed() {
            return (None, Attempt::new(1, Timestamp::NEVER, Timestamp::ZERO));
        }
        let now = clock(&self.sleeper);
        // No time, if it lies behind the last instant (spec 1.4).
        let abort_at = policy.first_limit().map_or(u64::MAX, |limit| now.as_nanos().saturating_add(limit.as_nanos()));
        (Some(now), Attempt::new(1, Timestamp::from_nanos(abort_at), now))
    }

    /// Begins the call.
    #[inline(always)]
    pub(crate) fn begin(&mut self, host: Loop, now: Timestamp) -> (G::Call, Step) {
        let seed = self.seed.unwrap_or_else(|| crate::seed::next(now));
        self.guards.begin(self.policy.borrow(), host, seed, now)
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
        error: Option<&E>,
        known: Option<Failure>,
        last: impl FnOnce(),
    ) -> Step {
        if self.is_cancelled() {
            last();
            return call.cancel(now);
        }
        let (error, failure) = match (error, known) {
            (Some(error), None) => (Some(error), self.classifier.classify(error)),
            (_, known) => (None, known.unwrap_or(Failure::TIMEOUT)),
        };
        let failure = self.operation.judge(ticket.attempt(), failure);
        if failure.kind == FailureKind::Permanent {
            last();
        }
        let mut step = match self.chosen_delay(ticket.attempt(), now, error, failure) {
            None => call.fail(self.policy.borrow(), ticket, now, failure),
            Some(hint) => call.fail(&self.policy.borrow().with_exact_hints(), ticket, now, failure.with_hint(hint)),
        };
        if crate::switches::limits() {
            step = crate::switches::limited_step(call, ticket, now, step);
        }
        #[cfg(feature = "tracing")]
        if let Step::Sleep { until, cause } = step {
            let delay = until.since(now).as_duration();
            crate::traced::retried(self.operation.name(), ticket.attempt(), failure, delay, cause);
        }
        if let Some(notes) = self.hook.notes() {
            notes.failure = Some(failure);
            if let Step::Sleep { until, cause } = step {
                let (elapsed, delay) = (notes.elapsed(now), until.since(now).as_duration());
                let (operation, attempt) = (self.operation.name(), ticket.attempt());
                self.hook.retried(&Retried { operation, attempt, elapsed, error, failure, delay, cause });
            }
        }
        step
    }

    /// The delay that the user chooses, if there is a choice (spec 7.17).
    #[inline(always)]
    fn chosen_delay(&mut self, attempt: u32, now: Timestamp, error: Option<&E>, failure: Failure) -> Option<Hint> {
        let elapsed = self.hook.notes().filter(|_| failure.kind != FailureKind::Permanent)?.elapsed(now);
        self.hook.delay(&Failed { operation: self.operation.name(), attempt, elapsed, error, failure })
    }

    /// Takes a note of the beginning, if anybody listens.
    #[inline(always)]
    pub(crate) fn note_start(&mut self, clock: impl FnOnce(&S) -> Timestamp) {
        if let Some(notes) = self.hook.notes() {
            notes.started = clock(&self.sleeper);
        }
    }

    /// Tells the hook that an attempt begins, if anybody listens.
    #[inline(always)]
    pub(crate) fn tell_begun(&mut self, attempt: u32, clock: impl FnOnce(&S) -> Timestamp) {
        if let Some(notes) = self.hook.notes() {
            let elapsed = notes.elapsed(clock(&self.sleeper));
            self.hook.begun(&Begun { operation: self.operation.name(), attempt, elapsed });
        }
    }

    /// Tells the hook that an attempt succeeded, if anybody listens.
    #[inline(always)]
    pub(crate) fn tell_succeeded(&mut self, attempt: u32, clock: impl FnOnce(&S) -> Timestamp) {
        self.operation.end(false);
        if let Some(notes) = self.hook.notes() {
            let elapsed = notes.elapsed(clock(&self.sleeper));
            self.hook.succeeded(&Succeeded { operation: self.operation.name(), attempt, elapsed });
        }
    }

    /// The end of an operation that was cancelled before its first attempt.
    pub(crate) fn cancelled_at_once(&mut self, now: Timestamp) -> Stopped<E> {
        self.note_start(|_| now);
        let (reason, retry_at) = (StopReason::Cancelled, Timestamp::NEVER);
        self.tell_gave_up(0, None, reason, retry_at, now);
        Stopped { error: None, reason, timed_out: false, attempts: 0, stopped_at: now, retry_at, shortage: None }
    }

    #[inline(always)]
    fn tell_gave_up(
        &mut self,
        attempt: u32,
        error: Option<&E>,
        reason: StopReason,
        retry_at: Timestamp,
        now: Timestamp,
    ) {
        let retry_in = (!retry_at.is_never()).then(|| retry_at.since(now).as_duration());
        #[cfg(feature = "tracing")]
        crate::traced::gave_up(self.operation.name(), attempt, reason, retry_in);
        if let Some(notes) = self.hook.notes() {
            let (elapsed, failure) = (notes.elapsed(now), notes.failure);
            let operation = self.operation.name();
            self.hook.gave_up(&GaveUp { operation, attempt, elapsed, error, failure, reason, retry_in });
        }
    }

    /// The end for any step but an attempt: the value that the last attempt returned and the policy would not retry, or none.
    #[inline(always)]
    pub(crate) fn ended<T>(
        &mut self,
        call: Option<&G::Call>,
        step: Step,
        error: Option<E>,
        timed_out: bool,
        stopped_at: Timestamp,
    ) -> Result<T, Stopped<E>>
    where
        V: Accept<T>,
    {
        let (attempts, shortage) = call.map_or((1, None), |call| (call.attempts(), call.shortage()));
        let shortage = shortage.map(|shortage| Box::new(Spent { shortage, key: self.guards.key().into() }));
        let (reason, retry_at) = match step {
            Step::Stop(Outcome::GaveUp { reason, retry_at }) => (reason, retry_at),
            _ => (StopReason::Cancelled, Timestamp::NEVER),
        };
        if reason != StopReason::Cancelled {
            self.operation.end(true);
        }
        self.tell_gave_up(attempts, error.as_ref(), reason, retry_at, stopped_at);
        match self.values.take() {
            Some(value) if reason != StopReason::Cancelled => Ok(value),
            _ => Err(Stopped { error, reason, timed_out, attempts, stopped_at, retry_at, shortage }),
        }
    }
}

/// Sentences that do not compile, each with a message of ours first: an operation that cannot fail, and options that are not built.
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
