"""Retries of HTTP requests: the rules of every client. The adapter of a client only passes requests and answers on."""

from __future__ import annotations

import sys
from contextvars import ContextVar
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from .._async import drive
from .._bodies import discard
from .._cancel import AnyOf, Cancel
from .._errors import Cancelled, Refused, get
from .._holdoff import Guards, KeyedGuards, Operation, Retrying, remaining
from .._limit import within

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping

    from typing_extensions import Unpack

    from ..types import FrontOptions

IDEMPOTENT = frozenset(["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE"])
"""Methods of requests that may run twice (RFC 9110, 9.2.2)."""
_GUARDS = ("budget", "breaker", "limiter", "bulkhead", "adaptive", "stretch", "pause")
_PORTS = {"http": 80, "https": 443}
_CALLERS = 256
"""The most servers and methods whose callers are kept."""
_SMALL = 1 << 16
"""The most bytes of a refused answer that are read to keep its connection."""

TOLD: ContextVar[Mapping[str, Any]] = ContextVar("holdoff.options")
"""The options of the block `holdoff.options` around the request."""


@lru_cache(_CALLERS)
def origin_of(scheme: str, host: str | None, port: int | None) -> str:
    """The origin of a URL, with its port."""
    host = f"[{host}]" if host and ":" in host and host[0] != "[" else host
    return f"{scheme}://{host}:{port or _PORTS.get(scheme, 0)}"


@lru_cache(_CALLERS)
def _origin_of_start(start: str) -> str:
    parts = urlsplit(start)
    return origin_of(parts.scheme, parts.hostname, parts.port)


def origin_of_url(url: str) -> str:
    """The origin of a URL in text."""
    return _origin_of_start("/".join(url.split("/", 3)[:3]))


def clip(seconds: float | None) -> float | None:
    """A timeout of the client that ends no later than the attempt."""
    left = remaining()
    return seconds if left is None else left if seconds is None else min(seconds, left)


class Body:
    """The body of a request that is read from files: each attempt sends them from the positions that they have now."""

    _used = False

    def __init__(self, files: Iterable[Any] = ()) -> None:
        self._files = [(file, file.tell()) for file in files]

    @property
    def used(self) -> bool:
        """True if it cannot be sent again."""
        return self._used or any(get(file, "closed") is True for file, _ in self._files)

    def rewind(self) -> None:
        """Go back to the beginning, before an attempt."""
        for file, position in self._files:
            file.seek(position)


class Recorded(Body):
    """The body of a request that is a stream. The parts that are read are kept, up to a limit, to be sent again."""

    def __init__(self, source: Any, limit: int) -> None:
        super().__init__()
        read = getattr(source, "read", None)
        if read is not None:
            source = iter(lambda: read(_SMALL), type(read(0))())
        self._source: Any = source.__aiter__() if hasattr(source, "__aiter__") else iter(source)
        self._parts: list[Any] | None = []
        self._left = limit

    @property
    def used(self) -> bool:
        return self._used or self._parts is None

    def _keep(self, part: Any) -> None:
        self._left -= len(part)
        if self._left < 0:
            self._parts = None
        elif self._parts is not None:
            self._parts.append(part)

    def __iter__(self) -> Iterator[Any]:
        yield from list(self._parts or ())
        while True:
            try:
                part = next(self._source)
            except StopIteration:
                return
            except BaseException:
                # An interrupted source cannot go on.
                self._used = True
                raise
            self._keep(part)
            yield part

    async def __aiter__(self) -> AsyncIterator[Any]:
        for part in list(self._parts or ()):
            yield part
        while True:
            try:
                part = await anext(self._source) if hasattr(self._source, "__anext__") else next(self._source)
            except (StopAsyncIteration, StopIteration):
                return
            except BaseException:
                self._used = True
                raise
            self._keep(part)
            yield part


def is_plain(body: Any) -> bool:
    """True if a body can be sent any number of times."""
    return body is None or isinstance(body, (str, bytes, bytearray, memoryview, list, tuple, dict))


def is_file(body: Any) -> bool:
    """True if a body is a file that can go back to a position."""
    try:
        return hasattr(body, "read") and bool(body.seekable()) and body.tell() >= 0
    except Exception:
        return False


def body_of(body: Any, limit: int) -> tuple[Any, Body | None]:
    """The body to hand to the client, and the `Body` of the exchange; None for a body that needs no care."""
    if isinstance(body, Body):
        return body, body
    if is_plain(body):
        return body, None
    if is_file(body):
        return body, Body([body])
    recorded = Recorded(body, limit)
    return recorded, recorded


