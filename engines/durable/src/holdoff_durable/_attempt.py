"""One attempt of a step: the call of its function, in a thread or as a coroutine, within the attempt's limit."""

from __future__ import annotations

import asyncio
import contextvars
from concurrent.futures import CancelledError as FutureCancelled
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from holdoff import within
from holdoff.clock import monotonic_ns
from holdoff.machines import NEVER

from ._entries import reason_of
from ._places import in_thread
from ._workflow import StepContext

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import TypeVar

    from holdoff import Cancel
    from holdoff.log import Recorder
    from holdoff.machines import Step

    from ._host import Host
    from ._lease import Lease
    from ._step_run import StepRun

    _T = TypeVar("_T")


class WorkflowInHand(Protocol):
    """The parts of a workflow under way that an attempt needs."""

    lease: Lease
    input: Any
    steps: dict[str, StepRun]
    cancel: Cancel
    host: Host
    threads: set[str]
    grace_is_over: bool

    def stop(self) -> None:
        """Begins nothing any more."""


class Attempt:
    """An attempt in the middle of its run."""

    def __init__(self, workflow: WorkflowInHand, run: StepRun, recorder: Recorder, step: Step) -> None:
        self._workflow = workflow
        self._run = run
        self._loop = asyncio.get_running_loop()
        self._abort_at = None if step.abort_at in (None, NEVER) else step.abort_at
        self._context = StepContext(
            workflow_id=workflow.lease.workflow_id,
            step=run.name,
            attempt=step.attempt or 0,
            rerun=recorder.reruns,
            input=workflow.input,
            # An id may have colons, and so may a step: only the first one parts them.
            key=f"{quote(workflow.lease.workflow_id, safe=_KEY_CHARACTERS)}:{run.name}",
            _results=lambda: {name: workflow.steps[name].result for name in run.definition.after},
            _abort_at=self._abort_at,
            _now=workflow.host.now,
            _cancel=workflow.cancel,
        )

    async def result(self) -> Any:
        """Calls the function of the step, and returns what it returns."""
        run, definition = self._run, self._run.definition
        function = partial(definition.function, **definition.arguments(self._context, self._result_of))
        limit = None if self._abort_at is None else self._abort_at - self._workflow.host.now()
        run.attempting = True
        try:
            with within(None if limit is None else limit / 1e9):
                if not definition.is_async:
                    return await self._in_thread(function, limit)
                return await self._awaited(function, limit)
        finally:
            run.attempting = False

    def _result_of(self, name: str) -> Any:
        return self._workflow.steps[name].result

    async def _in_thread(self, function: partial[Any], limit: int | None) -> Any:
        """A blocking function: nothing can abort it. A late success is a success."""
        run, threads = self._run, self._workflow.threads

        def call() -> tuple[Any, Exception | None]:
            # A future does not take these errors, or takes them for its own end: so they are returned.
            try:
                return function(), None
            except FutureCancelled as error:
                return None, error
            except (StopIteration, SystemExit, asyncio.CancelledError) as error:
                # A SystemExit comes from the step, too: no signal is handled in this thread.
                raised = RuntimeError(f"the attempt raised {reason_of(error)}")
                raised.__cause__ = error
                return None, raised
            finally:
                threads.discard(run.name)

        threads.add(run.name)
        began = monotonic_ns()
        try:
            value, error = await self._ended(in_thread(partial(contextvars.copy_context().run, call)))
            if error is not None:
                raise error
        except Exception:
            run.timed_out = self._abort_at is not None and self._workflow.host.now() >= self._abort_at
            raise
        if not isawaitable(value):
            return value
        # The function has returned a coroutine.
        awaited: Awaitable[Any] = value
        return await self._awaited(lambda: awaited, None if limit is None else limit - (monotonic_ns() - began))

    async def _ended(self, future: asyncio.Future[_T]) -> _T:
        """The end of a blocking attempt. When its task is cancelled, it has the runner's grace to end by itself."""
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            if self._workflow.grace_is_over or future.cancelled():
                raise
            self._workflow.stop()
            await asyncio.wait([future], timeout=self._workflow.host.options.grace)
            if not future.done():
                raise
            uncancel(self._run.task)
            return future.result()
        finally:
            # The attempt goes on in its thread, and its end is not awaited any more.
            future.cancel()

    async def _awaited(self, function: Callable[[], Awaitable[Any]], limit: int | None) -> Any:
        """A coroutine, in the step's own task."""
        run = self._run
        handle = None
        run.abortable = True
        if limit is not None:
            handle = self._loop.call_later(max(limit, 0) / 1e9, self._time_out)
        try:
            return await function()
        except asyncio.CancelledError as error:
            if not (run.timed_out or run.stopping):
                if run.task is not None and _cancelling(run.task):
                    raise
                raise RuntimeError("the attempt was cancelled from inside") from error
            uncancel(run.task)
            if run.stopping:
                raise RuntimeError("the workflow was cancelled") from error
            raise TimeoutError("the attempt took longer than it may") from error
        finally:
            run.abortable = False
            if handle is not None:
                handle.cancel()

    def _time_out(self) -> None:
        run = self._run
        if run.abortable and run.task is not None and not run.stopping:
            run.timed_out = True
            run.task.cancel()


_KEY_CHARACTERS = "".join(chr(code) for code in range(33, 127) if chr(code) not in ":%")
"""The characters of an id that stay as they are in a key."""


def _cancelling(task: asyncio.Task[None]) -> bool:
    # Python 3.10 does not tell: then it was the task.
    cancelling = getattr(task, "cancelling", None)
    return cancelling is None or cancelling() > 0


def uncancel(task: asyncio.Task[None] | None) -> None:
    """Forgets that the task was cancelled, where Python counts that."""
    uncancel = getattr(task, "uncancel", None)
    if uncancel is not None:
        uncancel()
