"""One timer for many sleeps."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from holdoff import ConfigError
from holdoff.machines import NEVER, Wheel
from hypothesis import given, strategies as st

SECOND = 1_000_000_000


def fired(wheel: Wheel, now: int) -> list[tuple[int, int]]:
    """All that are due."""
    due = []
    while (timer := wheel.pop(now)) is not None:
        due.append(timer)
    return due


def test_timers_fire_by_time_and_then_as_they_were_added() -> None:
    wheel = Wheel()
    late, first, second = wheel.insert(3 * SECOND), wheel.insert(SECOND), wheel.insert(SECOND)
    assert (len(wheel), wheel.next_wake) == (3, SECOND)
    assert wheel.pop(SECOND - 1) is None
    assert fired(wheel, SECOND) == [(first, SECOND), (second, SECOND)]
    assert (len(wheel), wheel.next_wake) == (1, 3 * SECOND)
    assert fired(wheel, NEVER - 1) == [(late, 3 * SECOND)]
    assert (len(wheel), wheel.next_wake, wheel.pop(NEVER - 1)) == (0, None, None)


def test_a_cancelled_timer_does_not_fire() -> None:
    wheel = Wheel()
    soon, late = wheel.insert(1), wheel.insert(2)
    assert wheel.cancel(soon)
    assert not wheel.cancel(soon)
    assert (len(wheel), wheel.next_wake) == (1, 2)
    assert wheel.pop(5) == (late, 2)
    assert not wheel.cancel(late)
    assert not wheel.cancel(0)
    again = wheel.insert(9)
    assert again not in (soon, late)
    assert not wheel.cancel(late)


def test_what_is_past_is_due_at_once_and_never_is_never() -> None:
    wheel = Wheel()
    never, later = wheel.insert(NEVER), wheel.insert(20)
    assert wheel.pop(10) is None
    past = wheel.insert(3)
    # A clock that runs backwards stands still.
    assert wheel.pop(0) == (past, 3)
    assert fired(wheel, NEVER) == [(later, 20)]
    assert (len(wheel), wheel.next_wake) == (1, None)
    assert wheel.cancel(never)


def test_a_wheel_can_be_cleared() -> None:
    wheel = Wheel()
    keys = [wheel.insert(at) for at in (1, SECOND, NEVER)]
    wheel.clear()
    assert (len(wheel), wheel.next_wake, fired(wheel, NEVER)) == (0, None, [])
    assert not any(wheel.cancel(key) for key in keys)
    assert not {wheel.insert(1)} & set(keys)
    assert repr(wheel) == "<Wheel of 1>"


def test_what_belongs_to_a_timer_can_be_kept_in_a_list() -> None:
    wheel = Wheel()
    first, second = wheel.insert(1), wheel.insert(2)
    assert {Wheel.index(first), Wheel.index(second)} == {0, 1}
    wheel.cancel(second)
    assert Wheel.index(wheel.insert(3)) == Wheel.index(second)


def test_a_wheel_may_be_shared_by_threads() -> None:
    wheel = Wheel()
    got: list[int] = []
    popped: list[int] = []

    def work() -> None:
        keys = [wheel.insert(at) for at in range(1000)]
        popped.extend(key for key in keys[::2] if not wheel.cancel(key))
        while (timer := wheel.pop(1000)) is not None:
            got.append(timer[0])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(wheel) == 0
    assert len(set(got)) == len(got)
    assert set(popped) <= set(got)
    assert len(got) >= 4000


@pytest.mark.parametrize("wrong", [-1, 2**64, 1.0, "1", None, True])
def test_a_wheel_takes_times_and_keys(wrong: Any) -> None:
    wheel = Wheel()
    for call in (wheel.insert, wheel.cancel, wheel.pop, Wheel.index):
        with pytest.raises((ConfigError, TypeError)):
            call(wrong)


instants = st.integers(0, 3_000) | st.integers(0, 400 * SECOND) | st.integers(0, NEVER)


@given(st.lists(st.tuples(st.sampled_from("iiicpn"), instants), max_size=80))
def test_a_wheel_is_a_sorted_list(ops: list[tuple[str, int]]) -> None:
    wheel, pending, latest, number, most = Wheel(), dict[int, tuple[int, int]](), 0, 0, 0
    for op, at in ops:
        if op == "i":
            pending[wheel.insert(at)] = (at, number)
            number += 1
        elif op == "c" and pending:
            key = list(pending)[at % len(pending)]
            del pending[key]
            assert wheel.cancel(key)
        elif op == "p":
            latest = max(latest, min(at, NEVER - 1))
            due = sorted((place, key) for key, place in pending.items() if place[0] <= latest)
            assert fired(wheel, at) == [(key, place[0]) for place, key in due]
            for _, key in due:
                del pending[key]
        most = max(most, len(pending))
        indices = {Wheel.index(key) for key in pending}
        assert len(indices) == len(pending)
        assert all(index < most for index in indices)
        waking = [when for when, _ in pending.values() if when < NEVER]
        assert (len(wheel), wheel.next_wake) == (len(pending), min(waking, default=None))
