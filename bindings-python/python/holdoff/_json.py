"""JSON as strictly as it is defined, by Python's own reader. Loaded when the first document is read."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


class _Twice(dict[str, object]):
    """An object with a name that comes twice, which whoever reads it is told."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self._pairs = pairs

    def items(self) -> Any:
        return self._pairs


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    return fields if len(fields) == len(pairs) else _Twice(pairs)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def loads(text: str | bytes) -> Any:
    """What the text says. A ValueError for what is no JSON, or lies too deep in itself to be read."""
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("too deep") from None
