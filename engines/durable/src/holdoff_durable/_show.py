"""A journal for people: the list of workflows, and one workflow's attempts on a time line. Readable without colours."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from rich import box
from rich.cells import cell_len, set_cell_size
from rich.console import Group
from rich.table import Table
from rich.text import Text

from ._entries import CHANGED
from ._errors import JournalDamaged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import RenderableType

    from ._entries import JournalEvent
    from ._journal import WorkflowRecord

LONGEST_LIST = 200
"""The most workflows of a journal, or steps of a workflow, that are shown."""
LONGEST_TEXT = 300
"""Characters of a name or an error that are shown."""

RUNNING, FAILED, DONE, WAITING, CUT, LAST, DUE = "=", "x", "*", ".", "!", "|", ">"
"""How a moment of a step looks: an attempt, its failure, its success, waiting, interrupted, given up, the next one."""

LEGEND = (
    f"{RUNNING} attempt  {FAILED} failed  {DONE} succeeded  {WAITING} waiting  {DUE} next  {CUT} interrupted  "
    f"{LAST} gave up"
)
STYLES = {
    RUNNING: "cyan",
    FAILED: "bold red",
    DONE: "bold green",
    WAITING: "dim",
    DUE: "bold cyan",
    CUT: "bold yellow",
    LAST: "bold red",
}
STATUS_STYLES = {
    "RUNNING": "cyan",
    "COMPENSATING": "yellow",
    "COMPLETED": "green",
    "FAILED": "red",
    "CANCELLED": "yellow",
}


@dataclass
class Line:
    """A step as it is drawn."""

    step: str
    spans: list[tuple[int, int | None, str]] = field(default_factory=list[tuple[int, "int | None", str]])
    """From, to (None: still) and how it looks."""
    marks: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    attempts: int = 0
    state: str = "running"
    due: int | None = None
    reason: str = ""

    def interrupt(self) -> None:
        """No process runs it: an attempt without an end was interrupted at an unknown time."""
        if self.spans and self.spans[-1][1] is None and self.state == "running":
            start, _, look = self.spans[-1]
            self.spans[-1] = (start, start, look)
            self.marks.append((start, CUT))
            self.state = "interrupted"


def lines(events: Sequence[JournalEvent]) -> list[Line]:
    """A line for each step, in the order in which they began."""
    found: dict[str, Line] = {}
    for event in events:
        if not event.step:
            continue
        line = found.setdefault(event.step, Line(event.step))
        line.due = None
        line.attempts = max(line.attempts, event.attempt_number if event.type != "RETRY_SCHEDULED" else 0)
        if line.spans and line.spans[-1][1] is None:
            start, _, look = line.spans[-1]
            line.spans[-1] = (start, event.at, look)
            if event.type == "RESUMED" and look == RUNNING:
                line.marks.append((event.at, CUT))
        if event.failure_reason:
            line.reason = event.failure_reason
        match event.type:
            case "STARTED" | "RESUMED":
                line.spans.append((event.at, None, RUNNING))
                line.state = "running"
            case "ATTEMPT_FAILED":
                line.marks.append((event.at, FAILED))
            case "RETRY_SCHEDULED":
                line.spans.append((event.at, None, WAITING))
                line.due = _until(event)
                line.state = "waiting"
            case "SUCCEEDED":
                line.marks.append((event.at, DONE))
                line.state, line.reason = "succeeded", ""
            case "GAVE_UP":
                line.marks.append((event.at, LAST))
                line.state = f"gave up: {event.detail.get('reason', '')}"
            case "SKIPPED":
                line.state, line.reason = "skipped", str(event.payload.get("reason", ""))
            case "CANCELLED":
                line.state = "cancelled"
            case _:
                continue
    return list(found.values())


def _until(event: JournalEvent) -> int:
    """The time of the next attempt."""
    until = event.detail.get("until")
    if not (isinstance(until, str) and until.isascii() and until.isdigit() and len(until) < 21):
        about = f"workflow {event.workflow_id!r:.300}, event {event.sequence}"
        raise JournalDamaged(f"until is {until!r:.100}, not a time", about, CHANGED)
    return int(until)


def draw(line: Line, start: int, end: int, width: int) -> Text:
    """A step on a time line of so many characters."""
    cells = [" "] * width
    scale = max(end - start, 1)

    def at(time: int) -> int:
        return min(max((time - start) * width // scale, 0), width - 1)

    for begin, stop, look in line.spans:
        until = stop if stop is not None else line.due if line.due is not None else end
        for column in range(at(begin), at(until) + 1):
            if look == RUNNING or cells[column] == " ":
                cells[column] = look
    # The end of an attempt must be seen, even when the next began within the same character.
    for order in ((CUT,), (FAILED,), (DONE, LAST)):
        for time, mark in line.marks:
            if mark in order:
                cells[at(time)] = mark
    if line.due is not None:
        cells[at(line.due)] = DUE
    text = Text(no_wrap=True)
    for cell in cells:
        text.append(cell, STYLES.get(cell, ""))
    return text


def show_workflow(record: WorkflowRecord, events: Sequence[JournalEvent], now: int, width: int) -> RenderableType:
    """One workflow: its steps on a time line, and a table of their states."""
    every = lines(events)
    drawn = every[:LONGEST_LIST]
    if record.owner is None:
        for line in drawn:
            line.interrupt()
    start = record.started_at
    last = max([event.at for event in events], default=start)
    end = last if record.ended else max([last, *(line.due for line in drawn if line.due is not None)])
    if record.owner is not None and not record.ended:
        end = max(end, now)
    names = max([cell_len(visible(line.step)) for line in drawn], default=4)
    names = min(names, 24)
    columns = max(width - names - 3, 20)
    parts: list[RenderableType] = [_title(record, start, end)]
    parts.append(Text(f"{'':{names}}  {scale(end - start, columns)}", no_wrap=True))
    for line in drawn:
        name = Text(set_cell_size(shorten(visible(line.step), names), names) + "  ", no_wrap=True)
        parts.append(name.append_text(draw(line, start, end, columns)))
    if not record.ended and start <= now < end:
        column = min((now - start) * columns // max(end - start, 1), columns - 5)
        parts.append(Text(f"{'':{names}}  {'':{column}}^ now", no_wrap=True))
    parts += [Text(), Text(LEGEND, style="dim"), Text()]
    unbegun = [name for name in record.steps if name not in {line.step for line in every}]
    room = LONGEST_LIST - len(drawn)
    parts.append(_steps(drawn, unbegun[:room], now, width))
    if (left := len(every) - len(drawn) + len(unbegun[room:])) > 0:
        parts.append(Text(f"and {left:,} more steps"))
    return Group(*parts)


def _title(record: WorkflowRecord, start: int, end: int) -> Text:
    title = Text()
    title.append(visible(record.workflow_id), "bold").append(f"  {visible(record.name)}  ")
    title.append(visible(record.status), STATUS_STYLES.get(record.status, ""))
    title.append(f"  since {moment(start)}")
    if record.ended:
        title.append(f", took {span(end - start)}")
    if record.owner is not None:
        title.append(f"\nrun by {visible(record.owner)}")
    elif not record.ended:
        title.append("\nrun by nobody: it waits for a runner")
    return title


def _steps(drawn: Sequence[Line], unbegun: Sequence[str], now: int, width: int) -> Table:
    table = Table(box=box.SIMPLE, width=min(width, 120), pad_edge=False, show_edge=False)
    table.add_column("step", overflow="fold", ratio=2)
    table.add_column("attempts", justify="right", no_wrap=True)
    table.add_column("state", overflow="fold", ratio=2)
    table.add_column("last failure", overflow="ellipsis", no_wrap=True, ratio=3)
    for line in drawn:
        state = line.state
        if line.due is not None:
            away = line.due - now
            state = f"attempt {line.attempts + 1} " + (f"in {span(away)}" if away > 0 else f"due {span(-away)} ago")
        table.add_row(cell(line.step), str(line.attempts), cell(state), cell(line.reason.partition("\n")[0]))
    for name in unbegun:
        table.add_row(cell(name), "0", "not begun", "")
    return table


def show_list(
    records: Sequence[WorkflowRecord],
    events: Mapping[str, Sequence[JournalEvent]],
    succeeded: Mapping[str, int],
    now: int,
) -> RenderableType:
    """The latest workflows, one a line."""
    if not records:
        return Text("The journal has no workflows.")
    left = len(records) - LONGEST_LIST
    records = records[-LONGEST_LIST:]
    table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False)
    longest = min(max(cell_len(visible(record.workflow_id)) for record in records), 30)
    table.add_column("workflow", overflow="fold", min_width=longest)
    table.add_column("kind", overflow="fold", min_width=6)
    table.add_column("status", no_wrap=True)
    table.add_column("began", no_wrap=True)
    table.add_column("steps", justify="right", no_wrap=True)
    table.add_column("next", no_wrap=True, min_width=12)
    for record in records:
        drawn = lines(events.get(record.workflow_id, ()))
        done = succeeded.get(record.workflow_id, 0)
        due = min((line.due for line in drawn if line.due is not None), default=None)
        coming = "" if due is None else f"in {span(due - now)}" if due > now else f"due {span(now - due)} ago"
        if not coming and not record.ended and record.owner is None:
            coming = "no runner"
        status = Text(visible(record.status), STATUS_STYLES.get(record.status, ""))
        table.add_row(
            cell(record.workflow_id),
            cell(record.name),
            status,
            moment(record.started_at)[5:-3],
            f"{done}/{len(record.steps)}",
            coming,
        )
    return Group(Text(f"The latest; and {left:,} more began before them."), table) if left > 0 else table


def scale(length: int, width: int) -> str:
    """The ruler above the lines: where they begin and end, and the middle."""
    left, middle, right = "0", span(length // 2), span(length)
    gap = width - len(left) - len(middle) - len(right)
    first = max(width // 2 - len(middle) // 2 - len(left), 1)
    return left + " " * first + middle + " " * max(gap - first, 1) + right


def span(nanos: int) -> str:
    """A length of time in a few characters."""
    seconds = nanos / 1e9
    if seconds < 0.9995:
        return f"{seconds * 1000:.3g} ms"
    if seconds < 59.95:
        return f"{seconds:.3g} s"
    rounded = round(seconds)
    for size, unit, small, name in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if rounded >= size:
            rest = rounded % size // small
            return f"{rounded // size} {unit}" + (f" {rest} {name}" if rest else "")
    return f"{rounded} s"


def moment(nanos: int) -> str:
    """A time of day here, with its date."""
    return datetime.fromtimestamp(nanos / 1e9).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def visible(text: str) -> str:
    """Names and errors are of anybody: nothing in them may move the cursor, change a colour or fill the screen."""
    shown = "".join(one if one.isprintable() else "?" for one in text[:LONGEST_TEXT])
    return shown if len(text) <= LONGEST_TEXT else shown + "…"


def cell(text: str) -> Text:
    """Text as it is, brackets and all."""
    return Text(visible(text))


def shorten(text: str, width: int) -> str:
    """At most so many places of a terminal."""
    return text if cell_len(text) <= width else set_cell_size(text, width - 1) + "…"
