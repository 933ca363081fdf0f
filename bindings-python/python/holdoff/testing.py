"""Time and draws that tests choose: retries take no time, their sleeps can be looked at, and jitter repeats."""

from __future__ import annotations

from time import time_ns

from ._holdoff import jittered, next_at, override_budgets, override_time, override_uniform, pinned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

__all__ = [
    "Uniform",
    "VirtualTime",
    "WithoutBudgets",
    "jittered",
    "next_at",
    "pinned",
    "uniform",
    "virtual_time",
    "without_budgets",
]


class VirtualTime:
    """Replaces the clock and every sleep of holdoff, in the whole process, from ``with`` to its end.

    A sleep moves the clock and returns at once. Only holdoff's own waiting is replaced: an asynchronous attempt that
    hangs is still aborted by a timer of the event loop.
    """

    def __init__(self, on_sleep: Callable[[float], object] | None = None) -> None:
        self.sleeps: list[float] = []
        """The seconds of every sleep so far."""
        self._on_sleep = on_sleep
        self._nanos = 0
        self._wall = time_ns()
        self._outer: list[object] = []

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
        self.sleeps.append(seconds)
        self.advance(seconds)
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


class Uniform:
    """Replaces every draw of gates and wait backoffs by one number, in the whole process, from ``with`` to its end."""

    def __init__(self, value: float | None) -> None:
        self._value = value
        self._outer: list[float | None] = []

    def __enter__(self) -> None:
        self._outer.append(override_uniform(self._value))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        override_uniform(self._outer.pop())


def uniform(value: float | None) -> Uniform:
    """A number from [0, 1) in place of every draw of gates and wait backoffs; None for real draws."""
    return Uniform(value)


class WithoutBudgets:
    """Turns the budgets of all loops off, in the whole process, from ``with`` to its end."""

    def __init__(self) -> None:
        self._outer: list[bool] = []

    def __enter__(self) -> None:
        self._outer.append(override_budgets(True))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        override_budgets(self._outer.pop())


def without_budgets() -> WithoutBudgets:
    """No budget for policies that name none: many failing calls would spend it, and the last tests get no retries."""
    return WithoutBudgets()
