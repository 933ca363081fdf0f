"""A job whose every attempt is on another worker, which has nothing but its log: one process would decide the same."""

from __future__ import annotations

import copy
import random
from typing import Any

import holdoff
import holdoff.log
import holdoff.machines
import pytest
from holdoff_shared import SharedGuard
from holdoff_shared.jobs import DOWN, Job, Refused, Settings, seed_of
from holdoff_shared.ways import run_blocking
from memory_store import SECOND, Memory

MS = 1_000_000
KINDS = ["transient", "throttled", "timeout", "permanent"]
GUARDS: dict[str, Any] = {
    "token": {"budget": {"kind": "token", "capacity": 60, "cost": 5, "timeout_cost": 7, "reward": 0.5, "refill": 1}},
    "throttle": {"budget": {"kind": "throttle", "capacity": 6, "reward": 0.5}},
    "ratio": {"budget": {"kind": "ratio", "ratio": 0.4, "min_per_second": 0.2}},
    "requests": {"budget": {"kind": "requests", "k": 1.2}},
    "window": {"budget": {"kind": "window", "limit": 4, "window": 5}},
    "breaker": {"breaker": {"kind": "consecutive", "failures": 3, "open_for": 2, "probes": 2, "refusal": "wait"}},
    "count": {
        "breaker": {"kind": "count", "size": 6, "min_calls": 3, "failure_rate": 0.6, "open_for": 1, "refusal": "wait"}
    },
    "limiter": {"limiter": {"limit": 2, "per": 1, "refusal": "wait"}},
    "adaptive": {"adaptive": {"kind": "aimd", "initial_rate": 2, "refusal": "wait"}},
    "stretch": {"stretch": {"factor": 3, "min_calls": 3}},
    "all": {
        "budget": {"kind": "token", "capacity": 100, "cost": 5},
        "breaker": {"failures": 4, "open_for": 1, "refusal": "wait"},
        "limiter": {"kind": "window", "limit": 6, "per": 2, "refusal": "wait"},
        "stretch": 2,
    },
}
POLICY = holdoff.Policy(attempts=5, deadline="30s", backoff={"initial": "200ms"}, attempt_timeout="5s")


def settings(policy: holdoff.Policy = POLICY, guards: Any = None, reruns: int = 3) -> Settings:
    return Settings(policy, classify=said, guards=guards, reruns=reruns)


class Classification(Exception):
    """An error that is the failure it is told to be."""

    def __init__(self, failure: holdoff.Failure) -> None:
        self.failure = failure


def said(error: Exception) -> holdoff.Failure | None:
    return error.failure if isinstance(error, Classification) else None


def shown(step: holdoff.machines.Step) -> tuple[Any, ...]:
    return step.kind, step.attempt, step.until, step.cause, step.outcome, step.reason, step.retry_at


@pytest.mark.parametrize("name", GUARDS)
def test_jobs_on_many_workers_decide_as_one_process_does_with_the_same_guards(name: str) -> None:
    options = GUARDS[name]
    store = Memory()
    seeds: Any = {"seed": 3, "now": store.now}
    shared = SharedGuard(holdoff.Guards(**options, **seeds), store, "k")
    # A guard is as it was made, on the clock of the store.
    alone = holdoff.Guards.restore(options, holdoff.Guards(**options, **seeds).save(store.now), **seeds)
    store.kept["k"] = (1, shared.parts.first(store.now)._replace(saved=alone.save(store.now)).text())
    workers = settings(guards=shared)
    draw = random.Random(name)
    for number in range(60):
        job_name = f"{name} {number}"
        job = Job(workers, job_name, b"")
        step = run_blocking(job.start(store.now))
        call, expected = holdoff.machines.GuardedCall.begin(POLICY, alone, seed_of(job_name), store.now)
        assert shown(step) == shown(expected)
        while step.kind != "stop":
            if step.kind == "sleep":
                assert step.until is not None
                store.now = max(step.until, store.now) + draw.choice([0, 0, 50 * MS])
                job = Job(workers, job_name, job.log + job.fresh)
                step = run_blocking(job.start(store.now))
                if "token" in str(options):
                    # What a retry has paid is in no log: over a sleep it becomes a retry that was paid for.
                    state = call.save(POLICY, store.now)
                    call = holdoff.machines.GuardedCall.resume(state, POLICY, holdoff.Guards(**options), store.now)
                expected = call.tick(POLICY, alone, store.now)
            else:
                store.now += draw.choice([1, 20, 900]) * MS
                assert step.ticket is not None
                if draw.random() < 0.4:
                    step = run_blocking(job.end(store.now, None))
                    expected = call.succeed(alone, expected.ticket or 0, store.now)
                else:
                    kind: Any = draw.choices(KINDS, [8, 3, 3, 1])[0]
                    failure = holdoff.Failure(kind, hint=draw.choice([None, None, 0.7]))
                    step = run_blocking(job.end(store.now, Classification(failure)))
                    expected = call.fail(POLICY, alone, expected.ticket or 0, store.now, failure)
            assert shown(step) == shown(expected)
        store.now += draw.randrange(2 * SECOND)
        then = shared.update(lambda guards, now: guards.save(now))
        assert then == alone.save(store.now)
        holdoff.log.replay(POLICY, [event for event, _ in job.history()], mode="verify")


