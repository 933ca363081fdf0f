"""The outcomes of operations: on the errors that they raised, and beside the values that they returned."""

from __future__ import annotations

from weakref import ref

from ._errors import Refused, get
from ._holdoff import Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BY_VALUE: dict[int, tuple[ref[Any], Outcome]] = {}
"""The outcomes by the identity of their values, because many values have no hash."""
_BEHIND = 64
"""The most errors behind an error that are looked at."""


def outcome_of(ended: object, /) -> Outcome | None:
    """The outcome of the operation that raised this error or returned this value when it gave up; None for others.

    It is the attribute `__holdoff__` of an error, which engines with loops of their own may set, too. Values keep no
    attribute: their outcomes are known for as long as the value lives, if Python can have weak references to it. A
    response of an HTTP client can, a dict or a str cannot.
    """
    attached = get(ended, "__holdoff__")
    if isinstance(attached, Outcome):
        return attached
    found = None if isinstance(ended, BaseException) else _BY_VALUE.get(id(ended))
    return found[1] if found is not None and found[0]() is ended else None


def given_up(failed: object, /) -> bool:
    """True if a retry gave up on this error or answer, on an error that led to it, or on the answer in one.

    For the predicates of other retries around this one: what a retry has given up on needs no more attempts.
    """
    return gave_up(failed, 0)


def gave_up(failed: object, handled: int, innermost: bool = False) -> bool:
    """The same, but the error with that identity is not looked at, nor those behind it, nor retries that are not
    innermost if only those count."""
    seen, left = {handled}, [failed]
    while left and len(seen) <= _BEHIND:
        last = left.pop()
        if id(last) in seen:
            continue
        seen.add(id(last))
        outcome = outcome_of(last)
        if outcome is not None and outcome.reason != "cancelled" and outcome.innermost >= innermost:
            return True
        if isinstance(last, BaseException):
            behind = [get(last, name) for name in ("response", "__context__", "__cause__")]
            left += [error for error in behind if error is not None]
    return False


def remember(value: Any, outcome: Outcome) -> None:
    """Keep the outcome for as long as the value lives, if Python can tell how long that is."""
    key = id(value)
    try:
        _BY_VALUE[key] = (ref(value, lambda _: _BY_VALUE.pop(key, None)), outcome)
    except TypeError:
        _BY_VALUE.pop(key, None)


def attach_outcome(error: BaseException, outcome: Outcome) -> None:
    """Attaches the outcome to an error that comes out: as an attribute and, from Python 3.11 on, as a note, unless the
    error's class refuses it. For loops of your own."""
    try:
        # The class may have a `__setattr__` that refuses; every exception has a dict of its own.
        BaseException.__setattr__(error, "__holdoff__", outcome)
        ends = "stopped" if outcome.reason == "cancelled" else "gave up"
        plural = "" if outcome.attempts == 1 else "s"
        note = f"holdoff: {ends} after {outcome.attempts} attempt{plural}: {outcome.description}"
        # The same exception object may come by again and again.
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)  # type: ignore[attr-defined,unused-ignore]
    except Exception:
        return


def refused(reason: Any, text: str, retry_at: float | None, retry_in: float | None) -> Refused:
    """The error of a call that a guard refused before its first attempt."""
    error = Refused(text)
    error.reason, error.retry_at, error.retry_in = reason, retry_at, retry_in
    return error
