"""Jobs that fail by a script, notes of what happened to them, and what one process alone makes of the same script.

A script has a word for each attempt: "ok", or the kind of a failure, perhaps with a hint in seconds as in
"throttled:0.5". A "hang:" before it is for the first process that comes to it, which does not come back; a "die:" for
every one.
"""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any, NamedTuple

import holdoff
import holdoff.log
from holdoff.log import Event
from holdoff.testing import virtual_time
from holdoff_shared.jobs import seed_of

POLICY = holdoff.Policy(
    attempts=4,
    backoff={"initial": "150ms", "max": "600ms"},
    jitter="equal",
    hint={"mode": "floor", "max": "10s"},
)
NOTES = "HOLDOFF_NOTES"


class Trouble(Exception):
    """What a script asks for."""

    def __init__(self, kind: str, hint: float | None) -> None:
        super().__init__(f"{kind} as the script says")
        self.kind = kind
        self.hint = hint


def classify(error: Exception) -> holdoff.Failure | None:
    """What it asked for."""
    if not isinstance(error, Trouble):
        return None
    kind: Any = error.kind
    return holdoff.Failure(kind, hint=error.hint)


def follow(job: str, script: list[str], attempt: int | None) -> str:
    """One attempt."""
    assert attempt is not None
    word = script[attempt - 1]
    note(job, attempt)
    if word.startswith("die:"):
        os.kill(os.getpid(), signal.SIGKILL)
    if word.startswith("hang:"):
        word = word.removeprefix("hang:")
        if begins(job, attempt) == 1:
            time.sleep(60)
    if word == "ok":
        return f"done at attempt {attempt}"
    kind, _, hint = word.partition(":")
    raise Trouble(kind, float(hint) if hint else None)


def note(job: str, what: Any) -> None:
    """Appends a line to the notes that all processes share."""
    line = json.dumps({"process": os.getpid(), "parent": os.getppid(), "job": job, "at": time.time(), "what": what})
    file = os.open(os.environ[NOTES], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, f"{line}\n".encode())
    os.close(file)


def note_event(job: str, event: Event, text: str) -> None:
    """For the hook."""
    note(job, event.to_dict("a job", text or None))


class Note(NamedTuple):
    """One line of them."""

    process: int
    parent: int
    job: str
    at: float
    what: Any


def notes(path: Path) -> list[Note]:
    """All that was noted."""
    return [Note(**json.loads(line)) for line in path.read_text().splitlines()] if path.exists() else []


def begins(job: str, attempt: int) -> int:
    """How often that attempt of it was begun."""
    return sum(1 for note in notes(Path(os.environ[NOTES])) if note.job == job and note.what == attempt)


def log_of(job: str, noted: list[Note]) -> list[Event]:
    """What happened to it; where an event was noted twice, the later one holds, since the earlier one was lost."""
    events = {
        note.what["sequence"]: Event.from_dict(note.what)
        for note in noted
        if note.job == job and isinstance(note.what, dict)
    }
    return [events[sequence] for sequence in sorted(events)]


class Decisions(NamedTuple):
    """What was decided about a job, and when does not matter."""

    sleeps: list[tuple[int, int, str]]
    """Each with the attempt that comes, its nanoseconds and its cause."""
    end: tuple[str, int, str | None]
    """How it ended, how many attempts were begun, and why there was no other."""


def decided(events: list[Event]) -> Decisions:
    """What a log says."""
    sleeps = [
        (event.attempt, event.delay_ns or 0, str(event.cause)) for event in events if event.kind == "RETRY_SCHEDULED"
    ]
    assert events[-1].is_end
    return Decisions(sleeps, (events[-1].kind, events[-1].attempt, events[-1].reason))


def alone(job: str, script: list[str], policy: holdoff.Policy = POLICY) -> Decisions:
    """What this process decides, with no engine, no log and no clock but a virtual one, under the same seed."""
    sleeps: list[tuple[int, int, str]] = []
    words = iter(script)
    begun = 0

    def attempt() -> None:
        nonlocal begun
        begun += 1
        word = next(words).removeprefix("hang:")
        if word != "ok":
            kind, _, hint = word.partition(":")
            raise Trouble(kind, float(hint) if hint else None)

    caller = policy.retrying(
        classify=classify,
        seed=seed_of(job),
        on_retry=lambda event: sleeps.append((event.attempt + 1, event.delay_ns, event.cause)),
    )
    with virtual_time():
        try:
            caller.call(attempt)
        except Trouble as error:
            outcome = holdoff.outcome_of(error)
            assert outcome is not None
            return Decisions(sleeps, ("GAVE_UP", outcome.attempts, outcome.reason))
    return Decisions(sleeps, ("SUCCEEDED", begun, None))


def assert_decided_as_alone(job: str, script: list[str], events: list[Event]) -> None:
    """The decisions, and the log itself when it is replayed."""
    assert decided(events) == alone(job, script)
    assert events[0].seed == seed_of(job)
    replayed = holdoff.log.replay(POLICY, events, mode="verify")
    assert replayed.step.kind == "stop"


SCRIPTS = [
    ["ok"],
    ["transient", "ok"],
    ["transient", "timeout", "transient", "ok"],
    ["throttled:0.4", "ok"],
    ["transient", "permanent"],
    ["transient", "transient", "transient", "transient"],
    ["throttled:99", "ok"],
]
"""Of jobs that no worker dies of."""
ASLEEP = ["throttled:6", "ok"]
"""Of one that sleeps when a worker is killed."""
IN_FLIGHT = ["transient", "hang:transient", "ok"]
"""Of one that is in an attempt then."""
