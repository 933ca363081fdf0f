"""SDKs of language models: openai, anthropic, and LangChain's models made of them. Their own retries are turned off."""

from __future__ import annotations

import json
import sys
from collections import OrderedDict
from contextlib import suppress
from typing import Any
from warnings import warn

from .._errors import get
from .._holdoff import Policy, remaining
from .._outcomes import given_up, outcome_of
from ..clock import monotonic_ns
from . import httpx
from .rules import _SMALL, Exchange, replace
from .wrap import unwrap, wrap as wrap_client

_PREFACE = """
    message_start content_block_start ping response.created response.queued response.in_progress
    response.output_item.added response.content_part.added
"""
"""Events of a stream that come before its first content, by their ``type``."""
_AGAIN = 60 * 10**9
"""How long a request that was given up is remembered, in nanoseconds."""
_MOST = 1024
"""The most requests that are remembered."""
_given_up: OrderedDict[int, int] = OrderedDict()
"""When requests were given up. They may come again by another client: a node may make one in each attempt."""
_PARTS = ("root_client", "root_async_client", "_client", "_async_client")
"""The attributes of LangChain's models that hold an SDK."""


class _Answered(Exception):
    """The error in an answer, as the SDKs raise it: with the status, and the code that the body says."""

    def __init__(self, answer: Any, error: dict[str, Any]) -> None:
        super().__init__(error.get("message"))
        self.status_code, self.headers = answer.status_code, answer.headers
        self.code = error.get("code") or error.get("type")


class _Start:
    """The part of an answer that is read in the attempt: a refused one, and the beginning up to the first content."""

    def __init__(self, answer: Any, policy: Policy) -> None:
        self.parts: list[bytes] = []
        self.error: Any = None
        self._line, headers = b"", answer.headers
        is_stream = headers.get("content-type", "")[:17] == "text/event-stream" and "content-encoding" not in headers
        is_refused = policy.is_failure(answer.status_code)
        self._left, self._events = _SMALL if is_refused or is_stream else 0, is_stream and not is_refused

    def add(self, part: bytes) -> bool:
        """Keep the next part; True if it is the last one to be read."""
        remaining()
        self.parts.append(part)
        self._left -= len(part)
        *lines, self._line = (self._line + part).split(b"\n") if self._events else [b""]
        return self._left < 0 or any(self._is_content(line[5:]) for line in lines if line.startswith(b"data:"))

    def _is_content(self, data: bytes) -> bool:
        event: dict[str, Any] = {}
        with suppress(ValueError):
            event = _fields(json.loads(data))
        kind = event.get("type")
        self.error = self.error or event.get("error") or (event if kind == "error" else None)
        if self.error or "choices" not in event:
            return bool(self.error) or kind not in _PREFACE.split()
        choices = [_fields(choice) for choice in event["choices"] or ()]
        parts = choices + [_fields(choice.get("delta")) for choice in choices]
        return any(part[name] for part in parts for name in part if name not in ("role", "index", "delta"))


def _fields(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]


class _Front(httpx._Front):
    """The front of one SDK."""

    refusal, timeout = "APIConnectionError", "APITimeoutError"

    def begins(self, request: Any) -> Exchange:
        told: Any = request.extensions.get("holdoff") or {}
        if request.headers.get("x-stainless-retry-count", "0") != "0":
            warn("the SDK retries by itself, so holdoff sends its retries once: set max_retries=0", RuntimeWarning, 2)
            request.extensions = {**request.extensions, "holdoff": {**told, "attempts": 1}}
        elif _given_up and monotonic_ns() - _given_up.pop(_identity(request), -_AGAIN) < _AGAIN:
            warn("a retry repeats what holdoff gave up: retry only if `not holdoff.given_up(error)`", RuntimeWarning, 2)
        return super().begins(request)

    def judge(self, request: Any, answer: Any, start: _Start, rest: Any) -> Any:
        """Let the error in a body decide like the status of an answer."""
        answer.stream = httpx._package(request)[2](start.parts, rest, answer.stream)
        is_refused, error = answer.status_code >= 400, start.error
        if is_refused:
            # The body may be compressed, or no JSON.
            with suppress(Exception):
                plain = type(answer)(answer.status_code, headers=answer.headers, content=b"".join(start.parts))
                error = _fields(plain.json()).get("error")
        if fields := _fields(error):
            failure = self.caller.failure_of(_Answered(answer, fields))
            is_permanent = failure is None or failure.kind == "permanent"
            if is_refused and is_permanent:
                answer.headers["x-should-retry"] = "false"
            elif not is_refused and not is_permanent:
                # The stream is refused by this status, and comes out with its own.
                answer.extensions["holdoff.status"], answer.status_code = answer.status_code, 503
        return answer

    def ends(self, request: Any, answer: Any) -> Any:
        """Mark the last answer for the layers above."""
        if outcome_of(answer) is not None:
            _remember(request)
            answer.headers["x-should-retry"] = "false"
            answer.status_code = answer.extensions.pop("holdoff.status", answer.status_code)
        return answer

    def run(self, exchange: Exchange, attempt: Any, request: Any = None) -> Any:
        def judged(exchange: Exchange) -> Any:
            answer = attempt(exchange)
            start, rest = _Start(answer, self.caller.policy), iter(answer.stream)
            any(start.add(part) for part in rest)
            return self.judge(request, answer, start, rest)

        return self.ends(request, super().run(exchange, judged, request))

    def _own(self, error: BaseException, request: Any) -> BaseException | None:
        if given_up(error):
            _remember(request)
        return super()._own(error, request)


