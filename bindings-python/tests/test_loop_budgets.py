"""The budget that loops bring to a policy that names none."""

from __future__ import annotations

import asyncio
import copy
import pickle
from typing import TYPE_CHECKING

import holdoff
import pytest
from holdoff.testing import without_budgets

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdoff.testing import VirtualTime
    from holdoff.types import CallOptions

    Call = Callable[..., int]


class Down(Exception):
    """A failure that comes at once."""


def policy(**fields: object) -> holdoff.Policy:
    return holdoff.Policy.from_dict({"jitter": "none", "backoff": {"kind": "constant", "delay": "1ms"}, **fields})


def calls(policy: holdoff.Policy, error: Exception, **options: object) -> int:
    """The attempts of a call that fails."""
    made = 0

    def fails() -> None:
        nonlocal made
        made += 1
        raise copy.copy(error)

    with pytest.raises(type(error)):
        policy.retrying(**options).call(fails)  # type: ignore[arg-type]
    return made


def awaited(policy: holdoff.Policy, error: Exception, **options: object) -> int:
    """The attempts of an awaited call that fails."""
    made = 0

    @policy.retrying(**options)  # type: ignore[arg-type]
    async def fails() -> None:
        nonlocal made
        made += 1
        raise copy.copy(error)

    with pytest.raises(type(error)):
        asyncio.run(fails())
    return made


def looped(policy: holdoff.Policy, error: Exception, **options: object) -> int:
    """The attempts of a block that fails."""
    made = 0
    with pytest.raises(type(error)):
        for attempt in holdoff.attempts(policy, **options):  # type: ignore[arg-type]
            with attempt:
                made += 1
                raise copy.copy(error)
    return made


LOOPS = pytest.mark.parametrize("call", [calls, awaited, looped])


@LOOPS
def test_thirty_calls_in_a_row_that_fail_fast_get_all_attempts(clock: VirtualTime, call: Call) -> None:
    shared = policy()
    assert [call(shared, Down()) for _ in range(33)] == [3] * 30 + [1] * 3


@LOOPS
def test_six_calls_that_time_out_get_all_attempts(clock: VirtualTime, call: Call) -> None:
    shared = policy()
    assert [call(shared, TimeoutError()) for _ in range(8)] == [3] * 6 + [1] * 2


@LOOPS
def test_a_spent_budget_fills_with_time_and_with_successes(clock: VirtualTime, call: Call) -> None:
    shared = policy()
    while call(shared, Down()) > 1:
        pass
    clock.advance(10)
    assert call(shared, Down()) == 2

    @shared.retrying()
    async def answers() -> int:
        return 1

    for _ in range(4):
        assert shared.call(int, "1") == 1
        assert shared.retrying()(int)("1") == 1
    for _ in range(2):
        assert asyncio.run(answers()) == 1
    assert call(shared, Down()) == 2
    clock.advance(600)
    assert [call(shared, Down()) for _ in range(30)] == [3] * 30


def test_a_retry_that_succeeds_is_free(clock: VirtualTime) -> None:
    shared = policy()
    made = 0

    def fails_once() -> None:
        nonlocal made
        made += 1
        if made % 2 == 1:
            raise Down

    for _ in range(200):
        shared.call(fails_once)
    assert calls(shared, Down()) == 3


def test_a_call_that_is_cancelled_asleep_gives_its_token_back() -> None:
    shared = policy(backoff={"kind": "constant", "delay": "1h"})

    @shared.retrying()
    async def fails() -> None:
        raise Down

    async def main() -> None:
        for _ in range(100):
            task = asyncio.ensure_future(fails())
            await asyncio.sleep(0.0001)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())
    cancels: list[holdoff.Cancel] = []
    for _ in range(100):
        cancels.append(holdoff.Cancel())

        def on_retry(_: holdoff.RetryEvent) -> None:
            cancels[-1].cancel()

        with pytest.raises(holdoff.Cancelled):
            shared.retrying(on_retry=on_retry, cancel=cancels[-1]).call(calls_down)


