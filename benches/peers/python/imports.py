"""How long the first line of a program takes: the import in a fresh process, beside a process that imports nothing.

It is the time of the processor, to which nothing is added by what else the machine does.
"""

from __future__ import annotations

import os
import sys
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sampling import Row

ROUNDS, QUICK_ROUNDS = 60, 16
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
            took[who].append(_process(program))
    return [
        {"work": "import", "who": who, "ms": min(millis), "median ms": median(millis)} for who, millis in took.items()
    ]


def _process(program: str) -> float:
    # Isolated: neither the environment nor the folder decides what is imported.
    process = os.posix_spawn(sys.executable, [sys.executable, "-I", "-c", program], os.environ)
    _, status, used = os.wait4(process, 0)
    if status != 0:
        raise RuntimeError(f"{program} ended with {status}")
    return (used.ru_utime + used.ru_stime) * 1e3
