"""httpx and httpx2. Neither is imported here: the classes are those of the client's own package."""

from __future__ import annotations

import sys
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from .._holdoff import remaining
from . import rules
from .rules import Body, Exchange, Front, Recorded, clip, is_file, is_plain, origin_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from httpx import AsyncBaseTransport as _AsyncBase, BaseTransport as _Base
    from typing_extensions import Self, Unpack

    from ..types import FrontOptions
else:
    _Base = _AsyncBase = object

STREAMED: ContextVar[bool | None] = ContextVar("holdoff.streamed", default=None)
"""True if the caller reads the answer's body itself, False if the client reads it, None if nobody knows."""
_MODULES: dict[type, Any] = {}
"""The package of each class of requests."""


def _package(of: object) -> Any:
    """httpx or httpx2, whichever the object is from, with the classes of streams made for it."""
    known = _MODULES.get(type(of))
    if known is None:
        packages = [kind.__module__.partition(".")[0] for kind in type(of).__mro__]
        module: Any = sys.modules[next(name for name in packages if name in ("httpx", "httpx2"))]
        bases = (module.SyncByteStream, module.AsyncByteStream)
        classes = [type(kind.__name__, (kind, *bases), {}) for kind in (Recorded, _Answer)]
        known = _MODULES[type(of)] = (module, *classes)
    return known


class _Answer:
    """The body of an answer: the parts that were read in the attempt, and the rest."""

    def __init__(self, parts: list[bytes], rest: Any, stream: Any) -> None:
        self._parts, self._rest, self._stream = parts, rest, stream

    def __iter__(self) -> Iterator[bytes]:
        yield from self._parts
        yield from self._rest

    def close(self) -> None:
        self._stream.close()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self._parts:
            yield part
        if self._rest:
            async for part in self._rest:
                yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Timeouts(dict[str, Any]):
    """The timeouts of a request: each is no longer than what is left of the attempt when the wait begins."""

    def get(self, name: str, default: Any = None) -> Any:
        return clip(super().get(name, default))


class _Front(Front):
    refusal, timeout = "TransportError", "ReadTimeout"

    def limit(self, request: Any) -> None:
        """Let the timeouts of a blocking request end with the attempt."""
        if remaining() is None:
            return
        timeout: Any = request.extensions.get("timeout") or dict.fromkeys(("connect", "read", "write", "pool"))
        if not isinstance(timeout, _Timeouts):
            request.extensions = {**request.extensions, "timeout": _Timeouts(timeout)}

    def begins(self, request: Any) -> Exchange:
        """A request of the client."""
        package, recorded, _ = _package(request)
        self.errors = self.errors or package
        stream: Any = request.stream
        # A redirect has the stream of the request before it.
        body: Body | None = stream if isinstance(stream, Body) else getattr(stream, "_holdoff_body", None)
        if body is None and not isinstance(stream, package.ByteStream):
            fields = getattr(stream, "fields", None)
            files = [getattr(part, "file", b"") for part in fields or ()] or [getattr(stream, "_stream", stream)]
            if all(is_plain(file) or is_file(file) for file in files):
                vars(stream)["_holdoff_body"] = body = Body([file for file in files if not is_plain(file)])
            else:
                request.stream = body = recorded(stream, self.body)
        url, told = request.url, request.extensions.get("holdoff")
        return self.exchange(request.method, origin_of(url.scheme, url.host, url.port), request.headers, body, told)


class _AsyncFront(_Front):
    asynchronous = True


class _Face:
    """The parts of a transport that are the same for both."""

    made: type[_Front] = _Front

    def __init__(self, inner: Any, policy: Any = None, **options: Unpack[FrontOptions]) -> None:
        if isinstance(inner, _Face):
            raise TypeError("this transport retries already")
        self.inner = inner
        self.front = policy if isinstance(policy, _Front) else self.made(policy, **options)


class Transport(_Face, _Base):
    """A transport that retries requests of another one: ``httpx.Client(transport=Transport(httpx.HTTPTransport()))``.

    The deadline is that of each request, redirects not included; `holdoff.wrap` includes them.
    """

    def handle_request(self, request: Any) -> Any:
        def attempt(exchange: Exchange) -> Any:
            self.front.limit(request)
            exchange.last = answer = self.inner.handle_request(request)
            size = self.front.reads(answer.status_code, answer.headers, STREAMED.get())
            if size is not None:
                rest = iter(answer.stream)
                parts, more = rules.read_parts(rest, size)
                if more:
                    answer.stream = _package(request)[2](parts, rest, answer.stream)
                else:
                    answer.stream.close()
                    answer.stream = _package(request)[0].ByteStream(b"".join(parts))
            return answer

        return self.front.run(self.front.begins(request), attempt, request)

    def __enter__(self) -> Self:
        self.inner.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.front.close()
        self.inner.__exit__(*error)

    def close(self) -> None:
        """Close the transport inside, and end the sleeps of its requests."""
        self.front.close()
        self.inner.close()


class AsyncTransport(_Face, _AsyncBase):
    """The same for ``httpx.AsyncClient``."""

    made = _AsyncFront

    async def handle_async_request(self, request: Any) -> Any:
        async def attempt(exchange: Exchange) -> Any:
            exchange.last = answer = await self.inner.handle_async_request(request)
            size = self.front.reads(answer.status_code, answer.headers, STREAMED.get())
            if size is not None:
                rest = answer.stream.__aiter__()
                parts, more = await rules.read_parts_async(rest, size)
                if more:
                    answer.stream = _package(request)[2](parts, rest, answer.stream)
                else:
                    await answer.stream.aclose()
                    answer.stream = _package(request)[0].ByteStream(b"".join(parts))
            return answer

        return await self.front.run_async(self.front.begins(request), attempt, request)

    async def __aenter__(self) -> Self:
        await self.inner.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        self.front.close()
        await self.inner.__aexit__(*error)

    async def aclose(self) -> None:
        """Close the transport inside, and end the sleeps of its requests."""
        self.front.close()
        await self.inner.aclose()


def wrap(client: Any, policy: Any, options: Any) -> Any:
    """Retry the requests of a client; the function that is returned takes it back."""
    asynchronous = hasattr(client, "aclose")
    face: Any = AsyncTransport if asynchronous else Transport
    front = policy if isinstance(policy, _Front) else face.made(policy, **options)
    faces: dict[int, Any] = {}

    def faced(inner: Any) -> Any:
        if inner is None or isinstance(inner, _Face):
            return inner
        return faces.setdefault(id(inner), face(inner, front))

    send = front.covers(client.send)

    def send_blocking(request: Any, *, stream: bool = False, **rest: Any) -> Any:
        before = STREAMED.set(stream)
        try:
            return send(request, stream=stream, **rest)
        finally:
            STREAMED.reset(before)

    async def send_async(request: Any, *, stream: bool = False, **rest: Any) -> Any:
        before = STREAMED.set(stream)
        try:
            return await send(request, stream=stream, **rest)
        finally:
            STREAMED.reset(before)

    return rules.replace(
        client,
        _transport=faced(client._transport),
        _mounts={pattern: faced(inner) for pattern, inner in client._mounts.items()},
        send=send_async if asynchronous else send_blocking,
    )
