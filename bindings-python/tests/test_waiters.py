"""Calls that wait for others and never run again: their event loop was closed."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import Iterator
from typing import Any

import holdoff
import pytest
import trio
from holdoff.testing import VirtualTime

# The tasks of a closed loop cannot clean up after themselves.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

POLICY = holdoff.Policy(attempts=4, backoff={"kind": "constant", "delay": 1}, jitter="none")


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """No task of a test is left for the next one."""
    yield
    gc.collect()


async def answers() -> int:
    return 1


def abandoned(guards: holdoff.Guards, calls: int, keep: bool) -> list[Any]:
    """An event loop that is closed while calls run and wait. The tasks are kept alive, or garbage is collected."""
    caller = POLICY.retrying(guards=guards)

    async def hangs() -> None:
        await asyncio.get_running_loop().create_future()

    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)
    tasks = [loop.create_task(caller.call(hangs)) for _ in range(calls)]
    loop.run_until_complete(asyncio.sleep(0))
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    if keep:
        return tasks
    del tasks, loop
    gc.collect()
    return []


@pytest.mark.parametrize("waiters", [1, 3, 2000])
@pytest.mark.parametrize("last", ["blocking", "asyncio", "trio"])
def test_waiters_of_a_closed_event_loop_pass_their_turn_on(waiters: int, last: str) -> None:
    guards = holdoff.Guards(bulkhead={"limit": 1, "queue": 3000})
    assert guards.bulkhead is not None
    assert guards.bulkhead.enter() == "entered"
    kept = abandoned(guards, waiters, keep=True)
    assert (guards.bulkhead.running, guards.bulkhead.waiting) == (1, waiters)
    guards.bulkhead.leave()
    assert (guards.bulkhead.running, guards.bulkhead.waiting) == (0, 0)
    run_one(guards, last)
    assert (guards.bulkhead.running, guards.bulkhead.waiting) == (0, 0)
    for task in kept:
        task._log_destroy_pending = False


def run_one(guards: holdoff.Guards, way: str) -> None:
    """One call, which must not hang."""
    caller = holdoff.Policy(attempts=1, deadline=30).retrying(guards=guards)
    if way == "blocking":
        assert caller.call(int, "1") == 1
    elif way == "asyncio":
        assert asyncio.run(caller.call(answers)) == 1
    else:
        assert trio.run(caller.call, answers) == 1


def test_a_closed_event_loop_keeps_no_place() -> None:
    guards = holdoff.Guards(bulkhead={"limit": 1, "queue": 10})
    assert guards.bulkhead is not None
    abandoned(guards, 4, keep=False)
    assert (guards.bulkhead.running, guards.bulkhead.waiting) == (0, 0)
    run_one(guards, "asyncio")


def test_a_waiter_whose_event_loop_closes_after_it_was_woken_passes_its_turn_on() -> None:
    guards = holdoff.Guards(bulkhead={"limit": 1, "queue": 10})
    assert guards.bulkhead is not None
    assert guards.bulkhead.enter() == "entered"
    caller = POLICY.retrying(guards=guards)

    loop = asyncio.new_event_loop()
    tasks = [loop.create_task(caller.call(answers)) for _ in range(2)]
    loop.run_until_complete(asyncio.sleep(0))
    loop.run_until_complete(asyncio.sleep(0))
    guards.bulkhead.leave()
    loop.close()
    run_one(guards, "blocking")
    assert (guards.bulkhead.running, guards.bulkhead.waiting) == (0, 0)
    for task in tasks:
        task._log_destroy_pending = False  # type: ignore[attr-defined]


def test_a_waiter_of_a_trio_run_that_ended_passes_its_turn_on() -> None:
    guards = holdoff.Guards(bulkhead={"limit": 1, "queue": 10})
    assert guards.bulkhead is not None
    assert guards.bulkhead.enter() == "entered"
    caller = POLICY.retrying(guards=guards)

    async def main() -> None:
        with trio.move_on_after(0.01):
            await caller.call(answers)

    trio.run(main)
    assert guards.bulkhead.waiting == 0
    guards.bulkhead.leave()
    run_one(guards, "trio")


@pytest.mark.parametrize("waiters", [1, 3])
def test_those_behind_a_probe_whose_event_loop_closed_let_others_through(clock: VirtualTime, waiters: int) -> None:
    guards = holdoff.Guards(breaker={"failures": 1, "open_for": "1s", "refusal": "wait"})
    assert guards.breaker is not None
    first = guards.breaker.acquire()
    assert first is not None
    guards.breaker.record(first, failed=True)
    clock.advance(1)
    permit = guards.breaker.acquire()
    assert permit is not None
    assert guards.breaker.state() == "half_open"
    kept = abandoned(guards, waiters, keep=True)
    guards.breaker.record(permit)
    run_one(guards, "blocking")
    for task in kept:
        task._log_destroy_pending = False
        # The virtual time still knows the sleep of the task.
        with contextlib.suppress(RuntimeError):
            task.get_coro().close()
