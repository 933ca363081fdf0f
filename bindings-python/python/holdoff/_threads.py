"""The loop of a blocking function whose attempts may run beside each other, each in a thread of its own."""

from __future__ import annotations

from contextvars import copy_context
from queue import Empty, SimpleQueue
from threading import Thread

from ._cancel import Cancel
from ._holdoff import Operation, Retrying, leave_scope, monotonic_ns, overridden_time
from ._limit import ATTEMPT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._limit import Entered

    Ended = tuple[int, Any, BaseException | None, bool]


def race(retrying: Retrying, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The value of the first attempt that succeeds, or of the fallback."""
    operation = Operation(retrying, (function, args, kwargs))
    try:
        return _Race(operation, function, args, kwargs).run()
    except Exception as error:
        fallback = operation.fallback
        if fallback is None:
            raise
        value = fallback(error)
        if hasattr(value, "__await__"):
            if hasattr(value, "close"):
                value.close()
            raise TypeError(
                "fallback: a blocking function cannot await an asynchronous function; give a plain function"
            ) from error
        return value


class _Race:
    """The attempts of one operation. Only the caller's thread decides; the others run attempts."""

    def __init__(
        self,
        operation: Operation,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        self._operation = operation
        self._call = (function, args, kwargs)
        self._ended: SimpleQueue[Ended | None] = SimpleQueue()
        self._running: dict[int, Cancel] = {}

    def run(self) -> Any:
        operation = self._operation
        token = operation.token
        if token is not None:
            token.subscribe(self, lambda: self._ended.put(None))
        try:
            operation.begin()
            self._rest()
            while True:
                ended = self._first()
                if ended is None:
                    if token is not None and token.cancelled:
                        raise operation.cancelled()
                    if operation.beside():
                        self._start()
                    continue
                following = self._follow(*ended)
                if following == "stop":
                    _, value, error, _ = ended
                    if operation.over:
                        return operation.result
                    if error is not None:
                        raise error
                    return value
                if following == "sleep":
                    self._rest()
                    if operation.over:
                        return operation.result
                elif following == "attempt":
                    self._start()
        finally:
            operation.cancel()
            if token is not None:
                token.unsubscribe(self)
            # No thread can be ended: the attempts that lost hear of it, and nobody waits for them.
            for loser in self._running.values():
                loser.cancel()

    def _rest(self) -> None:
        """Sleep until the next attempt is due, and start it."""
        self._operation.sleep_until_due()
        if not self._operation.over:
            self._start()

    def _start(self) -> None:
        number = self._operation.attempt
        self._running[number] = cancel = Cancel()
        context = copy_context()
        # The operation belongs to the caller's thread.
        entered = context.run(self._enter, cancel)
        if overridden_time() is None:
            Thread(
                target=context.run, args=(self._attempt, number, entered), name=f"holdoff-{number}", daemon=True
            ).start()
        else:
            # Time that only sleeps let pass would not pass for two threads at once.
            context.run(self._attempt, number, entered)

    def _enter(self, cancel: Cancel) -> Entered:
        ATTEMPT.set(cancel)
        return self._operation.enter(False)

    def _attempt(self, number: int, entered: Entered) -> None:
        function, args, kwargs = self._call
        try:
            value = function(*args, **kwargs)
        except BaseException as error:
            self._ended.put((number, None, error, leave_scope(entered)))
        else:
            self._ended.put((number, value, None, leave_scope(entered)))

    def _first(self) -> Ended | None:
        """The next attempt to end; None when it is time to ask for another one beside it, or the token is cancelled."""
        wake_at = self._operation.wake_at
        if overridden_time() is not None or wake_at is None:
            return self._ended.get()
        try:
            return self._ended.get(timeout=max(wake_at - monotonic_ns(), 0) / 1e9)
        except Empty:
            return None

    def _follow(self, number: int, value: Any, error: BaseException | None, gave_up: bool) -> str:
        """The next action after an attempt that has ended."""
        del self._running[number]
        if error is None:
            if hasattr(value, "__await__"):
                if hasattr(value, "close"):
                    value.close()
                raise TypeError("hedge: a function that returns a coroutine is hedged when it is an async def")
            return self._operation.reject_one(number, value, gave_up=gave_up)
        if isinstance(error, Exception):
            return self._operation.fail_one(number, error, gave_up=gave_up)
        raise error
