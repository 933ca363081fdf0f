"""The wall clock, and one timer for every retry that is pending."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdoff.clock import monotonic_ns, time_ns, virtual_time
from holdoff.machines import NEVER, Wheel

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future, TimerHandle

CHUNK = 1.0
"""Seconds after which the wall clock is looked at again, whatever it said before: it may have been set."""


class Steady:
    """The clock of a runner: the wall clock when its work began, and from then on the monotonic clock.

    So no deadline ends early when the wall clock is set forward, and no guard stands still when it is set back.
    """

    def __init__(self) -> None:
        self._ahead = 0
        self.set()

    def __call__(self) -> int:
        """Nanoseconds since 1970."""
        return monotonic_ns() + self._ahead

    def set(self) -> None:
        """Takes over the wall clock. Only while nothing counts on this one."""
        self._ahead = time_ns() - monotonic_ns()


class Sleep:
    """A sleep of some length."""

    __slots__ = ("_timer", "future", "key", "lasted")

    def __init__(self, timer: Timer, key: int, future: Future[None]) -> None:
        self._timer = timer
        self.key = key
        self.future = future
        self.lasted = False
        """True once its time has come."""

    def wake(self) -> None:
        """End it before its time."""
        self._timer.end(self)


class Timer:
    """All sleeps of one event loop, on one timer of the loop.

    None lasts longer than it was to, also when the wall clock is set back. When it is set forward, they end by it.
    ``active`` counts the steps that are doing something: when all sleep, virtual time goes on to the next that is due.
    """

    def __init__(self, loop: AbstractEventLoop) -> None:
        self._loop = loop
        self._wheel = Wheel()
        self._sleeps: dict[int, Sleep] = {}
        self._handle: TimerHandle | None = None
        self._armed: int | None = None
        self._active = 0
        self._ahead = 0

    def _now(self) -> int:
        """The wall clock, but that it is never set back."""
        self._ahead = max(self._ahead, time_ns() - monotonic_ns())
        return monotonic_ns() + self._ahead

    def enter(self) -> None:
        """Something is being done."""
        self._active += 1

    def leave(self) -> None:
        """It is not any more."""
        self._active -= 1
        if self._active == 0 and self._sleeps and virtual_time() is not None:
            self._loop.call_soon(self._jump)

    def sleep(self, length: int) -> Sleep:
        """A sleep of so many nanoseconds; await its future between `leave` and `enter`."""
        key = self._wheel.insert(min(self._now() + length, NEVER))
        sleep = Sleep(self, key, self._loop.create_future())
        self._sleeps[key] = sleep
        self._arm()
        return sleep

    async def pause(self, length: int) -> None:
        """Waits so many nanoseconds by the monotonic clock, whatever the wall clock says."""
        end = monotonic_ns() + length
        self.enter()
        try:
            while (left := end - monotonic_ns()) > 0:
                sleep = self.sleep(left)
                self.leave()
                try:
                    await sleep.future
                finally:
                    # Does nothing where the sleep is over, and it enters in any case.
                    sleep.wake()
        finally:
            self.leave()

    def end(self, sleep: Sleep) -> None:
        """The sleep is over, whether its time has come or not."""
        if self._sleeps.pop(sleep.key, None) is None:
            return
        self._wheel.cancel(sleep.key)
        self._wake(sleep)

    def _wake(self, sleep: Sleep) -> None:
        self.enter()
        if not sleep.future.done():
            sleep.future.set_result(None)

    def _arm(self) -> None:
        if virtual_time() is not None:
            return
        due = self._wheel.next_wake
        if due == self._armed and self._handle is not None:
            return
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        self._armed = due
        if due is not None:
            seconds = (due - self._now()) / 1e9
            self._handle = self._loop.call_later(min(max(seconds, 0.0), CHUNK), self._fire)

    def _fire(self, now: int = 0) -> None:
        self._handle = None
        now = max(now, self._now())
        while (fired := self._wheel.pop(now)) is not None:
            sleep = self._sleeps.pop(fired[0], None)
            if sleep is not None:
                sleep.lasted = True
                self._wake(sleep)
        self._arm()

    def _jump(self) -> None:
        virtual = virtual_time()
        due = self._wheel.next_wake
        if self._active or virtual is None or due is None:
            return
        virtual.sleep(max(due - self._now(), 0) / 1e9)
        # Seconds as a float may fall short by some nanoseconds.
        self._fire(due)
