"""State machines for a loop of your own, the machines of other systems, and a timer: plain retries need none of them.

The loop of a call (Call), the loop under guards (GuardedCall), one decision for each failure (Retry), and the delays
alone (Schedule). A retry inside a retry (Layered); Kubernetes' backoffs and periodic task (WaitBackoff, LoopBackoff,
Periodic); gates that close after failures (Gate, Keyed); a bucket of tokens; one timer for many sleeps (Wheel);
failures on purpose (Chaos). Times are ints of nanoseconds, and NEVER means never.
"""

from ._errors import SaveError
from ._holdoff import (
    NEVER,
    Bucket,
    Call,
    Chaos,
    Decision,
    Gate,
    GateConfig,
    GuardedCall,
    Keyed,
    Layered,
    Layers,
    LoopBackoff,
    Periodic,
    PeriodicStep,
    Retry,
    Schedule,
    Step,
    WaitBackoff,
    Wheel,
)

__all__ = [
    "NEVER",
    "Bucket",
    "Call",
    "Chaos",
    "Decision",
    "Gate",
    "GateConfig",
    "GuardedCall",
    "Keyed",
    "Layered",
    "Layers",
    "LoopBackoff",
    "Periodic",
    "PeriodicStep",
    "Retry",
    "SaveError",
    "Schedule",
    "Step",
    "WaitBackoff",
    "Wheel",
]
