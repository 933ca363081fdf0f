"""Time and draws that tests choose: retries take no time, their sleeps can be looked at, and jitter repeats."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from heapq import heappop, heappush
from itertools import count
from math import inf
from time import time_ns

from ._chaos import InjectedError as InjectedError, chaos as chaos, with_chaos as with_chaos
from ._holdoff import (
    jittered as jittered,
    next_at as next_at,
    override_attempts,
    override_budgets,
    override_time,
    override_uniform,
    pinned as pinned,
    seed_at as seed_at,
)
from ._incident import (
    Incident as Incident,
    RecordedAttempt as RecordedAttempt,
    RecordedError as RecordedError,
    incident as incident,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import Future
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager
    from types import TracebackType
    from typing import Any, TypeAlias

    _Wait: TypeAlias = tuple[int, float, float]
    """A real wait: the virtual clock and the loop's time at its beginning, and the loop's time at its end."""


_TURNS = 64
"""The turns of a loop that hides its callbacks after which it counts as idle."""
_POLL = 0.001
"""Seconds between two looks at a loop whose own timers come first."""


class _Timer:
    """Calls a function when a virtual time has come, unless it is cancelled before."""

    __slots__ = ("at", "cancelled", "is_limit", "number", "wake")

    def __init__(self, at: int, number: int, wake: Callable[[], object], is_limit: bool) -> None:
        self.at = at
        self.number = number
        self.wake = wake
        self.is_limit = is_limit
        self.cancelled = False

    def cancel(self) -> None:
        """Call nothing."""
        self.cancelled = True

    def __lt__(self, other: _Timer) -> bool:
        return (self.at, self.number) < (other.at, other.number)


class VirtualTime:
    """Replaces the clock, every sleep and every limit of holdoff, in the whole process, from ``with`` to its end.

    A sleep moves the clock and returns at once. The sleeps of coroutines overlap: when nothing else is left to run, the
    clock moves to the end of the first one, or to the limit of an attempt that hangs. The sleeps of an attempt itself,
    such as `asyncio.sleep`, take real time, and as much virtual time, if its limit is later. Answers over a network and
    work in other threads take no virtual time: test such limits in real time.
    """

    def __init__(self, on_sleep: Callable[[float], object] | None = None) -> None:
        self.sleeps: list[float] = []
        """The seconds of every sleep so far."""
        self._on_sleep = on_sleep
        self._nanos = 0
        self._wall = time_ns()
        self._outer: list[object] = []
        self._timers: dict[object, list[_Timer]] = {}
        self._count = count()

    @property
    def now(self) -> float:
        """Seconds since the beginning."""
        return self._nanos / 1e9

    def advance(self, seconds: float) -> None:
        """Let time pass, as an operation does that takes a while."""
        self._nanos += round(seconds * 1e9)

    def monotonic_ns(self) -> int:
        """The clock."""
        return self._nanos

    def time_ns(self) -> int:
        """The clock on the wall, for dates in a server's answers: it was right at the beginning."""
        return self._wall + self._nanos

    def sleep(self, seconds: float) -> None:
        """The sleep between two attempts."""
        self.advance(seconds)
        self._slept(seconds)

    async def pause(self, seconds: float) -> None:
        """The sleep of a coroutine between two attempts, under asyncio or trio."""
        from ._guard import trio_module

        if trio_module() is None:
            await self.after(seconds)
            return
        import trio

        over = trio.Event()
        timer = self._timer(trio.lowlevel.current_trio_token(), seconds, over.set)
        try:
            await over.wait()
        finally:
            timer.cancel()
        self._slept(seconds)

    def after(self, seconds: float) -> Future[None]:
        """A future of the running loop of asyncio that is done when that time has passed."""
        from asyncio import get_running_loop

        loop = get_running_loop()
        future: Future[None] = loop.create_future()
        timer = self._timer(loop, seconds, lambda: self._wake(seconds, future))
        future.add_done_callback(lambda _: timer.cancel())
        return future

    def limit(self, seconds: float, end: Callable[[], object]) -> _Timer:
        """Calls the function when that time has passed under asyncio or trio, unless it is cancelled before."""
        from ._guard import trio_module

        key: object
        if trio_module() is None:
            from asyncio import get_running_loop

            key = get_running_loop()
        else:
            import trio

            key = trio.lowlevel.current_trio_token()
        return self._timer(key, seconds, end, is_limit=True)

    def _timer(self, key: Any, seconds: float, wake: Callable[[], object], *, is_limit: bool = False) -> _Timer:
        """A timer of that loop of asyncio, or of the run of trio with that token."""
        timer = _Timer(self._nanos + round(seconds * 1e9), next(self._count), wake, is_limit)
        timers = self._timers.get(key)
        if timers is not None:
            heappush(timers, timer)
            return timer
        self._timers[key] = [timer]
        if hasattr(key, "call_soon"):
            key.call_soon(self._turn, key, 0, None)
        else:
            import trio

            trio.lowlevel.spawn_system_task(self._drive, key)
        return timer

    def _next(self, key: object, own: float) -> bool:
        """All tasks wait: moves the clock to the first timer, and calls the timers of that time.

        True if the loop's own next timer, so many seconds from now, comes before a limit: then nothing changes.
        """
        timers = self._timers[key]
        while timers and timers[0].cancelled:
            heappop(timers)
        if not timers:
            return False
        if timers[0].is_limit and self._nanos + own * 1e9 <= timers[0].at:
            return True
        self._nanos = max(self._nanos, timers[0].at)
        while timers and timers[0].at <= self._nanos:
            timer = heappop(timers)
            if not timer.cancelled:
                timer.wake()
        return False

    def _waited(self, wait: _Wait | None, now: float, until: float | None = None) -> _Wait | None:
        """Lets the time of a real wait pass. Returns the wait that goes on until then."""
        if wait is not None:
            nanos, since, end = wait
            self._nanos = max(self._nanos, nanos + round((min(now, end) - since) * 1e9))
            if until is not None and abs(end - until) < _POLL:
                return wait
        return None if until is None else (self._nanos, now, until)

    def _turn(self, loop: Any, quiet: int, wait: _Wait | None) -> None:
        """Lets time pass to the first timer once the loop has nothing else to run."""
        now = loop.time()
        self._waited(wait, now)
        # A loop that hides its callbacks is idle after some turns.
        ready = getattr(loop, "_ready", None)
        if not ready and (ready is not None or quiet > _TURNS):
            quiet = 0
            own = min((timer.when() for timer in getattr(loop, "_scheduled", ()) if not timer.cancelled()), default=inf)
            if self._next(loop, own - now):
                loop.call_later(_POLL, self._turn, loop, 0, self._waited(wait, now, own))
                return
        if self._timers[loop]:
            loop.call_soon(self._turn, loop, quiet + 1, None)
        else:
            del self._timers[loop]

    async def _drive(self, run: object) -> None:
        """The same under trio, once all other tasks wait."""
        import trio
        from trio.testing import wait_all_tasks_blocked

        wait: _Wait | None = None
        try:
            while self._timers[run]:
                await wait_all_tasks_blocked()
                own = trio.lowlevel.current_statistics().seconds_to_next_deadline
                now = trio.current_time()
                self._waited(wait, now)
                goes_on = self._next(run, own)
                wait = self._waited(wait, now, now + own) if goes_on else None
                if goes_on:
                    await trio.sleep(_POLL)
        finally:
            del self._timers[run]

    def _wake(self, seconds: float, future: Future[None]) -> None:
        if future.done():
            return
        try:
            self._slept(seconds)
        except Exception as error:
            future.set_exception(error)
        else:
            future.set_result(None)

    def _slept(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        if self._on_sleep is not None:
            self._on_sleep(seconds)

    def __enter__(self) -> VirtualTime:
        self._outer.append(override_time(self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        override_time(self._outer.pop())


def virtual_time(on_sleep: Callable[[float], object] | None = None) -> VirtualTime:
    """A clock that starts at 0 and moves when something sleeps; ``on_sleep`` gets the seconds of each sleep."""
    return VirtualTime(on_sleep)


@contextmanager
def _overridden(override: Callable[[Any], Any], value: object, time: VirtualTime | None = None) -> Generator[None]:
    """Overrides a setting of the whole process, from ``with`` to its end."""
    before = override(value)
    try:
        with time or nullcontext():
            yield
    finally:
        override(before)


def uniform(value: float | None) -> AbstractContextManager[None]:
    """A number from [0, 1) in place of every draw of gates and wait backoffs; None for real draws."""
    return _overridden(override_uniform, value)


def without_budgets() -> AbstractContextManager[None]:
    """No budget for policies that name none: many failing calls would spend it, and the last tests get no retries."""
    return _overridden(override_budgets, True)


def disabled() -> AbstractContextManager[None]:
    """No retries: one attempt for each operation, as if nothing was decorated. Guards and time limits stay."""
    return _overridden(override_attempts, 1)


def limited(attempts: int) -> AbstractContextManager[None]:
    """At most so many attempts for each operation, the first one included, and no waits between them."""
    if attempts < 1:
        raise ValueError(f"attempts = {attempts}: must be at least 1, the first attempt included")
    return _overridden(override_attempts, attempts, VirtualTime())


def failing(times: int, error: Exception | type[Exception], function: Callable[..., Any] | None = None) -> Any:
    """A function that raises the error in its first calls, and then does what ``function`` does, or returns None.

    It is asynchronous if the function is. Its attribute ``calls`` counts the calls.
    """
    from functools import wraps

    from ._holdoff import is_coroutine_function

    def call(*args: Any, **kwargs: Any) -> Any:
        made.calls += 1
        if made.calls <= times:
            raise error
        return None if function is None else function(*args, **kwargs)

    async def awaited(*args: Any, **kwargs: Any) -> Any:
        return await call(*args, **kwargs)

    made: Any = awaited if function is not None and is_coroutine_function(function) else call
    if function is not None:
        made = wraps(function)(made)
    made.calls = 0
    return made
