"""The loop of a blocking function whose attempts may run beside each other, each in a thread of its own."""

from __future__ import annotations

from contextvars import copy_context
from queue import Empty, SimpleQueue
from threading import Thread

from ._cancel import Cancel
from ._holdoff import leave_scope, monotonic_ns, overridden_time
from ._limit import ATTEMPT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._holdoff import Operation
    from ._limit import Entered

    Ended = tuple[int, Any, BaseException | None, bool]


def race(operation: Operation, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The value of the first attempt that succeeds. Only the caller's thread decides; the others run attempts."""
    ended: SimpleQueue[Ended | None] = SimpleQueue()
    running: dict[int, Cancel] = {}
    token = operation.token

    def enter(cancel: Cancel) -> Entered:
        ATTEMPT.set(cancel)
        # The operation belongs to the caller's thread.
        return operation.enter(watched=False)

    def start() -> None:
        number = operation.attempt
        running[number] = cancel = Cancel()
        context = copy_context()
        entered = context.run(enter, cancel)
        if overridden_time() is None:
            run = Thread(target=context.run, args=(attempt, number, entered), name=f"holdoff-{number}", daemon=True)
            run.start()
        else:
            # Time that only sleeps let pass would not pass for two threads at once.
            context.run(attempt, number, entered)

    def attempt(number: int, entered: Entered) -> None:
        try:
            value = function(*args, **kwargs)
        except BaseException as error:
            ended.put((number, None, error, leave_scope(entered)))
        else:
            ended.put((number, value, None, leave_scope(entered)))

    def next_ended() -> Ended | None:
        """The next attempt to end; None when it is time to ask for another one beside it, or the token is cancelled."""
        wake_at = operation.wake_at
        if overridden_time() is not None or wake_at is None:
            return ended.get()
        try:
            return ended.get(timeout=max(wake_at - monotonic_ns(), 0) / 1e9)
        except Empty:
            return None

    if token is not None:
        token.subscribe(ended, lambda: ended.put(None))
    try:
        operation.begin()
        follows = "sleep"
        while True:
            if follows == "sleep":
                operation.sleep_until_due()
                if operation.over:
                    return operation.result
            if follows != "wait":
                start()
            while (end := next_ended()) is None:
                if token is not None and token.cancelled:
                    raise operation.cancelled()
                if operation.beside():
                    start()
            number, value, error, gave_up = end
            del running[number]
            if isinstance(error, Exception):
                follows = operation.fail(number, error, gave_up=gave_up)
            elif error is not None:
                raise error
            elif hasattr(value, "__await__"):
                if hasattr(value, "close"):
                    value.close()
                raise TypeError("hedge: a function that returns a coroutine is hedged when it is an async def")
            else:
                follows = operation.reject(number, value, gave_up=gave_up)
            if follows == "stop":
                if operation.over:
                    return operation.result
                if error is not None:
                    raise error
                return value
    finally:
        operation.cancel()
        if token is not None:
            token.unsubscribe(ended)
        # A thread cannot be ended: the other attempts learn from their tokens that they lost, and run on.
        for loser in running.values():
            loser.cancel()