class _AsyncFront(_Front):
    asynchronous = True

    async def run_async(self, exchange: Exchange, attempt: Any, request: Any = None) -> Any:
        async def judged(exchange: Exchange) -> Any:
            answer = await attempt(exchange)
            start, rest = _Start(answer, self.caller.policy), answer.stream.__aiter__()
            async for part in rest:
                if start.add(part):
                    break
            return self.judge(request, answer, start, rest)

        return self.ends(request, await super().run_async(exchange, judged, request))


def _identity(request: Any) -> int:
    """A number of 64 bits for the content of a request, so that no prompt stays in memory."""
    return hash((request.method, str(request.url), get(request, "content")))


def _remember(request: Any) -> None:
    _given_up[_identity(request)] = monotonic_ns()
    if len(_given_up) > _MOST:
        _given_up.popitem(last=False)


def wrap(client: Any, policy: Any, options: Any) -> Any:
    """Retry the requests of an SDK, or of those in a model; the function that is returned takes it back."""
    parts: list[Any] = [part for name in _PARTS if hasattr(part := get(client, name), "max_retries")]
    if parts:
        for part in parts:
            wrap_client(part, policy, **options)
        return lambda _: list(map(unwrap, parts))  # pyright: ignore
    # A model that is asked twice does no harm.
    options = {"idempotent": True, **({"preset": "llm"} if policy is None else {}), **options}
    front = (_AsyncFront if hasattr(client._client, "aclose") else _Front)(policy, **options)
    packages = [kind.__module__.partition(".")[0] for kind in type(client).__mro__]
    front.errors = sys.modules["openai" if "openai" in packages else "anthropic"]
    return _quiet(client, front)


def _quiet(sdk: Any, front: _Front, attempts: int | None = None) -> Any:
    """Put the front into an SDK, and turn off its own retries and those of its copies. ``max_retries`` of a copy is the
    number of its retries by holdoff."""
    # Several SDKs may share this client, so the front is put into a twin with the same connections. The SDKs' own class
    # closes them when it is collected: the twin has another one, and keeps the client.
    shared: Any = sdk._client
    kind: Any = next(kind for kind in type(shared).__mro__ if not hasattr(kind, "__del__"))
    twin: Any = object.__new__(kind)
    twin.__dict__.update(shared.__dict__, _holdoff_shared=shared)
    if get(twin._transport, "front") is not front:
        unwrap(twin)
        twin._transport = get(twin._transport, "inner") or twin._transport
        httpx.wrap(twin, front, {})
    if attempts is not None:
        send = twin.send

        def limited(request: Any, **rest: Any) -> Any:
            request.extensions.setdefault("holdoff", {"attempts": attempts})
            return send(request, **rest)

        twin.__dict__["send"] = limited
    copy = sdk.copy

    def copied(*, max_retries: Any = None, **rest: Any) -> Any:
        made = copy(**rest)
        _quiet(made, front, max_retries + 1 if isinstance(max_retries, int) else None)
        return made

    return replace(sdk, _client=twin, max_retries=0, copy=copied, with_options=copied)
