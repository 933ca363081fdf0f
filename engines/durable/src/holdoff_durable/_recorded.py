"""A workflow as the journal has it: the progress of its steps, and how it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdoff.log import Event, EventError, ReplayError, replay

from ._entries import CHANGED, ENDS, KINDS
from ._errors import DefinitionChanged, JournalDamaged, WorkflowCancelled, WorkflowFailed
from ._journal import ENDED
from ._step_run import StepRun
from ._suspects import suspicion
from ._workflow import UNDO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdoff.log import Recorder

    from ._entries import JournalEvent
    from ._host import Host
    from ._lease import Lease
    from ._workflow import Step as Definition, Workflow


class Recorded:
    """The steps of a workflow, made from its events."""

    def __init__(self, host: Host, flow: Workflow, lease: Lease, events: Sequence[JournalEvent]) -> None:
        self.flow = flow
        self.lease = lease
        self.where = f"{host.journal.where}, workflow {lease.workflow_id!r}"
        self.host = host
        # The first event was written when it began.
        self._workflow_events = max(1, sum(event.step == "" for event in events))
        self._failed: list[StepRun] = []
        self._was_cancelled = False
        self.steps = {name: self._step(definition) for name, definition in flow.steps.items()}
        self.undone: dict[str, StepRun] = {}
        self._restore(events)
        self._check_end()

    def _step(self, definition: Definition) -> StepRun:
        return StepRun(definition, *self.host.guards_of(self.flow, definition))

    def _restore(self, events: Sequence[JournalEvent]) -> None:
        for event in events:
            if not event.step:
                self._was_cancelled = self._was_cancelled or event.type == "WORKFLOW_CANCELLING"
                continue
            run = self._known(event.step)
            if event.type in KINDS:
                run.log.append(event)
                if event.failure_reason is not None:
                    run.reason = event.failure_reason
                if event.type == "SUCCEEDED":
                    run.result = event.payload.get("result")
            elif event.type == "SKIPPED":
                run.outcome = "skipped"
            run.ended_at = event.sequence
        for run in [*self.steps.values(), *self.undone.values()]:
            if run.log:
                run.recorder = self._replayed(run)
                run.step = run.recorder.step
                # If the log stops in the middle of a transaction, the store lost data: the replay reports that first.
                if run.log[-1].type in ENDS:
                    run.outcome = run.step.outcome
                elif run.step.kind == "attempt" or run.log[-1].attempt_number == run.recorder.attempt:
                    run.suspicion = suspicion(run.log, events, self.lease.died, self.host.options.lease)
        gave_up = [run for run in self._all() if run.outcome == "gave_up"]
        self._failed = sorted(gave_up, key=lambda run: run.ended_at)

    def _check_end(self) -> None:
        """A workflow that has ended has no step that has not."""
        open_ones = [run.name for run in self.steps.values() if run.outcome is None]
        if self.lease.status in ENDED and open_ones:
            problem = f"it is {self.lease.status}, and step {open_ones[0]!r} has no end"
            raise JournalDamaged(problem, self.where, CHANGED)

    def _all(self) -> list[StepRun]:
        return [*self.steps.values(), *self.undone.values()]

    def _known(self, name: str) -> StepRun:
        if name in self.steps:
            return self.steps[name]
        if name in self.undone:
            return self.undone[name]
        if name.startswith(UNDO) and name[len(UNDO) :] in self.steps:
            undoing = self.steps[name[len(UNDO) :]].definition.undoing()
            if undoing is not None:
                return self.undone.setdefault(name, self._step(undoing))
        raise DefinitionChanged(
            f"step {name!r} is under way, and the workflow {self.flow.name!r} has no such step any more",
            self.where,
            "nothing was written; run it under the definition it was begun with",
        )

    def _replayed(self, run: StepRun) -> Recorder:
        try:
            log = [Event.from_dict(event.event) for event in run.log]
            return replay(run.definition.policy, log, any_policy=self.host.options.any_policy)
        except ReplayError as error:
            if error.name == "log_policy" and not self.host.options.any_policy:
                raise DefinitionChanged(
                    f"step {run.name!r} began under another policy",
                    self.where,
                    "nothing was written; run it under the policy it began with, or go on under the new one with "
                    "Runner(any_policy=True)",
                ) from error
            raise JournalDamaged(f"the log of step {run.name!r}: {error}", self.where, _SAFE) from error
        except EventError as error:
            raise JournalDamaged(f"the log of step {run.name!r}: {error}", self.where, _SAFE) from error

    def results_or_raise(self) -> dict[str, Any]:
        """The results of a workflow that has ended, or the error that it ended with."""
        results = {name: run.result for name, run in self.steps.items() if run.outcome == "succeeded"}
        if len(results) == len(self.steps):
            return results
        outcomes = {name: run.outcome or "" for name, run in self.steps.items()}
        for name, undone in self.undone.items():
            if undone.outcome == "succeeded":
                outcomes[name[len(UNDO) :]] = "compensated"
        if not self._failed:
            raise WorkflowCancelled(self.lease.workflow_id, outcomes, results)
        failures = self._failures()
        errors = {run.name: run.error for run in self._failed if run.error is not None}
        failed = WorkflowFailed(self.lease.workflow_id, failures, outcomes, results, errors)
        raise failed from next(iter(errors.values()), None)

    def _failures(self) -> dict[str, str]:
        """Why each step gave up: its last error, or what ended it before there was one."""
        return {run.name: run.reason or f"gave up: {run.step and run.step.reason}" for run in self._failed}


_SAFE = "nothing was written; restore the journal, or run the workflow again under a new id"
