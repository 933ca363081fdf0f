//! The raw machines, for loops and tests of one's own. Times are ints of nanoseconds since any epoch.

use crate::failure::Failure;
use crate::parameters::{
    Cause, DecisionKind, FailureNumber, OutcomeWord, SeedNumber, StartTime, StepKind, StopReason, TicketNumber, Time,
};
use crate::policy::PolicyOrName;
use holdoff_core::{RawStep, Span};
use pyo3::prelude::*;

/// The next action for the host of a `Call`. Fields that do not fit the kind are None.
#[pyclass(frozen, eq, module = "holdoff.machines")]
#[derive(PartialEq)]
pub(crate) struct Step(pub(crate) holdoff_core::Step);

impl Step {
    fn raw(&self) -> RawStep {
        RawStep::from(self.0)
    }

    /// The numbers of the step if it is of this kind.
    fn of_kind(&self, kind: u8) -> Option<RawStep> {
        Some(self.raw()).filter(|raw| raw.kind == kind)
    }
}

methods! { Step(self, py);
    shown "<Step {:?}>", self.0;

    /// "attempt", "sleep", "wait" or "stop".
    get kind: StepKind = StepKind(match self.0 {
        holdoff_core::Step::Attempt { .. } => "attempt",
        holdoff_core::Step::Sleep { .. } => "sleep",
        holdoff_core::Step::Wait { .. } => "wait",
        holdoff_core::Step::Stop(_) => "stop",
    });

    /// Stop: "succeeded", "gave_up" or "cancelled".
    get outcome: Option<OutcomeWord> = match self.raw().outcome {
        RawStep::SUCCEEDED => Some(OutcomeWord("succeeded")),
        RawStep::GAVE_UP => Some(OutcomeWord("gave_up")),
        RawStep::CANCELLED => Some(OutcomeWord("cancelled")),
        _ => None,
    };

    /// Gave up: why.
    get reason: Option<StopReason> = holdoff_core::StopReason::from_code(self.raw().reason.into()).map(StopReason);

    /// Gave up: when another try might succeed; NEVER if unknown.
    get retry_at: Option<u64> = Some(self.raw()).filter(|raw| raw.outcome == RawStep::GAVE_UP).map(|raw| raw.at);

    /// Attempt: its number, from 1.
    get attempt: Option<u32> = self.of_kind(RawStep::ATTEMPT).map(|raw| raw.attempt);

    /// Attempt: its ticket, which goes back with its result.
    get ticket: Option<u64> = self.of_kind(RawStep::ATTEMPT).map(|raw| raw.ticket().as_raw());

    /// Attempt: when to abort it; NEVER without a limit.
    get abort_at: Option<u64> = self.of_kind(RawStep::ATTEMPT).map(|raw| raw.at);

    /// Attempt: when to tick although it still runs; NEVER unless the call hedges.
    get wake_at: Option<u64> = self.of_kind(RawStep::ATTEMPT).map(|raw| raw.wake_at);

    /// Sleep, wait: when to tick.
    get until: Option<u64> =
        self.of_kind(RawStep::SLEEP).or_else(|| self.of_kind(RawStep::WAIT)).map(|raw| raw.at);

    /// Sleep: "backoff", "hint", "clip", "breaker", "limiter" or "bulkhead".
    get cause: Option<Cause> = holdoff_core::Cause::from_code(self.raw().cause.into()).map(Cause);
}

/// The whole loop as a machine. Every method returns the current step; see the guide for the contract.
#[pyclass(module = "holdoff.machines")]
pub(crate) struct Call(pub(crate) holdoff_core::Call);

