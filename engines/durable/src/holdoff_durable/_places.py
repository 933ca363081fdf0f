"""Places among the attempts of a runner that run at once, and how one lends its own to the workflow it waits for."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Executor, Future
from contextlib import asynccontextmanager
from contextvars import ContextVar
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from typing import ParamSpec, TypeVar

    from ._suspects import Gate

    _P = ParamSpec("_P")
    _T = TypeVar("_T")


class Slot:
    """A place, or none: a step has one while it does not sleep."""

    __slots__ = ("_borrowers", "_closed", "_gate", "_places", "_suspect", "_taken", "end_isolation", "isolated")

    def __init__(self, places: asyncio.Semaphore | None, gate: Gate) -> None:
        self._places = places
        self._gate = gate
        self._taken = False
        self._closed = False
        self._suspect = False
        self._borrowers = 0
        self.isolated = False
        """True while no other attempt is in flight, as this is a suspect's."""
        self.end_isolation: Callable[[], Awaitable[None]] | None = None

    async def take(self, *, suspect: bool = False) -> None:
        """Waits for it; a suspect's is the only one that is taken, if that can be had."""
        if self._taken:
            return
        if self._places is not None:
            await self._places.acquire()
        try:
            if suspect:
                self.isolated = await self._gate.isolate()
            else:
                await self._gate.enter()
        except BaseException:
            if self._places is not None:
                self._places.release()
            raise
        # The step may have ended meanwhile, or another of its tasks may have been as quick.
        superfluous = self._closed or self._taken
        self._taken, self._suspect = True, suspect
        if superfluous:
            self._free(still_taken=not self._closed)

    def open(self) -> None:
        """Lets others in beside a suspect, whose turn is over."""
        if self._suspect:
            self._suspect = self.isolated = False
            self._gate.open()

    def release(self) -> None:
        """Gives it back; again does nothing."""
        if self._taken:
            self._free(still_taken=False)

    def _free(self, *, still_taken: bool) -> None:
        self.open()
        self._taken = still_taken
        self._gate.leave()
        if self._places is not None:
            self._places.release()

    def close(self) -> None:
        """Gives it back for good."""
        self._closed = True
        self.release()

    @asynccontextmanager
    async def share(self, places: asyncio.Semaphore | None, gate: Gate) -> AsyncGenerator[None, None]:
        """Lends it to a workflow of the same runner that its step waits for."""
        lends = places is self._places and gate is self._gate and not self._closed
        if not lends or not (self._taken or self._borrowers):
            yield
            return
        self._borrowers += 1
        if self.isolated and self.end_isolation is not None:
            await self.end_isolation()
        self.release()
        try:
            yield
        finally:
            self._borrowers -= 1
            if self._borrowers == 0 and not self._closed:
                await self.take()


SLOT: ContextVar[Slot] = ContextVar("holdoff_place")
"""That of the step which this task belongs to."""


class Threads(Executor):
    """Threads for blocking attempts. None keeps its process from ending, since an attempt may hang for ever."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0
        self._idle = threading.Semaphore(0)
        self._queue: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Has the function called in a thread. Only for the thread of one event loop."""
        future: Future[_T] = Future()
        self._queue.put((future, partial(fn, *args, **kwargs)))
        if not self._idle.acquire(blocking=False) and self._count < self._most:
            self._count += 1
            threading.Thread(target=self._work, name=f"holdoff-step_{self._count}", daemon=True).start()
        return future

    def _work(self) -> None:
        while (item := self._queue.get()) is not None:
            future, call = item
            if future.set_running_or_notify_cancel():
                try:
                    result = call()
                except BaseException as error:  # The thread goes on: whoever waits is told.
                    future.set_exception(error)
                else:
                    future.set_result(result)
                    del result
            # Nothing may be kept alive by a thread that waits.
            del item, future, call
            self._idle.release()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Lets the threads end, each after what it does."""
        for _ in range(self._count):
            self._queue.put(None)
