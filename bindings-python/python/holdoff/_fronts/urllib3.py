"""urllib3: the pools that a manager hands out retry."""

from __future__ import annotations

import sys
from functools import lru_cache
from io import BytesIO
from typing import Any

from .._holdoff import remaining
from .rules import Exchange, Front, body_of, origin_of, replace


def limited(timeout: Any) -> Any:
    """A timeout of urllib3 or requests that ends with the attempt."""
    left = remaining()
    if left is None:
        return timeout
    made: Any = sys.modules["urllib3"].Timeout
    if isinstance(timeout, made):
        timeout = timeout.clone()
    else:
        connect, read = timeout if isinstance(timeout, tuple) else (timeout, timeout)  # pyright: ignore[reportUnknownVariableType]
        timeout = made(connect=connect, read=read)
    timeout.total = left if timeout.total is None else min(left, timeout.total)
    return timeout


def reread(answer: Any) -> Any:
    """The answer of urllib3 with its body read, for others to read again: its connection is free."""
    body = BytesIO(answer.read(decode_content=False))
    same = {name: getattr(answer, name) for name in _KEPT}
    return type(answer)(body, preload_content=False, request_url=answer.geturl(), **same)


_KEPT = ("headers", "status", "version", "reason", "decode_content", "retries")
"""Attributes of an answer that another one is made of."""


@lru_cache(64, typed=True)
def _redirects(retries: Any, redirect: bool) -> Any:
    """The retries of urllib3 without its own attempts; its redirects stay."""
    kind = sys.modules["urllib3"].Retry
    given = retries if isinstance(retries, kind) else kind.from_int(retries, redirect=redirect)
    return given.new(
        total=False if given.total is False else None,
        **dict.fromkeys(("connect", "read", "status", "other"), 0),
        redirect=given.total if given.redirect is None else given.redirect,
        status_forcelist=(),
        respect_retry_after_header=False,
    )


class _Front(Front):
    errors, refusal, timeout = "urllib3.exceptions", "HTTPError", "TimeoutError"


class _Pool:
    """A pool that retries the requests of another one."""

    def __init__(self, inner: Any, front: _Front) -> None:
        self._inner, self._front = inner, front

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def urlopen(self, method: str, url: str, body: Any = None, headers: Any = None, **rest: Any) -> Any:
        pool, front = self._inner, self._front
        body, kept = body_of(body, front.body)
        rest["retries"] = _redirects(rest.get("retries"), rest.get("redirect", True))
        timeout = rest.pop("timeout", pool.timeout)
        streams = not rest.get("preload_content", True)

        def attempt(exchange: Exchange) -> Any:
            exchange.last = answer = pool.urlopen(method, url, body, headers, timeout=limited(timeout), **rest)
            if streams and front.reads(answer.status, answer.headers, streams) is not None:
                exchange.last = answer = reread(answer)
            return answer

        exchange = front.exchange(method, origin_of(pool.scheme, pool.host, pool.port), headers or (), kept)
        return front.run(exchange, attempt)


def wrap(manager: Any, policy: Any, options: Any) -> Any:
    """Retry the requests of a manager; the function that is returned takes it back."""
    front = _Front(policy, **options)
    connect, urlopen, clear = manager.connection_from_host, front.covers(manager.urlopen), manager.clear

    def connection_from_host(*args: Any, **rest: Any) -> Any:
        return _Pool(connect(*args, **rest), front)

    def opened(method: str, url: str, redirect: bool = True, **rest: Any) -> Any:
        if rest.get("body") is not None:
            rest["body"], kept = body_of(rest["body"], front.body)
            if kept is not None and rest["body"] is not kept:
                # A redirect of urllib3 sends the file from its end.
                rest.setdefault("body_pos", rest["body"].tell())
        return urlopen(method, url, redirect, **rest)

    def cleared() -> None:
        front.close()
        clear()

    return replace(manager, connection_from_host=connection_from_host, urlopen=opened, clear=cleared)
