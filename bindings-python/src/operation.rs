//! One operation under way: what every loop, native, awaiting or written by the user, does between two attempts.

use crate::guards::notify::Notify;
use crate::guards::set::Guards;
use crate::outcome::{self, Outcome};
use crate::retrying::Retrying;
use crate::{classify, clock, seeds};
use holdoff_core::{Call, Cause, GuardedCall, Nesting, Permit, Span, Step, Ticket, Timestamp, Token};
use pyo3::exceptions::PyException;
use pyo3::intern;
use pyo3::prelude::*;

mod failed;
mod methods;

use failed::Failed;
pub(crate) use failed::RetryEvent;

/// One operation under way.
///
/// # Contract
/// `begin` once; then for each attempt that raises `fail`, for each that returns `reject`, and when that says there will be
/// another, `resume` until it has no more seconds to wait: then it is time for that other attempt, unless `over` says that
/// `result` is the end. The machine comes into being at the first failure, under guards at once: then `resume` before the
/// first attempt too, `succeed` after one that needs no judging, and `cancel` whatever else happens.
#[pyclass(module = "holdoff._holdoff")]
pub(crate) struct Operation {
    settings: Py<Retrying>,
    call: Option<Machine>,
    /// In place of it, when the first attempt has failed that a closed breaker let through: its permit.
    closed: Option<Permit>,
    /// The policy of this operation alone, where a retry around it has a say in it.
    nested: Option<Box<Nested>>,
    /// The time before the first attempt, where a limit made it worth reading.
    started: Option<Timestamp>,
    begun: bool,
    abort_at: Timestamp,
    /// When to look whether another attempt starts beside.
    wake_at: Timestamp,
    /// Under guards: it is not yet time for an attempt.
    asleep: bool,
    /// While the call waits for a place: the count of the bulkhead's notify when it asked for one.
    seen: Option<u64>,
    /// When the attempt failed, as long as nothing has happened since.
    just_now: Option<Timestamp>,
    /// The outcome is known and the last error is about to come out.
    gave_up: bool,
    /// As long as it may be needed: the traceback of an error leads to frames that hold the operation.
    last: Option<Failed>,
    /// There is no other attempt after a value that failed.
    over: bool,
}

/// The loop without guards, and with them.
enum Machine {
    Alone(Call),
    Shared(GuardedCall),
}

impl Machine {
    fn attempt(&self) -> u32 {
        match self {
            Self::Alone(call) => call.attempt(),
            Self::Shared(call) => call.attempt(),
        }
    }
}

/// A retry in a retry.
struct Nested {
    policy: holdoff_core::Policy,
    nesting: Nesting,
    parent: Option<Token>,
}

/// What is next when an attempt has ended.
pub(crate) enum Next {
    /// A sleep, as was found at that time.
    Sleep(Timestamp),
    /// Another attempt, beside those that run.
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
    pub(crate) fn of(settings: Py<Retrying>) -> Self {
        Self {
            settings,
            call: None,
            closed: None,
            nested: None,
            started: None,
            begun: false,
            abort_at: Timestamp::NEVER,
            wake_at: Timestamp::NEVER,
            asleep: false,
            seen: None,
            just_now: None,
            gave_up: false,
            last: None,
            over: false,
        }
    }

    /// The operation for another loop to go on with, if it is under guards: they are asked once.
    pub(crate) fn handed_on<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, Self>>> {
        if !matches!(self.call, Some(Machine::Shared(_))) {
            return Ok(None);
        }
        let rest = Self::of(self.settings.clone_ref(py));
        Bound::new(py, std::mem::replace(self, rest)).map(Some)
    }

    /// Whether it gave up and raised what it had.
    pub(crate) fn has_given_up(&self) -> bool {
        self.gave_up
    }

    /// What this attempt hands down to the retries inside it.
    pub(crate) fn handed(&self) -> Option<Token> {
        let nested = self.nested.as_deref()?;
        let attempts = nested.policy.attempts().unwrap_or(u32::MAX);
        Some(Token::child(nested.parent, self.attempts().max(1), attempts))
    }

    fn enter_nested(&mut self, py: Python<'_>) -> PyResult<()> {
        let settings = self.settings.get();
        let Some(nesting) = settings.policy.get().nesting else { return Ok(()) };
        let parent = clock::handed(py)?;
        let own = settings.core().attempts().unwrap_or(u32::MAX);
        let policy = settings.core().with_attempts(nesting.attempts(parent, own));
        self.nested = Some(Box::new(Nested { policy, nesting, parent }));
        Ok(())
    }

