"""A hundred thousand timers that are pending all the time: each that is due is taken out and another put in.

The time is a number that the timers are told. So the loop of asyncio runs as it does in a program, but never waits.
"""

from __future__ import annotations

import asyncio
import heapq
import selectors
from random import Random
from time import perf_counter_ns
from typing import TYPE_CHECKING

import holdoff.machines
from sampling import Work

if TYPE_CHECKING:
    from sampling import Sample

PENDING = 100_000
LONGEST_MS = 60_000
MILLISECOND = 1_000_000


def _delays(seed: int) -> list[int]:
    """Whole milliseconds, over and over."""
    chance = Random(seed)
    return [chance.randint(1, LONGEST_MS) * MILLISECOND for _ in range(1 << 17)]


def by_wheel() -> Sample:
    wheel, delays, now, turn = holdoff.machines.Wheel(), _delays(1), 0, 0
    for delay in delays[:PENDING]:
        wheel.insert(delay)

    def sample(count: int) -> int:
        nonlocal now, turn
        pop, insert, mask, end = wheel.pop, wheel.insert, len(delays) - 1, turn + count
        begun = perf_counter_ns()
        while turn < end:
            while pop(now) is not None:
                insert(now + delays[turn & mask])
                turn += 1
            now += MILLISECOND
        return perf_counter_ns() - begun

    return sample


def by_heap() -> Sample:
    delays, now, turn = _delays(1), 0, PENDING
    heap = [(delay, key) for key, delay in enumerate(delays[:PENDING])]
    heapq.heapify(heap)

    def sample(count: int) -> int:
        nonlocal now, turn
        pop, push, mask, end = heapq.heappop, heapq.heappush, len(delays) - 1, turn + count
        begun = perf_counter_ns()
        while turn < end:
            while heap[0][0] <= now:
                pop(heap)
                push(heap, (now + delays[turn & mask], turn))
                turn += 1
            now += MILLISECOND
        return perf_counter_ns() - begun

    return sample


class Instant(selectors.SelectSelector):
    """Waits for nothing: the time that it was to wait for has passed."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += timeout or 0.0
        return []


class InstantLoop(asyncio.SelectorEventLoop):
    """A loop whose time is its selector's."""

    def __init__(self) -> None:
        self.instant = Instant()
        super().__init__(self.instant)

    def time(self) -> float:
        return self.instant.now


def by_asyncio() -> Sample:
    loop, delays = InstantLoop(), [delay / 1e9 for delay in _delays(1)]
    turn, end, mask = 0, 0, len(delays) - 1

    def due() -> None:
        nonlocal turn
        loop.call_later(delays[turn & mask], due)
        turn += 1
        if turn == end:
            loop.stop()

    for delay in delays[:PENDING]:
        loop.call_later(delay, due)

    def sample(count: int) -> int:
        nonlocal end
        end = turn + count
        begun = perf_counter_ns()
        loop.run_forever()
        return perf_counter_ns() - begun

    return sample


def bare() -> Sample:
    """The same loop, in which a timer is due each time and nothing keeps any."""
    delays, now, turn = _delays(1), 0, 0

    def nothing(at: int) -> int:
        return at

    def sample(count: int) -> int:
        nonlocal now, turn
        insert, mask, end = nothing, len(delays) - 1, turn + count
        begun = perf_counter_ns()
        while turn < end:
            insert(now + delays[turn & mask])
            turn += 1
            now += MILLISECOND
        return perf_counter_ns() - begun

    return sample


def work() -> Work:
    samples = {"bare": bare(), "holdoff": by_wheel(), "heapq": by_heap(), "call_later": by_asyncio()}
    return Work("wheel 1e5 hold", samples, rounds=200, calls=2_000)
