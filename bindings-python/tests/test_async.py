"""Asynchronous functions, their limits and their cancellation."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any
from unittest import mock

import holdoff
import holdoff.machines
import pytest
from holdoff.testing import virtual_time

CONSTANT = holdoff.Policy(attempts=4, backoff={"kind": "constant", "delay": 2}, jitter="none")
HOUR = holdoff.Policy(attempts="forever", backoff={"kind": "constant", "delay": "1h"})
AT_ONCE = holdoff.Policy(attempts=3, backoff={"kind": "constant", "delay": 0}, jitter="none", budget="none")


def failing(times: int, error: type[BaseException] = ConnectionError) -> Callable[[], Coroutine[Any, Any, int]]:
    calls = 0

    async def operation() -> int:
        nonlocal calls
        calls += 1
        await asyncio.sleep(0)
        if calls <= times:
            raise error
        return calls

    return operation


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    with virtual_time():
        return asyncio.run(coroutine)


def test_a_coroutine_function_stays_one() -> None:
    decorated = holdoff.retry(failing(0))
    assert inspect.iscoroutinefunction(decorated)
    assert inspect.iscoroutinefunction(holdoff.retry(failing(0), deadline=3))
    assert decorated.__name__ == "operation"


@pytest.mark.parametrize("limits", [{}, {"deadline": 3600}, {"attempt_timeout": 60}])
def test_a_failure_is_retried_after_the_delays_of_the_policy(limits: Any) -> None:
    makes: list[Callable[[Any], Any]] = [
        lambda operation: holdoff.retry(operation, attempts=4, seed=7, **limits)(),
        lambda operation: holdoff.Policy(attempts=4, **limits).retrying(seed=7).call(operation),
        lambda operation: holdoff.Policy(attempts=4, **limits).retrying(seed=7).call(lambda: operation()),
    ]
    for make in makes:
        with virtual_time() as time:
            assert asyncio.run(make(failing(3))) == 4
        assert time.sleeps == [delay / 1e9 for delay in holdoff.machines.Schedule(holdoff.Policy(attempts=4), 7)]


def test_the_last_error_comes_out_with_its_outcome() -> None:
    for call in (holdoff.retry(failing(9), policy=CONSTANT)(), CONSTANT.call(failing(9))):
        with pytest.raises(ConnectionError) as raised:
            run(call)
        outcome = holdoff.outcome_of(raised.value)
        assert outcome is not None
        assert (outcome.reason, outcome.attempts) == ("attempts", 4)


def test_methods_bind() -> None:
    class Client:
        @holdoff.retry(policy=CONSTANT)
        async def get(self, x: int) -> int:
            return x

    assert run(Client().get(3)) == 3


def test_an_attempt_that_takes_too_long_is_a_timeout_and_retried() -> None:
    calls = 0

    @holdoff.retry(policy=AT_ONCE.from_dict({**AT_ONCE.to_dict(), "attempt_timeout": "10ms"}), on=ConnectionError)
    async def slow() -> int:
        nonlocal calls
        calls += 1
        if calls < 3:
            await asyncio.sleep(60)
        return calls

    assert asyncio.run(slow()) == 3


def test_the_deadline_ends_the_attempt_that_runs() -> None:
    @holdoff.retry(deadline=0.01)
    async def slow() -> None:
        assert (holdoff.remaining() or 0) > 0
        await asyncio.sleep(60)

    with pytest.raises(TimeoutError) as raised:
        asyncio.run(slow())
    outcome = holdoff.outcome_of(raised.value)
    assert outcome is not None
    assert (outcome.reason, outcome.attempts) == ("deadline", 1)


def test_a_soft_deadline_lets_the_attempt_that_runs_end() -> None:
    policy = holdoff.Policy(deadline=1, abort_at_deadline=False)

    async def slow(error: Exception | None = None) -> int:
        time.advance(5)
        if error is not None:
            raise error
        return 7

    with virtual_time() as time:
        assert asyncio.run(policy.call(slow)) == 7
        with pytest.raises(ConnectionError) as raised:
            asyncio.run(policy.call(slow, ConnectionError("down")))
        outcome = holdoff.outcome_of(raised.value)
        assert outcome is not None
        assert (outcome.reason, outcome.attempts) == ("deadline", 1)


@pytest.mark.parametrize("awaits", [False, True])
@pytest.mark.parametrize(
    ("fields", "taken", "attempts"),
    [({"delay_from": "start"}, 1, 2), ({"deadline": 5, "reset_after": 5}, 4, 1)],
)
def test_delays_and_deadlines_from_the_start_count_the_first_attempt(
    awaits: bool, fields: dict[str, Any], taken: float, attempts: int
) -> None:
    policy = holdoff.Policy(attempts=3, backoff={"kind": "constant", "initial": 2}, jitter="none", **fields)
    calls = 0

    def work() -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            time.advance(taken)
            raise ConnectionError

    async def awaited() -> None:
        work()

    with virtual_time() as time:
        began = time.now
        with contextlib.suppress(ConnectionError):
            if awaits:
                asyncio.run(policy.call(awaited))
            else:
                policy.call(work)
        assert (calls, time.now - began) == (attempts, max(taken, 2))


def test_an_answer_after_the_limit_is_an_answer() -> None:
    @holdoff.retry(attempt_timeout=0.01)
    async def stubborn() -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return "late"
        return "never"

    assert asyncio.run(stubborn()) == "late"


def test_cancelling_the_task_is_never_a_failure() -> None:
    calls = 0

    @holdoff.retry(attempts=9, attempt_timeout=60)
    async def waits() -> None:
        nonlocal calls
        calls += 1
        await asyncio.sleep(60)

    async def main() -> None:
        for make in (waits, lambda: CONSTANT.call(failing(9))):
            task = asyncio.ensure_future(make())
            await asyncio.sleep(0.005)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())
    assert calls == 1


def test_a_token_ends_an_attempt_at_once() -> None:
    token = holdoff.Cancel()

    @holdoff.retry(cancel=token)
    async def waits() -> None:
        asyncio.get_running_loop().call_soon(token.cancel)
        await asyncio.sleep(60)

    with pytest.raises(holdoff.Cancelled) as raised:
        asyncio.run(waits())
    outcome = holdoff.outcome_of(raised.value)
    assert outcome is not None
    assert (outcome.reason, outcome.attempts) == ("cancelled", 1)


def test_a_token_cancelled_in_another_thread_ends_a_sleep_at_once() -> None:
    token = holdoff.Cancel()
    error = ConnectionError("down")

    @holdoff.retry(backoff={"initial": "1h", "max": "1h"}, jitter="none", cancel=token)
    async def fails() -> None:
        threading.Thread(target=token.cancel).start()
        raise error

    with pytest.raises(holdoff.Cancelled) as raised:
        asyncio.run(fails())
    assert raised.value.__cause__ is error


def test_a_token_cancelled_before_leaves_nothing_running() -> None:
    token = holdoff.Cancel()
    token.cancel()
    with pytest.raises(holdoff.Cancelled) as raised:
        asyncio.run(holdoff.retry(failing(0), cancel=token)())
    outcome = holdoff.outcome_of(raised.value)
    assert outcome is not None
    assert outcome.attempts == 0


def test_a_timeout_around_the_operation_stays_the_users() -> None:
    async def forever() -> None:
        await asyncio.sleep(60)

    async def main() -> None:
        operation = holdoff.retry(attempt_timeout=60, cancel=holdoff.Cancel())(forever)
        await asyncio.wait_for(operation(), 0.01)

    with pytest.raises(asyncio.TimeoutError) as raised:
        asyncio.run(main())
    assert holdoff.outcome_of(raised.value) is None


@pytest.mark.parametrize("steps", [2, 3] if sys.version_info >= (3, 11) else [2])
def test_a_cancellation_from_elsewhere_comes_before_the_limit(steps: int) -> None:
    """Both end the attempt between the same two steps of the task: the cancellation first, or the limit."""

    async def main() -> None:
        task = asyncio.ensure_future(CONSTANT.retrying().with_options(attempt_timeout="1ns").call(forever))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def forever() -> None:
        await asyncio.sleep(60)

    asyncio.run(main())


def test_a_limit_leaves_neither_a_timer_nor_a_request_to_cancel() -> None:
    timers: list[asyncio.TimerHandle] = []
    calls: list[float] = []

    @holdoff.retry(attempts=3, attempt_timeout="1ms", backoff={"initial": 0})
    async def operation() -> int:
        calls.append(0)
        if len(calls) == 1:
            await asyncio.sleep(60)
        if len(calls) == 2:
            await asyncio.sleep(0)
            raise ConnectionError
        return len(calls)

    async def main() -> int:
        loop = asyncio.get_running_loop()
        call_at = loop.call_at

        def counted(when: float, callback: Any, *args: Any, **options: Any) -> asyncio.TimerHandle:
            timer = call_at(when, callback, *args, **options)
            if callback.__name__ == "_end":
                timers.append(timer)
            return timer

        with mock.patch.object(loop, "call_at", counted):
            value = await operation()
        task: Any = asyncio.current_task()
        assert sys.version_info < (3, 11) or task.cancelling() == 0
        assert holdoff.remaining() is None
        return value

    assert asyncio.run(main()) == 3
    assert [timer.cancelled() for timer in timers] == [True, True, True]


def test_attempts_loop_over_a_block() -> None:
    async def main(operation: Callable[[], Coroutine[Any, Any, int]]) -> list[int]:
        numbers: list[int] = []
        async for attempt in holdoff.attempts(CONSTANT):
            with attempt:
                numbers.append(attempt.number)
                await operation()
        return numbers

    assert run(main(failing(2))) == [1, 2, 3]


def test_attempts_are_aborted_at_their_limit() -> None:
    async def main() -> int:
        async for attempt in holdoff.attempts(attempts=3, attempt_timeout="5ms", backoff={"initial": 0}):
            with attempt:
                if attempt.number < 3:
                    await asyncio.sleep(60)
                return attempt.number
        return 0

    async def gives_up() -> None:
        async for attempt in holdoff.attempts(attempts=1, attempt_timeout="5ms"):
            with attempt:
                await asyncio.sleep(60)

    assert asyncio.run(main()) == 3
    with pytest.raises(TimeoutError) as raised:
        asyncio.run(gives_up())
    assert holdoff.outcome_of(raised.value) is not None


def test_attempts_hear_the_token() -> None:
    token = holdoff.Cancel()

    async def main() -> None:
        async for attempt in holdoff.attempts(CONSTANT, cancel=token):
            with attempt:
                asyncio.get_running_loop().call_soon(token.cancel)
                await asyncio.sleep(60)

    with pytest.raises(holdoff.Cancelled):
        asyncio.run(main())


def test_a_hundred_operations_sleep_side_by_side() -> None:
    async def main() -> list[int]:
        return list(await asyncio.gather(*(AT_ONCE.call(failing(2)) for _ in range(100))))

    assert asyncio.run(main()) == [3] * 100


def test_a_cancellation_in_a_sleep_has_the_last_error_as_its_context() -> None:
    async def fails() -> None:
        raise ConnectionError("down")

    async def blocks() -> None:
        async for attempt in holdoff.attempts(HOUR):
            with attempt:
                await fails()

    async def cancelled(operation: Any) -> BaseException:
        task = asyncio.ensure_future(operation)
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as raised:
            await task
        return raised.value

    for operation in (HOUR.call(fails), blocks()):
        context = asyncio.run(cancelled(operation)).__context__
        while isinstance(context, asyncio.CancelledError):
            context = context.__context__
        assert isinstance(context, ConnectionError)
