"""What people and tools read before they run anything: signatures, docs, and names that were meant."""

from __future__ import annotations

import asyncio
import inspect
import pydoc
from typing import Any
from unittest.mock import create_autospec

import holdoff
import pytest
from holdoff import types
from holdoff.testing import virtual_time
from holdoff.types import PolicyFields

FIELDS = set(PolicyFields.__annotations__)
OPTIONS = {
    "on",
    "classify",
    "on_result",
    "on_attempt",
    "on_retry",
    "on_success",
    "on_give_up",
    "delay",
    "name",
    "sleep",
    "fallback",
    "cancel",
    "idempotent",
    "seed",
    "guards",
    "key",
}
GUARDS = [
    holdoff.Adaptive,
    holdoff.Breaker,
    holdoff.Budget,
    holdoff.Bulkhead,
    holdoff.Hedge,
    holdoff.Limiter,
    holdoff.Stretch,
]


def decoration(function: Any) -> Any:
    """The attribute that type checkers do not see."""
    return function.holdoff


def test_signatures_name_every_field_and_its_default() -> None:
    policy = inspect.signature(holdoff.Policy).parameters
    assert set(policy) == {"name"} | FIELDS
    assert (policy["attempts"].default, policy["jitter"].default, policy["hint"].default) == (3, "full", "floor")
    assert set(inspect.signature(holdoff.retry).parameters) == {"function", "policy"} | OPTIONS | FIELDS
    assert set(inspect.signature(holdoff.Retrying).parameters) == {"policy"} | OPTIONS | FIELDS
    assert (
        set(inspect.signature(holdoff.attempts).parameters) == {"policy"} | OPTIONS - {"on_result", "fallback"} | FIELDS
    )
    assert set(inspect.signature(holdoff.Policy().retrying).parameters) == OPTIONS
    assert {"failures", "open_for", "seed"} < set(inspect.signature(holdoff.Breaker).parameters)


@pytest.mark.parametrize("guard", GUARDS)
def test_the_parameters_of_a_guard_are_its_fields(guard: Any) -> None:
    parameters = inspect.signature(guard).parameters
    fields = set(getattr(types, f"{guard.__name__}Fields").__annotations__)
    assert set(parameters) - {"config", "seed", "now"} == fields


def test_help_has_units_and_defaults() -> None:
    text = pydoc.plain(pydoc.render_doc(holdoff.Policy))
    for part in ("A time is a number of seconds", "attempt_timeout: a time", "Default: 3", "including the first"):
        assert part in text, text
    assert "open_for: a time" in pydoc.plain(pydoc.render_doc(holdoff.Breaker))
    assert "on_give_up" in pydoc.plain(pydoc.render_doc(holdoff.retry))


def test_a_decorated_function_shows_its_policy_and_takes_other_options() -> None:
    calls: list[str] = []

    @holdoff.retry(attempts=2, backoff={"delays": [1]}, jitter="none", on=OSError)
    def fetch(url: str) -> int:
        calls.append(url)
        raise OSError(url)

    assert decoration(fetch).policy == holdoff.Policy(attempts=2, backoff={"delays": [1]}, jitter="none")
    assert decoration(fetch).retrying.policy is decoration(fetch).policy
    patient = decoration(fetch).with_options(attempts=4, fallback=lambda error: 7)
    with virtual_time() as time:
        with pytest.raises(OSError, match="a"):
            fetch("a")
        assert (calls, time.sleeps) == (["a"] * 2, [1])
        assert patient("b") == 7
        assert (calls[2:], time.sleeps) == (["b"] * 4, [1, 1, 1, 1])
        with pytest.raises(OSError, match="c"):
            decoration(fetch).with_options(policy=holdoff.Policy("kubernetes"), on=TimeoutError)("c")
    assert calls[6:] == ["c"]
    assert patient.__name__ == "fetch"


def test_other_options_keep_the_guards_unless_they_change() -> None:
    @holdoff.retry(attempts=2, breaker="consecutive")
    def fetch() -> int:
        return 1

    own = decoration(fetch).retrying.guards
    assert own is not None
    assert decoration(fetch).retrying.with_options(attempts=5).guards is own
    assert decoration(fetch).retrying.with_options(breaker={"failures": 9}).guards is not own
    shared = holdoff.Guards(budget="ratio")
    other = decoration(fetch).retrying.with_options(guards=shared)
    assert other.guards is shared
    assert other.with_options(attempts=9, breaker=None).guards is shared
    with pytest.raises(TypeError, match="not both"):
        decoration(fetch).with_options(policy="kubernetes", attempts=3)
    with pytest.raises(holdoff.ConfigError, match="attempts = 0"):
        decoration(fetch).with_options(attempts=0)


def test_an_async_function_and_a_method_show_theirs_too() -> None:
    class Client:
        @holdoff.retry(attempts=2)
        async def get(self, path: str) -> str:
            return path

        @holdoff.retry(attempts=3)
        def put(self, path: str) -> str:
            return path

    client = Client()
    assert decoration(client.get).policy.explain().__str__().splitlines()[1].startswith("2 attempts")
    assert asyncio.run(decoration(client.get).with_options(attempts=9)(client, "/")) == "/"
    assert decoration(client.put).with_options(attempts=9)(client, "/") == "/"


def test_mocks_check_the_signature_of_a_decorated_function() -> None:
    @holdoff.retry
    def fetch(url: str, *, verbose: bool = False) -> bytes:
        return url.encode()

    mock = create_autospec(fetch)
    mock("url", verbose=True)
    with pytest.raises(TypeError):
        mock("url", quiet=True)
    with pytest.raises(TypeError):
        mock()
    assert fetch.__call__("url") == b"url"
