"""The loop for coroutines. Loaded when the first asynchronous function is decorated or called."""

from __future__ import annotations

from asyncio import CancelledError, current_task, get_running_loop
from asyncio import sleep as asyncio_sleep
from functools import wraps

from ._holdoff import Operation, Retrying, monotonic_ns, overridden_time
from ._limit import enter, leave

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Task, TimerHandle
    from collections.abc import Awaitable, Callable, Coroutine
    from contextvars import Token
    from types import TracebackType
    from typing import Any, ParamSpec, TypeVar

    from ._cancel import Cancel

    _P = ParamSpec("_P")
    _R = TypeVar("_R")


def wrap(retrying: Retrying, function: Callable[_P, Awaitable[_R]]) -> Callable[_P, Coroutine[Any, Any, _R]]:
    """The function, retried."""
    if retrying.guarded:
        judges = retrying.judges

        @wraps(function)
        async def guarded(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            return await drive(Operation(retrying), function, args, kwargs, None, judges)

        return guarded

    @wraps(function)
    async def retried(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        operation: Operation | None = None
        while True:
            try:
                return await function(*args, **kwargs)
            except Exception as error:
                if operation is None:
                    operation = Operation(retrying)
                if not operation.fail(error):
                    raise
            if (seconds := operation.resume()) is not None:
                await rest(operation, seconds)

    return retried


async def adopt(
    retrying: Retrying,
    attempt: Coroutine[Any, Any, _R],
    function: Callable[..., Awaitable[_R]],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> _R:
    """Go on with a first attempt that somebody else has called and nobody has awaited."""
    try:
        return await drive(Operation(retrying), function, args, kwargs, attempt, retrying.judges)
    finally:
        attempt.close()


async def drive(
    operation: Operation,
    function: Callable[..., Awaitable[_R]],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    attempt: Awaitable[_R] | None,
    judges: bool,
) -> _R:
    """The loop where there may be a limit, a token or the value to look at."""
    try:
        operation.begin()
        while True:
            guard = Guard(operation)
            try:
                with guard:
                    value = await (function(*args, **kwargs) if attempt is None else attempt)
            except Exception as error:
                if guard.cancelled or not operation.fail(error, guard.timed_out):
                    raise
            else:
                if not judges or not operation.reject(value):
                    return value
                del value
            attempt = None
            if (seconds := operation.resume()) is not None:
                await rest(operation, seconds)
            if operation.over:
                last: _R = operation.result
                return last
    finally:
        operation.cancel()


async def rest(operation: Operation, seconds: float | None) -> None:
    """Sleep that long, and on until the next attempt is to run."""
    try:
        while seconds is not None:
            time = overridden_time()
            if time is not None:
                time.sleep(seconds)
                await asyncio_sleep(0)
            else:
                with Guard(operation, limited=False):
                    await asyncio_sleep(seconds)
            seconds = operation.resume()
    except BaseException:
        operation.cancel()
        raise


class Guard:
    """Ends what the current task awaits at the attempt's limit or when the token is cancelled, and tells both from a
    cancellation that comes from anybody else."""

    __slots__ = ("_limit", "_loop", "_operation", "_requests", "_scope", "_task", "_timer", "_token", "_why")

    def __init__(self, operation: Operation, limited: bool = True) -> None:
        self._operation = operation
        self._limit = operation.abort_at if limited else None
        self._token: Cancel | None = operation.token
        self._scope: Token[int | None] | None = None
        self._timer: TimerHandle | None = None
        self._loop: AbstractEventLoop | None = None
        self._task: Task[Any] | None = None
        self._requests = 0
        self._why = ""

    @property
    def timed_out(self) -> bool:
        """Whether it was the limit that ended it."""
        return self._why == "limit"

    @property
    def cancelled(self) -> bool:
        """Whether it was the token that ended it."""
        return self._why == "token"

    def __enter__(self) -> Guard:
        if self._limit is None and self._token is None:
            return self
        self._loop = get_running_loop()
        self._task = current_task()
        self._requests = _requests(self._task)
        if self._limit is not None:
            self._scope = enter(self._limit)
            seconds = max(self._limit - monotonic_ns(), 0) / 1e9
            self._timer = self._loop.call_later(seconds, self._end, "limit")
        if self._token is not None:
            self._token._subscribe(self, self._wake)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._token is not None:
            self._token._unsubscribe(self)
        if self._scope is not None:
            leave(self._scope)
        why, self._why = self._why, ""
        task, self._task = self._task, None
        if not why or task is None:
            return
        # Whoever else wants the task cancelled goes first, as in asyncio.timeout.
        others = _withdraw(task) > self._requests
        if others or not isinstance(error, CancelledError):
            return
        self._why = why
        if why == "limit":
            raise TimeoutError("the attempt took too long") from error
        raise self._operation.cancelled()

    def _wake(self) -> None:
        """Called in any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._end, "token")

    def _end(self, why: str) -> None:
        if self._task is not None and not self._why:
            self._why = why
            self._task.cancel()


def _requests(task: Task[Any] | None) -> int:
    """How often a task is asked to cancel; unknown before Python 3.11."""
    cancelling = getattr(task, "cancelling", None)
    return 0 if cancelling is None else int(cancelling())


def _withdraw(task: Task[Any]) -> int:
    uncancel = getattr(task, "uncancel", None)
    return 0 if uncancel is None else int(uncancel())
