"""What the terminal shows of a journal, at 80 columns and without colours."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import holdoff_durable
import pytest
from holdoff.testing import virtual_time
from holdoff_durable import Entry, Journal, Runner, Workflow as Flow, WorkflowFailed
from holdoff_durable._progress import Progress
from holdoff_durable._show import scale, shorten, span
from rich.console import Console

START = 1_700_000_000_000_000_000
SECOND = 1_000_000_000


def event(step: str, number: int, kind: str, second: float, attempt: int = 1, **detail: str) -> Entry:
    reason = detail.pop("reason_text", None)
    text = json.dumps(detail)
    return Entry(step, number, kind, START + round(second * SECOND), attempt, None, reason, {}, text)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "journal.db"
    with Journal(path) as journal:
        journal.begin(
            "order-1",
            name="order",
            input=None,
            definition="d",
            steps={"reserve": [], "charge": ["reserve"], "ship": ["charge"]},
            at=START,
        )
        until = str(START + 40 * SECOND)
        journal.append(
            "order-1",
            [
                event("reserve", 1, "STARTED", 0),
                event("reserve", 2, "SUCCEEDED", 10),
                event("charge", 1, "STARTED", 10),
                event("charge", 2, "ATTEMPT_FAILED", 20, reason_text="ConnectionError: down"),
                event("charge", 3, "RETRY_SCHEDULED", 20, 2, until=until, reason_text="ConnectionError: down"),
            ],
        )
    return path


def show(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "holdoff_durable", "show", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={"COLUMNS": "80", "PYTHONIOENCODING": "utf-8", "TZ": "UTC", "PATH": ""},
    )
    assert "\x1b" not in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    return done.stdout + done.stderr


def test_the_list_has_every_workflow_and_what_is_next(path: Path) -> None:
    told = show(str(path))
    row = next(line for line in told.splitlines() if line.startswith("order-1"))
    assert row.split()[:6] == ["order-1", "order", "RUNNING", "11-14", "22:13", "1/3"]
    assert " ago" in row
    assert show(str(path), "--status", "failed") == "The journal has no workflows.\n"


def test_a_workflow_is_drawn_on_a_time_line(path: Path) -> None:
    told = show(str(path), "order-1").splitlines()
    assert told[0] == "order-1  order  RUNNING  since 2023-11-14 22:13:20"
    assert told[1] == "run by nobody: it waits for a runner"
    ruler, reserve, charge = told[2], told[3], told[4]
    assert ruler.split() == ["0", "20", "s", "40", "s"]
    assert len(reserve) == len(charge) == 79
    assert reserve.split() == ["reserve", "=" * 17 + "*"]
    name, line = charge.split()
    assert name == "charge"
    assert line.strip("=") == "x" + "." * (len(line.strip("=")) - 2) + ">"
    assert any("charge" in line and "ConnectionError: down" in line for line in told)
    assert any("ship" in line and "not begun" in line for line in told)


def test_what_is_no_journal_and_no_workflow_is_said(path: Path, tmp_path: Path) -> None:
    assert "there is no workflow 'nope'\n  the latest are order-1" in show(str(path), "nope")
    assert "there is no such file" in show(str(tmp_path / "missing.db"))
    assert not (tmp_path / "missing.db").exists()


def test_lengths_of_time_are_short() -> None:
    shown = [span(n) for n in (1_500_000, 999_600_000, 2 * SECOND, 90 * SECOND, 3600 * SECOND, 90_000 * SECOND)]
    assert shown == ["1.5 ms", "1 s", "2 s", "1 min 30 s", "1 h", "1 d 1 h"]
    assert scale(2 * SECOND, 20) == "0        1 s     2 s"
    assert shorten("a long name", 6) == "a lon…"


def test_an_interrupted_attempt_and_a_failure_are_drawn(tmp_path: Path) -> None:
    flow = Flow("order", policy={"attempts": 2, "backoff": {"kind": "constant", "delay": "1s"}})
    crashes = iter([True, False])

    @flow.step
    async def charge() -> None:
        if next(crashes, False):
            raise KeyboardInterrupt
        raise ConnectionError("down")

    with virtual_time(), Runner(Journal(tmp_path / "journal.db")) as runner:
        with pytest.raises(KeyboardInterrupt):
            runner.run(flow, "1")
        interrupted = show(str(tmp_path / "journal.db"), "1")
        with pytest.raises(WorkflowFailed):
            runner.run(flow, "1")
    assert any(line.split()[:3] == ["charge", "1", "interrupted"] for line in interrupted.splitlines())
    ended = show(str(tmp_path / "journal.db"), "1")
    assert "gave up: attempts" in ended
    assert "FAILED" in ended.splitlines()[0]


def test_progress_ends_with_how_it_ended_where_no_terminal_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flow = Flow("order", policy={"attempts": 2, "backoff": {"kind": "constant", "delay": 0}})
    flow.step(name="good")(lambda: 1)

    @flow.step(after=["good"])
    def bad() -> None:
        raise ConnectionError("down")

    for index in range(30):
        flow.step(name=f"later-{index}", after=["bad"])(lambda: None)
    with Runner(Journal(tmp_path / "journal.db")) as runner, pytest.raises(WorkflowFailed):
        runner.run(flow, "order-1", progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("order-1  FAILED  1 of 32 steps")
    assert "gave up" in captured.err
    assert "ConnectionError: down" in captured.err
    assert "in all: 1 succeeded, 1 gave up, 30 skipped" in captured.err


def test_progress_is_live_in_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80, legacy_windows=False)
    monkeypatch.setattr("holdoff_durable._progress.Progress.__init__.__defaults__", (console,))
    flow = Flow("order")
    seen: list[str] = []

    @flow.step(policy={"attempts": 2, "backoff": {"kind": "constant", "delay": "10ms"}})
    def step(context: holdoff_durable.StepContext) -> None:
        seen.append(screen.getvalue())
        if context.attempt == 1:
            raise ConnectionError("down")

    with Runner(Journal(tmp_path / "journal.db")) as runner:
        runner.run(flow, "order-1", progress=True)
    assert "order-1" in seen[0]
    assert "COMPLETED" in screen.getvalue()
    assert Progress.__init__.__defaults__ == (console,)
