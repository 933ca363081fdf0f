"""Runs workflows, and resumes them after a crash."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from contextlib import contextmanager
from math import isfinite
from typing import TYPE_CHECKING, Any

from holdoff import Cancel, Policy
from holdoff.clock import monotonic_ns

from ._engine import LOG, MISSING, UNSEEN, Engine
from ._errors import JournalError, WorkflowBusy, WorkflowCancelled, WorkflowFailed, WorkflowInterrupted
from ._host import Options
from ._lease import new_owner
from ._workflow import to_policy

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator, Iterable, Mapping
    from types import TracebackType
    from typing import TypeVar

    from holdoff import Guards, RetryEvent
    from holdoff.types import GuardOptions

    from ._journal import Journal, WorkflowRecord
    from ._workflow import AnyPolicy, Workflow

    _R = TypeVar("_R")

PATIENCE = Policy(attempts="forever", backoff={"initial": "20ms", "max": "2s"}, budget="none")
"""How a journal that is away is waited for, unless another policy is given."""


class Runner:
    """Runs workflows step by step, and writes down each step before the next.

    At least once: what is recorded is never done again, but an attempt in whose middle the process dies runs again,
    under the same number and at most `reruns` times; then it counts as a timeout. Decisions (whether to retry, when,
    when to give up) come from the core, from what is recorded alone: a crash changes none of them. A retry that was
    pending fires at its recorded time, one whose time has passed at once.

    `concurrency` is how many attempts run at once. `guards` is what all steps share: options as those of
    `holdoff.Guards`, then their state is kept in the journal, or a `holdoff.Guards`, whose state is not. `lease` is how
    many seconds another runner leaves a workflow alone after a sign of life of this one. `grace` is how many seconds
    attempts in flight have to end after `stop`, SIGTERM or Ctrl-C. `journal_policy` says how long
    a journal that cannot be written to is waited for: for ever, unless it is given. `any_policy` goes on with steps
    whose policy has changed.
    """

    def __init__(
        self,
        journal: Journal,
        *,
        concurrency: int | None = 64,
        guards: Guards | GuardOptions | None = None,
        reruns: int = 3,
        lease: float = 30.0,
        grace: float = 8.0,
        journal_policy: AnyPolicy | None = None,
        any_policy: bool = False,
    ) -> None:
        if concurrency is not None and concurrency < 1:
            raise ValueError("concurrency is at least 1, or None for no limit")
        if lease <= 0:
            raise ValueError("lease is a number of seconds above 0")
        if not (isfinite(grace) and grace >= 0):
            raise ValueError("grace is a number of seconds, 0 or above")
        self.journal = journal
        policy = PATIENCE if journal_policy is None else to_policy(journal_policy)
        if policy.guards is None:
            # All steps wait for one journal: a budget would end the wait.
            policy = Policy.from_dict({**policy.to_dict(), "budget": "none"})
        patient = policy.retrying(on=_is_transient, on_retry=_Teller())
        self._options = Options(journal, new_owner(), concurrency, reruns, any_policy, lease, patient, guards, grace)
        self._seen: dict[str, tuple[int, int]] = {}
        """The end of each lease of another runner, and since when it is known."""
        self._looked_at = 0
        self._engines: dict[asyncio.AbstractEventLoop, Engine] = {}

    def stop(self) -> None:
        """Ends the work of this runner for good: from any thread, or a signal handler. Again changes nothing.

        Attempts in flight have `grace` seconds to end and are recorded; nothing else begins, and the leases are given
        back. A call that waits for a workflow raises `WorkflowInterrupted`. An interrupted attempt runs
        again later, and that never counts against `reruns`.

        SIGTERM does the same while `run`, `resume_all` or `watch` is called in the main thread of a program that does
        not handle SIGTERM itself. Any other program calls `stop`: ``loop.add_signal_handler(SIGTERM, runner.stop)``.
        """
        self._options.stop.cancel()

    # One workflow.

    def run(
        self,
        flow: Workflow,
        workflow_id: str,
        input: object = MISSING,
        *,
        cancel: Cancel | None = None,
        progress: bool = False,
    ) -> dict[str, Any]:
        """Runs a workflow to its end, from where it is, and returns the result of each step.

        A workflow that has ended before answers as it did then. Raises `WorkflowFailed` when a step gave up,
        `WorkflowCancelled`, or a `JournalError`; after that, and when the program is interrupted, it can be run again
        and goes on from what was recorded. With `progress` the terminal shows what is going on. After a SIGTERM it
        raises `SystemExit`, once the attempts in flight have ended: see `stop`.
        """
        return self._sync(self.run_async(flow, workflow_id, input, cancel=cancel, progress=progress))

    async def run_async(
        self,
        flow: Workflow,
        workflow_id: str,
        input: object = MISSING,
        *,
        cancel: Cancel | None = None,
        progress: bool = False,
    ) -> dict[str, Any]:
        """The same for a coroutine. Cancelling its task interrupts the workflow; `cancel` ends it.

        A coroutine of a step is cancelled, too; a blocking attempt has `grace` seconds to end and is recorded.
        """
        view = None
        if progress:
            from ._progress import Progress

            view = Progress()
        engine = self._engine()
        try:
            return await engine.run(flow, workflow_id, input, cancel or Cancel(), view)
        finally:
            self._retire(engine)

    # After a crash.

    def resume_all(self, flows: Iterable[Workflow]) -> dict[str, dict[str, Any] | Exception]:
        """Goes on with every workflow of these definitions that has not ended and that nobody else runs.

        Answers with the results of each, or with the exception that it ended with.
        """
        return self._sync(self.resume_all_async(flows))

    async def resume_all_async(self, flows: Iterable[Workflow]) -> dict[str, dict[str, Any] | Exception]:
        """The same for a coroutine."""
        answers: dict[str, dict[str, Any] | Exception] = {}
        tasks: set[asyncio.Task[None]] = set()
        try:
            await self._resume({flow.name: flow for flow in flows}, answers.__setitem__, tasks)
            await asyncio.gather(*tasks)
        except BaseException:
            await _cancelled(tasks)
            raise
        return answers

    def watch(self, flows: Iterable[Workflow], *, every: float | None = None) -> None:
        """Goes on with every workflow of these definitions that no runner has, now and later, until it is stopped.

        It looks every `every` seconds; unless given, as often as a lease lasts. So it takes over workflows that another
        process or machine begins and leaves. It logs what ends with an exception. It returns after `stop` or a SIGTERM.
        """
        with _sigterm(self.stop):
            _run(self.watch_async(flows, every=every))

    async def watch_async(self, flows: Iterable[Workflow], *, every: float | None = None) -> None:
        """The same for a coroutine. Cancelling its task interrupts the workflows, as that of `run_async` does."""
        pause = self._options.lease if every is None else every
        if pause <= 0:
            raise ValueError("every is a number of seconds above 0")
        by_name = {flow.name: flow for flow in flows}
        tasks: set[asyncio.Task[None]] = set()
        warned: dict[str, str] = {}

        def tell(workflow_id: str, answer: dict[str, Any] | Exception) -> None:
            if isinstance(answer, JournalError):
                # A workflow that cannot go on, as its definition has changed, is met at each look.
                if warned.get(workflow_id) == str(answer):
                    return
                warned[workflow_id] = str(answer)
            if isinstance(answer, Exception) and not isinstance(answer, WorkflowInterrupted):
                LOG.warning("%s", answer)

        loop, stopped = asyncio.get_running_loop(), asyncio.Event()
        self._options.stop.subscribe(stopped, lambda: loop.call_soon_threadsafe(stopped.set))
        waiter = asyncio.ensure_future(stopped.wait())
        try:
            while not stopped.is_set():
                look = asyncio.ensure_future(self._resume(by_name, tell, tasks))
                tasks.add(look)
                await asyncio.wait([look, waiter], return_when=asyncio.FIRST_COMPLETED)
                if look.done():
                    tasks.discard(look)
                    look.result()
                    await asyncio.wait([waiter], timeout=pause)
                else:
                    # The journal may be away.
                    look.cancel()
            while tasks:
                await asyncio.wait(tasks)
        finally:
            self._options.stop.unsubscribe(stopped)
            waiter.cancel()
            await _cancelled(tasks)

    async def _resume(
        self,
        by_name: Mapping[str, Workflow],
        tell: Callable[[str, dict[str, Any] | Exception], None],
        tasks: set[asyncio.Task[None]],
    ) -> None:
        """Begins a task for each workflow that has not ended and that this runner does not run."""

        async def one(workflow_id: str, flow: Workflow, seen: tuple[int, int]) -> None:
            engine = self._engine()
            try:
                tell(workflow_id, await engine.run(flow, workflow_id, MISSING, Cancel(), None, seen))
            except WorkflowBusy:
                return
            except (WorkflowFailed, WorkflowCancelled, WorkflowInterrupted, JournalError) as error:
                tell(workflow_id, error)
            finally:
                self._retire(engine)

        async def look() -> list[WorkflowRecord]:
            try:
                return await asyncio.to_thread(self.journal.workflows)
            except JournalError:
                self._seen.clear()
                raise

        engine = self._engine()
        try:
            records: list[WorkflowRecord] = await engine.tried(look)
            known = self._known(records)
            for record in records:
                if not record.ended and record.name in by_name and record.workflow_id not in self._options.running:
                    begun = one(record.workflow_id, by_name[record.name], known.get(record.workflow_id, UNSEEN))
                    task = asyncio.ensure_future(begun)
                    tasks.add(task)
                    task.add_done_callback(tasks.discard)
        finally:
            self._retire(engine)

    def _known(self, records: Iterable[WorkflowRecord]) -> dict[str, tuple[int, int]]:
        """The end of each lease, and for how long it has been like that without a gap between two looks."""
        now = monotonic_ns()
        # In a longer gap the journal may have been away for a whole lease, and no runner could renew.
        before = self._seen if now - self._looked_at <= 1.5e9 * self._options.lease else {}
        self._looked_at = now
        self._seen = {}
        for record in records:
            if record.owner is not None:
                until, since = before.get(record.workflow_id, UNSEEN)
                same = until == record.lease_until
                self._seen[record.workflow_id] = (record.lease_until, since if same else now)
        return {name: (until, now - since) for name, (until, since) in self._seen.items()}

    # The engine of a loop.

    def _engine(self) -> Engine:
        loop = asyncio.get_running_loop()
        engine = self._engines.get(loop)
        if engine is None:
            engine = Engine(self._options)
            self._engines[loop] = engine
        return engine

    def _retire(self, engine: Engine) -> None:
        if engine.idle:
            self._engines = {loop: known for loop, known in self._engines.items() if known is not engine}

    def _sync(self, coroutine: Coroutine[Any, Any, _R]) -> _R:
        """Runs a coroutine; once a SIGTERM has come and all is recorded, the program ends as it asks."""
        with _sigterm(self.stop) as came:
            try:
                return _run(coroutine)
            finally:
                if came:
                    raise SystemExit(128 + signal.SIGTERM)

    def close(self) -> None:
        """Closes the journal."""
        self.journal.close()

    def __enter__(self) -> Runner:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


@contextmanager
def _sigterm(stop: Callable[[], None]) -> Generator[list[bool], None, None]:
    """Has SIGTERM call `stop` in the main thread, where the program has no handler of its own.

    Answers with a list that has an item once the signal has come.
    """
    came: list[bool] = []

    def handle(*_: object) -> None:
        came.append(True)
        stop()

    def is_in_force(handler: object) -> bool:
        return threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is handler

    if is_in_force(signal.SIG_DFL):
        signal.signal(signal.SIGTERM, handle)
    try:
        yield came
    finally:
        if is_in_force(handle):
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _run(coroutine: Coroutine[Any, Any, _R]) -> _R:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        running = False
    else:
        running = True
    if running:
        coroutine.close()
        raise RuntimeError("an event loop runs here already: await run_async() or resume_all_async()")
    return asyncio.run(coroutine)


async def _cancelled(tasks: set[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _is_transient(error: Exception) -> bool:
    return isinstance(error, JournalError) and error.transient


class _Teller:
    """Says that the journal is waited for: once a second, however many wait."""

    def __init__(self) -> None:
        self._warned_at = float("-inf")
        self._silent = 0

    def __call__(self, event: RetryEvent) -> None:
        now = time.monotonic()
        if now < self._warned_at + 1.0:
            self._silent += 1
            return
        more = f", and {self._silent} more since" if self._silent else ""
        LOG.warning("%s (tried %d times, again in %.2f s%s)", event.error, event.attempt, event.delay, more)
        self._warned_at, self._silent = now, 0
