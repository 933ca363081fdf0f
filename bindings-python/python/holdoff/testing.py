"""Time and draws that tests choose: retries take no time, their sleeps can be looked at, and jitter repeats."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import count
from time import time_ns

from ._chaos import InjectedError, chaos, with_chaos
from ._holdoff import (
    jittered,
    next_at,
    override_attempts,
    override_budgets,
    override_time,
    override_uniform,
    pinned,
)
from ._incident import Incident, RecordedAttempt, RecordedError, incident

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, TypeAlias

    _Sleeper: TypeAlias = tuple[int, int, float, Any]
    """When it wakes, its place among sleepers of the same time, how long it sleeps, and its future or event."""

__all__ = [
    "Incident",
    "InjectedError",
    "Limited",
    "RecordedAttempt",
    "RecordedError",
    "Uniform",
    "VirtualTime",
    "WithoutBudgets",
    "chaos",
    "disabled",
    "failing",
    "incident",
    "jittered",
    "limited",
    "next_at",
    "pinned",
    "uniform",
    "virtual_time",
    "with_chaos",
    "without_budgets",
]


_TURNS = 64


class VirtualTime:
    """Replaces the clock and every sleep of holdoff, in the whole process, from ``with`` to its end.

    A sleep moves the clock and returns at once. The sleeps of coroutines overlap: the clock moves to the end of the
    first one when nothing else is left to run. Only holdoff's own waiting is replaced: an asynchronous attempt that
    hangs is still aborted by a timer of the event loop.
    """

    def __init__(self, on_sleep: Callable[[float], object] | None = None) -> None:
        self.sleeps: list[float] = []
        """The seconds of every sleep so far."""
        self._on_sleep = on_sleep
        self._nanos = 0
        self._wall = time_ns()
        self._outer: list[object] = []
        self._sleepers: dict[object, list[_Sleeper]] = {}
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

        run = trio.lowlevel.current_trio_token()
        if run not in self._sleepers:
            trio.lowlevel.spawn_system_task(self._drive, run)
        over = trio.Event()
        sleeper = self._sleeper(run, seconds, over)
        try:
            await over.wait()
        finally:
            if not over.is_set():
                self._sleepers[run].remove(sleeper)
                heapify(self._sleepers[run])
        self._slept(seconds)

    async def _drive(self, run: object) -> None:
        """Lets time pass under trio to the end of the first sleep whenever all other tasks wait."""
        from trio.testing import wait_all_tasks_blocked

        sleepers = self._sleepers[run]
        try:
            while sleepers:
                await wait_all_tasks_blocked()
                for _, _, _, over in self._due(sleepers):
                    over.set()
        finally:
            del self._sleepers[run]

    def _due(self, sleepers: list[_Sleeper]) -> list[_Sleeper]:
        """Moves the time to the end of the first sleep. Returns the sleepers that wake then."""
        due: list[_Sleeper] = []
        while sleepers and (not due or sleepers[0][0] <= self._nanos):
            due.append(heappop(sleepers))
            self._nanos = max(self._nanos, due[0][0])
        return due

    def after(self, seconds: float) -> Future[None]:
        """A future of the running loop of asyncio that is done when that time has passed."""
        from asyncio import get_running_loop

        loop = get_running_loop()
        future: Future[None] = loop.create_future()
        if loop not in self._sleepers:
            loop.call_soon(self._turn, loop, 0)
        self._sleeper(loop, seconds, future)
        return future

    def _sleeper(self, key: object, seconds: float, over: Any) -> _Sleeper:
        sleeper = (self._nanos + round(seconds * 1e9), next(self._count), seconds, over)
        heappush(self._sleepers.setdefault(key, []), sleeper)
        return sleeper

    def _turn(self, loop: AbstractEventLoop, quiet: int) -> None:
        """Lets time pass to the end of the first sleep once the loop has nothing else to run."""
        sleepers = self._sleepers[loop]
        while sleepers and sleepers[0][3].done():
            heappop(sleepers)
        # A loop that hides its callbacks is idle after some turns.
        ready: Any = getattr(loop, "_ready", None)
        if sleepers and not ready and (ready is not None or quiet > _TURNS):
            for _, _, seconds, future in self._due(sleepers):
                if not future.done():
                    self._wake(seconds, future)
            quiet = 0
        if sleepers:
            loop.call_soon(self._turn, loop, quiet + 1)
        else:
            del self._sleepers[loop]

    def _wake(self, seconds: float, future: Future[None]) -> None:
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
    """A clock that starts at 0 and moves when something sleeps; ``on_sleep`` is told the seconds of each sleep."""
    return VirtualTime(on_sleep)


class _Override:
    """Overrides a setting of the whole process, from ``with`` to its end."""

    def __init__(self, override: Callable[[Any], object], value: object) -> None:
        self._override = override
        self._value = value
        self._outer: list[object] = []

    def __enter__(self) -> None:
        self._outer.append(self._override(self._value))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._override(self._outer.pop())


class Uniform(_Override):
    """Replaces every draw of gates and wait backoffs by one number, in the whole process, from ``with`` to its end."""

    def __init__(self, value: float | None) -> None:
        super().__init__(override_uniform, value)


def uniform(value: float | None) -> Uniform:
    """A number from [0, 1) in place of every draw of gates and wait backoffs; None for real draws."""
    return Uniform(value)


class WithoutBudgets(_Override):
    """Turns the budgets of all loops off, in the whole process, from ``with`` to its end."""

    def __init__(self) -> None:
        super().__init__(override_budgets, True)


def without_budgets() -> WithoutBudgets:
    """No budget for policies that name none: many failing calls would spend it, and the last tests get no retries."""
    return WithoutBudgets()


class Limited(_Override):
    """Limits the attempts of all operations, in the whole process, from ``with`` to its end."""

    def __init__(self, attempts: int, time: VirtualTime | None) -> None:
        if attempts < 1:
            raise ValueError(f"attempts = {attempts}: must be at least 1, the first attempt included")
        super().__init__(override_attempts, attempts)
        self._time = time

    def __enter__(self) -> None:
        super().__enter__()
        if self._time is not None:
            self._time.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._time is not None:
            self._time.__exit__(kind, error, traceback)
        super().__exit__(kind, error, traceback)


def disabled() -> Limited:
    """No retries: one attempt for each operation, as if nothing was decorated. Guards and time limits stay."""
    return Limited(1, None)


def limited(attempts: int) -> Limited:
    """At most so many attempts for each operation, the first one included, and no waits between them."""
    return Limited(attempts, VirtualTime())


def failing(times: int, error: Exception | type[Exception], function: Callable[..., Any] | None = None) -> Any:
    """A function that raises the error in its first calls, and then does what ``function`` does, or returns None.

    It is asynchronous if the function is. Its attribute ``calls`` counts the calls.
    """
    from functools import wraps
    from inspect import iscoroutinefunction

    def call(*args: Any, **kwargs: Any) -> Any:
        made.calls += 1
        if made.calls <= times:
            raise error
        return None if function is None else function(*args, **kwargs)

    async def awaited(*args: Any, **kwargs: Any) -> Any:
        return await call(*args, **kwargs)

    made: Any = awaited if iscoroutinefunction(function) else call
    if function is not None:
        made = wraps(function)(made)
    made.calls = 0
    return made
