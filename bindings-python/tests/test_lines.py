"""Calls that wait for a rate: first come, first served, each at its slot."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, Literal

import holdoff
import pytest
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


@pytest.mark.parametrize("takes", [0, 0.001, 0.005, 0.02])
@pytest.mark.parametrize("ramp", ["double", "none"])
def test_of_a_thousand_calls_behind_a_probe_at_most_32_begin_within_10_ms(
    ramp: Literal["double", "none"], takes: float
) -> None:
    def opened() -> holdoff.Guards:
        breaker = holdoff.Breaker(failures=1, open_for="10s", refusal="wait", ramp=ramp)
        opening = breaker.acquire()
        assert opening is not None
        breaker.record(opening, failed=True)
        return holdoff.Guards(breaker=breaker)

    probe, *others = (at for _, at in begin(opened, 1000, 0, lambda _: takes))
    early = sum(at <= probe + takes + 0.01 for at in others)
    assert len(others) == 999
    assert 1 <= early <= (32 if ramp == "double" else 999)
    assert (early == 999) is (ramp == "none")
    assert others[-1] < probe + 1


def test_threads_behind_a_probe_all_begin() -> None:
    guards = holdoff.Guards(breaker={"failures": 1, "open_for": "50ms", "refusal": "wait"})
    once = holdoff.Retrying(attempts=1, guards=guards)
    begun: list[int] = []

    @once
    def fails() -> None:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        fails()
    threads = [threading.Thread(target=once(begun.append), args=(number,)) for number in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(begun) == list(range(40))
