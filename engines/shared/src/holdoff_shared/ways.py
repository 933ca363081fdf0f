"""The two ways to wait, in a thread and in a coroutine, so that the code between two waits is written once."""

from __future__ import annotations

import asyncio
import time
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Protocol

from holdoff import is_coroutine_function

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import TypeVar

    _T = TypeVar("_T")


class Way(Protocol):
    """How a coroutine calls a store, and how it sleeps."""

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The answer of a function that may be asynchronous."""

    async def sleep(self, seconds: float) -> None:
        """Waits that long."""


class _Blocking:
    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        answer = function(*arguments)
        if isinstance(answer, CoroutineType):
            answer.close()
            raise TypeError(f"{function.__qualname__} is asynchronous: use update_async or forget_async")
        return answer

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class _Awaiting:
    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        if is_coroutine_function(function):
            return await function(*arguments)
        return await asyncio.to_thread(function, *arguments)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


BLOCKING: Way = _Blocking()
"""In this thread, without an event loop: for `run_blocking`."""
AWAITING: Way = _Awaiting()
"""In the event loop of the coroutine."""


def run_blocking(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """The result of a coroutine that waits in the way `BLOCKING` alone, which needs no event loop."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: _T = end.value
        return result
    coroutine.close()
    raise RuntimeError("the coroutine waits for an event loop")
