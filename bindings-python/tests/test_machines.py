"""The machines beside the retry: steps, loop backoffs, loops, gates, buckets, and a retry inside a retry."""

from __future__ import annotations

import copy
import math
import threading
from collections.abc import Callable
from typing import Any

import pytest
from holdoff import ConfigError, Failure, Guards, Policy, testing
from holdoff.log import Recorder
from holdoff.machines import (
    NEVER,
    Bucket,
    Call,
    Gate,
    GateConfig,
    GuardedCall,
    Keyed,
    Layered,
    Layers,
    LoopBackoff,
    Periodic,
    Schedule,
    WaitBackoff,
)
from holdoff.testing import next_at, pinned, uniform
from hypothesis import given, strategies as st

SECOND = 1_000_000_000


def test_a_stepped_backoff_says_the_delay_from_before_it_grew() -> None:
    backoff = WaitBackoff("10ms", factor=5, steps=2, cap="100ms")
    assert [backoff.step() for _ in range(4)] == [10_000_000, 50_000_000, 100_000_000, 100_000_000]
    assert (backoff.duration, backoff.steps, backoff.factor, backoff.jitter) == (100_000_000, 0, 5.0, 0.0)
    assert (backoff.cap, WaitBackoff(1).cap) == (100_000_000, None)
    assert WaitBackoff.kubernetes(1, factor=2, jitter=-1, steps=-1, cap_ns=-1).draws is False
    with uniform(0.5):
        assert WaitBackoff.kubernetes_jitter(1, 0).step() == SECOND * 3 // 2


def test_jitter_is_drawn_unless_a_test_chooses_it() -> None:
    with uniform(0.25):
        assert WaitBackoff(1, jitter=1).step() == SECOND * 5 // 4
        with uniform(None):
            assert WaitBackoff(1, jitter=1, seed=7).step() == WaitBackoff(1, jitter=1, seed=7).step() != SECOND * 5 // 4
        assert WaitBackoff(1, jitter=1).step() == SECOND * 5 // 4
    drawn = {WaitBackoff(1, jitter=1).step() for _ in range(5)}
    assert len(drawn) == 5
    assert all(SECOND <= delay < 2 * SECOND for delay in drawn)
    one, other = WaitBackoff(1, jitter=1, seed=7), WaitBackoff(1, jitter=1, seed=7)
    assert [one.step() for _ in range(3)] == [other.step() for _ in range(3)]
    again = copy.copy(one)
    assert [one.step() for _ in range(3)] == [again.step() for _ in range(3)]


def test_a_loop_backoff_begins_again_after_a_quiet_time() -> None:
    loop_backoff = LoopBackoff.exponential(1, 10, 10)
    assert [loop_backoff.next(at * SECOND) for at in (0, 0, 0, 10, 21)] == [SECOND * delay for delay in (1, 2, 4, 8, 1)]
    every = LoopBackoff(WaitBackoff(1, factor=2, steps=9), every=3)
    assert [every.next(at * SECOND) for at in (0, 2, 4, 5)] == [SECOND * delay for delay in (1, 2, 1, 2)]
    never = LoopBackoff(WaitBackoff(1, factor=2, steps=9))
    assert [never.next(at * SECOND) for at in (0, 1000)] == [SECOND, 2 * SECOND]
    assert never.backoff.duration == 4 * SECOND
    assert LoopBackoff.with_reset(WaitBackoff(1, factor=2, steps=9), 0).next(0) == SECOND
    with uniform(0.5):
        assert LoopBackoff.jittered("1s", 1.0).next(0) == SECOND * 3 // 2
    assert LoopBackoff.jittered("1s", 1.0).draws