    /// The first attempt already ran, with that permit of a closed breaker.
    pub(crate) fn underway(&mut self, py: Python<'_>, guards: &Guards, permit: Permit) -> PyResult<()> {
        let settings = self.settings.get();
        let seed = settings.seed.map_or_else(|| seeds::next(py), Ok)?;
        let now = clock::now(py)?;
        self.call = guards.begun(settings.core(), permit, seed, now).map(Machine::Shared);
        Ok(())
    }

    /// An attempt failed: whether there will be another.
    pub(crate) fn fails(&mut self, error: &Bound<'_, PyException>, timed_out: bool) -> PyResult<bool> {
        let next = self.failed(error.as_any(), timed_out)?;
        // A hook may have taken its time.
        self.just_now = next.filter(|_| self.settings.get().on_retry.is_none());
        Ok(next.is_some())
    }

    pub(crate) fn limit(&self) -> Timestamp {
        self.abort_at
    }

    /// The first attempt is about to run.
    pub(crate) fn first(&mut self, py: Python<'_>) -> PyResult<()> {
        self.stop_if_cancelled(py)?;
        self.begun = true;
        if matches!(self.call, Some(Machine::Shared(_))) {
            // The attempt of a loop that has handed it on.
            return Ok(());
        }
        if let (Some(closed), Some(guards)) = (self.closed.take(), &self.settings.clone_ref(py).get().guards) {
            return self.underway(py, guards.get(), closed);
        }
        self.enter_nested(py)?;
        let settings = self.settings.clone_ref(py);
        let settings = settings.get();
        if let Some(guards) = &settings.guards {
            let seed = settings.seed.map_or_else(|| seeds::next(py), Ok)?;
            let now = clock::now(py)?;
            let seen = notify_count(guards);
            let policy = self.nested.as_deref().map_or(settings.core(), |nested| &nested.policy);
            let (call, step) = guards.get().lend(py, |guards| GuardedCall::begin(policy, guards, seed, now));
            self.call = Some(Machine::Shared(call));
            return match step {
                Step::Stop(_) => Err(self.refused(py, step)),
                step => {
                    self.follow(step, seen);
                    Ok(())
                }
            };
        }
        if let Some(limit) = self.settings.get().core().first_limit() {
            let now = clock::now(py)?;
            self.started = Some(now);
            self.abort_at = now.after(limit);
        }
        Ok(())
    }

    /// Notes what a step says about the time before or of an attempt.
    fn follow(&mut self, step: Step, seen: Option<u64>) {
        self.seen = None;
        match step {
            Step::Attempt { abort_at, wake_at, .. } => {
                (self.asleep, self.abort_at, self.wake_at) = (false, abort_at, wake_at);
            }
            Step::Sleep { cause, .. } => {
                (self.asleep, self.wake_at) = (true, Timestamp::NEVER);
                self.seen = seen.filter(|_| cause == Cause::Bulkhead);
            }
            Step::Wait { until } => self.wake_at = until,
            Step::Stop(_) => {}
        }
    }

    /// The error of a call that a guard stopped while there was nothing else to raise.
    fn refused(&mut self, py: Python<'_>, step: Step) -> PyErr {
        let Step::Stop(holdoff_core::Outcome::GaveUp { reason, retry_at }) = step else {
            return self.cancelled(py).map_or_else(|error| error, PyErr::from_value);
        };
        outcome::refused(py, reason, retry_at, clock::now(py).unwrap_or(retry_at))
            .and_then(|error| {
                self.settle(py, &Failed::Error(error.clone().unbind()), step)?;
                Ok(PyErr::from_value(error))
            })
            .unwrap_or_else(|error| error)
    }

    /// Sleeps in this thread until the next attempt is due.
    pub(crate) fn rest(&mut self, py: Python<'_>, mut now: Option<Timestamp>) -> PyResult<()> {
        while let Some(length) = self.woken(py, now.take())? {
            let cancel = self.settings.get().cancel.as_ref().map(|token| token.bind(py));
            clock::wait(py, length, cancel, self.notify(py)).map_err(|error| self.interrupted(py, error))?;
        }
        Ok(())
    }

    /// The bulkhead's notify, and its count when this call asked for a place; none unless the call waits for one.
    fn notify(&self, py: Python<'_>) -> Option<(Py<Notify>, u64)> {
        let seen = self.seen?;
        let notify = self.settings.get().guards.as_ref()?.get().notify()?.clone_ref(py);
        Some((notify, seen))
    }

    /// Whatever it holds of its guards goes back.
    pub(crate) fn release(&mut self, py: Python<'_>) {
        if let (Some(Machine::Shared(call)), Some(guards)) = (&mut self.call, &self.settings.get().guards) {
            // The time it has last seen: earlier ones read as that.
            guards.get().lend(py, |guards| call.cancel(guards, Timestamp::ZERO));
        }
    }

