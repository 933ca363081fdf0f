"""aiohttp: a middleware before those of the session."""

from __future__ import annotations

import warnings
from typing import Any

from .rules import Body, Exchange, Front, Recorded, origin_of, read_parts_async, replace

_BUFFERED = 1 << 16
"""The most bytes that aiohttp reads before the user asks for them."""


class _Front(Front):
    asynchronous = True
    # TimeoutError is what aiohttp raises itself.
    errors, refusal = "aiohttp", "ClientError"

    def __call__(self, request: Any, handler: Any) -> Any:
        async def attempt(exchange: Exchange) -> Any:
            if exchange.attempts > 1:
                # A writer may still send the body to the server that has answered already.
                request.terminate()
            exchange.last = answer = await handler(request)
            size = self.reads(answer.status, answer.headers, None)
            if size is not None:
                await _read(answer, size)
            return answer

        url, payload = request.url, request.body
        body = _Payload(payload, self.body) if payload else None
        exchange = self.exchange(request.method, origin_of(url.scheme, url.host, url.port), request.headers, body)
        return self.run_async(exchange, attempt)


class _Payload(Body):
    """The body of a request. aiohttp's payloads go back to the position of their file themselves."""

    def __init__(self, payload: Any, limit: int) -> None:
        super().__init__()
        stream = getattr(payload, "_iter", None)
        self._payload, self._stream = payload, None if stream is None else Recorded(stream, limit)

    @property
    def used(self) -> bool:
        if self._stream is not None:
            return self._stream.used
        file = getattr(self._payload, "_value", None)
        return bool(self._payload.consumed) or getattr(file, "closed", False) is True

    def rewind(self) -> None:
        if self._stream is not None:
            self._payload._iter, self._payload._consumed = self._stream.__aiter__(), False


async def _read(answer: Any, size: int) -> None:
    """Wait for the body of an answer, and leave it for the user to read."""
    content = answer.content
    if content.is_eof() and content.exception() is None:
        return
    length = answer.content_length
    if length is not None and length <= _BUFFERED:
        await content.wait_eof()
        return
    parts, _ = await read_parts_async(content.iter_any(), size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        content.unread_data(b"".join(parts))


def wrap(session: Any, policy: Any, options: Any) -> Any:
    """Retry the requests of a session; the function that is returned takes it back."""
    front = _Front(policy, **options)
    close = session.close

    async def closed() -> None:
        front.close()
        await close()

    return replace(
        session,
        _middlewares=(front, *session._middlewares),
        # aiohttp would run all middlewares a second time after a lost connection.
        _retry_connection=False,
        _request=front.covers(session._request),
        close=closed,
    )
