"""How a decorated function is called: as the function itself would be, with nothing packed on the way."""

from __future__ import annotations

import gc
import subprocess
import sys
from typing import Any

import holdoff
import pytest
from holdoff.testing import virtual_time

FOUR = holdoff.Policy(attempts=4, budget="none")


def test_every_attempt_gets_the_same_arguments() -> None:
    seen: list[tuple[Any, ...]] = []

    @holdoff.retry(policy=FOUR)
    def operation(*args: object, **kwargs: object) -> int:
        seen.append((args, {**kwargs}))
        kwargs.clear()
        if len(seen) % 3:
            raise ConnectionError
        return len(seen)

    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((), {}),
        ((1,), {}),
        ((), {"a": 1}),
        ((1, 2, 3), {"a": 1, "b": [2], "self": 3, "function": 4}),
        (tuple(range(300)), {f"name{number}": number for number in range(300)}),
    ]
    with virtual_time():
        for args, kwargs in calls:
            seen.clear()
            assert operation(*args, **kwargs) == 3
            assert seen == [(args, kwargs)] * 3


def test_callers_hand_on_what_follows_the_function() -> None:
    def operation(*args: object, **kwargs: object) -> object:
        return args, kwargs

    for call in (FOUR.call, FOUR.retrying().call, FOUR.retrying(cancel=holdoff.Cancel()).call):
        assert call(operation) == ((), {})
        assert call(operation, 1, a=2) == ((1,), {"a": 2})
        assert call(operation, function=3) == ((), {"function": 3})
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'function'"):
            call()  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'function'"):
            call(function=operation)  # type: ignore[call-arg]


def test_a_method_is_bound_however_it_is_reached() -> None:
    class Client:
        def __init__(self) -> None:
            self.calls = 0

        @holdoff.retry(policy=FOUR)
        def fetch(self, path: str, *, times: int = 0) -> str:
            self.calls += 1
            if self.calls <= times:
                raise ConnectionError
            return f"{path} {self.calls}"

    with virtual_time():
        assert Client().fetch("a") == "a 1"
        assert Client().fetch("a", times=2) == "a 3"
        assert Client.fetch(Client(), "b", times=1) == "b 2"
        bound = Client().fetch
        assert bound("c") == "c 1"
        assert bound(path="c") == "c 2"


def test_wrong_arguments_are_the_functions_own_error() -> None:
    @holdoff.retry(policy=FOUR)
    def operation(one: int) -> int:
        return one

    with pytest.raises(TypeError, match="missing 1 required positional argument: 'one'"):
        operation()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'two'"):
        operation(1, two=2)  # type: ignore[call-arg]
    assert operation.__call__(1) == 1


def test_endless_recursion_ends_as_it_does_without() -> None:
    @holdoff.retry(policy=FOUR)
    def deeper(level: int) -> int:
        return deeper(level + 1)

    with pytest.raises(RecursionError):
        deeper(0)


SMALL_STACK = """
import holdoff, sys, threading

@holdoff.retry
def deeper():
    deeper()

def called():
    holdoff.Policy().call(called)

def ends(function):
    try:
        function()
    except RecursionError as error:
        ended.append(str(error)[:32])

ended = []
# Since Python 3.13 a level counts half as much.
threading.stack_size((768 if sys.version_info < (3, 13) else 1536) * 1024)
for function in (deeper, called):
    thread = threading.Thread(target=ends, args=(function,))
    thread.start()
    thread.join()
print(ended)
"""


def test_endless_recursion_ends_before_the_end_of_a_small_stack() -> None:
    """Each level counts in Python's limit and takes little of the stack; a stack that ends is a crash."""
    ran = subprocess.run([sys.executable, "-c", SMALL_STACK], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (0, f"{['maximum recursion depth exceeded'] * 2}\n"), ran.stderr


def test_calls_leave_nothing_behind() -> None:
    class Thing:
        pass

    thing, failures = Thing(), 0

    @holdoff.retry(policy=FOUR)
    def operation(*_: object, **__: object) -> Thing:
        nonlocal failures
        if failures:
            failures -= 1
            raise ConnectionError
        return thing

    def counts() -> list[int]:
        gc.collect()
        return [sys.getrefcount(counted) for counted in (thing, operation, FOUR)]

    def call(times: int) -> None:
        nonlocal failures
        for number in range(times):
            failures = number % 3
            operation(thing, name=thing)

    with virtual_time():
        call(10)
        before = counts()
        call(300)
        assert counts() == before
    many = [holdoff.retry(policy=FOUR)(call) for _ in range(100)]
    during = counts()
    del many
    assert counts() == before
    assert during[2] == before[2] + 100
