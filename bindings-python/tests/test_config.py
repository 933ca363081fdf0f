"""Policies: what goes in, what comes out, and what is said about mistakes."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import holdoff
import holdoff.testing
import pytest
from holdoff import ConfigError, Failure, Policy
from holdoff.machines import NEVER, Call, Retry, Schedule
from hypothesis import given, strategies as st

FACTOR = "backoff.factor = {}: must be a finite number, 0 or more; for decorrelated backoff 1 or more"


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"atempts": 3}, 'atempts = 3: is not a field of a policy; did you mean "attempts"?'),
        ({"backoff": {"maxx": "1s"}}, "backoff.maxx = '1s': is not a field of a policy; did you mean \"backoff.max\"?"),
        ({"colour": None}, "colour = None: is not a field of a policy"),
        ({"attempts": 0}, 'attempts = 0: must be a whole number from 1 to 4294967294, or "forever"'),
        ({"attempts": -1}, 'attempts = -1: must be a whole number from 1 to 4294967294, or "forever"'),
        ({"attempts": 2.5}, 'attempts = 2.5: must be a whole number from 1 to 4294967294, or "forever"'),
        ({"attempts": True}, 'attempts = True: must be a whole number from 1 to 4294967294, or "forever"'),
        (
            {"jitter": "ful"},
            "jitter.kind = 'ful': must be one of none, full, equal, additive, proportional, bounded, "
            'subtractive; did you mean "full"?',
        ),
        (
            {"backoff": {"initial": "2s", "max": "1s"}},
            "backoff.max = '1s': must not be below the stage's initial delay (it is 5s unless given)",
        ),
        ({"backoff": {"factor": -1}}, FACTOR.format("-1")),
        ({"backoff": {"factor": math.nan}}, FACTOR.format("nan")),
        ({"backoff": {"factor": math.inf}}, FACTOR.format("inf")),
        ({"deadline": 0}, 'deadline = 0: must be more than 0, or "none"'),
        ({"deadline": "3s", "min_attempt": 3}, "min_attempt = 3: must be below the deadline"),
        ({"on_deadline": "clip"}, "on_deadline = 'clip': \"clip\" needs a min_attempt above 0"),
        ({"backoff": "constant", "backoff.factor": 2}, "backoff.factor = 2: has no meaning for the chosen kind"),
        ({"jitter": "additive"}, "jitter.factor: is needed by additive, proportional and subtractive jitter"),
    ],
)
def test_a_mistake_is_explained(fields: Any, text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        Policy(**fields)
    assert str(raised.value) == text


@pytest.mark.parametrize(
    "value",
    [-1, -0.5, math.nan, math.inf, -math.inf, 1e300, 2**63, 10**400, "5", "1 s", "-1s", "1d", "", "\ud800", "٣s"]
    + [timedelta(seconds=-1), timedelta.max, True, b"1s", [1], (1,), {1}, object(), Decimal(1), 1j, {"a": {"b": {}}}],
    ids=repr,
)
def test_what_is_no_time_is_refused(value: Any) -> None:
    for fields in ({"deadline": value}, {"backoff": {"initial": value}}, {"hint.max": value}):
        with pytest.raises(ConfigError):
            Policy.from_dict(fields)


def test_an_error_carries_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="did you mean") as raised:
        Policy.from_dict({"atempts": 3})
    error = pickle.loads(pickle.dumps(raised.value))
    assert isinstance(error, ConfigError)
    assert (error.code, error.name, error.path, error.nearest) == (100, "unknown_field", "atempts", "attempts")
    assert error.rule == "is not a field of a policy"


def test_long_and_hostile_values_are_shown_shortly() -> None:
    class Hostile:
        def __repr__(self) -> str:
            raise RuntimeError

    endless: dict[str, Any] = {}
    endless["backoff"] = endless
    for value in ("x" * 10_000, Hostile(), [10] * 10_000, endless, {1: 2}, {"\ud800": 1}):
        with pytest.raises(ConfigError) as raised:
            Policy.from_dict({"backoff": value})
        assert len(str(raised.value)) < 400


def test_times_are_written_in_many_ways() -> None:
    one = Policy(deadline=1.5)
    assert (
        one
        == Policy(deadline="1.5s")
        == Policy(deadline=timedelta(seconds=1.5))
        == Policy.from_dict({"deadline": "1500ms"})
    )
    assert one != Policy(deadline=1.6)


def test_none_is_as_good_as_not_given() -> None:
    assert Policy(attempts=None, backoff=None, hint={"max": None}, deadline=None) == Policy()


def test_names_may_be_nested_or_dotted() -> None:
    nested = Policy(backoff={"kind": "linear", "initial": "1s"}, jitter="equal")
    assert nested == Policy.from_dict({"backoff": "linear", "backoff.initial": "1s", "jitter.kind": "equal"})


def test_an_outcome_shows_itself_in_python() -> None:
    assert repr(holdoff.Outcome("hint", 2, 1_000_000_000)) == "Outcome(reason='hint', attempts=2, retry_at=1.0)"
    assert repr(holdoff.Outcome("attempts", 3)) == "Outcome(reason='attempts', attempts=3, retry_at=None)"


def test_a_policy_shows_and_repeats_itself() -> None:
    for policy in (
        Policy(),
        Policy(backoff={"kind": "constant", "delay": "7us"}, attempts="forever", jitter="none"),
        Policy(backoff={"kind": "linear", "initial": 1, "max": "none"}, jitter={"kind": "additive", "factor": 0.5}),
        Policy(
            deadline=9, min_attempt=1, on_deadline="clip", attempt_timeout=2, hint={"mode": "replace", "over": "clamp"}
        ),
    ):
        assert Policy.from_dict(policy.to_dict()) == policy
        assert pickle.loads(pickle.dumps(policy)) == policy
        assert eval(repr(policy)) == policy


POLICY = Policy()


@pytest.mark.parametrize("wrong", [1.5, "1", None, True, b"1", [1]])
def test_a_time_or_a_seed_of_the_wrong_type_is_refused(wrong: Any) -> None:
    call = Call.underway(1, 1)
    failure: Any = Failure
    uses: list[Callable[[], object]] = [
        lambda: Call.begin(POLICY, wrong, 0),
        lambda: Call.begin(POLICY, 0, wrong),
        lambda: Call.underway(wrong, 0),
        lambda: call.tick(POLICY, wrong),
        lambda: call.succeed(wrong, 0),
        lambda: call.fail(POLICY, 1, wrong, Failure()),
        lambda: call.cancel(wrong),
        lambda: Retry(wrong, 0),
        lambda: Retry(0, 0).on_failure(POLICY, wrong, Failure()),
        lambda: Schedule(POLICY, wrong),
        lambda: holdoff.testing.seed_at(wrong, 0),
        lambda: holdoff.http_failure(wrong),
        lambda: failure(hint_ns=wrong or "3"),
    ]
    for use in uses:
        with pytest.raises(TypeError):
            use()


@pytest.mark.parametrize("wrong", [-1, 2**64, -(10**30), 10**30])
def test_a_time_or_a_seed_out_of_range_is_refused(wrong: int) -> None:
    uses: list[tuple[Callable[[], object], str]] = [
        (lambda: Call.begin(POLICY, wrong, 0), "seed_range"),
        (lambda: Call.begin(POLICY, 0, wrong), "time_range"),
        (lambda: Retry(0, wrong), "time_range"),
        (lambda: holdoff.seed(wrong), "seed_range"),
        (lambda: Failure(hint_ns=wrong), "time_range"),
    ]
    for use, name in uses:
        with pytest.raises(ConfigError) as raised:
            use()
        assert raised.value.name == name


def test_the_wrong_objects_are_refused() -> None:
    call: Any = Call.underway(0, 0)
    uses: list[Callable[[], object]] = [
        lambda: call.fail(None, 1, 0, Failure()),
        lambda: call.fail(POLICY, 1, 0, None),
        lambda: call.fail(POLICY, 1, 0, "transient"),
        lambda: call.tick(call, 0),
    ]
    for use in uses:
        with pytest.raises(TypeError):
            use()


def test_calls_out_of_order_change_nothing() -> None:
    call, first = Call.begin(POLICY, 7, 0)
    assert (first.kind, first.ticket) == ("attempt", 1)
    assert (
        call.succeed(99, 0).kind
        == call.fail(POLICY, 2**64 - 1, 0, Failure()).kind
        == call.tick(POLICY, 0).kind
        == "wait"
    )
    sleep = call.fail(POLICY, 1, 5, Failure())
    assert call.fail(POLICY, 1, 5, Failure()) == call.tick(POLICY, 0) == sleep
    assert call.cancel(NEVER).outcome == "cancelled"
    assert call.succeed(1, 0).outcome == call.tick(POLICY, NEVER).outcome == "cancelled"


# Small enough that no sum reaches the end of time.
seconds = st.floats(0, 1e3, allow_nan=False)
policies = st.fixed_dictionaries(
    {"attempts": st.integers(1, 12)},
    optional={
        "backoff": st.one_of(
            st.fixed_dictionaries({"kind": st.just("constant"), "delay": seconds}),
            st.fixed_dictionaries(
                {"kind": st.just("linear"), "initial": seconds, "increment": seconds, "max": st.just("none")}
            ),
            st.fixed_dictionaries({"initial": seconds, "factor": st.floats(0, 4), "max": st.just("none")}),
        ),
        "jitter": st.one_of(
            st.sampled_from(["none", "full", "equal"]),
            st.fixed_dictionaries({"kind": st.sampled_from(["additive", "proportional"]), "factor": st.floats(0, 1)}),
        ),
    },
)
seeds = st.integers(0, NEVER)


@given(policies, seeds, st.integers(0, 2**40))
def test_a_loop_sleeps_what_the_schedule_says(fields: Any, seed: int, start: int) -> None:
    policy = Policy(**fields)
    call, step = Call.begin(policy, seed, start)
    now, delays = start, []
    while step.kind != "stop":
        if step.ticket is not None:
            step = call.fail(policy, step.ticket, now, Failure())
        elif step.until is not None:
            delays.append(step.until - now)
            now = step.until
            step = call.tick(policy, now)
    assert step.reason == "attempts"
    assert delays == list(Schedule(policy, seed))


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.binary(max_size=5)
    | st.timedeltas(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10) | st.integers(), inner, max_size=3)
    ),
    max_leaves=6,
)
names = st.sampled_from(["backoff", "jitter", "attempts", "deadline", "min_attempt", "on_deadline", "hint", "hint.max"])


@given(st.dictionaries(names | st.text(max_size=12), anything, max_size=5))
def test_random_fields_make_a_policy_or_a_config_error(fields: Any) -> None:
    try:
        policy = Policy.from_dict(fields)
    except ConfigError as error:
        assert 100 <= error.code < 200
    else:
        assert Policy.from_dict(policy.to_dict()) == policy


@given(
    st.lists(st.tuples(st.sampled_from(["fail", "succeed", "tick", "cancel"]), seeds, seeds, seeds), max_size=30),
    policies,
    seeds,
)
def test_no_order_of_events_is_too_much(events: list[tuple[str, int, int, int]], fields: Any, seed: int) -> None:
    policy = Policy(**fields)
    call, step = Call.begin(policy, seed, 0)
    for op, ticket, now, hint in events:
        ticket = step.ticket or ticket
        if op == "fail":
            step = call.fail(policy, ticket, now, Failure("throttled", hint_ns=hint >> 1))
        elif op == "succeed":
            step = call.succeed(ticket, now)
        elif op == "tick":
            step = call.tick(policy, now)
        else:
            step = call.cancel(now)
        assert step.kind in ("attempt", "sleep", "wait", "stop")
