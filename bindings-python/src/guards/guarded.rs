//! The loop of a call under guards as a machine, for loops and tests of one's own.

use super::set::Guards;
use crate::failure::Failure;
use crate::machine::Step;
use crate::parameters::{Duration, SeedNumber, TicketNumber, Time};
use crate::policy::PolicyOrName;
use crate::save;
use pyo3::prelude::*;

/// The whole loop of a call that shares guards with others, or that hedges; driven as a `Call` is, with the additions that the
/// guide names.
#[pyclass(module = "holdoff")]
pub(crate) struct GuardedCall(holdoff_core::GuardedCall);

methods! { GuardedCall as call, shown "<GuardedCall attempt {}>", call.0.attempt();
    impl {
        /// Begin a call: the machine and its first step, which may be a sleep or a stop.
        #[staticmethod]
        fn begin(py: Python<'_>, policy: PolicyOrName<'_>, guards: &Guards, seed: SeedNumber, now: Time) -> (Self, Step) {
            let (call, step) =
                guards.lend(py, |guards| holdoff_core::GuardedCall::begin(policy.core(), guards, seed.0, now.0));
            (Self(call), Step(step))
        }

        /// Resumes a saved state, of this or of a `Call`, under these guards: as `Call.resume`.
        #[staticmethod]
        #[pyo3(signature = (state: "bytes | str | Mapping[str, Any]", policy, guards, now, *, away = None, force = false))]
        fn resume(
            state: &Bound<'_, PyAny>,
            policy: PolicyOrName<'_>,
            guards: &Guards,
            now: Time,
            away: Option<Duration<'_, '_>>,
            force: bool,
        ) -> PyResult<Self> {
            let (py, core) = (state.py(), policy.core());
            let call = save::resumed(py, save::read(state, core, away, force)?.call(core, now.0))?;
            Ok(Self(guards.lend(py, |guards| holdoff_core::GuardedCall::resume(core, guards, &call, now.0))))
        }

        /// A copy, for a transition that may have to be made again with guards that others have changed meanwhile.
        fn __copy__(&self) -> Self {
            Self(self.0)
        }
    }

    saved by call.0.call();

    borrows guards, Step -> Step {
        /// The attempt with this ticket succeeded: the call is over.
        succeed(guards: &Guards, ticket: TicketNumber, now: Time) = call.0.succeed(guards, ticket.0, now.0);

        /// The attempt with this ticket failed.
        fail(policy: PolicyOrName<'_>, guards: &Guards, ticket: TicketNumber, now: Time, failure: &Failure) =
            call.0.fail(policy.core(), guards, ticket.0, now.0, failure.0);

        /// The attempt with this ticket ended without a result that guards should count.
        abandon(guards: &Guards, ticket: TicketNumber, now: Time) = call.0.abandon(guards, ticket.0, now.0);

        /// Time has passed, or a place in the bulkhead has come free.
        tick(policy: PolicyOrName<'_>, guards: &Guards, now: Time) = call.0.tick(policy.core(), guards, now.0);

        /// The caller cancels the call. Hosts that drop a call before it stops must cancel it.
        cancel(guards: &Guards, now: Time) = call.0.cancel(guards, now.0);
    }

    ref {
        /// Nanoseconds still to sleep; 0 when the call does not sleep.
        remaining(now: Time) -> u64 = call.0.remaining(now.0).as_nanos();
    }

    get {
        /// How many attempts have been started.
        attempt: u32 = call.0.attempt();

        /// How many attempts are in flight.
        flying: u32 = call.0.flying();

        /// When the call began.
        started: u64 = call.0.started().as_nanos();
    }
}
