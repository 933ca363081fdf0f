"""States that outlive their clock, their process and their language."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from holdoff import ConfigError, Failure, Policy
from holdoff.machines import NEVER, Call, Retry, SaveError
from hypothesis import given, strategies as st

SECOND = 1_000_000_000
POLICY = Policy(attempts=9, backoff={"kind": "linear", "initial": 1, "max": "none"}, jitter="none", deadline=600)


def failed(times: int) -> Retry:
    retry = Retry(7, 100 * SECOND)
    for _ in range(times):
        retry.on_failure(POLICY, 100 * SECOND, Failure())
    return retry


def test_a_retry_goes_on_where_it_was_saved() -> None:
    retry = failed(2)
    saved = retry.save(POLICY, 160 * SECOND)
    states = (saved, retry.to_json(POLICY, 160 * SECOND), retry.to_dict(POLICY, 160 * SECOND))
    assert json.loads(states[1]) == states[2]
    assert len(saved) == 80
    for state in states:
        again = Retry.resume(state, POLICY, 5 * SECOND)
        assert (again.failures, again.deadline(POLICY)) == (2, 545 * SECOND)
        assert again.on_failure(POLICY, 5 * SECOND, Failure()).until == 8 * SECOND


def test_the_time_away_counts_only_if_it_is_given() -> None:
    state = failed(1).save(POLICY, 100 * SECOND)
    assert Retry.resume(state, POLICY, 0).deadline(POLICY) == 600 * SECOND
    assert Retry.resume(state, POLICY, 0, away="9m").deadline(POLICY) == 60 * SECOND


def test_a_call_goes_on_asleep_in_flight_and_at_its_end() -> None:
    call, step = Call.begin(POLICY, 0, 0)
    resumed = Call.resume(call.save(POLICY, SECOND), POLICY, 0)
    # The attempt in flight is abandoned, which is a timeout.
    assert resumed.tick(POLICY, 0).until == SECOND
    step = call.fail(POLICY, 1, 0, Failure())
    asleep = call.to_json(POLICY, SECOND // 4)
    resumed = Call.resume(asleep, POLICY, 50 * SECOND)
    assert resumed.tick(POLICY, 50 * SECOND).until == 50 * SECOND + SECOND * 3 // 4
    assert Call.resume(asleep, POLICY, 0, away=5).tick(POLICY, 0).ticket == 2
    step = call.cancel(0)
    assert Call.resume(call.to_dict(POLICY, 0), POLICY, 9).tick(POLICY, NEVER) == step


@pytest.mark.parametrize(
    ("state", "name", "path"),
    [
        (b"", "not_a_state", ""),
        (b"no state", "not_a_state", ""),
        ("", "not_a_state", ""),
        ("[]", "not_a_state", ""),
        ("\ud800", "not_a_state", ""),
        ({}, "missing_state_field", "kind"),
        ("{}", "missing_state_field", "kind"),
        ({"sead": 1}, "unknown_state_field", "sead"),
        ({3: 1}, "unknown_state_field", "3"),
        ({"seed": -1}, "wrong_type", "seed"),
        ({"seed": 2**64}, "wrong_type", "seed"),
        ({"layout": True}, "wrong_type", "layout"),
        ({"kind": "rety"}, "unknown_word", "kind"),
        (7, "not_a_state", ""),
    ],
)
def test_what_is_no_state_is_told(state: Any, name: str, path: str) -> None:
    for machine in (Retry, Call):
        with pytest.raises(SaveError) as raised:
            machine.resume(state, POLICY, 0)
        assert (raised.value.name, raised.value.path) == (name, path)
        assert str(raised.value).startswith(path or "saved state")
        assert isinstance(pickle.loads(pickle.dumps(raised.value)), ConfigError)


def test_a_state_of_another_policy_is_refused_unless_forced() -> None:
    state, other = failed(1).save(POLICY, 100 * SECOND), Policy(attempts=2)
    with pytest.raises(SaveError) as raised:
        Retry.resume(state, other, 0)
    assert raised.value.name == "state_policy"
    assert Retry.resume(state, other, 0, force=True).on_failure(other, 0, Failure()).reason == "attempts"
    with pytest.raises(SaveError) as raised:
        Call.resume(state, POLICY, 0)
    assert raised.value.name == "state_kind"
    with pytest.raises(SaveError):
        Retry.resume(state[:20] + b"\xff" + state[21:], POLICY, 0)


@given(st.lists(st.integers(0, 2**40), max_size=8), st.integers(0, 2**40), st.integers(0, NEVER), st.integers(0, 2**40))
def test_a_move_changes_no_decision(failures: list[int], saved_at: int, seed: int, other: int) -> None:
    policy = Policy(attempts=12, deadline="none")
    retry = Retry(seed, 0)
    for now in failures:
        retry.on_failure(policy, now, Failure("throttled"))
    start = max([*failures, saved_at])
    moved = Retry.resume(retry.save(policy, start), policy, other)
    assert moved.save(policy, other) == retry.save(policy, start)
    for later in (0, 5, SECOND):
        stays = retry.on_failure(policy, start + later, Failure()).until
        goes = moved.on_failure(policy, other + later, Failure()).until
        assert stays is not None
        assert goes is not None
        assert stays - start == goes - other


@given(st.binary(max_size=80) | st.text(max_size=40) | st.dictionaries(st.text(max_size=8), st.integers() | st.text()))
def test_any_state_is_one_or_an_error(state: Any) -> None:
    for machine in (Retry, Call):
        with pytest.raises(SaveError):
            machine.resume(state, POLICY, 0)
