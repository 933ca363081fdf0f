"""Attempts at a block of code: the loop that the user writes. Loaded when `attempts` is called first."""

from __future__ import annotations

from ._holdoff import Operation, leave_scope, monotonic_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from types import TracebackType

    from ._guard import Guard
    from ._holdoff import Retrying
    from ._limit import Entered

_NEW, _ENTERED, _FAILED, _OVER = range(4)
"""The states of an attempt; another one follows an attempt that has failed."""


class Attempts:
    """Attempts at a block of code. Each loop over it is an operation of its own, which ends with the attempt that
    succeeds or with the last error."""

    __slots__ = ("_retrying",)

    def __init__(self, retrying: Retrying) -> None:
        self._retrying = retrying

    def __iter__(self) -> Iterator[Attempt]:
        operation = Operation(self._retrying)
        operation.begin()
        while True:
            try:
                operation.sleep_until_due()
            except BaseException:
                operation.cancel()
                raise
            attempt = Attempt(operation)
            yield attempt
            if attempt._state != _FAILED:
                attempt._check_made()
                return

    def __aiter__(self) -> AsyncIterator[Attempt]:
        return _AsyncIterator(Operation(self._retrying))


class _AsyncIterator:
    """The loop of ``async for``: no generator, which would wait for its event loop to be closed."""

    __slots__ = ("_latest", "_operation")

    def __init__(self, operation: Operation) -> None:
        self._operation = operation
        self._latest: Attempt | None = None

    def __aiter__(self) -> _AsyncIterator:
        return self

    async def __anext__(self) -> Attempt:
        from ._async import await_hooks, sleep_until_due
        from ._guard import Guard

        operation, latest = self._operation, self._latest
        if (told := operation.hook_answers()) is not None:
            await await_hooks(operation, told)
        if latest is None:
            operation.begin(asynchronous=True)
        elif latest._state != _FAILED:
            latest._check_made()
            raise StopAsyncIteration
        await sleep_until_due(operation)
        if (told := operation.hook_answers()) is not None:
            await await_hooks(operation, told)
        self._latest = Attempt(operation, Guard(operation))
        return self._latest


class Attempt:
    """One attempt: a context manager around the block, which swallows an error that is to be retried."""

    __slots__ = ("_entered", "_guard", "_limit", "_operation", "_state", "number")

    def __init__(self, operation: Operation, guard: Guard | None = None) -> None:
        self._operation = operation
        self._guard = guard
        self._state = _NEW
        self._limit = operation.limit_ns()
        self._entered: Entered = None
        self.number: int = operation.attempt or 1
        """Its number, from 1."""

    @property
    def remaining(self) -> float | None:
        """Seconds until it must be over, never 0; None without a limit. Raises TimeoutError when no time is left."""
        if self._limit is None:
            return None
        left = self._limit - monotonic_ns()
        if left <= 0:
            raise TimeoutError("no time is left: the limit of the attempt has passed")
        return left / 1e9

    def _check_made(self) -> None:
        if self._state != _OVER:
            self._operation.cancel()
            raise RuntimeError(f"attempt {self.number} was not made: write `with attempt:` around the block")

    def __enter__(self) -> Attempt:
        if self._state != _NEW:
            raise RuntimeError(f"attempt {self.number} was made already")
        if self._guard is None:
            self._entered = self._operation.enter(watched=False)
        else:
            self._guard.__enter__()
        self._state = _ENTERED
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        operation, guard = self._operation, self._guard
        self._state = _OVER
        timeout: TimeoutError | None = None
        try:
            if guard is None:
                gave_up = leave_scope(self._entered)
            else:
                try:
                    guard.__exit__(kind, error, traceback)
                except TimeoutError as raised:
                    error = timeout = raised
                gave_up = guard.gave_up
            if error is None:
                operation.reject(self.number, None)
            elif not isinstance(error, Exception):
                operation.cancel()
                return False
            elif operation.fail(self.number, error, timed_out=timeout is not None, gave_up=gave_up) == "sleep":
                self._state = _FAILED
                return True
            told = operation.hook_answers()
            if told is not None:
                from .telemetry import refuse

                raise refuse(told, "at the end of a block")
            if timeout is not None:
                raise timeout
            return False
        except BaseException:
            # The guards get their permits back now, and not when the traceback is dropped.
            operation.cancel()
            raise
        finally:
            error = timeout = traceback = None
