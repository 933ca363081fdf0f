"""Guards that the steps of a runner share."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from holdoff import Cancel, Guards
from holdoff.testing import VirtualTime, virtual_time
from holdoff_durable import Journal, Runner, Workflow as Flow, WorkflowCancelled, WorkflowFailed


def test_guards_are_shared_by_steps_and_survive_the_runner(tmp_path: Path, clock: VirtualTime) -> None:
    calls: list[tuple[str, int]] = []

    def flow(name: str) -> Flow:
        flow = Flow(name)

        @flow.step(policy={"attempts": 3, "backoff": {"kind": "constant", "delay": "1s"}, "jitter": "none"})
        def call() -> None:
            calls.append((name, int(clock.now)))
            raise ConnectionError("down")

        return flow

    guards: Any = {"breaker": {"failures": 2, "open_for": "1h"}}
    for name in ("first", "second"):
        with Runner(Journal(tmp_path / "journal.db"), guards=guards) as runner:
            with pytest.raises(WorkflowFailed):
                runner.run(flow(name), name)
            ends = [e for e in runner.journal.events(name) if e.type == "GAVE_UP"]
            assert ends[-1].event["reason"] == "attempts"
    waits = [1, 3601, 7202, 10803, 14404, 18005]
    assert [name for name, _ in calls] == ["first"] * 3 + ["second"] * 3
    assert [at <= wait for (_, at), wait in zip(calls, waits, strict=True)] == [True] * 6
    assert calls[2][1] >= 3600, "the breaker was open"
    assert calls[3][1] >= 7200, "the second runner found the breaker open"


REFUSALS: dict[str, tuple[Any, float]] = {
    "breaker": ({"breaker": {"failures": 1, "open_for": "1h"}}, 3600),
    "limiter": ({"limiter": {"limit": 1, "per": "1h"}}, 3600),
    "adaptive rate": ({"adaptive": {"kind": "aimd", "max_rate": 0.5, "initial_rate": 0.5, "min_rate": 0.5}}, 1),
    "budget": ({"budget": {"kind": "token", "capacity": 0}}, 60),
}


@pytest.mark.parametrize("guard", REFUSALS)
@pytest.mark.parametrize("made", [False, True])
def test_durable_work_waits_for_what_a_guard_refuses(
    tmp_path: Path, clock: VirtualTime, guard: str, made: bool
) -> None:
    options, wait = REFUSALS[guard]
    flow = Flow("waits")
    calls: list[float] = []

    @flow.step(policy={"attempts": 2, "backoff": {"kind": "constant", "delay": "1ms"}, "jitter": "none"})
    def call() -> str:
        calls.append(clock.now)
        if len(calls) == 1:
            raise ConnectionError("down")
        return "done"

    with Runner(Journal(tmp_path / "journal.db"), guards=Guards(**options) if made else options) as runner:
        assert runner.run(flow, "1") == {"call": "done"}
        assert runner.journal.verify(flow, "1") is None
        events = [(event.type, event.attempt_number) for event in runner.journal.events_of_step("1", "call")]
    assert events == [
        ("STARTED", 1),
        ("ATTEMPT_FAILED", 1),
        ("RETRY_SCHEDULED", 2),
        ("RESUMED", 2),
        ("SUCCEEDED", 2),
    ]
    assert wait <= calls[1] - calls[0] < wait + 2


def test_a_breaker_that_somebody_has_opened_is_waited_for_until_it_is_closed(
    tmp_path: Path, clock: VirtualTime
) -> None:
    guards = Guards(breaker={"failures": 1}, now=0)
    assert guards.breaker is not None
    guards.breaker.isolate()
    flow = Flow("isolated")
    flow.step(name="one")(lambda: 1)
    breaker = guards.breaker

    def close(seconds: float) -> None:
        if clock.now > 100:
            breaker.force_close()

    with virtual_time(close) as clock, Runner(Journal(tmp_path / "journal.db"), guards=guards) as runner:
        assert runner.run(flow, "1") == {"one": 1}
        assert 100 < clock.now < 110


def test_a_deadline_ends_the_wait_for_a_guard(tmp_path: Path, clock: VirtualTime) -> None:
    flow = Flow("late")

    @flow.step(policy={"attempts": 5, "backoff": {"kind": "constant", "delay": "1ms"}, "deadline": "10m"})
    def call() -> None:
        raise ConnectionError("down")

    with Runner(Journal(tmp_path / "journal.db"), guards={"breaker": {"failures": 1, "open_for": "1h"}}) as runner:
        with pytest.raises(WorkflowFailed, match="down"):
            runner.run(flow, "1")
        assert [e.event["reason"] for e in runner.journal.events("1") if e.type == "GAVE_UP"] == ["deadline"]
    assert 600 <= clock.now < 602


def test_a_cancelled_workflow_waits_for_no_guard(tmp_path: Path, clock: VirtualTime) -> None:
    flow = Flow("cancelled")
    cancel = Cancel()

    @flow.step(policy={"attempts": 5, "backoff": {"kind": "constant", "delay": "1ms"}})
    def call() -> None:
        raise ConnectionError("down")

    def give_up(seconds: float) -> None:
        if seconds > 60:
            cancel.cancel()

    guards: Any = {"breaker": {"failures": 1, "open_for": "1h"}}
    runner = Runner(Journal(tmp_path / "journal.db"), guards=guards)
    with virtual_time(give_up), runner, pytest.raises(WorkflowCancelled):
        runner.run(flow, "1", cancel=cancel)


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


@pytest.mark.parametrize("queue", [0, 10])
def test_a_full_bulkhead_lets_one_after_the_other_through(tmp_path: Path, queue: int) -> None:
    flow = Flow("narrow")
    running = most = 0

    async def call() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    for index in range(6):
        flow.step(name=f"step-{index}")(call)
    with Runner(Journal(tmp_path / "journal.db"), guards={"bulkhead": {"limit": 2, "queue": queue}}) as runner:
        assert len(runner.run(flow, "1")) == 6
    assert most == 2
