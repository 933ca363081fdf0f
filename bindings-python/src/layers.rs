//! A retry inside a retry as one machine.

use crate::failure::Failure;
use crate::machine::{Step, begun};
use crate::parameters::{Level, SeedNumber, StartTime, StopReason, StopWord, TicketNumber, Time};
use crate::policy::PolicyOrName;
use pyo3::prelude::*;

/// The configuration of a retry inside a retry: the policies of both levels, and the limits between them.
#[pyclass(frozen, eq, module = "holdoff.machines")]
#[derive(PartialEq)]
pub(crate) struct Layers(holdoff_core::Layers);

methods! { Layers(self, py);
    /// `attempts` caps both levels together. The outer level continues after the reasons in `go_on_after` of the inner
    /// level: attempts, deadline and hint unless given.
    new(
        outer: PolicyOrName<'_>, inner: PolicyOrName<'_>; attempts: Option<u32> = None,
        go_on_after: Option<Vec<StopWord>> as "Sequence[StopReason] | None" = None
    ) -> PyResult<Self> = {
        let (outer, inner) = (*outer.core(), *inner.core());
        let mut layers = crate::config::valid(py, holdoff_core::Layers::new(outer, inner, attempts))?;
        if let Some(reasons) = go_on_after {
            for reason in holdoff_core::StopReason::ALL {
                layers = layers.go_on_after(reason, reasons.iter().any(|listed| listed.0 == reason));
            }
        }
        Ok(Self(layers))
    };

    /// The most attempts there can be over both levels; None without a limit.
    get attempts: Option<u32> = self.0.attempts();

    special __repr__() -> String = match self.0.attempts() {
        Some(attempts) => format!("<Layers at most {attempts} attempts>"),
        None => "<Layers attempts for ever>".to_owned(),
    };
}

/// A call inside a call, from the first attempt to the end; driven as a `Call` is.
#[pyclass(module = "holdoff.machines")]
pub(crate) struct Layered(holdoff_core::Layered);

methods! { Layered(self, py);
    shown "<Layered attempt {} ({} of {})>", self.0.attempt(), self.0.inner_attempt(), self.0.outer_attempt();

    /// Begin: the machine and its first step, the first attempt of both levels.
    static begin(layers: &Layers, seed: SeedNumber, now: Time) -> (Self, Step) =
        begun(holdoff_core::Layered::begin(&layers.0, seed.0, now.0), Self);

    /// A call whose first attempt, ticket 1, has run since `started`.
    static underway(layers: &Layers, seed: SeedNumber, started: StartTime) -> Self =
        Self(holdoff_core::Layered::underway(&layers.0, seed.0, started.0));

    /// The attempt with this ticket failed. `outward` is the failure for the outer level if the inner level gives up now,
    /// for any reason.
    mut fail(
        layers: &Layers, ticket: TicketNumber, now: Time, failure: &Failure;
        outward: Option<&Bound<'_, Failure>> = None
    ) -> Step =
        Step(self.0.fail_as(&layers.0, ticket.0, now.0, failure.0, outward.map(|outward| outward.get().0)));

    /// The attempt with this ticket succeeded.
    mut succeed(ticket: TicketNumber, now: Time) -> Step = Step(self.0.succeed(ticket.0, now.0));

    /// Time has passed: returns the next attempt when its sleep is over.
    mut tick(layers: &Layers, now: Time) -> Step = Step(self.0.tick(&layers.0, now.0));

    /// The caller cancels the call.
    mut cancel(now: Time) -> Step = Step(self.0.cancel(now.0));

    /// Why the inner level would give up if the attempt with this ticket failed like that; None when it would not.
    ref would_give_up(layers: &Layers, ticket: TicketNumber, now: Time, failure: &Failure) -> Option<StopReason> =
        self.0.would_give_up(&layers.0, ticket.0, now.0, failure.0).map(StopReason);

    /// Nanoseconds still to sleep; 0 when the call does not sleep.
    ref remaining(now: Time) -> u64 = self.0.remaining(now.0).as_nanos();

    /// The attempt in flight or the last one that ran, over both levels; from 1.
    get attempt: u32 = self.0.attempt();

    /// The attempt of the outer level, from 1.
    get outer_attempt: u32 = self.0.outer_attempt();

    /// The attempt of the inner level in this attempt of the outer level, from 1.
    get inner_attempt: u32 = self.0.inner_attempt();

    /// The level that gave up: "inner", "outer", or "cap" (the cap stopped a level that would have continued); None unless a
    /// level gave up.
    get stopped_by: Option<Level> = self.0.stopped_by().map(Level);

    /// Why the inner level last gave up; None when it has not.
    get inner_reason: Option<StopReason> = self.0.inner_reason().map(StopReason);
}
