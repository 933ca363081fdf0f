"""Limits, clocks and cancellation for loops of a program's own: `within`, `holdoff.clock` and `Cancel.subscribe`."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any

import anyio
import holdoff
import holdoff.clock
import pytest
from holdoff.testing import VirtualTime, failing, virtual_time


def ended(error: BaseException) -> tuple[str, int]:
    outcome = holdoff.outcome_of(error)
    assert outcome is not None
    return outcome.reason, outcome.attempts


def test_remaining_counts_down_to_the_nearest_limit(clock: VirtualTime) -> None:
    assert holdoff.remaining() is None
    with holdoff.within(5):
        clock.advance(1)
        assert holdoff.remaining() == 4
        with holdoff.within(2), holdoff.within(3), holdoff.within(None):
            assert holdoff.remaining() == 2
        limited = holdoff.retry(attempt_timeout=60)(holdoff.remaining)
        assert limited() == 4
        clock.advance(9)
        with pytest.raises(TimeoutError, match="no time is left"):
            holdoff.remaining()
    assert holdoff.remaining() is None


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("limit", [0, -1, -0.5, timedelta(seconds=-3), "0s"])
def test_a_limit_in_the_past_leaves_nothing(limit: Any) -> None:
    with holdoff.within(limit), pytest.raises(TimeoutError):
        holdoff.remaining()


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("limit", [5, 5.0, "5s", "5000ms", timedelta(seconds=5)])
def test_a_limit_is_any_length_of_time(limit: Any) -> None:
    with holdoff.within(limit):
        assert holdoff.remaining() == 5
    with holdoff.within("none"):
        assert holdoff.remaining() is None


@pytest.mark.parametrize("limit", ["5 parsecs", True, math.nan, [5]])
def test_a_limit_that_is_no_length_of_time_is_refused(limit: Any) -> None:
    with pytest.raises((TypeError, holdoff.ConfigError), match="within"):
        holdoff.within(limit)


def test_a_spent_limit_is_a_timeout_of_the_attempt_whatever_errors_are_retried(clock: VirtualTime) -> None:
    kinds: list[str] = []

    def asks() -> None:
        clock.advance(0.03)
        holdoff.remaining()

    def kind(event: Any) -> None:
        kinds.append(event.failure.kind)

    for on in (Exception, OSError, ConnectionError):
        for limits, expected in (({"attempt_timeout": 0.02}, ("attempts", 3)), ({"deadline": 0.02}, ("deadline", 1))):
            fields: Any = {"backoff": {"kind": "constant", "delay": 0}, "on": on, "on_give_up": kind, **limits}
            with pytest.raises(TimeoutError) as raised:
                holdoff.retry(asks, **fields)()
            assert ended(raised.value) == expected
            with pytest.raises(TimeoutError) as raised:
                for attempt in holdoff.attempts(**fields):
                    with attempt:
                        clock.advance(0.03)
                        assert attempt.remaining
            assert ended(raised.value) == expected
    assert kinds == ["timeout"] * 12


def tens(attempts: int = 9, **fields: Any) -> holdoff.Policy:
    """Ten seconds between attempts."""
    delays: Any = {"backoff": {"kind": "constant", "delay": 10}, "jitter": "none", "budget": "none"}
    return holdoff.Policy(attempts=attempts, **delays, **fields)


TENS = tens()


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"deadline": 3600},
        {"attempt_timeout": 60},
        {"nested": "innermost"},
        {"breaker": "consecutive"},
        {"breaker": "consecutive", "attempt_timeout": 60},
        {"deadline": 3600, "limits": "last"},
        {"deadline": 3600, "deadline_from": "first_failure"},
        {"deadline": 60, "abort_at_deadline": False},
        {"reset_after": 1},
    ],
)
def test_a_limit_bounds_the_operations_in_it_with_their_sleeps(clock: VirtualTime, fields: dict[str, Any]) -> None:
    def fails() -> None:
        clock.advance(1)
        raise ConnectionError("down")

    async def awaits() -> None:
        fails()

    def blocks(policy: holdoff.Policy) -> None:
        for attempt in holdoff.attempts(policy):
            with attempt:
                fails()

    async def awaits_blocks(policy: holdoff.Policy) -> None:
        async for attempt in holdoff.attempts(policy):
            with attempt:
                fails()

    calls: list[Callable[[holdoff.Policy], Any]] = [
        lambda policy: policy.call(fails),
        lambda policy: asyncio.run(policy.call(awaits)),
        blocks,
        lambda policy: asyncio.run(awaits_blocks(policy)),
    ]
    for call in calls:
        began = clock.now
        with holdoff.within("25s"), pytest.raises(ConnectionError) as raised:
            call(tens(**fields))
        assert (ended(raised.value), clock.now - began) == (("deadline", 3), 23)


def test_a_limit_cancels_the_attempt_that_waits(clock: VirtualTime) -> None:
    async def hangs() -> None:
        await asyncio.Event().wait()

    async def blocks() -> None:
        async for attempt in holdoff.attempts(TENS):
            with attempt:
                await hangs()

    for call in (TENS.call, holdoff.Policy(abort_at_deadline=False, deadline=3600).call, lambda _: blocks()):
        began = clock.now
        with holdoff.within(5), pytest.raises(TimeoutError, match="the attempt took too long") as raised:
            asyncio.run(call(hangs))
        assert (ended(raised.value), clock.now - began) == (("deadline", 1), 5)


def test_an_attempt_bounds_the_retries_in_it(clock: VirtualTime) -> None:
    outer = tens(attempts=2, attempt_timeout=25, nested="innermost")

    def fails() -> None:
        clock.advance(1)
        raise ConnectionError("down")

    with pytest.raises(ConnectionError) as raised:
        outer.call(lambda: TENS.call(fails))
    assert ended(raised.value) == ("permanent", 1)
    assert clock.now == 23


def test_the_attempt_around_ends_at_its_limit_and_not_the_retry_in_it(clock: VirtualTime) -> None:
    """Both would end at the same time; a retry that is cancelled has not given up."""
    outer = tens(attempts=2, attempt_timeout=5, nested="innermost")
    calls = 0

    async def hangs() -> None:
        nonlocal calls
        calls += 1
        await asyncio.Event().wait()

    async def inner() -> None:
        await TENS.call(hangs)

    with pytest.raises(TimeoutError) as raised:
        asyncio.run(outer.call(inner))
    assert (ended(raised.value), calls, clock.now) == (("attempts", 2), 2, 20)


@pytest.mark.parametrize(
    "fields",
    [{"attempt_timeout": 0.05}, {"deadline": 0.05}, {"nested": "outermost"}, {"nested": {"mode": "cap", "cap": 2}}],
)
def test_a_task_that_outlives_an_attempt_is_free_of_it(clock: VirtualTime, fields: dict[str, Any]) -> None:
    tasks: list[asyncio.Task[Any]] = []

    async def job() -> tuple[float | None, Any, tuple[str, int]]:
        assert holdoff.remaining() is not None
        await clock.pause(0.1)
        with pytest.raises(ConnectionError) as raised:
            await TENS.call(failing(99, ConnectionError))
        return holdoff.remaining(), holdoff.token(), ended(raised.value)

    async def main() -> tuple[float | None, Any, tuple[str, int]]:
        @holdoff.retry(attempts=2, **fields)
        async def starts() -> None:
            tasks.append(asyncio.create_task(job()))
            await asyncio.sleep(0)

        with holdoff.within(1000):
            await starts()
            found: tuple[float | None, Any, tuple[str, int]] = await tasks[0]
            return found

    left, token, outcome = asyncio.run(main())
    assert left == pytest.approx(1000 - 0.1 - 80)
    assert token is None
    assert outcome == ("attempts", 9)


def test_an_abandoned_generator_takes_its_limit_with_it() -> None:
    async def items() -> AsyncIterator[int]:
        with holdoff.within(5):
            for item in range(3):
                yield item

    async def main() -> None:
        generator = items()
        await generator.__anext__()
        await asyncio.create_task(generator.aclose())  # type: ignore[attr-defined]
        assert holdoff.remaining() is None

    asyncio.run(main())


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("hangs", ["for ever", "a minute"])
def test_an_attempt_that_hangs_is_cancelled_by_the_virtual_clock(clock: VirtualTime, backend: str, hangs: str) -> None:
    calls = 0

    @holdoff.retry(
        attempts=10,
        attempt_timeout=0.2,
        deadline=0.5,
        backoff={"kind": "constant", "delay": 0.01},
        jitter="none",
        budget="none",
    )
    async def waits() -> None:
        nonlocal calls
        calls += 1
        await (anyio.sleep_forever() if hangs == "for ever" else anyio.sleep(60))

    with pytest.raises(TimeoutError) as raised:
        anyio.run(waits, backend=backend)
    assert (ended(raised.value), calls, clock.now) == (("deadline", 3), 3, 0.5)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_attempt_that_waits_less_than_its_limit_succeeds_in_virtual_time(clock: VirtualTime, backend: str) -> None:
    async def waits() -> int:
        for _ in range(3):
            await anyio.sleep(0.002)
        return 7

    assert anyio.run(holdoff.retry(waits, attempt_timeout="1s"), backend=backend) == 7
    assert clock.now <= 0.1
    with pytest.raises(TimeoutError):
        anyio.run(holdoff.retry(waits, attempt_timeout="5ms", attempts=1), backend=backend)


def test_the_clocks_are_those_of_virtual_time() -> None:
    assert holdoff.clock.virtual_time() is None
    before = time.time_ns(), time.monotonic_ns()
    assert holdoff.clock.time_ns() >= before[0]
    assert holdoff.clock.monotonic_ns() >= before[1] - 1_000_000
    with virtual_time() as clock:
        assert holdoff.clock.virtual_time() is clock
        at = holdoff.clock.time_ns()
        clock.sleep(1.5)
        assert holdoff.clock.time_ns() - at == holdoff.clock.monotonic_ns() == 1_500_000_000


def test_a_subscriber_is_called_once_when_the_token_is_cancelled() -> None:
    token, calls = holdoff.Cancel(), list[str]()
    token.subscribe("stays", lambda: calls.append("stays"))
    token.subscribe("left", lambda: calls.append("left"))
    token.unsubscribe("left")
    token.unsubscribe("unknown")
    assert calls == []
    token.cancel()
    token.cancel()
    assert calls == ["stays"]
    token.subscribe("late", lambda: calls.append("late"))
    assert calls == ["stays", "late"]
