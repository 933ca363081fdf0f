"""requests: the adapters of a session are put into adapters that retry."""

from __future__ import annotations

import sys
from typing import Any

from .rules import Exchange, Front, body_of, origin_of_url, read_parts, replace
from .urllib3 import limited, reread


class _Front(Front):
    errors, refusal, timeout = "requests.exceptions", "RequestException", "ReadTimeout"


class _Adapter:
    """An adapter that retries the requests of another one."""

    def __init__(self, inner: Any, front: _Front) -> None:
        self.inner, self.front = inner, front

    def send(self, request: Any, stream: bool = False, timeout: Any = None, **rest: Any) -> Any:
        request.body, body = body_of(request.body, self.front.body)

        def attempt(exchange: Exchange) -> Any:
            answer = self.inner.send(request, stream=stream, timeout=limited(timeout), **rest)
            exchange.last = answer
            size = self.front.reads(answer.status_code, answer.headers, stream)
            if size is not None and stream:
                answer.raw = reread(answer.raw)
            elif size is not None and int(answer.headers.get("content-length") or 0) <= size:
                answer._content = b"".join(read_parts(answer.iter_content(1 << 16), sys.maxsize)[0])
            return answer

        exchange = self.front.exchange(request.method, origin_of_url(request.url), request.headers, body)
        return self.front.run(exchange, attempt, request)

    def close(self) -> None:
        self.front.close()
        self.inner.close()


def wrap(session: Any, policy: Any, options: Any) -> Any:
    """Retry the requests of a session; the function that is returned takes it back."""
    front = _Front(policy, **options)
    own: list[tuple[Any, Any]] = []
    for prefix, adapter in session.adapters.items():
        # The adapters of a session that was pickled retry already.
        inner = adapter.inner if isinstance(adapter, _Adapter) else adapter
        session.adapters[prefix] = _Adapter(inner, front)
        retries = getattr(inner, "max_retries", None)
        if retries is not None:
            own.append((inner, retries))
            inner.max_retries = type(retries)(0, read=False)
    undo = replace(session, send=front.covers(session.send))

    def undo_all(session: Any) -> None:
        undo(session)
        for prefix, adapter in session.adapters.items():
            if isinstance(adapter, _Adapter):
                session.adapters[prefix] = adapter.inner
        for inner, retries in reversed(own):
            inner.max_retries = retries

    return undo_all
