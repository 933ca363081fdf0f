"""Retries around wrapped clients, and wrapped clients inside wrapped ones: only the innermost one retries."""

from __future__ import annotations

import contextlib
import copy
from typing import TYPE_CHECKING, Any

import aiohttp
import fronts
import holdoff
import pytest
import requests
import urllib3
from botocore.awsrequest import AWSResponse
from front_tools import QUICK, each_front, opened
from fronts import Botocore, Front, Looped
from requests.adapters import HTTPAdapter

if TYPE_CHECKING:
    from collections.abc import Callable

    from scripted import Server


def errors_of(kind: type[Front]) -> tuple[Any, ...]:
    return kind.errors if isinstance(kind.errors, tuple) else (kind.errors,)


@pytest.mark.parametrize("steps", ["503", "reset"])
@each_front
def test_a_retry_around_a_wrapped_client_repeats_nothing(server: Server, kind: type[Front], steps: str) -> None:
    with opened(kind(attempts=3, **QUICK)) as front:

        def ask(url: str) -> Any:
            front.ask("GET", url)
            return front.last

        for options, count in (({}, 3), ({"nested": "innermost"}, 3), ({"nested": "allow"}, 6)):
            url = server.script("down", steps)
            with contextlib.suppress(*errors_of(kind)):
                holdoff.retry(attempts=2, on_result=True, **options, **QUICK)(ask)(url)
            assert len(server.requests("down")) == count


@each_front
def test_a_retry_around_a_wrapped_client_repeats_other_errors(server: Server, kind: type[Front]) -> None:
    with opened(kind(attempts=3, **QUICK)) as front:
        url = server.script("back", "503 200")
        statuses: list[int] = []

        @holdoff.retry(attempts=3, **QUICK)
        def ask() -> None:
            statuses.append(front.ask("GET", url))
            if len(statuses) == 1:
                raise ConnectionError

        ask()
        assert statuses == [200, 200]
        # A retry that begins while such an error is handled is about something else.
        try:
            front.ask("GET", server.script("lost", "reset"))
        except errors_of(kind):
            with pytest.raises(ConnectionResetError):
                holdoff.retry(attempts=2, **QUICK)(fails)(statuses)
        assert statuses == [200, 200, 0, 0]


def fails(statuses: list[int]) -> None:
    statuses.append(0)
    raise ConnectionResetError


def test_asynchronous_retry_around_a_wrapped_client(server: Server) -> None:
    front = fronts.AsyncHttpx(attempts=3, **QUICK)

    @holdoff.retry(attempts=3, **QUICK)
    async def ask(url: str) -> None:
        answer = await front.client.get(url)
        answer.raise_for_status()

    async def block(url: str) -> None:
        async for attempt in holdoff.attempts(attempts=3, **QUICK):
            with attempt:
                (await front.client.get(url)).raise_for_status()

    with opened(front):
        for call in (ask, block):
            url = server.script("down", "503")
            with pytest.raises(front.errors):
                front.run(lambda call=call, url=url: call(url))
            assert len(server.requests("down")) == 3


def through_httpx(inner: Front, module: Any) -> Any:
    """A client whose transport asks another client, and answers with a copy."""

    class Through(module.BaseTransport):  # type: ignore[misc]
        def handle_request(self, request: Any) -> Any:
            answer = inner.client.request(request.method, str(request.url))
            return module.Response(answer.status_code, content=answer.content)

    return module.Client(transport=Through())


def through_async_httpx(inner: Front, module: Any) -> Any:
    class Through(module.AsyncBaseTransport):  # type: ignore[misc]
        async def handle_async_request(self, request: Any) -> Any:
            answer = await inner.client.request(request.method, str(request.url))
            return module.Response(answer.status_code, content=answer.content)

    return module.AsyncClient(transport=Through())


def through_requests(inner: Any, _: Any) -> Any:
    class Through(HTTPAdapter):
        def send(self, request: Any, *args: Any, **rest: Any) -> Any:
            return inner.client.get(request.url)

    session = requests.Session()
    session.mount("http://", Through())
    return session


def through_urllib3(inner: Any, _: Any) -> Any:
    class Pool(urllib3.HTTPConnectionPool):
        def urlopen(self, method: str, url: str, *args: Any, **rest: Any) -> Any:  # type: ignore[override]
            return inner.client.request(method, f"http://{self.host}:{self.port}{url}")

    manager = urllib3.PoolManager()
    manager.pool_classes_by_scheme = {"http": Pool}
    return manager


def through_aiohttp(inner: Any, _: Any) -> Any:
    async def through(request: Any, handler: Callable[..., Any]) -> Any:
        answer = await inner.client.request(request.method, request.url)
        await answer.read()
        return answer

    async def make() -> Any:
        return aiohttp.ClientSession(middlewares=[through])

    return inner.run(make)


THROUGH = {
    fronts.Httpx: through_httpx,
    fronts.Httpx2: through_httpx,
    fronts.AsyncHttpx: through_async_httpx,
    fronts.AsyncHttpx2: through_async_httpx,
    fronts.Requests: through_requests,
    fronts.GoogleAuth: through_requests,
    fronts.Urllib3: through_urllib3,
    fronts.Aiohttp: through_aiohttp,
}


@pytest.mark.parametrize("steps", ["503", "reset"])
@each_front
def test_front_inside_a_front(server: Server, kind: type[Front], steps: str) -> None:
    """The outer one repeats nothing that the inner one gave up, also if the answer is another object."""
    with opened(kind(attempts=3, **QUICK)) as inner:
        outer = copy.copy(inner)
        outer.client = THROUGH[kind](inner, getattr(kind, "module", None))
        holdoff.wrap(outer.client, attempts=4, **QUICK)
        url = server.script("down", steps)
        with contextlib.suppress(*errors_of(kind)):
            assert outer.ask("GET", url) == 503
        assert len(server.requests("down")) == 3
        assert outer.ask("GET", server.script("back", "503 200")) == 200
        assert len(server.requests("back")) == 2
        if isinstance(inner, Looped):
            inner.run(outer.client.aclose if isinstance(inner, fronts.AsyncHttpx) else outer.client.close)


def test_front_inside_a_front_of_botocore(server: Server) -> None:
    pool = holdoff.wrap(urllib3.PoolManager(), attempts=3, **QUICK)

    def through(request: Any, **_: Any) -> AWSResponse:
        answer = pool.request(request.method, request.url, preload_content=False)
        return AWSResponse(request.url, answer.status, dict(answer.headers), answer)

    with opened(Botocore(server.origin, attempts=4, **QUICK)) as front:
        front.client.meta.events.register("before-send.s3", through)
        url = server.script("xml", "503")
        assert front.ask("GET", url) == 503
        assert len(server.requests("xml")) == 3
    pool.clear()
