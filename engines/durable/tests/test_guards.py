"""Guards that the steps of a runner share."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from holdoff.testing import VirtualTime
from holdoff_durable import Journal, Runner, WorkflowFailed
from holdoff_durable import Workflow as Flow


def test_guards_are_shared_by_steps_and_survive_the_runner(tmp_path: Path, clock: VirtualTime) -> None:
    calls: list[str] = []

    def flow(name: str) -> Flow:
        flow = Flow(name)

        @flow.step(policy={"attempts": 4, "backoff": {"kind": "constant", "delay": "1s"}, "jitter": "none"})
        def call() -> None:
            calls.append(name)
            raise ConnectionError("down")

        return flow

    guards: Any = {"breaker": {"failures": 2, "open_for": "1h"}}
    for name in ("first", "second"):
        with Runner(Journal(tmp_path / "journal.db"), guards=guards) as runner:
            with pytest.raises(WorkflowFailed):
                runner.run(flow(name), name)
            ends = [e for e in runner.journal.events(name) if e.type == "GAVE_UP"]
            assert ends[-1].event["reason"] == "breaker"
    assert calls == ["first", "first"], "the second runner found the breaker open"


def test_many_failures_stretch_the_delays(tmp_path: Path, clock: VirtualTime) -> None:
    flow = Flow("adaptive")

    @flow.step(policy={"attempts": 6, "backoff": {"kind": "constant", "delay": "1s"}, "jitter": "none"})
    def call() -> None:
        raise ConnectionError("down")

    with Runner(Journal(tmp_path / "journal.db"), guards={"stretch": {"factor": 4, "min_calls": 2}}) as runner:
        with pytest.raises(WorkflowFailed):
            runner.run(flow, "1")
        delays = [e.backoff_delay_ms for e in runner.journal.events("1") if e.type == "RETRY_SCHEDULED"]
        assert runner.journal.verify(flow, "1") is None
    assert delays[0] == 1000
    assert delays[-1] is not None
    assert delays[-1] > 1000


def test_a_full_bulkhead_lets_one_after_the_other_through(tmp_path: Path) -> None:
    flow = Flow("narrow")
    running = most = 0

    async def call() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1

    for index in range(6):
        flow.step(name=f"step-{index}")(call)
    with Runner(Journal(tmp_path / "journal.db"), guards={"bulkhead": {"limit": 2, "queue": 10}}) as runner:
        runner.run(flow, "1")
    assert most == 2
