//! One operation: the work of every loop, blocking, asynchronous or the user's own, between two attempts.

use crate::classify::Judged;
use crate::guards::notify::Waiting;
use crate::outcome::{self, Outcome};
use crate::retrying::{GIVE_UP, RETRY, Retrying, SUCCESS};
use crate::{classify, clock, context, seeds, testing};
use holdoff_core::{
    BreakerState, DeadlineFrom, Failure, FailureKind, GuardedCall, Nesting, Permit, Shortage, Span, Step, StopReason,
    Ticket, Timestamp, Token,
};
use pyo3::exceptions::PyTimeoutError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

mod body;
pub(crate) mod events;
mod failed;
mod methods;

use failed::Failed;

/// One operation.
///
/// # Contract
/// Call `begin` once, and `cancel` on every way out. Before an attempt call `resume` until it returns no more seconds to wait; then
/// run the attempt, unless `over` is true: then return `result`. After an attempt call `fail` if it raised, `reject` if it
/// returned. The machine is made at the first failure; under guards it is made in `begin`.
#[pyclass(module = "holdoff._holdoff")]
pub(crate) struct Operation {
    settings: Py<Retrying>,
    /// The function and its arguments, for events.
    pub(crate) about: Option<Py<PyTuple>>,
    /// The time of the beginning; none without hooks and listeners.
    began: Option<Timestamp>,
    /// A change of the breaker that is not told yet, and its time.
    changed: Option<(BreakerState, BreakerState, Timestamp)>,
    /// The number of the latest attempt that was told.
    reported: u32,
    /// True if hooks may be asynchronous.
    asynchronous: bool,
    /// The answers of asynchronous hooks.
    awaited: Option<Py<PyAny>>,
    /// Made at the first failure; under guards, in `begin`.
    call: Option<GuardedCall>,
    /// The number of the latest refusal of the loop's budgets when it began.
    noted: u32,
    /// The policy of this operation, where a limit or a retry around it changes the policy.
    own_policy: Option<Box<holdoff_core::Policy>>,
    around: Option<Around>,
    /// True once `around` is known.
    looked: bool,
    /// The time before the first attempt, if it has a limit.
    started: Option<Timestamp>,
    begun: bool,
    pub(crate) abort_at: Timestamp,
    /// When to ask for another attempt beside the running ones.
    wake_at: Timestamp,
    /// It is not yet time for an attempt.
    asleep: bool,
    /// The end of the sleep.
    until: Timestamp,
    /// The user's own sleep was called for it.
    slept: bool,
    /// The time of the operation minus that of the clock, after sleeps of the user's own.
    offset: Span,
    /// While the call waits for others: how.
    waiting: Option<Waiting>,
    /// The outcome is known and the last error is about to be raised.
    pub(crate) gave_up: bool,
    /// The last failure while it may be needed: the traceback of an error holds the frames that hold the operation.
    last: Option<Failed>,
    /// The kind of the last failure.
    failure: Option<Failure>,
    /// No attempt follows a value that failed.
    over: bool,
}

/// The end with reason `body` (spec 10.11).
const UNSENT: Step = Step::Stop(holdoff_core::Outcome::GaveUp { reason: StopReason::Body, retry_at: Timestamp::NEVER });

/// The retry around an operation.
struct Around {
    nesting: Option<Nesting>,
    parent: Option<Token>,
    /// The address of the error that the caller handles: every error of the operation has it as its context.
    handled: usize,
}

/// The next action when an attempt has ended.
pub(crate) enum Next {
    /// A sleep, decided at that time.
    Sleep(Timestamp),
    /// Another attempt, beside the running ones.
    Attempt,
    /// Others still run.
    Wait,
    /// The end.
    Stop,
}

impl Next {
    const fn word(self) -> &'static str {
        match self {
            Self::Sleep(_) => "sleep",
            Self::Attempt => "attempt",
            Self::Wait => "wait",
            Self::Stop => "stop",
        }
    }
}

