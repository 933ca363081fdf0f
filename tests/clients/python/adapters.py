"""One small adapter for each client: it asks for an address, reads the whole answer, and lets errors out."""

from __future__ import annotations

import http.client
import smtplib
import urllib.request
from contextlib import asynccontextmanager, contextmanager
from inspect import isasyncgenfunction
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import aiohttp
import anthropic
import botocore.session
import google.api_core.grpc_helpers
import grpc
import httpx
import httpx2
import openai
import psycopg
import redis
import requests
import sqlalchemy
import urllib3
from botocore.config import Config

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from conftest import Flaky

SHORT, LONG = 0.1, 20.0
"""Seconds of the limit that is to end the request, and of all others."""


class Options:
    """How a situation wants to be played."""

    def __init__(self, flaky: Flaky, proxy: str | None, limit: str | None, http2: bool) -> None:
        self.flaky = flaky
        self.proxy = None if proxy is None else flaky.fill(proxy)
        self.connect = SHORT if limit == "connect" else LONG
        self.read = SHORT if limit == "read" else LONG
        self.any = SHORT if limit else LONG
        self.http2 = http2


@contextmanager
def urllib_(options: Options) -> Iterator[Callable[[str, bool], Any]]:
    handlers: list[Any] = [urllib.request.HTTPSHandler(context=options.flaky.context())]
    handlers.append(urllib.request.ProxyHandler({"https": options.proxy} if options.proxy else {}))
    opener = urllib.request.build_opener(*handlers)

    def ask(url: str, _raises: bool) -> Any:
        with opener.open(url, timeout=options.any) as answer:
            answer.read()
            return answer

    yield ask


@contextmanager
def http_client(options: Options) -> Iterator[Callable[[str, bool], Any]]:
    opened: dict[str, http.client.HTTPConnection] = {}

    def connection(scheme: str, host: str) -> http.client.HTTPConnection:
        if options.proxy:
            proxied = http.client.HTTPSConnection(
                urlsplit(options.proxy).netloc, timeout=options.any, context=options.flaky.context()
            )
            proxied.set_tunnel(host)
            return proxied
        if scheme == "http":
            return http.client.HTTPConnection(host, timeout=options.any)
        return http.client.HTTPSConnection(host, timeout=options.any, context=options.flaky.context())

    def ask(url: str, _raises: bool) -> Any:
        parts = urlsplit(url)
        known = opened.setdefault(parts.netloc, connection(parts.scheme, parts.netloc))
        try:
            known.request("GET", f"{parts.path}?{parts.query}")
            answer = known.getresponse()
            answer.read()
        except Exception:
            known.close()
            raise
        return answer

    yield ask


@contextmanager
def requests_(options: Options) -> Iterator[Callable[[str, bool], Any]]:
    with requests.Session() as session:
        session.trust_env = False
        session.verify = str(options.flaky.authority)
        if options.proxy:
            session.proxies = {"https": options.proxy}

        def ask(url: str, raises: bool) -> Any:
            answer = session.get(url, timeout=(options.connect, options.read))
            if raises:
                answer.raise_for_status()
            return answer

        yield ask


@contextmanager
def urllib3_(options: Options) -> Iterator[Callable[[str, bool], Any]]:
    settings: dict[str, Any] = {
        "ssl_context": options.flaky.context(),
        "timeout": urllib3.Timeout(connect=options.connect, read=options.read),
        "retries": urllib3.Retry(
            total=5, connect=0, read=0, status=0, other=0, redirect=3, respect_retry_after_header=False
        ),
    }
    pool = urllib3.ProxyManager(options.proxy, **settings) if options.proxy else urllib3.PoolManager(**settings)
    with pool:
        yield lambda url, _raises: pool.request("GET", url)


def _httpx(module: Any) -> Any:
    @contextmanager
    def make(options: Options) -> Iterator[Callable[[str, bool], Any]]:
        timeout = module.Timeout(LONG, connect=options.connect, read=options.read)
        with module.Client(
            verify=options.flaky.context(),
            proxy=options.proxy,
            timeout=timeout,
            follow_redirects=True,
            http2=options.http2,
            trust_env=False,
        ) as client:

            def ask(url: str, raises: bool) -> Any:
                answer = client.get(url)
                if raises:
                    answer.raise_for_status()
                return answer

            yield ask

    return make


def _httpx_async(module: Any) -> Any:
    @asynccontextmanager
    async def make(options: Options) -> AsyncIterator[Callable[[str, bool], Any]]:
        timeout = module.Timeout(LONG, connect=options.connect, read=options.read)
        async with module.AsyncClient(
            verify=options.flaky.context(),
            proxy=options.proxy,
            timeout=timeout,
            follow_redirects=True,
            http2=options.http2,
            trust_env=False,
        ) as client:

            async def ask(url: str, raises: bool) -> Any:
                answer = await client.get(url)
                if raises:
                    answer.raise_for_status()
                return answer

            yield ask

    return make


