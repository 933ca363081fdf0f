"""Random logs: what recorded calls write down, as one number that every language comes to (tests/vectors/README.md).

Each session is a call that is driven by a generator of numbers and interrupted now and then: what was written is read
back, a recorder is made of it, which must equal the one that wrote it and goes on in its place.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Final

from holdoff import Failure, Policy
from holdoff.log import Event, Recorder, replay
from holdoff.machines import Step
from holdoff.types import Word
from recorded import Different

POLICIES: Final = "log_policies.json"
"""The policies of the sessions, beside the vectors."""
MASK: Final = 2**64 - 1
BEGAN: Final = 1_700_000_000_000_000_000
SECOND: Final = 1_000_000_000
MOST: Final = 64
"""Inputs of a session; one that is not over by then is cancelled."""
KINDS: Final[tuple[Word, ...]] = ("transient", "throttled", "timeout")


class Numbers:
    """splitmix64."""

    def __init__(self, seed: int) -> None:
        self.state = seed & MASK

    def next(self) -> int:
        self.state = state = (self.state + 0x9E3779B97F4A7C15) & MASK
        state = ((state ^ state >> 30) * 0xBF58476D1CE4E5B9) & MASK
        state = ((state ^ state >> 27) * 0x94D049BB133111EB) & MASK
        return state ^ state >> 31

    def pick(self, n: int) -> int:
        return self.next() % n


class Session:
    """One recorded call and its log."""

    def __init__(self, policies: list[Policy], start: int) -> None:
        self.numbers = numbers = Numbers(start)
        self.policy = policies[numbers.pick(len(policies))]
        seed = numbers.next()
        self.now = BEGAN + numbers.pick(SECOND)
        self.log = bytearray()
        self.recorder, self.step, events = Recorder.begin(self.policy, seed, self.now)
        self.write(events)

    def write(self, events: tuple[Event, ...]) -> None:
        for event in events:
            self.log += event.to_bytes(f"failure {event.attempt}" if event.kind == "ATTEMPT_FAILED" else None)

    def take(self, said: tuple[Step, tuple[Event, ...]]) -> None:
        self.step, events = said
        self.write(events)

    def play(self) -> bytes:
        """The log and the saved state at the end."""
        for _ in range(MOST):
            if self.step.ticket is not None:
                self.attempt(self.step.ticket)
            elif self.step.until is not None:
                self.sleep(self.step.until)
            else:
                break
        else:
            if self.step.kind != "stop":
                self.take(self.recorder.cancel(self.now))
        self.read_back()
        return bytes(self.log) + self.recorder.call.save(self.policy, self.now)

    def attempt(self, ticket: int) -> None:
        numbers, recorder = self.numbers, self.recorder
        self.now += numbers.pick(3 * SECOND)
        what = numbers.pick(16)
        if what < 4:
            self.take(recorder.succeed(ticket, self.now))
        elif what < 14:
            self.take(recorder.fail(self.policy, ticket, self.now, self.failure(what)))
        elif what == 14:
            self.take(recorder.cancel(self.now))
        else:
            self.interrupt()

    def failure(self, what: int) -> Failure:
        if what == 13:
            return Failure("permanent")
        numbers = self.numbers
        kind = KINDS[numbers.pick(3)]
        return Failure(kind, hint_ns=numbers.pick(5 * SECOND)) if numbers.pick(4) == 0 else Failure(kind)

    def sleep(self, until: int) -> None:
        numbers = self.numbers
        self.now = until + (numbers.pick(10 * SECOND) if numbers.pick(4) == 0 else 0)
        what = numbers.pick(16)
        if what == 0:
            self.take(self.recorder.cancel(self.now))
        elif what == 1:
            self.interrupt()
        else:
            self.take(self.recorder.tick(self.policy, self.now))

    def interrupt(self) -> None:
        self.recorder = self.read_back()
        self.take(self.recorder.resume(self.policy, self.now, reruns=2))

    def read_back(self) -> Recorder:
        """What is made of the log, which must be what wrote it."""
        events = [event for event, _ in Event.read_all(bytes(self.log))]
        if any(after.sequence != before.sequence + 1 for before, after in pairwise(events)):
            raise Different("the events are not numbered one after the other")
        live, again = self.recorder, replay(self.policy, events, mode="verify")
        if again != live or shown(again, self.policy, self.now) != shown(live, self.policy, self.now):
            raise Different(f"{again} was made of the log of {live}")
        return again


def shown(of: Recorder, policy: Policy, now: int) -> object:
    """All that a recorder says of itself."""
    return of.step.kind, of.step.until, of.sequence, of.attempt, of.started, of.reruns, of.call.save(policy, now)


def fnv(digest: int, data: bytes) -> int:
    """FNV-1a of 64 bits, on from a digest."""
    for byte in data:
        digest = ((digest ^ byte) * 0x100000001B3) & MASK
    return digest


def digest(folder: Path, count: int, seed: int) -> int:
    """That of so many sessions, under the policies in a folder of vectors."""
    file = next(file for file in (folder / POLICIES, folder / "holdoff" / POLICIES) if file.exists())
    policies = [Policy.from_dict(fields) for fields in json.loads(file.read_text(encoding="utf-8"))]
    total = 0xCBF29CE484222325
    for number in range(count):
        try:
            total = fnv(total, Session(policies, seed + number * 0xD1342543DE82EF95).play())
        except Exception as e:
            raise Different(f"session {number} of seed {seed}: {type(e).__name__}: {e}") from e
    return total
