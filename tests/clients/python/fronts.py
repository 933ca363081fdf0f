"""One small driver for each client that `holdoff.wrap` takes: it sends a request and reads the whole answer."""

from __future__ import annotations

import asyncio
import contextvars
import io
from typing import TYPE_CHECKING, Any

import aiohttp
import botocore.session
import holdoff
import httpx
import httpx2
import requests
import urllib3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from google.auth.credentials import AnonymousCredentials
from google.auth.transport.requests import AuthorizedSession

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

READ = 0.15
"""The seconds that each client waits for bytes, unless the test says otherwise."""


def stream(size: int) -> Iterator[bytes]:
    """A body that can be read once: "hel", "lo", and more of it."""
    yield b"hel"
    yield b"lo" + b"x" * max(size - 5, 0)


async def astream(size: int) -> AsyncIterator[bytes]:
    for part in stream(size):
        yield part


class Front:
    """A wrapped client. `client` is it; `errors` are its own errors."""

    name = ""
    errors: Any = ()
    asynchronous = False

    def __init__(self, wait: float | None = READ, plain: bool = False, **options: Any) -> None:
        self.wait = wait
        self.client: Any = None
        self.start()
        if not plain:
            wrapped = holdoff.wrap(self.client, **options)
            assert wrapped is self.client

    def start(self) -> None:
        raise NotImplementedError

    def send(self, method: str, url: str, body: Any, headers: dict[str, str]) -> int:
        """Send a request, read the answer, and return its status."""
        raise NotImplementedError

    def ask(self, method: str, url: str, body: str | None = None, headers: dict[str, str] | None = None) -> int:
        return self.send(method, url, self.body(body), headers or {})

    def body(self, kind: str | None) -> Any:
        if kind == "bytes":
            return b"hello"
        if kind == "file":
            return io.BytesIO(b"hello")
        if kind == "offset":
            file = io.BytesIO(b"skip hello")
            file.seek(5)
            return file
        if kind in ("stream", "long"):
            return (astream if self.asynchronous else stream)((1 << 20) + 1 if kind == "long" else 5)
        return None

    def close(self) -> None:
        self.client.close()

    @property
    def last(self) -> Any:
        """The last answer."""
        return self._last

    _last: Any = None


class Httpx(Front):
    name = "httpx"
    module: Any = httpx
    errors = httpx.HTTPError

    def start(self) -> None:
        self.client = self.module.Client(timeout=self.wait, follow_redirects=True, trust_env=False)

    def send(self, method: str, url: str, body: Any, headers: dict[str, str]) -> int:
        self._last = self.client.request(method, url, content=body, headers=headers)
        return int(self._last.status_code)


class Httpx2(Httpx):
    name = "httpx2"
    module = httpx2
    errors = httpx2.HTTPError


class Looped(Front):
    asynchronous = True

    def start(self) -> None:
        self.loop = asyncio.Runner()
        self.loop.run(self.begin())

    async def begin(self) -> None:
        raise NotImplementedError

    def run(self, make: Callable[[], Any]) -> Any:
        async def go() -> Any:
            return await make()

        # The variables of the caller, as in a program that runs in the loop.
        return self.loop.run(go(), context=contextvars.copy_context())


class AsyncHttpx(Looped):
    name = "httpx-async"
    module: Any = httpx
    errors = httpx.HTTPError

    async def begin(self) -> None:
        self.client = self.module.AsyncClient(timeout=self.wait, follow_redirects=True, trust_env=False)

    def body(self, kind: str | None) -> Any:
        # The asynchronous client takes no blocking files.
        return b"hello" if kind in ("file", "offset") else super().body(kind)

    def send(self, method: str, url: str, body: Any, headers: dict[str, str]) -> int:
        self._last = self.run(lambda: self.client.request(method, url, content=body, headers=headers))
        return int(self._last.status_code)

    def close(self) -> None:
        self.run(self.client.aclose)
        self.loop.close()


class AsyncHttpx2(AsyncHttpx):
    name = "httpx2-async"
    module = httpx2
    errors = httpx2.HTTPError


class Requests(Front):
    name = "requests"
    errors = requests.RequestException

    def start(self) -> None:
        self.client = requests.Session()
        self.client.trust_env = False

    def send(self, method: str, url: str, body: Any, headers: dict[str, str]) -> int:
        self._last = self.client.request(method, url, data=body, headers=headers, timeout=self.wait)
        return int(self._last.status_code)


class GoogleAuth(Requests):
    """The session of Google's client libraries, a subclass of that of requests, renews its credentials after a 401."""

    name = "google-auth"

    def start(self) -> None:
        self.client = AuthorizedSession(AnonymousCredentials())
        self.client.trust_env = False


class Urllib3(Front):
    name = "urllib3"
    errors = urllib3.exceptions.HTTPError

    def start(self) -> None:
        self.client = urllib3.PoolManager(timeout=self.wait)

    def send(self, method: str, url: str, body: Any, headers: dict[str, str]) -> int:
        self._last = self.client.request(method, url, body=body, headers=headers)
        return int(self._last.status)

    def close(self) -> None:
        self.client.clear()


class Aiohttp(Looped):
    name = "aiohttp"
    errors = (aiohttp.ClientError, TimeoutError)

    async def begin(self) -> None:
        self.client = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None, sock_read=self.wait))

    def send(self, method: str, url: str, body: Any, headers: dict[str, str]) -> int:
        async def go() -> Any:
            async with self.client.request(method, url, data=body, headers=headers) as answer:
                await answer.read()
                return answer

        self._last = self.run(go)
        return int(self._last.status)

    def close(self) -> None:
        self.run(lambda: self.client.close())
        self.loop.close()


SESSION = botocore.session.Session()
SESSION.set_credentials("key", "secret")


class Botocore(Front):
    """S3: an object is the name of a script; its operations are chosen by the method."""

    name = "botocore"
    errors = (BotoCoreError, ClientError)

    def __init__(self, origin: str, wait: float | None = READ, retries: Any = None, **options: Any) -> None:
        self.origin, self.retries = origin, retries
        super().__init__(wait, **options)

    def start(self) -> None:
        config = Config(
            read_timeout=self.wait or 60,
            s3={"addressing_style": "path"},
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            retries=self.retries,
            proxies={},
        )
        self.client = SESSION.create_client("s3", "eu-west-1", endpoint_url=self.origin, config=config)

    def send(self, method: str, url: str, body: Any, headers: dict[str, str]) -> int:
        names = {"Bucket": url.rpartition("/")[2]}
        try:
            if method == "GET":
                self._last = self.client.list_objects_v2(**names)
            elif method == "PUT":
                self._last = self.client.put_object(**names, Key="key", Body=body)
            else:
                self._last = self.client.create_multipart_upload(**names, Key="key")
        except ClientError as error:
            self._last = error
            return int(error.response["ResponseMetadata"]["HTTPStatusCode"])
        return int(self._last["ResponseMetadata"]["HTTPStatusCode"])


FRONTS: list[type[Front]] = [Httpx, AsyncHttpx, Httpx2, AsyncHttpx2, Requests, GoogleAuth, Urllib3, Aiohttp]
"""Clients that send any request."""
