"""A call that goes from language to language: each reads its log, makes one attempt, and leaves it asleep.

tests/vectors/README.md says what a leg is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from holdoff import Failure, Policy
from holdoff.log import Event, Recorder, replay

SEED: Final = 7
BEGAN: Final = 1_700_000_000_000_000_000
SECOND: Final = 1_000_000_000
FAILURES: Final = (Failure("transient"), Failure("throttled", hint=2.5), Failure("timeout"))


def leg(path: Path) -> None:
    """Goes on with the call whose log is in a file of lines, and in one of bytes beside it, or begins it."""
    policy = Policy(attempts=20)
    beside = path.with_suffix(".bin")
    now = BEGAN
    if path.exists():
        recorder = replay(policy, map(Event.from_json, path.read_bytes().splitlines()), mode="verify")
        if replay(policy, beside.read_bytes(), mode="verify") != recorder:
            raise ValueError("lines and bytes are not the same log")
        step, _ = recorder.resume(policy, BEGAN)
        assert step.until is not None
        now = step.until
        step, events = recorder.tick(policy, now)
    else:
        recorder, step, events = Recorder.begin(policy, SEED, BEGAN)
    with path.open("a", encoding="utf-8", newline="") as lines, beside.open("ab") as log:

        def write(events: tuple[Event, ...], text: str | None = None) -> None:
            for event in events:
                lines.write(event.to_json("relay", text) + "\n")
                log.write(event.to_bytes(text if event.kind == "ATTEMPT_FAILED" else None))

        write(events)
        assert step.ticket is not None
        assert step.attempt is not None
        text = f'attempt {step.attempt}: "größer" → \\ 東京\n'
        _, events = recorder.fail(policy, step.ticket, now + SECOND, FAILURES[step.attempt % 3])
        write(events, text)
