"""Places among the attempts of a runner that run at once, and how one lends its own to the workflow it waits for."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from typing import TypeVar

    from ._suspects import Gate

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
        """Waits for a place. A suspect also waits until no other attempt runs, but not for ever."""
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


def in_thread(call: Callable[[], _T]) -> asyncio.Future[_T]:
    """Calls the function in a thread of its own, which keeps no process from ending: an attempt may hang for ever."""
    future: Future[_T] = Future()

    def run() -> None:
        try:
            result = call()
        except BaseException as error:  # The caller gets it.
            future.set_exception(error)
        else:
            future.set_result(result)

    future.set_running_or_notify_cancel()
    threading.Thread(target=run, name="holdoff-step", daemon=True).start()
    return asyncio.wrap_future(future)
