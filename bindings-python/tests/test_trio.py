"""Asynchronous functions under trio, and under anyio on both of its backends."""

from __future__ import annotations

import threading
import time
from typing import Any

import anyio
import holdoff
import httpx
import pytest
import trio
from holdoff.testing import VirtualTime, virtual_time

FOUR = holdoff.Policy(attempts=4, backoff={"kind": "constant", "delay": 2}, jitter="none", budget="none")
HOUR = holdoff.Policy(attempts="forever", backoff={"kind": "constant", "delay": "1h"}, jitter="none")


class Failing:
    """Fails some times."""

    def __init__(self, times: int) -> None:
        self.times, self.calls = times, 0

    async def __call__(self) -> int:
        self.calls += 1
        await anyio.sleep(0)
        if self.calls <= self.times:
            raise ConnectionError("down")
        return self.calls


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_failure_is_retried_after_the_delays_of_the_policy(backend: str, clock: VirtualTime) -> None:
    async def blocks(failing: Failing) -> int:
        async for attempt in holdoff.attempts(FOUR):
            with attempt:
                return await failing()
        raise AssertionError

    guarded = FOUR.retrying(guards={"breaker": {"failures": 9}, "bulkhead": 1})
    for call in (FOUR.call, holdoff.retry(policy=FOUR).call, guarded.call, blocks):
        before = clock.now
        assert anyio.run(call, Failing(3), backend=backend) == 4
        assert clock.now - before == 6
        with pytest.raises(ConnectionError, match="down") as raised:
            anyio.run(call, Failing(9), backend=backend)
        assert holdoff.outcome_of(raised.value) is not None


def test_a_real_sleep_takes_its_time() -> None:
    policy = holdoff.Policy(attempts=2, backoff={"kind": "constant", "delay": "20ms"}, jitter="none")
    started = time.monotonic()
    assert trio.run(policy.call, Failing(1)) == 2
    assert time.monotonic() - started >= 0.02


def test_an_attempt_is_aborted_at_its_limit() -> None:
    calls = 0

    @holdoff.retry(policy=holdoff.Policy(attempts=2, backoff={"delay": 0, "kind": "constant"}, attempt_timeout="10ms"))
    async def hangs() -> None:
        nonlocal calls
        calls += 1
        await trio.sleep_forever()

    with pytest.raises(TimeoutError, match="the attempt took too long") as raised:
        trio.run(hangs)
    outcome = holdoff.outcome_of(raised.value)
    assert outcome is not None
    assert (calls, outcome.reason, outcome.attempts) == (2, "attempts", 2)


def test_an_attempt_that_returns_before_its_limit_succeeds() -> None:
    for options in ({"attempt_timeout": 60, "attempts": 2}, {"cancel": holdoff.Cancel()}):
        failing = Failing(1)
        caller = holdoff.Retrying(backoff={"delays": [0]}, **options)
        assert trio.run(caller.call, failing) == 2


@pytest.mark.parametrize("where", ["attempt", "sleep"])
def test_a_token_ends_an_attempt_and_a_sleep_from_any_thread(where: str) -> None:
    token = holdoff.Cancel()

    async def operation() -> None:
        if where == "attempt":
            await trio.sleep_forever()
        raise ConnectionError

    threading.Timer(0.02, token.cancel).start()
    with pytest.raises(holdoff.Cancelled):
        trio.run(HOUR.retrying(cancel=token).call, operation)


def test_a_cancellation_from_elsewhere_is_no_failure() -> None:
    limited = holdoff.Policy(attempts="forever", attempt_timeout="1h")

    async def cancelled() -> bool:
        with trio.move_on_after(0.01) as scope:
            await limited.call(trio.sleep_forever)
        return scope.cancelled_caught

    assert trio.run(cancelled)


def test_a_call_waits_for_its_place_in_a_bulkhead() -> None:
    caller = FOUR.retrying(guards={"bulkhead": {"limit": 1, "queue": 9}})
    running = most = 0

    async def operation() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await trio.sleep(0.001)
        running -= 1

    async def all_calls() -> None:
        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(caller.call, operation)

    trio.run(all_calls)
    assert most == 1


def test_calls_behind_a_probe_go_on_as_soon_as_it_has_come_back(clock: VirtualTime) -> None:
    guards = holdoff.Guards(breaker={"failures": 1, "open_for": "10s", "refusal": "wait"})
    caller = FOUR.retrying(guards=guards)
    ends: list[float] = []

    async def probe() -> None:
        await clock.pause(0.1)

    async def behind() -> None:
        await clock.pause(0.05)
        assert await caller.call(Failing(0)) == 1
        ends.append(clock.now)

    async def all_calls() -> None:
        with pytest.raises(ConnectionError):
            await holdoff.Policy(attempts=1).retrying(guards=guards).call(Failing(9))
        await clock.pause(10)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(caller.call, probe)
            for _ in range(3):
                nursery.start_soon(behind)

    started = clock.now
    trio.run(all_calls)
    assert [end - started for end in ends] == pytest.approx([10.1] * 3)


def test_hedging_under_trio_is_refused_in_a_clear_sentence() -> None:
    caller = FOUR.retrying(guards={"hedge": "50ms"})
    with pytest.raises(TypeError, match="hedge runs attempts as tasks of asyncio"):
        trio.run(caller.call, Failing(0))


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_sleeps_of_coroutines_overlap_in_virtual_time(backend: str) -> None:
    policy = holdoff.Policy(attempts=3, backoff={"kind": "constant", "delay": 10}, jitter="none", budget="none")

    async def all_calls(*calls: Any) -> None:
        async with anyio.create_task_group() as group:
            for call in calls:
                group.start_soon(*call)

    with virtual_time() as clock:
        anyio.run(all_calls, *[(policy.call, Failing(2)) for _ in range(100)], backend=backend)
        assert clock.now == 20
        assert clock.sleeps == [10.0] * 200
        anyio.run(all_calls, (policy.call, Failing(2)), (FOUR.call, Failing(3)), backend=backend)
        assert clock.now == 40
        assert clock.sleeps[200:] == [2.0, 2.0, 2.0, 10.0, 10.0]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_wrapped_client_sleeps_by_the_library_that_runs_it(backend: str) -> None:
    statuses = [503, 503, 200]

    async def get() -> int:
        transport = httpx.MockTransport(lambda _: httpx.Response(statuses.pop(0)))
        async with holdoff.wrap(httpx.AsyncClient(transport=transport), FOUR) as client:
            return (await client.get("https://api.test/")).status_code

    with virtual_time() as clock:
        assert anyio.run(get, backend=backend) == 200
        assert clock.sleeps == [2.0, 2.0]
