"""Resources that the workflows of one runner share in one event loop: timer, threads, places, guards."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from holdoff import Cancel, Guards
from holdoff.machines import SaveError

from ._clock import Steady, Timer
from ._errors import DefinitionChanged
from ._places import Slot
from ._suspects import Gate
from ._workflow import UNDO

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from holdoff import Retrying
    from holdoff.types import GuardOptions

    from ._clock import Sleep
    from ._entries import Entry
    from ._journal import Journal
    from ._lease import Lease
    from ._workflow import Step, Workflow


@dataclass(slots=True)
class Options:
    """The options of a runner, and what its event loops share."""

    journal: Journal
    owner: str
    concurrency: int | None
    reruns: int
    any_policy: bool
    lease: float
    patient: Retrying
    guards: Guards | GuardOptions | None
    grace: float
    stop: Cancel = field(default_factory=Cancel)
    """Cancelled once the runner is to end."""
    gate: Gate = field(default_factory=Gate)
    clock: Steady = field(default_factory=Steady)
    made: dict[str, Guards] = field(default_factory=dict[str, Guards])
    """Guards whose state the journal keeps, by name."""
    running: dict[str, object] = field(default_factory=dict[str, object])
    """A mark for each workflow that runs."""


class Host:
    """The resources of the steps of all workflows in one event loop."""

    def __init__(self, options: Options) -> None:
        concurrency = options.concurrency
        self.options = options
        self.journal = options.journal
        self.now = options.clock
        self.timer = Timer(asyncio.get_running_loop())
        self.queues: dict[int, dict[int, Sleep]] = {}
        """The sleeps that wait for a place in a bulkhead, by the id of its guards."""
        self.places = None if concurrency is None else asyncio.Semaphore(concurrency)

    def slot(self) -> Slot:
        """A new slot, which has no place yet."""
        return Slot(self.places, self.options.gate)

    def guards_of(self, flow: Workflow, step: Step) -> tuple[Guards | None, str | None]:
        """The guards of a step, and under which name their state is kept; guards that came made are not."""
        given, name = self._guard_options(flow, step)
        if given is None:
            return step.policy.guards, None
        if isinstance(given, Guards):
            return given, None
        return self.options.made.get(name), name if given else None

    def _guard_options(self, flow: Workflow, step: Step) -> tuple[Guards | GuardOptions | None, str]:
        if step.guards is not None:
            # A compensation calls the same server as its step.
            return step.guards, _guards_name(flow.name, step.name.removeprefix(UNDO))
        return self.options.guards, "runner"

    async def make_guards(self, flow: Workflow) -> None:
        """The guards of all its steps, as they were kept."""
        for step in flow.steps.values():
            given, name = self._guard_options(flow, step)
            if not given or isinstance(given, Guards) or name in self.options.made:
                continue
            saved = await self.tried(partial(self._saved_guards, name))
            now = self.now()
            # Another workflow may have been quicker.
            if name not in self.options.made:
                self.options.made[name] = (
                    Guards(**given, now=now) if saved is None else self._restored(given, name, saved, now)
                )

    def _restored(self, given: GuardOptions, name: str, saved: dict[str, bytes], now: int) -> Guards:
        try:
            return Guards.restore(given, saved, now=now)
        except SaveError as error:
            raise DefinitionChanged(
                f"the guards {name!r} cannot go on from what is kept of them: {error}",
                self.journal.where,
                "nothing was run; go on with guards of the same kinds, or remove that row of the table guards, so that "
                "they begin anew",
            ) from error

    async def _saved_guards(self, name: str) -> dict[str, bytes] | None:
        return await asyncio.to_thread(self.journal.guards, name)

    def wake_queue(self, guards: Guards | None) -> None:
        """A place in a bulkhead may have come free."""
        if guards is not None and (queue := self.queues.get(id(guards))):
            for sleep in list(queue.values()):
                sleep.wake()

    async def append(
        self,
        lease: Lease,
        entries: Sequence[Entry],
        status: str | None,
        guards: Mapping[str, Mapping[str, bytes]] | None,
    ) -> list[int]:
        """Appends events, again while the journal is away. Returns their numbers once they are written."""

        numbers: list[int] = await self.tried(
            lambda: self.journal.append_async(lease.workflow_id, entries, lease=lease, status=status, guards=guards)
        )
        return numbers

    async def tried(self, function: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """Calls the function again while the journal is away, as the runner's policy says."""
        return await self.options.patient.call(function)


def _guards_name(flow: str, step: str) -> str:
    """The name of a step's own guards: unique to the step, and no longer than the column."""
    name = f"{flow.replace('%', '%25').replace('/', '%2F')}/{step}"
    return name if len(name) <= 255 else f"{sha256(name.encode()).hexdigest()}/{step[:100]}"
