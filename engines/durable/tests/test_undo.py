"""Workflows that are ended before their time: cancelled, or undone step by step."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import holdoff
import pytest
from durable_flows import PATIENT, cut, decisions, of_step
from holdoff.testing import VirtualTime
from holdoff_durable import Journal, Runner, StepContext, Workflow as Flow, WorkflowCancelled, WorkflowFailed


def test_compensations_run_in_reverse_and_are_recorded_themselves(runner: Runner, clock: VirtualTime) -> None:
    flow = Flow("saga", policy=PATIENT)
    undone: list[str] = []
    tries = iter([True, False])

    def refund(charge: str, context: StepContext) -> None:
        if next(tries):
            raise ConnectionError("the bank is away")
        undone.append(f"refund {charge} as {context.step}")

    flow.step(name="reserve", compensate=lambda input: undone.append(f"release {input}"))(lambda: "r")
    flow.step(name="charge", after=["reserve"], compensate=refund)(lambda: "c")

    @flow.step(after=["charge"])
    def ship() -> None:
        raise TypeError("no address")

    with pytest.raises(WorkflowFailed) as caught:
        runner.run(flow, "1", 7)
    assert undone == ["refund c as compensate:charge", "release 7"]
    assert caught.value.outcomes == {"reserve": "compensated", "charge": "compensated", "ship": "gave_up"}
    assert ("RETRY_SCHEDULED", 2) in of_step(runner.journal, "compensate:charge")
    with pytest.raises(WorkflowFailed) as again:
        runner.run(flow, "1")
    assert again.value.outcomes == caught.value.outcomes
    assert len(undone) == 2


def test_a_crash_in_a_compensation_goes_on_with_it(tmp_path: Path, clock: VirtualTime) -> None:
    undone: list[str] = []

    def saga() -> Flow:
        flow = Flow("saga")
        flow.step(name="one", compensate=lambda: undone.append("one"))(lambda: 1)
        flow.step(name="two", after=["one"], compensate=lambda: undone.append("two"))(lambda: 2)

        @flow.step(after=["two"])
        def three() -> None:
            raise TypeError("no")

        return flow

    whole = tmp_path / "whole.db"
    with Runner(Journal(whole)) as runner:
        with pytest.raises(WorkflowFailed) as caught:
            runner.run(saga(), "1")
        events = runner.journal.events("1")
    for count in range(1, len(events)):
        cut(whole, tmp_path / f"{count}.db", count)
        undone.clear()
        with Runner(Journal(tmp_path / f"{count}.db")) as runner:
            answer = runner.resume_all([saga()])["1"]
            assert isinstance(answer, WorkflowFailed)
            assert answer.outcomes == caught.value.outcomes
            assert decisions(runner.journal.events("1")) == decisions(events)
        done = [e.step for e in events[:count] if e.type == "SUCCEEDED" and e.step.startswith("compensate")]
        assert undone == ["two", "one"][len(done) :]


def test_a_token_cancels_the_workflow_and_what_was_done_is_undone(runner: Runner, clock: VirtualTime) -> None:
    token = holdoff.Cancel()
    undone: list[str] = []
    flow = Flow("stopped")
    flow.step(name="first", compensate=lambda: undone.append("first"))(lambda: 1)

    @flow.step(after=["first"])
    async def hang(context: StepContext) -> None:
        assert not context.cancelled
        token.cancel()
        await asyncio.sleep(60)

    flow.step(name="never", after=["hang"])(lambda: None)
    with pytest.raises(WorkflowCancelled) as caught:
        runner.run(flow, "1", cancel=token)
    assert caught.value.outcomes == {"first": "compensated", "hang": "cancelled", "never": "skipped"}
    assert undone == ["first"]
    assert of_step(runner.journal, "hang") == [("STARTED", 1), ("CANCELLED", 1)]
    assert [record.status for record in runner.journal.workflows()] == ["CANCELLED"]
    with pytest.raises(WorkflowCancelled):
        runner.run(flow, "1")


def test_cancelling_ends_a_pending_retry(runner: Runner) -> None:
    token = holdoff.Cancel()
    flow = Flow("waits")

    @flow.step(policy={"attempts": 2, "backoff": {"kind": "constant", "delay": "1h"}, "jitter": "none"})
    def fail() -> None:
        threading.Timer(0.05, token.cancel).start()
        raise ConnectionError("down")

    with pytest.raises(WorkflowCancelled):
        runner.run(flow, "1", cancel=token)
    assert of_step(runner.journal, "fail")[-1] == ("CANCELLED", 1)
