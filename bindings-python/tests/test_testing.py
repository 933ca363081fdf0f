"""Tests without waiting: switches, helpers and the fixtures for pytest."""

from __future__ import annotations

import asyncio
from typing import Any

import holdoff
import pytest
from holdoff.testing import VirtualTime, disabled, failing, limited, virtual_time

HOUR = holdoff.Policy(attempts=9, backoff={"kind": "constant", "delay": "1h"}, jitter="none", budget="none")
FOREVER = holdoff.Policy(attempts="forever", rules=[{"if": {"kinds": ["transient"]}, "attempts": 7}])


@pytest.mark.parametrize("policy", [HOUR, FOREVER])
def test_the_attempts_of_all_operations_are_limited(policy: holdoff.Policy) -> None:
    bulkhead = holdoff.Bulkhead(1)
    for most, switch in ((1, disabled()), (3, limited(3))):
        operation = failing(99, ConnectionError("down"))

        async def awaits(operation: Any = operation) -> None:
            operation()

        with switch:
            with pytest.raises(ConnectionError) as raised:
                holdoff.retry(operation, policy=policy)()
            with pytest.raises(ConnectionError):
                policy.retrying(guards={"bulkhead": bulkhead}).call(operation)
            with pytest.raises(ConnectionError):
                asyncio.run(policy.call(awaits))
            with pytest.raises(ConnectionError):
                for attempt in holdoff.attempts(policy):
                    with attempt:
                        operation()
        assert operation.calls == 4 * most
        outcome = holdoff.outcome_of(raised.value)
        assert outcome is not None
        assert (outcome.reason, outcome.attempts) == ("attempts", most)
    assert bulkhead.running == 0
    with virtual_time() as time:
        holdoff.retry(failing(4, ConnectionError), policy=HOUR)()
    assert len(time.sleeps) == 4


def test_a_limit_of_no_attempts_is_refused() -> None:
    with pytest.raises(ValueError, match="attempts = 0: must be at least 1"):
        limited(0)


def test_a_function_that_fails_some_times() -> None:
    def add(one: int, two: int) -> int:
        return one + two

    async def multiply(one: int, two: int) -> int:
        return one * two

    broken = failing(1, ConnectionError, add)
    with pytest.raises(ConnectionError):
        broken(1, two=2)
    assert (broken(1, two=2), broken.calls, broken.__name__) == (3, 2, "add")
    awaited = failing(1, ConnectionError("down"), multiply)
    with pytest.raises(ConnectionError, match="down"):
        asyncio.run(awaited(2, 3))
    assert asyncio.run(awaited(2, 3)) == 6
    assert failing(0, ConnectionError)() is None


def test_the_fixture_of_virtual_time(holdoff_time: VirtualTime) -> None:
    holdoff.retry(failing(2, ConnectionError), policy=HOUR)()
    assert holdoff_time.now == 7200


@pytest.mark.usefixtures("holdoff_disabled")
def test_the_fixture_without_retries() -> None:
    operation = failing(1, ConnectionError)
    with pytest.raises(ConnectionError):
        holdoff.retry(operation, policy=HOUR)()
    assert operation.calls == 1
