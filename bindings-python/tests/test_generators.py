"""Generators are retried until their first item; then they are left alone."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Generator
from typing import Any

import holdoff
import pytest
import trio
from holdoff.testing import VirtualTime

THREE = holdoff.Policy(attempts=3, backoff={"kind": "constant", "delay": 2}, jitter="none", budget="none")


class Source:
    """Generators that fail some times before their first item, and note what happens to them."""

    def __init__(self, times: int, fails_at: int | None = None) -> None:
        self.times = times
        self.fails_at = fails_at
        self.begun = 0
        self.notes: list[Any] = []

    def fail(self, item: int | None) -> None:
        if self.begun <= self.times if item is None else item == self.fails_at:
            raise ConnectionError(f"item {item}")

    def numbers(self, count: int) -> Generator[int, Any, str]:
        """Numbers from 0."""
        self.begun += 1
        self.fail(None)
        try:
            for number in range(count):
                self.fail(number)
                try:
                    self.notes.append((yield number))
                except KeyError as error:
                    self.notes.append(error)
        finally:
            self.notes.append("closed")
        return "end"

    async def later(self, count: int) -> AsyncGenerator[int, Any]:
        await asyncio.sleep(0)
        self.begun += 1
        self.fail(None)
        try:
            for number in range(count):
                self.fail(number)
                try:
                    self.notes.append((yield number))
                except KeyError as error:
                    self.notes.append(error)
        finally:
            self.notes.append("closed")


async def collected(items: AsyncGenerator[int, Any]) -> list[int]:
    return [item async for item in items]


def test_a_generator_is_retried_until_its_first_item(clock: VirtualTime) -> None:
    source, told = Source(2), list[Any]()
    numbers = holdoff.retry(source.numbers, policy=THREE, on_retry=told.append, on_success=told.append)
    assert inspect.isgeneratorfunction(numbers)
    made = numbers(3)
    assert source.begun == 0
    assert list(made) == [0, 1, 2]
    assert (source.begun, clock.now) == (3, 4.0)
    assert [(event.hook, event.operation, event.args) for event in told] == [
        ("on_retry", "Source.numbers", (3,)),
        ("on_retry", "Source.numbers", (3,)),
        ("on_success", "Source.numbers", (3,)),
    ]
    assert told[-1].value == 0
    assert numbers.holdoff.policy is THREE
    with pytest.raises(ConnectionError, match="None"):
        list(holdoff.retry(Source(3).numbers, policy=THREE)(1))


def test_a_generator_is_left_alone_after_its_first_item(clock: VirtualTime) -> None:
    source = Source(1, fails_at=2)
    made = holdoff.retry(source.numbers, policy=THREE)(5)
    assert (next(made), next(made)) == (0, 1)
    with pytest.raises(ConnectionError, match="item 2"):
        next(made)
    assert source.begun == 2
    source = Source(1)
    made = holdoff.retry(source.numbers, policy=THREE)(4)
    own = KeyError("own")
    assert [next(made), made.send("sent"), made.throw(own)] == [0, 1, 2]
    made.close()
    assert source.notes == ["sent", own, "closed"]
    with pytest.raises(ArithmeticError):
        made = holdoff.retry(Source(0).numbers, policy=THREE)(4)
        next(made)
        made.throw(ArithmeticError())


def test_the_value_of_a_generator_is_returned(clock: VirtualTime) -> None:
    def outer(count: int) -> Generator[int, Any, None]:
        returned.append((yield from holdoff.retry(Source(1).numbers, policy=THREE)(count)))

    returned: list[str] = []
    assert [list(outer(0)), list(outer(2))] == [[], [0, 1]]
    assert returned == ["end", "end"]


def test_a_first_item_may_be_a_failure(clock: VirtualTime) -> None:
    source = Source(0)
    numbers = holdoff.retry(source.numbers, policy=THREE, on_result=lambda item: item == 0 and source.begun < 3)
    assert list(numbers(2)) == [0, 1]
    assert source.begun == 3
    assert source.notes == ["closed", "closed", None, None, "closed"]


def test_guards_are_given_back_at_the_first_item(clock: VirtualTime) -> None:
    bulkhead = holdoff.Bulkhead(1)
    made = holdoff.retry(Source(1).numbers, policy=THREE, guards={"bulkhead": bulkhead})(2)
    assert (next(made), bulkhead.running) == (0, 0)


def test_an_asynchronous_generator_is_retried_until_its_first_item(clock: VirtualTime) -> None:
    async def main() -> None:
        for caller in (THREE.retrying(), THREE.retrying(guards={"bulkhead": 1}), holdoff.Retrying(attempt_timeout=5)):
            source = Source(2)
            assert await collected(caller(source.later)(3)) == [0, 1, 2]
            assert source.begun == 3
        source = Source(1, fails_at=2)
        made = holdoff.retry(source.later, policy=THREE)(5)
        own = KeyError("own")
        assert [await anext(made), await made.asend("sent")] == [0, 1]
        with pytest.raises(ConnectionError, match="item 2"):
            await made.athrow(own)
        assert source.notes == ["sent", own, "closed"]
        source = Source(1)
        made = holdoff.retry(source.later, policy=THREE)(5)
        assert await anext(made) == 0
        await made.aclose()
        assert source.notes == ["closed"]
        assert await collected(holdoff.retry(source.later, policy=THREE)(0)) == []

    asyncio.run(main())


def test_an_asynchronous_generator_that_hangs_is_retried_at_its_limit() -> None:
    begun = 0

    async def hangs(sleep: Any) -> AsyncGenerator[int, None]:
        nonlocal begun
        begun += 1
        if begun == 1:
            await sleep(3600)
        yield begun

    retried = holdoff.retry(hangs, attempt_timeout=0.02, attempts=2, backoff={"delays": [0]})
    assert asyncio.run(collected(retried(asyncio.sleep))) == [2]
    begun = 0
    assert trio.run(collected, retried(trio.sleep)) == [2]


@pytest.mark.parametrize("options", [{"fallback": str}, {"hedge": "1s"}])
def test_a_generator_takes_neither_fallback_nor_hedge(options: Any) -> None:
    for generator in (Source(0).numbers, Source(0).later):
        with pytest.raises(TypeError, match="a generator takes neither fallback nor hedge"):
            holdoff.retry(generator, **options)
