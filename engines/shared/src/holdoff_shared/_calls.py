"""Calls of this process under guards that others share: as `holdoff.retry` does it under guards of its own."""

from __future__ import annotations

import time
from functools import wraps
from types import CoroutineType
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from holdoff import Outcome, Refused, is_coroutine_function

from .jobs import AttemptTimeout, Job, Settings, limited
from .ways import AWAITING, BLOCKING, run_blocking

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ParamSpec, TypeVar

    from holdoff import Guards, Policy
    from holdoff.types import Classification, On, PolicyFields, PresetName
    from typing_extensions import Unpack

    from ._guard import SharedGuard
    from .ways import Way

    _P = ParamSpec("_P")
    _R = TypeVar("_R")


def retry(
    guards: SharedGuard[Guards],
    /,
    *,
    on: On | None = None,
    policy: Policy | PresetName | None = None,
    classify: Callable[[Exception], Classification | None] | None = None,
    idempotent: bool = True,
    **fields: Unpack[PolicyFields],
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Decorate a function, blocking or `async def`, to be retried under these guards.

    The rest is as in `holdoff.retry`. Each attempt asks the store twice: to begin, and when it has ended. It does not
    hedge.
    """
    settings = Settings(policy, on=on, classify=classify, idempotent=idempotent, guards=guards, **fields)

    def job(way: Way) -> Job:
        return Job(settings, uuid4().hex, b"", way, waits=False)

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        if is_coroutine_function(function):

            @wraps(function)
            async def awaited(*args: Any, **kwargs: Any) -> Any:
                return await _drive(job(AWAITING), function, args, kwargs)

            return cast("Callable[_P, _R]", awaited)

        @wraps(function)
        def called(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            value: _R = run_blocking(_drive(job(BLOCKING), function, args, kwargs))
            return value

        return called

    return decorate


async def _drive(
    job: Job, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], first: Any = None
) -> Any:
    """The loop of a call, in the job's way. `first` is the coroutine of an attempt that has begun."""
    error: Exception | None = None
    if first is None:
        await job.start(job.now())
    try:
        while True:
            while job.step.kind == "sleep":
                await job.way.sleep(job.remaining() / 1e9)
                await job.wake(job.now())
            if job.step.kind == "stop":
                raise _last(job, error)
            try:
                with job.running():
                    value = function(*args, **kwargs) if first is None else first
                    first = None
                    if job.way is AWAITING:
                        value = await limited(value, job)
            except Exception as raised:
                error = raised
                await job.end(job.now(), error, timed_out=isinstance(error, AttemptTimeout))
                continue
            if job.way is BLOCKING and isinstance(value, CoroutineType):
                # A lambda around an asynchronous function, for instance: the attempt has yet to be awaited.
                job.way = AWAITING
                return _drive(job, function, args, kwargs, value)
            await job.end(job.now(), None)
            return value
    except BaseException:
        if job.step.kind != "stop":
            await job.cancel(job.now())
        raise
    finally:
        error = None


def _last(job: Job, error: Exception | None) -> Exception:
    """The error to raise when there is no other attempt."""
    if error is not None:
        job.attach(error)
        return error
    reason: Any = job.step.reason or "cancelled"
    refused = Refused(Outcome(reason, 0).description)
    refused.reason = reason
    if job.step.retry_at is not None:
        refused.retry_in = max(job.step.retry_at - job.log_now(), 0) / 1e9
        refused.retry_at = time.monotonic() + refused.retry_in
    return refused
