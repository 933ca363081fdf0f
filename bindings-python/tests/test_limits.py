"""Limits, clocks and cancellation for loops of a program's own: `within`, `holdoff.clock` and `Cancel.subscribe`."""

from __future__ import annotations

import time

import holdoff
import holdoff.clock
from holdoff.testing import VirtualTime, virtual_time


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
        assert holdoff.remaining() == 0
    assert holdoff.remaining() is None


def test_a_limit_in_the_past_leaves_nothing(clock: VirtualTime) -> None:
    with holdoff.within(-1):
        assert holdoff.remaining() == 0


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
