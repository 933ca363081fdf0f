"""The library's own exceptions. The errors of an operation are raised unchanged."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._holdoff import Event


class ConfigError(ValueError):
    """A policy or an argument that breaks a rule: ``path = value: rule; did you mean "nearest"?``"""

    __module__ = "holdoff"
    code: int = 0
    """The number of the rule, the same in every language."""
    name: str = ""
    """The word of the rule, the same in every language."""
    path: str = ""
    """The field, or the name as it was given when there is no such field."""
    rule: str = ""
    """The rule for the value."""
    nearest: str | None = None
    """The valid name nearest to the unknown name, if any is near."""


class SaveError(ConfigError):
    """The value is no saved state, is damaged, or belongs to another kind or policy. Its path is the field, if any."""

    __module__ = "holdoff.machines"


class EventError(ConfigError):
    """The value is no event, is cut or damaged, has another version, or has a field that does not fit."""

    __module__ = "holdoff.log"
    sequence: int = 0
    """The place in its log at which the event was expected; 0 where that is not known."""


class ReplayError(ValueError):
    """The log is no log of a call, or is the log of another policy."""

    __module__ = "holdoff.log"
    code: int = 0
    """The number of the rule, the same in every language."""
    name: str = ""
    """The word of the rule, the same in every language."""
    sequence: int = 0
    """The event that it is about; where one is missing, the first that is."""
    recorded: Event | None = None
    """The event that came."""
    computed: Event | None = None
    """The event that the policy decides instead, if known."""


class Refused(Exception):
    """A guard let the call make no attempt; its outcome says the same."""

    __module__ = "holdoff"
    reason: str = ""
    """Which one: "breaker", "limiter", "bulkhead" or "budget"."""
    retry_at: float | None = None
    """When another try might succeed, on the clock of ``time.monotonic``; None if unknown."""
    retry_in: float | None = None
    """Seconds until then, from when this was raised."""


class Cancelled(Exception):
    """The token was cancelled before the operation succeeded. Its cause is the last error, if there was one."""

    __module__ = "holdoff"


def get(of: Any, name: str) -> Any:
    """An attribute, whose getter may fail in its own ways (httpx raises RuntimeError); None without it."""
    try:
        return getattr(of, name, None)
    except Exception:
        return None
