"""The outcomes of operations that gave up with a value. Loaded when the first one does."""

from __future__ import annotations

from weakref import ref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._holdoff import Outcome

_KNOWN: dict[int, tuple[ref[Any], Outcome]] = {}
"""The outcomes by the identity of their values, because many values have no hash."""


def remember(value: Any, outcome: Outcome) -> None:
    """Keep the outcome for as long as the value lives, if Python can tell how long that is."""
    key = id(value)
    try:
        _KNOWN[key] = (ref(value, lambda _: _KNOWN.pop(key, None)), outcome)
    except TypeError:
        _KNOWN.pop(key, None)


def recall(value: Any) -> Outcome | None:
    """The outcome of the value; None without one."""
    found = _KNOWN.get(id(value))
    return found[1] if found is not None and found[0]() is value else None
