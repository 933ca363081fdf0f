"""Calls under the guards of a key."""

from __future__ import annotations

import asyncio
from typing import Any

import holdoff
import holdoff.telemetry
import pytest
from holdoff.testing import VirtualTime


def test_the_guards_of_a_key_imply_the_key(clock: VirtualTime) -> None:
    hosts = holdoff.KeyedGuards(breaker={"failures": 3, "open_for": "1h"})
    policy = holdoff.Policy(attempts=3, backoff={"delays": [0, 0]})
    told: list[Any] = []

    def down() -> None:
        raise ConnectionError

    holdoff.telemetry.listen(told.append)
    try:
        for host in ("a.test", "b.test"):
            caller = policy.retrying(guards=hosts.of(host), name="fetch")
            with pytest.raises(ConnectionError):
                caller.call(down)
    finally:
        holdoff.telemetry.unlisten(told.append)
    changes = [event for event in told if isinstance(event, holdoff.telemetry.ChangeEvent)]
    assert [(event.name, event.key, event.after) for event in changes] == [
        ("a.test", "a.test", "open"),
        ("b.test", "b.test", "open"),
    ]
    others = [event for event in told if not isinstance(event, holdoff.telemetry.ChangeEvent)]
    assert {(event.operation, event.key) for event in others} == {("fetch", "a.test"), ("fetch", "b.test")}


@pytest.mark.parametrize("way", ["call", "decorator", "attempts", "coroutine"])
def test_a_dead_host_spends_no_other_hosts_budget(clock: VirtualTime, way: str) -> None:
    hosts = holdoff.KeyedGuards(bulkhead=10)
    policy = holdoff.Policy(attempts=3, backoff={"delays": [0, 0]})

    def down() -> None:
        raise ConnectionError

    async def down_async() -> None:
        raise ConnectionError

    def outcome(host: str) -> str:
        guards = hosts.of(host)
        with pytest.raises(ConnectionError) as raised:
            if way == "call":
                policy.retrying(guards=guards).call(down)
            elif way == "decorator":
                policy.retrying(guards=guards)(down)()
            elif way == "coroutine":
                asyncio.run(policy.retrying(guards=guards).call(down_async))
            else:
                for attempt in holdoff.attempts(policy, guards=guards):
                    with attempt:
                        down()
        found = holdoff.outcome_of(raised.value)
        assert found is not None
        return found.reason

    for _ in range(1000):
        if outcome("dead.test") == "budget":
            break
        clock.advance(0.1)
    assert outcome("dead.test") == "budget"
    assert outcome("good.test") == "attempts"


def test_guards_of_one_key_refuse_another() -> None:
    guards = holdoff.KeyedGuards(bulkhead=10).of("a")
    holdoff.retry(guards=guards, key="a")
    for taker in (holdoff.retry, holdoff.attempts, holdoff.Policy().retrying):
        with pytest.raises(ValueError, match='key = "b": the guards are those of the key "a"; leave key out'):
            taker(guards=guards, key="b")