    /// An attempt failed: when, if there will be another. If not, the error carries the outcome and is to be raised.
    pub(crate) fn failed(&mut self, error: &Bound<'_, PyAny>, timed_out: bool) -> PyResult<Option<Timestamp>> {
        let next = self.failed_one(error, timed_out, None)?;
        Ok(if let Next::Sleep(now) = next { Some(now) } else { None })
    }

    /// The same for the attempt with that ticket; the latest one unless it is given.
    fn failed_one(&mut self, error: &Bound<'_, PyAny>, timed_out: bool, ticket: Option<Ticket>) -> PyResult<Next> {
        let py = error.py();
        let failed = Failed::Error(error.clone().unbind());
        self.last = Some(failed.clone_ref(py));
        self.begun = true;
        self.stop_if_cancelled(py)?;
        let failure =
            classify::classify(error, timed_out, self.settings.get()).map_err(|own| failed.in_context(py, own))?;
        let failure = match self.nested.as_deref() {
            Some(nested) if outcome::of(error).is_some() => failure.map(|failure| nested.nesting.after_inner(failure)),
            _ => failure,
        };
        self.decide(py, &failed, failure, ticket)
    }

    /// An attempt returned: when, if there will be another all the same. If not, the value is the result.
    pub(crate) fn rejected(&mut self, value: &Bound<'_, PyAny>) -> PyResult<Option<Timestamp>> {
        let next = self.rejected_one(value, None)?;
        Ok(if let Next::Sleep(now) = next { Some(now) } else { None })
    }

    fn rejected_one(&mut self, value: &Bound<'_, PyAny>, ticket: Option<Ticket>) -> PyResult<Next> {
        let py = value.py();
        self.last = None;
        self.begun = true;
        let Some(failure) = classify::classify_value(value, self.settings.get())? else {
            self.succeeded(py, ticket)?;
            return Ok(Next::Stop);
        };
        self.stop_if_cancelled(py)?;
        let failed = Failed::Value(value.clone().unbind());
        self.last = Some(failed.clone_ref(py));
        self.decide(py, &failed, Some(failure), ticket)
    }

    /// An attempt succeeded, the latest one unless another is given.
    fn succeeded(&mut self, py: Python<'_>, ticket: Option<Ticket>) -> PyResult<()> {
        self.last = None;
        if let (Some(Machine::Shared(call)), Some(guards)) = (&mut self.call, &self.settings.get().guards) {
            let now = clock::now(py)?;
            let ticket = ticket.unwrap_or_else(|| Ticket::from_raw(u64::from(call.attempt())));
            guards.get().lend(py, |guards| call.succeed(guards, ticket, now));
        }
        Ok(())
    }

    /// What follows from a failure; none is a fault of the caller's own program.
    fn decide(
        &mut self,
        py: Python<'_>,
        failed: &Failed,
        failure: Option<holdoff_core::Failure>,
        ticket: Option<Ticket>,
    ) -> PyResult<Next> {
        let settings = self.settings.clone_ref(py);
        let settings = settings.get();
        let now = clock::now(py)?;
        if self.call.is_none() {
            let seed = settings.seed.map_or_else(|| seeds::next(py), Ok)?;
            self.call = Some(Machine::Alone(Call::underway(seed, self.started.unwrap_or(now))));
        }
        let Some(call) = &mut self.call else { return Ok(Next::Stop) };
        let policy = self.nested.as_deref().map_or(settings.core(), |nested| &nested.policy);
        let ticket = ticket.unwrap_or_else(|| Ticket::from_raw(u64::from(call.attempt())));
        let attempt = ticket.attempt();
        let seen = settings.guards.as_ref().and_then(notify_count);
        let known = failure.unwrap_or(holdoff_core::Failure::PERMANENT);
        let step = match (call, &settings.guards) {
            (Machine::Alone(call), _) => call.fail(policy, ticket, now, known),
            (Machine::Shared(call), Some(guards)) => guards.get().lend(py, |guards| match failure {
                Some(failure) => call.fail(policy, guards, ticket, now, failure),
                None => call.abandon(guards, ticket, now),
            }),
            // A machine with guards has them from those settings.
            (Machine::Shared(_), None) => return Ok(Next::Stop),
        };
        self.follow(step, seen);
        match step {
            Step::Sleep { until, cause } => {
                if let Some(on_retry) = &settings.on_retry {
                    let delay = until.since(now);
                    let event = RetryEvent { attempt, failed: failed.clone_ref(py), failure: known, delay, cause };
                    on_retry.bind(py).call1((event,)).map_err(|own| failed.in_context(py, own))?;
                }
                Ok(Next::Sleep(now))
            }
            Step::Attempt { .. } => Ok(Next::Attempt),
            Step::Wait { .. } => Ok(Next::Wait),
            step => {
                self.last = None;
                self.settle(py, failed, step).map(|()| Next::Stop)
            }
        }
    }

