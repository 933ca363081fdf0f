"""Deploys and Ctrl-C: attempts in flight end and are recorded, leases are given back, and nobody is blamed."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from durable_flows import of_step
from holdoff_durable import Journal, Runner, StepContext, Workflow as Flow, WorkflowFailed, WorkflowInterrupted
from stopped_process import nightly

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no such signals there")

PROGRAM = Path(__file__).with_name("stopped_process.py")
PATIENCE = 60.0


class Program:
    """The program in a process of its own."""

    def __init__(self, path: Path, waits: str, *, grace: float = PATIENCE, call: str = "run") -> None:
        arguments = [sys.executable, str(PROGRAM), str(path), waits, str(grace), call]
        self.process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.path = path

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def tell(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def stop(self, sign: signal.Signals) -> None:
        """Sends the signal, and waits until the program has noticed it."""
        self.process.send_signal(sign)
        with Journal(self.path, read_only=True) as journal:
            while not any(event.type == "WORKFLOW_INTERRUPTED" for event in journal.events("1")):
                assert self.process.poll() is None


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


def left(path: Path, reruns: int = 1) -> dict[str, Any]:
    """What the next process makes of it, and that nobody holds the lease."""
    flow = nightly("block")
    with Runner(Journal(path), reruns=reruns) as runner:
        record = runner.journal.workflow("1")
        assert record is not None
        assert record.owner is None
        results = runner.run(flow, "1")
        assert runner.journal.verify(flow, "1") is None
        assert of_step(runner.journal, "crunch") == [("STARTED", 1), ("SUCCEEDED", 1)]
    return results


@pytest.mark.parametrize(
    ("sign", "waits", "code"),
    [
        (signal.SIGTERM, "block", 143),
        (signal.SIGTERM, "await", 143),
        (signal.SIGINT, "block", -signal.SIGINT),
    ],
)
def test_an_attempt_that_ends_within_the_grace_is_recorded(
    path: Path, sign: signal.Signals, waits: str, code: int
) -> None:
    with Program(path, waits) as program:
        assert program.line() == "begins 0"
        program.stop(sign)
        program.tell("all")
        assert program.process.wait(PATIENCE) == code
    with Journal(path) as journal:
        assert [event.type for event in journal.events_of_step("1", "report")] == [], "nothing else began"
    assert left(path) == {"fetch": 1, "crunch": "all", "report": "report on all"}


def test_a_watching_program_that_is_stopped_goes_on_to_its_end(path: Path) -> None:
    flow = nightly("block")
    with Journal(path) as journal:
        journal.begin("1", name="nightly", input=None, definition=flow.fingerprint, steps=flow.shape, at=1)
    with Program(path, "block", call="watch") as program:
        assert program.line() == "begins 0"
        program.stop(signal.SIGTERM)
        program.tell("all")
        assert program.line() == "after watch"
        assert program.process.wait(PATIENCE) == 0
    assert left(path)["crunch"] == "all"


@pytest.mark.parametrize("waits", ["block", "hang"])
def test_any_number_of_deploys_counts_against_nothing(path: Path, waits: str) -> None:
    for number in range(5):
        with Program(path, waits, grace=0) as program:
            assert program.line() == f"begins {number}"
            program.process.send_signal(signal.SIGTERM)
            assert program.process.wait(PATIENCE) == 143
    with Program(path, "block") as program:
        assert program.line() == "begins 5"
        program.tell("all")
        assert program.process.wait(PATIENCE) == 0


def test_a_deploy_that_ends_in_a_kill_counts_against_nothing(path: Path) -> None:
    for number in range(4):
        with Program(path, "block") as program:
            assert program.line() == f"begins {number}"
            program.process.send_signal(signal.SIGTERM)
            with Journal(path, read_only=True) as journal:
                marks = 0
                while marks <= number:
                    marks = sum(event.type == "WORKFLOW_INTERRUPTED" for event in journal.events("1"))
            program.process.kill()
            assert program.process.wait(PATIENCE) == -signal.SIGKILL
    with Program(path, "block") as program:
        assert program.line() == "begins 4"


@pytest.fixture
def handler() -> Iterator[Any]:
    before = signal.getsignal(signal.SIGTERM)
    yield lambda number, frame: None
    signal.signal(signal.SIGTERM, before)


def test_a_handler_of_the_program_is_never_replaced(path: Path, handler: Any) -> None:
    flow = Flow("handlers")
    seen: list[Any] = []
    flow.step(name="one")(lambda: seen.append(signal.getsignal(signal.SIGTERM)))
    with Runner(Journal(path)) as runner:
        for before in (handler, signal.SIG_IGN, signal.SIG_DFL):
            signal.signal(signal.SIGTERM, before)
            runner.run(flow, str(before))
            assert signal.getsignal(signal.SIGTERM) is before
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        thread = threading.Thread(target=runner.run, args=(flow, "in a thread"))
        thread.start()
        thread.join()
        asyncio.run(runner.run_async(flow, "in a coroutine"))
    assert seen[:2] == [handler, signal.SIG_IGN]
    assert callable(seen[2])
    assert seen[3:] == [signal.SIG_DFL, signal.SIG_DFL]


def test_a_handler_that_a_step_sets_stays(path: Path, handler: Any) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    flow = Flow("sets")

    @flow.step
    async def one() -> None:
        signal.signal(signal.SIGTERM, handler)

    with Runner(Journal(path)) as runner:
        runner.run(flow, "1")
    assert signal.getsignal(signal.SIGTERM) is handler


def test_a_stopped_runner_ends_what_runs_and_begins_nothing(path: Path) -> None:
    flow = Flow("stopped", policy={"attempts": 9, "backoff": {"kind": "constant", "delay": "1h"}})
    began, end = asyncio.Event(), threading.Event()
    calls: list[str] = []

    @flow.step
    def slow() -> str:
        calls.append("slow")
        runner.stop()
        assert end.wait(PATIENCE)
        return "done"

    @flow.step
    async def cut() -> None:
        calls.append("cut")
        began.set()
        end.set()
        await asyncio.sleep(0)

    @flow.step(after=["slow"])
    def behind() -> None:
        calls.append("behind")

    @flow.step
    async def asleep() -> None:
        calls.append("asleep")
        raise ConnectionError("down")

    with Runner(Journal(path), concurrency=4) as runner:
        for name in ("1", "2"):
            with pytest.raises(WorkflowInterrupted, match=f"workflow '{name}' was interrupted"):
                runner.run(flow, name)
        assert of_step(runner.journal, "slow") == [("STARTED", 1), ("SUCCEEDED", 1)]
        assert of_step(runner.journal, "behind") == []
        record = runner.journal.workflow("1")
        assert record is not None
        assert (record.status, record.owner) == ("RUNNING", None)
        assert runner.journal.workflow("2") is None
    assert "behind" not in calls


def test_a_blocking_attempt_whose_task_is_cancelled_is_recorded(path: Path) -> None:
    flow = Flow("cancelled")
    end = threading.Event()

    async def cancelled(runner: Runner) -> None:
        began = asyncio.Event()
        loop = asyncio.get_running_loop()

        def slow() -> str:
            loop.call_soon_threadsafe(began.set)
            assert end.wait(PATIENCE)
            return "done"

        flow.step(slow)
        task = asyncio.ensure_future(runner.run_async(flow, "1"))
        await began.wait()
        task.cancel()
        while not any(event.type == "WORKFLOW_INTERRUPTED" for event in runner.journal.events("1")):
            await asyncio.sleep(0)
        assert not task.done()
        end.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    with Runner(Journal(path), grace=PATIENCE) as runner:
        asyncio.run(cancelled(runner))
        assert of_step(runner.journal, "slow") == [("STARTED", 1), ("SUCCEEDED", 1)]
        assert runner.run(flow, "1") == {"slow": "done"}


def test_a_runner_that_resumes_and_is_stopped_says_what_was_interrupted(path: Path) -> None:
    flow = Flow("resumed")

    @flow.step
    async def one() -> None:
        runner.stop()
        await asyncio.Event().wait()

    with Runner(Journal(path), grace=0) as runner:
        runner.journal.begin("1", name="resumed", input=None, definition=flow.fingerprint, steps=flow.shape, at=1)
        answers = runner.resume_all([flow])
        assert isinstance(answers["1"], WorkflowInterrupted)


def test_a_blocking_step_that_exits_fails_and_ends_no_process(path: Path) -> None:
    flow = Flow("exits")
    flow.step(name="one")(lambda context: sys.exit(3))
    with Runner(Journal(path)) as runner, pytest.raises(WorkflowFailed, match="SystemExit: 3"):
        runner.run(flow, "1")


@pytest.mark.parametrize("grace", [-1, float("nan"), float("inf")])
def test_a_grace_that_makes_no_sense_is_refused(path: Path, grace: float) -> None:
    with Journal(path) as journal, pytest.raises(ValueError, match="grace is a number of seconds, 0 or above"):
        Runner(journal, grace=grace)


def test_an_attempt_is_told_which_run_it_is(path: Path) -> None:
    flow = Flow("told")
    reruns: list[int] = []

    @flow.step
    async def one(context: StepContext) -> int:
        reruns.append(context.rerun)
        if context.rerun < 6:
            raise KeyboardInterrupt
        return context.rerun

    with Journal(path) as journal:
        for _ in range(6):
            with pytest.raises(KeyboardInterrupt):
                Runner(journal, reruns=1).run(flow, "1")
        assert Runner(journal, reruns=1).run(flow, "1") == {"one": 6}
    assert reruns == list(range(7))
