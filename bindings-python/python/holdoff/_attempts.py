"""Attempts at any block of code: the loop that the user writes."""

from __future__ import annotations

from ._holdoff import Operation, Retrying, monotonic_ns
from ._limit import HANDED, enter, leave

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Token as Scope
    from types import TracebackType
    from typing import Any

    from typing_extensions import Unpack

    from ._async import Guard
    from ._cancel import Cancel
    from ._events import AttemptEvent, GiveUpEvent, RetryEvent, SuccessEvent
    from ._holdoff import Failure, Guards, Policy, Token
    from .types import Classification, DelayFunction, GuardOptions, On, PolicyFields, PresetName


def attempts(
    policy: Policy | PresetName | None = None,
    *,
    on: On | None = None,
    cancel: Cancel | None = None,
    seed: int | None = None,
    on_attempt: Callable[[AttemptEvent], object] | None = None,
    on_retry: Callable[[RetryEvent], object] | None = None,
    on_success: Callable[[SuccessEvent], object] | None = None,
    on_give_up: Callable[[GiveUpEvent], object] | None = None,
    delay: DelayFunction | None = None,
    name: str | None = None,
    sleep: Callable[[float], object] | None = None,
    classify: Callable[[Exception], Failure | Classification | None] | None = None,
    idempotent: bool = True,
    guards: Guards | GuardOptions | None = None,
    key: str | None = None,
    **fields: Unpack[PolicyFields],
) -> Attempts:
    """Attempts at a block of code, to loop over with ``for`` or ``async for``: each is a context manager."""
    retrying = Retrying(
        policy,
        on=on,
        cancel=cancel,
        seed=seed,
        on_attempt=on_attempt,
        on_retry=on_retry,
        on_success=on_success,
        on_give_up=on_give_up,
        delay=delay,
        name=name,
        sleep=sleep,
        classify=classify,
        idempotent=idempotent,
        guards=guards,
        key=key,
        **fields,
    )
    if retrying.hedges:
        raise TypeError("attempts() cannot hedge: a block of code does not run twice at once; use a function")
    return Attempts(retrying)


class Attempts:
    """One operation, an attempt at a time; it ends with the attempt that succeeds or with the last error."""

    __slots__ = ("_asynchronous", "_attempt", "_operation")

    def __init__(self, retrying: Retrying) -> None:
        self._operation = Operation(retrying)
        self._attempt: Attempt | None = None
        self._asynchronous = False

    def __iter__(self) -> Attempts:
        return self

    def __aiter__(self) -> Attempts:
        self._asynchronous = True
        return self

    def __next__(self) -> Attempt:
        if not self._goes_on():
            raise StopIteration
        try:
            while (seconds := self._operation.resume()) is not None:
                self._operation.wait(seconds)
        except BaseException:
            self._operation.cancel()
            raise
        return self._next()

    async def __anext__(self) -> Attempt:
        from ._async import hear, rest

        await hear(self._operation)
        if not self._goes_on():
            raise StopAsyncIteration
        try:
            seconds = self._operation.resume()
        except BaseException:
            self._operation.cancel()
            raise
        await rest(self._operation, seconds)
        await hear(self._operation)
        return self._next()

    def _goes_on(self) -> bool:
        last = self._attempt
        if last is None:
            self._operation.begin(self._asynchronous)
            return True
        if last._state in (_NEW, _ENTERED):
            self._operation.cancel()
            raise RuntimeError(f"attempt {last.number} was not made: write `with attempt:` around the block")
        return last._state == _FAILED

    def _next(self) -> Attempt:
        guard = None
        if self._asynchronous:
            from ._async import Guard

            guard = Guard(self._operation)
        self._attempt = Attempt(self._operation, guard)
        return self._attempt


_NEW, _ENTERED, _FAILED, _OVER = range(4)


class Attempt:
    """One attempt: a context manager around the block, which swallows an error that is to be retried."""

    __slots__ = ("_abort_at", "_guard", "_handed", "_number", "_operation", "_scope", "_state")

    def __init__(self, operation: Operation, guard: Guard | None) -> None:
        self._operation = operation
        self._guard = guard
        self._number = max(operation.attempt, 1)
        self._abort_at = operation.abort_at
        self._scope: Scope[int | None] | None = None
        self._handed: Scope[Token | None] | None = None
        self._state = _NEW

    @property
    def number(self) -> int:
        """Its number, from 1."""
        return self._number

    @property
    def remaining(self) -> float | None:
        """Seconds until it must be over, 0 when that is past; None without a limit."""
        return None if self._abort_at is None else max(self._abort_at - monotonic_ns(), 0) / 1e9

    def __enter__(self) -> Attempt:
        if self._state != _NEW:
            raise RuntimeError(f"attempt {self._number} was made already")
        self._state = _ENTERED
        if self._guard is not None:
            self._guard.__enter__()
        elif self._abort_at is not None:
            self._scope = enter(self._abort_at)
        if self._guard is None and (token := self._operation.handed) is not None:
            self._handed = HANDED.set(token)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        self._state = _OVER
        try:
            return self._ends(kind, error, traceback)
        except BaseException:
            # A hook's error, or the token: what the guards gave goes back now, and not when nobody holds the traceback.
            self._operation.cancel()
            raise

    def _ends(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        if self._handed is not None:
            leave(self._handed)
        if self._scope is not None:
            leave(self._scope)
        ended: Any = error
        if self._guard is not None:
            try:
                self._guard.__exit__(kind, error, traceback)
            except TimeoutError as timeout:
                ended = timeout
        if ended is None:
            self._operation.succeed(None)
            self._refuse_awaited()
            return False
        if not isinstance(ended, Exception):
            self._operation.cancel()
            return False
        if self._operation.fail(ended, ended is not error):
            self._state = _FAILED
            return True
        self._refuse_awaited()
        if ended is not error:
            raise ended
        return False

    def _refuse_awaited(self) -> None:
        """The end of a block awaits nothing."""
        told = self._operation.hook_answers()
        if told is not None:
            from .telemetry import refuse

            raise refuse(told, "at the end of a block")
