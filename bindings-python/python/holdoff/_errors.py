"""The exceptions of the library's own. What an operation raises comes out as it is."""

from __future__ import annotations


class ConfigError(ValueError):
    """A policy or an argument that breaks a rule: ``path = value: rule; did you mean "nearest"?``"""

    code: int = 0
    """The number of the rule, the same in every language."""
    name: str = ""
    """The word of the rule, the same in every language."""
    path: str = ""
    """The field, or the name as it was given when there is no such field."""
    rule: str = ""
    """What the value must be."""
    nearest: str | None = None
    """The valid name nearest to the one that was given, when one is near."""


class SaveError(ConfigError):
    """A saved state that is none, is damaged, or is of another kind or policy. Its path is the field, if any."""


class Refused(Exception):
    """A guard let the call make no attempt; its outcome says the same."""

    reason: str = ""
    """Which one: "breaker", "limiter", "bulkhead" or "budget"."""
    retry_at: float | None = None
    """When another try might succeed, on the clock of ``time.monotonic``; None when nobody knows."""
    retry_in: float | None = None
    """Seconds until then, from when this was raised."""


class Cancelled(Exception):
    """The token was cancelled before the operation succeeded. Its cause is the last error, if there was one."""
