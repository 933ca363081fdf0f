"""Guards by themselves: made from options, used alone, shared, saved."""

from __future__ import annotations

import os
import threading
from typing import Any

import holdoff
import holdoff.machines
import pytest
from holdoff.testing import virtual_time

SECOND = 1_000_000_000


def test_guards_are_made_of_what_a_document_says() -> None:
    guards = holdoff.Guards(
        budget={"kind": "token", "capacity": 500},
        breaker={"failures": 5, "open_for": "30s"},
        limiter={"limit": 10, "per": "1s"},
        adaptive="aimd",
        bulkhead=4,
        stretch=3,
        hedge="50ms",
        seed=7,
        now=0,
    )
    assert isinstance(guards.budget, holdoff.Budget)
    assert guards.budget.balance(0) == 500
    assert guards.breaker is not None
    assert guards.breaker.state(0) == "closed"
    assert guards.hedge is not None
    assert guards.hedge.delay == 50_000_000
    assert repr(guards) == "<Guards budget, breaker, limiter, bulkhead, adaptive, stretch, hedge>"
    assert holdoff.Guards(budget=None).budget is None
    assert repr(holdoff.Guards()) == "<Guards none>"


def test_a_guard_without_options_is_what_its_kind_has() -> None:
    assert holdoff.Breaker(now=0).rates(0) == (0, 0, 0)
    assert holdoff.Budget(now=0).balance(0) == 1.0
    assert holdoff.Adaptive(now=0).limits is False
    for make, path in [(holdoff.Limiter, "limiter.limit"), (holdoff.Bulkhead, "bulkhead.limit")]:
        with pytest.raises(holdoff.ConfigError) as caught:
            make()
        assert caught.value.path == path


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({"breaker": {"open_for": "soon"}}, "breaker.open_for"),
        ({"breaker": {"failure": 5}}, "breaker.failure"),
        ({"budget": {"kind": "tokens"}}, "budget.kind"),
        ({"bulkhead": 0}, "bulkhead.limit"),
        ({"limiter": {"limit": 1, "per": -1}}, "limiter.per"),
        ({"hedge": {"delay": "1s", "percentile": 2}}, "hedge.percentile"),
        ({"stretch": True}, "stretch.factor"),
    ],
)
def test_a_mistake_is_named_by_its_whole_path(options: Any, path: str) -> None:
    for make in (
        lambda: holdoff.Guards(**options),
        lambda: holdoff.KeyedGuards(**options),
        lambda: holdoff.Policy(**options),
    ):
        with pytest.raises(holdoff.ConfigError) as caught:
            make()
        assert caught.value.path == path


def test_what_is_no_guard_is_refused() -> None:
    anything: Any = holdoff.Guards
    with pytest.raises(TypeError, match="'brake' is no guard"):
        anything(brake={})
    with pytest.raises(TypeError, match='kind "none"'):
        holdoff.Breaker("none")
    with pytest.raises(TypeError, match="guards must be"):
        holdoff.retry(lambda: None, guards=anything)


def test_an_empty_section_is_no_guard() -> None:
    assert holdoff.Guards(breaker={}, budget=None).breaker is None


def test_one_budget_may_serve_several_sets() -> None:
    budget = holdoff.Budget(kind="token", capacity=20, now=0)
    one, other = holdoff.Guards(budget=budget), holdoff.Guards(budget=budget, breaker="consecutive")
    assert one.budget is other.budget is budget
    assert other.breaker is not None


def test_a_budget_pays_and_gets_back() -> None:
    budget = holdoff.Budget(kind="token", capacity=12, cost=5, timeout_cost=10, now=0)
    budget.begin(0)
    assert budget.admit(0)
    budget.fail("transient", 0)
    held = budget.withdraw("transient", 0)
    assert held is not None
    assert budget.balance(0) == 7
    assert budget.withdraw("timeout", 0) is None
    budget.retried()
    budget.succeed(held, 0)
    budget.end()
    assert budget.balance(0) == 12
    assert budget.rejection(0) == 0.0


