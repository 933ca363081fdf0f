"""Runs vector files through the installed package's raw machines: run.py PATH, a file or a folder."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from holdoff import (
    NEVER,
    Call,
    ConfigError,
    Decision,
    Failure,
    Policy,
    Retry,
    Schedule,
    Step,
    http_failure,
    parse_duration,
    seed_at,
)

Case = dict[str, Any]
SHOWN = 5


class Different(Exception):
    """A case whose answer is not the expected one."""


def number(value: Any) -> int:
    """A non-negative integer: a JSON number, a decimal string, or "never"."""
    return NEVER if value == "never" else int(value)


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


FAILURES: dict[tuple[str, Any], Failure] = {}


def failure(data: Case) -> Failure:
    kind, hint = data["kind"], data.get("hint", "none")
    known = FAILURES.get((kind, hint))
    if known is None:
        if hint == "none":
            known = Failure(kind)
        elif hint == "never":
            known = Failure(kind, hint="never")
        else:
            known = Failure(kind, hint_ns=int(hint))
        FAILURES[kind, hint] = known
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


def run_call(case: Case) -> None:
    policy, seed = Policy.from_dict(case["policy"]), number(case["seed"])
    events, steps = case["events"], case["steps"]
    if len(events) != len(steps):
        raise Different(f"{len(events)} events but {len(steps)} steps")
    call: Call | None = None
    for at, (event, expected) in enumerate(zip(events, steps, strict=True)):
        op = event["op"]
        got: Step | None = None
        if op == "begin":
            call, got = Call.begin(policy, seed, number(event["now"]))
        elif op == "underway":
            call = Call.underway(seed, number(event["started"]))
        elif call is None:
            raise Different(f"{op} before the call began (at step {at})")
        elif op == "fail":
            ticket, now = number(event["ticket"]), number(event["now"])
            got = call.fail(policy, ticket, now, failure(event["failure"]))
        elif op == "tick":
            got = call.tick(policy, number(event["now"]))
        elif op == "succeed":
            got = call.succeed(number(event["ticket"]), number(event["now"]))
        elif op == "cancel":
            got = call.cancel(number(event["now"]))
        else:
            raise Different(f"unknown event {op!r} (at step {at})")
        same(plain(expected), None if got is None else step(got), at)


def run_retry(case: Case) -> None:
    policy = Policy.from_dict(case["policy"])
    retry = Retry(number(case["seed"]), number(case["started"]))
    for at, (failed, expected) in enumerate(zip(case["failures"], case["decisions"], strict=True)):
        got = retry.on_failure(policy, number(failed["now"]), failure(failed["failure"]))
        same(plain(expected), decision(got), at)


def run_schedule(case: Case) -> None:
    schedule = Schedule(Policy.from_dict(case["policy"]), number(case["seed"]))
    for at, expected in enumerate(case["delays"]):
        got = next(schedule, None)
        same(plain(expected), None if got is None else written(got), at)
    same(case["ends"], next(schedule, None) is None, len(case["delays"]))


def run_policy(case: Case) -> None:
    error: Case | None = None
    try:
        Policy.from_dict(case["policy"])
    except ConfigError as e:
        error = {"code": e.code, "name": e.name, "path": e.path, "nearest": e.nearest}
    same(case["error"], error)


def run_http(case: Case) -> None:
    got = http_failure(case["status"], case["retry_after"])
    if got is None:
        same(plain(case["failure"]), None)
        return
    hint = got.hint_ns
    said = "never" if got.hint == "never" else "none" if hint is None else written(hint)
    same(plain(case["failure"]), {"kind": got.kind, "hint": said})


def run_duration(case: Case) -> None:
    nanos: int | None
    try:
        nanos = parse_duration(case["text"])
    except ConfigError:
        nanos = None
    same(plain(case["nanos"]), None if nanos is None else written(nanos))


def run_seed(case: Case) -> None:
    same(plain(case["seed"]), written(seed_at(number(case["n"]), number(case["k"]))))


KINDS: dict[str, Callable[[Case], None]] = {
    "call": run_call,
    "retry": run_retry,
    "schedule": run_schedule,
    "policy": run_policy,
    "http": run_http,
    "duration": run_duration,
    "seed": run_seed,
}


def run_file(path: Path, name: str) -> bool:
    """Whether every case of the file passed."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        run, cases = KINDS[document["kind"]], document["cases"]
    except (OSError, ValueError, KeyError, TypeError) as e:
        print(f"  cannot be run: {type(e).__name__}: {e}\n{name}: 0 passed, 1 failed, 0 deviations")
        return False
    passed = failed = 0
    for case in cases:
        try:
            run(case)
            passed += 1
        except Exception as e:
            failed += 1
            if failed <= SHOWN:
                what = str(e) if isinstance(e, Different) else f"{type(e).__name__}: {e}"
                print(f"  {case.get('name', '?')}: {what}")
    print(f"{name}: {passed} passed, {failed} failed, 0 deviations")
    return failed == 0


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: run.py PATH", file=sys.stderr)
        return 2
    root = Path(arguments[0])
    found = (path for path in root.rglob("*.json") if path.name != "schema.json" and path.is_file())
    files = sorted(found) if root.is_dir() else [root]
    results = [run_file(path, path.name if path == root else path.relative_to(root).as_posix()) for path in files]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