def test_a_periodic_runs_again_and_again() -> None:
    loop = Periodic(LoopBackoff.jittered(2))
    step, now, starts = loop.tick(0), 0, []
    while step.kind != "stop":
        if step.run is not None:
            starts.append(now // SECOND)
            assert loop.tick(now).kind == "wait"
            now += SECOND
            step = loop.finish(step.run, now, "done" if step.run == 3 else "again")
        else:
            assert step.until is not None
            now = step.until
            step = loop.tick(now)
    assert (step.ended, starts, loop.runs, loop.interval) == ("done", [0, 3, 6], 3, 2 * SECOND)
    assert loop.tick(now) == loop.cancel() == step


def test_a_periodic_on_a_grid_keeps_to_it() -> None:
    loop = Periodic(LoopBackoff.jittered(10), timer="grid", sliding=False, immediate=False, deadline="35s")
    starts = []
    step, now = loop.tick(0), 0
    while step.kind != "stop":
        if step.run is not None:
            starts.append(now // SECOND)
            now += 3 * SECOND
            step = loop.finish(step.run, now)
        else:
            now = step.until or 0
            step = loop.tick(now)
    assert (starts, step.ended) == ([10, 20, 30], "deadline")
    assert Periodic(LoopBackoff.jittered(1)).cancel().kind in ("wait", "sleep", "stop")


GATES = GateConfig(initial=1, max=60, quiet=600, forgives="all")


def test_a_gate_closes_after_failures() -> None:
    gate = Gate()
    assert gate.is_open(0)
    assert gate.failure(GATES, 0) == SECOND
    assert (gate.failures, gate.delay, gate.release, gate.is_open(0)) == (1, SECOND, SECOND, False)
    assert gate.failure(GATES, SECOND) == 2 * SECOND
    assert gate.is_open(3 * SECOND)
    assert gate.covers(GATES, 2 * SECOND)
    assert not gate.covers_since(GATES, 0, 3 * SECOND)
    assert gate.failure(GATES, 1000 * SECOND) == SECOND
    gate.success(GATES, 1000 * SECOND)
    assert gate.failures == 0
    gate.release_at(2000 * SECOND)
    assert not gate.is_open(1999 * SECOND)
    gate.forget()
    assert gate.is_open(0)
    jittered = GateConfig(initial=1, jitter=0.5, direction="down", growth="feedback")
    assert gate.draws(jittered, 0)
    with uniform(0.5):
        assert gate.failure(jittered, 0) == 750_000_000


def test_gates_are_kept_by_key() -> None:
    keyed = Keyed(GATES, most=2, idle="1h")
    keyed.failure("a", 0)
    keyed.failure("b", 0)
    assert (keyed.is_open("a", 0), keyed.is_open("c", 0), len(keyed)) == (False, True, 2)
    keyed.failure("a", 0)
    keyed.failure("c", 0)
    assert keyed.keys() == ["a", "c"]
    gate = keyed.peek("a", 0)
    assert gate is not None
    assert gate.failures == 2
    gate.forget()
    assert not keyed.is_open("a", 0)
    keyed.success("a", 0)
    keyed.success("unknown", 0)
    assert keyed.keys() == ["a", "c"]
    assert keyed.forget("a")
    assert not keyed.forget("a")
    keyed.release_at("d", 0, 9 * SECOND)
    assert not keyed.is_open("d", 8 * SECOND)
    assert keyed.peek("c", 3601 * SECOND) is None
    assert keyed.collect(3601 * SECOND) == 2
    assert keyed.peek("a", 0) is None


def test_a_success_that_closes_the_gate_is_kept() -> None:
    keyed = Keyed(GateConfig.chromium(initial_delay_ms=1000, multiply_factor=2, jitter_factor=0))
    keyed.success("a", 0)
    assert keyed.keys() == []
    always = GateConfig.chromium(
        initial_delay_ms=1000, multiply_factor=2, jitter_factor=0, always_use_initial_delay=True
    )
    keyed = Keyed(always)
    keyed.success("a", 0)
    assert not keyed.is_open("a", 999_000_000)


def test_keys_may_be_used_by_threads() -> None:
    keyed = Keyed(GateConfig.item_exponential("1ms", "1h"))
    bucket = Bucket(0, 1000)

    def work() -> None:
        for _ in range(100):
            keyed.failure("shared", 0)
            bucket.reserve(0)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gate = keyed.peek("shared", 0)
    assert gate is not None
    assert gate.failures == 800
    assert bucket.tokens(0) == 200


def test_a_bucket_drips() -> None:
    bucket = Bucket(10, 2)
    assert [bucket.reserve(0) for _ in range(3)] == [0, 0, 100_000_000]
    assert bucket.tokens(0) == -1.0
    assert bucket.reserve(0, 3) is None
    assert bucket.reserve(0, longest=0) is None
    assert bucket.reserve(SECOND, 2, longest="none") == 0
    assert Bucket(60, 1, per="1m", now=5).tokens(5) == 1.0


def test_a_retry_inside_a_retry_has_one_cap() -> None:
    second = Policy(backoff={"kind": "constant", "delay": 1}, jitter="none", attempts=3)
    layers = Layers(second, second, attempts=5)
    assert (layers.attempts, Layers(second, second).attempts, Layers("temporal", second).attempts) == (5, 9, None)
    layered, step = Layered.begin(layers, 7, 0)
    now = 0
    while step.kind != "stop":
        if step.ticket is not None:
            assert layered.attempt == (layered.outer_attempt - 1) * 3 + layered.inner_attempt
            step = layered.fail(layers, step.ticket, now, Failure())
        else:
            assert layered.remaining(now) == SECOND
            now += SECOND
            step = layered.tick(layers, now)
    assert (step.reason, layered.stopped_by, layered.inner_reason, layered.attempt) == (
        "attempts",
        "cap",
        "attempts",
        5,
    )


def test_the_outer_level_can_be_told_something_else() -> None:
    once = Policy(attempts=1)
    layers = Layers(Policy(jitter="none"), once)
    layered = Layered.underway(layers, 0, 0)
    assert layered.would_give_up(layers, 1, 0, Failure()) == "attempts"
    assert layered.would_give_up(layers, 7, 0, Failure()) is None
    step = layered.fail(layers, 1, 0, Failure(), outward=Failure("permanent"))
    assert (step.kind, step.reason, layered.stopped_by) == ("stop", "attempts", "inner")
    stubborn = Layers(Policy(jitter="none"), once, go_on_after=["permanent"])
    layered, _ = Layered.begin(stubborn, 0, 0)
    assert layered.fail(stubborn, 1, 0, Failure("permanent")).kind == "sleep"
    assert layered.cancel(0).outcome == "cancelled"
    layered, _ = Layered.begin(layers, 0, 0)
    assert layered.succeed(1, 0).outcome == "succeeded"


def test_a_schedule_can_be_pinned() -> None:
    policy = Policy(attempts=4, backoff={"initial": "1s", "max": "none"})
    assert list(pinned(policy, 2**31)) == [SECOND // 2, SECOND, 2 * SECOND]
    assert list(pinned(policy, 0)) == [0, 0, 0]
    schedule = Schedule("aws-standard-2.1", 0)
    assert next_at(schedule, "throttled", 0.5) == SECOND // 2
    assert next_at(schedule, "transient", 0.5) == 50_000_000
    assert next_at(schedule, "transient", 0.5) is None
    assert testing.jittered(policy, 8 * SECOND, 0.25) == 2 * SECOND
    assert testing.jittered(policy, 8 * SECOND, 0.25, longest=4 * SECOND) == SECOND
    assert testing.jittered("aster", SECOND, drawn=-1) == SECOND + SECOND // 2 - 1


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: WaitBackoff(-1), "not_a_duration"),
        (lambda: WaitBackoff(1, factor=-1), "factor_range"),
        (lambda: WaitBackoff(1, jitter=math.nan), "jitter_factor_range"),
        (lambda: WaitBackoff(1, seed=-1), "seed_range"),
        (lambda: LoopBackoff.exponential(1, 2, 3, factor=math.inf), "factor_range"),
        (lambda: LoopBackoff(WaitBackoff(1), every="no"), "not_a_duration"),
        (lambda: LoopBackoff.jittered(1).next(-1), "time_range"),
        (lambda: GateConfig(factor=-1), "factor_range"),
        (lambda: GateConfig(jitter=2, direction="down"), "jitter_factor_range"),
        (lambda: GateConfig(quiet="1x"), "not_a_duration"),
        (lambda: Gate().failure(GATES, 2**64), "time_range"),
        (lambda: Bucket(-1, 1), "factor_range"),
        (lambda: Bucket(1, 1, per=0), "zero_limit"),
        (lambda: Layers("default", "default", attempts=0), "attempts_range"),
        (lambda: next_at(Schedule("default", 0), "x", 0), "unknown_failure_kind"),  # type: ignore[arg-type]
    ],
)
def test_a_machine_is_made_of_numbers_in_range(make: Callable[[], object], name: str) -> None:
    with pytest.raises(ConfigError) as raised:
        make()
    assert raised.value.name == name


