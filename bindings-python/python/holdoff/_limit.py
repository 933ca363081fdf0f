"""When the attempt that runs in this context must be over, in nanoseconds of the clock."""

from __future__ import annotations

from contextvars import ContextVar

LIMIT: ContextVar[int | None] = ContextVar("holdoff.limit", default=None)
