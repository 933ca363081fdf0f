"""How long the first line of a program takes: the import in a fresh process, beside a process that imports nothing."""

from __future__ import annotations

import subprocess
import sys
from statistics import median
from time import perf_counter_ns
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sampling import Row

ROUNDS, QUICK_ROUNDS = 60, 14
MODULES = ("holdoff", "tenacity", "stamina", "backoff", "retrying", "opnieuw", "pybreaker")


def measure(quick: bool) -> list[Row]:
    """The least and the median milliseconds of a process; what an import adds is the difference to `bare`."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    print(f"import: {rounds} rounds", file=sys.stderr, flush=True)
    programs = {"bare": "pass"} | {module: f"import {module}" for module in MODULES}
    # Without Redis's client, which it imports where there is one.
    programs["pybreaker"] = "import sys; sys.modules['redis'] = None; import pybreaker"
    programs["asyncio"] = "import asyncio"
    for program in programs.values():
        # The compiled files are there from now on, as they are after an installation.
        _process(program)
    took: dict[str, list[float]] = {who: [] for who in programs}
    everybody = list(programs.items())
    for turn in range(rounds):
        first = turn % len(everybody)
        for who, program in everybody[first:] + everybody[:first]:
            took[who].append(_process(program) / 1e6)
    return [
        {"work": "import", "who": who, "ms": min(millis), "median ms": median(millis)} for who, millis in took.items()
    ]


def _process(program: str) -> int:
    begun = perf_counter_ns()
    # Isolated: neither the environment nor the folder decides what is imported.
    subprocess.run([sys.executable, "-I", "-c", program], check=True, close_fds=False)
    return perf_counter_ns() - begun
