"""Policies by name, loaded anew while a program runs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import holdoff
import pytest
from holdoff.registry import Registry

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from holdoff.testing import VirtualTime

DOWN = ConnectionError("down")


def attempts_of(call: Any, *args: object) -> int:
    with pytest.raises(ConnectionError) as raised:
        call(*args)
    outcome = holdoff.outcome_of(raised.value)
    assert outcome is not None
    return outcome.attempts


def test_functions_hear_of_a_policy_that_was_loaded_anew(clock: VirtualTime) -> None:
    policies = Registry()
    names = []

    @policies.retry("prices", on=ConnectionError, on_attempt=lambda event: names.append(event.operation))
    def load(a: int, *, b: int) -> None:
        assert (a, b) == (1, 2)
        raise DOWN

    @policies.retry("prices", on=ConnectionError)
    async def load_later() -> None:
        raise DOWN

    policies.define("prices", {"attempts": 2})
    assert attempts_of(lambda: load(1, b=2)) == 2
    assert attempts_of(lambda: asyncio.run(load_later())) == 2
    policies.load('{"prices": {"attempts": 4}, "search": {}}')
    assert attempts_of(lambda: load(1, b=2)) == 4
    assert attempts_of(lambda: asyncio.run(load_later())) == 4
    assert len(names) == 6
    assert load.__name__ == "load"
    assert policies.call("search", int, "7") == 7
    assert repr(policies) == "<Registry of prices, search>"


def test_generators_hear_of_it_too(clock: VirtualTime) -> None:
    policies = Registry()
    policies.define("pages", "default")
    begun = []

    def fail() -> None:
        begun.append(1)
        if len(begun) % 2:
            raise DOWN

    @policies.retry("pages", on=ConnectionError)
    def pages() -> Iterator[int]:
        fail()
        yield from (1, 2)

    @policies.retry("pages", on=ConnectionError)
    async def later() -> AsyncIterator[int]:
        fail()
        yield 1
        yield 2

    async def all_items() -> list[int]:
        return [item async for item in later()]

    assert list(pages()) == [1, 2]
    assert asyncio.run(all_items()) == [1, 2]


def test_a_policy_whose_document_is_the_same_keeps_its_guards() -> None:
    policies = Registry()
    documents: dict[str, Any] = {"prices": {"breaker": {"failures": 2}}, "search": {"attempts": 2}}
    policies.load(documents)
    prices, search = policies.get("prices"), policies.get("search")
    policies.load({**documents, "search": {"attempts": 3}})
    assert policies.get("prices") is prices
    assert policies.get("search") is not search
    own = holdoff.Policy()
    assert policies.define("own", own) is own


@pytest.mark.parametrize(
    ("documents", "path", "text"),
    [
        ({"prices": {"attempts": 5}, "search": {"atempts": 2}}, "search.atempts", 'did you mean "attempts"'),
        ({"prices": {"attempts": 5}, "search": {"attempts": 0}}, "search.attempts", "search.attempts = 0: must be"),
        ({"prices": {"attempts": 5}, "search": 5}, "search", "must be a policy document, not int"),
        ('{"prices"', "", "must be JSON"),
        ("[]", "", "must be a policy document for each name, not list"),
        (5, "", "not int"),
    ],
)
def test_documents_are_checked_before_anything_changes(documents: Any, path: str, text: str) -> None:
    policies = Registry()
    policies.load({"prices": {"attempts": 2}})
    before = policies.get("prices")
    with pytest.raises(holdoff.ConfigError, match=text) as raised:
        policies.load(documents)
    assert raised.value.path == path
    assert policies.get("prices") is before


def test_an_unknown_name_is_refused_with_the_nearest_one() -> None:
    policies = Registry()
    policies.define("prices", {})
    with pytest.raises(holdoff.ConfigError, match='name = "prics": is no policy\'s name; did you mean "prices"'):
        policies.get("prics")

    @policies.retry("serch")
    def search() -> None: ...

    with pytest.raises(holdoff.ConfigError, match="serch"):
        search()
    for wrong in (policies.get, policies.retry):
        with pytest.raises(TypeError, match="must be a str, not int"):
            wrong(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be a str, not int"):
        policies.define(5, {})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="attemps"):
        policies.retry("prices", attemps=5)  # type: ignore[call-arg]
    with pytest.raises(holdoff.ConfigError, match="attempts = 0"):
        policies.define("prices", {"attempts": 0})
