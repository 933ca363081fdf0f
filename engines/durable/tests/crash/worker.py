"""What a process does that is going to be killed: it opens the journal and runs the workflows to their end."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from typing import TYPE_CHECKING

from holdoff import Policy
from holdoff_durable import Runner, StepContext, Workflow, WorkflowFailed, WorkflowInterrupted

from .effects import Effects
from .life import MOST_KILLS, Stopped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from holdoff import Failure
    from holdoff_durable import Journal

    from .check import Findings
    from .places import Place
    from .plan import FlowPlan, StepPlan

    Begin = Callable[[str, str, int], None]


GRACE = 60.0
"""Seconds that attempts in flight have to end after a SIGTERM: all of them do."""


class Scripted(Exception):
    """A failure that the plan has."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.kind)
        self.failure = failure


def work(place: Place, plans: Sequence[FlowPlan], file: Path, life: int, log: Path, *, poisoned: bool = False) -> None:
    """All workflows, to their end; with `poisoned`, beside one whose step kills the process."""
    logging.basicConfig(filename=log, format="%(asctime)s %(message)s", level=logging.WARNING)
    effects = Effects(file, life)
    workflows = [_workflow(plan, effects.begin) for plan in plans]
    poison = [_poison()] if poisoned else []
    # As many reruns as there are kills: an attempt that was interrupted too often counts as failed.
    with Runner(place.journal(), reruns=MOST_KILLS, grace=GRACE) as runner:
        # A program with a handler of its own.
        signal.signal(signal.SIGTERM, lambda *_: runner.stop())
        if life:
            runner.resume_all([*workflows, *poison])
        asyncio.run(_run_all(runner, plans, workflows, poison))


async def _run_all(
    runner: Runner, plans: Sequence[FlowPlan], workflows: Sequence[Workflow], poison: Sequence[Workflow]
) -> None:
    runs = (runner.run_async(flow, plan.id, plan.shape) for plan, flow in zip(plans, workflows, strict=True))
    beside = (runner.run_async(flow, flow.name) for flow in poison)
    answers = (await asyncio.gather(*runs, *beside, return_exceptions=True))[: len(plans)]
    if any(isinstance(answer, WorkflowInterrupted) for answer in answers):
        raise Stopped
    for plan, answer in zip(plans, answers, strict=True):
        if isinstance(answer, BaseException) and not isinstance(answer, WorkflowFailed):
            raise answer
        if plan.succeeds():
            assert answer == plan.results(), f"{plan.id}: {answer!r}"
        else:
            assert isinstance(answer, WorkflowFailed), f"{plan.id}: {answer!r}"
            assert {*answer.failures} == {step.name for step in plan.steps if step.doom}


POISON = "poison"


def _poison() -> Workflow:
    flow = Workflow(POISON)

    @flow.step
    def kill() -> None:
        # In the middle of what the others do.
        time.sleep(0.03)
        os.kill(os.getpid(), signal.SIGKILL)

    return flow


def _workflow(plan: FlowPlan, begin: Begin) -> Workflow:
    flow = Workflow(plan.id)
    for step in plan.steps:
        function = _blocking(step, begin) if step.blocking else _awaited(step, begin)
        flow.step(
            name=step.name,
            after=step.after,
            policy=Policy.from_dict(step.policy),
            on=_failure,
            guards=step.guards,
        )(function)
    return flow


def _failure(error: Exception) -> Failure:
    assert isinstance(error, Scripted)
    return error.failure


def _blocking(step: StepPlan, begin: Begin) -> Callable[[StepContext], str]:
    def run(context: StepContext) -> str:
        begin(step.flow, step.name, context.attempt)
        time.sleep(step.rest(context.attempt))
        return _result(step, context)

    return run


def _awaited(step: StepPlan, begin: Begin) -> Callable[[StepContext], object]:
    async def run(context: StepContext) -> str:
        begin(step.flow, step.name, context.attempt)
        await asyncio.sleep(step.rest(context.attempt))
        return _result(step, context)

    return run


def _result(step: StepPlan, context: StepContext) -> str:
    failure = step.failure(context.attempt)
    if failure is not None:
        raise Scripted(failure)
    return step.result(context.results)


def look(journal: Journal, plans: Sequence[FlowPlan], found: Findings) -> None:
    """What the journal itself says of the workflows, and the core of each log."""
    for plan in plans:
        record = journal.workflow(plan.id)
        status = None if record is None else record.status
        wanted = "COMPLETED" if plan.succeeds() else "FAILED"
        found.must(status == wanted, f"{plan.id}: is {status}, and should be {wanted}")
        flow = _workflow(plan, lambda flow, step, attempt: None)
        divergence = journal.verify(flow, plan.id)
        found.must(divergence is None, f"{plan.id}: {divergence}")
        found.must(_context_is_right(journal, plan), f"{plan.id}: its retry context is not what its events say")
        found.counts["verified"] += sum(plan.is_reached(step) for step in plan.steps)


def _context_is_right(journal: Journal, plan: FlowPlan) -> bool:
    """True if the retry context is what the events say."""
    said: dict[str, dict[str, int | None]] = {}
    for event in journal.events(plan.id):
        if event.step:
            of_step = said.setdefault(event.step, {"currentAttempt": 1, "lastBackoff": None})
            of_step["currentAttempt"] = event.attempt_number
            of_step["lastBackoff"] = (
                of_step["lastBackoff"] if event.backoff_delay_ms is None else event.backoff_delay_ms
            )
    return journal.retry_context(plan.id) == said
