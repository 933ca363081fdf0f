"""Retries that outlive their process: a journal of every event, and workflows that go on where they were.

    journal = Journal("orders.db")
    flow = Workflow("order")

docs/durable.md says what is promised.
"""

from ._entries import Entry as Entry, JournalEvent as JournalEvent
from ._errors import (
    DefinitionChanged as DefinitionChanged,
    DefinitionError as DefinitionError,
    JournalConflict as JournalConflict,
    JournalDamaged as JournalDamaged,
    JournalError as JournalError,
    JournalFull as JournalFull,
    JournalLocked as JournalLocked,
    JournalReadOnly as JournalReadOnly,
    JournalRefused as JournalRefused,
    JournalUnavailable as JournalUnavailable,
    JournalVersion as JournalVersion,
    LeaseLost as LeaseLost,
    NotAJournal as NotAJournal,
    PayloadError as PayloadError,
    WorkflowBusy as WorkflowBusy,
    WorkflowCancelled as WorkflowCancelled,
    WorkflowFailed as WorkflowFailed,
    WorkflowInterrupted as WorkflowInterrupted,
    WorkflowUnknown as WorkflowUnknown,
)
from ._journal import Journal as Journal, WorkflowRecord as WorkflowRecord
from ._lease import Lease as Lease
from ._runner import Runner as Runner
from ._verify import Divergence as Divergence
from ._workflow import Step as Step, StepContext as StepContext, Workflow as Workflow
