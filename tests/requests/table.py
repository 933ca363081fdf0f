"""How many requests does one call make? ``python table.py`` prints the table of docs/requests.md.

Each program runs against a provider that always answers in the same way. Delays are cut short in both columns, unless a
test looks at them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
import warnings
from typing import TYPE_CHECKING

import programs
from programs import PAIRS, Program
from provider import Provider, Script

if TYPE_CHECKING:
    from collections.abc import Iterator

FAULTS = {
    "503": "503",
    "429": "429",
    "400": "400",
    "`x-should-retry: false`": "503;x-should-retry=false",
    "connection reset": "reset",
}


@contextlib.contextmanager
def short_sleeps() -> Iterator[None]:
    """Sleeps of the other libraries, which cannot all be told to wait less."""
    before = time.sleep, asyncio.sleep
    time.sleep, asyncio.sleep = programs.hurried, programs.hurried_async  # type: ignore[assignment]
    try:
        yield
    finally:
        time.sleep, asyncio.sleep = before


def requests_of(provider: Provider, program: Program, steps: str) -> Script:
    """The requests that a program makes in one call, which fails or not."""
    script = provider.script("provider", steps)
    with contextlib.suppress(Exception):
        program(provider.url("provider"))
    return script


def rows(provider: Provider) -> Iterator[tuple[str, dict[str, tuple[int, int]], str]]:
    """Each program with the numbers of its requests before and after, and its line."""
    for pair in PAIRS:
        counts = {}
        for fault, steps in FAULTS.items():
            with short_sleeps():
                before = requests_of(provider, pair.before, steps)
            after = requests_of(provider, pair.after, steps)
            counts[fault] = len(before.times), len(after.times)
        yield pair.name, counts, pair.line


def table(provider: Provider) -> str:
    lines = [
        f"| client or framework | {' | '.join(FAULTS)} | change with holdoff |",
        f"|{'---|' * (len(FAULTS) + 2)}",
    ]
    for name, counts, line in rows(provider):
        cells = [f"{before} → {after}" for before, after in counts.values()]
        lines.append(f"| {name} | {' | '.join(cells)} | {line} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    logging.disable()
    warnings.simplefilter("ignore")
    print(table(Provider()), end="")
