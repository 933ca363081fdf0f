"""Attempts at a block of code: the loop that the user writes. Loaded when `attempts` is called first."""

from __future__ import annotations

from ._holdoff import Operation, leave_scope, monotonic_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

    from ._guard import Guard
    from ._holdoff import Retrying
    from ._limit import Entered

_NEW, _ENTERED, _FAILED, _OVER = range(4)
"""The states of an attempt; another one follows an attempt that has failed."""


class Attempts:
    """Attempts at a block of code. Each loop over it is an operation of its own."""

    __slots__ = ("_retrying",)

    def __init__(self, retrying: Retrying) -> None:
        self._retrying = retrying

    def __iter__(self) -> AttemptIterator:
        return AttemptIterator(Operation(self._retrying), asynchronous=False)

    def __aiter__(self) -> AttemptIterator:
        return AttemptIterator(Operation(self._retrying), asynchronous=True)


class AttemptIterator:
    """One operation, an attempt at a time; it ends with the attempt that succeeds or with the last error."""

    __slots__ = ("_asynchronous", "_latest", "_operation")

    def __init__(self, operation: Operation, *, asynchronous: bool) -> None:
        self._operation = operation
        self._asynchronous = asynchronous
        self._latest: Attempt | None = None

    def __iter__(self) -> AttemptIterator:
        return self

    def __aiter__(self) -> AttemptIterator:
        return self

    def __next__(self) -> Attempt:
        if not self._goes_on():
            raise StopIteration
        try:
            self._operation.sleep_until_due()
        except BaseException:
            self._operation.cancel()
            raise
        self._latest = Attempt(self._operation)
        return self._latest

    async def __anext__(self) -> Attempt:
        from ._async import await_hooks, sleep_until_due
        from ._guard import Guard

        await await_hooks(self._operation)
        if not self._goes_on():
            raise StopAsyncIteration
        await sleep_until_due(self._operation)
        await await_hooks(self._operation)
        self._latest = Attempt(self._operation, Guard(self._operation))
        return self._latest

    def _goes_on(self) -> bool:
        """True if another attempt follows. Begins the operation before the first one."""
        latest = self._latest
        if latest is None:
            self._operation.begin(asynchronous=self._asynchronous)
            return True
        if latest._state in (_NEW, _ENTERED):
            self._operation.cancel()
            raise RuntimeError(f"attempt {latest.number} was not made: write `with attempt:` around the block")
        return latest._state == _FAILED


class Attempt:
    """One attempt: a context manager around the block, which swallows an error that is to be retried."""

    __slots__ = ("_entered", "_guard", "_limit", "_operation", "_state", "number")

    def __init__(self, operation: Operation, guard: Guard | None = None) -> None:
        self._operation = operation
        self._guard = guard
        self._state = _NEW
        self._limit = operation.limit_ns()
        self._entered: Entered = None
        self.number: int = max(operation.attempt, 1)
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
        try:
            return self._end(error)
        except BaseException:
            # The guards get back now what they gave, and not when the traceback is dropped.
            self._operation.cancel()
            raise
        finally:
            del error, traceback

    def _end(self, error: BaseException | None) -> bool:
        """The block has ended. True if another attempt follows the error."""
        self._state = _OVER
        timeout: TimeoutError | None = None
        try:
            if self._guard is None:
                entered, self._entered = self._entered, None
                gave_up = leave_scope(entered)
            else:
                try:
                    self._guard.__exit__(None, error, None)
                except TimeoutError as raised:
                    error = timeout = raised
                gave_up = self._guard.gave_up
            if error is None:
                self._operation.reject(self.number, None)
            elif not isinstance(error, Exception):
                self._operation.cancel()
                return False
            else:
                timed_out = timeout is not None
                follows = self._operation.fail(self.number, error, timed_out=timed_out, gave_up=gave_up)
                if follows == "sleep":
                    self._state = _FAILED
                    return True
            told = self._operation.hook_answers()
            if told is not None:
                from .telemetry import refuse

                raise refuse(told, "at the end of a block")
            if timeout is not None:
                raise timeout
            return False
        finally:
            error = timeout = None
