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


def in_a_row(clock: VirtualTime, call: Callable[[], int], times: int) -> list[int]:
    """The attempts of calls one after the other; the grace ends after the first one."""
    first = call()
    clock.advance(1)
    return [first, *(call() for _ in range(times - 1))]


@LOOPS
def test_ten_calls_in_a_row_that_fail_fast_get_all_attempts(clock: VirtualTime, call: Call) -> None:
    shared = policy()
    assert in_a_row(clock, lambda: call(shared, Down()), 13) == [3] * 10 + [1] * 3


@LOOPS
def test_one_call_that_times_out_gets_all_attempts(clock: VirtualTime, call: Call) -> None:
    shared = policy()
    assert in_a_row(clock, lambda: call(shared, TimeoutError()), 4) == [3] + [1] * 3


@LOOPS
def test_for_a_second_every_call_may_retry(clock: VirtualTime, call: Call) -> None:
    shared = policy()
    assert [call(shared, TimeoutError()) for _ in range(100)] == [3] * 100
    clock.advance(1)
    assert call(shared, TimeoutError()) == 1


@LOOPS
def test_a_spent_budget_fills_with_time_and_with_successes(clock: VirtualTime, call: Call) -> None:
    shared = policy()
    while call(shared, Down()) > 1:
        clock.advance(1)
    clock.advance(34)
    assert call(shared, Down()) == 2

    @shared.retrying()
    async def answers() -> int:
        return 1

    assert shared.call(int, "1") == 1
    assert call(shared, Down()) == 2
    assert shared.retrying()(lambda: 1)() == 1
    assert call(shared, Down()) == 2
    assert asyncio.run(answers()) == 1
    assert call(shared, Down()) == 2
    assert call(shared, Down()) == 1
    clock.advance(700)
    assert in_a_row(clock, lambda: call(shared, Down()), 10) == [3] * 10


def refused_meanwhile(shared: holdoff.Policy, clock: VirtualTime) -> None:
    """The budget refuses another call, is full again, and is in a new grace."""
    assert calls(shared, Down()) == 3
    clock.advance(1)
    assert calls(shared, Down()) == 1
    assert shared.call(int, "1") == 1
    assert calls(shared, Down()) == 3


@pytest.mark.parametrize("options", [{}, {"key": "a"}, {"attempts": 4, "attempt_timeout": 1000}])
def test_a_call_that_began_before_a_refusal_has_no_grace(clock: VirtualTime, options: CallOptions) -> None:
    for asynchronous in (False, True):
        shared = policy(budget=1)
        made = 0

        def fails() -> None:
            nonlocal made
            made += 1
            if made == 1:
                refused_meanwhile(shared, clock)  # noqa: B023
            raise Down

        async def awaited_fails() -> None:
            fails()

        of_the_host: CallOptions = {**options, "key": ""}
        caller = shared.retrying(key="").with_options(**of_the_host)
        with pytest.raises(Down):
            if asynchronous:
                asyncio.run(caller(awaited_fails)())
            else:
                caller.call(fails)
        assert made == 1


@LOOPS
def test_waiting_for_a_hint_is_free(clock: VirtualTime, call: Call) -> None:
    shared = policy(budget=1)

    class Limited(Exception):
        retry_after = 2.0

    assert [call(shared, Limited()) for _ in range(20)] == [3] * 20
    assert call(shared, Down()) == 3


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
        clock.advance(1)
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
        clock.advance(1)
    assert call(shared, TimeoutError(), key="https://b:443") == 3
    assert call(shared, TimeoutError()) == 3
    assert call(shared, TimeoutError(), key="https://a:443") == 1


def test_each_policy_object_has_a_budget_of_its_own(clock: VirtualTime) -> None:
    one, other = policy(), policy()
    while calls(one, TimeoutError()) > 1:
        clock.advance(1)
    assert calls(other, TimeoutError()) == 3


def block(**options: object) -> int:
    """The attempts of a block whose options are written out where it stands."""
    made = 0
    with pytest.raises(TimeoutError):
        for attempt in holdoff.attempts(**options):  # type: ignore[arg-type]
            with attempt:
                made += 1
                raise TimeoutError
    return made


