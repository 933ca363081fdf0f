"""The bodies of requests and answers between two attempts. Loaded when an attempt with arguments or an answer fails."""

from __future__ import annotations

import inspect
from contextlib import suppress
from io import BytesIO

from ._errors import get

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable
    from types import AsyncGeneratorType, FrameType
    from typing import Any

_PARTS = ("body", "data", "stream", "_stream")
"""Attributes of a request that hold its body (requests, urllib.request, httpx)."""
_CONNECTED = ("is_closed", "raw", "release_conn", "connection", "isclosed")
"""Attributes of an answer that may hold a connection (httpx, requests, urllib3, aiohttp, http.client)."""


def is_used(function: Any, args: Iterable[Any], kwargs: dict[str, Any]) -> bool:
    """True if an argument, or the body of a request among them, has been read and cannot be read again.

    A function that calls `seek` itself is trusted to begin each attempt at the right place of its files.
    """
    seeks = "seek" in getattr(get(function, "__code__"), "co_names", ())
    found = [*args, *kwargs.values()]
    for depth in range(3):
        if any(_is_used(body, seeks) for body in found):
            return True
        if depth < 2:
            found = [part for body in found for name in _PARTS if (part := get(body, name)) is not None]
    return False


def _is_used(body: Any, seeks: bool) -> bool:
    used = get(body, "__holdoff_used__")
    if isinstance(used, bool):
        return used
    if inspect.isgenerator(body):
        return inspect.getgeneratorstate(body) != inspect.GEN_CREATED
    if inspect.isasyncgen(body):
        return _has_begun(body)
    if hasattr(body, "__next__") and hasattr(body, "__length_hint__"):
        # An iterator of a list, for instance, says how many items are left.
        return bool(body.__length_hint__() == 0)
    if not hasattr(body, "tell") or not hasattr(body, "read"):
        return False
    try:
        if body.closed:
            return True
        if seeks or not (isinstance(body, BytesIO) or (body.readable() and not body.writable())):
            return False
        return not body.seekable() or body.tell() != 0
    except Exception:
        # Not a file of io.
        return False


def _has_begun(generator: AsyncGeneratorType[Any, Any]) -> bool:
    """True if an asynchronous generator has run."""
    state = getattr(inspect, "getasyncgenstate", None)
    if state is not None:
        return bool(state(generator) != "AGEN_CREATED")
    # Python 3.10 and 3.11: the frame is gone at the end; the latest instruction before the beginning is the first one.
    from dis import opname

    frame: FrameType | None = generator.ag_frame
    if frame is None or frame.f_lasti < 0:
        return frame is None
    return opname[frame.f_code.co_code[frame.f_lasti]] != "RETURN_GENERATOR"


def discard(ended: Any, asynchronous: bool) -> list[tuple[str, Awaitable[object]]] | None:
    """Give back the connection of a refused answer, or of the answer in an error, which may have to be awaited."""
    answer = get(ended, "response") if isinstance(ended, BaseException) else ended
    if not any(hasattr(answer, name) for name in _CONNECTED):
        return None
    closing = _call(answer, "close")
    if closing is _FAILED and asynchronous:
        closing = _call(answer, "aclose")
    _call(answer, "release_conn")
    if not inspect.isawaitable(closing):
        return None
    if asynchronous:
        return [("close", _quietly(closing))]
    if inspect.iscoroutine(closing):
        closing.close()
    return None


_FAILED = object()


def _call(answer: Any, name: str) -> Any:
    """Call a method without arguments. An answer that cannot be closed must not end the operation."""
    try:
        return getattr(answer, name)()
    except Exception:
        return _FAILED


async def _quietly(closing: Awaitable[object]) -> None:
    with suppress(Exception):
        await closing