def test_what_was_decided_stays_when_the_policy_changes_and_what_comes_is_decided_by_the_new_one() -> None:
    old, new = settings(holdoff.Policy(attempts=2)), settings(holdoff.Policy(attempts=4, jitter="none"))
    now = 5 * SECOND
    job = Job(old, "a job", b"")
    run_blocking(job.start(now))
    until = run_blocking(job.end(now, OSError())).until
    assert until is not None
    job = Job(new, "a job", job.log + job.fresh)
    assert run_blocking(job.start(until - 1)).until == until
    assert run_blocking(job.wake(until)).attempt == 2
    step = run_blocking(job.end(until, OSError()))
    assert (step.kind, step.until) == ("sleep", until + 200 * MS)


def test_interruptions_that_the_log_does_not_have_are_counted() -> None:
    policy = holdoff.Policy(attempts=2, backoff={"initial": "1s"}, jitter="none")
    workers = settings(policy, reruns=2)
    for interruptions, kinds in [
        (0, []),
        (1, ["RESUMED"]),
        (2, ["RESUMED", "RESUMED"]),
        (3, ["RESUMED", "RESUMED", "ATTEMPT_FAILED", "RETRY_SCHEDULED"]),
        (7, ["RESUMED", "RESUMED", "ATTEMPT_FAILED", "RETRY_SCHEDULED"]),
    ]:
        job = Job(workers, "a job", b"")
        step = run_blocking(job.start(SECOND, interruptions))
        assert [event.kind for event, _ in job.history()] == ["STARTED", *kinds]
        assert step.kind == ("sleep" if interruptions > 2 else "attempt")


def test_interruptions_that_are_excused_do_not_count_but_not_without_end() -> None:
    workers = settings(holdoff.Policy(attempts=1), reruns=2)
    for interruptions, excused, kind in [
        (7, 5, "attempt"),
        (8, 5, "stop"),
        (22, 20, "attempt"),
        (23, 20, "stop"),
        (10**9, 10**9, "stop"),
    ]:
        assert run_blocking(Job(workers, "a job", b"").start(SECOND, interruptions, excused)).kind == kind
    job = Job(workers, "a job", b"")
    run_blocking(job.start(SECOND))
    for run in range(1, 9):
        job = Job(workers, "a job", job.log + job.fresh)
        assert run_blocking(job.start(SECOND, excused=max(run - 2, 0))).kind == "attempt"


def test_only_the_run_that_goes_on_takes_from_the_guards() -> None:
    store = Memory()
    guards = SharedGuard(holdoff.Guards(limiter={"limit": 9, "per": 3600}), store, "k")
    job = Job(settings(guards=guards), "a job", b"")
    assert run_blocking(job.start(store.now, 3)).kind == "attempt"
    left = guards.update(lambda guards, now: sum(guards.limiter.take(1, now) for _ in range(9)))  # type: ignore[union-attr]
    assert left == 8


def test_guards_that_go_down_in_an_attempt_do_not_keep_its_end_from_being_decided() -> None:
    store = Memory()
    guards = SharedGuard(holdoff.Guards(breaker={"failures": 1}), store, "k", when_down="closed")
    job = Job(settings(guards=guards), "a job", b"")
    run_blocking(job.start(store.now))
    store.down = True
    step = run_blocking(job.end(store.now, OSError("down")))
    assert (step.kind, step.cause) == ("sleep", "backoff")


def test_long_texts_are_cut_and_odd_ones_are_taken() -> None:
    class Odd(Exception):
        def __str__(self) -> str:
            raise LookupError

    for error, text in [
        (OSError("x" * 9999), "x" * 500),
        (Odd(), "Odd"),
        (OSError(), "OSError"),
        (OSError("é☃"), "é☃"),
    ]:
        job = Job(settings(), "a job", b"")
        run_blocking(job.start(SECOND))
        run_blocking(job.end(SECOND, error))
        assert job.history()[1][1] == text


