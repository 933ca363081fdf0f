"""Failures and delays on purpose, around a function."""

from __future__ import annotations

from itertools import count

from . import classifiers
from ._holdoff import Chaos, Failure, Policy, is_coroutine_function, overridden_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    from ._literals import Word
    from .types import Duration

    _F = TypeVar("_F", bound=Callable[..., Any])


class InjectedError(Exception):
    """An attempt failed on purpose."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.kind} failure on purpose")
        self.failure = failure
        """The failure that policies see: its kind and its hint."""


classifiers.register(InjectedError, lambda error: error.failure)


def chaos(
    *,
    seed: int = 0,
    failure_rate: float = 0.0,
    latency_rate: float = 1.0,
    latency: Duration | tuple[Duration, Duration] | list[Duration] = 0,
    kind: Word = "transient",
    retry_after: Duration | None = None,
    error: Callable[[], BaseException] | None = None,
) -> Callable[[_F], _F]:
    """A decorator whose functions fail and take longer on purpose; the same seed does the same again.

    A share ``failure_rate`` of all calls fails, and a share ``latency_rate`` is held up for ``latency``: one duration,
    or the shortest and the longest. A call that fails raises `InjectedError`, a failure of that ``kind`` with the hint
    ``retry_after``, or what ``error`` returns. Calls are counted over all functions that the same decorator wraps. The
    sleeps take no time in `virtual_time`.
    """
    ends = tuple(latency) if isinstance(latency, (tuple, list)) else (latency, latency)
    if len(ends) != 2:
        raise ValueError(f"latency = {latency!r}: must be one duration, or the shortest and the longest")
    plan = Chaos(seed=seed, failure_rate=failure_rate, latency_rate=latency_rate, shortest=ends[0], longest=ends[1])
    failure = Failure(kind, hint=retry_after)
    numbers = count()

    def fail(k: int) -> None:
        if plan.fails(k):
            raise InjectedError(failure) if error is None else error()

    def wrap(function: Any) -> Any:
        from functools import wraps

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            k = next(numbers)
            _sleep(plan.latency(k) / 1e9)
            fail(k)
            return function(*args, **kwargs)

        @wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            k = next(numbers)
            await _pause(plan.latency(k) / 1e9)
            fail(k)
            return await function(*args, **kwargs)

        return awaited if is_coroutine_function(function) else call

    return wrap


def with_chaos(document: str | Mapping[str, Any]) -> tuple[Policy, Callable[[_F], _F]]:
    """The policy of a document that has a section ``chaos``, and the decorator that the section describes.

    Only tests and staging call this: everything else that reads policies refuses the section. Its fields are the
    parameters of `chaos` but for ``error``.
    """
    from json import loads

    fields: Any = loads(document) if isinstance(document, str) else document
    if not hasattr(fields, "items"):
        raise ValueError(f"a document must be an object, not {fields!r}")
    section: Any = fields.get("chaos", {})
    if not hasattr(section, "items"):
        raise ValueError(f"chaos = {section!r}: must be an object")
    known = ("seed", "failure_rate", "latency_rate", "latency", "kind", "retry_after")
    for name in section:
        if name not in known:
            raise ValueError(f"chaos.{name}: is not a field of chaos; its fields are {', '.join(known)}")
    policy = Policy.from_dict({name: value for name, value in fields.items() if name != "chaos"})
    return policy, chaos(**section)


def _sleep(seconds: float) -> None:
    if seconds > 0:
        import time

        (overridden_time() or time).sleep(seconds)


async def _pause(seconds: float) -> None:
    if seconds > 0:
        from ._guard import trio_module

        replaced: Any = overridden_time()
        trio: Any = trio_module()
        if replaced is not None:
            await replaced.pause(seconds)
        elif trio is not None:
            await trio.sleep(seconds)
        else:
            from asyncio import sleep

            await sleep(seconds)
