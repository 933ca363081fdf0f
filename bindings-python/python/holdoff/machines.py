"""The machines of other systems, and a timer for many calls: plain retries need none of them.

A retry inside a retry (Layered); Kubernetes' backoffs and periodic task (WaitBackoff, LoopBackoff, Periodic); gates
that close after failures (Gate, Keyed); a bucket of tokens; one timer for many sleeps (Wheel); failures
on purpose (Chaos). Times are ints of nanoseconds.
"""

from ._holdoff import (
    Bucket,
    Chaos,
    Gate,
    GateConfig,
    Keyed,
    Layered,
    Layers,
    LoopBackoff,
    Periodic,
    PeriodicStep,
    WaitBackoff,
    Wheel,
)

__all__ = [
    "Bucket",
    "Chaos",
    "Gate",
    "GateConfig",
    "Keyed",
    "Layered",
    "Layers",
    "LoopBackoff",
    "Periodic",
    "PeriodicStep",
    "WaitBackoff",
    "Wheel",
]
