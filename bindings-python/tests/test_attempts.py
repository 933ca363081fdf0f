"""Attempts at a block of code."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Iterator
from typing import Any

import holdoff
import pytest
from holdoff.testing import VirtualTime, virtual_time

CONSTANT = holdoff.Policy(attempts=3, backoff={"kind": "constant", "delay": 2}, jitter="none")


@pytest.fixture(autouse=True)
def time() -> Iterator[VirtualTime]:
    with virtual_time() as clock:
        yield clock


def test_the_block_is_repeated_until_it_succeeds(time: VirtualTime) -> None:
    numbers: list[int] = []
    for attempt in holdoff.attempts(CONSTANT, on=OSError):
        with attempt:
            numbers.append(attempt.number)
            if attempt.number < 3:
                raise OSError
    assert numbers == [1, 2, 3]
    assert time.sleeps == [2, 2]


def test_the_last_error_comes_out_with_its_outcome() -> None:
    with pytest.raises(OSError, match="3") as raised:
        for attempt in holdoff.attempts(CONSTANT):
            with attempt:
                raise OSError(attempt.number)
    outcome = holdoff.outcome_of(raised.value)
    assert outcome is not None
    assert (outcome.reason, outcome.attempts) == ("attempts", 3)


def test_a_permanent_error_comes_out_at_once(time: VirtualTime) -> None:
    for error in (KeyError, KeyboardInterrupt, GeneratorExit):
        with pytest.raises(error):
            for attempt in holdoff.attempts(CONSTANT):
                with attempt:
                    raise error
    assert time.sleeps == []


def test_leaving_the_loop_is_a_success() -> None:
    def leaves() -> int:
        for attempt in holdoff.attempts(CONSTANT):
            with attempt:
                return attempt.number
        return 0

    assert leaves() == 1


def test_an_attempt_knows_how_long_it_has(time: VirtualTime) -> None:
    seen: list[Any] = []
    for attempt in holdoff.attempts(deadline=60, attempt_timeout=10):
        with attempt:
            time.advance(4)
            seen += [attempt.remaining, holdoff.remaining()]
            time.advance(40)
            with pytest.raises(TimeoutError, match="no time is left"):
                seen.append(attempt.remaining)
    assert seen == [6, 6]
    assert holdoff.remaining() is None
    assert next(iter(holdoff.attempts())).remaining is None


def test_waking_after_the_deadline_raises_the_last_error() -> None:
    late = virtual_time(on_sleep=lambda _: late.advance(99))
    with late, pytest.raises(OSError, match="first") as raised:
        for attempt in holdoff.attempts(deadline=30):
            with attempt:
                raise OSError("first")
    assert holdoff.outcome_of(raised.value) is not None


def test_an_attempt_may_end_in_another_context() -> None:
    def numbers() -> Iterator[int]:
        for attempt in holdoff.attempts(attempt_timeout=2):
            with attempt:
                yield attempt.number

    generator = numbers()
    assert contextvars.copy_context().run(next, generator) == 1
    assert list(generator) == []
    assert holdoff.remaining() is None


def test_an_attempt_that_is_not_made_is_a_mistake() -> None:
    with pytest.raises(RuntimeError, match="with attempt"):
        for _ in holdoff.attempts(CONSTANT):
            pass


def test_an_attempt_is_made_once() -> None:
    attempts = iter(holdoff.attempts(CONSTANT))
    attempt = next(attempts)
    with attempt:
        pass
    with pytest.raises(RuntimeError, match="already"), attempt:
        pass
    assert list(attempts) == []


@pytest.mark.parametrize("fails", [0, 1, 2])
def test_every_loop_is_an_operation_of_its_own(fails: int) -> None:
    shared = holdoff.attempts(CONSTANT, on=OSError)
    seen: list[tuple[str, int]] = []
    for name in ("first", "second"):
        for attempt in shared:
            with attempt:
                seen.append((name, attempt.number))
                if attempt.number <= fails:
                    raise OSError(name)
    numbers = range(1, fails + 2)
    assert seen == [(name, number) for name in ("first", "second") for number in numbers]


def test_a_loop_inside_a_loop_over_the_same_attempts_is_another_operation() -> None:
    shared = holdoff.attempts(CONSTANT, on=OSError)
    seen: list[tuple[int, int]] = []
    for outer in shared:
        with outer:
            for inner in shared:
                with inner:
                    seen.append((outer.number, inner.number))
                    if inner.number < 2:
                        raise OSError
            if outer.number < 2:
                raise OSError
    assert seen == [(1, 1), (1, 2), (2, 1), (2, 2)]


def test_a_loop_after_one_that_gave_up_or_was_left_begins_anew() -> None:
    shared = holdoff.attempts(CONSTANT, guards={"bulkhead": 1})
    with pytest.raises(OSError, match="down"):
        for attempt in shared:
            with attempt:
                raise OSError("down")
    for attempt in shared:
        with attempt:
            break
    del attempt
    assert [attempt.number for attempt in shared if not attempt.__enter__().__exit__(None, None, None)] == [1]


def test_coroutines_and_threads_may_share_attempts() -> None:
    shared = holdoff.attempts(CONSTANT, on=OSError)
    numbers: dict[int, list[int]] = {}

    async def block(fails: int) -> None:
        async for attempt in shared:
            with attempt:
                numbers.setdefault(fails, []).append(attempt.number)
                await asyncio.sleep(0)
                if attempt.number <= fails:
                    raise OSError

    def blocking(fails: int) -> None:
        for attempt in shared:
            with attempt:
                numbers.setdefault(fails, []).append(attempt.number)
                if attempt.number <= fails:
                    raise OSError

    async def together() -> None:
        await asyncio.gather(*(block(fails) for fails in range(3)))

    asyncio.run(together())
    expected = {fails: list(range(1, fails + 2)) for fails in range(3)}
    assert numbers == expected
    numbers.clear()
    threads = [threading.Thread(target=blocking, args=(fails,)) for fails in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert numbers == expected


def test_a_block_returns_no_value() -> None:
    options: Any
    for options, instead in (
        ({"on_result": bool}, "raise an error in the block"),
        ({"fallback": str}, "`try` and `except` around"),
    ):
        with pytest.raises(TypeError, match=f"attempts.. takes no {next(iter(options))}; .* {instead}"):
            holdoff.attempts(CONSTANT, **options)


def test_what_is_no_policy_is_refused() -> None:
    wrong: Any = 5
    with pytest.raises(TypeError, match=r"policy must be a holdoff\.Policy or the name of a preset, not int"):
        holdoff.attempts(wrong)


def test_a_policy_or_its_fields() -> None:
    with pytest.raises(TypeError):
        holdoff.attempts(CONSTANT, attempts=3)
