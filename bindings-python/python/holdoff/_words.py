"""The words of failure kinds, for people who like their editor to complete them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


class FailureKind:
    """The kinds of failure a decision depends on. Each is a plain word."""

    TRANSIENT: Final = "transient"
    """May go away by itself: a lost connection, an overloaded server."""
    THROTTLED: Final = "throttled"
    """The server asked for less: HTTP 429."""
    TIMEOUT: Final = "timeout"
    """No answer in time."""
    PERMANENT: Final = "permanent"
    """Will fail again: a bad request, a programming error. Never retried."""
