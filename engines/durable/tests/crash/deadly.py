"""An attempt that is the end of its process, every time: it may not be so for ever."""

from __future__ import annotations

import os
import signal
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from holdoff_durable import Runner, StepContext, Workflow

from .life import Process
from .places import File

if TYPE_CHECKING:
    from .places import Place

RERUNS = 3
"""What a runner does unless told otherwise."""


def lives_and_log() -> tuple[int, list[str]]:
    """How many processes the first attempt of a step has ended, and what is recorded about it."""
    with tempfile.TemporaryDirectory(prefix="holdoff-deadly-") as temporary:
        place = File(Path(temporary))
        lives = 0
        while True:
            with Process(partial(_work, place), Path(temporary) / "errors") as process:
                process.wait()
                if process.end().code != -signal.SIGKILL:
                    break
            lives += 1
        with place.looked_at() as journal:
            return lives, [f"{event.type} {event.attempt_number}" for event in journal.events_of_step("one", "deadly")]


def _work(place: Place) -> None:
    flow = Workflow("deadly")

    @flow.step(policy={"attempts": 2, "backoff": {"kind": "constant", "delay": "1ms"}})
    async def deadly(context: StepContext) -> str:
        if context.attempt == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return "alive"

    with Runner(place.journal()) as runner:
        assert runner.run(flow, "one") == {"deadly": "alive"}