def read_parts(parts: Iterator[bytes], limit: int) -> tuple[list[bytes], bool]:
    """The parts of an answer's body up to the limit, and True if there may be more of it."""
    read: list[bytes] = []
    for part in parts:
        read.append(part)
        limit -= len(part)
        if limit < 0:
            return read, True
        remaining()
    return read, False


async def read_parts_async(parts: AsyncIterator[bytes], limit: int) -> tuple[list[bytes], bool]:
    """The same of an asynchronous body."""
    read: list[bytes] = []
    async for part in parts:
        read.append(part)
        limit -= len(part)
        if limit < 0:
            return read, True
    return read, False


class Exchange:
    """One request and its attempts. Hooks get it as the only argument of their event."""

    __slots__ = ("_attempt", "_body", "_caller", "attempts", "last", "method", "origin")

    def __init__(self, caller: Retrying, method: str, origin: str, body: Body | None) -> None:
        self.method = method
        """The method of the request."""
        self.origin = origin
        """The server: scheme, host and port."""
        self.attempts = 0
        """How many attempts have begun."""
        self.last: Any = None
        """The answer of the latest attempt, whose connection is given back if the attempt or the call fails."""
        self._caller, self._body = caller, body
        self._attempt: Callable[[Exchange], Any]

    def __repr__(self) -> str:
        return f"<Exchange {self.method} {self.origin}>"

    @property
    def __holdoff_used__(self) -> bool:
        return self._body is not None and self._body.used

    def _begin(self) -> None:
        self.attempts += 1
        self.last = None
        if self._body is not None:
            self._body.rewind()

    async def _discard(self, error: BaseException) -> None:
        """Give the connection of the latest answer back. A coroutine that is closed can await nothing."""
        for _, closing in () if isinstance(error, GeneratorExit) else discard(self.last, True) or ():
            await closing


def _attempt(exchange: Exchange) -> Any:
    exchange._begin()
    try:
        return exchange._attempt(exchange)
    except BaseException:
        discard(exchange.last, False)
        raise


async def _attempt_async(exchange: Exchange) -> Any:
    exchange._begin()
    try:
        return await exchange._attempt(exchange)
    except BaseException as error:
        await exchange._discard(error)
        raise


class _Closed(Cancel):
    """Ends the sleeps of a client that is closed. The client itself ends its attempts."""

    __slots__ = ()
    ends_attempts = False


