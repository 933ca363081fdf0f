//! The loop of a call under guards as a machine, for loops and tests of one's own.

use super::set::{Guards, with_guards};
use crate::failure::Failure;
use crate::machine::{Step, begun};
use crate::parameters::{Duration, SeedNumber, TicketNumber, Time};
use crate::policy::PolicyOrName;
use crate::{config, save};
use pyo3::prelude::*;

/// The whole loop of a call that shares guards with others, or that hedges; driven as a `Call` is, with the additions that the
/// guide names.
#[pyclass(module = "holdoff.machines")]
pub(crate) struct GuardedCall(holdoff_core::GuardedCall);

methods! { GuardedCall(self, py);
    shown "<GuardedCall attempt {}>", self.0.attempt();

    /// Begin a call: the machine and its first step, which may be a sleep or a stop.
    static begin(policy: PolicyOrName<'_>, guards: &Guards, seed: SeedNumber, now: Time) -> (Self, Step) = begun(
        with_guards(py, Some(guards), |guards| holdoff_core::GuardedCall::begin(policy.core(), guards, seed.0, now.0)), Self
    );

    /// Resumes a saved state, of this or of a `Call`, under these guards: as `Call.resume`.
    static resume(
        state: &Bound<'_, PyAny> as "bytes | str | Mapping[str, Any]", policy: PolicyOrName<'_>, guards: &Guards,
        now: Time; away: Option<Duration<'_, '_>> = None, force: bool = false
    ) -> PyResult<Self> = {
        let core = policy.core();
        let call = config::valid(py, save::read(state, core, away, force)?.call(core, now.0))?;
        Ok(Self(with_guards(py, Some(guards), |guards| holdoff_core::GuardedCall::resume(core, guards, &call, now.0))))
    };

    /// A copy, for a transition that may have to be made again with guards that others have changed meanwhile.
    special __copy__() -> Self = Self(self.0);

    /// The attempt with this ticket succeeded: the call is over.
    mut succeed(guards: &Guards, ticket: TicketNumber, now: Time) -> Step =
        Step(with_guards(py, Some(guards), |guards| self.0.succeed(guards, ticket.0, now.0)));

    /// The attempt with this ticket failed.
    mut fail(
        policy: PolicyOrName<'_>, guards: &Guards, ticket: TicketNumber, now: Time, failure: &Failure
    ) -> Step = Step(with_guards(py, Some(guards), |guards| self.0.fail(policy.core(), guards, ticket.0, now.0, failure.0)));

    /// The attempt with this ticket ended without a result that guards should count.
    mut abandon(guards: &Guards, ticket: TicketNumber, now: Time) -> Step =
        Step(with_guards(py, Some(guards), |guards| self.0.abandon(guards, ticket.0, now.0)));

    /// Time has passed, or a place in the bulkhead or at the breaker has come free.
    mut tick(policy: PolicyOrName<'_>, guards: &Guards, now: Time) -> Step =
        Step(with_guards(py, Some(guards), |guards| self.0.tick(policy.core(), guards, now.0)));

    /// The caller cancels the call. Hosts that drop a call before it stops must cancel it.
    mut cancel(guards: &Guards, now: Time) -> Step =
        Step(with_guards(py, Some(guards), |guards| self.0.cancel(guards, now.0)));

    /// Nanoseconds still to sleep; 0 when the call does not sleep.
    ref remaining(now: Time) -> u64 = self.0.remaining(now.0).as_nanos();

    saves self.0.call();

    /// How many attempts have been started.
    get attempt: u32 = self.0.attempt();

    /// How many attempts are in flight.
    get flying: u32 = self.0.flying();

    /// When the call began.
    get started: u64 = self.0.started().as_nanos();
}
