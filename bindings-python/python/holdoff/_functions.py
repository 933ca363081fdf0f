"""Blocking functions, retried. Loaded when the first one is decorated."""

from __future__ import annotations

from functools import wraps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ParamSpec, TypeVar

    from ._holdoff import Retrying

    _P = ParamSpec("_P")
    _R = TypeVar("_R")


def wrap(retrying: Retrying, function: Callable[_P, _R]) -> Callable[_P, _R]:
    """The function, retried. It is a function of Python, because mocks and picklers know only those."""
    run = retrying._run

    @wraps(function)
    def retried(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        result: _R = run(function, args, kwargs)
        return result

    return retried