@pytest.mark.parametrize(
    "make",
    [
        lambda: Periodic(LoopBackoff.jittered(1), timer="x"),  # type: ignore[arg-type]
        lambda: Periodic(LoopBackoff.jittered(1)).finish(1, 0, "x"),  # type: ignore[arg-type]
        lambda: GateConfig(growth="x"),  # type: ignore[arg-type]
        lambda: GateConfig(direction="x"),  # type: ignore[arg-type]
        lambda: Layers("default", "default", go_on_after=["x"]),  # type: ignore[list-item]
    ],
)
def test_an_unknown_word_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="x"):
        make()


def test_a_loop_backoff_begins_again_by_one_rule() -> None:
    with pytest.raises(TypeError):
        LoopBackoff(WaitBackoff(1), after_quiet=1, every=1)


times = st.integers(0, NEVER)
uniforms = st.floats(allow_nan=True, allow_infinity=True)
spans = st.integers(0, 2**63 - 1).map("{}ns".format)
factors = st.floats(0, 1e308)


@given(
    spans,
    factors,
    factors,
    st.integers(0, 2**64 - 1),
    st.lists(st.tuples(times, uniforms, st.sampled_from("fsrg")), max_size=20),
)
def test_no_numbers_are_too_much(span: str, factor: float, jitter: float, count: int, events: Any) -> None:
    wait_backoff = WaitBackoff(span, factor=factor, jitter=jitter, steps=count, cap=span)
    loop_backoff = LoopBackoff(wait_backoff, after_quiet=span)
    loop = Periodic(loop_backoff, seed=count, deadline=span)
    config = GateConfig(initial=span, max=span, factor=factor, jitter=jitter, quiet=span, rest=span)
    keyed, bucket = Keyed(config, most=2), Bucket(factor, count, per="1ns")
    for now, u, op in events:
        with uniform(u):
            assert 0 <= wait_backoff.step() < 2**63
            assert 0 <= loop_backoff.next(now) < 2**63
        assert loop.tick(now).kind in ("run", "sleep", "wait", "stop")
        assert loop.finish(loop.runs, now).kind in ("run", "sleep", "wait", "stop")
        assert bucket.reserve(now, count) is None or bucket.tokens(now) <= count
        if op == "f":
            with uniform(u):
                assert 0 <= keyed.failure(str(now % 3), now) < 2**63
        elif op == "s":
            keyed.success(str(now % 3), now)
        elif op == "r":
            keyed.release_at(str(now % 3), now, now)
        else:
            keyed.collect(now)
        assert len(keyed) <= 2


