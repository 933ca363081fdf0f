"""A step that kills its process, and innocent workflows beside it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from durable_flows import of_step
from holdoff_durable import Journal, JournalEvent, Runner, StepContext, Workflow as Flow, WorkflowFailed
from holdoff_durable._lease import new_owner
from holdoff_durable._suspects import Gate, Suspicion, suspicion
from poison_process import DEAD, innocent, poison

PATIENCE = 60.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


def test_an_innocent_workflow_beside_a_poisonous_step_completes(path: Path) -> None:
    with Journal(path) as journal:
        for name, flow in (("g1", innocent), ("p1", poison)):
            journal.begin(name, name=flow.name, input=None, definition=flow.fingerprint, steps=flow.shape, at=1)
    program = [sys.executable, str(Path(__file__).with_name("poison_process.py")), str(path)]
    codes: list[int] = []
    while not codes or codes[-1] == DEAD:
        assert len(codes) < 9
        codes.append(subprocess.run(program, stdout=subprocess.DEVNULL, timeout=PATIENCE).returncode)
    assert codes[-1] == 0
    with Runner(Journal(path)) as runner:
        assert runner.run(innocent, "g1") == {"reserve": 1, "pack": 1}
        with pytest.raises(WorkflowFailed, match="kill: its process died in it 4 times"):
            runner.run(poison, "p1")
        assert of_step(runner.journal, "kill", "p1") == [
            ("STARTED", 1),
            *[("RESUMED", 1)] * 3,
            ("ATTEMPT_FAILED", 1),
            ("GAVE_UP", 1),
        ]
        assert of_step(runner.journal, "pack", "g1") == [("STARTED", 1), ("RESUMED", 1), ("SUCCEEDED", 1)]


def die(journal: Journal, flow: Flow, name: str, **options: Any) -> None:
    """Runs a workflow in a runner whose process dies in the middle of it: a coroutine of a step raises SystemExit."""
    owner = new_owner().split(" ")
    # No process has this number.
    owner[-3:-1] = ["4194305", "1"]
    runner = Runner(journal, **options)
    runner._options.owner = " ".join(owner)
    with pytest.raises(SystemExit):
        runner.run(flow, name)


def suspects(journal: Journal, workflow_id: str) -> list[Any]:
    return [event.payload.get("suspect") for event in journal.events(workflow_id) if event.type == "RESUMED"]


def test_suspects_run_one_at_a_time_and_before_others(path: Path) -> None:
    flow, other = Flow("suspects"), Flow("newcomer")
    names = [f"{number}" for number in range(5)]
    running: list[str] = []
    ran: list[str] = []

    @flow.step
    async def one(context: StepContext) -> None:
        if not context.rerun:
            raise SystemExit
        assert not running
        running.append(context.workflow_id)
        for _ in range(5):
            await asyncio.sleep(0)
        ran.append(running.pop())

    @other.step(name="one")
    async def beside() -> None:
        assert not running
        ran.append("newcomer")

    async def all_of_them(runner: Runner) -> None:
        await asyncio.gather(*(runner.run_async(flow, name) for name in names), runner.run_async(other, "newcomer"))

    with Runner(Journal(path)) as runner:
        for name in names:
            die(runner.journal, flow, name)
        asyncio.run(all_of_them(runner))
        for name in names:
            assert suspects(runner.journal, name) == [{"deaths": 0, "seconds": 30.0, "alone": True}]
            assert runner.journal.verify(flow, name) is None
    assert sorted(ran) == [*names, "newcomer"]


def test_an_attempt_that_dies_alone_is_blamed_and_only_for_that(path: Path) -> None:
    flow = Flow("guilty", policy={"attempts": 2, "backoff": {"kind": "constant", "delay": 0}})
    lives: list[tuple[int, int]] = []

    @flow.step
    async def one(context: StepContext) -> str:
        lives.append((context.attempt, context.rerun))
        if context.attempt == 1:
            raise SystemExit
        return "alive"

    with Journal(path) as journal:
        for _ in range(3):
            die(journal, flow, "1", reruns=2)
        assert Runner(journal, reruns=2).run(flow, "1") == {"one": "alive"}
        assert lives == [(1, 0), (1, 1), (1, 2), (2, 0)]
        failed = next(event for event in journal.events("1") if event.type == "ATTEMPT_FAILED")
        assert (failed.event["failure"], failed.failure_reason) == ("timeout", "its process died in it 3 times")
        # The next attempt is no suspect.
        assert suspects(journal, "1")[-1] is None
        die(journal, once(), "2", reruns=0)
        with pytest.raises(WorkflowFailed, match="its process died in it 1 times"):
            Runner(journal, reruns=0).run(once(), "2")


def once() -> Flow:
    flow = Flow("once")

    @flow.step
    async def one(context: StepContext) -> None:
        if not context.rerun:
            raise SystemExit

    return flow


def test_suspects_that_wait_for_each_other_meet_after_their_isolation(path: Path) -> None:
    flow = Flow("meet")
    met: list[str] = []
    both = [asyncio.Event(), asyncio.Event()]
    lives = [0]

    @flow.step
    async def left(context: StepContext) -> None:
        await meet(0)

    @flow.step
    async def right(context: StepContext) -> None:
        await meet(1)

    async def meet(number: int) -> None:
        both[number].set()
        await both[1 - number].wait()
        if not lives[0]:
            lives[0] = 1
            raise SystemExit
        met.append("")

    with Runner(Journal(path), lease=0.01) as runner:
        die(runner.journal, flow, "1")
        both[:] = [asyncio.Event(), asyncio.Event()]
        runner.run(flow, "1")
        events = [event for event in runner.journal.events("1") if event.type == "ISOLATION_ENDED"]
        assert runner.journal.verify(flow, "1") is None
    assert len(met) == 2
    assert [set(event.payload) for event in events] == [{"step"}]


@pytest.mark.parametrize("concurrency", [1, None])
def test_a_suspect_that_waits_for_another_workflow_lets_it_in(path: Path, concurrency: int | None) -> None:
    inner, outer = Flow("inner"), Flow("outer")
    inner.step(name="one")(lambda: 1)

    with Runner(Journal(path), lease=1e6, concurrency=concurrency) as runner:

        @outer.step
        async def call(context: StepContext) -> int:
            if not context.rerun:
                raise SystemExit
            answer: int = (await runner.run_async(inner, "inner"))["one"]
            return answer

        die(runner.journal, outer, "outer")
        assert runner.run(outer, "outer") == {"call": 1}
        assert "ISOLATION_ENDED" in [event.type for event in runner.journal.events("outer")]


def test_a_suspect_whose_workflow_waits_for_a_guard_is_alone_when_it_runs(path: Path) -> None:
    flow = once()
    guards: Any = {"limiter": {"limit": 1, "per": "20ms"}}
    with Runner(Journal(path), guards=guards) as runner:
        die(runner.journal, flow, "1", guards=guards)
        assert runner.run(flow, "1") == {"one": None}
        assert suspects(runner.journal, "1") == [{"deaths": 0, "seconds": 30.0, "alone": True}]


def event(number: int, kind: str, payload: dict[str, Any] | None = None, step: str = "one") -> JournalEvent:
    return JournalEvent("1", number, kind, number, 1, None, None, payload or {}, step, number, "", {})


def alone(deaths: int = 0, seconds: float = 30.0) -> dict[str, Any]:
    return Suspicion(deaths, seconds, True).payload(alone=True)


BEGUN = [event(1, "STARTED")]
ALONE = [*BEGUN, event(2, "RESUMED", alone(1))]
BESIDE = [*BEGUN, event(2, "RESUMED", Suspicion(1, 30.0, True).payload(alone=False))]
STOPPED = event(3, "WORKFLOW_INTERRUPTED", step="")
ENDED = event(3, "ISOLATION_ENDED", {"step": "one"}, step="")
OTHERS = event(3, "ISOLATION_ENDED", {"step": "two"}, step="")
VERDICTS: dict[str, tuple[list[JournalEvent], bool, Suspicion | None]] = {
    "given back": (BEGUN, False, None),
    "died": (BEGUN, True, Suspicion(0, 30.0, True)),
    "stopped and then killed": ([*BEGUN, STOPPED], True, None),
    "stopped, then began again, and died": ([*BEGUN, STOPPED, event(4, "RESUMED")], True, Suspicion(0, 30.0, True)),
    "died alone": (ALONE, True, Suspicion(2, 30.0, True)),
    "died alone, and another one's isolation ended": ([*ALONE, OTHERS], True, Suspicion(2, 30.0, True)),
    "died beside others": (BESIDE, True, Suspicion(1, 30.0, True)),
    "died after its isolation": ([*ALONE, ENDED], True, Suspicion(1, 60.0, True)),
    "stopped alone": (ALONE, False, Suspicion(1, 30.0, False)),
    "stopped alone and then killed": ([*ALONE, STOPPED], True, Suspicion(1, 30.0, False)),
    "waits for a guard": ([*ALONE, event(3, "RETRY_SCHEDULED")], True, Suspicion(1, 30.0, False)),
}


@pytest.mark.parametrize("case", VERDICTS)
def test_only_a_death_alone_counts(case: str) -> None:
    events, died, wanted = VERDICTS[case]
    assert suspicion([one for one in events if one.step], events, died, 30.0) == wanted


def test_no_attempt_of_any_thread_passes_a_closed_gate() -> None:
    gate = Gate()
    order: list[str] = []
    waits = threading.Event()

    async def suspect() -> None:
        assert await gate.isolate()
        order.append("suspect")
        waits.set()
        while not gate._waiting:
            await asyncio.sleep(0)
        order.append("suspect ends")
        gate.open()
        gate.leave()

    async def other() -> None:
        await gate.enter()
        order.append("other")
        gate.leave()

    def in_another_thread() -> None:
        assert waits.wait(PATIENCE)
        asyncio.run(other())

    thread = threading.Thread(target=in_another_thread)
    thread.start()
    asyncio.run(suspect())
    thread.join()
    assert order == ["suspect", "suspect ends", "other"]


def test_a_suspect_that_finds_no_quiet_runs_beside_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdoff_durable._suspects.QUIET", 0)
    gate = Gate()

    async def busy() -> None:
        await gate.enter()
        assert not await gate.isolate()
        await gate.enter()
        for _ in range(3):
            gate.leave()
        gate.open()
        assert await gate.isolate()

    asyncio.run(busy())


def test_a_suspect_that_is_cancelled_leaves_the_gate_open() -> None:
    gate = Gate()

    async def cancelled() -> None:
        await gate.enter()
        for _ in range(2):
            waiting = asyncio.ensure_future(gate.isolate())
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        await gate.enter()

    asyncio.run(asyncio.wait_for(cancelled(), PATIENCE))
