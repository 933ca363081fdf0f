"""Failures and delays on purpose."""

from __future__ import annotations

import asyncio
import re

import holdoff
import pytest
from holdoff import testing
from holdoff.testing import InjectedError, chaos, with_chaos


def outcomes(wrapped: object, calls: int) -> list[bool]:
    def one() -> bool:
        try:
            wrapped()  # type: ignore[operator]
        except InjectedError:
            return False
        return True

    return [one() for _ in range(calls)]


def test_the_same_seed_fails_the_same_calls_again() -> None:
    def ask() -> str:
        return "answer"

    first = outcomes(chaos(seed=7, failure_rate=0.3)(ask), 1000)
    assert first == outcomes(chaos(seed=7, failure_rate=0.3)(ask), 1000)
    assert first != outcomes(chaos(seed=8, failure_rate=0.3)(ask), 1000)
    assert 650 < sum(first) < 750


def test_latency_is_slept_in_virtual_time() -> None:
    with testing.virtual_time() as time:
        chaos(latency=("1s", "2s"))(lambda: None)()
        assert 1 <= time.now < 2
        before = time.now
        chaos(latency="3s")(lambda: None)()
        assert time.now - before == pytest.approx(3)


def test_retries_see_the_kind_and_the_hint() -> None:
    @holdoff.retry(attempts=2)
    @chaos(failure_rate=1, kind="throttled", retry_after="7s")
    def ask() -> None: ...

    with testing.virtual_time() as time, pytest.raises(InjectedError, match="throttled failure on purpose"):
        ask()
    assert time.sleeps[0] >= 7


def test_an_error_of_ones_own_is_raised() -> None:
    @chaos(failure_rate=1, error=lambda: ConnectionResetError("chaos"))
    async def ask() -> None: ...

    with pytest.raises(ConnectionResetError):
        asyncio.run(ask())


def test_coroutines_are_held_up_in_virtual_time() -> None:
    @chaos(latency="1h")
    async def ask() -> int:
        return 5

    with testing.virtual_time() as time:
        assert asyncio.run(ask()) == 5
        assert time.now == pytest.approx(3600)


def test_a_document_with_chaos_is_read_by_tests_alone() -> None:
    document = '{"attempts": 4, "chaos": {"seed": 3, "failure_rate": 1, "latency": ["1ms", "2ms"]}}'
    with pytest.raises(holdoff.ConfigError, match="chaos"):
        holdoff.Policy.from_json(document)
    policy, decorate = with_chaos(document)
    assert policy == holdoff.Policy(attempts=4)
    with testing.virtual_time(), pytest.raises(InjectedError):
        decorate(lambda: None)()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"failure_rate": 1.5}, "failure_rate = 1.5: must be a number from 0 to 1"),
        ({"latency_rate": float("nan")}, "latency_rate = NaN: must be a number from 0 to 1"),
        ({"latency": ("2s", "1s")}, "latency = 1s: must not be below the shortest latency"),
        ({"latency": ("1s",)}, "must be one duration, or the shortest and the longest"),
        ({"latency": "soon"}, "latency = "),
    ],
)
def test_mistakes_are_named(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        chaos(**arguments)  # type: ignore[arg-type]


def test_an_unknown_field_of_the_section_is_named() -> None:
    with pytest.raises(ValueError, match=r"chaos\.failures: is not a field of chaos"):
        with_chaos({"chaos": {"failures": 1}})


@pytest.mark.parametrize(
    ("document", "problem"),
    [("[]", "a document must be an object"), ('{"chaos": 3}', "chaos = 3: must be an object"), ("3", "not 3")],
)
def test_a_document_that_is_no_object_is_refused(document: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        with_chaos(document)
