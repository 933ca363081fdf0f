"""Decorated functions, callers and guards in other processes, in mocks and in copies."""

from __future__ import annotations

import asyncio
import copy
import inspect
import pickle
import subprocess
import sys
from typing import Any
from unittest import mock

import cloudpickle  # type: ignore[import-untyped]
import holdoff
import pytest
from holdoff.testing import virtual_time

FAST = holdoff.Policy(attempts=3, backoff={"delays": [0, 0]}, budget="none")


@holdoff.retry(policy=FAST)
def load(key: str) -> str:
    return key


def local(fails: int) -> Any:
    calls = 0

    @holdoff.retry(policy=FAST, on=OSError)
    def loads(key: str) -> tuple[str, int]:
        nonlocal calls
        calls += 1
        if calls <= fails:
            raise OSError
        return key, calls

    return loads


def local_async(fails: int) -> Any:
    calls = 0

    @holdoff.retry(policy=FAST, on=OSError)
    async def loads(key: str) -> tuple[str, int]:
        nonlocal calls
        calls += 1
        if calls <= fails:
            raise OSError
        return key, calls

    return loads


def local_generator(fails: int) -> Any:
    calls = 0

    @holdoff.retry(policy=FAST, on=OSError)
    def loads(key: str) -> Any:
        nonlocal calls
        calls += 1
        if calls <= fails:
            raise OSError
        yield key, calls

    return loads


class Client:
    @holdoff.retry
    def get(self, path: str) -> str:
        return path

    @holdoff.retry
    async def aget(self, path: str) -> str:
        return path

    @staticmethod
    @holdoff.retry
    def join(path: str) -> str:
        return path

    @classmethod
    @holdoff.retry
    def make(cls, path: str) -> str:
        return path


def result(value: Any) -> Any:
    async def awaited() -> Any:
        return await value

    return asyncio.run(awaited()) if inspect.isawaitable(value) else value


@pytest.mark.parametrize("name", ["get", "aget", "join", "make"])
def test_mocks_of_decorated_methods_check_their_arguments(name: str) -> None:
    with mock.patch.object(Client, name, autospec=True, return_value=7):
        assert result(getattr(Client(), name)("path")) == 7
        with pytest.raises(TypeError):
            getattr(Client(), name)("path", "one too many")
    client = mock.create_autospec(Client)
    getattr(client(), name).return_value = 5
    assert result(getattr(client(), name)("path")) == 5


def test_a_decorated_function_is_a_function() -> None:
    assert inspect.isfunction(load)
    assert inspect.isfunction(Client.get)
    assert inspect.ismethod(Client().get)
    assert pickle.loads(pickle.dumps(load)) is load
    assert copy.deepcopy(load) is load


@pytest.mark.parametrize("make", [local, local_async, local_generator])
def test_functions_are_pickled_by_value(make: Any) -> None:
    there = pickle.loads(cloudpickle.dumps(make(2)))
    with virtual_time():
        value = there("key")
        value = result(value)
        assert (value if isinstance(value, tuple) else next(value)) == ("key", 3)
    assert there.holdoff.policy == FAST


def test_a_function_of_the_main_program_runs_in_another_process() -> None:
    script = """
import cloudpickle, holdoff, sys, threading
import holdoff.telemetry
# A lock cannot be pickled.
holdoff.telemetry.listen(lambda event, lock=threading.Lock(): None)

@holdoff.retry(attempts=2)
def double(number):
    return 2 * number

@holdoff.retry(attempts=2)
async def later(number):
    return 2 * number

sys.stdout.buffer.write(cloudpickle.dumps((double, later)))
"""
    pickled = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout
    double, later = pickle.loads(pickled)
    assert (double(4), asyncio.run(later(4))) == (8, 8)


def on_retry(event: object) -> None:
    """A hook that a pickle finds by its name."""


