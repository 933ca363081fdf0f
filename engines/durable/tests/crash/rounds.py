"""Rounds: workflows, killed at random moments until a process comes to their end, and then the check."""

from __future__ import annotations

import tempfile
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from servers import Postgres

from . import effects
from .check import Findings, check
from .life import MOST_KILLS, End, Moment, live
from .places import File, Schema
from .plan import flows
from .worker import look, work

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from .check import Events
    from .effects import Effect
    from .places import Place
    from .plan import FlowPlan

    PlaceOf = Callable[[Path, int], Place]

FLOWS = 4
"""Workflows of a round, which run at the same time."""

CALM = 3
"""Rounds without a kill, before the others: how long a run takes, and that the check finds nothing there."""


@dataclass
class Report:
    """What the rounds of one database were, and what was found."""

    database: str
    seed: int
    counts: Counter[str] = field(default_factory=Counter[str])
    problems: list[str] = field(default_factory=list[str])
    calm: list[End] = field(default_factory=list[End])

    def add(self, number: int, found: Findings, ends: Sequence[End]) -> None:
        """Takes in a round."""
        self.problems += [f"--seed {self.seed}, round {number}: {problem}" for problem in found.problems]
        self.counts.update(found.counts)
        self.counts["rounds"] += 1
        self.counts["processes"] += len(ends)
        self.counts["kills"] += sum(end.killed for end in ends)
        self.counts["deploys"] += sum(end.stopped for end in ends)
        self.counts["in a commit"] += sum(end.in_commit for end in ends)


@dataclass(frozen=True)
class Round:
    """A round that is over."""

    plans: Sequence[FlowPlan]
    ends: Sequence[End]
    snapshots: Sequence[Events]
    final: Events
    effects: Sequence[Effect]
    ended: Findings

    def check(self) -> Findings:
        """What is wrong with it."""
        deployed = {life for life, end in enumerate(self.ends) if end.stopped}
        found = check(self.plans, self.snapshots, self.final, self.effects, deployed)
        found.problems += self.ended.problems
        found.counts.update(self.ended.counts)
        return found


def run(database: str, rounds: int, seed: int, tell: Callable[[str], None]) -> Report:
    """All rounds of a database."""
    report = Report(database, seed)
    with places(database) as place_of:
        for number in range(-CALM, rounds):
            moments = [] if number < 0 else _moments(Random(f"{seed}/{number}"), report.calm)
            round_ = one_round(place_of, seed, number, moments)
            report.add(number, round_.check(), round_.ends)
            if number < 0:
                report.calm.append(round_.ends[0])
            if number % 50 == 49 or number == rounds - 1:
                tell(f"{database}: {number + 1} of {rounds} rounds, {report.counts['kills']} kills")
    return report


def _moments(chance: Random, calm: Sequence[End]) -> list[Moment]:
    """One to four, of which only the first may be anywhere: the later processes have less to do."""
    # The fastest: a moment after the end of a run kills nothing.
    like = min(calm, key=lambda end: end.seconds)
    return [Moment.some(chance, like, 0.7**number) for number in range(chance.randint(1, MOST_KILLS))]


def one_round(place_of: PlaceOf, seed: int, number: int, moments: Sequence[Moment]) -> Round:
    """The workflows of a round, from their beginning to their end."""
    plans = flows(seed, number, FLOWS)
    names = [plan.id for plan in plans]
    with tempfile.TemporaryDirectory(prefix="holdoff-crash-") as temporary:
        folder = Path(temporary)
        place = place_of(folder, number)
        ends: list[End] = []
        snapshots: list[Events] = []
        for moment in (*moments, None):
            task = partial(work, place, plans, folder / "effects", len(ends), folder / "log")
            ends.append(live(task, moment, folder / "errors"))
            if not (ends[-1].killed or ends[-1].stopped):
                break
            snapshots.append(place.snapshot(names))
        found = Findings()
        errors = (folder / "errors").read_text()
        found.must(ends[-1].code == 0 and not errors, f"the last process ended with {ends[-1].code}:\n{errors}")
        with place.looked_at() as journal:
            look(journal, plans, found)
            final = {name: journal.events(name) for name in names}
        return Round(plans, ends, snapshots, final, effects.read(folder / "effects"), found)


@contextmanager
def places(database: str) -> Generator[PlaceOf]:
    """Where the journals of the rounds are."""
    with ExitStack() as stack:
        if database == "sqlite":
            yield lambda folder, _: File(folder)
        else:
            # A process that is killed leaves what it has written to the kernel, and the server is not killed.
            server = stack.enter_context(Postgres())
            yield lambda _, number: Schema(server, f"round_{number + CALM}")
