"""Calls under guards: refused, waited for, hedged, replaced by a fallback, nested."""

from __future__ import annotations

import asyncio
import gc
import threading
import time as real
from collections.abc import Awaitable, Callable
from typing import Any

import holdoff
import pytest
from holdoff import _async
from holdoff.testing import virtual_time

POLICY = holdoff.Policy(attempts=4, backoff={"kind": "constant", "delay": 1}, jitter="none")


class Operation:
    """Fails so many times."""

    def __init__(self, failures: int, error: type[Exception] = ConnectionError) -> None:
        self.failures, self.error, self.calls = failures, error, 0

    def run(self) -> int:
        self.calls += 1
        if self.calls <= self.failures:
            raise self.error
        return self.calls

    async def awaited(self) -> int:
        await asyncio.sleep(0)
        return self.run()


def looped(operation: Operation, guards: Any) -> int:
    for attempt in holdoff.attempts(POLICY, guards=guards):
        with attempt:
            return operation.run()
    raise AssertionError


async def looped_async(operation: Operation, guards: Any) -> int:
    async for attempt in holdoff.attempts(POLICY, guards=guards):
        with attempt:
            return await operation.awaited()
    raise AssertionError


def limited() -> holdoff.Policy:
    return holdoff.Policy(attempts=4, backoff={"kind": "constant", "delay": 1}, jitter="none", deadline=1000)


WAYS: list[Callable[[Operation, Any], int]] = [
    lambda operation, guards: holdoff.retry(operation.run, policy=POLICY, guards=guards)(),
    lambda operation, guards: holdoff.retry(operation.run, policy=limited(), guards=guards)(),
    lambda operation, guards: POLICY.retrying(guards=guards).call(operation.run),
    lambda operation, guards: asyncio.run(holdoff.retry(operation.awaited, policy=POLICY, guards=guards)()),
    lambda operation, guards: asyncio.run(holdoff.retry(operation.awaited, policy=limited(), guards=guards)()),
    lambda operation, guards: asyncio.run(POLICY.retrying(guards=guards).call(lambda: operation.awaited())),
    looped,
    lambda operation, guards: asyncio.run(looped_async(operation, guards)),
]
EVERY_WAY = pytest.mark.parametrize("call", WAYS, ids=range(len(WAYS)))


@EVERY_WAY
def test_a_call_that_nothing_is_wrong_with_leaves_no_trace(call: Callable[[Operation, Any], int]) -> None:
    guards = holdoff.Guards(budget={"kind": "token"}, breaker={"kind": "count"}, bulkhead=1, limiter={"limit": 9})
    with virtual_time() as time:
        assert call(Operation(0), guards) == 1
        assert time.sleeps == []
    assert guards.bulkhead is not None
    assert guards.bulkhead.running == 0
    assert guards.breaker is not None
    assert guards.breaker.rates() == (1, 0, 0)


@EVERY_WAY
def test_a_spent_budget_ends_the_retries(call: Callable[[Operation, Any], int]) -> None:
    guards = holdoff.Guards(budget={"kind": "token", "capacity": 10, "cost": 5})
    operation = Operation(9)
    with virtual_time(), pytest.raises(ConnectionError) as caught:
        call(operation, guards)
    outcome = holdoff.outcome_of(caught.value)
    assert outcome is not None
    assert (outcome.reason, outcome.attempts, operation.calls) == ("budget", 3, 3)
    assert guards.budget is not None
    assert guards.budget.balance() == 0


@EVERY_WAY
def test_an_open_breaker_lets_no_attempt_through(call: Callable[[Operation, Any], int]) -> None:
    with virtual_time() as time:
        guards = holdoff.Guards(breaker={"failures": 2, "open_for": "10s"})
        with pytest.raises(ConnectionError) as caught:
            call(Operation(9), guards)
        outcome = holdoff.outcome_of(caught.value)
        assert outcome is not None
        assert (outcome.reason, outcome.attempts) == ("breaker", 2)
        operation = Operation(0)
        time.advance(1)
        with pytest.raises(holdoff.Refused, match="breaker is open") as refused:
            call(operation, guards)
        assert refused.value.reason == "breaker"
        assert refused.value.retry_in == pytest.approx(9, abs=0.01)
        outcome = holdoff.outcome_of(refused.value)
        assert outcome is not None
        assert (outcome.reason, outcome.attempts, operation.calls) == ("breaker", 0, 0)
        time.advance(10)
        assert call(operation, guards) == 1
        assert guards.breaker is not None
        assert guards.breaker.state() == "closed"