def calls_down() -> None:
    raise Down


@LOOPS
def test_each_key_has_a_budget_of_its_own(clock: VirtualTime, call: Call) -> None:
    shared = policy()
    while call(shared, TimeoutError(), key="https://a:443") > 1:
        pass
    assert call(shared, TimeoutError(), key="https://b:443") == 3
    assert call(shared, TimeoutError()) == 3
    assert call(shared, TimeoutError(), key="https://a:443") == 1


def test_each_policy_object_has_a_budget_of_its_own(clock: VirtualTime) -> None:
    one, other = policy(), policy()
    while calls(one, TimeoutError()) > 1:
        pass
    assert calls(other, TimeoutError()) == 3


def test_options_that_are_written_out_at_each_call_share_one(clock: VirtualTime) -> None:
    def attempts() -> int:
        made = 0
        with pytest.raises(TimeoutError):
            for attempt in holdoff.attempts(attempts=3, backoff={"kind": "constant", "delay": "1.25ms"}):
                with attempt:
                    made += 1
                    raise TimeoutError
        return made

    assert [attempts() for _ in range(8)] == [3] * 6 + [1] * 2


def test_a_changed_caller_keeps_the_budget(clock: VirtualTime) -> None:
    caller = policy().retrying()

    def changed() -> holdoff.Policy:
        return caller.with_options(attempts=2).policy

    assert [calls(changed(), TimeoutError()) for _ in range(14)] == [2] * 12 + [1] * 2


@LOOPS
def test_a_named_budget_takes_its_place(clock: VirtualTime, call: Call) -> None:
    none = policy(budget="none")
    assert [call(none, TimeoutError()) for _ in range(50)] == [3] * 50
    small = policy(budget={"kind": "token", "capacity": 1, "cost": 1})
    assert [call(small, Down()) for _ in range(3)] == [2, 1, 1]
    brought = policy()
    options: CallOptions = {"guards": {"budget": "none"}}
    assert [call(brought, TimeoutError(), **options) for _ in range(50)] == [3] * 50


@LOOPS
def test_other_guards_have_it_beside_them(clock: VirtualTime, call: Call) -> None:
    guarded = policy(breaker={"failures": 1000})
    assert [call(guarded, TimeoutError()) for _ in range(8)] == [3] * 6 + [1] * 2
    limited = policy(limiter={"limit": 1000})
    assert [call(limited, TimeoutError()) for _ in range(8)] == [3] * 6 + [1] * 2


def test_the_switch_for_tests_turns_it_off(clock: VirtualTime) -> None:
    shared = policy()
    with without_budgets():
        with without_budgets():
            pass
        assert [calls(shared, TimeoutError()) for _ in range(50)] == [3] * 50
    assert [calls(shared, TimeoutError()) for _ in range(8)] == [3] * 6 + [1] * 2


def test_the_outcome_says_what_is_spent_and_when_there_is_more(clock: VirtualTime) -> None:
    shared = policy()
    while calls(shared, Down()) > 1:
        pass
    with pytest.raises(Down) as raised:
        shared.call(calls_down)
    outcome = holdoff.outcome_of(raised.value)
    assert outcome is not None
    assert (outcome.reason, outcome.attempts) == ("budget", 1)
    text = "the budget for retries is spent (59.9 of 60 tokens; a retry costs 1, there are enough again in 10s)"
    assert outcome.description == text
    assert pickle.loads(pickle.dumps(outcome)) == outcome
    notes = getattr(raised.value, "__notes__", [f"holdoff: gave up after 1 attempt: {text}"])
    assert notes == [f"holdoff: gave up after 1 attempt: {text}"]


def test_a_key_is_text() -> None:
    with pytest.raises(TypeError, match="key must be a str, not int"):
        policy().retrying(key=7)  # type: ignore[arg-type]
