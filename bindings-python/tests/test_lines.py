"""Calls that wait for a rate: first come, first served, each at its slot."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import holdoff
from holdoff.testing import virtual_time


def limited(limit: int, per: str = "1s", **others: Any) -> holdoff.Guards:
    return holdoff.Guards(limiter={"limit": limit, "per": per, "burst": 1, "refusal": "wait"}, **others)


def begin(
    make: Callable[[], holdoff.Guards], calls: int, gap: float, takes: Callable[[int], float]
) -> list[tuple[int, float]]:
    """Start that many calls in virtual time; when each attempt began."""
    begun: list[tuple[int, float]] = []

    async def run() -> None:
        with virtual_time() as clock:
            retrying = holdoff.Retrying(attempts=1, guards=make())

            async def work(number: int) -> None:
                begun.append((number, clock.now))
                if takes(number):
                    await clock.pause(takes(number))

            tasks = []
            for number in range(calls):
                tasks.append(asyncio.ensure_future(retrying(work)(number)))
                if gap:
                    await clock.pause(gap)
            await asyncio.gather(*tasks)

    asyncio.run(run())
    return begun


def test_a_thousand_calls_begin_in_order_each_at_its_slot() -> None:
    begun = begin(lambda: limited(500), 1000, 0, lambda _: 0)
    assert [number for number, _ in begun] == list(range(1000))
    start = begun[0][1]
    assert all(-1e-9 <= at - start - number / 500 <= 0.002 for number, at in begun)


def test_a_limit_before_a_queue_holds_in_every_second() -> None:
    begun = begin(
        lambda: limited(10, bulkhead={"limit": 1, "queue": 200}), 60, 0.1, lambda number: 6 if number == 0 else 0.001
    )
    assert [number for number, _ in begun] == list(range(60))
    times = [at for _, at in begun]
    assert all(later - earlier > 1 - 1e-6 for earlier, later in zip(times, times[10:], strict=False))


def test_a_call_that_leaves_gives_its_slot_to_the_next() -> None:
    guards = limited(1, per="1h")
    done = threading.Event()

    async def run() -> None:
        retrying = holdoff.Retrying(attempts=1, guards=guards)

        @retrying
        async def work() -> None:
            await asyncio.sleep(0)

        await work()
        waiters = [asyncio.ensure_future(work()) for _ in range(3)]
        for _ in range(9):
            await asyncio.sleep(0)
        # The slot of the second is in two hours. The limiter has one back, and the first of the line leaves.
        assert guards.limiter is not None
        guards.limiter.give_back()
        waiters[0].cancel()
        await waiters[1]
        done.set()
        waiters[2].cancel()
        await asyncio.gather(*waiters, return_exceptions=True)

    asyncio.run(asyncio.wait_for(run(), 60))
    assert done.is_set()
