//! A call that returns events to write down, and the same call again from its log.

use crate::config;
use crate::convert::choice;
use crate::event::Event;
use crate::failure::Failure;
use crate::guards::set::{Guards, with_guards};
use crate::machine::{Call, Step};
use crate::parameters::{SeedNumber, TicketNumber, Time};
use crate::policy::PolicyOrName;
use holdoff_core::{EventReader, Recorded, Replay, ReplayError, ReplayMode};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

results! {
    /// The events of one transition, to be written down before anything else is done.
    Events(holdoff_core::Events) shown pyo3::type_hint_subscript!(
        pyo3::type_hint_identifier!("builtins", "tuple"),
        <Event as pyo3::PyTypeInfo>::TYPE_HINT,
        pyo3::inspect::PyStaticExpr::Constant { value: pyo3::inspect::PyStaticConstant::Ellipsis }
    ), |py, events| Ok(PyTuple::new(py, events.iter().map(|event| Event(*event)))?.into_any());
}

/// The result of a transition: the current step, and the events of the transition.
fn parts(recorded: Recorded) -> (Step, Events) {
    (Step(recorded.step), Events(recorded.events))
}

/// The whole loop as a machine that returns events to write down: each method returns the current step and the events of the
/// transition. Driven as a `Call` is, or with guards as a `GuardedCall`; it does not hedge.
#[pyclass(eq, module = "holdoff.log")]
#[derive(PartialEq)]
pub(crate) struct Recorder(holdoff_core::Recorder);

methods! { Recorder(self, py);
    shown "<Recorder event {}, attempt {}>", self.0.sequence(), self.0.attempt();

    /// Begin a call: the machine, its first step and its first events.
    static begin(
        policy: PolicyOrName<'_>, seed: SeedNumber, now: Time; guards: Option<&Guards> = None
    ) -> (Self, Step, Events) = {
        let begun = with_guards(py, guards, |guards| holdoff_core::Recorder::begin(policy.core(), guards, seed.0, now.0));
        (Self(begun.0), Step(begun.1.step), Events(begun.1.events))
    };

    /// A copy, for a transition that may have to be made again with guards that others have changed meanwhile.
    special __copy__() -> Self = Self(self.0);

    /// The attempt with this ticket succeeded.
    mut succeed(ticket: TicketNumber, now: Time; guards: Option<&Guards> = None) -> (Step, Events) =
        parts(with_guards(py, guards, |guards| self.0.succeed(guards, ticket.0, now.0)));

    /// The attempt with this ticket failed.
    mut fail(
        policy: PolicyOrName<'_>, ticket: TicketNumber, now: Time, failure: &Failure; guards: Option<&Guards> = None
    ) -> (Step, Events) =
        parts(with_guards(py, guards, |guards| self.0.fail(policy.core(), guards, ticket.0, now.0, failure.0)));

    /// The attempt with this ticket ended without a result that guards should count.
    mut abandon(ticket: TicketNumber, now: Time; guards: Option<&Guards> = None) -> (Step, Events) =
        parts(with_guards(py, guards, |guards| self.0.abandon(guards, ticket.0, now.0)));

    /// Time has passed, or a place in the bulkhead or at the breaker has come free.
    mut tick(policy: PolicyOrName<'_>, now: Time; guards: Option<&Guards> = None) -> (Step, Events) =
        parts(with_guards(py, guards, |guards| self.0.tick(policy.core(), guards, now.0)));

    /// The caller cancels the call.
    mut cancel(now: Time; guards: Option<&Guards> = None) -> (Step, Events) =
        parts(with_guards(py, guards, |guards| self.0.cancel(guards, now.0)));

    /// Continue live from a log that was replayed. An attempt that was in flight runs again under its own number, at most
    /// `reruns` times; then it has failed, by a timeout.
    mut resume(policy: PolicyOrName<'_>, now: Time; reruns: u32 = 3, guards: Option<&Guards> = None) -> (Step, Events) =
        parts(with_guards(py, guards, |guards| self.0.resume(policy.core(), guards, now.0, reruns)));

    /// Nanoseconds still to sleep; 0 when the call does not sleep.
    ref remaining(now: Time) -> u64 = self.0.remaining(now.0).as_nanos();

    /// The current step.
    get step: Step = Step(self.0.step());

    /// The number of the latest event.
    get sequence: u64 = self.0.sequence();

    /// The attempt in flight or else the last one that ran, 0 for none.
    get attempt: u32 = self.0.attempt();

    /// When the call began.
    get started: u64 = self.0.started().as_nanos();

    /// How often the attempt in flight was run again because it was interrupted.
    get reruns: u32 = self.0.reruns();

    /// True if the call began with guards.
    get is_guarded: bool = self.0.is_guarded();

    /// A copy of the call in its current state, to be saved or looked at.
    get call: Call = Call(self.0.call());
}

functions! { py;
    /// The recorder of a log: of its events, or of their bytes. Where the policy decides otherwise than the log, mode "follow"
    /// keeps the recorded decision and "verify" raises ReplayError. `any_policy` accepts a log of another policy.
    fn replay(
        policy: PolicyOrName<'_>, events: &Bound<'_, PyAny> as "Iterable[Event] | bytes";
        mode: &str as "ReplayMode" = "follow", any_policy: bool = false
    ) -> PyResult<Recorder> = {
        let mut replay = Replay::new(choice("mode", mode, &ReplayMode::ALL, ReplayMode::name)?);
        if any_policy {
            replay = replay.any_policy();
        }
        let mut apply =
            |event: &holdoff_core::Event| replay.apply(policy.core(), event).map_err(|error| replay_error(py, &error));
        if let Ok(bytes) = events.cast::<PyBytes>() {
            for read in EventReader::new(bytes.as_bytes()) {
                apply(&config::valid(py, read)?.0)?;
            }
        } else {
            for event in events.try_iter()? {
                apply(&event?.cast::<Event>()?.get().0)?;
            }
        }
        replay.finish().map(Recorder).map_err(|error| replay_error(py, &error))
    };
}

fn replay_error(py: Python<'_>, error: &ReplayError) -> PyErr {
    let made = imported!(py, "holdoff._errors", "ReplayError").and_then(|class| {
        let made = class.call1((error.to_string(),))?;
        made.setattr("code", error.code.code())?;
        made.setattr("name", error.code.name())?;
        made.setattr("sequence", error.sequence)?;
        made.setattr("recorded", error.recorded.map(Event))?;
        made.setattr("computed", error.computed.map(Event))?;
        Ok(PyErr::from_value(made))
    });
    made.unwrap_or_else(|error| error)
}
