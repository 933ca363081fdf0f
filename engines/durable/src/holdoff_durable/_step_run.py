"""The progress of one step of a workflow under way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

    from holdoff import Guards
    from holdoff.log import Recorder
    from holdoff.machines import Step

    from ._clock import Sleep
    from ._entries import JournalEvent
    from ._suspects import Suspicion
    from ._workflow import Step as Definition


@dataclass(slots=True, eq=False)
class StepRun:
    """The progress of a step."""

    definition: Definition
    guards: Guards | None
    guards_name: str | None
    """The name under which the journal keeps the guards' state; None for guards that it does not keep."""
    recorder: Recorder | None = None
    step: Step | None = None
    log: list[JournalEvent] = field(default_factory=list["JournalEvent"])
    outcome: str | None = None
    """ "succeeded", "gave_up", "cancelled" or "skipped", once that is recorded."""
    reason: str = ""
    result: Any = None
    error: Exception | None = None
    ended_at: int = 0
    """The number of its last event among those of the workflow."""
    task: asyncio.Task[None] | None = None
    suspicion: Suspicion | None = None
    """The history of the next attempt, if it was in flight when its process died."""
    waiting: bool = False
    """True while it waits for a place."""
    sleep: Sleep | None = None
    pause: int = 0
    """Nanoseconds that the next sleep lasts longer than was decided."""
    attempting: bool = False
    abortable: bool = False
    """True while a coroutine of its attempt runs, which can be cancelled."""
    timed_out: bool = False
    stopping: bool = False

    @property
    def name(self) -> str:
        return self.definition.name
