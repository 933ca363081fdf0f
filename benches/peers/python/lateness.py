"""How late a retry is that is due, through the runner: from the recorded time to the beginning of its attempt.

`python lateness.py [RETRIES] [SECONDS]`: 10,000 retries that become due at random moments of 25 seconds, and as many
that are all due at once. An attempt begins twice: in the log, when the runner takes it up, and in the step's function,
when the disk has confirmed the former. So the second waits for one commit, and for the rest of a commit under way;
`synchronous="NORMAL"` leaves the disk out, and what one commit costs here is printed beside them.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Literal

from holdoff import Failure, Policy
from holdoff_durable import Journal, Runner, StepContext, Workflow

if TYPE_CHECKING:
    from collections.abc import Sequence

FLOWS = 10
POLICY = Policy(attempts=2, hint={"mode": "exact", "max": "1h"})


class Later(Exception):
    """Fails once, and says until when it is to be left alone."""

    def __init__(self, due: int) -> None:
        super().__init__("later")
        self.due = due


def until(error: Exception) -> Failure:
    """The failure with the hint."""
    assert isinstance(error, Later)
    return Failure("transient", hint_ns=max(error.due - time.time_ns(), 0))


def measure(
    retries: int, head_start: float, spread: float, synchronous: Literal["FULL", "NORMAL"], folder: Path
) -> tuple[list[int], list[int]]:
    """The nanoseconds by which each attempt began after its recorded time: in the log, and in its function."""
    chance = Random(1)
    begin = time.time_ns() + round(head_start * 1e9)
    due = {number: begin + round(chance.random() * spread * 1e9) for number in range(retries)}
    began: dict[str, int] = {}

    def step(number: int) -> object:
        async def attempt(context: StepContext) -> None:
            if context.attempt == 1:
                raise Later(due[number])
            began[context.step] = time.time_ns()

        return attempt

    async def run(runner: Runner, flows: list[Workflow]) -> None:
        await asyncio.gather(*(runner.run_async(flow, flow.name) for flow in flows))

    flows = [Workflow(f"flow-{flow}", policy=POLICY) for flow in range(FLOWS)]
    for number in range(retries):
        flows[number % FLOWS].step(name=f"step-{number}", on=until)(step(number))
    with Runner(Journal(folder / "journal.db", synchronous=synchronous)) as runner:
        asyncio.run(run(runner, flows))
    with Journal(folder / "journal.db", read_only=True) as journal:
        events = [event for flow in flows for event in journal.events(flow.name)]
    recorded = {event.step: int(event.detail["until"]) for event in events if event.type == "RETRY_SCHEDULED"}
    taken = {event.step: event.at for event in events if event.type == "RESUMED"}
    assert len(recorded) == len(taken) == len(began) == retries
    failed = max(event.at for event in events if event.type == "ATTEMPT_FAILED")
    assert failed < begin, "the first attempts took too long"
    in_log = sorted(taken[step] - until for step, until in recorded.items())
    return in_log, sorted(began[step] - until for step, until in recorded.items())


def commit(folder: Path) -> list[int]:
    """The nanoseconds that the disk takes to confirm a page."""
    times: list[int] = []
    with (folder / "page").open("wb", buffering=0) as file:
        for _ in range(200):
            file.write(bytes(4096))
            begin = time.perf_counter_ns()
            os.fsync(file.fileno())
            times.append(time.perf_counter_ns() - begin)
    return sorted(times)


def show(name: str, sorted_times: Sequence[int]) -> None:
    """A row of the table, in milliseconds."""
    shares = (sorted_times[round((len(sorted_times) - 1) * share)] / 1e6 for share in (0.5, 0.95, 0.99, 1.0))
    print(f"{name:<48}" + "".join(f"{value:>9.2f}" for value in shares), flush=True)


def main() -> None:
    """Prints the table."""
    retries = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    spread = float(sys.argv[2]) if len(sys.argv) > 2 else 25.0
    runs: tuple[tuple[str, float, Literal["FULL", "NORMAL"]], ...] = (
        (f"{retries:,} within {spread:g} s", spread, "FULL"),
        (f"{retries:,} within {spread:g} s, NORMAL", spread, "NORMAL"),
        (f"{retries:,} at once", 0.0, "FULL"),
    )
    print(f"{'ms late':<48}{'p50':>9}{'p95':>9}{'p99':>9}{'max':>9}")
    for name, over, synchronous in runs:
        with tempfile.TemporaryDirectory(prefix="holdoff-lateness-") as folder:
            in_log, in_function = measure(retries, 5 + retries / 500, over, synchronous, Path(folder))
        show(f"{name}: taken up", in_log)
        show(f"{name}: function begins", in_function)
    with tempfile.TemporaryDirectory(prefix="holdoff-lateness-") as folder:
        show("one commit of this disk, for comparison", commit(Path(folder)))


if __name__ == "__main__":
    main()