class Front:
    """The policy of one client: it makes the attempts of each request, with guards for each server."""

    asynchronous = False
    errors: Any = ""
    """The module of the client's errors, or its name."""
    refusal = timeout = ""
    """The names of the client's errors for refusals and cancellations of holdoff, and for its timeouts."""

    def __init__(self, policy: Any = None, **options: Unpack[FrontOptions]) -> None:
        rest: dict[str, Any] = dict(options)
        self._made_of = (policy, dict(rest))
        self.body: int = rest.pop("body", 1 << 20)
        if isinstance(self.body, bool) or not isinstance(self.body, int) or self.body < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"body = {self.body!r}: must be a number of bytes, 0 or more")
        self.idempotent: bool | None = rest.pop("idempotent", None)
        self.key: str | None = rest.pop("key", None)
        guards = rest.pop("guards", None)
        self._cancel: Cancel | None = rest.pop("cancel", None)
        rest.setdefault("on_result", True)
        self.caller = Retrying(policy, **rest)
        document = self.caller.policy.to_dict()
        if "hedge" in document:
            raise TypeError("hedge: a client sends one request at a time; decorate the function that calls it instead")
        if "nested" not in document:
            # Of a client, of retries around it and of clients inside it, the innermost one retries.
            self.caller = self.caller.with_options(nested="innermost")
        own: Any = {"pause": {"max": "1m"}, **{name: document[name] for name in _GUARDS if name in document}}
        given = own if guards is None else guards
        self.guards: Any = given if isinstance(given, (Guards, KeyedGuards)) else KeyedGuards(**given)
        from_start = document.get("deadline_from", "start") == "start"
        self._deadline: Any = document.get("deadline") if from_start else None
        self._callers: dict[tuple[str, str, bool], Retrying] = {}
        self._closed = _Closed()

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), self._made_of[0], **self._made_of[1]), ()

    def close(self) -> None:
        """End the sleeps of all requests. The client may be used again."""
        closed, self._closed, self._callers = self._closed, _Closed(), {}
        closed.cancel()

    def covers(self, call: Any) -> Any:
        """A function of the client, whose requests end by the deadline together: those of redirects, too."""
        if self._deadline is None:
            return call

        def covered(*args: Any, **rest: Any) -> Any:
            with within(self._deadline):
                return call(*args, **rest)

        async def covered_async(*args: Any, **rest: Any) -> Any:
            with within(self._deadline):
                return await call(*args, **rest)

        return covered_async if self.asynchronous else covered

    def exchange(
        self, method: str, origin: str, headers: Iterable[str], body: Body | None, told: Any = None
    ) -> Exchange:
        """A request, with the names of its headers and the options of this request alone."""
        rest: dict[str, Any] = {**TOLD.get({}), **(told or {})}
        method = method.upper()
        idempotent = rest.pop("idempotent", self.idempotent)
        if idempotent is None:
            idempotent = method in IDEMPOTENT or any(name.lower() == "idempotency-key" for name in headers)
        if rest:
            return Exchange(self._made(method, origin, idempotent, rest), method, origin, body)
        kept = (method, origin, idempotent)
        caller = self._callers.get(kept)
        if caller is None:
            if len(self._callers) >= _CALLERS:
                self._callers.clear()
            caller = self._callers[kept] = self._made(method, origin, idempotent, rest)
        return Exchange(caller, method, origin, body)

    def _made(self, method: str, origin: str, idempotent: bool, rest: dict[str, Any]) -> Retrying:
        """The caller of a request, with the guards of its server."""
        key = rest.pop("key", self.key) or origin
        cancel = rest.pop("cancel", self._cancel)
        rest["cancel"] = self._closed if cancel is None else AnyOf(cancel, self._closed)
        guards = rest.pop("guards", self.guards)
        if isinstance(guards, KeyedGuards):
            rest["guards"] = guards.of(key)
        else:
            rest["guards"], rest["key"] = guards, key
        if "name" not in self._made_of[1]:
            rest.setdefault("name", f"{method} {origin}")
        return self.caller.with_options(idempotent=idempotent, **rest)

    def run(self, exchange: Exchange, attempt: Callable[[Exchange], Any], request: Any = None) -> Any:
        """The answer to a request after as many attempts as the policy makes."""
        exchange._attempt = attempt
        try:
            return exchange._caller._run(_attempt, (exchange,), {})
        except BaseException as error:
            discard(exchange.last, False)
            own = self._own(error, request)
            if own is None:
                raise
        raise own

    async def run_async(self, exchange: Exchange, attempt: Callable[[Exchange], Any], request: Any = None) -> Any:
        """The same for an asynchronous client."""
        exchange._attempt = attempt
        try:
            operation = Operation(exchange._caller, (_attempt_async, (exchange,), {}))
            return await drive(operation, _attempt_async, (exchange,), {})
        except BaseException as error:
            await exchange._discard(error)
            own = self._own(error, request)
            if own is None:
                raise
        raise own

    def _own(self, error: BaseException, request: Any) -> BaseException | None:
        """The same error of a class that is also the client's; None if it is the client's."""
        kind = type(error)
        name = self.refusal if kind in (Refused, Cancelled) else self.timeout if kind is TimeoutError else ""
        if not name:
            return None
        base = getattr(sys.modules[self.errors] if isinstance(self.errors, str) else self.errors, name)

        def reduced(made: BaseException) -> tuple[Any, ...]:
            return kind, made.args

        fields = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__reduce__": reduced}
        both: Any = type(kind.__name__, (base, kind), fields)
        made: BaseException = both.__new__(both)
        made.args = (str(error),)
        # The attributes that the clients' own initializers set.
        known = {**dict.fromkeys(("response", "body", "type")), "request": request, "_request": request}
        made.__dict__.update({**known, "message": str(error), **error.__dict__})
        made.__cause__, made.__suppress_context__ = error.__cause__, True
        return made.with_traceback(error.__traceback__)

    def reads(self, status: int, headers: Mapping[str, str], streamed: bool | None) -> int | None:
        """How many bytes of the answer's body are read in the attempt; None for no reading.

        `streamed` is True if the caller reads the body itself, False if the client reads it, None if nobody knows.
        """
        if streamed is False:
            return self.body or None
        length = headers.get("content-length")
        if length is None or not length.isdecimal():
            kind = headers.get("content-type", "").partition(";")[0].rstrip().lower()
            return None if streamed or not kind.endswith("json") else self.body or None
        if not streamed and 0 < int(length) <= self.body:
            return self.body
        return _SMALL if int(length) <= _SMALL and self.caller.policy.is_failure(status) else None


def replace(client: Any, **attributes: Any) -> Callable[[Any], None]:
    """Give a client other attributes; the function that is returned gives it its own back."""
    before = {name: client.__dict__[name] for name in attributes if name in client.__dict__}
    client.__dict__.update(attributes)

    def undo(client: Any) -> None:
        for name in attributes:
            client.__dict__.pop(name, None)
        client.__dict__.update(before)

    return undo
