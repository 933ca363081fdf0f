"""Slips in writing a retry: each error says what to write instead."""

from __future__ import annotations

import asyncio
import functools
import warnings
from datetime import timedelta
from typing import Any

import holdoff
import pytest
from holdoff.testing import virtual_time

THREE = holdoff.Policy(attempts=3, backoff={"kind": "constant", "delay": 1}, jitter="none", budget="none")


def load() -> int:
    return 1


async def fetch() -> int:
    return 1


@pytest.mark.parametrize(
    ("given", "instead"),
    [
        (3, "give the number of attempts as attempts="),
        (2.5, "give a time as deadline= or attempt_timeout="),
        (timedelta(seconds=3), "give a time as deadline= or attempt_timeout="),
        ("grpc", "give the name of a preset as policy="),
        (holdoff.Policy(), "give it as policy="),
        (holdoff.Policy().retrying(), "it decorates by itself: write @retrying"),
        (holdoff.Guards(breaker="count"), "give it as guards="),
        (OSError, "give it as on="),
        ((OSError, KeyError), "give it as on="),
        (int, r"is a class and no function; decorate its __init__ or .* policy\.call\(Class"),
        (property(str), "put @property above the retry"),
        (functools.cached_property(str), "put @cached_property above the retry"),
        (None, None),
    ],
)
def test_what_is_no_function_is_not_decorated(given: Any, instead: str | None) -> None:
    if instead is None:
        assert isinstance(holdoff.retry(given), holdoff.Retrying)
        return
    with pytest.raises(TypeError, match=instead):
        holdoff.retry(given)
    with pytest.raises(TypeError, match=instead):
        THREE.retrying()(given)


def test_a_class_statement_is_not_decorated() -> None:
    with pytest.raises(TypeError, match="which is a class and no function"):

        @holdoff.retry
        class Client:
            pass


@pytest.mark.parametrize("policy", [THREE, holdoff.Policy(attempts=3, bulkhead=1)])
def test_a_coroutine_is_not_called(policy: holdoff.Policy) -> None:
    wrong: Any
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for call in (policy.call, policy.retrying().call):
            wrong = fetch()
            with pytest.raises(TypeError, match=r"call\(fetch, url\) and not call\(fetch\(url\)\)"):
                call(wrong)
            wrong = 5
            with pytest.raises(TypeError, match="cannot call 5, which is no function"):
                call(wrong)
        wrong = fetch()
        with pytest.raises(TypeError, match=r"holdoff.retry\(fetch\)\(url\), not holdoff.retry\(fetch\(url\)\)"):
            holdoff.retry(wrong)


@pytest.mark.parametrize("name", ["budget", "breaker", "limiter", "adaptive", "bulkhead", "stretch", "hedge"])
def test_a_guard_object_is_no_field(name: str) -> None:
    kinds: dict[str, Any] = {
        "budget": holdoff.Budget,
        "breaker": holdoff.Breaker,
        "limiter": functools.partial(holdoff.Limiter, limit=1),
        "adaptive": holdoff.Adaptive,
        "bulkhead": functools.partial(holdoff.Bulkhead, limit=1),
        "stretch": functools.partial(holdoff.Stretch, 2.5),
        "hedge": functools.partial(holdoff.Hedge, delay=1),
    }
    field: Any = {name: kinds[name]()}
    for taker in (holdoff.retry, holdoff.attempts, holdoff.Policy, holdoff.Retrying):
        with pytest.raises(TypeError, match=rf'guards={{"{name}": {name}}}'):
            taker(**field)


def test_a_rule_takes_the_names_of_classes() -> None:
    rules: Any = [{"if": {"types": [OSError]}, "retry": True}]
    with pytest.raises(TypeError, match=r'rules\[0\]\.if\.types\[0\] takes the name of a class: write "OSError"'):
        holdoff.Policy(rules=rules)


def test_attempts_says_where_its_argument_belongs() -> None:
    wrong: Any
    for wrong, instead in ((3, "attempts="), (OSError, "on="), ({"attempts": 3}, r"Policy\(\*\*fields\)")):
        with pytest.raises(TypeError, match=instead):
            holdoff.attempts(wrong)


@pytest.mark.parametrize("option", ["fallback", "sleep"])
def test_a_blocking_function_takes_no_asynchronous_function(option: str) -> None:
    async def asynchronous(_: object) -> int:
        return 7

    calls = 0
    error = OSError("down")

    def down() -> int:
        nonlocal calls
        calls += 1
        raise error

    answers: list[Any] = [asynchronous, lambda value: asynchronous(value)]
    with warnings.catch_warnings(), virtual_time(), pytest.raises(TypeError) as raised:
        warnings.simplefilter("error")
        options: Any = {option: answers[0]}
        THREE.retrying(**options).call(down)
    assert str(raised.value) == (
        f"{option}: a blocking function cannot await an asynchronous function; give a plain function"
    )
    assert raised.value.__context__ is error
    assert calls == 1
    options = {option: answers[1]}
    with warnings.catch_warnings(), pytest.raises(TypeError, match=f"{option}: a blocking function") as raised:
        warnings.simplefilter("error")
        holdoff.Policy(attempts=2, backoff={"delays": [0.001]}).retrying(**options).call(down)
    assert raised.value.__context__ is error


