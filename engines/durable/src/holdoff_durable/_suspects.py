"""Attempts that were in flight when their process died, any of which may have been the cause: the suspects.

A suspect runs alone, so that only the cause is blamed: when the process dies again while a suspect is alone, that death
counts against it, and no other death does. So that a long attempt does not hold up the others for
ever, it is alone for the length of a lease, and for twice as long each time that the process dies after that.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ._entries import JournalEvent

INTERRUPTED = "WORKFLOW_INTERRUPTED"
"""The type of the event that says that the attempts in flight before it were interrupted on purpose."""

ISOLATION_ENDED = "ISOLATION_ENDED"
"""The type of the event that says that a suspect is alone no more, and goes on."""

QUIET = 1.0
"""Seconds that a suspect waits for the attempts in flight to end, and holds up others, before it runs beside them."""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """The history of a suspect."""

    deaths: int
    """How often its process died while it was alone."""
    seconds: float
    """How long it is alone."""
    died: bool
    """True if its process died just now, and was not stopped."""

    def payload(self, *, alone: bool) -> dict[str, Any]:
        """For the event of its beginning."""
        return {"suspect": {"deaths": self.deaths, "seconds": self.seconds, "alone": alone}}


def suspicion(
    log: Sequence[JournalEvent], events: Sequence[JournalEvent], died: bool, seconds: float
) -> Suspicion | None:
    """The history of the attempt in which the log of a step ends, or whose rerun waits; None for no suspect."""
    begun = next(event for event in reversed(log) if event.type in ("STARTED", "RESUMED"))
    after = [event for event in events if event.sequence > begun.sequence]
    died = died and begun is log[-1] and not any(event.type == INTERRUPTED for event in after)
    known: dict[str, Any] | None = begun.payload.get("suspect")
    if known is None:
        return Suspicion(0, seconds, died) if died else None
    deaths, seconds = known["deaths"], known["seconds"]
    if died and known["alone"]:
        if any(event.type == ISOLATION_ENDED and event.payload.get("step") == begun.step for event in after):
            seconds *= 2
        else:
            deaths += 1
    return Suspicion(deaths, seconds, died)


class Gate:
    """All attempts of a runner, in whichever of its threads, go through it: it closes while a suspect is alone."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._suspects = 0
        """Suspects that wait for their turn."""
        self._turn = False
        """True while it is a suspect's turn."""
        self._closed = False
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []

    async def enter(self) -> None:
        """Waits until no suspect is alone, or wants to be."""

        def may() -> bool:
            if self._closed or (self._suspects and not self._turn):
                return False
            self._inside += 1
            return True

        await self._until(may)

    def leave(self) -> None:
        """An attempt has ended."""
        with self._lock:
            self._inside -= 1
            self._wake()

    async def isolate(self) -> bool:
        """Waits for the turn of a suspect, and until no other attempt is in flight; False if those take too long."""

        def may() -> bool:
            if self._turn:
                return False
            self._turn = self._closed = True
            return True

        with self._lock:
            self._suspects += 1
        try:
            await self._until(may)
        finally:
            with self._lock:
                self._suspects -= 1
        try:
            alone = await self._until(lambda: not self._inside, QUIET)
        except BaseException:
            self.open()
            raise
        with self._lock:
            self._inside += 1
            if not alone:
                self._closed = False
                self._wake()
        return alone

    def open(self) -> None:
        """The turn of a suspect is over."""
        with self._lock:
            self._turn = self._closed = False
            self._wake()

    async def _until(self, holds: Callable[[], bool], seconds: float | None = None) -> bool:
        loop = asyncio.get_running_loop()
        end = None if seconds is None else loop.time() + seconds
        while True:
            with self._lock:
                if holds():
                    return True
                future: asyncio.Future[None] = loop.create_future()
                self._waiting.append((loop, future))
            await asyncio.wait([future], timeout=None if end is None else max(end - loop.time(), 0))
            if not future.done():
                return False

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for loop, future in waiting:
            # A loop that was closed waits for nothing.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(_done, future)


def _done(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