@EVERY_WAY
def test_who_may_wait_for_a_guard_does(call: Callable[[Operation, Any], int]) -> None:
    with virtual_time() as time:
        guards = holdoff.Guards(limiter={"limit": 1, "per": "5s", "refusal": "wait"})
        assert call(Operation(0), guards) == 1
        assert call(Operation(0), guards) == 1
        assert time.now == pytest.approx(5, abs=0.1)


@EVERY_WAY
def test_a_fault_of_ones_own_is_nobody_elses(call: Callable[[Operation, Any], int]) -> None:
    guards = holdoff.Guards(breaker={"failures": 1}, bulkhead=1)
    with virtual_time(), pytest.raises(TypeError):
        call(Operation(9, TypeError), guards)
    assert guards.breaker is not None
    assert guards.breaker.rates() == (0, 0, 0)
    assert guards.bulkhead is not None
    assert guards.bulkhead.running == 0


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, asyncio.CancelledError])
@EVERY_WAY
def test_an_interrupt_gives_back_what_the_call_held(call: Callable[[Operation, Any], int], interrupt: Any) -> None:
    guards = holdoff.Guards(breaker={"failures": 1}, bulkhead=1, budget="share")
    with virtual_time(), pytest.raises(interrupt):
        call(Operation(9, interrupt), guards)
    gc.collect()
    assert guards.bulkhead is not None
    assert guards.bulkhead.running == 0
    assert guards.breaker is not None
    assert guards.breaker.rates() == (0, 0, 0)


def test_a_loop_that_is_left_gives_back_what_it_held() -> None:
    guards = holdoff.Guards(bulkhead=1)

    def left() -> None:
        for _ in holdoff.attempts(POLICY, guards=guards):
            return

    left()
    gc.collect()
    assert guards.bulkhead is not None
    assert guards.bulkhead.running == 0


def test_a_policy_has_guards_of_its_own() -> None:
    policy = holdoff.Policy(attempts=2, breaker={"failures": 1, "open_for": 9}, backoff={"initial": 0})
    assert policy.guards is policy.guards is not None
    with pytest.raises(ConnectionError):
        policy.call(Operation(1).run)
    with pytest.raises(holdoff.Refused):
        policy.call(Operation(0).run)
    with pytest.raises(holdoff.Refused):
        asyncio.run(policy.call(Operation(0).awaited))
    assert policy.retrying(guards={}).call(Operation(0).run) == 1
    assert policy.retrying().guards is policy.guards
    same = holdoff.Policy.from_json(policy.to_json())
    assert same == policy
    assert same.guards is not policy.guards
    assert holdoff.Policy(attempts=2).guards is None


def test_presets_bring_their_guards() -> None:
    policy = holdoff.Policy("aws-standard-2.0")
    assert policy.guards is not None
    assert policy.guards.budget is not None
    assert policy.guards.budget.balance() == 500
    adaptive = holdoff.Policy("aws-adaptive").guards
    assert adaptive is not None
    assert adaptive.adaptive is not None
    assert holdoff.Policy("aws-standard-2.0", budget="none").guards is None
    assert "budget: 500 tokens" in str(policy.explain())


