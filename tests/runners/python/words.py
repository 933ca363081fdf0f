"""How vectors write numbers, failures, steps and decisions, and what is compared with what."""

from __future__ import annotations

import json
from typing import Any, cast

from holdoff import Failure
from holdoff.machines import NEVER, Decision, Step
from recorded import Case, Different


def number(value: Any) -> int:
    """A non-negative integer: a JSON number, a decimal string, or "never"."""
    return NEVER if value == "never" else int(value)


def span(value: Any) -> str:
    """A number of nanoseconds as a configuration takes it."""
    return f"{number(value)}ns"


def written(value: int) -> int | str:
    """The same, as vectors write it."""
    if value == NEVER:
        return "never"
    return value if value <= 2**53 else str(value)


def same(expected: Any, got: Any, at: int | None = None) -> None:
    if expected != got:
        where = "" if at is None else f" (at step {at})"
        raise Different(f"expected {json.dumps(expected)}, got {json.dumps(got)}{where}")


def plain(value: Any) -> Any:
    """An expected value with its numbers in one form: those above 2^53 may be written either way."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in cast(Case, value).items()}
    if isinstance(value, str) and value.isdecimal():
        return written(int(value))
    return value if not isinstance(value, int) or isinstance(value, bool) else written(value)


FAILURES: dict[tuple[str, Any, Any], Failure] = {}


def failure(data: Case) -> Failure:
    kind, hint, rule = data["kind"], data.get("hint", "none"), data.get("rule")
    known = FAILURES.get((kind, hint, rule))
    if known is None:
        if hint == "none":
            known = Failure(kind, rule=rule)
        elif hint == "never":
            known = Failure(kind, hint="never", rule=rule)
        else:
            known = Failure(kind, hint_ns=int(hint), rule=rule)
        FAILURES[kind, hint, rule] = known
    return known


def step(of: Step) -> Case:
    kind = of.kind
    if kind == "sleep":
        return {"kind": kind, "until": written(of.until or 0), "cause": of.cause}
    if kind == "attempt":
        abort_at, wake_at = written(of.abort_at or 0), written(of.wake_at or 0)
        return {"kind": kind, "attempt": of.attempt, "abort_at": abort_at, "wake_at": wake_at}
    if kind == "wait":
        return {"kind": kind, "until": written(of.until or 0)}
    if of.outcome == "gave_up":
        return {"kind": kind, "outcome": of.outcome, "reason": of.reason, "retry_at": written(of.retry_at or 0)}
    return {"kind": kind, "outcome": of.outcome}


def decision(of: Decision) -> Case:
    if of.kind == "sleep":
        return {"kind": of.kind, "until": written(of.until or 0), "cause": of.cause}
    return {"kind": of.kind, "reason": of.reason, "retry_at": written(of.retry_at or 0)}


def hinted(of: Failure) -> int | str:
    hint = of.hint_ns
    return "never" if of.hint == "never" else "none" if hint is None else written(hint)


def word(of: Failure) -> Case:
    return {"kind": of.kind, "hint": hinted(of)}
