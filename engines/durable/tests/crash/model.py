"""The decisions of a step that nothing happened to: the loop of the core alone, in a time of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from holdoff import Guards, Policy
from holdoff.machines import NEVER, GuardedCall

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from holdoff.machines import Step

    from .plan import StepPlan

# Some moment; no decision depends on which.
START = 1_700_000_000_000_000_000


@dataclass(frozen=True)
class Said:
    """An event but for its time and its number, and for the seconds that a deadline has left."""

    kind: str
    attempt: int
    delay: int | None = None
    cause: str | None = None
    failure: str | None = None
    hint: str | None = None
    reason: str | None = None
    retry_after: int | None = None

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in vars(self).items() if value is not None)

    @classmethod
    def of(cls, event: Mapping[str, Any]) -> Said:
        """What an event in its JSON form says."""
        kind, at = event["type"], int(event["at"])
        said = cls(kind, event["attemptNumber"])
        if kind == "ATTEMPT_FAILED":
            return replace(said, failure=event["failure"], hint=event["hint"])
        if kind == "RETRY_SCHEDULED":
            return replace(said, delay=int(event["until"]) - at, cause=event["cause"])
        if kind == "GAVE_UP":
            later = event["retryAt"]
            return replace(said, reason=event["reason"], retry_after=None if later == "never" else int(later) - at)
        return said


def expected(plan: StepPlan, seed: int) -> list[Said]:
    """What is to be recorded about a step whose seed is this."""
    policy = Policy.from_dict(plan.policy)
    # What guards refuse waits: they change no decision. Without guards it is the loop of a `Call`.
    guards = Guards()
    call, step = GuardedCall.begin(policy, guards, seed, START)
    now = START
    said = [Said("STARTED", 1)]
    while True:
        assert step.ticket is not None
        assert step.attempt is not None
        attempt = step.attempt
        now += 1_000_000
        failure = plan.failure(attempt)
        if failure is None:
            call.succeed(guards, step.ticket, now)
            return [*said, Said("SUCCEEDED", attempt)]
        step = call.fail(policy, guards, step.ticket, now, failure)
        hint = "none" if failure.hint_ns is None else str(failure.hint_ns)
        said.append(Said("ATTEMPT_FAILED", attempt, failure=failure.kind, hint=hint))
        if step.kind == "stop":
            return [*said, Said("GAVE_UP", attempt, reason=step.reason, retry_after=_after(step, now))]
        assert step.until is not None
        said.append(Said("RETRY_SCHEDULED", attempt + 1, delay=step.until - now, cause=step.cause))
        now = step.until
        step = call.tick(policy, guards, now)
        said.append(Said("RESUMED", attempt + 1))


def difference(said: Sequence[Said], wanted: Sequence[Said]) -> str:
    """The first thing that is not as it should be, for people; empty when all is."""
    for number, (one, other) in enumerate(zip_longest(said, wanted), start=1):
        if one != other:
            return f"event {number} is {one or 'missing'}, and should be {other or 'none'}"
    return ""


def _after(step: Step, now: int) -> int | None:
    return None if step.retry_at is None or step.retry_at == NEVER else step.retry_at - now


def uninterrupted(said: Sequence[Said]) -> list[Said]:
    """Without the events of attempts that ran once more because something interrupted them."""
    kept: list[Said] = []
    running = 0
    for one in said:
        if one.kind == "RESUMED" and one.attempt == running:
            continue
        if one.kind in ("STARTED", "RESUMED"):
            running = one.attempt
        elif one.kind == "ATTEMPT_FAILED":
            running = 0
        kept.append(one)
    return kept
