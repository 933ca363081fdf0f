"""Hedging of blocking functions: attempts beside each other in threads. Events, not sleeps, say what ends when."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import holdoff
import pytest
from holdoff.telemetry import CallEvent
from holdoff.testing import virtual_time

POLICY = holdoff.Policy(attempts=4, backoff={"kind": "constant", "delay": 1}, jitter="none", budget="none")
NOW = "1ms"
"""A delay after which the second attempt begins, soon."""


class Operation:
    """A blocking operation that is told the number of its attempt, and the tokens of its attempts."""

    def __init__(self, runs: Callable[[int], Any]) -> None:
        self._runs = runs
        self._lock = threading.Lock()
        self.begun = 0
        self.tokens: list[holdoff.Cancel | None] = []

    def __call__(self) -> Any:
        with self._lock:
            self.begun += 1
            number = self.begun
            self.tokens.append(holdoff.attempt_cancel())
        return self._runs(number)


def hedged(operation: Operation, guards: Any, **options: Any) -> Any:
    return holdoff.retry(operation, policy=POLICY, guards=guards, **options)()


def waits_if_first(number: int) -> int:
    """The first attempt waits until it has lost."""
    if number == 1:
        token = holdoff.attempt_cancel()
        assert token is not None
        assert token.wait(30)
    return number


def test_the_first_success_wins_and_the_others_are_told() -> None:
    operation = Operation(waits_if_first)
    guards = holdoff.Guards(hedge=NOW, breaker={"kind": "count"}, bulkhead=4)
    assert hedged(operation, guards) == 2
    first, second = operation.tokens
    assert first is not None
    assert second is not None
    assert (first.cancelled, second.cancelled) == (True, False)
    assert guards.breaker is not None
    assert guards.breaker.rates() == (1, 0, 0)
    assert guards.bulkhead is not None
    assert guards.bulkhead.running == 0
    assert holdoff.attempt_cancel() is None


def test_a_fast_attempt_stays_alone() -> None:
    operation = Operation(lambda number: number)
    assert hedged(operation, {"hedge": "60s"}) == 1
    assert operation.begun == 1
    assert holdoff.Policy(hedge="60s").call(operation) == 2


def test_a_failure_starts_the_next_attempt_at_once() -> None:
    def runs(number: int) -> int:
        if number == 1:
            raise ConnectionError
        return number

    assert hedged(Operation(runs), {"hedge": "60s"}) == 2


def test_a_permanent_failure_ends_all_attempts() -> None:
    def runs(number: int) -> int:
        waits_if_first(number)
        raise ValueError(number)

    with pytest.raises(ValueError, match="2") as caught:
        hedged(Operation(runs), {"hedge": NOW})
    outcome = holdoff.outcome_of(caught.value)
    assert outcome is not None
    assert (outcome.reason, outcome.attempts) == ("permanent", 2)
    assert hedged(Operation(runs), {"hedge": NOW}, fallback=str) == "2"


def test_an_operation_that_may_not_run_twice_is_not_hedged() -> None:
    threads = set[int]()

    def runs(number: int) -> int:
        threads.add(threading.get_ident())
        if number == 1:
            raise ConnectionRefusedError
        return number

    guards = {"hedge": {"delay": NOW, "attempts": 8}}
    with virtual_time() as time:
        assert hedged(Operation(runs), guards, idempotent=False) == 2
    # A retry after its delay, in the caller's thread.
    assert time.sleeps == [1]
    assert threads == {threading.get_ident()}


def test_in_virtual_time_attempts_follow_each_other() -> None:
    def runs(number: int) -> int:
        assert threading.current_thread() is threading.main_thread()
        if number <= 2:
            raise ConnectionError
        return number

    with virtual_time() as time:
        assert hedged(Operation(runs), {"hedge": "5s"}) == 3
    assert time.sleeps == [1]


def test_a_token_ends_a_race_that_nobody_wins() -> None:
    token = holdoff.Cancel()
    held = threading.Event()

    def runs(number: int) -> bool:
        if number == 2:
            token.cancel()
        return held.wait(30)

    operation = Operation(runs)
    with pytest.raises(holdoff.Cancelled):
        hedged(operation, {"hedge": NOW}, cancel=token)
    held.set()
    assert all(lost is not None and lost.cancelled for lost in operation.tokens)


def test_values_may_fail_in_a_race_too() -> None:
    def fails(value: int) -> bool:
        return value < 2

    assert hedged(Operation(lambda number: number), {"hedge": "60s"}, on_result=fails) == 2


def test_attempts_see_the_callers_context_and_limit() -> None:
    variable = ContextVar("variable", default="")
    variable.set("of the caller")
    seen = hedged(Operation(lambda _: (variable.get(), holdoff.remaining() is not None)), {"hedge": "60s"})
    assert seen == ("of the caller", False)
    limited = holdoff.Policy(attempt_timeout=30, hedge="60s").call(holdoff.remaining)
    assert limited is not None
    assert 0 < limited <= 30


def test_the_events_of_a_race() -> None:
    told: list[tuple[str, int]] = []

    def hook(event: CallEvent) -> None:
        told.append((event.hook, event.attempt))

    hedged(Operation(waits_if_first), {"hedge": NOW}, on_attempt=hook, on_success=hook, on_give_up=hook)
    assert told == [("on_attempt", 1), ("on_attempt", 2), ("on_success", 2)]


def test_the_end_of_a_program_in_an_attempt_comes_out() -> None:
    def runs(_: int) -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        hedged(Operation(runs), {"hedge": NOW})


def test_a_coroutine_is_refused() -> None:
    async def awaited() -> None: ...

    with pytest.raises(TypeError, match="is hedged when it is an async def"):
        hedged(Operation(lambda _: awaited()), {"hedge": NOW})
