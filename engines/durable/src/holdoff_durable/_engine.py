"""What the workflows of one runner share while an event loop runs: timer, threads, places, leases."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from holdoff import Cancel, Guards, Policy, SaveError
from holdoff.clock import time_ns

from ._clock import Timer
from ._entries import CHANGED
from ._errors import DefinitionChanged, JournalConflict, JournalDamaged, JournalError, WorkflowBusy
from ._journal import ENDED
from ._places import PLACE, Slot
from ._run import Run
from ._workflow import UNDO, changes

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from typing import TypeVar

    from holdoff import Retrying
    from holdoff.types import GuardOptions

    from ._clock import Sleep
    from ._entries import Entry, JournalEvent
    from ._journal import Journal, WorkflowRecord
    from ._lease import Lease
    from ._progress import Progress
    from ._workflow import Step, Workflow

    _S = TypeVar("_S")

LEAVING = Policy(attempts=3, backoff={"initial": "20ms"})
"""How a lease is given back: without it the next runner only waits a little."""

LOG = logging.getLogger("holdoff.durable")


class Engine:
    """The part of a runner that lives in one event loop."""

    def __init__(
        self,
        journal: Journal,
        owner: str,
        *,
        concurrency: int | None,
        reruns: int,
        any_policy: bool,
        lease: float,
        patient: Retrying,
        guards: Guards | GuardOptions | None,
        made: dict[str, Guards],
        running: dict[str, object],
    ) -> None:
        self.journal = journal
        self.owner = owner
        self.reruns = reruns
        self.any_policy = any_policy
        self.timer = Timer(asyncio.get_running_loop())
        self.threads = ThreadPoolExecutor(max_workers=concurrency or 64, thread_name_prefix="holdoff-step")
        self.queues: dict[int, dict[int, Sleep]] = {}
        """Who waits for a place, by the guards that it is of."""
        self.runs: dict[str, Run] = {}
        self._places = None if concurrency is None else asyncio.Semaphore(concurrency)
        self._lease = lease
        self._patient = patient
        self._guards = guards
        self._made = made
        self._running = running
        self._renewer: asyncio.Task[None] | None = None
        self._users = 0

    # What steps need.

    async def slot(self) -> Slot:
        """A place for an attempt, when there is one."""
        slot = Slot(self._places)
        await slot.take()
        return slot

    def guards_of(self, flow: Workflow, step: Step) -> tuple[Guards | None, str | None]:
        """The guards of a step, and under which name their state is kept; guards that came made are not."""
        given, name = self._given(flow, step)
        if given is None:
            return step.policy.guards, None
        if isinstance(given, Guards):
            return given, None
        return self._made.get(name), name if given else None

    def _given(self, flow: Workflow, step: Step) -> tuple[Guards | GuardOptions | None, str]:
        if step.guards is not None:
            # What undoes a step talks to the same other side.
            return step.guards, _guards_name(flow.name, step.name.removeprefix(UNDO))
        return self._guards, "runner"

    async def _make_guards(self, flow: Workflow) -> None:
        """The guards of all its steps, as they were kept."""
        for step in flow.steps.values():
            given, name = self._given(flow, step)
            if not given or isinstance(given, Guards) or name in self._made:
                continue
            saved = await self.tried(partial(self._kept, name))
            now = time_ns()
            # Another workflow may have been quicker.
            if name not in self._made:
                self._made[name] = (
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

    async def _kept(self, name: str) -> dict[str, bytes] | None:
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
        """Until it is known to be written: what failed is tried again, and what was written after all is found."""

        numbers: list[int] = await self.tried(
            lambda: self.journal.append_async(lease.workflow_id, entries, lease=lease, status=status, guards=guards)
        )
        return numbers

    async def tried(self, function: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """Again and again while that may help."""
        try:
            return await function()
        except JournalError as error:
            if not error.transient:
                raise
            failed = [error]

        async def again() -> Any:
            if failed:
                raise failed.pop()
            return await function()

        return await self._patient.call(again)

    # Workflows.

    async def run(
        self,
        flow: Workflow,
        workflow_id: str,
        input: object,
        given: bool,
        cancel: Cancel,
        progress: Progress | None,
    ) -> dict[str, Any]:
        """One workflow from where it is to its end."""
        # The lease does not tell: it is the runner's, in whichever of its loops and threads.
        mine = object()
        if self._running.setdefault(workflow_id, mine) is not mine:
            raise WorkflowBusy(
                "this runner runs it already",
                f"{self.journal.where}, workflow {workflow_id!r}",
                "nothing was run; wait for the one that is under way",
            )
        try:
            async with PLACE.get(Slot(None)).lent(self._places):
                return await self._run(flow, workflow_id, input, given, cancel, progress)
        finally:
            del self._running[workflow_id]

    async def _run(
        self,
        flow: Workflow,
        workflow_id: str,
        input: object,
        given: bool,
        cancel: Cancel,
        progress: Progress | None,
    ) -> dict[str, Any]:
        self._enter()
        lease: Lease | None = None
        run: Run | None = None
        try:
            record, lease = await self.tried(lambda: self._take(flow, workflow_id, input))
            self._check(flow, record, input, given)
            events: list[JournalEvent] = []
            if record.last_sequence > 1:
                events = await self.tried(lambda: asyncio.to_thread(self.journal.events, workflow_id))
                self._check_events(record, events)
            await self._make_guards(flow)
            run = Run(self, flow, lease or _ended(record), record.input, events, cancel)
            if lease is None:
                return run.results_or_raise()
            self.runs[workflow_id] = run
            if progress is not None:
                _shown(progress.begin, run)
            return await run.go()
        finally:
            if progress is not None and run is not None:
                _shown(progress.end, run.lease.status if run.lease.status in ENDED else "interrupted")
            self.runs.pop(workflow_id, None)
            if lease is not None and (run is None or not run.threads):
                # With a blocking attempt still going nobody else may begin: then the lease ends with its time.
                await self._give_back(lease)
            self._leave()

    async def _take(self, flow: Workflow, workflow_id: str, input: object) -> tuple[WorkflowRecord, Lease | None]:
        taken: tuple[WorkflowRecord, Lease | None] = await self.journal.begin_and_take_async(
            workflow_id,
            name=flow.name,
            input=input,
            definition=flow.fingerprint,
            steps=flow.shape,
            at=time_ns(),
            owner=self.owner,
            lasting=self._lease,
        )
        return taken

    def _check(self, flow: Workflow, record: WorkflowRecord, input: object, given: bool) -> None:
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
        if given and not record.same_input(input):
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
        while True:
            await asyncio.sleep(self._lease / 3)
            try:
                await self.journal.renew_async(self.owner, self._lease)
            except JournalError as error:
                LOG.warning("leases could not be renewed: %s", error)

    @property
    def idle(self) -> bool:
        """Whether it runs nothing."""
        return self._users == 0

    def close(self) -> None:
        """Lets the threads go."""
        self.threads.shutdown(wait=False)


def _shown(show: Callable[[_S], None], what: _S) -> None:
    """What is shown changes nothing: a terminal that is gone must not lose an answer."""
    try:
        show(what)
    except Exception as error:
        LOG.warning("the progress could not be shown: %r", error)


def _guards_name(flow: str, step: str) -> str:
    """Of a step's own guards: no other step's, and no longer than the column."""
    name = f"{flow.replace('%', '%25').replace('/', '%2F')}/{step}"
    return name if len(name) <= 255 else f"{sha256(name.encode()).hexdigest()}/{step[:100]}"


def _ended(record: WorkflowRecord) -> Lease:
    from ._lease import Lease

    return Lease(record.workflow_id, "", 0, record.last_sequence, record.status)