impl Operation {
    /// An operation. `noted` is the number of the latest refusal of its budgets when it began.
    pub(crate) fn of(settings: Py<Retrying>, noted: u32) -> Self {
        Self {
            settings,
            noted,
            about: None,
            began: None,
            changed: None,
            reported: 0,
            asynchronous: false,
            awaited: None,
            call: None,
            own_policy: None,
            around: None,
            looked: false,
            started: None,
            begun: false,
            abort_at: Timestamp::NEVER,
            wake_at: Timestamp::NEVER,
            asleep: false,
            until: Timestamp::ZERO,
            slept: false,
            offset: Span::ZERO,
            waiting: None,
            gave_up: false,
            last: None,
            failure: None,
            over: false,
        }
    }

    /// The time of the operation.
    pub(crate) fn now(&self, py: Python<'_>) -> PyResult<Timestamp> {
        clock::now(py).map(|now| now.after(self.offset))
    }

    /// The operation, for another loop to continue.
    pub(crate) fn handed_on<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, Self>> {
        let rest = Self::of(self.settings.clone_ref(py), self.noted);
        Bound::new(py, std::mem::replace(self, rest))
    }

    /// The token that this attempt hands down to the retries inside it.
    pub(crate) fn token_inside(&self) -> Option<Token> {
        let around = self.around.as_ref()?;
        around.nesting?;
        let attempts = self.policy().attempts().unwrap_or(u32::MAX);
        Some(Token::child(around.parent, self.attempts().max(1), attempts))
    }

    /// The policy of this operation.
    fn policy(&self) -> &holdoff_core::Policy {
        self.own_policy.as_deref().unwrap_or_else(|| self.settings.get().core())
    }

    /// When waits for the user's own functions end: a deadline that does not count from the start counts from now.
    pub(crate) fn deadline(&self, py: Python<'_>) -> PyResult<Timestamp> {
        let policy = self.policy();
        let Some(length) = policy.deadline() else { return Ok(Timestamp::NEVER) };
        let from_start = policy.deadline_from() == DeadlineFrom::Start && policy.reset_after().is_none();
        let start = if from_start { self.started.or(self.began) } else { None };
        let at = start.map_or_else(|| self.now(py), Ok)?.after(length);
        Ok(Timestamp::from_nanos(at.as_nanos().saturating_sub(self.offset.as_nanos())))
    }

    /// Adapts the policy to the limit and the retry around the operation, which started at that time, or starts now.
    fn look_around(&mut self, py: Python<'_>, started: Option<Timestamp>) -> PyResult<()> {
        if std::mem::replace(&mut self.looked, true) {
            return Ok(());
        }
        let settings = self.settings.get();
        let (nesting, limit) = (settings.policy.get().nesting, context::limits(py)?.nearest);
        let looks_inside = nesting.is_some() || outcome::has_innermost();
        if !looks_inside && limit.is_never() {
            return Ok(());
        }
        let handled = if looks_inside { outcome::handled(py)? } else { 0 };
        let mut around = Around { nesting, parent: None, handled };
        if let Some(nesting) = nesting {
            around.parent = context::handed(py)?;
            let own = settings.core().attempts().unwrap_or(u32::MAX);
            let most = nesting.attempts(around.parent, own);
            if most != own {
                self.own_policy = Some(Box::new(settings.core().with_attempts(most)));
            }
        }
        if !limit.is_never() {
            let started = started.map_or_else(|| self.now(py), Ok)?;
            self.own_policy = Some(Box::new((*self.policy()).within(limit.since(started))));
            self.started = Some(started);
        }
        self.around = Some(around);
        Ok(())
    }

    /// True if the call has permits or tokens of guards.
    fn is_guarded(&self) -> bool {
        let settings = self.settings.get();
        self.call.is_some() && (settings.guards.is_some() || settings.budgets.is_some())
    }

