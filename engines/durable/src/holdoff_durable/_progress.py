"""A live view of a workflow in the terminal: steps, attempts, countdowns. Without a terminal only its end is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdoff.clock import time_ns
from rich import box
from rich.cells import cell_len
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ._show import STATUS_STYLES, cell, shorten, span, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from ._run import Run
    from ._step_run import StepRun

MOST = 20
"""The most steps that are shown, running ones first."""

_ORDER = {"running": 0, "waiting": 1, "gave up": 2, "ready": 3, "succeeded": 4}


class Progress:
    """The view of one workflow under way."""

    def __init__(self, console: Console | None = None) -> None:
        # Not where the program's own output goes.
        self._console = Console(stderr=True, highlight=False) if console is None else console
        self._run: Run | None = None
        self._began = time_ns()
        self._ended = ""
        self._live = Live(console=self._console, get_renderable=self._frame, refresh_per_second=8)

    def begin(self, run: Run) -> None:
        """Shows it from now on."""
        self._run = run
        if self._console.is_terminal:
            self._live.start(refresh=True)

    def end(self, status: str) -> None:
        """Shows how it ended, and leaves that."""
        self._ended = status
        if self._live.is_started:
            self._live.stop()
        elif self._run is not None:
            self._console.print(self._frame())

    def _frame(self) -> RenderableType:
        return Text() if self._run is None else frame(self._run, self._ended, self._began, time_ns())


def frame(run: Run, ended: str, began: int, now: int) -> RenderableType:
    """One picture of a workflow."""
    steps = [*run.steps.values(), *list(run.undone.values())]
    states = [(step, *_state(step, now)) for step in steps]
    done = sum(step.outcome == "succeeded" for step in run.steps.values())
    status = ended or run.lease.status
    title = Text()
    title.append(visible(run.lease.workflow_id), "bold").append("  ")
    title.append(status, STATUS_STYLES.get(status, ""))
    title.append(f"  {done} of {len(run.steps)} steps, {span(now - began)}")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    names = min(max(cell_len(visible(step.name)) for step in steps), 28) if steps else 4
    # The names stay, whatever room the failures would take.
    table.add_column("step", no_wrap=True, overflow="ellipsis", min_width=names, max_width=names)
    table.add_column("attempt", justify="right", no_wrap=True, min_width=7)
    table.add_column("state", no_wrap=True, min_width=16)
    table.add_column("last failure", no_wrap=True, overflow="ellipsis")
    shown = states
    if len(states) > MOST:
        shown = sorted(states, key=lambda one: _ORDER.get(one[1], 9))[:MOST]
    for step, state, told, style in shown:
        attempt = str(step.recorder.attempt) if step.recorder is not None else ""
        reason = "" if state == "succeeded" else shorten(step.reason.partition("\n")[0], 60)
        table.add_row(cell(step.name), attempt, Text(told, style), cell(reason))
    return Group(title, table, *_rest(states[:] if len(states) > MOST else []))


def _rest(states: Sequence[tuple[StepRun, str, str, str]]) -> list[RenderableType]:
    counts: dict[str, int] = {}
    for _, state, _, _ in states:
        counts[state] = counts.get(state, 0) + 1
    if not counts:
        return []
    return [Text("in all: " + ", ".join(f"{count} {state}" for state, count in counts.items()), style="dim")]


def _state(step: StepRun, now: int) -> tuple[str, str, str]:
    """A state, the same for people, and its style."""
    if step.outcome is not None:
        words = {"gave_up": ("gave up", "bold red"), "succeeded": ("succeeded", "green")}
        state, style = words.get(step.outcome, (step.outcome, "yellow"))
        return state, state, style
    current = step.step
    if current is not None and current.kind == "sleep" and current.until is not None:
        away = current.until - now
        if current.cause == "bulkhead":
            return "waiting", "in the queue", "dim"
        left = f"{away / 1e9:.1f} s" if away < 60_000_000_000 else span(away)
        return "waiting", f"again in {left}" if away > 0 else "again now", "yellow"
    if step.attempting:
        return "running", "running", "bold cyan"
    return ("ready", "ready", "") if step.recorder is not None else ("to come", "to come", "dim")
