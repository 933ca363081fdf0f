"""An audit: the answers, the network, the clock and the requests of a running program."""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager

from ._answers import Answer, Answers, AuditError
from ._clock import Clock, virtual_time
from ._loops import Attempt, Loop, calls
from ._network import Network, answered
from ._stacks import followed, stack_of, tick

MOST_REQUESTS = 2000
"""An audit ends a program that makes more requests: it keeps the stack of each."""


class Stopped(BaseException):
    """Ends a program that makes requests for ever. No exception handler of the program should swallow it."""


class Audit:
    """The requests of a program, and the loops that made them."""

    def __init__(self, fail: str | int, most: int | None, own: bool, allow: Iterable[str]) -> None:
        if most is not None and most < 1:
            raise AuditError(f"--most must be 1 or more, not {most}")
        self.fail = Answers(fail)
        self.most, self.own = most, own
        self.clock = Clock()
        self.attempts: list[Attempt] = []
        self.stopped = False
        self.error: Exception | None = None
        """The error that the program raised after a failed request."""
        self.network = Network(self.fail, self.clock, self._record, {_endpoint(text) for text in allow})
        self._lock = threading.Lock()

    def _record(self, method: str, url: str, digest: bytes, answer: Answer) -> None:
        stack = stack_of(sys._getframe(1))
        with self._lock:
            if len(self.attempts) >= MOST_REQUESTS:
                self.stopped = True
                raise Stopped
            self.attempts.append(Attempt(len(self.attempts), method, url, digest, answer.failed, stack, tick()))

    @contextmanager
    def running(self) -> Generator[None, None, None]:
        """Runs a block under the audit."""
        with ExitStack() as stack:
            stack.enter_context(answered(self.network))
            stack.enter_context(virtual_time(self.clock, self.network))
            stack.enter_context(followed())
            yield

    def calls(self) -> list[Loop]:
        """The calls, those with the most requests first."""
        return sorted(calls(list(self.attempts)), key=lambda call: -call.requests(self.own))

    @property
    def requests(self) -> int:
        """The requests of the largest call."""
        return max((call.requests(self.own) for call in self.calls()), default=0)

    @property
    def exceeds(self) -> bool:
        return self.most is not None and self.requests > self.most


def _endpoint(text: str) -> str:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit():
        raise AuditError(f"--allow: {text!r} is no address; write host:port, such as 127.0.0.1:5432")
    return text
