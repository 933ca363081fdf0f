"""The clocks that holdoff reads: those of the system, or the virtual ones of a test (`holdoff.testing`).

A program that waits by itself reads these instead of the module `time`, so that tests can move its time, too.
"""

from __future__ import annotations

import time

from ._holdoff import monotonic_ns, overridden_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .testing import VirtualTime

__all__ = ["monotonic_ns", "time_ns", "virtual_time"]


def virtual_time() -> VirtualTime | None:
    """The virtual time in force; None where time passes by itself."""
    replacement: VirtualTime | None = overridden_time()
    return replacement


def time_ns() -> int:
    """The wall clock: nanoseconds since 1970."""
    virtual = virtual_time()
    return time.time_ns() if virtual is None else virtual.time_ns()
