"""Compares the recorded events with the decisions of the policies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdoff.log import Event, EventError, ReplayError, replay

from ._entries import KINDS
from ._workflow import UNDO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._entries import JournalEvent
    from ._workflow import Step, Workflow


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first event of a workflow that is not what its policy decides."""

    step: str
    sequence: int
    """The number of the event in the workflow; 0 if the end of the log is wrong."""
    step_sequence: int
    recorded: dict[str, Any] | None
    computed: dict[str, Any] | None
    text: str
    """The difference, for people."""


def verify(flow: Workflow, events: Sequence[JournalEvent]) -> Divergence | None:
    """Replays the log of every step."""
    logs: dict[str, list[JournalEvent]] = {}
    for event in events:
        if event.step and event.type in KINDS:
            logs.setdefault(event.step, []).append(event)
    found: list[Divergence] = []
    for name, log in logs.items():
        definition = _definition(flow, name)
        if definition is None:
            found.append(Divergence(name, log[0].sequence, 1, log[0].event, None, f"no step is named {name!r}"))
        elif (divergence := _diverges(definition, name, log)) is not None:
            found.append(divergence)
    return min(found, key=lambda one: one.sequence or len(events) + 1, default=None)


def _definition(flow: Workflow, name: str) -> Step | None:
    if name.startswith(UNDO):
        undone = flow.steps.get(name[len(UNDO) :])
        return None if undone is None else undone.undoing()
    return flow.steps.get(name)


def _diverges(definition: Step, name: str, log: Sequence[JournalEvent]) -> Divergence | None:
    number = 0
    try:
        read: list[Event] = []
        for number, event in enumerate(log, 1):  # noqa: B007 (which one could not be read)
            read.append(Event.from_dict(event.event))
        replay(definition.policy, read, mode="verify")
    except ReplayError as error:
        sequence = {event.step_sequence: event.sequence for event in log}.get(error.sequence, 0)
        recorded, computed = (None if one is None else one.to_dict() for one in (error.recorded, error.computed))
        return Divergence(name, sequence, error.sequence, recorded, computed, str(error))
    except EventError as error:
        event = log[number - 1]
        return Divergence(name, event.sequence, event.step_sequence, event.event, None, str(error))
    return None
