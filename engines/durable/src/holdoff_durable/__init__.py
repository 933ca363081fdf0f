"""Retries that outlive their process: a journal of every event, and workflows that go on where they were.

    journal = Journal("orders.db")
    flow = Workflow("order")

docs/durable.md says what is promised.
"""

from ._entries import Entry, JournalEvent
from ._errors import (
    DefinitionChanged,
    DefinitionError,
    JournalConflict,
    JournalDamaged,
    JournalError,
    JournalFull,
    JournalLocked,
    JournalReadOnly,
    JournalRefused,
    JournalUnavailable,
    JournalVersion,
    LeaseLost,
    NotAJournal,
    PayloadError,
    WorkflowBusy,
    WorkflowCancelled,
    WorkflowFailed,
    WorkflowInterrupted,
    WorkflowUnknown,
)
from ._journal import Journal, WorkflowRecord
from ._lease import Lease
from ._runner import Runner
from ._verify import Divergence
from ._workflow import Step, StepContext, Workflow

__all__ = [
    "DefinitionChanged",
    "DefinitionError",
    "Divergence",
    "Entry",
    "Journal",
    "JournalConflict",
    "JournalDamaged",
    "JournalError",
    "JournalEvent",
    "JournalFull",
    "JournalLocked",
    "JournalReadOnly",
    "JournalRefused",
    "JournalUnavailable",
    "JournalVersion",
    "Lease",
    "LeaseLost",
    "NotAJournal",
    "PayloadError",
    "Runner",
    "Step",
    "StepContext",
    "Workflow",
    "WorkflowBusy",
    "WorkflowCancelled",
    "WorkflowFailed",
    "WorkflowInterrupted",
    "WorkflowRecord",
    "WorkflowUnknown",
]
