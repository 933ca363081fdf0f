"""The failures of a call that was logged, to be raised again in a test."""

from __future__ import annotations

from typing import NamedTuple

from . import classifiers
from ._holdoff import Event, Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    class _Time(Protocol):
        """Virtual time."""

        def advance(self, seconds: float) -> None:
            """Lets time pass."""


class RecordedError(Exception):
    """An attempt of an incident failed; the text comes from the log."""

    def __init__(self, text: str, failure: Failure) -> None:
        super().__init__(text or f"{failure.kind} failure of an incident")
        self.failure = failure
        """The failure that the log has: its kind and its hint."""


classifiers.register(RecordedError, lambda error: error.failure)


class RecordedAttempt(NamedTuple):
    """An attempt of an incident."""

    seconds: float
    """How long it took."""
    failure: Failure | None
    """How it failed; None if it succeeded."""
    text: str
    """The text that the log has beside the failure."""


class Incident:
    """The attempts of a call, from its log: how long each took, and how it failed."""

    def __init__(self, log: bytes | str) -> None:
        self.seed = 0
        """The seed of the call: with it and the same policy the delays are the same as in the log."""
        self.attempts: list[RecordedAttempt] = []
        """The attempts that ended, in their order."""
        began: int | None = None
        for event, text in _events(log):
            if event.kind == "STARTED":
                self.seed = event.seed or 0
            if event.kind in ("STARTED", "RESUMED"):
                began = event.at if event.attempt else None
            elif event.kind in ("ATTEMPT_FAILED", "SUCCEEDED"):
                seconds = 0.0 if began is None else max(event.at - began, 0) / 1e9
                self.attempts.append(RecordedAttempt(seconds, event.failure, text))
        if not self.attempts:
            raise ValueError("the log has no attempt that ended")

    def __repr__(self) -> str:
        failed = sum(attempt.failure is not None for attempt in self.attempts)
        return f"<Incident of {len(self.attempts)} attempts, {failed} failed>"

    def function(self, time: _Time, value: Any = None) -> Callable[[], Any]:
        """A function whose calls take as long and fail as the attempts did, and then return the value.

        ``time`` is the virtual time that the test runs in.
        """
        attempts = iter(self.attempts)

        def call() -> Any:
            attempt = next(attempts, None)
            if attempt is not None:
                time.advance(attempt.seconds)
                if attempt.failure is not None:
                    raise RecordedError(attempt.text, attempt.failure)
            return value

        return call


def _events(log: bytes | str) -> list[tuple[Event, str]]:
    """The events of a log: bytes as `Event.to_bytes` writes them, or a line of JSON for each event."""
    if isinstance(log, bytes):
        if not log[:1].strip(b"{ \r\n\t"):
            return _events(log.decode())
        return Event.read_all(log)
    from json import loads

    lines = [line for line in log.splitlines() if line.strip()]
    events = [Event.from_json(line) for line in lines]
    return [(event, loads(line).get("failureReason") or "") for event, line in zip(events, lines, strict=True)]


def incident(log: bytes | str) -> Incident:
    """The call that a log tells of: the bytes of its events, or its lines of JSON."""
    return Incident(log)
