"""State machines for a loop of your own, the machines of other systems, and a timer: plain retries need none of them.

The loop of a call (Call), the loop under guards (GuardedCall), one decision for each failure (Retry), and the delays
alone (Schedule). A retry inside a retry (Layered); Kubernetes' backoffs and periodic task (WaitBackoff, LoopBackoff,
Periodic); gates that close after failures (Gate, Keyed); a bucket of tokens; one timer for many sleeps (Wheel);
failures on purpose (Chaos); and the outcome on the error that comes out (attach_outcome). Times are ints of
nanoseconds, and NEVER means never.
"""

from ._errors import SaveError as SaveError
from ._holdoff import (
    NEVER as NEVER,
    Bucket as Bucket,
    Call as Call,
    Chaos as Chaos,
    Decision as Decision,
    Gate as Gate,
    GateConfig as GateConfig,
    GuardedCall as GuardedCall,
    Keyed as Keyed,
    Layered as Layered,
    Layers as Layers,
    LoopBackoff as LoopBackoff,
    Periodic as Periodic,
    PeriodicStep as PeriodicStep,
    Retry as Retry,
    Schedule as Schedule,
    Step as Step,
    WaitBackoff as WaitBackoff,
    Wheel as Wheel,
)
from ._outcomes import attach_outcome as attach_outcome