    /// Runs one transition of the call at `now` with its guards, under the policy of this operation.
    fn transition<T>(
        &mut self,
        py: Python<'_>,
        now: Timestamp,
        run: impl FnOnce(&mut GuardedCall, &holdoff_core::Policy, &mut holdoff_core::Guards<'_>) -> T,
    ) -> Option<T> {
        let settings = self.settings.get();
        let policy = self.own_policy.as_deref().unwrap_or_else(|| settings.core());
        let call = self.call.as_mut()?;
        let answer = settings.with_guards(py, now, |guards| run(call, policy, guards));
        self.notice_breaker(now);
        Some(answer)
    }

    /// The first attempt is about to run.
    pub(crate) fn first(&mut self, py: Python<'_>) -> PyResult<()> {
        self.stop_if_cancelled(py)?;
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        if self.settings.get().is_heard() {
            self.began = Some(self.now(py)?);
        }
        self.look_around(py, None)?;
        let settings = self.settings.clone_ref(py);
        let settings = settings.get();
        if let Some(guards) = &settings.guards {
            let seed = settings.seed.map_or_else(seeds::next, Ok)?;
            let now = self.started.map_or_else(|| self.now(py), Ok)?;
            let seen = guards.get().counts();
            let policy = self.policy();
            let (call, step) = settings.with_guards(py, now, |guards| GuardedCall::begin(policy, guards, seed, now));
            self.call = Some(call);
            self.notice_breaker(now);
            return match step {
                Step::Stop(_) => Err(self.refused(py, step)),
                step => {
                    self.follow(step, seen);
                    Ok(())
                }
            };
        }
        (self.started, self.abort_at) = Retrying::limit(py, self.policy(), self.started)?;
        Ok(())
    }

    /// Stores the times of a step; the counts of the guards' waiters are from before it.
    fn follow(&mut self, step: Step, seen: [u64; 4]) {
        self.waiting = None;
        match step {
            Step::Attempt { abort_at, wake_at, .. } => {
                (self.asleep, self.abort_at, self.wake_at) = (false, abort_at, wake_at);
            }
            Step::Sleep { until, .. } => {
                (self.asleep, self.wake_at, self.until) = (true, Timestamp::NEVER, until);
                let (settings, call) = (self.settings.get(), self.call.as_ref());
                let set = settings.guards.as_ref().zip(call);
                // A replaced time or sleep cannot be woken, and a turn at a rate has its time.
                let is_replaced = settings.sleep.is_some() || clock::is_overridden();
                let waiting = set.and_then(|(set, call)| set.get().waiting(call, seen));
                self.waiting = waiting.filter(|waiting| !(waiting.timed && is_replaced));
            }
            Step::Wait { until } => self.wake_at = until,
            Step::Stop(_) => {}
        }
    }

    /// The error of a call that a guard stopped before any other error.
    fn refused(&mut self, py: Python<'_>, step: Step) -> PyErr {
        let Step::Stop(holdoff_core::Outcome::GaveUp { reason, retry_at }) = step else {
            return self.cancelled(py).map_or_else(|error| error, PyErr::from_value);
        };
        outcome::refused(py, reason, retry_at, self.now(py).unwrap_or(retry_at))
            .and_then(|error| {
                self.settle(py, &Failed::Error(error.clone().unbind()), step, None)?;
                Ok(PyErr::from_value(error))
            })
            .unwrap_or_else(|error| error)
    }

    /// Sleeps in this thread until the next attempt is due.
    pub(crate) fn wait_until_due(&mut self, py: Python<'_>, mut now: Option<Timestamp>) -> PyResult<()> {
        while let Some(length) = self.woken(py, now.take())? {
            let cancel = self.settings.get().cancel.as_ref().map(|token| token.bind(py));
            let sleep = self.settings.get().sleep.as_ref();
            clock::wait(py, length, cancel, self.waiting.as_ref(), sleep)
                .map_err(|error| self.interrupted(py, error))?;
        }
        Ok(())
    }

    /// Gives all permits back to the guards.
    pub(crate) fn release(&mut self, py: Python<'_>) {
        if self.is_guarded() {
            // The machine reads a time before its latest one as the latest.
            self.transition(py, Timestamp::ZERO, |call, _, guards| call.cancel(guards, Timestamp::ZERO));
        }
    }

    /// The attempt with this ticket failed, the latest one by default: its limit cancelled it, if it `timed_out`; the latest retry in
    /// it ended without a success, if that `gave_up`. At the end raise the error, which carries the outcome.
    pub(crate) fn failed(
        &mut self,
        error: &Bound<'_, PyAny>,
        timed_out: bool,
        gave_up: bool,
        ticket: Option<Ticket>,
    ) -> PyResult<Next> {
        let py = error.py();
        let failed = Failed::Error(error.clone().unbind());
        let earlier = self.last.replace(failed.clone_ref(py));
        self.begun = true;
        self.stop_if_cancelled(py)?;
        if self.attempts() > 1 && classify::is_used_body(error)? {
            return self.stop_unsent(py, earlier.unwrap_or(failed), ticket);
        }
        // A blocking attempt ends at its limit by a timeout of its own.
        let timed_out = timed_out
            || !self.abort_at.is_never()
                && error.is_exact_instance_of::<PyTimeoutError>()
                && self.abort_at <= self.now(py)?;
        let judged =
            classify::classify(error, timed_out, self.settings.get()).map_err(|own| failed.in_context(py, own))?;
        if matches!(judged, Judged::ControlFlow) {
            self.last = None;
            self.release(py);
            return Ok(Next::Stop);
        }
        let failure = judged.failure().map(|failure| self.after_inner(error, failure, gave_up)).transpose()?;
        self.decide(py, &failed, failure, ticket).map_err(|own| failed.in_context(py, own))
    }

    /// The failure after a retry inside the attempt (spec 30.4).
    fn after_inner(&self, failed: &Bound<'_, PyAny>, failure: Failure, gave_up: bool) -> PyResult<Failure> {
        let around = self.around.as_ref();
        let nesting = around.and_then(|around| around.nesting);
        let gave_up = match around {
            Some(Around { nesting: Some(_), handled, .. }) => gave_up || outcome::gave_up(failed, *handled, false)?,
            _ if !outcome::has_innermost() => false,
            Some(around) => outcome::gave_up(failed, around.handled, true)?,
            None => {
                // At the end of a block the caller handles the error itself.
                let handled = outcome::handled(failed.py())?;
                outcome::gave_up(failed, if handled == failed.as_ptr() as usize { 0 } else { handled }, true)?
            }
        };
        Ok(if gave_up { nesting.unwrap_or(Nesting::Innermost).after_inner(failure) } else { failure })
    }

    /// The same for an attempt that returned. At the end the value is the result.
    pub(crate) fn rejected(
        &mut self,
        value: &Bound<'_, PyAny>,
        gave_up: bool,
        ticket: Option<Ticket>,
    ) -> PyResult<Next> {
        let py = value.py();
        self.last = None;
        self.begun = true;
        let Some(failure) = classify::classify_value(value, self.settings.get())? else {
            self.succeeded(ticket, value)?;
            return Ok(Next::Stop);
        };
        self.stop_if_cancelled(py)?;
        let failed = Failed::Value(value.clone().unbind());
        self.last = Some(failed.clone_ref(py));
        let failure = self.after_inner(value, failure, gave_up)?;
        self.decide(py, &failed, Some(failure), ticket)
    }

    /// An attempt succeeded, the latest one by default.
    pub(crate) fn succeeded(&mut self, ticket: Option<Ticket>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = value.py();
        self.last = None;
        let attempt = ticket.map_or_else(|| self.attempts(), |ticket| ticket.attempt());
        if self.is_guarded() {
            let now = self.now(py)?;
            self.transition(py, now, |call, _, guards| {
                call.succeed(guards, ticket.unwrap_or_else(|| latest(call)), now)
            });
            // It holds nothing of the guards any more.
            self.call = None;
        } else {
            self.settings.get().succeeded_at_once(py)?;
        }
        context::retry_ended(py, false)?;
        self.tell(py, SUCCESS, attempt, None, |fields| fields.set_item("value", value))
    }

    /// Decides on a failure; `None` is an error of the program itself.
    fn decide(
        &mut self,
        py: Python<'_>,
        failed: &Failed,
        failure: Option<Failure>,
        ticket: Option<Ticket>,
    ) -> PyResult<Next> {
        let settings = self.settings.clone_ref(py);
        let settings = settings.get();
        let now = self.now(py)?;
        if self.call.is_none() {
            self.look_around(py, Some(self.started.unwrap_or(now)))?;
            let seed = settings.seed.map_or_else(seeds::next, Ok)?;
            // Without guards the permit is not read.
            let call = GuardedCall::underway(seed, self.started.unwrap_or(now), Permit::from_raw(0));
            self.call = Some(call.noting(self.noted));
        }
        let seen = settings.guards.as_ref().map(|guards| guards.get().counts()).unwrap_or_default();
        let asked = ticket.map_or_else(|| self.attempts(), |ticket| ticket.attempt());
        let (failure, is_exact) = self.ask_delay(py, failed, failure, asked, now)?;
        let known = failure.unwrap_or(holdoff_core::Failure::PERMANENT);
        self.failure = Some(known);
        let mut exact = is_exact.then(|| self.policy().with_exact_hints());
        let policy = exact.as_ref().unwrap_or_else(|| self.policy());
        let goes_on = known.kind != FailureKind::Permanent && policy.attempts().is_none_or(|most| most > asked);
        let is_unsent = goes_on && self.has_used_body(py)?;
        if is_unsent {
            exact = Some(policy.with_attempts(asked));
        }
        let decided = self.transition(py, now, |call, policy, guards| {
            let ticket = ticket.unwrap_or_else(|| latest(call));
            let step = match failure {
                Some(failure) => call.fail(exact.as_ref().unwrap_or(policy), guards, ticket, now, failure),
                None => call.abandon(guards, ticket, now),
            };
            let refused = matches!(step, Step::Stop(holdoff_core::Outcome::GaveUp { reason: StopReason::Budget, .. }));
            let budget = guards.budget.as_ref().filter(|_| refused);
            (ticket.attempt(), step, budget.and_then(|(config, budget)| budget.shortage(config, now, known.kind)))
        });
        let Some((attempt, step, shortage)) = decided else { return Ok(Next::Stop) };
        let step = if matches!(step, Step::Sleep { .. } | Step::Attempt { .. }) && testing::is_last(attempt) {
            self.release(py);
            Step::Stop(holdoff_core::Outcome::GaveUp { reason: StopReason::Attempts, retry_at: Timestamp::NEVER })
        } else if is_unsent
            && matches!(step, Step::Stop(holdoff_core::Outcome::GaveUp { reason: StopReason::Attempts, .. }))
        {
            UNSENT
        } else {
            step
        };
        self.follow(step, seen);
        match step {
            Step::Sleep { until, cause } => {
                self.tell(py, RETRY, attempt, Some(now), |fields| {
                    failed.describe(fields, Some(known))?;
                    fields.set_item("delay_ns", until.since(now).as_nanos())?;
                    fields.set_item("cause", cause.name())
                })?;
                Ok(Next::Sleep(now))
            }
            Step::Attempt { .. } => {
                self.discard_answer(py, failed)?;
                self.tell_attempt(py).map(|()| Next::Attempt)
            }
            Step::Wait { .. } => self.discard_answer(py, failed).map(|_| Next::Wait),
            step => {
                self.last = None;
                self.settle(py, failed, step, shortage).map(|()| Next::Stop)
            }
        }
    }

    /// The time to wait before the next attempt; none when it runs now. When the wait took too long for another attempt the
    /// last error is raised, or the last value is the result. Without `now` it reads the clock.
    pub(crate) fn woken(&mut self, py: Python<'_>, now: Option<Timestamp>) -> PyResult<Option<Span>> {
        self.stop_if_cancelled(py)?;
        if !self.asleep {
            return self.tell_attempt(py).map(|()| None);
        }
        let seen = self.settings.get().guards.as_ref().map(|guards| guards.get().counts()).unwrap_or_default();
        let mut now = now.map_or_else(|| self.now(py), Ok)?;
        if std::mem::take(&mut self.slept) {
            // After a sleep of the user's own the time has come, whatever the clock says.
            self.offset = Span::from_nanos(self.offset.as_nanos().saturating_add(self.until.since(now).as_nanos()));
            now = now.max(self.until);
        }
        // Without guards only time ends a sleep.
        let left = self.call.as_ref().map_or(Span::ZERO, |call| call.remaining(now));
        if left > Span::ZERO && self.settings.get().guards.is_none() {
            self.slept = self.settings.get().sleep.is_some();
            return Ok(Some(left));
        }
        let ticked =
            self.transition(py, now, |call, policy, guards| (call.tick(policy, guards, now), call.remaining(now)));
        let Some((step, remaining)) = ticked else { return Ok(None) };
        self.follow(step, seen);
        match step {
            Step::Sleep { .. } => {
                self.slept = self.settings.get().sleep.is_some() && self.waiting.is_none();
                Ok(Some(remaining))
            }
            Step::Attempt { .. } => {
                self.discard_last(py)?;
                self.tell_attempt(py).map(|()| None)
            }
            step => match self.last.take() {
                Some(failed) => {
                    self.settle(py, &failed, step, None)?;
                    self.come_out(py, failed).map(|()| None)
                }
                None if matches!(step, Step::Stop(_)) => Err(self.refused(py, step)),
                None => Ok(None),
            },
        }
    }

    /// The failed value that is the result, because the wait took too long for another attempt.
    pub(crate) fn ended<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        let last = self.last.as_ref().filter(|_| self.over)?;
        last.value().map(|value| value.bind(py).clone())
    }

