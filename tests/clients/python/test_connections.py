"""An answer that is retried gives its connection back: a client with one connection reaches a server that recovers."""

from __future__ import annotations

import asyncio
import http.client
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import aiohttp
import holdoff
import httpx
import httpx2
import pytest
import requests
import urllib3
from holdoff.testing import virtual_time

if TYPE_CHECKING:
    from conftest import Flaky

FIELDS: Any = {"attempts": 4, "budget": "none"}
GUARDS: Any = [{}, {"breaker": {"failures": 9}}]


def by_httpx(module: Any) -> Any:
    def ask(policy: holdoff.Policy, url: str, answers: list[Any], raises: bool) -> None:
        limits = module.Limits(max_connections=1)
        with module.Client(limits=limits, timeout=module.Timeout(20, pool=0.5)) as client:

            def get() -> Any:
                answers.append(client.send(client.build_request("GET", url), stream=True))
                return answers[-1].raise_for_status() if raises else answers[-1]

            policy.retrying(on_result=not raises).call(get)
            assert answers[-1].read()

    return ask


def by_requests(policy: holdoff.Policy, url: str, answers: list[Any], raises: bool) -> None:
    with requests.Session() as session:

        def get() -> Any:
            answers.append(session.get(url, stream=True))
            if raises:
                answers[-1].raise_for_status()
            return answers[-1]

        policy.retrying(on_result=not raises).call(get)
        assert answers[-1].content


def by_urllib3(policy: holdoff.Policy, url: str, answers: list[Any], raises: bool) -> None:
    with urllib3.PoolManager(maxsize=1, block=True) as pool:

        def get() -> Any:
            answers.append(pool.request("GET", url, preload_content=False, retries=False, pool_timeout=0.5))
            return answers[-1]

        policy.retrying(on_result=not raises).call(get)
        assert answers[-1].read()


def by_http_client(policy: holdoff.Policy, url: str, answers: list[Any], raises: bool) -> None:
    parts = urlsplit(url)

    def get() -> Any:
        connection = http.client.HTTPConnection(parts.netloc)
        connection.request("GET", parts.path)
        answers.append(connection.getresponse())
        return answers[-1]

    policy.retrying(on_result=not raises).call(get)
    assert answers[-1].read()


async def by_httpx_async(policy: holdoff.Policy, url: str, answers: list[Any], raises: bool) -> None:
    limits = httpx.Limits(max_connections=1)
    async with httpx.AsyncClient(limits=limits, timeout=httpx.Timeout(20, pool=0.5)) as client:

        async def get() -> Any:
            answers.append(await client.send(client.build_request("GET", url), stream=True))
            return answers[-1].raise_for_status() if raises else answers[-1]

        await policy.retrying(on_result=not raises).call(get)
        assert await answers[-1].aread()


async def by_attempts(policy: holdoff.Policy, url: str, answers: list[Any], raises: bool) -> None:
    limits = httpx.Limits(max_connections=1)
    async with httpx.AsyncClient(limits=limits, timeout=httpx.Timeout(20, pool=0.5)) as client:
        async for attempt in holdoff.attempts(policy):
            with attempt:
                answers.append(await client.send(client.build_request("GET", url), stream=True))
                answers[-1].raise_for_status()
        assert await answers[-1].aread()


async def by_aiohttp(policy: holdoff.Policy, url: str, answers: list[Any], raises: bool) -> None:
    connector = aiohttp.TCPConnector(limit=1)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=2)) as session:

        async def get() -> Any:
            answers.append(await session.get(url))
            return answers[-1]

        await policy.retrying(on_result=not raises).call(get)
        assert await answers[-1].read()


CLIENTS = [
    (by_httpx(httpx), "is_closed", [False, True]),
    (by_httpx(httpx2), "is_closed", [False, True]),
    (by_requests, "raw.closed", [False, True]),
    (by_urllib3, "closed", [False]),
    (by_http_client, "closed", [False]),
    (by_httpx_async, "is_closed", [False, True]),
    (by_attempts, "is_closed", [True]),
    (by_aiohttp, "closed", [False]),
]


@pytest.mark.parametrize("guards", GUARDS)
@pytest.mark.parametrize(("ask", "closed", "raises"), [(a, c, raises) for a, c, ways in CLIENTS for raises in ways])
def test_an_answer_that_is_retried_is_closed(flaky: Flaky, guards: Any, ask: Any, closed: str, raises: bool) -> None:
    url, name = flaky.address("{http}/status/503/;times=2/")
    answers: list[Any] = []
    with virtual_time():
        ended = ask(holdoff.Policy(**FIELDS, **guards), url, answers, raises)
        if ended is not None:
            asyncio.run(ended)
    assert flaky.seen(name) == 3
    assert len(answers) == 3
    for answer in answers[:2]:
        found = answer
        for part in closed.split("."):
            found = getattr(found, part)
        assert found


@pytest.mark.parametrize("fields", [{}, {"deadline": "1ms"}])
def test_the_last_answer_stays_open(flaky: Flaky, fields: Any) -> None:
    url, _ = flaky.address("{http}/status/503/;times=99/")
    with virtual_time(), httpx.Client() as client:
        send = holdoff.Policy(**FIELDS, **fields).retrying(on_result=True).call
        answer = send(lambda: client.send(client.build_request("GET", url), stream=True))
        assert not answer.is_closed
        answer.close()