@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 30), times)
def test_no_more_attempts_are_made_than_the_cap_allows(outer: int, inner: int, cap: int, seed: int) -> None:
    layers = Layers(Policy(attempts=outer), Policy(attempts=inner), attempts=cap)
    layered, step = Layered.begin(layers, seed, 0)
    now = 0
    while step.kind != "stop":
        if step.ticket is not None:
            step = layered.fail(layers, step.ticket, now, Failure())
        else:
            now += layered.remaining(now)
            step = layered.tick(layers, now)
    assert layered.attempt == layers.attempts == min(outer * inner, cap)


def test_a_clock_that_was_set_back_makes_no_sleep_longer() -> None:
    policy = Policy(attempts=3, backoff={"kind": "constant", "delay": "5s"}, jitter="none")
    lost, guards = Failure("transient"), Guards(bulkhead=9)
    began, hour = 7200 * SECOND, 3600 * SECOND
    call, _ = Call.begin(policy, 1, began)
    call.fail(policy, 1, began, lost)
    guarded, _ = GuardedCall.begin(policy, guards, 1, began)
    guarded.fail(policy, guards, 1, began, lost)
    layers = Layers(policy, policy)
    layered, _ = Layered.begin(layers, 1, began)
    layered.fail(layers, 1, began, lost)
    recorder, *_ = Recorder.begin(policy, 1, began)
    recorder.fail(policy, 1, began, lost)
    for machine in (call, guarded, layered, recorder):
        left = [machine.remaining(now) for now in (began, hour, 0, began + 4 * SECOND)]
        assert left == [5 * SECOND, 5 * SECOND, 5 * SECOND, SECOND], machine
