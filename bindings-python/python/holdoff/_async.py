"""The loop for coroutines. Loaded when the first asynchronous function is decorated or called."""

from __future__ import annotations

from asyncio import FIRST_COMPLETED, CancelledError, current_task, get_running_loop
from asyncio import sleep as asyncio_sleep
from asyncio import wait as asyncio_wait
from functools import wraps
from inspect import isawaitable
from weakref import ref

from . import _events, _limit
from ._guard import Guard, Wait, trio_module
from ._holdoff import Operation, Retrying, monotonic_ns, overridden_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import Future, Task
    from collections.abc import Awaitable, Callable, Coroutine, Iterable
    from typing import Any, ParamSpec, TypeVar

    from ._holdoff import Attempt, AttemptIterator, Notify

    _P = ParamSpec("_P")
    _R = TypeVar("_R")


def wrap(retrying: Retrying, function: Callable[_P, Awaitable[_R]]) -> Callable[_P, Coroutine[Any, Any, _R]]:
    """The function, retried."""
    driver = _driver(retrying)
    direct = not (retrying.guarded or retrying.falls_back)
    call: Callable[..., Awaitable[_R]] = function

    @wraps(function)
    async def retried(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        failed: Exception | None = None
        noted = retrying.refusals
        if direct and not _events.LISTENERS and _limit.SCOPE.get() is None:
            try:
                # A call with `**` makes a dict, even of nothing.
                value = await (call(*args, **kwargs) if kwargs else call(*args))
            except Exception as error:
                failed = error
            else:
                retrying.succeeded()
                return value
        try:
            operation = Operation(retrying, (function, args, kwargs), noted)
            if failed is None:
                value = await driver(operation, function, args, kwargs)
            else:
                value = await drive(operation, function, args, kwargs, failed=failed)
            return value
        finally:
            del failed

    return retried


async def adopt(
    retrying: Retrying,
    attempt: Coroutine[Any, Any, _R],
    function: Callable[..., Awaitable[_R]],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    begun: Operation | None,
) -> _R:
    """Continue with the coroutine of a first attempt that the blocking loop has called."""
    try:
        if begun is None:
            begun = Operation(retrying, (function, args, kwargs))
        value: _R = await _driver(retrying)(begun, function, args, kwargs, attempt)
        return value
    finally:
        attempt.close()


def _driver(retrying: Retrying) -> Callable[..., Coroutine[Any, Any, Any]]:
    """The loop of one attempt after the other, or of attempts beside each other."""
    return race if retrying.hedges else drive


async def drive(
    operation: Operation,
    function: Callable[..., Awaitable[_R]],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    first: Awaitable[_R] | None = None,
    *,
    failed: Exception | None = None,
) -> _R:
    """The loop of one attempt after the other. The first attempt may be there to be awaited, or may have failed."""
    try:
        operation.begin(True)
        if (seconds := operation.resume()) is not None:
            await rest(operation, seconds)
        while True:
            await hear(operation)
            guard = Guard(operation)
            try:
                if failed is not None:
                    raise failed
                with guard:
                    value = await (function(*args, **kwargs) if first is None else first)
            except Exception as error:
                if guard.cancelled:
                    raise
                follows = operation.fail(error, timed_out=guard.timed_out, gave_up=guard.gave_up)
                if not follows and not operation.over:
                    raise
                await hear(operation, is_last=not follows)
            else:
                follows = operation.reject(value, gave_up=guard.gave_up)
                await hear(operation, is_last=not follows)
                if not follows:
                    return value
                del value
            first = failed = None
            if (seconds := operation.resume()) is not None:
                await rest(operation, seconds)
            if operation.over:
                last: _R = operation.result
                return last
    except Exception as error:
        operation.cancel()
        await hear(operation, is_last=True)
        fallback = operation.fallback
        if fallback is None:
            raise
        instead: _R = await _instead(operation, fallback, error)
        return instead
    except BaseException:
        operation.cancel()
        raise
    finally:
        failed = None
        _close_hooks(operation)


_GRACE = 500_000_000
"""The nanoseconds that the hooks of the last event may take after the end of the operation."""


async def hear(operation: Operation, *, is_last: bool = False) -> None:
    """Await the asynchronous hooks that were told since the last time, but not after the operation's deadline."""
    told = operation.hook_answers()
    if told is None:
        return
    from .telemetry import wait_for

    limit = operation.deadline_ns
    if is_last:
        now = monotonic_ns()
        token = operation.token
        if token is not None and token.cancelled:
            # The token has ended the operation, and its last event is told nevertheless.
            await wait_for(told, Wait(operation, now + _GRACE, tokened=False))
            return
        limit = None if limit is None else max(limit, now + _GRACE)
    await wait_for(told, Wait(operation, limit))


def _close_hooks(operation: Operation) -> None:
    """Close the asynchronous hooks that nobody awaits."""
    told = operation.hook_answers()
    if told is not None:
        from .telemetry import close

        close(told)


async def _instead(operation: Operation, fallback: Callable[[Exception], Any], error: Exception) -> Any:
    """The value that replaces the last error, which comes out if the token ends the wait for it."""
    value = fallback(error)
    if not isawaitable(value):
        return value
    with Wait(operation):
        return await value
    raise error


async def race(
    operation: Operation,
    function: Callable[..., Awaitable[Any]],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    attempt: Awaitable[Any] | None = None,
) -> Any:
    """The loop of a call that may have several attempts in flight, each a task; the first success ends them all."""
    if trio_module() is not None:
        raise TypeError("hedge runs attempts as tasks of asyncio: under trio, use a policy without hedge")
    running: dict[Task[Any], tuple[int, Guard]] = {}

    def start(attempt: Awaitable[Any] | None = None) -> None:
        guard = Guard(operation, tokened=False)
        awaited = _attempt(guard, function, args, kwargs, attempt)
        task = get_running_loop().create_task(awaited)
        running[task] = (operation.attempt, guard)

    try:
        operation.begin(True)
        if (seconds := operation.resume()) is not None:
            await rest(operation, seconds)
        await hear(operation)
        start(attempt)
        while True:
            ended = await _first(operation, running)
            if ended is None:
                if operation.beside():
                    await hear(operation)
                    start()
                continue
            number, guard = running.pop(ended)
            if ended.cancelled():
                raise CancelledError
            error = ended.exception()
            if error is None:
                value = ended.result()
                following = operation.reject_one(number, value, gave_up=guard.gave_up)
                await hear(operation, is_last=following == "stop")
                if following == "stop":
                    return value
            elif isinstance(error, Exception):
                following = operation.fail_one(number, error, timed_out=guard.timed_out, gave_up=guard.gave_up)
                if following == "stop" and not operation.over:
                    raise error
                await hear(operation, is_last=following == "stop")
                if following == "stop":
                    return operation.result
            else:
                raise error
            if following == "sleep":
                if (seconds := operation.resume()) is not None:
                    await rest(operation, seconds)
                await hear(operation)
                if operation.over:
                    return operation.result
                start()
            elif following == "attempt":
                start()
    except Exception as error:
        # The others end now, and not when what comes instead is there.
        _abandon(operation, running)
        await hear(operation, is_last=True)
        fallback = operation.fallback
        if fallback is None:
            raise
        return await _instead(operation, fallback, error)
    finally:
        _abandon(operation, running)
        _close_hooks(operation)


def _abandon(operation: Operation, running: dict[Task[Any], Any]) -> None:
    """The call is over: cancel all running attempts."""
    operation.cancel()
    for task in running:
        if task.done():
            _look(task)
            continue
        _abandoned.add(task)
        task.add_done_callback(_forget)
        task.cancel()
    running.clear()


_abandoned: set[Task[Any]] = set()
"""Attempts that are being cancelled: the event loop holds only weak references to its tasks."""


def _forget(task: Task[Any]) -> None:
    _abandoned.discard(task)
    _look(task)


def _look(task: Task[Any]) -> None:
    """Retrieve the task's error, so that asyncio does not log it as never retrieved."""
    if not task.cancelled():
        task.exception()


async def _attempt(
    guard: Guard,
    function: Callable[..., Awaitable[Any]],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    attempt: Awaitable[Any] | None,
) -> Any:
    """One attempt in a task, and so in a context, of its own."""
    try:
        with guard:
            return await (function(*args, **kwargs) if attempt is None else attempt)
    except BaseException as error:
        task = current_task()
        if task in _abandoned:
            # The attempt is abandoned, and its event loop may be closed before `_look` runs.
            _abandoned.discard(task)
            if isinstance(error, Exception):
                return None
        raise


async def _first(operation: Operation, running: dict[Task[Any], Any]) -> Task[Any] | None:
    """The first attempt to end; None when it is time to ask for another attempt beside it."""
    wake_at = operation.wake_at
    seconds = None if wake_at is None else max(wake_at - monotonic_ns(), 0) / 1e9
    time = None if seconds is None else overridden_time()
    done: set[Any] = set()
    with Wait(operation):
        if time is None:
            done = (await asyncio_wait(running, timeout=seconds, return_when=FIRST_COMPLETED))[0]
        else:
            done = await _before(time, seconds, running)
    # In the order of the attempts, so that the same run ends the same way.
    return next((task for task in running if task in done), None)


async def _before(time: Any, seconds: float | None, awaited: Iterable[Future[Any]]) -> set[Future[Any]]:
    """The futures that are done before that virtual time has passed."""
    over = time.after(seconds)
    try:
        done, _ = await asyncio_wait([*awaited, over], return_when=FIRST_COMPLETED)
    finally:
        over.cancel()
    return done


async def rest(operation: Operation, seconds: float | None) -> None:
    """Sleep that long, and on until the next attempt is to run."""
    trio = trio_module()
    sleep: Callable[[float], Any] = asyncio_sleep if trio is None else trio.sleep
    own = operation.sleep
    listen = _listen if trio is None else trio.listen
    try:
        while seconds is not None:
            if operation.undisturbed:
                await sleep(seconds)
            elif (notify := operation.notify) is not None:
                await listen(Wait(operation), *notify, seconds)
            else:
                time = overridden_time()
                with Wait(operation, None if own is None else operation.deadline_ns):
                    if time is not None:
                        await time.pause(seconds)
                    elif own is None:
                        await sleep(seconds)
                    elif isawaitable(slept := own(seconds)):
                        await slept
            seconds = operation.resume()
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


async def next_attempt(attempts: AttemptIterator, operation: Operation) -> Attempt:
    """The next attempt at a block of code."""
    await hear(operation)
    if not attempts._goes_on():
        raise StopAsyncIteration
    try:
        seconds = operation.resume()
    except BaseException:
        operation.cancel()
        raise
    await rest(operation, seconds)
    await hear(operation)
    return attempts._next(Guard(operation))
