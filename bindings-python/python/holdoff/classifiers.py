"""The failures that errors of known classes are. Loaded at the first error that is not a plain built-in one.

    holdoff.classifiers.register(QuotaExceeded, "throttled")
    holdoff.classifiers.register("mylib.StopNow", "control_flow")

A class is also known by the name of its package and its own name, so that its package need not be imported.
"""

from __future__ import annotations

from ._holdoff import Failure, classify_built_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal, TypeAlias

    from .types import Classification

    _Answer: TypeAlias = Classification | Literal["control_flow"]
    """A failure, the word of its kind, or "control_flow": the error is no failure, and comes out at once."""
    _Classifier: TypeAlias = _Answer | Callable[[Any], _Answer | None]
    """An answer, or a function from the error to one; None asks the base classes and the default rules."""

__all__ = ["forget", "register"]

CONTROL_FLOW = """
    airflow.AirflowSkipException airflow.AirflowFailException arq.Retry arq.RetryJob bdb.BdbQuit celery.TaskPredicate
    click.Abort click.Exit dramatiq.Retry huey.CancelExecution huey.RetryTask langgraph.GraphBubbleUp
    procrastinate.JobAborted procrastinate.JobRetry unittest.SkipTest
"""
PERMANENT = """
    builtins.FileExistsError builtins.FileNotFoundError builtins.IsADirectoryError builtins.NotADirectoryError
    builtins.PermissionError aiohttp.NonHttpUrlClientError
"""
"""Errors of the local system. Errors of clients are in the client table, but for names that no other client has."""


def _refused(error: Any) -> Failure:
    """A retry inside has met a guard that refuses: it says when to come back."""
    return Failure("throttled", hint=error.retry_in)


_known: dict[type | str, Any] = {
    **dict.fromkeys(CONTROL_FLOW.split(), "control_flow"),
    **dict.fromkeys(PERMANENT.split(), "permanent"),
    "holdoff.Refused": _refused,
    "builtins.BaseExceptionGroup": "group",
    "exceptiongroup.BaseExceptionGroup": "group",
}


def register(error: type[Exception] | str, failure: _Classifier) -> None:
    """Says what errors of a class and of the classes that derive from it are, in the whole process.

    ``error`` is the class, or the name of its package, a dot and its own name. The nearest registered class of an
    error counts. Types in ``on`` overrule it by naming the class itself.
    """
    if not isinstance(error, str):
        if not (isinstance(error, type) and issubclass(error, Exception)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"register() takes a class of Exception or its name, not {error!r}")
    elif len(error.split(".")) != 2:
        raise ValueError(f"register() takes a name such as {'package.Class'!r}, not {error!r}")
    answer: Any = failure
    if isinstance(answer, str) and answer != "control_flow":
        answer = Failure(answer)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    elif not (callable(answer) or isinstance(answer, (str, Failure))):
        raise TypeError(f"register() takes a Failure, a kind, 'control_flow' or a function, not {answer!r}")
    _known[error] = answer
    classify_built_in()


def forget(error: type[Exception] | str) -> None:
    """Takes back what `register`, or the library itself, says of a class."""
    _known.pop(error, None)


def find(error: Exception, on: Any) -> Any:
    """The answer for an error: a Failure, a word, "group" for a group of errors; None if its class is not known."""
    for kind in type(error).__mro__:
        answer = _known.get(kind)
        if answer is None:
            answer = _known.get(f"{kind.__module__.partition('.')[0]}.{kind.__qualname__}")
        if answer is None or (on is not None and _is_named(kind, error, on)):
            continue
        if callable(answer):
            answer = answer(error)
        if answer is not None:
            return answer
    return None


def named(error: Exception, on: Any) -> list[str]:
    """The names of the error's classes that the user's types name."""
    return [kind.__name__ for kind in type(error).__mro__ if _is_named(kind, error, on)]


def _is_named(kind: type, error: Exception, on: Any) -> bool:
    """True if the user's types name that class of the error, or one between it and the error's own."""
    types: tuple[type, ...] = on if isinstance(on, tuple) else (on,)  # pyright: ignore[reportUnknownVariableType]
    return any(isinstance(error, named) and issubclass(named, kind) for named in types)