def test_blocks_with_options_alone_share_one_budget_of_the_process_for_each_key(clock: VirtualTime) -> None:
    quick = {"kind": "constant", "delay": "1ms"}
    while block(key="identity", backoff=quick) > 1:
        clock.advance(1)
    assert block(backoff={"delay": "2ms", "kind": "constant"}, attempts=4, key="identity") == 1
    assert block(attempts=4, backoff=quick, key="another") == 4
    assert block(policy=policy(), key="identity") == 3


def test_each_decorated_function_has_a_budget_of_its_own(clock: VirtualTime) -> None:
    def decorated() -> Callable[[], int]:
        made = 0

        @holdoff.retry(attempts=3, backoff={"kind": "constant", "delay": "1ms"})
        def fails() -> None:
            nonlocal made
            made += 1
            raise TimeoutError

        def attempts() -> int:
            nonlocal made
            made = 0
            with pytest.raises(TimeoutError):
                fails()
            return made

        return attempts

    one, other = decorated(), decorated()
    assert in_a_row(clock, one, 3) == [3, 1, 1]
    assert other() == 3


def test_a_changed_caller_keeps_the_budget(clock: VirtualTime) -> None:
    caller = policy().retrying()

    def changed() -> holdoff.Policy:
        return caller.with_options(attempts=2).policy

    assert in_a_row(clock, lambda: calls(changed(), TimeoutError()), 4) == [2, 2, 1, 1]


@LOOPS
def test_a_preset_has_none_unless_one_is_named(clock: VirtualTime, call: Call) -> None:
    preset = holdoff.Policy("kubernetes")
    assert in_a_row(clock, lambda: call(preset, TimeoutError()), 20) == [4] * 20
    named = holdoff.Policy(preset="kubernetes", budget="default")
    assert in_a_row(clock, lambda: call(named, TimeoutError()), 3) == [4, 1, 1]


@LOOPS
def test_a_number_is_its_capacity(clock: VirtualTime, call: Call) -> None:
    large = policy(budget=1000)
    assert in_a_row(clock, lambda: call(large, TimeoutError()), 51) == [3] * 50 + [1]
    assert large.guards is None
    with pytest.raises(ValueError, match=r"budget\.capacity = 0\.5"):
        policy(budget=0.5)


def test_a_burst_over_a_short_outage_loses_no_call(clock: VirtualTime) -> None:
    for error in (Down, TimeoutError):
        shared = holdoff.Policy(attempts=5, jitter="none")
        up_at = clock.now + 0.15

        @shared.retrying()
        async def call() -> int:
            if clock.now < up_at:  # noqa: B023
                raise error  # noqa: B023
            return 1

        async def burst() -> list[int]:
            return await asyncio.gather(*(call() for _ in range(1000)))

        assert asyncio.run(burst()) == [1] * 1000


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
    assert in_a_row(clock, lambda: call(guarded, TimeoutError()), 3) == [3, 1, 1]
    limited = policy(limiter={"limit": 1000})
    assert in_a_row(clock, lambda: call(limited, TimeoutError()), 3) == [3, 1, 1]


def test_the_switch_for_tests_turns_it_off(clock: VirtualTime) -> None:
    shared = policy()
    with without_budgets():
        with without_budgets():
            pass
        assert [calls(shared, TimeoutError()) for _ in range(50)] == [3] * 50
    assert in_a_row(clock, lambda: calls(shared, TimeoutError()), 3) == [3, 1, 1]


def test_the_outcome_says_what_is_spent_and_when_there_is_more(clock: VirtualTime) -> None:
    shared = policy()
    while calls(shared, Down(), key="https://a:443") > 1:
        clock.advance(1)
    with pytest.raises(Down) as raised:
        shared.retrying(key="https://a:443").call(calls_down)
    outcome = holdoff.outcome_of(raised.value)
    assert outcome is not None
    assert (outcome.reason, outcome.attempts) == ("budget", 1)
    text = (
        'the budget for retries is spent (19.7 of 20 tokens for "https://a:443"; a retry costs 1, there are enough '
        "again in 24s; a larger `budget` allows more)"
    )
    assert outcome.description == text
    assert pickle.loads(pickle.dumps(outcome)) == outcome
    notes = getattr(raised.value, "__notes__", [f"holdoff: gave up after 1 attempt: {text}"])
    assert notes == [f"holdoff: gave up after 1 attempt: {text}"]


def test_a_key_is_text() -> None:
    with pytest.raises(TypeError, match="key must be a str, not int"):
        policy().retrying(key=7)  # type: ignore[arg-type]
