"""The limit and the token of an attempt that is awaited. Loaded with the loop for coroutines."""

from __future__ import annotations

from asyncio import CancelledError, Task, current_task, get_running_loop
from sys import modules
from types import CoroutineType, coroutine

from ._holdoff import leave_context, monotonic_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, TimerHandle
    from collections.abc import Awaitable, Callable, Generator
    from types import ModuleType
    from typing import Any, TypeVar

    from ._cancel import Cancel
    from ._limit import Entered

    _R = TypeVar("_R")


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


class Guard:
    """Cancels the current task at the attempt's limit or when the token is cancelled, and tells both from a
    cancellation from elsewhere."""

    _entered: Entered = (None, None)
    _scope: Any = None
    _token: Cancel | None = None
    _why = ""

    def __init__(self, operation: Any, limited: bool = True, tokened: bool = True) -> None:
        self._operation = operation
        self._limited = limited
        self._tokened = tokened

    @property
    def timed_out(self) -> bool:
        """True if the limit ended the attempt."""
        return self._why == "limit"

    @property
    def cancelled(self) -> bool:
        """True if the cancel token ended the attempt."""
        return self._why == "token"

    @coroutine
    def run(
        self,
        function: Callable[..., Awaitable[Any]],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        attempt: Awaitable[Any] | None = None,
    ) -> Generator[Any, Any, Any]:
        """The result of an attempt. Under asyncio nothing is armed before the attempt waits: nothing could end it."""
        if "trio" in modules and trio_module() is not None:
            with self:
                return (yield from _steps(function(*args, **kwargs) if attempt is None else attempt))
        entered = self._operation.enter()
        try:
            steps = _steps(function(*args, **kwargs) if attempt is None else attempt)
            try:
                future = steps.send(None)
            except StopIteration as end:
                return end.value
            return (yield from self._wait(steps, future))
        finally:
            leave_context(entered)

    def _wait(self, steps: Any, future: object) -> Generator[Any, Any, Any]:
        """The rest of an attempt that waits for a future."""
        self._arm(_TaskScope())
        cause: BaseException | None = None
        try:
            while True:
                try:
                    yield future
                except GeneratorExit:
                    steps.close()
                    raise
                except BaseException as error:
                    future = steps.throw(error)
                else:
                    rest: Generator[Any, Any, Any] = steps.__await__()
                    return (yield from rest)
        except StopIteration as end:
            return end.value
        except BaseException as error:
            cause = error
            raise
        finally:
            self._disarm(cause)
            del cause

    def __enter__(self) -> Guard:
        trio = trio_module()
        if self._limited:
            self._entered = self._operation.enter()
        if trio is None:
            self._arm(_TaskScope())
        elif self._operation.abort_at is not None or self._operation.token is not None:
            self._arm(trio.TaskScope())
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        leave_context(self._entered)
        self._disarm(error)

    def _arm(self, scope: Any) -> None:
        """The limit or the token may end the task from now on."""
        self._scope = scope
        if self._limited and (limit := self._operation.abort_at) is not None:
            scope.limit(max(limit - monotonic_ns(), 0) / 1e9)
        if self._tokened and (token := self._operation.token) is not None:
            self._token = token
            token.subscribe(self, scope.wake)

    def _disarm(self, error: BaseException | None) -> None:
        if self._token is not None:
            self._token.unsubscribe(self)
        scope, self._scope = self._scope, None
        self._why = "" if scope is None else scope.end(error)
        if self._why == "limit":
            raise TimeoutError("the attempt took too long") from error
        if self._why == "token":
            raise self._operation.cancelled()


def _steps(awaited: Any) -> Generator[Any, Any, Any]:
    """The coroutine of an awaitable."""
    steps: Any = awaited
    if type(awaited) is not CoroutineType:
        steps = _result(awaited)
    generator: Generator[Any, Any, Any] = steps
    return generator


async def _result(awaited: Awaitable[_R]) -> _R:
    return await awaited


class _TaskScope:
    """Cancels the current task of asyncio, and takes the cancellation back."""

    __slots__ = ("_loop", "_requests", "_task", "_timer", "_why")

    def __init__(self) -> None:
        self._loop: AbstractEventLoop = get_running_loop()
        self._task: Any = current_task(self._loop)
        self._requests: int = self._task.cancelling() if _COUNTS and self._task is not None else 0
        self._why = ""
        self._timer: TimerHandle | None = None

    def limit(self, seconds: float) -> None:
        """Cancel the task after so many seconds."""
        self._timer = self._loop.call_at(self._loop.time() + seconds, self._end, "limit")

    def wake(self) -> None:
        """The token is cancelled. Called in any thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._end, "token")

    def _end(self, why: str) -> None:
        # A cancellation from elsewhere comes first, even if the task has yet to hear of it.
        waits_for = getattr(self._task, "_fut_waiter", None)
        if self._task is not None and not self._why and not (waits_for is not None and waits_for.cancelled()):
            self._why = why
            self._task.cancel()

    def end(self, error: BaseException | None) -> str:
        """The reason that ended the task: "limit", "token", or "" for something else."""
        if self._timer is not None:
            self._timer.cancel()
        task, self._task = self._task, None
        if not self._why or task is None:
            return ""
        # A later one counts, as in asyncio.timeout; Python 3.10 does not count.
        others = _COUNTS and task.uncancel() > self._requests
        return "" if others or not isinstance(error, CancelledError) else self._why


_COUNTS = hasattr(Task, "cancelling")
"""True if tasks count the requests to cancel them: from Python 3.11 on."""
