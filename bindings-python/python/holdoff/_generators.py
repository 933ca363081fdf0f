"""Generators, retried until their first item. Loaded when the first one is decorated."""

from __future__ import annotations

from functools import wraps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator
    from typing import Any

    from ._holdoff import Retrying


def wrap(retrying: Retrying, function: Callable[..., Generator[Any, Any, Any]]) -> Callable[..., Any]:
    """The generator function, retried until the first item."""

    @wraps(function)
    def retried(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        generator: Generator[Any, Any, Any] | None = None
        yields = False

        @wraps(function)
        def begin(*args: Any, **kwargs: Any) -> Any:
            nonlocal generator, yields
            if generator is not None:
                # The value that `on_result` refused.
                generator.close()
                yields = False
            generator = function(*args, **kwargs)
            try:
                item = next(generator)
            except StopIteration as end:
                return end.value
            yields = True
            return item

        item = retrying.call(begin, *args, **kwargs)
        if generator is None or not yields:
            return item
        follow: Any
        argument: Any
        while True:
            try:
                sent = yield item
            except GeneratorExit:
                generator.close()
                raise
            except BaseException as error:
                follow, argument = generator.throw, error
            else:
                follow, argument = generator.send, sent
            try:
                item = follow(argument)
            except StopIteration as end:
                return end.value
            finally:
                del argument

    return retried


def wrap_asynchronous(retrying: Retrying, function: Callable[..., AsyncGenerator[Any, Any]]) -> Callable[..., Any]:
    """The asynchronous generator function, retried until the first item."""

    @wraps(function)
    async def retried(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        generator: AsyncGenerator[Any, Any] | None = None
        yields = False

        @wraps(function)
        async def begin(*args: Any, **kwargs: Any) -> Any:
            nonlocal generator, yields
            if generator is not None:
                await generator.aclose()
                yields = False
            generator = function(*args, **kwargs)
            try:
                item = await generator.__anext__()
            except StopAsyncIteration:
                return None
            yields = True
            return item

        item = await retrying.call(begin, *args, **kwargs)
        if generator is None or not yields:
            return
        follow: Any
        argument: Any
        while True:
            try:
                sent = yield item
            except GeneratorExit:
                await generator.aclose()
                raise
            except BaseException as error:
                follow, argument = generator.athrow, error
            else:
                follow, argument = generator.asend, sent
            try:
                item = await follow(argument)
            except StopAsyncIteration:
                return
            finally:
                del argument

    return retried