def test_a_copy_of_a_call_goes_its_own_way() -> None:
    guards = holdoff.Guards(budget={"kind": "token", "capacity": 10})
    policy = holdoff.Policy(attempts=2)
    recorder, _, _ = holdoff.log.Recorder.begin(policy, 1, 0, guards=guards)
    other = copy.copy(recorder)
    assert recorder == other
    recorder.succeed(1, 5, guards=guards)
    assert recorder != other
    assert (recorder.step.kind, other.step.kind) == ("stop", "wait")
    call, _ = holdoff.machines.GuardedCall.begin(policy, guards, 1, 0)
    same = copy.copy(call)
    call.succeed(guards, 1, 5)
    assert (call.flying, same.flying) == (0, 1)


def test_a_caller_says_what_it_takes_an_error_for() -> None:
    caller = holdoff.Retrying(on=(OSError, KeyError), classify=lambda _: None)
    assert caller.failure_of(ConnectionError()) == holdoff.Failure("transient")
    assert caller.failure_of(KeyError()) == holdoff.Failure("transient")
    assert caller.failure_of(EOFError()) == holdoff.Failure("permanent")
    assert caller.failure_of(TypeError()) is None
    assert caller.failure_of(TypeError(), timed_out=True) == holdoff.Failure("timeout")
    assert holdoff.Retrying(classify=lambda _: "throttled").failure_of(OSError()) == holdoff.Failure("throttled")
    error = OSError()
    holdoff.Retrying(attempts=1).failure_of(error)
    assert holdoff.outcome_of(error) is None


REFUSALS: dict[str, tuple[dict[str, Any], int]] = {
    "breaker": ({"breaker": {"failures": 1, "open_for": "1h"}}, 3600),
    "limiter": ({"limiter": {"limit": 1, "per": "1h"}}, 3600),
    "adaptive rate": ({"adaptive": {"kind": "aimd", "max_rate": 0.5, "initial_rate": 0.5, "min_rate": 0.5}}, 2),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_guard_that_refuses_puts_a_job_off_and_ends_none(name: str) -> None:
    options, seconds = REFUSALS[name]
    store = Memory()
    workers = settings(guards=SharedGuard(holdoff.Guards(**options), store, "k"))
    workers.policy = holdoff.Policy(attempts=2, backoff={"initial": "1ms"}, jitter="none")
    first = Job(workers, "first", b"")
    run_blocking(first.start(store.now))
    step = run_blocking(first.end(store.now, OSError("down")))
    assert (step.kind, step.cause, step.until) == ("sleep", "backoff", store.now + MS)
    store.now += 2 * MS
    state = store.kept["k"]
    for log in (first.log + first.fresh, b""):
        job = Job(workers, "first" if log else "second", log)
        with pytest.raises(Refused) as refused:
            run_blocking(job.start(store.now))
        assert job.fresh == b""
        assert seconds * SECOND * 0.9 < refused.value.wait <= seconds * SECOND
    assert store.kept["k"] == state
    store.now += refused.value.wait
    job = Job(workers, "first", first.log + first.fresh)
    assert run_blocking(job.start(store.now)).kind == "attempt"
    assert run_blocking(job.end(store.now, None)).outcome == "succeeded"
    assert [event.kind for event, _ in job.history()] == [
        "STARTED",
        "ATTEMPT_FAILED",
        "RETRY_SCHEDULED",
        "RESUMED",
        "SUCCEEDED",
    ]


def test_an_isolated_breaker_is_asked_again_and_a_deadline_ends_the_wait() -> None:
    store = Memory()
    guards = SharedGuard(holdoff.Guards(breaker={"failures": 1, "open_for": "1h"}), store, "k")
    guards.update(lambda guards, _: guards.breaker.isolate())  # type: ignore[union-attr]
    workers = settings(guards=guards)
    job = Job(workers, "isolated", b"")
    with pytest.raises(Refused) as refused:
        run_blocking(job.start(store.now))
    assert refused.value.wait == DOWN
    guards.update(lambda guards, now: guards.breaker.force_close())  # type: ignore[union-attr]
    begun = store.now
    run_blocking(job.start(store.now))
    run_blocking(job.end(store.now, OSError("down")))
    store.now += SECOND
    job = Job(workers, "isolated", job.log + job.fresh)
    with pytest.raises(Refused) as refused:
        run_blocking(job.start(store.now))
    store.now += refused.value.wait
    assert store.now - begun == 30 * SECOND
    step = run_blocking(Job(workers, "isolated", job.log).start(store.now))
    assert (step.kind, step.reason) == ("stop", "deadline")