@pytest.mark.parametrize("failing", [True, False])
def test_a_fallback_comes_instead_of_the_last_error(failing: bool) -> None:
    def fallback(error: Exception) -> str:
        return type(error).__name__

    async def later(error: Exception) -> str:
        await asyncio.sleep(0)
        return fallback(error)

    expected = "ConnectionError" if failing else 1
    with virtual_time():
        operation = Operation(9 if failing else 0)
        assert holdoff.retry(operation.run, policy=POLICY, fallback=fallback)() == expected
        for instead in (fallback, later):
            operation = Operation(9 if failing else 0)
            assert asyncio.run(holdoff.retry(operation.awaited, policy=POLICY, fallback=instead)()) == expected


def test_a_fallback_hears_of_refusals_and_not_of_cancellations() -> None:
    guards = holdoff.Guards(breaker="consecutive")
    assert guards.breaker is not None
    guards.breaker.isolate()
    seen: list[Exception] = []
    retrying = POLICY.retrying(guards=guards, fallback=seen.append)
    retrying.call(Operation(0).run)
    asyncio.run(retrying.call(Operation(0).awaited))
    assert [type(error) for error in seen] == [holdoff.Refused] * 2
    token = holdoff.Cancel()
    token.cancel()
    with pytest.raises(holdoff.Cancelled):
        POLICY.retrying(cancel=token, fallback=seen.append).call(Operation(0).run)
    with pytest.raises(KeyboardInterrupt):
        POLICY.retrying(fallback=seen.append).call(Operation(1, KeyboardInterrupt).run)  # type: ignore[arg-type]
    assert len(seen) == 2


def test_what_a_fallback_raises_comes_out() -> None:
    def fallback(error: Exception) -> None:
        raise LookupError from error

    with virtual_time(), pytest.raises(LookupError) as caught:
        holdoff.retry(Operation(9).run, policy=POLICY, fallback=fallback)()
    assert isinstance(caught.value.__cause__, ConnectionError)


