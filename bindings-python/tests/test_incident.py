"""A log of a call becomes a test that fails as the call did."""

from __future__ import annotations

import holdoff
import holdoff.log
import pytest
from holdoff import Failure, Policy
from holdoff.log import Event, Recorder
from holdoff.testing import RecordedError, VirtualTime, incident, virtual_time

SECOND = 1_000_000_000
OLD = Policy(attempts=3)
NEW = Policy(attempts=4)


def logged() -> list[Event]:
    """The log of a call that gave up under the old policy; each attempt took a quarter of a second."""
    now = 1_700_000_000 * SECOND
    recorder, step, events = Recorder.begin(OLD, 7, now)
    log = list(events)
    for failure in (Failure("transient"), Failure("throttled", hint=1), Failure("transient")):
        if step.until is not None:
            now = step.until
            step, events = recorder.tick(OLD, now)
            log += events
        now += SECOND // 4
        assert step.ticket is not None
        step, events = recorder.fail(OLD, step.ticket, now, failure)
        log += events
    return log


def lines(log: list[Event]) -> str:
    return "".join(f"{event.to_json(failure_reason='down' if event.failure else None)}\n" for event in log)


def run(policy: Policy, log: bytes | str, time: VirtualTime) -> str:
    recorded = incident(log)
    value: str = holdoff.retry(recorded.function(time, value="ok"), policy=policy, seed=recorded.seed)()
    return value


@pytest.mark.parametrize("form", ["bytes", "lines", "bytes of lines"])
def test_the_policy_of_the_incident_decides_the_same_again(form: str) -> None:
    log = logged()
    text = lines(log)
    given: bytes | str = text
    if form != "lines":
        given = text.encode() if form == "bytes of lines" else b"".join(event.to_bytes() for event in log)
    with virtual_time() as time, pytest.raises(RecordedError) as raised:
        run(OLD, given, time)
    outcome = holdoff.outcome_of(raised.value)
    assert outcome is not None
    assert (outcome.reason, outcome.attempts) == ("attempts", 3)
    assert time.monotonic_ns() == log[-1].at - log[0].at
    assert [round(seconds * 1e9) for seconds in time.sleeps] == [event.delay_ns for event in log if event.until]


def test_another_policy_survives_the_same_incident() -> None:
    with virtual_time() as time:
        assert run(NEW, lines(logged()), time) == "ok"


def test_an_incident_knows_its_attempts() -> None:
    recorded = incident(lines(logged()))
    assert [(attempt.seconds, attempt.text) for attempt in recorded.attempts] == [(0.25, "down")] * 3
    assert [attempt.failure.kind for attempt in recorded.attempts if attempt.failure] == [
        "transient",
        "throttled",
        "transient",
    ]
    assert repr(recorded) == "<Incident of 3 attempts, 3 failed>"


def test_a_log_without_an_attempt_is_refused() -> None:
    with pytest.raises(ValueError, match="the log has no attempt that ended"):
        incident("")
    with pytest.raises(holdoff.log.EventError):
        incident(b"\xf5\x01")
