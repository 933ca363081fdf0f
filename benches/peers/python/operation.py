"""Operations: a function that fails so many times each time it is armed, and loops that time such calls."""

from __future__ import annotations

from asyncio import AbstractEventLoop
from itertools import repeat
from time import perf_counter_ns
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from sampling import Sample

ATTEMPTS = 4


class Operation:
    """How many failures are left."""

    left = 0


def run() -> int:
    """The function; each of its errors is a new one, as in programs."""
    if Operation.left:
        Operation.left -= 1
        raise OSError
    return 1


async def run_async() -> int:
    if Operation.left:
        Operation.left -= 1
        raise OSError
    return 1


def bare() -> int:
    """The function and the least loop around it, which catches and calls again."""
    while True:
        try:
            return run()
        except OSError:
            pass


async def bare_async() -> int:
    while True:
        try:
            return await run_async()
        except OSError:
            pass


def calls(call: Callable[[], object], failures: int = 0) -> Sample:
    """Calls that each begin with so many failures."""

    def succeeding(count: int) -> int:
        begun = perf_counter_ns()
        for _ in repeat(None, count):
            call()
        return perf_counter_ns() - begun

    def failing(count: int) -> int:
        operation = Operation
        begun = perf_counter_ns()
        for _ in repeat(None, count):
            operation.left = failures
            call()
        return perf_counter_ns() - begun

    return failing if failures else succeeding


def calls_of(caller: Callable[[Callable[[], int]], object], failures: int = 0) -> Sample:
    """The same for who takes the function with each call."""
    function = run

    def succeeding(count: int) -> int:
        begun = perf_counter_ns()
        for _ in repeat(None, count):
            caller(function)
        return perf_counter_ns() - begun

    def failing(count: int) -> int:
        operation = Operation
        begun = perf_counter_ns()
        for _ in repeat(None, count):
            operation.left = failures
            caller(function)
        return perf_counter_ns() - begun

    return failing if failures else succeeding


def awaits(loop: AbstractEventLoop, call: Callable[[], Awaitable[object]], failures: int = 0) -> Sample:
    """The same for coroutines, awaited one after the other in a task that was begun before."""

    async def succeeding(count: int) -> int:
        begun = perf_counter_ns()
        for _ in repeat(None, count):
            await call()
        return perf_counter_ns() - begun

    async def failing(count: int) -> int:
        operation = Operation
        begun = perf_counter_ns()
        for _ in repeat(None, count):
            operation.left = failures
            await call()
        return perf_counter_ns() - begun

    chosen = failing if failures else succeeding
    return lambda count: loop.run_until_complete(chosen(count))


def arguments(call: Callable[..., object]) -> Sample:
    """Calls with a positional and a keyword argument."""

    def sample(count: int) -> int:
        begun = perf_counter_ns()
        for _ in repeat(None, count):
            call(1, two=2)
        return perf_counter_ns() - begun

    return sample
