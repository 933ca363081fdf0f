"""Places among the attempts of a runner that run at once, and how one lends its own to the workflow it waits for."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


class Slot:
    """A place, or none: a step has one while it does not sleep."""

    __slots__ = ("_borrowers", "_closed", "_places", "_taken")

    def __init__(self, places: asyncio.Semaphore | None) -> None:
        self._places = places
        self._taken = False
        self._closed = False
        self._borrowers = 0

    async def take(self) -> None:
        """Waits for it."""
        if self._places is not None and not self._taken:
            await self._places.acquire()
            if self._closed or self._taken:
                # The step has ended meanwhile, or another of its tasks was as quick.
                self._places.release()
            else:
                self._taken = True

    def release(self) -> None:
        """Gives it back; again does nothing."""
        if self._places is not None and self._taken:
            self._taken = False
            self._places.release()

    def close(self) -> None:
        """Gives it back for good."""
        self._closed = True
        self.release()

    @asynccontextmanager
    async def share(self, places: asyncio.Semaphore | None) -> AsyncGenerator[None, None]:
        """Others have it meanwhile, if it is one of those: who waits for a workflow of the same runner needs none."""
        if places is None or places is not self._places or self._closed:
            yield
            return
        self._borrowers += 1
        self.release()
        try:
            yield
        finally:
            self._borrowers -= 1
            if self._borrowers == 0 and not self._closed:
                await self.take()


SLOT: ContextVar[Slot] = ContextVar("holdoff_place")
"""That of the step which this task belongs to."""
