"""A store of guards by key loses no guard that is in use, whatever keys a stranger chooses."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

import holdoff
import pytest
from holdoff.testing import virtual_time

SECOND = 1_000_000_000


def a_store(**options: object) -> holdoff.KeyedGuards:
    return holdoff.KeyedGuards(breaker={"failures": 1, "open_for": "1s"}, bulkhead=1, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(20))
def test_ten_times_more_keys_than_room_close_no_breaker_and_fill_no_bulkhead(seed: int) -> None:
    draw = random.Random(seed)
    keyed = a_store(most=8, idle=draw.choice([0, 1, 3]))
    running: list[tuple[str, holdoff.Breaker, holdoff.Bulkhead, int]] = []
    open_until: Counter[str] = Counter()
    now = 10 * SECOND
    entered = refused = shared = 0
    for _ in range(2000):
        now += draw.randrange(200_000_000)
        if running and draw.random() < 0.5:
            key, breaker, bulkhead, held = running.pop(draw.randrange(len(running)))
            failed = draw.random() < 0.5
            breaker.record(held, failed, 0, now)
            bulkhead.leave()
            if failed:
                open_until[key] = now + SECOND
            continue
        key = str(draw.randrange(80))
        guards = keyed.of(key, now)
        assert len(keyed) <= 8
        assert guards.breaker is not None
        assert guards.bulkhead is not None
        known = keyed.keys()
        shared += key not in known
        if guards.bulkhead.enter() != "entered":
            refused += 1
            continue
        permit = guards.breaker.acquire(now)
        if permit is None:
            guards.bulkhead.leave()
            refused += 1
            continue
        entered += 1
        assert now >= open_until[key], "the breaker closed early"
        assert all(other != key for other, *_ in running), "two calls in a bulkhead of one"
        running.append((key, guards.breaker, guards.bulkhead, permit))
        del guards
    assert min(entered, refused, shared) > 20


def test_a_thousand_other_keys_give_no_bulkhead_and_no_breaker_back() -> None:
    keyed = a_store(most=10)
    policy = holdoff.Policy(attempts=1)
    running: Counter[str] = Counter()

    async def work(key: str) -> str:
        async def operation() -> None:
            running[key] += 1
            assert running[key] == 1
            await asyncio.sleep(0)
            running[key] -= 1

        try:
            await policy.retrying(guards=keyed.of(key)).call(operation)
        except holdoff.Refused:
            return "refused"
        return "ran"

    async def all_of_them() -> Counter[str]:
        keys = [str(number % 100) for number in range(1000)]
        return Counter(await asyncio.gather(*(work(key) for key in keys)))

    assert set(asyncio.run(all_of_them())) == {"ran", "refused"}

    def fails() -> None:
        raise OSError

    with pytest.raises(OSError):  # noqa: PT011
        policy.retrying(guards=keyed.of("mine")).call(fails)
    for number in range(1000):
        keyed.of(f"other{number}")
    with pytest.raises(holdoff.Refused):
        policy.retrying(guards=keyed.of("mine")).call(fails)


def test_a_set_that_a_program_holds_is_kept() -> None:
    keyed = a_store(most=2)
    held = keyed.of("held")
    for number in range(100):
        keyed.of(str(number))
    assert keyed.of("held") is held
    also = keyed.of("also")
    assert keyed.of("one") is keyed.of("two")
    assert sorted(keyed.keys()) == ["also", "held"]
    del also
    assert keyed.of("one") is not keyed.of("held")
    assert sorted(keyed.keys()) == ["held", "one"]


def test_a_guard_that_all_keys_share_keeps_no_set() -> None:
    bulkhead = holdoff.Bulkhead(1)
    bulkhead.enter()
    keyed = holdoff.KeyedGuards(bulkhead=bulkhead, breaker="consecutive", most=2)
    for key in "abcd":
        keyed.of(key)
    assert keyed.keys() == ["c", "d"]


def test_keys_without_room_have_no_key_in_their_calls() -> None:
    keyed = a_store(most=1)
    held = keyed.of("held")
    stranger = keyed.of("stranger")
    # The guards of "held" are for calls with that key alone; those of the others are for any.
    holdoff.Policy().retrying(guards=stranger, key="another")
    with pytest.raises(ValueError, match="the guards are those of the key"):
        holdoff.Policy().retrying(guards=held, key="another")
    with pytest.raises(TypeError, match="pickle"):
        __import__("pickle").dumps(keyed)


@pytest.mark.parametrize("others", [1024, 3000])
def test_no_number_of_other_keys_refills_the_budget_of_a_key(others: int) -> None:
    policy = holdoff.Policy(attempts=3, backoff={"delays": [0, 0]})

    def attempts_of(key: str, calls: int) -> int:
        made = 0

        def down() -> None:
            nonlocal made
            made += 1
            raise TimeoutError

        for _ in range(calls):
            with pytest.raises(TimeoutError):
                policy.retrying(key=key).call(down)
        return made

    with virtual_time():
        attempts_of("mine", 40)
        spent = attempts_of("mine", 40)
        for number in range(others):
            attempts_of(f"other{number}", 1)
        assert attempts_of("mine", 40) <= spent