    /// The time still to wait before the next attempt; none when it is to run now. When the wait took too long for another
    /// attempt the last error is raised, or the last value is the result. Reads the clock unless `now` is given.
    pub(crate) fn woken(&mut self, py: Python<'_>, now: Option<Timestamp>) -> PyResult<Option<Span>> {
        self.stop_if_cancelled(py)?;
        let Some(call) = &mut self.call else { return Ok(None) };
        let settings = self.settings.get();
        let policy = self.nested.as_deref().map_or(settings.core(), |nested| &nested.policy);
        let (step, remaining, seen) = match (call, &settings.guards) {
            (Machine::Alone(call), _) => {
                let now = now.map_or_else(|| clock::now(py), Ok)?;
                (call.tick(policy, now), call.remaining(now), None)
            }
            (Machine::Shared(call), Some(guards)) if self.asleep => {
                let seen = notify_count(guards);
                let now = now.map_or_else(|| clock::now(py), Ok)?;
                (guards.get().lend(py, |guards| call.tick(policy, guards, now)), call.remaining(now), seen)
            }
            _ => return Ok(None),
        };
        self.follow(step, seen);
        match step {
            Step::Sleep { .. } => Ok(Some(remaining)),
            Step::Attempt { .. } => {
                // The error is for the cause of a cancellation.
                if self.settings.get().cancel.is_none() || matches!(self.last, Some(Failed::Value(_))) {
                    self.last = None;
                }
                Ok(None)
            }
            step => match self.last.take() {
                Some(failed) => {
                    self.settle(py, &failed, step)?;
                    match failed {
                        Failed::Error(error) => Err(PyErr::from_value(error.into_bound(py))),
                        value => {
                            self.last = Some(value);
                            self.over = true;
                            Ok(None)
                        }
                    }
                }
                None if matches!(step, Step::Stop(_)) => Err(self.refused(py, step)),
                None => Ok(None),
            },
        }
    }

    /// The value that is the result although it failed: the wait took too long for another attempt.
    pub(crate) fn ended<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        let last = self.last.as_ref().filter(|_| self.over)?;
        last.value().map(|value| value.bind(py).clone())
    }

    /// Hangs the outcome of a final step on the error, and tells the hook, which is all that a value can have.
    fn settle(&mut self, py: Python<'_>, failed: &Failed, step: Step) -> PyResult<()> {
        let Step::Stop(holdoff_core::Outcome::GaveUp { reason, retry_at }) = step else { return Ok(()) };
        let outcome = Outcome { reason, attempts: self.attempts(), retry_at };
        if let Failed::Error(error) = failed {
            outcome::attach(error.bind(py), outcome)?;
        }
        if let Some(on_give_up) = &self.settings.get().on_give_up {
            on_give_up.bind(py).call1((outcome,)).map_err(|own| failed.in_context(py, own))?;
        }
        self.gave_up = matches!(failed, Failed::Error(_));
        Ok(())
    }

    fn attempts(&self) -> u32 {
        match &self.call {
            Some(call) => call.attempt(),
            None if self.begun => Ticket::FIRST.attempt(),
            None => 0,
        }
    }

    fn stop_if_cancelled(&mut self, py: Python<'_>) -> PyResult<()> {
        let cancelled = match &self.settings.get().cancel {
            Some(token) => token.bind(py).getattr(intern!(py, "cancelled"))?.is_truthy()?,
            None => false,
        };
        if cancelled { Err(PyErr::from_value(self.cancelled(py)?)) } else { Ok(()) }
    }

    /// An interrupt of a wait says which error it came after.
    pub(crate) fn interrupted(&self, py: Python<'_>, by: PyErr) -> PyErr {
        match &self.last {
            Some(failed) => failed.in_context(py, by),
            None => by,
        }
    }
}

/// Whoever drops an operation loses nothing that its guards gave it.
impl Drop for Operation {
    fn drop(&mut self) {
        if matches!(self.call, Some(Machine::Shared(_))) {
            Python::try_attach(|py| {
                // It may be dropped while an error unwinds, and to wake those who wait runs Python, which must not see it.
                let unwinding = PyErr::take(py);
                self.release(py);
                if let Some(error) = unwinding {
                    error.restore(py);
                }
            });
        }
    }
}

/// The count of the bulkhead's notify.
fn notify_count(guards: &Py<Guards>) -> Option<u64> {
    guards.get().notify().map(|notify| notify.get().count())
}
