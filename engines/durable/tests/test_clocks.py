"""A wall clock that is set while workflows run: no deadline ends early, no sleep lasts longer."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from holdoff.testing import VirtualTime, virtual_time
from holdoff_durable import Journal, Runner, StepContext, Workflow as Flow

HOUR = 3_600_000_000_000


def set_wall_clock(clock: VirtualTime, nanos: int) -> None:
    """Sets the wall clock; the monotonic clock goes on."""
    clock._wall += nanos


@pytest.mark.parametrize("moment", ["in an attempt", "in a sleep"])
@pytest.mark.parametrize("nanos", [HOUR, -HOUR, HOUR * 24 * 365 * 20], ids=["forward", "back", "twenty years"])
def test_a_clock_that_is_set_ends_no_deadline_of_a_living_process(tmp_path: Path, moment: str, nanos: int) -> None:
    flow = Flow("deadline")
    left: list[float | None] = []
    sets = [1]

    def step_clock(seconds: float) -> None:
        if moment == "in a sleep" and sets:
            set_wall_clock(clock, sets.pop() * nanos)

    @flow.step(
        policy={"attempts": 4, "backoff": {"kind": "constant", "delay": "4s"}, "jitter": "none", "deadline": "10m"}
    )
    def one(context: StepContext) -> int:
        left.append(context.remaining)
        if moment == "in an attempt" and sets:
            set_wall_clock(clock, sets.pop() * nanos)
        if context.attempt < 4:
            raise ConnectionError("down")
        return context.attempt

    with virtual_time(step_clock) as clock, Runner(Journal(tmp_path / "journal.db")) as runner:
        assert runner.run(flow, "1") == {"one": 4}
        assert runner.journal.verify(flow, "1") is None
        assert clock.now < 13
    assert all(remaining is not None and 580 < remaining <= 600 for remaining in left)


def test_retries_keep_their_distance_after_the_clock_was_set_forward(tmp_path: Path) -> None:
    flow = Flow("distance")
    began: list[float] = []

    @flow.step(policy={"attempts": 5, "backoff": {"kind": "constant", "delay": "10s"}, "jitter": "none"})
    def one(context: StepContext) -> int:
        began.append(clock.now)
        set_wall_clock(clock, HOUR if context.attempt % 2 else -HOUR)
        if context.attempt < 5:
            raise ConnectionError("down")
        return context.attempt

    with virtual_time() as clock, Runner(Journal(tmp_path / "journal.db")) as runner:
        runner.run(flow, "1")
    assert [round(later - earlier) for earlier, later in pairwise(began)] == [10] * 4


def test_a_guard_waits_as_long_as_it_says_after_the_clock_was_set(tmp_path: Path) -> None:
    flow = Flow("guarded")
    began: list[float] = []

    @flow.step(policy={"attempts": 3, "backoff": {"kind": "constant", "delay": "1s"}, "jitter": "none"})
    def one(context: StepContext) -> int:
        began.append(clock.now)
        set_wall_clock(clock, -HOUR)
        if context.attempt < 3:
            raise ConnectionError("down")
        return context.attempt

    guards: Any = {"breaker": {"failures": 1, "open_for": "30s"}}
    with virtual_time() as clock, Runner(Journal(tmp_path / "journal.db"), guards=guards) as runner:
        runner.run(flow, "1")
        runner.run(flow, "2")
    assert [round(later - earlier) for earlier, later in pairwise(began[:3])] == [30, 30]
    assert began[3] - began[2] < 31
