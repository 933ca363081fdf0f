"""The limit and the token of an attempt that is awaited. Loaded with the loop for coroutines."""

from __future__ import annotations

from asyncio import CancelledError, Task, current_task, get_running_loop
from sys import modules

from ._holdoff import leave_scope, monotonic_ns, overridden_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from types import ModuleType
    from typing import Any, Literal

    from ._cancel import Cancel
    from ._holdoff import Operation
    from ._limit import Entered


def trio_module() -> ModuleType | None:
    """The part of holdoff for trio, if a task of trio runs; None under asyncio."""
    trio = modules.get("trio")
    if trio is None:
        return None
    try:
        trio.lowlevel.current_task()
    except RuntimeError:
        return None
    from . import _trio

    return _trio


class Wait:
    """Cancels the current task at a time, or when the operation's token is cancelled. The code after the block goes on
    then: ask the operation what follows."""

    _scope: Any = None
    _token: Cancel | None = None
    _why = ""

    def __init__(self, operation: Operation, limit: int | None = None, *, tokened: bool = True) -> None:
        self._operation = operation
        self._limit = limit
        self._tokened = tokened

    def __enter__(self) -> Wait:
        self._begin()
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> bool:
        self._end(error)
        return self._why != ""

    def _begin(self) -> None:
        limit, token = self._limit, self._operation.token if self._tokened else None
        if limit is None and token is None:
            return
        trio = trio_module()
        self._scope = TaskScope() if trio is None else trio.TaskScope()
        if limit is not None:
            self._scope.limit(max(limit - monotonic_ns(), 0) / 1e9)
        if token is not None:
            self._token = token
            token.subscribe(self, self._scope.wake)

    def _end(self, error: BaseException | None) -> None:
        scope, self._scope = self._scope, None
        if scope is None:
            return
        if self._token is not None:
            self._token.unsubscribe(self)
        self._why = scope.end(error)


class Guard(Wait):
    """Cancels an attempt at its limit or when the token is cancelled, and tells both from a cancellation from
    elsewhere."""

    gave_up = False
    """True if the latest retry in the attempt ended without a success."""
    _entered: Entered = None

    @property
    def timed_out(self) -> bool:
        """True if the limit ended the attempt."""
        return self._why == "limit"

    @property
    def cancelled(self) -> bool:
        """True if the cancel token ended the attempt."""
        return self._why == "token"

    def __init__(self, operation: Operation, *, tokened: bool = True, number: int = 0) -> None:
        self._operation = operation
        self._tokened = tokened
        self.number = number
        """The number of the attempt."""

    def __enter__(self) -> Guard:
        operation = self._operation
        self._limit = operation.cancel_at()
        token = operation.token
        self._tokened = self._tokened and token is not None and token.ends_attempts
        if self._tokened or self._limit is not None:
            self._begin()
        self._entered = operation.enter(watched=True)
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> Literal[False]:
        entered, self._entered = self._entered, None
        if entered is not None:
            self.gave_up = leave_scope(entered)
        if self._scope is not None:
            self._end(error)
            if self.timed_out:
                raise TimeoutError("the attempt took too long") from error
            if self.cancelled:
                raise self._operation.cancelled()
        return False


class TaskScope:
    """Cancels the current task of asyncio, and takes the cancellation back.

    It is `asyncio.timeout`, which Python 3.10 does not have, for a `with` statement, and for a token beside the limit.
    """

    __slots__ = ("_loop", "_requests", "_task", "_timer", "_why")

    def __init__(self) -> None:
        self._loop: AbstractEventLoop = get_running_loop()
        self._task: Any = current_task(self._loop)
        self._requests: int = self._task.cancelling() if _COUNTS and self._task is not None else 0
        self._why = ""
        self._timer: Any = None

    def limit(self, seconds: float) -> None:
        """Cancel the task after so many seconds."""
        time = overridden_time()
        if time is None:
            self._timer = self._loop.call_at(self._loop.time() + seconds, self._end, "limit")
        else:
            self._timer = time.limit(seconds, lambda: self._end("limit"))

    def wake(self) -> None:
        """The token is cancelled. Called in any thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._end, "token")

    def _end(self, why: str) -> None:
        if self._task is None or self._why:
            return
        self._why = why
        if _COUNTS:
            self._task.cancel()
        else:
            self._task.cancel(self)

    def end(self, error: BaseException | None) -> str:
        """The reason that ended the task: "limit", "token", or "" for something else."""
        if self._timer is not None:
            self._timer.cancel()
        task, self._task = self._task, None
        if not self._why or task is None:
            return ""
        # A cancellation from elsewhere comes first. Python 3.10 does not count requests, but the first one's message
        # comes out.
        others = task.uncancel() > self._requests if _COUNTS else getattr(error, "args", ()) != (self,)
        return "" if others or not isinstance(error, CancelledError) else self._why


_COUNTS = hasattr(Task, "cancelling")
"""True if tasks count the requests to cancel them: from Python 3.11 on."""
