"""Rounds of samples, so that whatever slows the machine slows everybody alike.

Not pyperf: that measures one after the other, each in processes of its own, and what is wanted are ratios within one
process and one moment.
"""

from __future__ import annotations

import gc
import sys
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Sample = Callable[[int], int]
    """Makes so many calls and says how many nanoseconds they took."""
    Row = dict[str, str | float]

SAMPLE_NS = 300_000
"""About as long as one sample takes: long beside the clock, short beside a slice of the scheduler."""


class Work(NamedTuple):
    """Something to do, and everybody who does it."""

    name: str
    samples: dict[str, Sample]
    rounds: int
    """Of a full run; a quick one has fewer."""
    calls: int | None = None
    """In one sample; as many as take about as long as one should unless it is given."""


QUICK = 4
"""By what the rounds of a full run are divided for a quick one."""


def measure(works: Iterable[Work], quick: bool) -> list[Row]:
    """The least and the median nanoseconds of a call, for everybody in each work."""
    rows: list[Row] = []
    for work in works:
        for who, nanos in rounds_of(work, quick).items():
            rows.append({"work": work.name, "who": who, "ns": min(nanos), "median": median(nanos)})
    return rows


def rounds_of(work: Work, quick: bool) -> dict[str, list[float]]:
    """The nanoseconds of a call in each round, for everybody in the work."""
    rounds = max(work.rounds // QUICK, 3) if quick else work.rounds
    print(f"{work.name}: {rounds} rounds", file=sys.stderr, flush=True)
    calls = {who: work.calls or _calls(sample) for who, sample in work.samples.items()}
    nanos: dict[str, list[float]] = {who: [] for who in work.samples}
    everybody = list(work.samples.items())
    # Existing objects need not be looked at in each round.
    gc.collect()
    gc.freeze()
    gc.disable()
    for turn in range(rounds):
        # Nobody pays for the garbage of another, and nobody always comes first.
        gc.collect()
        first = turn % len(everybody)
        for who, sample in everybody[first:] + everybody[:first]:
            nanos[who].append(sample(calls[who]) / calls[who])
    gc.enable()
    gc.unfreeze()
    return nanos


def _calls(sample: Sample) -> int:
    """How many calls take about as long as a sample should."""
    calls = 1
    while (took := sample(calls)) < SAMPLE_NS // 4:
        calls *= 2
    return max(calls * SAMPLE_NS // max(took, 1), 1)
