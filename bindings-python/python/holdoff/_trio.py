"""The waits and the limits of the loop for coroutines under trio. Loaded when trio runs one."""

from __future__ import annotations

import trio

from ._holdoff import overridden_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._holdoff import Notify

sleep = trio.sleep


async def listen(guard: Any, notify: Notify, place: int, seen: int, seconds: float) -> None:
    """Wait that long under the guard, or until the call at that place of the line can go on."""
    notified = trio.Event()
    token = trio.lowlevel.current_trio_token()

    def wake() -> None:
        """Called in any thread."""
        try:
            token.run_sync_soon(notified.set)
        except trio.RunFinishedError:
            # This call never runs again, so its turn is the next one's.
            guard._operation.cancel()

    waiter = notify.add_waiter(place, seen, wake)
    if waiter is None:
        return
    try:
        with guard:
            time = overridden_time()
            if time is None:
                with trio.move_on_after(seconds):
                    await notified.wait()
                return
            async with trio.open_nursery() as nursery:

                async def pause() -> None:
                    await time.pause(seconds)
                    nursery.cancel_scope.cancel()

                nursery.start_soon(pause)
                await notified.wait()
                nursery.cancel_scope.cancel()
    finally:
        notify.remove_waiter(place, waiter)


class TaskScope:
    """Cancels what runs in it, and takes the cancellation back."""

    __slots__ = ("_cancelled", "_scope", "_timer", "_trio_token")

    def __init__(self) -> None:
        self._cancelled = False
        self._timer: Any = None
        self._trio_token = trio.lowlevel.current_trio_token()
        self._scope = trio.CancelScope()
        self._scope.__enter__()

    def limit(self, seconds: float) -> None:
        """Cancel what runs after so many seconds."""
        time = overridden_time()
        if time is None:
            self._scope.deadline = trio.current_time() + seconds
        else:
            self._timer = time.limit(seconds, self._scope.cancel)

    def wake(self) -> None:
        """The token is cancelled. Called in any thread."""
        try:  # noqa: SIM105 (contextlib is slow to import)
            self._trio_token.run_sync_soon(self._cancel)
        except trio.RunFinishedError:
            pass

    def _cancel(self) -> None:
        self._cancelled = True
        self._scope.cancel()

    def end(self, error: BaseException | None) -> str:
        """The reason that ended the attempt: "limit", "token", or "" for something else."""
        if self._timer is not None:
            self._timer.cancel()
        # Without an error `__exit__` returns True, too.
        kind, traceback = (None, None) if error is None else (type(error), error.__traceback__)
        if not self._scope.__exit__(kind, error, traceback) or error is None:
            return ""
        return "token" if self._cancelled else "limit"
