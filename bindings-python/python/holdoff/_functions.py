"""Functions, retried. Loaded when the first one is decorated, or when an object is called that is no function."""

from __future__ import annotations

from functools import wraps
from types import CoroutineType

from ._holdoff import Guards, Policy, Retrying, code_flags

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ParamSpec, TypeVar

    _P = ParamSpec("_P")
    _R = TypeVar("_R")

_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200
"""Flags of code."""
_METHODS = ("classmethod", "staticmethod", "property", "cached_property")
_CALLED = "; decorate the function and then call it: holdoff.retry(fetch)(url), not holdoff.retry(fetch(url))"
_INSTEAD = {
    **dict.fromkeys(("coroutine", "generator", "async_generator"), _CALLED),
    "Policy": "; give it as policy=",
    "Retrying": "; it decorates by itself: write @retrying",
    "Guards": "; give it as guards=",
    "str": "; give the name of a preset as policy=",
    "int": "; give the number of attempts as attempts=",
    **dict.fromkeys(("float", "timedelta"), "; give a time as deadline= or attempt_timeout="),
}
_SHOWN = 80
"""The longest text of an object in an error, in characters."""


class Decoration:
    """The attribute `holdoff` of a decorated function, with the types of `holdoff.types.Decoration`."""

    def __init__(self, retrying: Retrying, function: Callable[..., Any]) -> None:
        self.retrying = retrying
        """The policy with its options."""
        self._function = function

    @property
    def policy(self) -> Policy:
        """The policy."""
        return self.retrying.policy

    def with_options(self, **options: Any) -> Callable[..., Any]:
        """The function, retried with the given options and fields instead of its own; all others stay."""
        changed: Callable[..., Any] = decorate(self.retrying.with_options(**options), self._function)
        return changed


def decorate(retrying: Retrying, function: Any) -> Any:
    """The function, retried."""
    _refuse_misuse(function)
    flags = code_flags(function)
    if flags & (_GENERATOR | _ASYNC_GENERATOR):
        if retrying._replaces or retrying._hedges:
            raise TypeError("a generator takes neither fallback nor hedge: it is retried until its first item")
        from . import _generators

        wrap: Any = _generators.wrap if flags & _GENERATOR else _generators.wrap_asynchronous
    elif flags & _COROUTINE:
        from ._async import wrap
    else:
        wrap = _wrap
    retried = wrap(retrying, function)
    retried.holdoff = Decoration(retrying, function)
    return retried


def _wrap(retrying: Retrying, function: Callable[_P, _R]) -> Callable[_P, _R]:
    """A blocking function, retried. It is a function of Python, because mocks and picklers know only those."""
    run = retrying._run

    @wraps(function)
    def retried(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        result: _R = run(function, args, kwargs)
        return result

    return retried


def _refuse_misuse(function: Any) -> None:
    """Raises for an object that is no function, and says what to write."""
    name = type(function).__name__
    if name in _METHODS:
        raise TypeError(f"put @{name} above the retry, which decorates the function")
    is_class = isinstance(function, type)
    classes: Any = function if isinstance(function, tuple) and function else (function,)  # pyright: ignore[reportUnknownVariableType]
    if all(isinstance(kind, type) and issubclass(kind, BaseException) for kind in classes):
        instead = "; give it as on="
    elif is_class:
        instead = "; decorate its __init__ or a function that makes the object, or write policy.call(Class, ...)"
    elif callable(function) and not isinstance(function, (Policy, Retrying, Guards)):  # pyright: ignore[reportUnknownArgumentType]
        return
    else:
        instead = _INSTEAD.get(name, "")
    raise TypeError(
        f"cannot retry {_shown(function)}, which is {'a class and no function' if is_class else 'no function'}{instead}"
    )


def refuse_call(function: Any) -> TypeError:
    """The error of a call of an object that is no function."""
    called = isinstance(function, CoroutineType)
    instead = ": give the function and its arguments, call(fetch, url) and not call(fetch(url))" if called else ""
    return TypeError(f"cannot call {_shown(function)}, which is no function{instead}")


def _shown(value: Any) -> str:
    """The value, cut where it is long. A coroutine, which nothing awaits, is closed: else it would warn."""
    try:
        text = repr(value)
    except Exception:
        text = f"<{type(value).__name__}>"
    if isinstance(value, CoroutineType):
        value.close()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