def test_at_most_so_many_tasks_run_at_once_and_each_gets_its_turn() -> None:
    guards = holdoff.Guards(bulkhead={"limit": 2, "queue": 20})
    running, most = 0, 0

    @holdoff.retry(guards=guards)
    async def operation(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1
        return number

    async def main() -> list[int]:
        return await asyncio.gather(*map(operation, range(20)))

    assert asyncio.run(main()) == list(range(20))
    assert most == 2


def test_at_most_so_many_threads_run_at_once_and_each_gets_its_turn() -> None:
    guards = holdoff.Guards(bulkhead={"limit": 2, "queue": 20})
    lock, running, most, done = threading.Lock(), 0, 0, 0

    @holdoff.retry(guards=guards)
    def operation() -> None:
        nonlocal running, most, done
        with lock:
            running += 1
            most = max(most, running)
        real.sleep(0.002)
        with lock:
            running -= 1
            done += 1

    threads = [threading.Thread(target=operation) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert (done, most) == (12, 2)


def test_a_free_place_wakes_the_first_of_the_queue_alone() -> None:
    caller = holdoff.Policy().retrying(guards={"bulkhead": {"limit": 1, "queue": 65_536, "max_wait": "1m"}})
    order: list[int] = []
    wakes = 0

    async def operation(number: int) -> None:
        order.append(number)
        await asyncio.sleep(0)

    async def all_calls() -> None:
        nonlocal wakes
        loop = asyncio.get_running_loop()
        call_soon = loop.call_soon_threadsafe

        def counting(*args: Any) -> Any:
            nonlocal wakes
            wakes += 1
            return call_soon(*args)

        loop.call_soon_threadsafe = counting  # type: ignore[method-assign, assignment]
        await asyncio.gather(*(caller.call(operation, number) for number in range(10_000)))

    asyncio.run(all_calls())
    assert order == list(range(10_000))
    assert wakes < 30_000


def test_a_full_bulkhead_refuses_and_a_token_ends_the_wait_for_it() -> None:
    guards = holdoff.Guards(bulkhead={"limit": 1, "queue": 1})
    assert guards.bulkhead is not None
    guards.bulkhead.enter()
    token = holdoff.Cancel()
    timer = threading.Timer(0.05, token.cancel)
    timer.start()
    with pytest.raises(holdoff.Cancelled):
        POLICY.retrying(guards=guards, cancel=token).call(Operation(0).run)
    assert guards.bulkhead.waiting == 0
    guards.bulkhead.enter()
    with pytest.raises(holdoff.Refused) as caught:
        POLICY.retrying(guards=guards).call(Operation(0).run)
    assert (caught.value.reason, caught.value.retry_in) == ("bulkhead", None)


def patient(open_for: str) -> holdoff.Guards:
    """A breaker that one failure opens, and whose callers wait."""
    return holdoff.Guards(breaker={"failures": 1, "open_for": open_for, "refusal": "wait"})


def opened(open_for: str) -> holdoff.Guards:
    """The same, open."""
    guards = patient(open_for)
    with pytest.raises(ConnectionError):
        holdoff.Policy(attempts=1).retrying(guards=guards).call(Operation(1).run)
    return guards


def test_threads_behind_a_probe_go_on_as_soon_as_it_has_come_back() -> None:
    with virtual_time() as clock:
        guards = opened("1h")
        clock.advance(3600)
    assert guards.breaker is not None
    probing, done, ends = threading.Event(), threading.Event(), list[int]()

    def probe() -> None:
        probing.set()
        done.wait(60)

    def behind() -> None:
        ends.append(POLICY.retrying(guards=guards).call(Operation(0).run))

    threads = [threading.Thread(target=POLICY.retrying(guards=guards).call, args=[probe])]
    threads[0].start()
    assert probing.wait(60)
    threads += [threading.Thread(target=behind) for _ in range(3)]
    for thread in threads[1:]:
        thread.start()
    assert not ends
    done.set()
    for thread in threads:
        thread.join(60)
    assert ends == [1] * 3


@pytest.mark.parametrize("succeeds", [True, False])
def test_tasks_behind_a_probe_go_on_when_it_has_come_back_or_wait_for_the_next(succeeds: bool) -> None:
    ends: list[float] = []

    async def main() -> None:
        guards = patient("10s")
        once, behind = (policy.retrying(guards=guards) for policy in (holdoff.Policy(attempts=1), POLICY))
        with pytest.raises(ConnectionError):
            await once.call(Operation(1).awaited)

        async def probe() -> None:
            await clock.pause(0.1)
            if not succeeds:
                raise ConnectionError

        async def waiter() -> None:
            await clock.pause(0.05)
            await behind.call(Operation(0).awaited)
            ends.append(clock.now)

        await clock.pause(10)
        await asyncio.gather(once.call(probe), *(waiter() for _ in range(3)), return_exceptions=True)

    with virtual_time() as clock:
        started = clock.now
        asyncio.run(main())
    # After a probe that failed the breaker is open for ten seconds again.
    assert [end - started for end in ends] == pytest.approx([10.1 if succeeds else 20.1] * 3)


def test_a_call_behind_a_probe_ends_at_its_deadline_or_by_its_token() -> None:
    guards = opened("60ms")
    real.sleep(0.07)
    assert guards.breaker is not None
    assert guards.breaker.acquire() is not None
    token = holdoff.Cancel()
    threading.Timer(0.02, token.cancel).start()
    with pytest.raises(holdoff.Cancelled):
        POLICY.retrying(guards=guards, cancel=token).call(Operation(0).run)
    with pytest.raises(holdoff.Refused) as caught:
        holdoff.Policy(deadline="20ms").retrying(guards=guards).call(Operation(0).run)
    assert caught.value.reason == "deadline"
    threading.Timer(0.01, guards.breaker.force_close).start()
    assert holdoff.Policy(deadline="1h").retrying(guards=guards).call(Operation(0).run) == 1


def test_a_task_behind_a_probe_that_is_cancelled_hands_its_turn_on() -> None:
    async def main() -> None:
        guards = opened("2s")
        await clock.pause(2)
        caller = holdoff.Policy(attempts=1, deadline="30s").retrying(guards=guards)

        async def probe() -> None:
            await asyncio.sleep(60)

        tasks: list[asyncio.Task[Any]] = []
        for operation in (probe, Operation(0).awaited, Operation(0).awaited):
            tasks.append(asyncio.create_task(caller.call(operation)))
            for _ in range(10):
                await asyncio.sleep(0)
        started = clock.now
        # The end of the probe wakes the first task, which is cancelled before it asks the breaker.
        tasks[0].cancel()
        tasks[1].cancel()
        await tasks[2]
        assert clock.now == started

    with virtual_time() as clock:
        asyncio.run(main())


def race(awaited: Callable[[int], Awaitable[Any]], guards: Any, **options: Any) -> tuple[Any, list[int]]:
    """What a hedged call of something that is told its attempt's number ends with, and which attempts it cancelled."""
    begun, cancelled = 0, list[int]()

    async def operation() -> Any:
        nonlocal begun
        begun += 1
        number = begun
        try:
            return await awaited(number)
        except asyncio.CancelledError:
            cancelled.append(number)
            raise

    async def main() -> Any:
        try:
            return await holdoff.retry(operation, policy=POLICY, guards=guards, **options)()
        finally:
            await asyncio.sleep(0)

    return asyncio.run(main()), cancelled


def test_the_first_success_wins_and_the_others_are_cancelled() -> None:
    async def awaited(number: int) -> int:
        await asyncio.sleep(30 if number == 1 else 0)
        return number

    guards = holdoff.Guards(hedge="10ms", breaker={"kind": "count"}, bulkhead=4)
    assert race(awaited, guards) == (2, [1])
    assert guards.breaker is not None
    assert guards.breaker.rates() == (1, 0, 0)
    assert guards.bulkhead is not None
    assert guards.bulkhead.running == 0


def test_a_failure_starts_the_next_attempt_at_once() -> None:
    async def awaited(number: int) -> int:
        if number == 1:
            raise ConnectionError
        return number

    assert race(awaited, {"hedge": "1h"}) == (2, [])


def test_a_round_that_fails_is_followed_by_another_after_the_backoff() -> None:
    async def awaited(number: int) -> int:
        await asyncio.sleep(0)
        if number <= 2:
            raise ConnectionError(number)
        return number

    with virtual_time() as time:
        assert race(awaited, {"hedge": "5s"}) == (3, [])
    assert time.sleeps == [1]


def test_a_permanent_failure_ends_all_attempts() -> None:
    async def awaited(number: int) -> int:
        if number == 1:
            await asyncio.sleep(30)
        raise ValueError(number)

    with pytest.raises(ValueError, match="2"):
        race(awaited, {"hedge": "5ms"})
    assert race(awaited, {"hedge": "5ms"}, fallback=lambda error: str(error)) == ("2", [1])


def test_a_hedge_waits_in_virtual_time() -> None:
    async def awaited(number: int) -> int:
        if number == 1:
            await asyncio.Event().wait()
        return number

    with virtual_time() as time:
        assert race(awaited, {"hedge": "5s"}) == (2, [1])
    assert time.now == pytest.approx(5)


def test_each_attempt_of_a_race_has_its_own_limit() -> None:
    async def awaited() -> None:
        await asyncio.sleep(30)

    policy = holdoff.Policy(attempts=2, attempt_timeout="30ms", backoff={"initial": 0})
    with pytest.raises(TimeoutError):
        asyncio.run(policy.retrying(guards={"hedge": "5ms"}).call(awaited))


def test_a_token_ends_a_race() -> None:
    token = holdoff.Cancel()

    async def awaited(number: int) -> int:
        if number == 2:
            token.cancel()
        await asyncio.sleep(30)
        return number

    with pytest.raises(holdoff.Cancelled):
        race(awaited, {"hedge": "5ms"}, cancel=token)


def test_values_may_fail_in_a_race_too() -> None:
    async def awaited(number: int) -> int:
        return number

    with virtual_time():
        assert race(awaited, {"hedge": "5s"}, on_result=lambda value: value < 3) == (3, [])


def test_what_cannot_hedge_says_so() -> None:
    with pytest.raises(TypeError, match="cannot hedge"):
        holdoff.attempts(guards={"hedge": "1s"})
    assert asyncio.run(holdoff.Policy(hedge="1s").call(Operation(0).awaited)) == 1


def nested(outer: str | dict[str, Any] | None, inner: str | dict[str, Any] | None) -> int:
    operation = Operation(99)
    make: Any = holdoff.Policy
    plain = {"attempts": 3, "backoff": {"kind": "constant", "delay": 0}, "jitter": "none"}
    inside = make(nested=inner, **plain).retrying()
    outside = make(nested=outer, **plain).retrying()
    with pytest.raises(ConnectionError):
        outside.call(lambda: inside.call(operation.run))
    return operation.calls


def test_a_retry_in_a_retry_knows_of_it() -> None:
    assert nested(None, None) == 9
    assert nested("allow", "outermost") == 3
    assert nested("innermost", None) == 3
    assert nested(None, "outermost") == 9
    assert nested("allow", {"mode": "cap", "cap": 6}) == 6


def test_an_attempt_hands_down_a_token_for_headers() -> None:
    seen: list[holdoff.Token | None] = []

    def operation() -> None:
        seen.append(holdoff.token())
        if len(seen) < 3:
            raise ConnectionError

    async def awaited() -> None:
        await asyncio.sleep(0)
        operation()

    def block(policy: holdoff.Policy) -> None:
        for attempt in holdoff.attempts(policy):
            with attempt:
                operation()

    async def async_block(policy: holdoff.Policy) -> None:
        async for attempt in holdoff.attempts(policy):
            with attempt:
                await awaited()

    policy = holdoff.Policy(attempts=3, nested="allow", backoff={"initial": 0})
    ways: list[Callable[[], Any]] = [
        lambda: policy.call(operation),
        lambda: asyncio.run(policy.call(awaited)),
        lambda: asyncio.run(policy.retrying(guards={"hedge": "1s"}).call(awaited)),
        lambda: block(policy),
        lambda: asyncio.run(async_block(policy)),
    ]
    for way in ways:
        seen.clear()
        way()
        assert [token and token.header for token in seen] == ["1", "2", "3"]
        assert holdoff.token() is None


def test_a_caller_elsewhere_is_a_retry_around() -> None:
    policy = holdoff.Policy(attempts=3, nested="outermost", backoff={"initial": 0})
    operation = Operation(9)
    with holdoff.inside(holdoff.Token.from_header("2")), pytest.raises(ConnectionError):
        policy.call(operation.run)
    assert operation.calls == 1
    assert policy.attempts_inside(None) == 3
    assert policy.attempts_inside(holdoff.Token(1)) == 1


def test_a_program_with_a_seed_repeats_its_guarded_calls() -> None:
    def delays() -> list[float]:
        with virtual_time() as time:
            for _ in range(3):
                with pytest.raises(ConnectionError):
                    holdoff.retry(Operation(9).run, attempts=4, guards={"breaker": {"failures": 99}})()
        return time.sleeps

    holdoff.seed(7)
    try:
        first = delays()
        holdoff.seed(7)
        assert delays() == first
    finally:
        holdoff.seed(None)
    assert delays() != first


@pytest.mark.parametrize("hook", ["on_retry", "classify", "cancel"])
@pytest.mark.parametrize("awaits", [False, True])
def test_a_loop_that_a_hook_or_a_token_ends_gives_back_what_it_held(hook: str, awaits: bool) -> None:
    guards = holdoff.Guards(bulkhead=1, budget={"kind": "token", "capacity": 10})
    token = holdoff.Cancel()

    def fault(_: object) -> None:
        raise ZeroDivisionError

    hooks: dict[str, Any] = {"cancel": token} if hook == "cancel" else {hook: fault}
    loop = holdoff.attempts(POLICY, guards=guards, **hooks)

    def fail() -> None:
        if hook == "cancel":
            token.cancel()
        raise ConnectionError

    async def awaited() -> None:
        async for attempt in loop:
            with attempt:
                if hook == "cancel":
                    token.cancel()
                    await asyncio.sleep(10)
                fail()

    # As long as somebody holds the error, its traceback holds the loop.
    with pytest.raises(holdoff.Cancelled if hook == "cancel" else ZeroDivisionError) as held:
        if awaits:
            asyncio.run(awaited())
        else:
            for attempt in loop:
                with attempt:
                    fail()
    assert held.value.__traceback__ is not None
    assert guards.bulkhead is not None
    assert guards.budget is not None
    assert (guards.bulkhead.running, guards.budget.balance()) == (0, 10.0)


def test_a_loop_that_an_error_drops_wakes_who_waits_and_lets_the_error_through() -> None:
    guards = holdoff.Guards(bulkhead={"limit": 1, "queue": 1, "max_wait": "20s"})
    assert guards.bulkhead is not None
    waiting = threading.Thread(target=lambda: POLICY.retrying(guards=guards).call(int))

    def left() -> None:
        for attempt in holdoff.attempts(POLICY, guards=guards):
            del attempt
            waiting.start()
            assert guards.bulkhead is not None
            while guards.bulkhead.waiting == 0:
                real.sleep(0.001)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        left()
    waiting.join(10)
    assert not waiting.is_alive()


def test_nobody_hears_of_an_error_of_an_attempt_that_lost() -> None:
    heard: list[object] = []

    async def search(runs: list[int]) -> int:
        runs.append(1)
        number = len(runs)
        try:
            await asyncio.sleep(0 if number > 1 else 30)
        except asyncio.CancelledError:
            raise ZeroDivisionError from None
        return number

    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda _, context: heard.append(context))
    hedged = holdoff.Policy().retrying(guards={"hedge": "1ms"})
    # A loop that is closed at once, and calls nobody back any more.
    assert loop.run_until_complete(hedged.call(search, [])) == 2
    loop.close()
    gc.collect()
    assert heard == []
    assert not _async._abandoned


def test_a_fallback_comes_when_the_other_attempts_have_been_ended() -> None:
    ended: list[int] = []

    async def search(runs: list[int]) -> int:
        runs.append(1)
        if len(runs) > 1:
            raise PermissionError
        try:
            await asyncio.sleep(30)
        finally:
            ended.append(1)
        return 0

    async def instead(_: Exception) -> int:
        await asyncio.sleep(0.01)
        return len(ended)

    def permanent(_: Exception) -> str:
        return "permanent"

    hedged = holdoff.Policy().retrying(guards={"hedge": "1ms"}, fallback=instead, classify=permanent)  # type: ignore[arg-type]
    assert asyncio.run(hedged.call(search, [])) == 1


def test_what_a_fallback_raises_says_after_which_error() -> None:
    def instead(error: Exception) -> int:
        raise LookupError

    with pytest.raises(LookupError) as raised:
        holdoff.retry(Operation(9).run, attempts=1, fallback=instead)()
    assert isinstance(raised.value.__context__, ConnectionError)


def test_what_is_no_token_is_refused() -> None:
    header: Any = "2"
    with pytest.raises(TypeError, match="from_header"):
        holdoff.inside(header)


@pytest.mark.parametrize("voided", [False, True])
def test_a_failure_counts_only_for_the_breaker_that_let_it_through(voided: bool) -> None:
    guards = holdoff.Guards(breaker={"failures": 1})
    assert guards.breaker is not None

    def operation() -> None:
        if voided:
            # Closed all the while, but another one since: this attempt's permit is void.
            guards.breaker.isolate()  # type: ignore[union-attr]
            guards.breaker.force_close()  # type: ignore[union-attr]
        raise ConnectionError

    async def operation_async() -> None:
        operation()

    decorate = holdoff.retry(attempts=1, guards=guards)
    blocking, awaiting = decorate(operation), decorate(operation_async)
    calls: list[Any] = [blocking, lambda: asyncio.run(awaiting())]
    for call in calls:
        guards.breaker.reset()
        with pytest.raises(ConnectionError):
            call()
        assert guards.breaker.state() == ("closed" if voided else "open")
