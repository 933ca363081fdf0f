"""A runner whose process dies on another machine, and one that watches: how long until it takes over."""

from __future__ import annotations

import asyncio
import logging
import struct
import time
from contextlib import ExitStack
from functools import partial
from mmap import mmap
from typing import TYPE_CHECKING

from holdoff_durable import Runner, StepContext, Workflow
from holdoff_durable._lease import new_owner
from servers import Postgres

from . import effects
from .life import Process
from .places import File, Schema

if TYPE_CHECKING:
    from pathlib import Path

    from .places import Place

LEASE = 2.0
LOOK = 1.0
"""Seconds between two looks of the runner that watches."""

SLACK = 2.0
"""Seconds for processes that the machine lets wait."""

OUTAGE = 3 * LEASE
SET_BACK = -3600 * 1_000_000_000


def after_a_kill(folder: Path, *, set_back: bool) -> tuple[str, list[str]]:
    """In SQLite, where the clock may be set back by an hour at the kill."""
    with mmap(-1, 8) as shared:

        def clock() -> int:
            (ahead,) = struct.unpack("=q", shared[:8])
            return time.time_ns() + int(ahead)

        place = File(folder, clock)
        file = folder / "effects"
        with ExitStack() as stack:
            first, _ = _both(place, file, folder, stack)
            first.kill()
            if set_back:
                shared[:8] = struct.pack("=q", SET_BACK)
            return _taken_over(file, "killed" + (", and the clock set back by an hour" if set_back else ""))


def after_an_outage(folder: Path) -> tuple[str, list[str]]:
    """In PostgreSQL, away for longer than the lease: the living keeps its workflow, and is killed after that."""
    with Postgres(durable=True) as server, ExitStack() as stack:
        file = folder / "effects"
        first, second = _both(Schema(server, "takeover"), file, folder, stack)
        server.stop()
        gone = time.monotonic()
        second.wait(lambda: time.monotonic() - gone >= OUTAGE)
        server.start()
        back = time.monotonic()
        # Long enough for a runner that would take it.
        second.wait(lambda: time.monotonic() - back >= LEASE + LOOK)
        taken = len(effects.read(file)) != 1
        first.kill()
        told, problems = _taken_over(file, f"away for {back - gone:.1f} s, not taken from the living, then killed")
        return told, ["the living was overtaken after an outage", *problems] if taken else problems


def _both(place: Place, file: Path, folder: Path, stack: ExitStack) -> tuple[Process, Process]:
    first = stack.enter_context(Process(partial(_work, place, file, 0), folder / "errors"))
    first.wait(lambda: len(effects.read(file)) == 1)
    second = stack.enter_context(Process(partial(_work, place, file, 1), folder / "errors"))
    # It has looked, and found that the first has the workflow.
    second.wait(lambda: second.seconds > LOOK)
    return first, second


def _taken_over(file: Path, what: str) -> tuple[str, list[str]]:
    died = time.monotonic()
    most = LEASE + LOOK + SLACK
    while len(effects.read(file)) < 2 and time.monotonic() - died < 10 * most:
        time.sleep(0.01)
    took = time.monotonic() - died
    problems = [] if took <= most else [f"taken over after {took:.1f} s, and not within {most:.1f} s"]
    return f"{what}: taken over after {took:.1f} s (lease {LEASE:.0f} s, look {LOOK:.0f} s)", problems


def _work(place: Place, file: Path, life: int) -> None:
    logging.basicConfig(filename=file.with_name("log"), level=logging.WARNING)
    begun = effects.Effects(file, life)
    flow = Workflow("leased")
    with Runner(place.journal(), lease=LEASE) as runner:
        owner = new_owner().split(" ")
        # Of another machine: nobody here sees that the process has died.
        owner[-4] = f"{life:016}"
        runner._options.owner = " ".join(owner)

        @flow.step
        async def one(context: StepContext) -> None:
            begun.begin("leased", "one", 1)
            if not context.rerun:
                await asyncio.Event().wait()
            runner.stop()

        if life:
            runner.watch([flow], every=LOOK)
        else:
            runner.run(flow, "leased")
