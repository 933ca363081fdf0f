"""Virtual time: it passes when every thread waits, and jumps to the end of the wait that ends first.

A program's sleeps take no time, and its deadlines and timeouts are those of a program that slept. While a thread works,
time passes as usual, so no wait ends before the work for which it waits.
"""

from __future__ import annotations

import asyncio
import datetime
import heapq
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from types import FrameType, SimpleNamespace
from typing import Any, Protocol

from ._patches import Patches

_REAL = {name: getattr(time, name) for name in ("time", "monotonic", "perf_counter")}
_REAL_NS = {name: getattr(time, f"{name}_ns") for name in _REAL}
_SLEEP = time.sleep
_SLICE = 0.0005
"""Seconds between two looks of a waiting thread at the thing for which it waits."""
_LINUX = sys.platform == "linux"
_LOOKS = 3 if _LINUX else 20
"""Looks at the other threads that must find them waiting at the same place. Linux also says which of them could run."""
_WAITING = ("threading", "queue", "selectors", "socket", "multiprocessing", "concurrent")
"""Modules of the standard library in which a thread waits: their functions block in C."""


class Unanswered(Protocol):
    """The requests of a network that wait for ever, unless a timeout ends them."""

    def pending(self) -> Sequence[object]: ...

    def end_pending(self) -> None: ...


class Clock:
    """The virtual time of an audit."""

    def __init__(self) -> None:
        self.offset = 0.0
        """Seconds that the program has slept."""
        self.patches = Patches()
        self.ignored: set[int] = set()
        """Threads of the audit itself."""
        self._waits: dict[int, float] = {}
        """The waiting threads, each with the time at which its wait ends."""
        self._looks: dict[int, int] = {}
        """How often each of them has looked at the thing for which it waits."""

    def now(self) -> float:
        return float(_REAL["monotonic"]()) + self.offset

    def pause(self, seconds: float, look: Callable[[float], bool]) -> bool:
        """Waits until `look` returns True, which may itself wait. Returns False when the time is over."""
        until = self.now() + seconds
        me = threading.get_ident()
        before = self._waits.get(me)
        self._waits[me] = until
        try:
            while not look(0.0):
                self._looks[me] = self._looks.get(me, 0) + 1
                left = until - self.now()
                if left <= 0:
                    return False
                if self._is_first(me) and self._is_quiet(me):
                    # What it waits for may have come before the last thread began to wait.
                    if look(0.0):
                        return True
                    self.offset += max(0.0, until - self.now())
                elif look(min(_SLICE, left)):
                    return True
            return True
        finally:
            if before is None:
                self._waits.pop(me, None)
            else:
                self._waits[me] = before

    def sleep(self, seconds: float) -> None:
        if not seconds >= 0:
            raise ValueError("sleep length must be non-negative")
        self.pause(seconds, _nap)

    def meet(self, names: dict[str, Any]) -> None:
        """Gives a module that sleeps, and reads the time from datetime, a datetime in which it slept."""
        name = "datetime" if "datetime" in names else "dt"
        seen: Any = names.get(name)
        module = sys.modules.get(names.get("__name__", ""))
        if seen not in (datetime, datetime.datetime) or module is None or vars(module) is not names:
            return
        before = self.offset

        class VirtualDatetime(datetime.datetime):
            @classmethod
            def now(cls, tz: datetime.tzinfo | None = None) -> Any:
                return datetime.datetime.now(tz) + timedelta(seconds=clock.offset - before)

            @classmethod
            def utcnow(cls) -> Any:
                return datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None) + timedelta(
                    seconds=clock.offset - before
                )

        clock = self
        everything = {**vars(datetime), "datetime": VirtualDatetime}
        self.patches.set(module, name, SimpleNamespace(**everything) if seen is datetime else VirtualDatetime)

    def _is_first(self, me: int) -> bool:
        """True if no other wait ends before this thread's."""
        return min((until, thread) for thread, until in self._waits.copy().items())[1] == me

    def is_idle(self) -> bool:
        """True if every thread waits, and none for a time."""
        return not self._waits and self._is_quiet(threading.get_ident())

    def _is_quiet(self, me: int) -> bool:
        """True if every other thread waits, and those that wait for a time have looked since."""
        before = None
        looked = {thread: self._looks.get(thread, 0) for thread in self._waits.copy() if thread != me}
        for _ in range(_LOOKS):
            places: list[tuple[int, int, float | None]] = []
            for thread, frame in sys._current_frames().items():
                if thread == me or thread in self.ignored:
                    continue
                if thread not in self._waits and not _waits(thread, frame):
                    return False
                places.append((thread, 0 if thread in self._waits else id(frame), self._waits.get(thread)))
            if not places:
                return True
            if before is not None and places != before:
                return False
            before = places
            _SLEEP(_SLICE)
        return all(self._looks.get(thread, 0) > looks for thread, looks in looked.items())