    /// Attaches the outcome of a final step to the error, and calls the hook.
    fn settle(&mut self, py: Python<'_>, failed: &Failed, step: Step, shortage: Option<Shortage>) -> PyResult<()> {
        let Step::Stop(holdoff_core::Outcome::GaveUp { reason, retry_at }) = step else { return Ok(()) };
        context::retry_ended(py, true)?;
        let settings = self.settings.get();
        let key = if settings.budgets.is_some() { settings.key.as_str() } else { "" };
        let details = shortage.map(|shortage| shortage.of_key(key).to_string());
        let innermost = settings.policy.get().nesting == Some(Nesting::Innermost);
        let outcome = Outcome { reason, attempts: self.attempts(), retry_at, details, innermost }.noted();
        self.end(py, failed, outcome).map_err(|own| failed.in_context(py, own))?;
        self.gave_up = matches!(failed, Failed::Error(_));
        Ok(())
    }

    fn end(&mut self, py: Python<'_>, failed: &Failed, outcome: Outcome) -> PyResult<()> {
        match failed {
            Failed::Error(error) => outcome::attach(error.bind(py), outcome.clone())?,
            Failed::Value(value) => outcome::remember(value.bind(py), outcome.clone())?,
        }
        let failure = self.failure;
        self.tell(py, GIVE_UP, outcome.attempts, None, |fields| {
            failed.describe(fields, failure)?;
            fields.set_item("outcome", Bound::new(py, outcome)?)
        })
    }

