"""`python -m crash --sqlite 300 --postgres 300`: kills, full disks and outages, and what became of it all."""

from __future__ import annotations

import argparse
import sys
import time
from random import SystemRandom
from typing import TYPE_CHECKING

from . import rounds, troubles

if TYPE_CHECKING:
    from .rounds import Report

ROWS = (
    ("rounds", "rounds"),
    ("processes", "processes"),
    ("kills", "of them killed"),
    ("deploys", "of them deployed"),
    ("in a commit", "within a commit"),
    ("workflows", "workflows"),
    ("steps", "steps"),
    ("attempts", "attempts"),
    ("again", "attempts run again"),
    ("events", "events"),
    ("decisions", "decisions compared"),
    ("verified", "logs verified"),
    ("duplicates", "events twice"),
    ("lost", "events lost"),
)


def main() -> int:
    """Runs what was asked for; 1 when something was found."""
    parser = argparse.ArgumentParser(prog="crash", description=__doc__)
    parser.add_argument("--sqlite", type=int, default=300, help="rounds in SQLite")
    parser.add_argument("--postgres", type=int, default=300, help="rounds in PostgreSQL")
    parser.add_argument("--seed", type=int, default=None, help="of the rounds; another one each time unless given")
    parser.add_argument("--short", action="store_true", help="one full disk and one outage only")
    asked = parser.parse_args()
    seed: int = SystemRandom().randrange(1 << 32) if asked.seed is None else asked.seed
    print(f"crash: seed {seed}", flush=True)
    reports: list[tuple[Report, float]] = []
    for database, count in (("sqlite", asked.sqlite), ("postgres", asked.postgres)):
        if count:
            began = time.monotonic()
            reports.append((rounds.run(database, count, seed, _tell), time.monotonic() - began))
    _print(reports)
    problems = [problem for report, _ in reports for problem in report.problems]
    for trouble in troubles.wanted(sqlite=bool(asked.sqlite), postgres=bool(asked.postgres), short=asked.short):
        began = time.monotonic()
        told = trouble.run(seed)
        problems += [f"--seed {seed}, {trouble.name}: {problem}" for problem in told.problems]
        print(f"{trouble.name}: {told.summary} ({time.monotonic() - began:.1f} s)", flush=True)
    for problem in problems[:20]:
        print(f"  {problem}", file=sys.stderr)
    print(f"{len(problems)} problems" if problems else "nothing lost, nothing twice", flush=True)
    return 1 if problems else 0


def _tell(what: str) -> None:
    print(f"  {what}", flush=True)


def _print(reports: list[tuple[Report, float]]) -> None:
    if not reports:
        return
    print(f"{'':<20}" + "".join(f"{report.database:>12}" for report, _ in reports))
    for key, name in ROWS:
        print(f"{name:<20}" + "".join(f"{report.counts[key]:>12,}" for report, _ in reports))
    print(f"{'seconds':<20}" + "".join(f"{seconds:>12.1f}" for _, seconds in reports), flush=True)


if __name__ == "__main__":
    sys.exit(main())
