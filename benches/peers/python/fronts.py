"""The cost of a front of holdoff for a success on loopback, beside the bare client and the retries of other packages.

`python fronts.py [--quick] [--only TEXT]`, kept on one core by the caller; prints one JSON list of rows. All clients
take turns at one server, and the times are processor times of this process alone. `extra` is the time of a request
beyond the bare client's in the same round, in nanoseconds: the median of all rounds. `of its limit` is that divided by
the most that a front may cost: 40 us or 15 % of the bare client's time, whichever is more.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from statistics import median
from typing import TYPE_CHECKING, Any

import aiohttp
import aiohttp_retry
import botocore.session
import holdoff
import httpx
import httpx2
import requests
import urllib3
from botocore.config import Config
from httpx_retries import RetryTransport
from requests.adapters import HTTPAdapter
from sampling import Work, rounds_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from sampling import Row, Sample

ALLOWED_NS = 40_000
ALLOWED_SHARE = 0.15
RETRY = urllib3.Retry(3, status_forcelist=[429, 503], backoff_factor=0.1)
LOOP = asyncio.new_event_loop()
SESSIONS: list[aiohttp.ClientSession] = []

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 15\r\n\r\n" + b'{"status": 200}'


class Answers(asyncio.Protocol):
    """A connection of the server: the same answer to each request, which has no body."""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.received = b""

    def data_received(self, data: bytes) -> None:
        *requests, self.received = (self.received + data).split(b"\r\n\r\n")
        self.transport.write(ANSWER * len(requests))


async def serve() -> None:
    """Print the port, and answer until the standard input ends."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Answers, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


def timed(ask: Callable[[], object]) -> Sample:
    def sample(calls: int) -> int:
        began = time.process_time_ns()
        for _ in range(calls):
            ask()
        return time.process_time_ns() - began

    return sample


def awaited(ask: Callable[[], Awaitable[object]]) -> Sample:
    async def many(calls: int) -> int:
        began = time.process_time_ns()
        for _ in range(calls):
            await ask()
        return time.process_time_ns() - began

    return lambda calls: LOOP.run_until_complete(many(calls))


def gets(client: Any, url: str) -> Callable[[], Any]:
    return lambda: client.get(url)


def front(name: str, samples: dict[str, Sample]) -> Work:
    return Work(f"front, {name}", samples, rounds=120, calls=20)


def by_httpx(url: str) -> Iterator[Work]:
    for module in (httpx, httpx2):
        bare, wrapped = (module.Client(trust_env=False) for _ in range(2))
        samples = {"bare": timed(gets(bare, url)), "holdoff": timed(gets(holdoff.wrap(wrapped), url))}
        if module is httpx:
            peer = httpx.Client(trust_env=False, transport=RetryTransport(transport=httpx.HTTPTransport()))
            samples["httpx-retries"] = timed(gets(peer, url))
        yield front(module.__name__, samples)
    for module in (httpx, httpx2):
        bare, wrapped = (module.AsyncClient(trust_env=False) for _ in range(2))
        samples = {"bare": awaited(gets(bare, url)), "holdoff": awaited(gets(holdoff.wrap(wrapped), url))}
        if module is httpx:
            transport = RetryTransport(transport=httpx.AsyncHTTPTransport())
            samples["httpx-retries"] = awaited(gets(httpx.AsyncClient(trust_env=False, transport=transport), url))
        yield front(f"{module.__name__} async", samples)


def by_requests(url: str) -> Work:
    bare, wrapped, peer = (requests.Session() for _ in range(3))
    for session in (bare, wrapped, peer):
        session.trust_env = False
    peer.mount("http://", HTTPAdapter(max_retries=RETRY))
    everybody = {"bare": bare, "holdoff": holdoff.wrap(wrapped), "urllib3 Retry": peer}
    return front("requests", {who: timed(gets(session, url)) for who, session in everybody.items()})


def by_urllib3(url: str) -> Work:
    def asks(manager: urllib3.PoolManager) -> Sample:
        return timed(lambda: manager.request("GET", url))

    everybody = {
        "bare": urllib3.PoolManager(retries=False),
        "holdoff": holdoff.wrap(urllib3.PoolManager()),
        "urllib3 Retry": urllib3.PoolManager(retries=RETRY),
    }
    return front("urllib3", {who: asks(manager) for who, manager in everybody.items()})


async def by_aiohttp(url: str) -> Work:
    def asks(session: Any) -> Sample:
        async def ask() -> None:
            async with session.get(url) as answer:
                await answer.read()

        return awaited(ask)

    bare, wrapped, below = (aiohttp.ClientSession() for _ in range(3))
    SESSIONS.extend((bare, wrapped, below))
    options = aiohttp_retry.ExponentialRetry(attempts=3, statuses={429, 503})
    peer = aiohttp_retry.RetryClient(client_session=below, retry_options=options)
    everybody = {"bare": bare, "holdoff": holdoff.wrap(wrapped), "aiohttp-retry": peer}
    return front("aiohttp", {who: asks(session) for who, session in everybody.items()})


def by_botocore(url: str) -> Work:
    session = botocore.session.Session()
    session.set_credentials("key", "secret")

    def client(**retries: Any) -> Any:
        config = Config(retries=retries, s3={"addressing_style": "path"}, proxies={})
        return session.create_client("s3", "eu-west-1", endpoint_url=url, config=config)

    def asks(client: Any) -> Sample:
        return timed(lambda: client.get_object(Bucket="bucket", Key="key")["Body"].read())

    everybody = {
        "bare": client(total_max_attempts=1),
        "holdoff": holdoff.wrap(client()),
        "botocore standard": client(mode="standard"),
    }
    return front("botocore", {who: asks(each) for who, each in everybody.items()})


def works(url: str) -> Iterator[Work]:
    yield from by_httpx(url)
    yield by_requests(url)
    yield by_urllib3(url)
    yield LOOP.run_until_complete(by_aiohttp(url))
    yield by_botocore(url)


def rows(work: Work, quick: bool) -> Iterator[Row]:
    """The figures of everybody, and what each takes longer than the bare client."""
    nanos = rounds_of(work, quick)
    bare = median(nanos["bare"])
    for who, own in nanos.items():
        row: Row = {"work": work.name, "who": who, "ns": min(own), "median": median(own)}
        if who != "bare":
            row["extra"] = median(one - other for one, other in zip(own, nanos["bare"], strict=True))
            row["of its limit"] = row["extra"] / max(ALLOWED_NS, ALLOWED_SHARE * bare)
        yield row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--only", default="", metavar="TEXT", help="works whose name contains it")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve())
        return
    command = [sys.executable, __file__, "--serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}"
        found = [row for work in works(url) if options.only in work.name for row in rows(work, options.quick)]
    for session in SESSIONS:
        LOOP.run_until_complete(session.close())
    print(json.dumps(found))


if __name__ == "__main__":
    main()
