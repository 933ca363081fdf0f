"""The facts about errors of other libraries, found by the names of their classes and attributes.

Loaded at the first error that is not a plain built-in one, or whose codes or classes a rule names.
"""

from __future__ import annotations

import builtins
from errno import errorcode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PROGRAMMING_ERRORS = """
    ArithmeticError AssertionError AttributeError BufferError ImportError LookupError MemoryError NameError
    NotImplementedError RecursionError ReferenceError StopAsyncIteration StopIteration SyntaxError SystemError TypeError
    ValueError Warning
"""
PROGRAMMING_ERRORS = tuple(getattr(builtins, name) for name in _PROGRAMMING_ERRORS.split())
"""Errors of the program itself, which a retry cannot cure."""
_UNSENT = """
    ConnectionRefusedError gaierror ConnectError ConnectTimeout PoolTimeout NewConnectionError NameResolutionError
    ConnectTimeoutError EmptyPoolError ClientConnectorError ConnectionTimeoutError EndpointConnectionError PoolError
    TooManyConnectionsError
"""
UNSENT = frozenset(_UNSENT.split())
"""Errors of connections that were never made: refused, of an unknown name, or for which the pool had no place."""
_CAUSES = 5
"""How many errors behind an error are looked at."""


def details(error: BaseException, codes: bool, types: bool, unsent: bool) -> tuple[list[Any], list[str], bool]:
    """The codes of an error, the names of its classes, and whether its request was never sent, each if asked for."""
    causes = _causes(error) if codes or unsent else []
    return (
        [code for cause in causes for code in _codes(cause)] if codes else [],
        _names(error) if types else [],
        unsent and not all(UNSENT.isdisjoint(_names(cause)) for cause in causes),
    )


def end_of_rpc(error: Any, is_rpc: bool) -> tuple[Any, Any] | None:
    """The name of a gRPC error's status code, and its trailing metadata: ``error.code()`` of a class called
    ``RpcError`` (grpc, grpc.aio), ``error.grpc_status_code`` (google.api_core)."""
    code = _get(error, "grpc_status_code")
    if code is None and is_rpc:
        try:
            code = error.code()
        except Exception:
            return None
    if code is None:
        return None
    for of in (error, _get(error, "response")):
        try:
            return _get(code, "name"), of.trailing_metadata()
        except Exception:
            continue
    return _get(code, "name"), None


def _get(of: Any, name: str) -> Any:
    """An attribute, whose getter may fail in its own ways (httpx raises RuntimeError); None without it."""
    try:
        return getattr(of, name, None)
    except Exception:
        return None


def _item(of: Any, key: object) -> Any:
    """An item; None without it."""
    try:
        return of[key]
    except Exception:
        return None


def _names(error: BaseException) -> list[str]:
    """The names of an error's class and of its base classes."""
    return [kind.__name__ for kind in type(error).__mro__]


def _causes(error: BaseException) -> list[BaseException]:
    """An error and the errors that caused it: its cause, ``reason`` (urllib, urllib3), ``orig`` (SQLAlchemy), or first
    argument (requests)."""
    causes = [error]
    while len(causes) < _CAUSES:
        for name in ("__cause__", "reason", "orig", "args"):
            cause = _get(causes[-1], name)
            if name == "args":
                cause = _item(cause, 0)
            if isinstance(cause, BaseException):
                causes.append(cause)
                break
        else:
            break
    return causes


def _codes(error: BaseException) -> list[Any]:
    """The codes of an error: a text in ``code``, ``sqlstate`` or ``pgcode``, the name of its errno, and botocore's."""
    codes = [_get(error, name) for name in ("code", "sqlstate", "pgcode")]
    number = _get(error, "errno")
    if isinstance(number, int):
        codes.append(errorcode.get(number))
    codes.append(_item(_item(_get(error, "response"), "Error"), "Code"))
    return codes