methods! { Call(self, py);
    shown "<Call attempt {}>", self.0.attempt();

    /// Begin a call: the machine and its first step, the first attempt.
    static begin(policy: PolicyOrName<'_>, seed: SeedNumber, now: Time) -> (Self, Step) =
        begun(holdoff_core::Call::begin(policy.core(), seed.0, now.0), Self);

    /// A call whose first attempt, ticket 1, has run since `started`: for hosts that make the machine after the first failure.
    static underway(seed: SeedNumber, started: StartTime) -> Self = Self(holdoff_core::Call::underway(seed.0, started.0));

    /// The attempt with this ticket succeeded.
    mut succeed(ticket: TicketNumber, now: Time) -> Step = Step(self.0.succeed(ticket.0, now.0));

    /// The attempt with this ticket failed.
    mut fail(policy: PolicyOrName<'_>, ticket: TicketNumber, now: Time, failure: &Failure) -> Step =
        Step(self.0.fail(policy.core(), ticket.0, now.0, failure.0));

    /// Time has passed: returns the next attempt when its sleep is over.
    mut tick(policy: PolicyOrName<'_>, now: Time) -> Step = Step(self.0.tick(policy.core(), now.0));

    /// The caller cancels the call.
    mut cancel(now: Time) -> Step = Step(self.0.cancel(now.0));

    /// Nanoseconds still to sleep; 0 when the call does not sleep.
    ref remaining(now: Time) -> u64 = self.0.remaining(now.0).as_nanos();

    saves self.0, resumed by call;

    /// The attempt in flight or, asleep or at the end, the last one that ran.
    get attempt: u32 = self.0.attempt();

    /// When the call began.
    get started: u64 = self.0.started().as_nanos();
}

/// A call that has begun, and its first step.
pub(crate) fn begun<M, C>((machine, step): (M, holdoff_core::Step), class: impl FnOnce(M) -> C) -> (C, Step) {
    (class(machine), Step(step))
}

/// The answer to a failure: sleep until a time, or give up for a reason.
#[pyclass(frozen, eq, module = "holdoff.machines")]
#[derive(PartialEq)]
pub(crate) struct Decision(holdoff_core::Decision);

impl Decision {
    /// The step of a call with this decision.
    fn step(&self) -> Step {
        Step(match self.0 {
            holdoff_core::Decision::Sleep { until, cause } => holdoff_core::Step::Sleep { until, cause },
            holdoff_core::Decision::GiveUp { reason, retry_at } => {
                holdoff_core::Step::Stop(holdoff_core::Outcome::GaveUp { reason, retry_at })
            }
        })
    }
}

methods! { Decision(self, py);
    shown "<Decision {:?}>", self.0;

    /// "sleep" or "give_up".
    get kind: DecisionKind = DecisionKind(if self.until(py).is_some() { "sleep" } else { "give_up" });

    /// Sleep: until when.
    get until: Option<u64> = self.step().until(py);

    /// Sleep: "backoff", "hint" or "clip".
    get cause: Option<Cause> = self.step().cause(py);

    /// Give up: why.
    get reason: Option<StopReason> = self.step().reason(py);

    /// Give up: when another try might succeed; NEVER if unknown.
    get retry_at: Option<u64> = self.step().retry_at(py);
}

/// The state of one operation without its loop: one decision for each failure.
#[pyclass(module = "holdoff.machines")]
pub(crate) struct Retry(holdoff_core::Retry);

methods! { Retry(self, py);
    shown "<Retry after {} failures>", self.0.failures();

    new(seed: SeedNumber, started: StartTime) -> Self = Self(holdoff_core::Retry::new(seed.0, started.0));

    /// Decide what to do about an attempt that failed at that time.
    mut on_failure(policy: PolicyOrName<'_>, now: Time, failure: &Failure) -> Decision =
        Decision(self.0.on_failure(policy.core(), now.0, failure.0));

    /// When the operation as a whole must be over; NEVER without a deadline.
    ref deadline(policy: PolicyOrName<'_>) -> u64 = self.0.deadline(policy.core()).as_nanos();

    saves self.0, resumed by retry;

    /// How many attempts have failed.
    get failures: u32 = self.0.failures();

    /// When the first attempt began.
    get started: u64 = self.0.started().as_nanos();
}

/// The delays of a policy in nanoseconds, one after the other, as if every attempt failed at once.
#[pyclass(module = "holdoff.machines")]
pub(crate) struct Schedule(pub(crate) holdoff_core::Schedule);

methods! { Schedule(self, py);
    new(policy: PolicyOrName<'_>, seed: SeedNumber) -> Self =
        Self(holdoff_core::Schedule::new(policy.core(), seed.0));

    /// The base delay, before jitter, after failure n (from 0), in nanoseconds.
    static base_at(policy: PolicyOrName<'_>, n: FailureNumber) -> u64 =
        holdoff_core::Schedule::base_at(policy.core(), n.0).as_nanos();

    impl {
        fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
            slf
        }

        fn __next__(&mut self) -> Option<u64> {
            self.0.next().map(Span::as_nanos)
        }
    }
}
