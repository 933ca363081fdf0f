"""Replacements of functions and methods, put back when the audit ends."""

from __future__ import annotations

import sys
from typing import Any

# A test's report has the real times of the test.
_UNTOUCHED = ("_pytest", "pytest", "pluggy", "holdoff_audit")
_MISSING = object()


class Patches:
    """Attributes that are replaced for a while."""

    def __init__(self) -> None:
        self._before: list[tuple[Any, str, Any]] = []

    def set(self, owner: Any, name: str, value: Any) -> Any:
        """Replaces an attribute. Returns its value, inherited or not."""
        before = getattr(owner, name)
        own: Any = getattr(owner, "__dict__")  # noqa: B009
        self._before.append((owner, name, own.get(name, _MISSING)))
        setattr(owner, name, value)
        return before

    def everywhere(self, replaced: dict[Any, Any]) -> None:
        """Replaces functions in all modules that imported them by name."""
        by_id = {id(before): after for before, after in replaced.items()}
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] in _UNTOUCHED:
                continue
            for attribute, value in list(getattr(module, "__dict__", {}).items()):
                if id(value) in by_id:
                    self.set(module, attribute, by_id[id(value)])

    def undo(self) -> None:
        while self._before:
            owner, name, value = self._before.pop()
            if value is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
