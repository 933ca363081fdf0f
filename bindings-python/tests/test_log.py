"""The log of a call: what it says to write down, and the same call again from what was written."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from holdoff import ConfigError, Failure, Guards, Policy
from holdoff.log import Event, EventError, Recorder, ReplayError, replay
from holdoff.machines import NEVER, Call, GuardedCall, Step
from hypothesis import given, strategies as st

SECOND = 1_000_000_000
BEGAN = 1_700_000_000 * SECOND
POLICY = Policy(attempts=4, backoff={"kind": "linear", "initial": 1, "max": "none"}, jitter="none", deadline=600)
JITTERED = Policy("default", attempts=6)


def ticket(step: Step) -> int:
    assert step.ticket is not None
    return step.ticket


def until(step: Step) -> int:
    assert step.until is not None
    return step.until


def failed(times: int, policy: Policy = POLICY, guards: Guards | None = None) -> tuple[Recorder, Step, list[Event]]:
    """A call whose first attempts have failed, and its log."""
    recorder, step, events = Recorder.begin(policy, 7, BEGAN, guards=guards)
    log, now = list(events), BEGAN
    for _ in range(times):
        if step.kind == "sleep":
            now = until(step)
            step, events = recorder.tick(policy, now, guards=guards)
            log += events
        step, events = recorder.fail(policy, ticket(step), now, Failure("throttled", hint=5), guards=guards)
        log += events
    return recorder, step, log


def kinds(events: Iterable[Event]) -> list[tuple[int, str, int]]:
    return [(event.sequence, event.kind, event.attempt) for event in events]


def bytes_of(events: Iterable[Event]) -> bytes:
    return b"".join(event.to_bytes() for event in events)


def test_a_call_says_what_to_write_down() -> None:
    recorder, step, log = failed(2)
    step, events = recorder.tick(POLICY, until(step))
    log += events
    step, events = recorder.succeed(ticket(step), BEGAN + 20 * SECOND)
    log += events
    assert kinds(log) == [
        (1, "STARTED", 1),
        (2, "ATTEMPT_FAILED", 1),
        (3, "RETRY_SCHEDULED", 2),
        (4, "RESUMED", 2),
        (5, "ATTEMPT_FAILED", 2),
        (6, "RETRY_SCHEDULED", 3),
        (7, "RESUMED", 3),
        (8, "SUCCEEDED", 3),
    ]
    assert [event.at - BEGAN for event in log] == [0, 0, 0] + [5 * SECOND] * 3 + [10 * SECOND, 20 * SECOND]
    assert [event.is_end for event in log] == [False] * 7 + [True]
    assert (step.outcome, recorder.sequence, recorder.attempt, recorder.started) == ("succeeded", 8, 3, BEGAN)
    assert recorder.step == step


def test_an_event_says_what_belongs_to_its_kind() -> None:
    recorder, _, (started, failure, scheduled) = failed(1)
    assert (started.seed, started.policy, started.is_guarded) == (7, POLICY.fingerprint, False)
    assert failure.failure == Failure("throttled", hint=5)
    assert (failure.hint, failure.hint_ns) == (5.0, 5 * SECOND)
    assert (scheduled.until, scheduled.cause) == (BEGAN + 5 * SECOND, "hint")
    assert (scheduled.delay, scheduled.delay_ns, scheduled.backoff_delay_ms) == (5.0, 5 * SECOND, 5000)
    _, (cancelled,) = recorder.cancel(BEGAN + SECOND)
    assert kinds([cancelled]) == [(4, "CANCELLED", 1)]
    *_, end = failed(4)[2]
    assert (end.kind, end.reason, end.retry_at) == ("GAVE_UP", "attempts", NEVER)
    own = {
        "STARTED": {"seed", "policy", "is_guarded"},
        "ATTEMPT_FAILED": {"failure", "hint", "hint_ns"},
        "RETRY_SCHEDULED": {"until", "cause", "delay", "delay_ns", "backoff_delay_ms"},
        "GAVE_UP": {"reason", "retry_at"},
        "CANCELLED": set[str](),
    }
    for event in (started, failure, scheduled, end, cancelled):
        for name in set[str]().union(*own.values()):
            assert (getattr(event, name) is not None) == (name in own[event.kind])


def test_a_delay_in_milliseconds_is_rounded_up() -> None:
    policy = Policy(backoff={"kind": "constant", "delay": "1000001ns"}, jitter="none")
    assert failed(1, policy)[2][2].backoff_delay_ms == 5000
    _, step, (started,) = Recorder.begin(policy, 0, BEGAN)
    recorder = replay(policy, [started])
    _, (_, scheduled) = recorder.fail(policy, ticket(step), BEGAN, Failure())
    assert (scheduled.delay_ns, scheduled.backoff_delay_ms) == (1_000_001, 2)


def test_nothing_is_written_of_what_changes_nothing() -> None:
    recorder, step, _ = failed(1)
    before = replay(POLICY, failed(1)[2])
    assert recorder.tick(POLICY, BEGAN + SECOND) == (step, ())
    assert recorder.fail(POLICY, 17, BEGAN + SECOND, Failure()) == (step, ())
    assert recorder == before
    end, _ = recorder.cancel(BEGAN + SECOND)
    for again in (
        recorder.cancel(BEGAN + 2 * SECOND),
        recorder.succeed(1, BEGAN + 2 * SECOND),
        recorder.tick(POLICY, NEVER),
        recorder.resume(POLICY, NEVER),
    ):
        assert again == (end, ())


def test_a_copy_goes_its_own_way() -> None:
    recorder, step, _ = failed(1)
    again = copy.copy(recorder)
    assert again == recorder
    assert recorder.tick(POLICY, until(step)) == again.tick(POLICY, until(step))
    recorder.cancel(until(step))
    assert again != recorder
    assert again.step.kind == "wait"


def test_a_programs_own_fault_ends_the_call() -> None:
    recorder, step, _ = Recorder.begin(POLICY, 0, BEGAN)
    step, events = recorder.abandon(ticket(step), BEGAN)
    assert kinds(events) == [(2, "ATTEMPT_FAILED", 1), (3, "GAVE_UP", 1)]
    assert (step.reason, events[0].failure, events[1].reason) == ("permanent", Failure("permanent"), "permanent")


def test_an_event_has_the_fields_that_workflow_engines_know() -> None:
    scheduled = failed(1)[2][2]
    fields = scheduled.to_dict("charge", "boom")
    assert fields == {
        "version": 1,
        "sequence": 3,
        "type": "RETRY_SCHEDULED",
        "at": str(BEGAN),
        "attemptNumber": 2,
        "backoffDelayMs": 5000,
        "failureReason": "boom",
        "payload": {"taskId": "charge", "reason": "boom"},
        "until": str(BEGAN + 5 * SECOND),
        "cause": "hint",
    }
    assert json.loads(scheduled.to_json("charge", "boom")) == fields
    assert scheduled.to_dict(task="charge")["payload"] == {"taskId": "charge"}
    assert "\n" not in scheduled.to_json(failure_reason="two\nlines")
    bare = scheduled.to_dict()
    assert not {"failureReason", "payload"} & bare.keys()
    del bare["until"]
    assert Event.from_dict(bare) == Event.from_dict(fields) == scheduled


def test_a_log_is_the_bytes_of_its_events() -> None:
    log = failed(2)[2]
    texts = ["", "boom", "", "", "größer", ""]
    data = b"".join(event.to_bytes(text) for event, text in zip(log, texts, strict=True))
    assert Event.read_all(data) == list(zip(log, texts, strict=True))
    assert Event.read_all(b"") == []


def test_no_text_of_an_error_is_too_much() -> None:
    event = failed(1)[2][1]
    assert Event.read_all(event.to_bytes("x" * 70_000))[0][1] == "x" * 65_535
    assert Event.read_all(event.to_bytes("ü" * 70_000))[0][1] == "ü" * 32_767
    ((_, text),) = Event.read_all(event.to_bytes("a\udc80b"))
    assert (text[0], text[-1]) == ("a", "b")
    assert Event.from_json(event.to_json("\ud800", "\udfff\0")) == event


def test_events_travel_between_processes() -> None:
    for event in failed(4)[2]:
        again = pickle.loads(pickle.dumps(event))
        assert again == event
        assert hash(again) == hash(event)
        assert len({again, event}) == 1
    one, other = failed(1)[2][1:]
    assert one != other
    assert repr(other) == "<Event 3: RETRY_SCHEDULED, attempt 2, in 5s (hint)>"


STARTED, FAILED, SCHEDULED = (event.to_dict("charge", "boom") for event in failed(1)[2])


@pytest.mark.parametrize(
    ("fields", "name", "path", "nearest"),
    [
        ({}, "missing_event_field", "version", None),
        (STARTED | {"version": 2}, "event_version", "version", None),
        (STARTED | {"sequence": 0}, "wrong_type", "sequence", None),
        (STARTED | {"type": "STARTD"}, "unknown_word", "type", "STARTED"),
        (STARTED | {"seed": "-1"}, "wrong_type", "seed", None),
        (STARTED | {"seed": 2**64}, "wrong_type", "seed", None),
        (STARTED | {"seed": None}, "missing_event_field", "seed", None),
        (STARTED | {"guarded": True}, "wrong_type", "guarded", None),
        (STARTED | {"cause": "hint"}, "not_for_kind", "cause", None),
        (STARTED | {"sed": "7"}, "unknown_event_field", "sed", "seed"),
        (STARTED | {3: 7}, "unknown_event_field", "3", None),
        (STARTED | {"payload": "charge"}, "wrong_type", "payload", None),
        (STARTED | {"payload": {"taskId": 3}}, "wrong_type", "payload.taskId", None),
        (STARTED | {"payload": {"taskID": ""}}, "unknown_event_field", "payload.taskID", "payload.taskId"),
        (FAILED | {"hint": []}, "wrong_type", "hint", None),
        (FAILED | {"attemptNumber": 1.5}, "wrong_type", "attemptNumber", None),
        (FAILED | {"attemptNumber": 0}, "event_damaged", "", None),
        (SCHEDULED | {"until": "0"}, "event_damaged", "", None),
        (SCHEDULED | {"until": "never"}, "wrong_type", "until", None),
    ],
)
def test_what_is_no_event_is_told(fields: Any, name: str, path: str, nearest: str | None) -> None:
    with pytest.raises(EventError) as raised:
        Event.from_dict(fields)
    error = raised.value
    assert (error.name, error.path, error.nearest) == (name, path, nearest)
    assert str(error).startswith("event")
    assert isinstance(pickle.loads(pickle.dumps(error)), ConfigError)
    if all(isinstance(key, str) for key in fields):
        with pytest.raises(EventError) as raised:
            Event.from_json(json.dumps(fields))
        assert (raised.value.name, raised.value.path) == (name, path)


@pytest.mark.parametrize(
    ("text", "name"),
    [("", "not_json"), ("x", "not_json"), (b"\xff", "not_json"), ("\ud800", "not_json")]
    + [("[]", "not_an_object"), ("3", "not_an_object")],
)
def test_text_that_is_no_event_is_told(text: Any, name: str) -> None:
    with pytest.raises(EventError) as raised:
        Event.from_json(text)
    assert raised.value.name == name


def test_bytes_that_are_no_log_are_told_by_the_event_that_was_expected() -> None:
    log = failed(1)[2]
    data = bytes_of(log)
    second = len(log[0].to_bytes())
    for damaged, name, sequence in (
        (data[:-1], "event_cut", 3),
        (data[: second + 1], "event_cut", 2),
        (b"{}", "event_damaged", 1),
        (data[:2] + b"\xff" + data[3:], "event_damaged", 1),
        (data[: second + 1] + b"\x02" + data[second + 2 :], "event_version", 2),
        (data + b"\0", "event_damaged", 4),
    ):
        with pytest.raises(EventError) as raised:
            Event.read_all(damaged)
        assert (raised.value.name, raised.value.sequence) == (name, sequence)
        assert str(raised.value).startswith(f"event {sequence}")


@given(st.binary(max_size=60), st.integers(0, 200), st.integers(0, 7))
def test_any_change_of_a_log_is_noticed(junk: bytes, place: int, bit: int) -> None:
    data = bytearray(bytes_of(failed(4)[2]))
    data[place % len(data)] ^= 1 << bit
    with pytest.raises(EventError):
        Event.read_all(bytes(data))
    if junk:
        with pytest.raises(EventError):
            Event.read_all(junk)


Inputs = list[tuple[int, int, str]]
OPS = ("succeed", "permanent", "transient", "throttled", "timeout", "hint", "cancel", "tick", "abandon", "interrupt")
inputs: st.SearchStrategy[Inputs] = st.lists(
    st.tuples(st.integers(0, 3 * SECOND), st.integers(0, 10 * SECOND), st.sampled_from(OPS)), max_size=24
)
policies = st.sampled_from(
    [
        POLICY,
        JITTERED,
        Policy("aws-standard-2.1", deadline=9),
        Policy(attempts=50, attempt_timeout=2, backoff={"kind": "decorrelated", "initial": 1, "max": 9}),
    ]
)


def failure_of(op: str, number: int) -> Failure:
    if op == "permanent":
        return Failure("permanent")
    if op == "throttled":
        return Failure("throttled", hint_ns=number)
    if op == "hint":
        return Failure(hint="never" if number % 5 == 0 else None)
    return Failure("timeout" if op == "timeout" else "transient")


class Live:
    """A recorded call that is driven by arbitrary inputs, and its log."""

    def __init__(self, policy: Policy, seed: int, guards: Guards | None = None) -> None:
        self.policy, self.guards, self.now = policy, guards, BEGAN
        self.recorder, self.step, events = Recorder.begin(policy, seed, BEGAN, guards=guards)
        self.log = list(events)

    def put(self, later: int, number: int, op: str) -> None:
        recorder, guards = self.recorder, self.guards
        self.now += later
        if op == "cancel":
            said = recorder.cancel(self.now, guards=guards)
        elif self.step.ticket is None or op == "tick":
            # A tick may be too early; any other input comes when the sleep is over.
            if op != "tick" and self.step.until is not None:
                self.now = max(self.now, self.step.until)
            said = recorder.tick(self.policy, self.now, guards=guards)
            if self.step.ticket is not None:
                assert said == (recorder.step, ())
                return
        elif op == "succeed":
            said = recorder.succeed(self.step.ticket, self.now, guards=guards)
        elif op == "abandon":
            said = recorder.abandon(self.step.ticket, self.now, guards=guards)
        else:
            failure = failure_of(op, number)
            said = recorder.fail(self.policy, self.step.ticket, self.now, failure, guards=guards)
        self.step, events = said
        self.log += events

    def interrupt(self, later: int) -> None:
        """The process is gone; another one reads what it wrote."""
        self.now += later
        self.recorder = replay(self.policy, bytes_of(self.log), mode="verify")
        self.step, written = self.recorder.resume(self.policy, self.now, reruns=2, guards=self.guards)
        self.log += written
        assert self.recorder.reruns <= 2

    def check(self) -> None:
        """What is made of the log is the call, in whatever mode."""
        policy, now, live = self.policy, self.now, self.recorder
        again = replay(policy, self.log, mode="verify")
        assert again == replay(policy, self.log)
        assert (again.sequence, again.attempt, again.reruns) == (live.sequence, live.attempt, live.reruns)
        assert again.call.save(policy, now) == live.call.save(policy, now)
        if not live.is_guarded:
            assert again == live
            assert again.step == live.step


@given(policies, st.integers(0, 2**64 - 1), inputs)
def test_a_replayed_call_is_the_one_that_wrote_the_log(policy: Policy, seed: int, inputs: Inputs) -> None:
    live = Live(policy, seed)
    for later, number, op in inputs:
        if op == "interrupt":
            live.interrupt(later)
        else:
            live.put(later, number, op)
        live.check()
    assert [event.sequence for event in live.log] == list(range(1, len(live.log) + 1))
    assert [Event.from_json(event.to_json("t", "f")) for event in live.log] == live.log


@given(policies, st.integers(0, 2**64 - 1), inputs)
def test_a_recorded_call_takes_the_steps_of_a_call(policy: Policy, seed: int, inputs: Inputs) -> None:
    live = Live(policy, seed)
    call, step = Call.begin(policy, seed, BEGAN)
    assert live.step == step
    for later, number, op in inputs:
        if op in ("abandon", "interrupt"):
            continue
        held = live.step
        live.put(later, number, op)
        now = live.now
        if op == "cancel":
            step = call.cancel(now)
        elif held.ticket is None:
            step = call.tick(policy, now)
        elif op == "succeed":
            step = call.succeed(held.ticket, now)
        elif op != "tick":
            step = call.fail(policy, held.ticket, now, failure_of(op, number))
        assert live.step == step
        assert live.recorder.remaining(now) == call.remaining(now)
        assert live.recorder.call.attempt == call.attempt


def test_an_interrupted_attempt_runs_again_under_its_own_number() -> None:
    recorder, _, log = failed(1)
    step, events = recorder.tick(POLICY, BEGAN + 5 * SECOND)
    log += events
    now = BEGAN + 60 * SECOND
    for rerun in (1, 2, 3):
        recorder = replay(POLICY, log)
        assert (recorder.step.kind, recorder.attempt) == ("wait", 2)
        step, events = recorder.resume(POLICY, now)
        log += events
        assert (step.kind, step.attempt, step.ticket, recorder.reruns) == ("attempt", 2, 2, rerun)
        assert kinds(events) == [(4 + rerun, "RESUMED", 2)]
    recorder = replay(POLICY, log)
    step, events = recorder.resume(POLICY, now)
    assert kinds(events) == [(8, "ATTEMPT_FAILED", 2), (9, "RETRY_SCHEDULED", 3)]
    assert (events[0].failure, step.until) == (Failure("timeout"), now + 2 * SECOND)


def test_a_crash_changes_no_decision_of_a_healthy_call() -> None:
    recorder, step, log = failed(1)
    step, events = recorder.tick(POLICY, until(step))
    log += events
    resumed = replay(POLICY, log)
    resumed.resume(POLICY, BEGAN + 5 * SECOND)
    now = BEGAN + 7 * SECOND
    live, _ = recorder.fail(POLICY, ticket(step), now, Failure())
    assert resumed.fail(POLICY, ticket(step), now, Failure())[0] == live


def test_a_call_sleeps_on_and_its_end_stays() -> None:
    recorder, step, log = failed(1)
    again = replay(POLICY, log)
    assert again.resume(POLICY, BEGAN + SECOND) == (step, ())
    assert again == recorder
    assert again.resume(POLICY, BEGAN + 3600 * SECOND) == (step, ())
    assert again.tick(POLICY, BEGAN + SECOND + 5 * SECOND)[0].attempt == 2
    _, end, log = failed(4)
    assert replay(POLICY, log).resume(POLICY, NEVER) == (end, ())


def test_an_interruption_beyond_the_deadline_is_the_end() -> None:
    log = failed(0)[2]
    step, events = replay(POLICY, log).resume(POLICY, BEGAN + 601 * SECOND)
    assert (step.reason, events[-1].kind, events[-1].reason) == ("deadline", "GAVE_UP", "deadline")
    assert replay(POLICY, [*log, *events], mode="verify").step == step


def test_a_log_that_was_cut_before_a_decision_is_completed() -> None:
    whole = failed(2)[2]
    recorder = replay(POLICY, whole[:-1])
    assert recorder.sequence == 5
    step, events = recorder.resume(POLICY, BEGAN + 6 * SECOND)
    assert list(events) == whole[-1:]
    assert step.until == whole[-1].until
    assert recorder == replay(POLICY, whole)


LOG = failed(2)[2]


@pytest.mark.parametrize(
    ("events", "name", "sequence"),
    [
        ([], "log_empty", 1),
        (LOG[1:], "log_start", 1),
        (LOG[:2] + LOG[3:], "log_gap", 3),
        (LOG[:3] + LOG[2:], "log_twice", 3),
        (LOG[:3] + LOG[:2], "log_order", 1),
        ([LOG[0], Event.from_dict(LOG[3].to_dict() | {"sequence": 2})], "log_impossible", 2),
        ([*LOG[:3], Event.from_dict(LOG[3].to_dict() | {"at": "5"})], "log_time", 4),
        ([Event.from_dict(LOG[0].to_dict() | {"policy": "1"})], "log_policy", 1),
    ],
)
def test_what_is_no_log_is_told(events: list[Event], name: str, sequence: int) -> None:
    for mode in ("follow", "verify"):
        with pytest.raises(ReplayError) as raised:
            replay(POLICY, events, mode=mode)
        error = raised.value
        assert (error.name, error.sequence) == (name, sequence)
        assert str(error).startswith(f"event {sequence}: " if events else "the log ")
        assert (error.recorded is None) == (not events)
        again = pickle.loads(pickle.dumps(error))
        assert (again.code, again.recorded, str(again)) == (error.code, error.recorded, str(error))


def test_a_log_of_bytes_is_told_of_the_first_thing_that_is_wrong_with_it() -> None:
    for log, name, sequence in (
        (bytes_of(LOG)[:-1], "event_cut", 6),
        (bytes_of(LOG[:2] + LOG[3:])[:-1], "log_gap", 3),
        (b"", "log_empty", 1),
        (b"{}", "event_damaged", 1),
    ):
        with pytest.raises((EventError, ReplayError)) as raised:
            replay(POLICY, log)
        error: Any = raised.value
        assert (error.name, error.sequence) == (name, sequence)


def test_a_promise_is_kept_when_the_policy_has_changed() -> None:
    log = failed(1)[2][:2] + [Event.from_dict(failed(1)[2][2].to_dict() | {"until": str(BEGAN + 9 * SECOND)})]
    assert replay(POLICY, log).step.until == BEGAN + 9 * SECOND
    with pytest.raises(ReplayError) as raised:
        replay(POLICY, log, mode="verify")
    error = raised.value
    assert (error.name, error.sequence, error.recorded) == ("log_diverged", 3, log[2])
    assert error.computed is not None
    assert error.computed.until == BEGAN + 5 * SECOND
    shorter = Policy(attempts=1)
    with pytest.raises(ReplayError, match="another policy"):
        replay(shorter, log)
    recorder = replay(shorter, log, any_policy=True)
    step, _ = recorder.tick(shorter, BEGAN + 9 * SECOND)
    assert recorder.fail(shorter, ticket(step), BEGAN + 9 * SECOND, Failure())[0].reason == "attempts"


SHARED: Any = {
    "budget": {"kind": "ratio", "ratio": 0.5},
    "breaker": {"failures": 2, "open_for": 30, "refusal": "wait"},
    "limiter": {"limit": 3, "per": 10, "burst": 1, "refusal": "wait"},
    "bulkhead": 1,
    "stretch": {"min_calls": 1, "factor": 3.0},
}


def guards_of(*names: str) -> Guards:
    return Guards(seed=3, now=BEGAN, **{name: SHARED[name] for name in names})


def test_the_state_of_a_breaker_is_in_the_log() -> None:
    guards = guards_of("breaker")
    recorder, step, log = failed(2, guards=guards)
    assert log[0].is_guarded
    assert recorder.is_guarded
    assert (step.cause, log[-1].cause) == ("breaker", "breaker")
    again = replay(POLICY, log, mode="verify")
    assert again.call.save(POLICY, until(step)) == recorder.call.save(POLICY, until(step))
    # Another process, where the breaker knows of nothing: the next attempt need not wait.
    fresh = guards_of("breaker")
    step, events = again.resume(POLICY, BEGAN + 6 * SECOND, guards=fresh)
    assert (step.kind, events) == ("sleep", ())
    step, events = again.tick(POLICY, until(step), guards=fresh)
    assert (step.kind, kinds(events)) == ("attempt", [(len(log) + 1, "RESUMED", 3)])


@pytest.mark.parametrize("refusal", ["stop", "wait"])
def test_a_call_that_a_guard_refuses_begins_without_an_attempt(refusal: Any) -> None:
    guards = Guards(breaker={"failures": 1, "open_for": 30, "refusal": refusal}, seed=0, now=BEGAN)
    failed(1, guards=guards)
    recorder, step, events = Recorder.begin(POLICY, 0, BEGAN + SECOND, guards=guards)
    assert recorder.attempt == 0
    if refusal == "stop":
        assert kinds(events) == [(1, "STARTED", 0), (2, "GAVE_UP", 0)]
        assert (step.reason, events[1].reason, events[1].retry_at) == ("breaker", "breaker", BEGAN + 30 * SECOND)
    else:
        assert kinds(events) == [(1, "STARTED", 0), (2, "RETRY_SCHEDULED", 1)]
        assert (step.until, events[1].until, events[1].cause) == (BEGAN + 30 * SECOND, BEGAN + 30 * SECOND, "breaker")
    assert replay(POLICY, events, mode="verify").step == step


@given(
    policies,
    st.lists(st.sampled_from(sorted(SHARED)), min_size=1, unique=True),
    st.integers(0, 2**64 - 1),
    inputs,
)
def test_a_recorded_call_takes_the_steps_of_a_guarded_call(
    policy: Policy, names: list[str], seed: int, inputs: Inputs
) -> None:
    ours, theirs = guards_of(*names), guards_of(*names)
    live = Live(policy, seed, ours)
    call, step = GuardedCall.begin(policy, theirs, seed, BEGAN)
    assert live.step == step
    for later, number, op in inputs:
        if op == "interrupt":
            continue
        held = live.step
        live.put(later, number, op)
        now = live.now
        if op == "cancel":
            step = call.cancel(theirs, now)
        elif held.ticket is None:
            step = call.tick(policy, theirs, now)
        elif op == "succeed":
            step = call.succeed(theirs, held.ticket, now)
        elif op == "abandon":
            step = call.abandon(theirs, held.ticket, now)
        elif op != "tick":
            step = call.fail(policy, theirs, held.ticket, now, failure_of(op, number))
        assert live.step == step
        assert ours.save(now) == theirs.save(now)
        live.check()


@given(
    policies,
    st.lists(st.sampled_from(sorted(SHARED)), min_size=1, unique=True),
    st.integers(0, 2**64 - 1),
    inputs,
)
def test_an_interrupted_call_goes_on_under_guards(policy: Policy, names: list[str], seed: int, inputs: Inputs) -> None:
    live = Live(policy, seed, guards_of(*names))
    for later, number, op in inputs:
        if op == "interrupt":
            # What guards are in memory is gone with the process.
            live.guards = guards_of(*names)
            live.interrupt(later)
        else:
            live.put(later, number, op)
        live.check()


def test_a_recorded_call_does_not_hedge() -> None:
    guards = Guards(hedge={"delay": 1}, now=BEGAN)
    recorder, step, events = Recorder.begin(POLICY, 0, BEGAN, guards=guards)
    assert step.wake_at == NEVER
    assert len(events) == 1
    step, events = recorder.tick(POLICY, BEGAN + 2 * SECOND, guards=guards)
    assert (step.kind, step.until, events) == ("wait", NEVER, ())


def test_a_place_in_a_bulkhead_is_given_back_and_taken_again() -> None:
    guards = guards_of("bulkhead")
    bulkhead = guards.bulkhead
    assert bulkhead is not None
    recorder, step, events = Recorder.begin(POLICY, 0, BEGAN, guards=guards)
    log = list(events)
    assert bulkhead.running == 1
    recorder.cancel(BEGAN, guards=guards)
    assert bulkhead.running == 0
    again = replay(POLICY, log)
    step, events = again.resume(POLICY, BEGAN, guards=guards)
    assert (step.kind, again.reruns, bulkhead.running) == ("attempt", 1, 1)
    again.succeed(ticket(step), BEGAN, guards=guards)
    assert bulkhead.running == 0


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: Recorder.begin(POLICY, -1, 0), "seed_range"),
        (lambda: Recorder.begin(POLICY, 0, 2**64), "time_range"),
        (lambda: failed(0)[0].cancel(-1), "time_range"),
        (lambda: failed(0)[0].succeed(-1, 0), "time_range"),
        (lambda: failed(0)[0].resume(POLICY, -1), "time_range"),
    ],
)
def test_a_recorder_is_told_numbers_in_range(make: Callable[[], object], name: str) -> None:
    with pytest.raises(ConfigError) as raised:
        make()
    assert raised.value.name == name


def test_a_recorder_is_told_the_right_things() -> None:
    wrong: list[Callable[[Any], object]] = [
        lambda x: Recorder.begin(POLICY, x, 0),
        lambda x: Recorder.begin(POLICY, 0, 0, guards=x),
        lambda x: failed(0)[0].resume(POLICY, 0, reruns=x),
        lambda x: replay(POLICY, x),
        lambda x: replay(POLICY, [x]),
        lambda x: Event.read_all(x),
        lambda x: Event.from_dict(x),
        lambda x: LOG[0].to_json(x, "boom"),
    ]
    for make in wrong:
        with pytest.raises(TypeError):
            make(1.5)
    with pytest.raises(ValueError, match="follow, verify"):
        replay(POLICY, LOG, mode="trust")  # type: ignore[arg-type]
