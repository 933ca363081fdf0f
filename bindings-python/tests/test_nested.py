"""A retry around a retry: an inner retry that gives up marks the attempt around it (spec 30.4)."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import holdoff
import pytest
from holdoff.testing import failing, virtual_time


def at_once(**fields: Any) -> holdoff.Policy:
    """Three attempts without a delay."""
    delays: Any = {"backoff": {"kind": "constant", "delay": 0}, "jitter": "none", "budget": "none"}
    return holdoff.Policy(attempts=3, **delays, **fields)


OUTER = at_once(nested="innermost")
INNER = at_once()


class SdkError(Exception):
    """The error of a client that hides the one of its transport."""

    def __init__(self, message: str = "", response: object = None) -> None:
        super().__init__(message)
        self.response = response


class Transport:
    """Sends requests, and retries them."""

    def __init__(self, answer: Callable[[], Any] | None = None) -> None:
        self.requests = 0
        self.answer = answer

    def __call__(self) -> Any:
        return INNER.retrying(on_result=lambda value: value.status_code >= 500).call(self.send)

    def send(self) -> Any:
        self.requests += 1
        if self.answer is None:
            raise ConnectionError("down")
        return self.answer()


def unavailable() -> Any:
    return SimpleNamespace(status_code=503, headers={})


def from_cause(send: Callable[[], Any]) -> None:
    try:
        send()
    except ConnectionError as error:
        raise SdkError from error


def from_none(send: Callable[[], Any]) -> None:
    try:
        send()
    except ConnectionError:
        raise SdkError from None


def after_it(send: Callable[[], Any]) -> None:
    failed = False
    try:
        send()
    except ConnectionError:
        failed = True
    if failed:
        raise SdkError


def from_status(send: Callable[[], Any]) -> None:
    response = send()
    if response.status_code >= 500:
        raise SdkError(str(response.status_code))


def in_a_thread(send: Callable[[], Any]) -> None:
    context = contextvars.copy_context()
    failures: list[BaseException] = []

    def run() -> None:
        try:
            context.run(send)
        except ConnectionError as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failures:
        raise SdkError


@pytest.mark.parametrize(
    ("sdk", "answer"),
    [
        (from_cause, None),
        (from_none, None),
        (after_it, None),
        (in_a_thread, None),
        (from_status, unavailable),
        (lambda send: send(), unavailable),
        (lambda send: send(), None),
    ],
)
@pytest.mark.parametrize("kind", ["function", "block", "coroutine", "asynchronous block", "hedged", "limited"])
def test_what_a_retry_has_given_up_on_is_not_tried_again(
    sdk: Callable[[Any], Any], answer: Callable[[], Any] | None, kind: str
) -> None:
    transport = Transport(answer)
    judge: Any = {"on_result": lambda value: getattr(value, "status_code", 0) >= 500}
    limited = at_once(nested="innermost", attempt_timeout=60)
    hedged = at_once(nested="innermost", hedge="1h")

    async def awaited() -> Any:
        return sdk(transport)

    def block() -> None:
        for attempt in holdoff.attempts(OUTER):
            with attempt:
                sdk(transport)

    async def asynchronous_block() -> None:
        async for attempt in holdoff.attempts(OUTER):
            with attempt:
                sdk(transport)

    calls: dict[str, Callable[[], Any]] = {
        "function": lambda: OUTER.retrying(**judge).call(sdk, transport),
        "limited": lambda: limited.retrying(**judge).call(sdk, transport),
        "hedged": lambda: asyncio.run(hedged.retrying(**judge).call(awaited)),
        "block": block,
        "coroutine": lambda: asyncio.run(OUTER.retrying(**judge).call(awaited)),
        "asynchronous block": lambda: asyncio.run(asynchronous_block()),
    }
    try:
        calls[kind]()
    except (SdkError, ConnectionError) as error:
        outcome = holdoff.outcome_of(error)
        assert outcome is not None
        assert (outcome.reason, outcome.attempts) == ("permanent", 1)
    assert transport.requests == 3


def test_without_a_retry_inside_each_mode_retries() -> None:
    for mode in ("innermost", "allow", "outermost"):
        transport = Transport()
        with pytest.raises(SdkError):
            at_once(nested=mode).call(from_none, transport.send)
        assert transport.requests == 3


def test_a_later_retry_that_succeeds_clears_the_mark() -> None:
    for succeeding in (INNER, at_once(deadline=60), at_once(breaker="consecutive"), at_once(nested="allow")):
        for awaits in (False, True):
            attempts = 0

            async def right() -> int:
                return 1

            async def both(again: holdoff.Policy = succeeding) -> None:
                nonlocal attempts
                attempts += 1
                with pytest.raises(ConnectionError):
                    INNER.call(failing(9, ConnectionError))
                assert await again.call(right) == 1
                raise SdkError

            def blocking(again: holdoff.Policy = succeeding) -> None:
                nonlocal attempts
                attempts += 1
                with pytest.raises(ConnectionError):
                    INNER.call(failing(9, ConnectionError))
                assert again.call(int, 1) == 1
                raise SdkError

            with pytest.raises(SdkError):
                if awaits:
                    asyncio.run(OUTER.call(both))
                else:
                    OUTER.call(blocking)
            assert attempts == 3


def test_the_mark_reaches_over_a_retry_in_between() -> None:
    transport = Transport()
    with pytest.raises(SdkError):
        OUTER.call(lambda: INNER.call(from_none, transport))
    # The retry in between allows both.
    assert transport.requests == 9


def test_an_error_that_is_handled_around_the_call_is_not_the_calls() -> None:
    """Each error in an `except` clause has the handled one as its context."""
    backup = failing(2, ConnectionError("backup"))
    try:
        INNER.call(failing(9, ConnectionError("first")))
    except ConnectionError:
        OUTER.call(backup)
    assert backup.calls == 3


def test_other_retries_can_ask_whether_a_retry_gave_up() -> None:
    with pytest.raises(ConnectionError) as raised:
        INNER.call(failing(9, ConnectionError))
    error = raised.value

    def hidden(raises: Callable[[], None]) -> BaseException:
        with pytest.raises(SdkError) as hiding:
            raises()
        return hiding.value

    def fails() -> None:
        raise error

    assert holdoff.given_up(error)
    assert holdoff.given_up(hidden(lambda: from_cause(fails)))
    assert holdoff.given_up(hidden(lambda: from_none(fails)))
    response = unavailable()
    response.__holdoff__ = holdoff.outcome_of(error)
    assert holdoff.given_up(response)
    assert holdoff.given_up(SdkError(response=response))
    assert not holdoff.given_up(SdkError(response=unavailable()))
    assert not holdoff.given_up(ConnectionError())
    loop = SdkError()
    loop.__cause__ = ConnectionError()
    loop.__cause__.__context__ = loop
    assert not holdoff.given_up(loop)


def test_a_cancelled_retry_has_not_given_up() -> None:
    token = holdoff.Cancel()
    token.cancel()
    attempts = 0

    def operation() -> None:
        nonlocal attempts
        attempts += 1
        with pytest.raises(holdoff.Cancelled) as raised:
            INNER.retrying(cancel=token).call(int)
        assert not holdoff.given_up(raised.value)
        raise SdkError

    with pytest.raises(SdkError):
        OUTER.call(operation)
    assert attempts == 3


def test_tasks_of_an_attempt_mark_it() -> None:
    async def gathers(transport: Transport) -> None:
        results = await asyncio.gather(
            asyncio.to_thread(transport), asyncio.to_thread(transport), return_exceptions=True
        )
        if any(isinstance(result, ConnectionError) for result in results):
            raise SdkError

    async def groups(transport: Transport) -> None:
        async def one() -> None:
            transport()

        tasks = [asyncio.create_task(one()) for _ in range(2)]
        done, _ = await asyncio.wait(tasks)
        errors = [task.exception() for task in done]
        if any(errors):
            raise SdkError

    makes: list[Callable[[Transport], Coroutine[Any, Any, None]]] = [gathers, groups]
    for make in makes:
        transport = Transport()
        with pytest.raises(SdkError):
            asyncio.run(OUTER.call(make, transport))
        assert transport.requests == 6


def test_an_attempt_that_has_ended_is_not_marked() -> None:
    contexts: list[contextvars.Context] = []
    transport = Transport()

    def operation() -> None:
        for context in contexts:
            with pytest.raises(ConnectionError):
                context.run(transport)
        contexts.append(contextvars.copy_context())
        raise SdkError

    with virtual_time(), pytest.raises(SdkError):
        OUTER.call(operation)
    assert len(contexts) == 3
