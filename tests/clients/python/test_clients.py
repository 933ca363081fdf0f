"""Every case of every Python client, played by the client itself under the default policy (tests/clients/README.md)."""

from __future__ import annotations

import asyncio
import importlib
import itertools
import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import adapters
import holdoff
import pytest
from databases import FAILS
from holdoff.testing import virtual_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Flaky

logging.getLogger("holdoff").setLevel(logging.ERROR)

FOLDER = Path(__file__).parents[1]
SITUATIONS: dict[str, dict[str, Any]] = json.loads((FOLDER / "situations.json").read_text())


def cases() -> list[Any]:
    found: list[Any] = []
    for path in sorted(FOLDER.glob("*.json")):
        client = json.loads(path.read_text())
        if path.stem != "situations" and client["language"] == "Python":
            found += [
                pytest.param(
                    client["client"],
                    {**SITUATIONS[case["situation"]], **case},
                    id=f"{path.stem}-{case['situation']}",
                )
                for case in client["cases"]
            ]
    return found


class Played:
    """What holdoff made of the attempts of one operation."""

    def __init__(self, idempotent: bool, judges: bool) -> None:
        self.attempts = 0
        self.failures: list[Any] = []
        self.error: BaseException | None = None
        self.caller = holdoff.Retrying(
            budget="none", idempotent=idempotent, on_result=judges, on_retry=self._hear, on_give_up=self._hear
        )

    def _hear(self, event: Any) -> None:
        self.failures.append(event.failure)

    @property
    def kind(self) -> str:
        if not self.failures:
            return "success" if self.error is None else "cancelled"
        # A fault of the program itself has no kind.
        failure = self.failures[0]
        return "permanent" if failure is None else failure.kind

    @property
    def hint(self) -> float | None:
        failure = self.failures[0] if self.failures else None
        return None if failure is None or failure.hint is None else failure.hint * 1000

    def run(self, ask: Any) -> None:
        def once() -> Any:
            self.attempts += 1
            return ask()

        try:
            self.caller.call(once)
        except BaseException as error:
            self.error = error

    async def run_async(self, ask: Any) -> None:
        async def once() -> Any:
            self.attempts += 1
            return await ask()

        try:
            await self.caller.call(once)
        except BaseException as error:
            self.error = error


def play(
    flaky: Flaky, client: str, case: dict[str, Any], played: Played, raises: bool, failing: Callable[[], None]
) -> str | None:
    """Plays the case; the name under which the server counted its requests, if it is an address of the server's."""
    if "raises" in case or "error" in case:
        played.run(failing)
        return None
    make = adapters.CLIENTS[client]
    options = adapters.Options(flaky, case.get("proxy"), case.get("limit"), "{h2}" in case.get("url", ""))
    if "grpc" in case:
        url, name = flaky.fill("{h2c}"), f"grpc-{id(played)}"
        metadata: Any = [("id", name)] + ([("pushback", case["pushback"])] if "pushback" in case else [])
        with make(options) as ask:
            played.run(lambda: ask(url, raises, case["grpc"], metadata))
        return name
    url = case["url"]
    if client in adapters.IN_PATH and "/;" not in url:
        path, _, query = url.partition("?")
        url = f"{path}/;{query}/".replace("//;", "/;")
    url, name = flaky.address(url)
    if adapters.is_async(make):

        async def main() -> None:
            async with make(options) as ask:
                if case.get("first"):
                    await ask(url, raises)
                if not case.get("abort"):
                    await played.run_async(lambda: ask(url, raises))
                    return
                task = asyncio.create_task(played.run_async(lambda: ask(url, raises)))
                while await asyncio.to_thread(flaky.seen, name) == 0:
                    pass
                task.cancel()
                await task

        asyncio.run(main())
    else:
        with make(options) as ask:
            if case.get("first"):
                ask(url, raises)
            played.run(lambda: ask(url, raises))
    return name if "{closed}" not in case["url"] else None


ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "smtplib.SMTPAuthenticationError": (535, b"no"),
    "smtplib.SMTPRecipientsRefused": ({"a@b": (550, b"no")},),
    "smtplib.SMTPDataError": (451, b"later"),
}
"""What the constructors of classes want, but for a text."""


def class_of(name: str) -> Any:
    """The class of that name."""
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def raise_named(name: str) -> None:
    """Raises the class of that name."""
    raise class_of(name)(*ARGUMENTS.get(name, ("no",)))


def how_it_fails(request: pytest.FixtureRequest, flaky: Flaky, client: str, case: dict[str, Any]) -> Callable[[], None]:
    """Fails as the case's text says: by a real server, or where there is none by the client's own class."""
    if "raises" not in case:
        return lambda: adapters.REFUSED[client](flaky.ports["closed"])
    if client not in FAILS:
        return lambda: raise_named(case["raises"])
    make, servers = FAILS[client][case["situation"]], request.getfixturevalue("databases")
    return lambda: make(servers)


@pytest.mark.parametrize(("client", "case"), cases())
def test_a_case(request: pytest.FixtureRequest, flaky: Flaky, client: str, case: dict[str, Any]) -> None:
    failing = how_it_fails(request, flaky, client, case)
    ways = [False] if client in adapters.ONLY_VALUES else [True, False]
    for raises, idempotent in itertools.product(ways, (True, False)):
        with virtual_time():
            played = Played(idempotent, judges=not raises)
            name = play(flaky, client, case, played, raises, failing)
        if "raises" in case:
            assert isinstance(played.error, class_of(case["raises"])), repr(played.error)
        said = f"{played.error!r} idempotent={idempotent} raises={raises}"
        again = case["again"] == "always" or (case["again"] == "idempotent" and idempotent)
        # What may not run twice is permanent, whatever it is.
        kind = case["kind"] if idempotent or again or case["again"] == "never" else "permanent"
        # A new connection is not the one that was kept.
        most = 2 if case.get("first") else 3
        assert (played.kind, played.attempts) == (kind, most if again else 1), said
        hint = case.get("hint_ms")
        if hint is None:
            assert played.hint is None, said
        else:
            # The virtual clock stands still, and a server's dates are whole seconds.
            assert played.hint is not None, said
            assert abs(played.hint - hint) <= (1001 if "date" in case.get("url", "") else 0.001), (played.hint, said)
        if name is not None and case.get("url", "").startswith("{http}/status/"):
            assert flaky.seen(name) == played.attempts, said
