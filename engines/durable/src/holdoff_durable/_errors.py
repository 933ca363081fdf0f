"""The errors of journals and workflows: each says what happened, where, and what is safe to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class JournalError(Exception):
    """A journal that could not do what it was asked. Its cause is what the database said.

    The text has three parts: what happened, where, and what is safe. No event is ever written by halves: what belongs
    together is one transaction.
    """

    transient: bool = False
    """True if the same may work later without a change of the program: a runner goes on trying."""

    def __init__(self, what: str, where: str, safe: str = "", *, unknown: bool = False) -> None:
        self.what = what
        """The event that went wrong, in words."""
        self.where = where
        """The file or the server, without a password, and the workflow if it was about one."""
        self.safe = safe
        """The state of the journal, and advice."""
        self.unknown = unknown
        """True if it may have been written all the same: the connection was lost while committing.

        Appending the same again settles it, since nothing is written twice.
        """
        if unknown:
            safe = f"it may have been written all the same, and appending it again settles that; {safe}"
        super().__init__(f"{where}: {what}" + (f"\n  {safe.rstrip('; ')}" if safe else ""))

    def __reduce__(self) -> tuple[object, ...]:
        return (_again, (type(self), self.what, self.where, self.safe, self.unknown))


def _again(kind: type[JournalError], what: str, where: str, safe: str, unknown: bool) -> JournalError:
    return kind(what, where, safe, unknown=unknown)


class JournalFull(JournalError):
    """No space is left for the journal."""

    transient = True


class JournalLocked(JournalError):
    """Another program holds the journal's lock for longer than the journal waits."""

    transient = True


class JournalUnavailable(JournalError):
    """The file cannot be reached, or the server is away."""

    transient = True


class JournalReadOnly(JournalError):
    """The file or the server takes no writes."""


class JournalRefused(JournalError):
    """The server does not let this user in, or the user may not do this."""


class NotAJournal(JournalError):
    """There is something else where the journal should be, or nothing."""


class JournalVersion(JournalError):
    """The journal's tables are of another version of holdoff."""


class JournalDamaged(JournalError):
    """The journal contains something that was never written."""


class JournalConflict(JournalError):
    """There is another event under the number that this one has: two programs have written the same history."""


class PayloadError(JournalError):
    """A value that JSON cannot hold."""


class WorkflowUnknown(JournalError):
    """The journal has no such workflow."""


class WorkflowBusy(JournalError):
    """Another runner has the workflow."""


class WorkflowSilent(WorkflowBusy):
    """The lease of another runner has ended, but that runner may be alive. Runners wait before they take it over."""

    until: int = 0
    """The end of the lease."""
    length: int = 0
    """How many nanoseconds the lease lasted."""


class LeaseLost(JournalError):
    """Another runner has taken the workflow over: this one must not write, and stops."""


class DefinitionError(ValueError):
    """A workflow whose definition makes no sense."""


class DefinitionChanged(JournalError):
    """The workflow was begun under a definition with which this one cannot go on."""


class WorkflowFailed(Exception):
    """A workflow that ended without its results. Its cause is the error of the step that failed first."""

    def __init__(
        self,
        workflow_id: str,
        failures: Mapping[str, str],
        outcomes: Mapping[str, str],
        results: Mapping[str, object],
        errors: Mapping[str, BaseException],
    ) -> None:
        self.workflow_id = workflow_id
        self.failures = dict(failures)
        """The reason of each step that failed, in the order in which they did."""
        self.outcomes = dict(outcomes)
        """The outcome of every step: "succeeded", "gave_up", "cancelled", "skipped" or "compensated"."""
        self.results = dict(results)
        """The results of the steps that succeeded."""
        self.errors = dict(errors)
        """The last error of each step that failed in this process."""
        reasons = "; ".join(f"{step}: {reason}" for step, reason in self.failures.items())
        super().__init__(f"workflow {workflow_id!r} failed" + (f": {reasons}" if reasons else ""))

    def __reduce__(self) -> tuple[object, ...]:
        return (
            type(self),
            (self.workflow_id, self.failures, self.outcomes, self.results, self.errors),
        )


class WorkflowInterrupted(Exception):
    """A workflow whose runner was stopped before it ended. Run again, it goes on from what was recorded."""

    def __init__(self, workflow_id: str) -> None:
        self.workflow_id = workflow_id
        super().__init__(f"workflow {workflow_id!r} was interrupted, as its runner was stopped: run it again")

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.workflow_id,))


class WorkflowCancelled(Exception):
    """A workflow that was cancelled before it ended."""

    def __init__(self, workflow_id: str, outcomes: Mapping[str, str], results: Mapping[str, object]) -> None:
        self.workflow_id = workflow_id
        self.outcomes = dict(outcomes)
        """The outcome of every step."""
        self.results = dict(results)
        """The results of the steps that succeeded."""
        super().__init__(f"workflow {workflow_id!r} was cancelled")

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.workflow_id, self.outcomes, self.results))
