"""Runs the workflows of one runner in one event loop, under their leases."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from holdoff import Policy

from ._entries import CHANGED, reason_of
from ._errors import (
    DefinitionChanged,
    JournalConflict,
    JournalDamaged,
    JournalError,
    WorkflowBusy,
    WorkflowInterrupted,
    WorkflowSilent,
)
from ._host import Host
from ._journal import ENDED
from ._lease import Lease
from ._places import SLOT
from ._run import Run
from ._workflow import changes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from holdoff import Cancel

    from ._entries import JournalEvent
    from ._host import Options
    from ._journal import WorkflowRecord
    from ._progress import Progress
    from ._workflow import Workflow

    _S = TypeVar("_S")

LEAVING = Policy(attempts=3, backoff={"initial": "20ms"}, budget="none")
"""How a lease is given back: without it the next runner only waits a little."""

UNSEEN = (0, 0)
"""The end of no lease, and since when it is known."""

MISSING = object()
"""The input of a workflow that goes on with the input that it was begun with."""

LOG = logging.getLogger("holdoff.durable")


class Engine:
    """The part of a runner that lives in one event loop."""

    def __init__(self, options: Options) -> None:
        self.host = Host(options)
        self.journal = options.journal
        self.tried = self.host.tried
        self._options = options
        self._renewer: asyncio.Task[None] | None = None
        self._users = 0

    # Workflows.

    async def run(
        self,
        flow: Workflow,
        workflow_id: str,
        input: object,
        cancel: Cancel,
        progress: Progress | None,
        seen: tuple[int, int] = UNSEEN,
    ) -> dict[str, Any]:
        """One workflow from where it is to its end."""
        if self._options.stop.cancelled:
            raise WorkflowInterrupted(workflow_id)
        if not self._options.running:
            self._options.clock.set()
        # The lease does not tell: it is the runner's, in whichever of its loops and threads.
        mine = object()
        if self._options.running.setdefault(workflow_id, mine) is not mine:
            raise WorkflowBusy(
                "this runner runs it already",
                f"{self.journal.where}, workflow {workflow_id!r}",
                "nothing was run; wait for the one that is under way",
            )
        try:
            async with SLOT.get(self.host.slot()).share(self.host.places, self._options.gate):
                return await self._run(flow, workflow_id, input, cancel, progress, seen)
        finally:
            del self._options.running[workflow_id]

    async def _run(
        self,
        flow: Workflow,
        workflow_id: str,
        input: object,
        cancel: Cancel,
        progress: Progress | None,
        seen: tuple[int, int],
    ) -> dict[str, Any]:
        self._enter()
        lease: Lease | None = None
        run: Run | None = None
        try:
            record, lease = await self._take(flow, workflow_id, None if input is MISSING else input, seen)
            self._check(flow, record, input)
            events: list[JournalEvent] = []
            if record.last_sequence > 1:
                events = await self.tried(lambda: asyncio.to_thread(self.journal.events, workflow_id))
                self._check_events(record, events)
            await self.host.make_guards(flow)
            run = Run(self.host, flow, lease or _ended(record), record.input, events, cancel)
            if lease is None:
                return run.results_or_raise()
            if progress is not None:
                _shown(progress.begin, run)
            return await run.go()
        finally:
            if progress is not None and run is not None:
                _shown(progress.end, run.lease.status if run.lease.status in ENDED else "interrupted")
            if lease is not None and (run is None or not (run.threads or run.exits)):
                # With a blocking attempt still going nobody else may begin: then the lease ends with its time. A step
                # that exits ends its process, like a step that kills it.
                await self._give_back(lease)
            self._leave()

    async def _take(
        self, flow: Workflow, workflow_id: str, input: object, seen: tuple[int, int]
    ) -> tuple[WorkflowRecord, Lease | None]:
        """Takes the lease: from an owner that has lost it, only after some time without a sign of life."""

        async def take() -> tuple[WorkflowRecord, Lease | None]:
            nonlocal seen
            try:
                return await self.journal.begin_and_take_async(
                    workflow_id,
                    name=flow.name,
                    input=input,
                    definition=flow.fingerprint,
                    steps=flow.shape,
                    at=self.host.now(),
                    owner=self._options.owner,
                    lasting=self._options.lease,
                    seen=seen,
                )
            except JournalError as error:
                if error.transient:
                    # While the journal is away no runner can renew its lease.
                    seen = UNSEEN
                raise

        while True:
            try:
                taken: tuple[WorkflowRecord, Lease | None] = await self.tried(take)
                return taken
            except WorkflowSilent as silent:
                seen = (silent.until, silent.length)
                await self.host.timer.pause(silent.length // 3)

    def _check(self, flow: Workflow, record: WorkflowRecord, input: object) -> None:
        where = f"{self.journal.where}, workflow {record.workflow_id!r}"
        if record.name != flow.name:
            raise JournalConflict(
                f"it is a workflow {record.name!r} and no {flow.name!r}", where, "nothing was run: give another id"
            )
        if record.definition != flow.fingerprint:
            raise DefinitionChanged(
                f"the definition of {flow.name!r} is not the one it was begun under: "
                + changes(record.steps, flow.shape),
                where,
                "nothing was run; let it end under the old definition, and give the new one a name of its own",
            )
        if input is not MISSING and not record.same_input(input):
            raise JournalConflict(
                "it was begun with another input",
                where,
                "nothing was run: leave the input out to go on with it, or give another id",
            )

    def _check_events(self, record: WorkflowRecord, events: Sequence[JournalEvent]) -> None:
        """Without one of its events a workflow would do again what was done, or do it with something else."""
        where = f"{self.journal.where}, workflow {record.workflow_id!r}"
        numbers = [event.sequence for event in events]
        if numbers != list(range(1, record.last_sequence + 1)):
            missing = set(range(1, record.last_sequence + 1)).difference(numbers)
            raise JournalDamaged(
                f"event {min(missing)} of {record.last_sequence} is missing"
                if missing
                else f"event {numbers[-1]} comes after the last one, {record.last_sequence}",
                where,
                CHANGED,
            )
        altered = next((event for event in events if not event.unaltered), None)
        if altered is not None:
            raise JournalDamaged(
                f"event {altered.sequence}, {altered.type} of {altered.step or 'the workflow'}, is not as recorded",
                where,
                CHANGED,
            )

    async def _give_back(self, lease: Lease) -> None:
        release = LEAVING.retrying(on=JournalError)
        try:
            await asyncio.shield(asyncio.ensure_future(release.call(self.journal.release_async, lease)))
        except JournalError as error:
            LOG.warning("a lease could not be given back and ends with its time: %s", error)

    # Leases.

    def _enter(self) -> None:
        self._users += 1
        if self._renewer is None:
            self._renewer = asyncio.get_running_loop().create_task(self._renew())

    def _leave(self) -> None:
        self._users -= 1
        if self._users == 0 and self._renewer is not None:
            self._renewer.cancel()
            self._renewer = None

    async def _renew(self) -> None:
        lease = self._options.lease
        wait = lease / 3
        while True:
            await asyncio.sleep(wait)
            try:
                await self.journal.renew_async(self._options.owner, lease)
                wait = lease / 3
            except JournalError as error:
                if wait == lease / 3:
                    LOG.warning("leases could not be renewed: %s", error)
                # When the journal is back, other runners wait a third of the lease for a sign of life.
                wait = lease / 10

    @property
    def idle(self) -> bool:
        """True while it runs no workflow."""
        return self._users == 0


def _shown(show: Callable[[_S], None], what: _S) -> None:
    """Shows something; a terminal that is gone must not lose the answer of a workflow."""
    try:
        show(what)
    except Exception as error:
        LOG.warning("the progress could not be shown: %.200r", reason_of(error))


def _ended(record: WorkflowRecord) -> Lease:
    return Lease(record.workflow_id, "", 0, record.status)