def test_a_caller_is_copied_with_its_policy_and_options() -> None:
    caller = FAST.retrying(on=OSError, seed=7, key="a", name="search", on_retry=on_retry)
    for again in (pickle.loads(pickle.dumps(caller)), copy.copy(caller), copy.deepcopy(caller)):
        assert again.policy == FAST
        assert again.call(load, "key") == "key"
        made = 0

        def fails() -> None:
            nonlocal made
            made += 1
            raise KeyError if made == 2 else OSError

        with virtual_time(), pytest.raises(KeyError):
            again.call(fails)
        assert made == 2
    with pytest.raises(TypeError, match="a token cannot be copied"):
        pickle.dumps(FAST.retrying(cancel=holdoff.Cancel()))


def test_guards_are_copied_with_their_states() -> None:
    guards = holdoff.Guards(
        budget={"kind": "token", "capacity": 9},
        breaker={"failures": 2, "open_for": "1h"},
        limiter={"limit": 5, "per": 60},
        bulkhead={"limit": 2, "queue": 3},
        hedge="5ms",
    )
    assert guards.breaker is not None
    assert guards.budget is not None
    for _ in range(2):
        permit = guards.breaker.acquire()
        assert permit is not None
        guards.breaker.record(permit, failed=True)
    assert guards.budget.withdraw() is not None
    again: Any
    for again in (pickle.loads(pickle.dumps(guards)), copy.deepcopy(guards)):
        assert repr(again) == repr(guards)
        assert again.breaker is not guards.breaker
        assert again.breaker.state() == "open"
        assert again.budget.balance() == pytest.approx(guards.budget.balance(), abs=0.1)
        with pytest.raises(holdoff.Refused):
            FAST.retrying(guards=again).call(load, "key")


def test_guards_that_share_an_object_share_it_in_the_copy() -> None:
    budget = holdoff.Budget(kind="token", capacity=500)
    pair = (holdoff.Guards(budget=budget), holdoff.Guards(budget=budget, breaker="count"))
    one, two = pickle.loads(pickle.dumps(pair))
    assert one.budget is two.budget
    assert one.budget is not budget


@pytest.mark.parametrize(
    "guard",
    [
        holdoff.Budget(kind="throttle"),
        holdoff.Breaker(kind="time", slow_after="1s"),
        holdoff.Limiter(kind="log", limit=3),
        holdoff.Adaptive("aimd"),
        holdoff.Adaptive.started("cubic", rate=3, tokens=1),
        holdoff.Bulkhead(limit=100, queue=100),
        holdoff.Stretch(2.5),
        holdoff.Hedge(delay="1s", percentile=0.9),
        holdoff.Breaker.restore("count", holdoff.Breaker("count").save()),
    ],
    ids=lambda guard: type(guard).__name__,
)
def test_each_guard_is_copied(guard: Any) -> None:
    again = pickle.loads(pickle.dumps(guard))
    assert type(again) is type(guard)
    if hasattr(guard, "save") and guard.save(0):
        assert again.save(0)[:8] == guard.save(0)[:8]
    assert repr(pickle.loads(pickle.dumps(again)))


def test_a_set_without_a_budget_stays_without_one() -> None:
    with virtual_time():
        again = pickle.loads(pickle.dumps(holdoff.Guards(budget="none")))
        caller = holdoff.Policy(attempts=2, backoff={"delays": [0]}).retrying(guards=again)
        made = 0

        def down() -> None:
            nonlocal made
            made += 1
            raise OSError

        for _ in range(99):
            with pytest.raises(OSError):  # noqa: PT011
                caller.call(down)
    assert made == 198


def test_guards_of_a_key_keep_it() -> None:
    keyed = holdoff.KeyedGuards(breaker={"failures": 5})
    again = pickle.loads(pickle.dumps(keyed.of("a")))
    with pytest.raises(ValueError, match="the guards are those of the key"):
        FAST.retrying(guards=again, key="b")
