"""Functions of the user's own that never answer: limits and tokens end the wait for them."""

from __future__ import annotations

import asyncio
import gc
import warnings
from contextlib import nullcontext
from typing import Any

import holdoff
import pytest
import trio
from holdoff.telemetry import listen, unlisten
from holdoff.testing import VirtualTime

FIELDS: Any = {"attempts": 2, "backoff": {"kind": "constant", "delay": 1}, "jitter": "none"}
KINDS = ["on_attempt", "on_retry", "on_success", "on_give_up"]


def hooks(function: Any, *names: str) -> Any:
    return dict.fromkeys(names, function)


async def never(*_: object) -> Any:
    await forever()


async def forever() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        await trio.sleep_forever()
    await asyncio.get_running_loop().create_future()


async def fails() -> None:
    raise ConnectionError("down")


async def works() -> str:
    return "value"


def run(framework: str, call: Any) -> Any:
    """Runs it, and finds coroutines that were neither awaited nor closed."""

    async def main() -> Any:
        try:
            return await call()
        except (ConnectionError, TimeoutError, holdoff.Cancelled) as error:
            return error

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            return asyncio.run(main()) if framework == "asyncio" else trio.run(main)
        finally:
            gc.collect()
            assert not [str(warning.message) for warning in warned]


@pytest.mark.parametrize("framework", ["asyncio", "trio"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_hook_that_never_answers_ends_at_the_deadline(clock: VirtualTime, framework: str, kind: str) -> None:
    expected = {"on_retry": "deadline", "on_attempt": "deadline", "on_give_up": "attempts"}
    function: Any = works if kind == "on_success" else fails
    ended = run(framework, holdoff.retry(function, **FIELDS, deadline=7, **hooks(never, kind)))
    if kind == "on_success":
        assert ended == "value"
    else:
        outcome = holdoff.outcome_of(ended)
        assert outcome is not None
        assert outcome.reason == expected[kind]
    assert clock.now == 7


@pytest.mark.parametrize("framework", ["asyncio", "trio"])
def test_a_hook_that_never_answers_ends_with_the_limit_of_the_block(clock: VirtualTime, framework: str) -> None:
    async def call() -> None:
        with holdoff.within(3):
            await holdoff.retry(fails, **FIELDS, on_retry=never)()

    assert isinstance(run(framework, call), ConnectionError)
    assert clock.now == 3


@pytest.mark.parametrize("framework", ["asyncio", "trio"])
@pytest.mark.parametrize("reason", ["deadline", "cancelled"])
def test_the_last_hook_has_half_a_second_after_the_end(clock: VirtualTime, framework: str, reason: str) -> None:
    told: list[str] = []
    token = holdoff.Cancel()

    async def pauses(event: Any) -> None:
        await clock.pause(0.4)
        told.append(event.reason)
        await forever()

    async def hangs() -> None:
        if reason == "cancelled":
            token.cancel()
        await forever()

    run(framework, holdoff.retry(hangs, **FIELDS, deadline=7, cancel=token, on_give_up=pauses))
    assert told == [reason]
    assert clock.now == (7.5 if reason == "deadline" else 0.5)


@pytest.mark.parametrize("framework", ["asyncio", "trio"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_token_ends_the_wait_for_a_hook(clock: VirtualTime, framework: str, kind: str) -> None:
    token = holdoff.Cancel()

    async def hook(_: object) -> None:
        token.cancel()
        await forever()

    function: Any = works if kind in ("on_success", "on_attempt") else fails
    ended = run(framework, holdoff.retry(function, **FIELDS, cancel=token, **hooks(hook, kind)))
    if kind in ("on_success", "on_attempt"):
        assert ended == "value"
    else:
        assert isinstance(ended, holdoff.Cancelled if kind == "on_retry" else ConnectionError)
    assert clock.now == (1 if kind == "on_give_up" else 0)


@pytest.mark.parametrize("framework", ["asyncio", "trio"])
def test_a_token_ends_the_wait_for_a_fallback_and_the_error_comes_out(clock: VirtualTime, framework: str) -> None:
    token = holdoff.Cancel()

    async def fallback(_: object) -> None:
        token.cancel()
        await forever()

    ended = run(framework, holdoff.retry(fails, **FIELDS, cancel=token, fallback=fallback))
    assert isinstance(ended, ConnectionError)
    assert clock.now == 1


@pytest.mark.parametrize("framework", ["asyncio", "trio"])
def test_a_sleep_that_never_answers_ends_at_the_deadline(framework: str) -> None:
    fields = {**FIELDS, "backoff": {"kind": "constant", "delay": 0.5}, "deadline": 0.6}
    ended = run(framework, holdoff.retry(fails, **fields, sleep=never))
    outcome = holdoff.outcome_of(ended)
    assert outcome is not None
    assert (outcome.reason, outcome.attempts) == ("deadline", 1)


def test_hooks_behind_one_that_fails_or_hangs_are_closed(clock: VirtualTime) -> None:
    async def breaks(_: object) -> None:
        raise KeyError("hook")

    def raises(_: object) -> None:
        raise KeyError("listener")

    def at_retries(hook: Any) -> Any:
        return lambda event: hook(event) if event.hook == "on_retry" else None

    for first, behind, now in ((breaks, never, 0), (never, raises, 0), (never, never, 7)):
        listener = listen(at_retries(behind))
        try:
            expected = pytest.raises(KeyError) if now == 0 else nullcontext()
            with expected:
                run("asyncio", holdoff.retry(fails, **FIELDS, deadline=7, on_retry=first))
        finally:
            unlisten(listener)
        assert clock.now == now


def test_a_listener_that_is_added_while_an_attempt_runs_is_awaited_or_closed(clock: VirtualTime) -> None:
    async def listener(_: object) -> None:
        await asyncio.sleep(0)

    async def adds() -> None:
        listen(listener)
        raise ConnectionError("down")

    try:
        assert isinstance(run("asyncio", holdoff.retry(adds, **FIELDS, deadline=9)), ConnectionError)
    finally:
        unlisten(listener)
    assert clock.now == 1


@pytest.mark.parametrize("option", ["on", "on_result", "classify", "delay"])
@pytest.mark.parametrize("function", [fails, works])
def test_an_asynchronous_judge_is_refused_and_closed(clock: VirtualTime, option: str, function: Any) -> None:
    if (option == "on_result") != (function is works):
        return

    async def call() -> Any:
        return await holdoff.retry(function, **FIELDS, **hooks(never, option))()

    with pytest.raises(TypeError, match="plain function"):
        run("asyncio", call)
    assert clock.now == 0
