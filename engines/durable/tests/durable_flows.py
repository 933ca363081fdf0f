"""What tests of workflows share: one of three steps, and what is written of them."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

from holdoff_durable import Journal, JournalEvent, StepContext, Workflow as Flow

SECOND = 1_000_000_000
PATIENT = {"attempts": 5, "backoff": {"initial": "1s", "max": "1m"}, "deadline": "1h"}


class Order:
    """A workflow of three steps that counts what it does and fails as often as it is told."""

    def __init__(self, failures: int = 0, policy: Any = PATIENT) -> None:
        self.calls: list[str] = []
        self.left = failures
        self.flow = Flow("order")

        @self.flow.step
        def reserve(input: dict[str, Any]) -> dict[str, Any]:
            self.calls.append("reserve")
            return {"item": input["item"]}

        @self.flow.step(after=[reserve], policy=policy)
        async def charge(context: StepContext, reserve: dict[str, Any]) -> list[Any]:
            self.calls.append(f"charge {context.attempt}")
            if self.left:
                self.left -= 1
                raise ConnectionError(f"down {context.attempt}")
            return [reserve["item"], context.attempt]

        @self.flow.step(after=[charge])
        def ship(charge: list[Any]) -> str:
            self.calls.append("ship")
            return f"shipped {charge[0]}"


def of_step(journal: Journal, step: str, workflow_id: str = "1") -> list[tuple[str, int]]:
    return [(event.type, event.attempt_number) for event in journal.events_of_step(workflow_id, step)]


def cut(journal: Path, copy: Path, count: int) -> None:
    """The journal as it is when the process died after so many events."""
    shutil.copy(journal, copy)
    with sqlite3.connect(copy) as database:
        database.execute("DELETE FROM events WHERE sequence > ?", (count,))
        database.execute("UPDATE workflows SET last_sequence = ?, status = 'RUNNING'", (count,))
    database.close()


def decisions(events: list[JournalEvent]) -> list[Any]:
    """All that was decided, without the times and without what ran again."""
    kept: list[Any] = []
    for event in events:
        told = event.event
        if event.type == "RETRY_SCHEDULED":
            kept.append((event.step, event.type, event.attempt_number, int(told["until"]) - event.at, told["cause"]))
        elif event.type != "RESUMED":
            kept.append((event.step, event.type, event.attempt_number, told.get("seed"), event.payload))
    return kept