    pub(crate) fn attempts(&self) -> u32 {
        match &self.call {
            Some(call) => call.attempt(),
            None if self.begun => Ticket::FIRST.attempt(),
            None => 0,
        }
    }

    fn stop_if_cancelled(&mut self, py: Python<'_>) -> PyResult<()> {
        let cancelled = match &self.settings.get().cancel {
            Some(token) => token.bind(py).getattr(intern!(py, "_cancelled"))?.is_truthy()?,
            None => false,
        };
        if cancelled { Err(PyErr::from_value(self.cancelled(py)?)) } else { Ok(()) }
    }

    /// An interrupt of a wait has the last error as its context.
    pub(crate) fn interrupted(&self, py: Python<'_>, by: PyErr) -> PyErr {
        match &self.last {
            Some(failed) => failed.in_context(py, by),
            None => by,
        }
    }
}

/// An operation that is dropped gives its permits back.
impl Drop for Operation {
    fn drop(&mut self) {
        if self.is_guarded() {
            Python::try_attach(|py| {
                // An error may be set while the operation is dropped; waiters run Python code, which must not see that error.
                let unwinding = PyErr::take(py);
                self.release(py);
                if let Some(error) = unwinding {
                    error.restore(py);
                }
            });
        }
    }
}

/// The ticket of the latest attempt.
fn latest(call: &GuardedCall) -> Ticket {
    Ticket::from_raw(u64::from(call.attempt()))
}
