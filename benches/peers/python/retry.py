"""What a retry costs in Python beyond the function and the wait, beside tenacity.

Prints one JSON list of {work, who, ns}. All works run in one process, one sample of each in turn, and the fastest
sample of each is kept: a busy machine slows all of them alike. Nothing waits: every delay is zero.
"""

from __future__ import annotations

import asyncio
import json
import sys
from time import perf_counter_ns
from typing import TYPE_CHECKING

import holdoff
import tenacity

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

NO_WAIT = {"kind": "exponential", "initial": "0s"}
ATTEMPTS = 4


class Operation:
    """Fails so many times each time it is armed."""

    def __init__(self) -> None:
        self.left = 0

    def run(self) -> int:
        if self.left:
            self.left -= 1
            # A new one each time, as programs do: one that is raised again drags its traceback along.
            raise OSError
        return 1

    async def run_async(self) -> int:
        return self.run()


def bare(operation: Operation) -> Callable[[], int]:
    """The function and a loop around it, which catches and calls again."""

    def call() -> int:
        while True:
            try:
                return operation.run()
            except OSError:
                pass

    return call


def bare_async(operation: Operation) -> Callable[[], Awaitable[int]]:
    async def call() -> int:
        while True:
            try:
                return await operation.run_async()
            except OSError:
                pass

    return call


def by_tenacity() -> tenacity.Retrying:
    return tenacity.Retrying(
        stop=tenacity.stop_after_attempt(ATTEMPTS),
        wait=tenacity.wait_random_exponential(multiplier=0),
        retry=tenacity.retry_if_exception_type(OSError),
        sleep=lambda _: None,
        reraise=True,
    )


async def no_sleep(_: float) -> None:
    pass


def by_tenacity_async() -> tenacity.AsyncRetrying:
    return tenacity.AsyncRetrying(
        stop=tenacity.stop_after_attempt(ATTEMPTS),
        wait=tenacity.wait_random_exponential(multiplier=0),
        retry=tenacity.retry_if_exception_type(OSError),
        sleep=no_sleep,
        reraise=True,
    )


def works(operation: Operation) -> tuple[dict[str, Callable[[], int]], dict[str, Callable[[], Awaitable[int]]]]:
    retry = holdoff.retry(on=OSError, attempts=ATTEMPTS, backoff=NO_WAIT)

    @retry
    def ours() -> int:
        return operation.run()

    @retry
    async def ours_async() -> int:
        return await operation.run_async()

    # One for all calls, which no failure opens.
    guarded = holdoff.retry(on=OSError, attempts=ATTEMPTS, backoff=NO_WAIT, guards={"breaker": {"failures": 1_000_000}})

    @guarded
    def ours_guarded() -> int:
        return operation.run()

    @guarded
    async def ours_guarded_async() -> int:
        return await operation.run_async()

    @by_tenacity().wraps
    def theirs() -> int:
        return operation.run()

    @by_tenacity_async().wraps
    async def theirs_async() -> int:
        return await operation.run_async()

    sync = {"bare": bare(operation), "holdoff": ours, "holdoff, breaker": ours_guarded, "tenacity": theirs}
    return sync, {
        "bare": bare_async(operation),
        "holdoff": ours_async,
        "holdoff, breaker": ours_guarded_async,
        "tenacity": theirs_async,
    }


async def main(rounds: int, calls: int) -> None:
    operation = Operation()
    sync, coroutines = works(operation)
    best: dict[tuple[str, str], float] = {}

    def keep(work: str, who: str, begun: int) -> None:
        nanos = (perf_counter_ns() - begun) / calls
        best[work, who] = min(best.get((work, who), nanos), nanos)

    for _ in range(rounds):
        for failures in (0, 1, 3):
            for who, call in sync.items():
                begun = perf_counter_ns()
                for _ in range(calls):
                    operation.left = failures
                    call()
                keep(f"sync, {failures} failures", who, begun)
            for who, coroutine in coroutines.items():
                begun = perf_counter_ns()
                for _ in range(calls):
                    operation.left = failures
                    await coroutine()
                keep(f"async, {failures} failures", who, begun)
    print(json.dumps([{"work": work, "who": who, "ns": nanos} for (work, who), nanos in sorted(best.items())]))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100, 200))
