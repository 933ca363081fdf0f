"""The wall clock, and one timer for every retry that is pending."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdoff import NEVER
from holdoff.clock import time_ns, virtual_time
from holdoff.machines import Wheel

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future, TimerHandle

CHUNK = 1.0
"""Seconds after which the wall clock is looked at again, whatever it said before: it may have been set."""

LATE = 0.01
"""Seconds by which an alarm is later than its sleep."""


class Sleep:
    """A sleep until a time."""

    __slots__ = ("_timer", "alarm", "future", "key", "lasted")

    def __init__(self, timer: Timer, key: int, future: Future[None]) -> None:
        self._timer = timer
        self.key = key
        self.future = future
        self.alarm: TimerHandle | None = None
        self.lasted = False
        """True once it has lasted as long as it may, whatever the wall clock says."""

    def wake(self) -> None:
        """End it before its time."""
        self._timer.end(self)

    def last(self) -> None:
        """It has lasted as long as it may."""
        self.lasted = True
        self.wake()


class Timer:
    """All sleeps of one event loop, by the wall clock, on one timer of the loop.

    ``active`` counts the steps that are doing something: when all sleep, virtual time goes on to the next that is due.
    """

    def __init__(self, loop: AbstractEventLoop) -> None:
        self._loop = loop
        self._wheel = Wheel()
        self._sleeps: dict[int, Sleep] = {}
        self._handle: TimerHandle | None = None
        self._armed: int | None = None
        self._active = 0

    def enter(self) -> None:
        """Something is being done."""
        self._active += 1

    def leave(self) -> None:
        """It is not any more."""
        self._active -= 1
        if self._active == 0 and self._sleeps and virtual_time() is not None:
            self._loop.call_soon(self._jump)

    def sleep(self, until: int, longest: int) -> Sleep:
        """A sleep until that time, of `longest` nanoseconds at most; await its future between `leave` and `enter`."""
        key = self._wheel.insert(until)
        sleep = Sleep(self, key, self._loop.create_future())
        self._sleeps[key] = sleep
        if until != NEVER and virtual_time() is None:
            # Later than the wheel, unless the wall clock was set back.
            sleep.alarm = self._loop.call_later(longest / 1e9 + LATE, sleep.last)
        self._arm()
        return sleep

    def end(self, sleep: Sleep) -> None:
        """The sleep is over, whether its time has come or not."""
        if self._sleeps.pop(sleep.key, None) is None:
            return
        self._wheel.cancel(sleep.key)
        self._wake(sleep)

    def _wake(self, sleep: Sleep) -> None:
        self.enter()
        if sleep.alarm is not None:
            sleep.alarm.cancel()
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
            seconds = (due - time_ns()) / 1e9
            self._handle = self._loop.call_later(min(max(seconds, 0.0), CHUNK), self._fire)

    def _fire(self) -> None:
        self._handle = None
        now = time_ns()
        while (fired := self._wheel.pop(now)) is not None:
            sleep = self._sleeps.pop(fired[0], None)
            if sleep is not None:
                self._wake(sleep)
        self._arm()

    def _jump(self) -> None:
        virtual = virtual_time()
        due = self._wheel.next_wake
        if self._active or virtual is None or due is None:
            return
        virtual.sleep(max(due - virtual.time_ns(), 0) / 1e9)
        # Seconds as a float may fall short by some nanoseconds.
        if virtual.time_ns() < due:
            virtual.sleep(1e-6)
        self._fire()
