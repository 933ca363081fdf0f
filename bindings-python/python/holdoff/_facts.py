"""The facts about errors of other libraries: names, codes and messages of an error and its causes.

The client table in the core says what they mean. Loaded at the first error that is not a plain built-in one, or whose
codes or classes a rule names.
"""

from __future__ import annotations

import builtins
from errno import errorcode

from ._errors import get

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
_CAUSES = 8
"""How many errors behind an error are looked at."""
_IN_CONTEXT = frozenset(["botocore", "redis"])
"""Packages whose errors have their cause as the context alone."""
_CONNECTS = frozenset(["_tunnel", "create_connection", "do_handshake", "start_tls"])
"""Functions in which no request has been sent yet."""


def clues(error: BaseException) -> tuple[list[str], list[str], str, bool]:
    """The names and the messages of an error and its causes, for the client table; the word of its kind if its numbers
    say it; and True if the status in it is no server's."""
    names: list[str] = []
    messages: list[str] = []
    kind = ""
    for cause in _causes(error):
        names += _names(cause)
        names += [code for code in _codes(cause) if isinstance(code, str)]
        try:
            messages.append(str(cause))
        except Exception:
            continue
        if _is_connecting(cause):
            names.append("connect")
        kind = kind or _kind_by_number(cause)
    return names, messages, kind, "BadHttpMessage" in names


def details(error: BaseException, codes: bool, types: bool) -> tuple[list[Any], list[str]]:
    """The codes of an error, and the names of its classes. The flags choose what is looked up."""
    return (
        [code for cause in _causes(error) for code in _codes(cause)] if codes else [],
        _names(error) if types else [],
    )


def _is_connecting(error: BaseException) -> bool:
    """True if the error came before there was a connection, by the functions that it came through."""
    # asyncio tries several addresses, and puts their errors into one message.
    if type(error) is OSError and "Connect call failed" in str(error):
        return True
    traceback = error.__traceback__
    while isinstance(error, OSError) and traceback is not None:
        if traceback.tb_frame.f_code.co_name in _CONNECTS:
            return True
        traceback = traceback.tb_next
    return False


def _kind_by_number(error: BaseException) -> str:
    """The kind of an error of SMTP by its codes, or of a statement that SQLite refuses; "" for others."""
    if get(error, "sqlite_errorname") == "SQLITE_ERROR":
        return "permanent"
    answers: Any = get(error, "recipients")
    try:
        numbers = [_item(answer, 0) for answer in answers.values()]
    except Exception:
        numbers = []
    if not numbers and "SMTPResponseException" in _names(error):
        numbers = [get(error, "smtp_code")]
    if not numbers or not all(isinstance(number, int) for number in numbers):
        return ""
    return "permanent" if min(numbers) >= 500 else "transient"


def end_of_rpc(error: Any, is_rpc: bool) -> tuple[Any, Any] | None:
    """The name of a gRPC error's status code, and its trailing metadata: ``error.code()`` of a class called
    ``RpcError`` (grpc, grpc.aio), ``error.grpc_status_code`` (google.api_core)."""
    code = get(error, "grpc_status_code")
    if code is None and is_rpc:
        try:
            code = error.code()
        except Exception:
            return None
    if code is None:
        return None
    for of in (error, get(error, "response")):
        try:
            return get(code, "name"), of.trailing_metadata()
        except Exception:
            continue
    return get(code, "name"), None


def is_used_body(error: BaseException) -> bool:
    """True if an error says that the body of its request was used up by an earlier one: of httpx, urllib3, requests,
    and of h11, whose next body is empty."""
    names = _names(error)
    if "StreamConsumed" in names or "UnrewindableBodyError" in names:
        return True
    try:
        return "LocalProtocolError" in names and "Too little data" in str(error)
    except Exception:
        return False


def _item(of: Any, key: object) -> Any:
    """An item; None without it."""
    try:
        return of[key]
    except Exception:
        return None


def _names(error: BaseException) -> list[str]:
    """The names of an error's class and of its base classes."""
    names = [kind.__name__ for kind in type(error).__mro__]
    if "PoolError" in names and "HTTPError" in names:
        # The base of nearly all errors of urllib3's pools.
        names.remove("PoolError")
    if "NewConnectionError" in names:
        # Its base says timeout, also where a connection was refused.
        names = [name for name in names if "Timeout" not in name]
    return names


def _causes(error: BaseException) -> list[BaseException]:
    """An error and the errors that caused it: its cause, ``reason`` (urllib, urllib3), ``orig`` (SQLAlchemy), or an
    argument (requests)."""
    causes = [error]
    while len(causes) < _CAUSES:
        last = causes[-1]
        behind = [get(last, name) for name in ("__cause__", "reason", "orig")]
        arguments = get(last, "args")
        behind += arguments if isinstance(arguments, tuple) else []
        if type(last).__module__.partition(".")[0] in _IN_CONTEXT:
            behind.append(get(last, "__context__"))
        for cause in behind:
            if isinstance(cause, BaseException) and not any(cause is known for known in causes):
                causes.append(cause)
                break
        else:
            break
    return causes


def _codes(error: BaseException) -> list[Any]:
    """The codes of an error: a text in ``code``, ``sqlstate``, ``pgcode`` or ``sqlite_errorname``, the name of its
    errno, and botocore's."""
    codes = [get(error, name) for name in ("code", "sqlstate", "pgcode", "sqlite_errorname")]
    number = get(error, "errno")
    if isinstance(number, int):
        codes.append(errorcode.get(number))
    codes.append(_item(_item(get(error, "response"), "Error"), "Code"))
    return codes
