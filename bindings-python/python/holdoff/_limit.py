"""When the attempt that runs in this context must be over, in nanoseconds of the clock."""

from __future__ import annotations

from contextvars import ContextVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextvars import Token

LIMIT: ContextVar[int | None] = ContextVar("holdoff.limit", default=None)


def enter(at: int) -> Token[int | None]:
    """Limit what runs in this context; a nearer limit from outside stays."""
    outer = LIMIT.get()
    return LIMIT.set(at if outer is None else min(outer, at))


def leave(scope: Token[int | None]) -> None:
    """Undo that."""
    try:  # noqa: SIM105 (contextlib is slow to import)
        LIMIT.reset(scope)
    except ValueError:
        # A generator that was begun in one context ends in another, which the limit never reached.
        pass