def _waits(thread: int, frame: FrameType) -> bool:
    """True if a thread waits in the standard library, and nothing is there for which it waits."""
    module = str(frame.f_globals.get("__name__", ""))
    if module.partition(".")[0] not in _WAITING:
        return False
    if module == "concurrent.futures.thread" and frame.f_code.co_name == "_worker":
        queue = frame.f_locals.get("work_queue")
        if queue is not None and not queue.empty():
            return False
    return not _LINUX or not _can_run(thread)


def _can_run(thread: int) -> bool:
    """True if the system would run a thread now: it was woken, or works without Python's lock."""
    known: Any = vars(threading)["_active"].get(thread)
    try:
        with open(f"/proc/self/task/{known.native_id}/stat", "rb") as status:
            return status.read().rpartition(b")")[2].split(None, 1)[0] in (b"R", b"D")
    except (OSError, AttributeError, IndexError):
        return False


def _nap(seconds: float) -> bool:
    _SLEEP(seconds)
    return False


@contextmanager
def virtual_time(clock: Clock, network: Unanswered) -> Generator[None, None, None]:
    """Runs a block in virtual time."""
    patches = Patches()

    def sleep(seconds: float) -> None:
        clock.meet(sys._getframe(1).f_globals)
        clock.sleep(seconds)

    def sleep_in_loop(delay: float, result: Any = None) -> Any:
        clock.meet(sys._getframe(1).f_globals)
        return plain(delay, result)

    plain = asyncio.sleep
    replaced: dict[Any, Any] = {_SLEEP: sleep, plain: sleep_in_loop}
    for name, real in _REAL.items():
        replaced[real] = _later(real, clock)
        replaced[_REAL_NS[name]] = _later_ns(_REAL_NS[name], clock)
    patches.everywhere(replaced)
    patches.set(threading.Condition, "wait", _condition_wait(clock))
    _follow_loops(patches, clock, network)
    try:
        yield
    finally:
        patches.undo()
        clock.patches.undo()


def _later(real: Callable[[], float], clock: Clock) -> Callable[[], float]:
    return lambda: real() + clock.offset


def _later_ns(real: Callable[[], int], clock: Clock) -> Callable[[], int]:
    return lambda: real() + int(clock.offset * 1e9)


def _condition_wait(clock: Clock) -> Callable[[Any, float | None], bool]:
    """`threading.Condition.wait`, on which events, queues, futures and timers wait, with the library's own steps."""
    lock = threading.Lock
    original = threading.Condition.wait

    def wait(self: Any, timeout: float | None = None) -> bool:
        if timeout is None or timeout <= 0:
            return original(self, timeout)
        if not self._is_owned():
            raise RuntimeError("cannot wait on un-acquired lock")
        waiter = lock()
        waiter.acquire()
        self._waiters.append(waiter)
        saved = self._release_save()
        notified = False
        try:
            notified = clock.pause(timeout, lambda seconds: waiter.acquire(seconds > 0, seconds if seconds > 0 else -1))
            return notified
        finally:
            self._acquire_restore(saved)
            if not notified:
                with suppress(ValueError):
                    self._waiters.remove(waiter)

    return wait


def _follow_loops(patches: Patches, clock: Clock, network: Unanswered) -> None:
    """Event loops wait for their next timer in virtual time."""

    def run_once(self: Any) -> None:
        if not self._ready and not self._stopping:
            timers = self._scheduled
            while timers and timers[0]._cancelled:
                self._timer_cancelled_count -= 1
                heapq.heappop(timers)._scheduled = False

            def look(seconds: float) -> bool:
                self._process_events(self._selector.select(seconds))
                return bool(self._ready)

            if timers:
                clock.pause(timers[0]._when - self.time(), look)
            else:
                # Nothing can wake the loop but a thread, or an answer that never comes.
                while network.pending() and not look(0.0):
                    if not clock.is_idle():
                        look(_SLICE)
                    elif not look(0.0):
                        network.end_pending()
        original(self)

    original = patches.set(asyncio.base_events.BaseEventLoop, "_run_once", run_once)