def test_a_breaker_opens_for_listed_times_and_lets_some_probes_fail() -> None:
    breaker = holdoff.Breaker(failures=1, open_for=[1, "5s"], probes=3, successes=2, probe_failures=1, now=0)
    opening = breaker.acquire(0)
    assert opening is not None
    breaker.record(opening, True, 0, 0)
    assert breaker.retry_at == SECOND
    probes = [breaker.acquire(SECOND) for _ in range(3)]
    states = []
    for probe in probes:
        assert probe is not None
        breaker.record(probe, True, 0, SECOND)
        states.append((breaker.state(SECOND), breaker.retry_at // SECOND))
    assert states == [("half_open", 2), ("open", 6), ("open", 6)]
    with pytest.raises(holdoff.ConfigError, match=r"open_for\[8\].*limit of 8 open times"):
        holdoff.Breaker(open_for=[1] * 9)
    with pytest.raises(holdoff.ConfigError, match=r"probe_failures"):
        holdoff.Breaker(reopen="streak", probe_failures=1)


def test_a_breaker_opens_and_is_tried_again() -> None:
    breaker = holdoff.Breaker(failures=2, open_for=5, now=0)
    for now in (0, 1):
        permit = breaker.acquire(now)
        assert permit is not None
        breaker.record(permit, True, 0, now)
    assert (breaker.state(1), breaker.openings, breaker.acquire(2)) == ("open", 1, None)
    assert breaker.refuses(2) == breaker.retry_at == 1 + 5 * SECOND
    probe = breaker.acquire(6 * SECOND)
    assert probe is not None
    assert breaker.state(6 * SECOND) == "half_open"
    breaker.record(probe, False, 0, 6 * SECOND)
    assert breaker.state(6 * SECOND) == "closed"
    breaker.isolate(0)
    assert (breaker.state(0), breaker.retry_at) == ("isolated", holdoff.machines.NEVER)
    breaker.reset(0)
    assert breaker.acquire(0) is not None


def test_limits_say_when_to_come_back() -> None:
    limiter = holdoff.Limiter(limit=2, per=1, burst=1, now=0)
    assert limiter.take(1, 0)
    assert not limiter.take(1, 0)
    assert limiter.refuses(1, 0) == SECOND // 2
    limiter.give_back(1, 0)
    assert limiter.refuses(1, 0) is None
    adaptive = holdoff.Adaptive(kind="aimd", initial_rate=1, now=0)
    assert adaptive.take(1, 0)
    assert (adaptive.take(1, 0), adaptive.refuses(1, 0)) == (False, SECOND)
    adaptive.update(False, 0)
    assert adaptive.rate == 2.0
    adaptive.update(True, 0)
    assert adaptive.rate == 1.0


def test_a_bulkhead_lets_in_first_who_came_first() -> None:
    bulkhead = holdoff.Bulkhead(limit=1, queue=2)
    assert bulkhead.enter() == "entered"
    first, second = bulkhead.enter(), bulkhead.enter()
    assert isinstance(first, int)
    assert isinstance(second, int)
    assert bulkhead.enter() == "refused"
    bulkhead.leave()
    assert bulkhead.enter_from(second) == second
    bulkhead.leave_queue(first)
    assert bulkhead.enter_from(second) == "entered"
    assert (bulkhead.running, bulkhead.waiting) == (1, 0)


def test_delays_stretch_and_hedges_learn() -> None:
    stretch = holdoff.Stretch(factor=3, window="10s", min_calls=2, now=0)
    assert stretch.stretch(100, 0) == 100
    stretch.record(True, 0)
    stretch.record(True, 0)
    assert (stretch.stretch(100, 0), stretch.counts(0)) == (300, (2, 2))
    hedge = holdoff.Hedge(delay="1s", percentile=0.5)
    for _ in range(40):
        hedge.record(1000)
    assert hedge.quantile is not None
    assert hedge.delay == hedge.quantile
    assert (hedge.records, hedge.attempts) == (40, 2)


def test_the_clock_is_that_of_the_loops_unless_a_time_is_given() -> None:
    with virtual_time() as time:
        breaker = holdoff.Breaker(failures=1, open_for=10)
        permit = breaker.acquire()
        assert permit is not None
        breaker.record(permit, failed=True)
        assert breaker.state() == "open"
        time.advance(10)
        assert breaker.state() == "half_open"


def test_what_is_saved_goes_on_elsewhere() -> None:
    options: Any = {
        "budget": {"kind": "token", "capacity": 20},
        "breaker": {"failures": 1, "open_for": "10s"},
        "limiter": {"kind": "log", "limit": 2},
        "adaptive": "aimd",
        "bulkhead": 2,
        "stretch": 2,
        "hedge": {"delay": "1s", "percentile": 0.9},
    }
    guards = holdoff.Guards(**options, seed=1, now=0)
    assert guards.budget is not None
    assert guards.breaker is not None
    assert guards.limiter is not None
    guards.budget.withdraw(now=0)
    permit = guards.breaker.acquire(0)
    assert permit is not None
    guards.breaker.record(permit, True, 0, 0)
    guards.limiter.take(2, 0)
    saved = guards.save(SECOND)
    assert set(saved) == {"budget", "breaker", "limiter", "adaptive", "stretch", "hedge"}
    again = holdoff.Guards.restore(options, saved, now=100 * SECOND)
    assert again.budget is not None
    assert again.breaker is not None
    assert again.limiter is not None
    assert again.budget.balance(100 * SECOND) == 15
    assert again.breaker.retry_at == 109 * SECOND
    assert again.save(100 * SECOND) == saved
    one = holdoff.Breaker.restore(options["breaker"], saved["breaker"], 100 * SECOND)
    assert one.retry_at == 109 * SECOND
    with pytest.raises(holdoff.machines.SaveError):
        holdoff.Budget.restore("throttle", saved["budget"])
    with pytest.raises(holdoff.machines.SaveError):
        holdoff.Breaker.restore({}, saved["budget"])


def test_the_same_seed_makes_the_same_draws() -> None:
    def openings(seed: int) -> list[int]:
        breaker = holdoff.Breaker(failures=1, open_for=1, jitter=0.5, seed=seed, now=0)
        now, found = 0, list[int]()
        for _ in range(5):
            permit = breaker.acquire(now)
            assert permit is not None
            breaker.record(permit, True, 0, now)
            now = breaker.retry_at
            found.append(now)
        return found

    assert openings(1) == openings(1) != openings(2)


def test_a_key_has_its_guards_for_as_long_as_it_is_known() -> None:
    keyed = holdoff.KeyedGuards(breaker="consecutive", most=2, idle="10s", seed=1)
    one = keyed.of("one", 0)
    assert keyed.of("one", 1) is one
    assert keyed.of("two", 2) is not one
    keyed.of("one", 3)
    keyed.of("three", 4)
    assert keyed.keys() == ["one", "three"]
    assert keyed.of("one", 5) is one
    assert keyed.of("one", 20 * SECOND) is one
    del one
    keyed.of("two", 31 * SECOND)
    assert keyed.keys() == ["two"]
    keyed.of("one", 31 * SECOND)
    assert keyed.forget("one")
    assert not keyed.forget("one")


def test_a_guard_that_is_given_as_one_is_shared_by_all_keys() -> None:
    budget = holdoff.Budget()
    keyed = holdoff.KeyedGuards(budget=budget, breaker="consecutive")
    assert keyed.of("one").budget is keyed.of("two").budget is budget
    assert keyed.of("one").breaker is not keyed.of("two").breaker


def test_a_million_keys_stay_bounded() -> None:
    keyed = holdoff.KeyedGuards(breaker="consecutive", most=1000)
    for number in range(1_000_000):
        keyed.of(f"host{number}", number)
    assert len(keyed) == 1000
    assert keyed.of("host999999", 1_000_000) is keyed.of("host999999", 1_000_000)


def test_eight_threads_at_one_set_lose_nothing() -> None:
    guards = holdoff.Guards(
        budget={"kind": "token", "capacity": 1_000_000, "cost": 1},
        breaker={"kind": "time", "window": "1h", "failure_rate": 1.0},
        limiter={"kind": "window", "limit": 1_000_000, "per": "1h"},
        bulkhead=8,
        stretch=2,
    )
    policy = holdoff.Policy(attempts=2, backoff={"kind": "constant", "delay": 0}, jitter="none")
    retrying = policy.retrying(on=OSError, guards=guards)
    calls, each = 8, 500

    def work() -> None:
        for number in range(each):
            failures = [OSError()] if number % 2 else []

            def operation(failures: list[OSError] = failures) -> None:
                if failures:
                    raise failures.pop()

            retrying.call(operation)

    threads = [threading.Thread(target=work) for _ in range(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert guards.budget is not None
    assert guards.breaker is not None
    assert guards.bulkhead is not None
    assert guards.stretch is not None
    assert guards.limiter is not None
    attempts, failed = calls * each * 3 // 2, calls * each // 2
    assert guards.breaker.rates()[:2] == (attempts, failed)
    assert guards.stretch.counts() == (attempts, failed)
    assert guards.bulkhead.running == guards.bulkhead.waiting == 0
    assert guards.budget.balance() == 1_000_000
    assert guards.limiter.take(1_000_000 - attempts)
    assert not guards.limiter.take(1)


def test_eight_threads_share_guard_objects_between_sets() -> None:
    breaker, budget = holdoff.Breaker(kind="time", window="1h", failure_rate=1.0), holdoff.Budget()
    sets = [holdoff.Guards(breaker=breaker), holdoff.Guards(breaker=breaker, budget=budget)]

    def work(number: int) -> None:
        call = holdoff.retry(lambda: None, guards=sets[number % 2])
        for _ in range(1000):
            call()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert breaker.rates() == (8000, 0, 0)


def test_a_token_is_what_headers_say() -> None:
    token = holdoff.Token(2, 3, holdoff.Token(1, 4))
    assert (token.attempt, token.allowed, token.depth) == (2, 12, 2)
    assert (token.header, token.grpc, holdoff.Token(1).grpc) == ("2", "1", None)
    assert (holdoff.Token.HEADER, holdoff.Token.GRPC) == ("x-retry-attempt", "grpc-previous-rpc-attempts")
    assert holdoff.Token.from_header("3") == holdoff.Token(3, 3)
    assert holdoff.Token.from_grpc(b"2") == holdoff.Token(3, 3)
    assert holdoff.Token.from_header("many") is holdoff.Token.from_grpc("") is None
    assert holdoff.Token(1).allowed is None
    assert len({holdoff.Token(1, 2), holdoff.Token(1, 2)}) == 1


def test_the_machine_of_a_call_says_each_step() -> None:
    guards = holdoff.Guards(breaker={"failures": 1, "open_for": 5}, bulkhead={"limit": 1, "queue": 1}, now=0)
    policy = holdoff.Policy(attempts=2, backoff={"kind": "constant", "delay": 1}, jitter="none")
    call, step = holdoff.machines.GuardedCall.begin(policy, guards, 1, 0)
    assert (step.kind, step.attempt, call.flying) == ("attempt", 1, 1)
    other, waits = holdoff.machines.GuardedCall.begin(policy, guards, 2, 0)
    assert (waits.kind, waits.cause) == ("sleep", "bulkhead")
    end = call.fail(policy, guards, 1, 0, holdoff.Failure())
    assert (end.outcome, end.reason, end.retry_at) == ("gave_up", "breaker", 5 * SECOND)
    assert other.tick(policy, guards, 1).reason == "breaker"
    third, step = holdoff.machines.GuardedCall.begin(policy, guards, 3, 5 * SECOND)
    assert third.cancel(guards, 6 * SECOND).outcome == "cancelled"
    assert guards.bulkhead is not None
    assert guards.bulkhead.running == 0


def test_a_guarded_call_is_resumed_under_guards() -> None:
    policy = holdoff.Policy(attempts=3, backoff={"kind": "constant", "delay": 2}, jitter="none")
    guards = holdoff.Guards(bulkhead=1, budget="share", now=0)
    call, _ = holdoff.machines.GuardedCall.begin(policy, guards, 1, 0)
    assert call.fail(policy, guards, 1, SECOND, holdoff.Failure()).until == 3 * SECOND
    states = (call.save(policy, SECOND), call.to_json(policy, SECOND), call.to_dict(policy, SECOND))
    call.cancel(guards, SECOND)
    for state in states:
        again = holdoff.machines.GuardedCall.resume(state, policy, guards, 0)
        assert (again.attempt, again.remaining(0)) == (1, 2 * SECOND)
        step = again.tick(policy, guards, 2 * SECOND)
        assert (step.kind, step.attempt) == ("attempt", 2)
        assert again.succeed(guards, 2, 2 * SECOND).outcome == "succeeded"
    assert guards.bulkhead is not None
    assert guards.bulkhead.running == 0
    with pytest.raises(holdoff.machines.SaveError):
        holdoff.machines.GuardedCall.resume(b"", policy, guards, 0)


def test_a_name_that_is_no_guards_is_not_looked_over_in_what_was_saved() -> None:
    saved = holdoff.Guards(breaker={"failures": 3}).save()
    misnamed: Any = {"braker": saved["breaker"]}
    with pytest.raises(TypeError, match="'braker' is no guard"):
        holdoff.Guards.restore({"breaker": {"failures": 3}}, misnamed)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system forks no processes")
def test_guards_begin_anew_in_the_child_of_a_fork() -> None:
    """The attempts that run when a process forks end in the parent alone."""
    bulkhead = holdoff.Bulkhead(1)
    breaker = holdoff.Breaker(failures=1, open_for=1)
    budget = holdoff.Budget(kind="share", ratio=0, min_concurrency=1)
    assert bulkhead.enter() == "entered"
    breaker.isolate()
    budget.begin()
    assert budget.withdraw() is not None
    assert budget.withdraw() is None
    child = os.fork()
    if child == 0:
        anew = (bulkhead.enter(), breaker.state(), budget.withdraw() is not None)
        os._exit(anew != ("entered", "closed", True))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (bulkhead.running, breaker.state(), budget.withdraw()) == (1, "isolated", None)


def test_a_pause_closes_for_a_hint_and_opens_by_itself() -> None:
    guards = holdoff.Guards(pause="2s", now=0)
    pause = guards.pause
    assert pause is not None
    assert pause.refuses(0) is None
    pause.hint(5_000_000_000, 100_000_000)
    assert pause.refuses(2_099_999_999) == 2_100_000_000
    assert pause.refuses(2_100_000_000) is None
    assert holdoff.Guards(pause=pause).pause is pause
    assert type(pause).restore({"max": "2s"}, pause.save(100_000_000), 0).refuses(0) == 2_000_000_000
