"""The loop for coroutines. Loaded when the first asynchronous function is decorated or called."""

from __future__ import annotations

from asyncio import FIRST_COMPLETED, current_task, get_running_loop, sleep as asyncio_sleep, wait as asyncio_wait
from functools import wraps
from inspect import isawaitable
from weakref import ref

from . import _events, _limit
from ._guard import Guard, Wait, trio_module
from ._holdoff import Operation, monotonic_ns, overridden_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import Future, Task
    from collections.abc import Awaitable, Callable, Coroutine, Iterable
    from typing import Any, ParamSpec, TypeVar

    from ._holdoff import Notify, Retrying

    Told = list[tuple[str, Awaitable[object]]]
    """The answers of asynchronous hooks, by the names of their events."""
    _P = ParamSpec("_P")
    _R = TypeVar("_R")


def wrap(retrying: Retrying, function: Callable[_P, Awaitable[_R]]) -> Callable[_P, Coroutine[Any, Any, _R]]:
    """The function, retried."""
    direct = not retrying._guarded

    @wraps(function)
    async def retried(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        failed: Exception | None = None
        noted = retrying._refusals
        if direct and not _events.LISTENERS and _limit.SCOPE.get() is None:
            try:
                value = await function(*args, **kwargs)
            except Exception as error:
                failed = error
            else:
                retrying._succeeded()
                return value
        try:
            operation = Operation(retrying, (function, args, kwargs), noted)
            value = await drive(operation, function, args, kwargs, failed=failed)
        finally:
            del failed
        return value

    return retried


async def drive(
    operation: Operation,
    function: Callable[..., Awaitable[Any]],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    first: Coroutine[Any, Any, Any] | None = None,
    failed: Exception | None = None,
) -> Any:
    """The loop of an operation. Its first attempt may be a coroutine already, or may have failed."""
    attempts = _Concurrent(operation, function, args, kwargs) if operation.hedges else None
    value, error = None, failed
    try:
        operation.begin(asynchronous=True)
        await sleep_until_due(operation)
        if (told := operation.hook_answers()) is not None:
            await await_hooks(operation, told)
        if attempts is not None:
            attempts.start(first)
        while True:
            if attempts is not None:
                guard, value, error = await attempts.end()
            else:
                guard = Guard(operation, number=operation.attempt)
                if error is None:
                    try:
                        with guard:
                            value = await (function(*args, **kwargs) if first is None else first)
                    except Exception as raised:
                        if guard.cancelled:
                            raise
                        error = raised
                    first = None
            if error is None:
                follows = operation.reject(guard.number, value, gave_up=guard.gave_up)
            else:
                follows = operation.fail(guard.number, error, timed_out=guard.timed_out, gave_up=guard.gave_up)
            if follows == "stop" and error is not None and not operation.over:
                raise error
            if (told := operation.hook_answers()) is not None:
                await await_hooks(operation, told, is_last=follows == "stop")
            if follows == "stop":
                return value if error is None else operation.result
            value = error = None
            if follows == "sleep":
                await sleep_until_due(operation)
                if (told := operation.hook_answers()) is not None:
                    await await_hooks(operation, told, is_last=operation.over)
                if operation.over:
                    return operation.result
            if attempts is not None and follows != "wait":
                attempts.start()
    except Exception as last:
        # Attempts that still run end now, and not when the fallback has answered.
        operation.cancel()
        if attempts is not None:
            attempts.abandon()
        if (told := operation.hook_answers()) is not None:
            await await_hooks(operation, told, is_last=True)
        fallback = operation.fallback
        if fallback is None:
            raise
        return await _fallback_value(operation, fallback, last)
    finally:
        error = failed = None
        operation.cancel()
        if attempts is not None:
            attempts.abandon()
        if first is not None:
            first.close()
        if (told := operation.hook_answers()) is not None:
            from .telemetry import close

            close(told)


_GRACE = 500_000_000
"""The nanoseconds that the hooks of the last event may take after the end of the operation."""


async def await_hooks(operation: Operation, told: Told, *, is_last: bool = False) -> None:
    """Await the asynchronous hooks that were told, but not after the operation's deadline."""
    from .telemetry import wait_for

    limit = operation.deadline_ns
    if is_last:
        now = monotonic_ns()
        token = operation.token
        if token is not None and token.cancelled:
            # The token has ended the operation. Its last event still reaches the hooks.
            await wait_for(told, Wait(operation, now + _GRACE, tokened=False))
            return
        limit = None if limit is None else max(limit, now + _GRACE)
    await wait_for(told, Wait(operation, limit))


async def _fallback_value(operation: Operation, fallback: Callable[[Exception], Any], error: Exception) -> Any:
    """The value that replaces the last error, which comes out if the token ends the wait for it."""
    value = fallback(error)
    if not isawaitable(value):
        return value
    with Wait(operation):
        return await value
    raise error


class _Concurrent:
    """Attempts that may run beside each other, each in a task of its own; the first success ends the others."""

    def __init__(
        self,
        operation: Operation,
        function: Callable[..., Awaitable[Any]],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        if trio_module() is not None:
            raise TypeError("hedge runs attempts as tasks of asyncio: under trio, use a policy without hedge")
        self._operation = operation
        self._call = (function, args, kwargs)
        self._running: dict[Task[Any], Guard] = {}

    def start(self, first: Awaitable[Any] | None = None) -> None:
        """Start an attempt: call the function, or await what it has returned."""
        guard = Guard(self._operation, tokened=False, number=self._operation.attempt)
        self._running[get_running_loop().create_task(self._run(guard, first))] = guard

    async def end(self) -> tuple[Guard, Any, Exception | None]:
        """The next attempt that ends: its guard, and its value or its error."""
        while (task := await self._ended()) is None:
            if self._operation.beside():
                if (told := self._operation.hook_answers()) is not None:
                    await await_hooks(self._operation, told)
                self.start()
        guard = self._running.pop(task)
        try:
            return guard, task.result(), None
        except Exception as error:
            return guard, None, error

    async def _ended(self) -> Task[Any] | None:
        """The first task to end; None when it is time to ask for another attempt beside it."""
        wake_at = self._operation.wake_at
        seconds = None if wake_at is None else max(wake_at - monotonic_ns(), 0) / 1e9
        time = None if seconds is None else overridden_time()
        done: set[Any] = set()
        with Wait(self._operation):
            if time is None:
                done = (await asyncio_wait(self._running, timeout=seconds, return_when=FIRST_COMPLETED))[0]
            else:
                done = await _before(time, seconds, self._running)
        # In the order of the attempts, so that the same run ends the same way.
        return next((task for task in self._running if task in done), None)

    async def _run(self, guard: Guard, first: Awaitable[Any] | None) -> Any:
        function, args, kwargs = self._call
        try:
            with guard:
                return await (function(*args, **kwargs) if first is None else first)
        except BaseException as error:
            task = current_task()
            if task in _abandoned:
                # The attempt is abandoned, and its event loop may be closed before `_look` runs.
                _abandoned.discard(task)
                if isinstance(error, Exception):
                    return None
            raise

    def abandon(self) -> None:
        """End all attempts that still run."""
        for task in self._running:
            if task.done():
                _look(task)
                continue
            _abandoned.add(task)
            task.add_done_callback(_forget)
            task.cancel()
        self._running.clear()


_abandoned: set[Task[Any]] = set()
"""Attempts that are being cancelled: the event loop holds only weak references to its tasks."""


def _forget(task: Task[Any]) -> None:
    _abandoned.discard(task)
    _look(task)


def _look(task: Task[Any]) -> None:
    """Retrieve the error of the task, so that asyncio does not log it as never retrieved."""
    if not task.cancelled():
        task.exception()


async def _before(time: Any, seconds: float | None, awaited: Iterable[Future[Any]]) -> set[Future[Any]]:
    """The futures that are done before that virtual time has passed."""
    over = time.after(seconds)
    try:
        done, _ = await asyncio_wait([*awaited, over], return_when=FIRST_COMPLETED)
    finally:
        over.cancel()
    return done


async def sleep_until_due(operation: Operation) -> None:
    """Sleep until the next attempt is to run."""
    try:
        while (seconds := operation.resume()) is not None:
            trio = trio_module()
            sleep: Callable[[float], Any] = asyncio_sleep if trio is None else trio.sleep
            own = operation.sleep
            listen = _listen if trio is None else trio.listen
            if (notify := operation.notify) is not None:
                await listen(Wait(operation), *notify, seconds)
                continue
            time = overridden_time()
            with Wait(operation, None if own is None else operation.deadline_ns):
                if time is not None:
                    await time.pause(seconds)
                elif own is None:
                    await sleep(seconds)
                elif isawaitable(slept := own(seconds)):
                    await slept
    except BaseException as error:
        operation.interrupt(error)
        raise


async def _listen(guard: Wait, notify: Notify, place: int, seen: int, seconds: float) -> None:
    """Wait that long under the guard, or until the call at that place of the line can go on."""
    loop = get_running_loop()
    notified: Future[None] = loop.create_future()
    operation = guard._operation
    # The line must not keep the tasks of a closed loop alive, nor the places that they hold.
    weak_loop, weakly_notified = ref(loop), ref(notified)

    def notice() -> None:
        future = weakly_notified()
        if future is not None and not future.done():
            future.set_result(None)

    def wake() -> None:
        """Called in any thread."""
        try:
            loop = weak_loop()
            if loop is not None:
                loop.call_soon_threadsafe(notice)
                return
        except RuntimeError:
            # The loop is closed.
            pass
        # The call never runs again, so its turn is the next one's.
        operation.cancel()

    waiter = notify.add_waiter(place, seen, wake)
    if waiter is None:
        return
    try:
        with guard:
            time = overridden_time()
            if time is None:
                await asyncio_wait([notified], timeout=seconds)
            else:
                await _before(time, seconds, [notified])
    finally:
        notify.remove_waiter(place, waiter)