@asynccontextmanager
async def aiohttp_(options: Options) -> AsyncIterator[Callable[[str, bool], Any]]:
    timeout = aiohttp.ClientTimeout(sock_connect=options.connect, sock_read=options.read)
    connector = aiohttp.TCPConnector(ssl=options.flaky.context())
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:

        async def ask(url: str, raises: bool) -> Any:
            async with session.get(url, proxy=options.proxy) as answer:
                await answer.read()
                if raises:
                    answer.raise_for_status()
                return answer

        yield ask


@contextmanager
def botocore_(options: Options) -> Iterator[Callable[[str, bool], Any]]:
    session = botocore.session.get_session()
    session.set_credentials("key", "secret")
    config = Config(
        connect_timeout=options.connect,
        read_timeout=options.read,
        retries={"total_max_attempts": 1},
        proxies={"https": options.proxy} if options.proxy else {},
        s3={"addressing_style": "path"},
    )
    services: dict[str, tuple[str, Callable[[Any], Any]]] = {
        "json": ("dynamodb", lambda client: client.list_tables()),
        "xml": ("s3", lambda client: client.list_buckets()),
    }

    def ask(url: str, _raises: bool) -> Any:
        service, call = services["xml" if "xml" in url else "json"]
        client = session.create_client(
            service,
            region_name="eu-west-1",
            endpoint_url=url,
            config=config,
            verify=str(options.flaky.authority),
        )
        return call(client)

    yield ask


def _sdk(module: Any, make_client: Callable[..., Any], call: Callable[[Any], Any]) -> Any:
    @contextmanager
    def make(options: Options) -> Iterator[Callable[[str, bool], Any]]:
        timeout = httpx2.Timeout(LONG, connect=options.connect, read=options.read)
        transport = module.DefaultHttpxClient(
            verify=options.flaky.context(), proxy=options.proxy, timeout=timeout, trust_env=False
        )
        with transport:
            yield lambda url, _raises: call(
                make_client(base_url=url, api_key="key", max_retries=0, timeout=timeout, http_client=transport)
            )

    return make


def ask_anthropic(client: Any) -> Any:
    return client.messages.create(model="m", max_tokens=1, messages=[{"role": "user", "content": "Hi"}])


@contextmanager
def grpcio(options: Options, wrap: Callable[[Any], Any] = lambda call: call) -> Iterator[Callable[..., Any]]:
    channels: list[grpc.Channel] = []

    def ask(url: str, _raises: bool, code: str | None = None, metadata: Any = ()) -> Any:
        channel = grpc.insecure_channel(urlsplit(url).netloc)
        channels.append(channel)
        method = wrap(channel.unary_unary(f"/flaky.Flaky/{code or 'OK'}"))
        return method(b"", metadata=metadata, timeout=LONG)

    yield ask
    for channel in channels:
        channel.close()


@contextmanager
def google_api_core(options: Options) -> Iterator[Callable[..., Any]]:
    with grpcio(options, google.api_core.grpc_helpers.wrap_errors) as ask:
        yield ask


CLIENTS: dict[str, Any] = {
    "urllib.request": urllib_,
    "http.client": http_client,
    "requests": requests_,
    "urllib3": urllib3_,
    "httpx": _httpx(httpx),
    "httpx (async)": _httpx_async(httpx),
    "httpx2": _httpx(httpx2),
    "httpx2 (async)": _httpx_async(httpx2),
    "aiohttp": aiohttp_,
    "botocore": botocore_,
    "openai": _sdk(openai, openai.OpenAI, lambda client: client.models.list()),
    "anthropic": _sdk(anthropic, anthropic.Anthropic, ask_anthropic),
    "grpcio": grpcio,
    "google-api-core": google_api_core,
}
"""The clients that ask the flaky server, by the names in their files; async ones as async context managers."""

ONLY_VALUES = ("http.client", "urllib3")
"""Clients whose answers are values, whatever their status."""
IN_PATH = ("botocore", "openai", "anthropic")
"""Clients that add a path of their own to an address."""


REFUSED: dict[str, Callable[[int], Any]] = {
    "psycopg": lambda port: psycopg.connect(f"host=127.0.0.1 port={port} dbname=d user=u password=p"),
    "SQLAlchemy": lambda port: sqlalchemy.create_engine(f"postgresql+psycopg://u:p@127.0.0.1:{port}/d").connect(),
    "redis": lambda port: redis.Redis(port=port, retry=None).ping(),
    "smtplib": lambda port: smtplib.SMTP("127.0.0.1", port),
}
"""Connections to a port on which nobody listens."""


def is_async(make: Any) -> bool:
    """True for an adapter of an asynchronous client."""
    return isasyncgenfunction(make.__wrapped__)