def test_a_block_of_code_takes_no_asynchronous_sleep() -> None:
    async def sleep(_: float) -> None: ...

    with pytest.raises(TypeError, match="sleep: a blocking function"):
        for attempt in holdoff.attempts(THREE, sleep=sleep):
            with attempt:
                raise OSError


def test_a_hedged_blocking_function_takes_no_asynchronous_fallback() -> None:
    async def fallback(_: object) -> int:
        return 7

    def down() -> int:
        raise OSError

    with warnings.catch_warnings(), virtual_time(), pytest.raises(TypeError, match="fallback: a blocking function"):
        warnings.simplefilter("error")
        holdoff.retry(attempts=2, hedge=1, fallback=fallback)(down)()


def test_a_coroutine_takes_both_kinds() -> None:
    async def down() -> int:
        raise OSError

    async def later(_: object) -> int:
        return 7

    slept: list[float] = []
    with virtual_time():
        assert asyncio.run(THREE.retrying(fallback=later).call(down)) == 7
        assert asyncio.run(THREE.retrying(fallback=lambda _: 8).call(down)) == 8
    assert asyncio.run(THREE.retrying(fallback=later, sleep=slept.append).call(down)) == 7
    assert slept == pytest.approx([1, 1], abs=0.5)


ONE_MORE = "is not a field of a policy; attempts count the first one: give one more than the retries"
PLAIN = "is not a field of a policy"


@pytest.mark.parametrize(
    ("theirs", "meant", "rule"),
    [
        ("timeout", '"attempt_timeout"', PLAIN),
        ("tries", '"attempts"', PLAIN),
        ("max_attempts", '"attempts"', PLAIN),
        ("exceptions", '"on"', PLAIN),
        ("max_delay", '"backoff.max"', PLAIN),
        # tenacity, retrying
        ("stop", '"attempts"', PLAIN),
        ("stop_max_attempt", '"attempts"', PLAIN),
        ("stop_max_attempt_number", '"attempts"', PLAIN),
        ("stop_max_delay", '"deadline"', PLAIN),
        ("wait", '"backoff"', PLAIN),
        ("wait_fixed", '"backoff.initial"', PLAIN),
        ("wait_exponential_max", '"backoff.max"', PLAIN),
        ("multiplier", '"backoff.initial"', PLAIN),
        ("exp_base", '"backoff.factor"', PLAIN),
        ("before", '"on_attempt"', PLAIN),
        ("after", '"on_retry"', PLAIN),
        ("before_sleep", '"on_retry"', PLAIN),
        ("retry_error_callback", '"fallback"', PLAIN),
        # stamina
        ("wait_initial", '"backoff.initial"', PLAIN),
        ("wait_max", '"backoff.max"', PLAIN),
        ("wait_jitter", '"jitter"', PLAIN),
        ("wait_exp_base", '"backoff.factor"', PLAIN),
        # backoff
        ("max_tries", '"attempts"', PLAIN),
        ("max_time", '"deadline"', PLAIN),
        ("max_value", '"backoff.max"', PLAIN),
        ("giveup", '"on"', PLAIN),
        ("on_giveup", '"on_give_up"', PLAIN),
        ("on_backoff", '"on_retry"', PLAIN),
        ("predicate", '"on_result"', PLAIN),
        # urllib3, Celery
        ("retries", '"attempts"', ONE_MORE),
        ("max_retries", '"attempts"', ONE_MORE),
        ("backoff_factor", '"backoff.initial"', PLAIN),
        ("backoff_max", '"backoff.max"', PLAIN),
        ("backoff_jitter", '"jitter"', PLAIN),
        ("status_forcelist", '"rules"', PLAIN),
        ("respect_retry_after_header", '"hint"', PLAIN),
        ("allowed_methods", '"idempotent"', PLAIN),
    ],
)
def test_names_of_other_libraries_point_to_ours(theirs: str, meant: str, rule: str) -> None:
    options: Any = {theirs: 3}
    for taker in (holdoff.retry, holdoff.attempts, holdoff.Policy):
        with pytest.raises(holdoff.ConfigError) as raised:
            taker(**options)
        assert str(raised.value).startswith(f"{theirs} = 3: {rule}; did you mean {meant}?")
        assert raised.value.nearest == meant.strip('"')


@pytest.mark.parametrize("theirs", ["reraise", "raise_on_giveup", "raise_on_status"])
def test_names_without_a_counterpart_say_so(theirs: str) -> None:
    options: Any = {theirs: True}
    with pytest.raises(holdoff.ConfigError, match="leave it out: the last error always comes out"):
        holdoff.retry(**options)


def test_a_name_within_the_backoff_is_understood() -> None:
    backoff: Any = {"initial_delay": 1}
    with pytest.raises(holdoff.ConfigError, match=r'backoff\.initial_delay = 1: .* did you mean "backoff\.initial"\?'):
        holdoff.retry(backoff=backoff)
