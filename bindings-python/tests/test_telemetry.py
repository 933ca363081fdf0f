"""Hooks and listeners: what they are told, when, and what becomes of their own errors."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import holdoff
import holdoff.telemetry
import httpx
import pytest
import trio
from holdoff.testing import VirtualTime
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry

THREE = holdoff.Policy(attempts=3, backoff={"kind": "constant", "delay": 2}, jitter="none", budget="none")
HOOKS = ("on_attempt", "on_retry", "on_success", "on_give_up")
Make = Callable[..., Callable[[], Any]]


def failing(times: int) -> Callable[..., str]:
    """A function that fails some times."""
    calls = 0

    def operation(*_: object, **__: object) -> str:
        nonlocal calls
        calls += 1
        if calls <= times:
            raise ConnectionError("down")
        return "done"

    return operation


def awaiting(times: int) -> Callable[..., Any]:
    blocking = failing(times)

    async def operation(*args: object, **kwargs: object) -> str:
        await asyncio.sleep(0)
        return blocking()

    return operation


def called(times: int, **options: Any) -> Any:
    return holdoff.retry(failing(times), **options)(1, two=2)


def called_by_a_caller(times: int, **options: Any) -> Any:
    return holdoff.Retrying(**{"policy": options.pop("policy"), **options}).call(failing(times), 1, two=2)


def awaited(times: int, **options: Any) -> Any:
    return asyncio.run(holdoff.retry(awaiting(times), **options)(1, two=2))


def adopted(times: int, **options: Any) -> Any:
    operation = awaiting(times)

    async def run() -> Any:
        made: Any = holdoff.retry(lambda *args, **kwargs: operation(*args, **kwargs), **options)
        return await made(1, two=2)

    return asyncio.run(run())


def hedged(times: int, **options: Any) -> Any:
    return awaited(times, guards={"hedge": "1h"}, **options)


CALLS = [called, called_by_a_caller, awaited, adopted]


def facts(event: Any) -> tuple[Any, ...]:
    names = ("operation", "args", "kwargs")
    assert all(hasattr(event, name) for name in names)
    more = [getattr(event, name) for name in ("kind", "delay", "cause", "reason") if hasattr(event, name)]
    return (event.hook, event.attempt, event.elapsed, *more)


@pytest.fixture
def heard() -> Iterator[list[Any]]:
    """The events of all operations."""
    events: list[Any] = []
    holdoff.telemetry.listen(events.append)
    yield events
    holdoff.telemetry.unlisten(events.append)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("by", ["hooks", "listener"])
def test_the_events_of_an_operation(call: Any, by: str, clock: VirtualTime, heard: list[Any]) -> None:
    told: list[Any] = heard
    hooks: dict[str, Any] = {}
    if by == "hooks":
        told = []
        hooks = dict.fromkeys(HOOKS, told.append)
    assert call(2, policy=THREE, **hooks) == "done"
    attempt = ("transient", 2.0, "backoff")
    assert [facts(event) for event in told] == [
        ("on_attempt", 1, 0.0),
        ("on_retry", 1, 0.0, *attempt),
        ("on_attempt", 2, 2.0),
        ("on_retry", 2, 2.0, *attempt),
        ("on_attempt", 3, 4.0),
        ("on_success", 3, 4.0),
    ]
    assert {(event.args, event.kwargs["two"]) for event in told} == {((1,), 2)}
    assert told[-1].value == "done"
    assert isinstance(told[1].error, ConnectionError)
    told.clear()
    with pytest.raises(ConnectionError):
        call(9, policy=THREE, **hooks)
    assert facts(told[-1]) == ("on_give_up", 3, 4.0, "transient", "attempts")
    assert [event.hook for event in told].count("on_give_up") == 1
    assert len(told) == 6


@pytest.mark.parametrize("call", CALLS)
def test_a_cancellation_is_told_once(call: Any, clock: VirtualTime) -> None:
    token, told = holdoff.Cancel(), list[Any]()
    with pytest.raises(holdoff.Cancelled) as raised:
        call(9, policy=THREE, cancel=token, on_retry=lambda _: token.cancel(), on_give_up=told.append)
    assert [(event.attempt, event.kind, event.reason) for event in told] == [(1, "transient", "cancelled")]
    assert told[0].error is raised.value
    with pytest.raises(holdoff.Cancelled):
        call(0, policy=THREE, cancel=token, on_give_up=told.append)
    assert [(event.attempt, event.kind, event.reason) for event in told[1:]] == [(0, None, "cancelled")]


def test_the_name_of_an_operation(heard: list[Any]) -> None:
    @holdoff.retry
    def fetch() -> None: ...

    fetch()
    holdoff.Policy().retrying(name="search").call(fetch.__wrapped__)
    for attempt in holdoff.attempts(name="block"):
        with attempt:
            pass
    for attempt in holdoff.attempts():
        with attempt:
            pass
    names = [event.operation for event in heard if event.hook == "on_success"]
    assert names == ["test_the_name_of_an_operation.<locals>.fetch", "search", "block", ""]


def test_a_refusal_of_a_guard_is_told(clock: VirtualTime) -> None:
    told: list[holdoff.telemetry.GiveUpEvent] = []
    breaker = holdoff.Breaker(failures=1, open_for=30)
    caller = THREE.retrying(guards={"breaker": breaker}, on_give_up=told.append)
    for _ in range(2):
        with pytest.raises((ConnectionError, holdoff.Refused)):
            caller.call(failing(9))
    assert [(event.attempt, event.reason, event.refused_by, event.retry_in) for event in told] == [
        (1, "breaker", "breaker", 30.0),
        (0, "breaker", "breaker", 30.0),
    ]
    assert isinstance(told[1].error, holdoff.Refused)
    assert [event.kind for event in told] == ["transient", None]


def test_the_changes_of_a_breaker(clock: VirtualTime, heard: list[Any]) -> None:
    breaker = holdoff.Breaker(failures=1, open_for=30)
    caller = holdoff.Policy(attempts=1).retrying(guards={"breaker": breaker}, name="search")
    for times in (9, 9, 0):
        with contextlib.suppress(ConnectionError, holdoff.Refused):
            caller.call(failing(times))
        clock.advance(20)
    changes = [event for event in heard if event.hook == "on_change"]
    assert [(event.name, event.before, event.after, event.at) for event in changes] == [
        ("search", "closed", "open", 0),
        ("search", "open", "half_open", 40_000_000_000),
        ("search", "half_open", "closed", 40_000_000_000),
    ]


def test_asynchronous_hooks_are_awaited(clock: VirtualTime) -> None:
    told: list[str] = []

    async def hook(event: Any) -> None:
        await asyncio.sleep(0)
        told.append(event.hook)

    for call in (awaited, adopted, hedged):
        told.clear()
        call(2, policy=THREE, **dict.fromkeys(HOOKS, hook))
        # A hedged attempt begins at once after a failure, without a sleep.
        first = ["on_attempt"] if call is hedged else ["on_attempt", "on_retry"]
        assert told == [*first, "on_attempt", "on_retry", "on_attempt", "on_success"]
        with pytest.raises(ConnectionError):
            call(9, policy=THREE, on_give_up=hook)
        assert told[-1] == "on_give_up"

    async def on_trio() -> None:
        told.clear()

        async def hook(event: Any) -> None:
            await trio.sleep(0)
            told.append(event.hook)

        blocking = failing(1)

        async def operation() -> str:
            return blocking()

        hooks: dict[str, Any] = dict.fromkeys(HOOKS, hook)
        await THREE.retrying(**hooks).call(operation)

    trio.run(on_trio)
    assert told == ["on_attempt", "on_retry", "on_attempt", "on_success"]


def test_an_asynchronous_hook_in_a_blocking_loop_is_refused_by_name(clock: VirtualTime) -> None:
    async def hook(_: object) -> None: ...

    for name in HOOKS:
        with pytest.raises(TypeError, match=f"{name}: an asynchronous hook cannot be awaited by a blocking function"):
            called(9 if name == "on_give_up" else 1, policy=THREE, **{name: hook})

    async def block() -> None:
        async for attempt in holdoff.attempts(THREE, on_attempt=hook, on_success=hook):
            with attempt:
                pass

    with pytest.raises(TypeError, match="on_success: an asynchronous hook cannot be awaited at the end of a block"):
        asyncio.run(block())


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", HOOKS)
def test_the_error_of_a_hook_names_it_and_gives_all_places_back(call: Any, name: str, clock: VirtualTime) -> None:
    bulkhead = holdoff.Bulkhead(1)

    def hook(_: object) -> None:
        raise ArithmeticError("of the hook")

    with pytest.raises(ArithmeticError, match="of the hook") as raised:
        call(9 if name == "on_give_up" else 1, policy=THREE, guards={"bulkhead": bulkhead}, **{name: hook})
    notes = getattr(raised.value, "__notes__", [])
    assert notes == [f"holdoff: {name}: this hook or a listener raised the error"]
    if name in ("on_retry", "on_give_up"):
        assert isinstance(raised.value.__context__, ConnectionError)
    assert bulkhead.running == 0


def test_retries_are_logged_unless_somebody_does(clock: VirtualTime, caplog: pytest.LogCaptureFixture) -> None:
    called(1, policy=THREE)
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("holdoff", logging.WARNING)
    failed = "failing.<locals>.operation: attempt 1 failed with ConnectionError: down"
    assert record.getMessage() == f"{failed}; the next one begins in 2 s (backoff)"
    called(1, policy=THREE, on_retry=lambda _: None)
    called(0, policy=THREE)
    assert holdoff.telemetry.log(on=False)
    try:
        called(1, policy=THREE)
    finally:
        assert not holdoff.telemetry.log(on=True)
    assert len(caplog.records) == 1


STRUCTLOG = """
import holdoff, holdoff.telemetry, structlog
from holdoff.testing import failing, virtual_time

holdoff.telemetry.log(logger=structlog.get_logger("holdoff"))
with structlog.testing.capture_logs() as logs, virtual_time():
    holdoff.retry(failing(1, ConnectionError), backoff={"delays": [2]}, jitter="none", name="search")()
(entry,) = logs
print(entry["event"], entry["log_level"], entry["operation"], entry["attempt"], entry["delay"])
"""


def test_structlog_logs_where_the_program_asks_for_it() -> None:
    ran = subprocess.run([sys.executable, "-c", STRUCTLOG], capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("holdoff.retry warning search 1 2.0\n", "")


def test_a_listener_is_added_once_and_removed() -> None:
    told: list[Any] = []

    def listener(event: Any) -> None:
        told.append(event)

    assert holdoff.telemetry.listen(listener) is listener
    holdoff.telemetry.listen(listener)
    called(0)
    assert [event.hook for event in told] == ["on_attempt", "on_success"]
    holdoff.telemetry.unlisten(listener)
    holdoff.telemetry.unlisten(listener)
    called(0)
    assert len(told) == 2
    with pytest.raises(TypeError, match="takes a function of the event, not int"):
        holdoff.telemetry.listen(3)  # type: ignore[type-var]


def test_a_delay_of_ones_own_replaces_the_policys(clock: VirtualTime) -> None:
    rules: Any = [{"if": {"kinds": ["transient"]}, "hint": "ignore"}]
    policy = holdoff.Policy(attempts=4, jitter="none", budget="none", rules=rules, hint={"mode": "floor", "max": 30})
    answers: list[Any] = [7, timedelta(milliseconds=1500), "2m", None]
    asked: list[Any] = []
    told: list[Any] = []

    def delay(event: Any) -> Any:
        asked.append((event.attempt, event.kind, event.elapsed, event.args))
        assert isinstance(event.error, ConnectionError)
        return answers[event.attempt - 1]

    for call in (*CALLS, hedged):
        asked.clear()
        told.clear()
        with pytest.raises(ConnectionError):
            call(9, policy=policy, delay=delay, on_retry=told.append)
        assert [(event.delay, event.cause) for event in told] == [(7.0, "hint"), (1.5, "hint"), (120.0, "hint")]
        starts = enumerate((0.0, 7.0, 8.5, 128.5), 1)
        # A hedged attempt begins at once after a failure, so that the failures come in other places.
        assert call is hedged or asked == [(n, "transient", at, (1,)) for n, at in starts]


def test_a_delay_of_ones_own_may_stop_or_leave_it_to_the_policy(clock: VirtualTime) -> None:
    told: list[Any] = []
    hint = holdoff.Failure("throttled", hint=9)
    with pytest.raises(ConnectionError):
        called(9, policy=THREE, classify=lambda _: hint, delay=lambda _: None, on_retry=told.append)
    assert [(event.delay, event.cause) for event in told] == [(9.0, "hint")] * 2
    for call in CALLS:
        with pytest.raises(ConnectionError) as raised:
            call(9, policy=THREE, delay=lambda event: 1 if event.attempt == 1 else False)
        outcome = holdoff.outcome_of(raised.value)
        assert outcome is not None
        assert (outcome.attempts, outcome.reason) == (2, "permanent")
    for attempt in holdoff.attempts(THREE, delay=lambda _: 0):
        with attempt:
            if attempt.number < 3:
                raise ConnectionError
    judged: list[Any] = []
    holdoff.retry(lambda: 503, policy=THREE, on_result=lambda _: True, delay=lambda event: judged.append(event.value))()
    assert judged == [503] * 3
    with pytest.raises(ConnectionError) as raised:
        called(9, policy=holdoff.Policy(deadline=10), delay=lambda _: 11)
    outcome = holdoff.outcome_of(raised.value)
    assert outcome is not None
    assert outcome.reason == "deadline"


@pytest.mark.parametrize("call", CALLS)
def test_a_delay_that_fails_is_named_and_gives_all_places_back(call: Any, clock: VirtualTime) -> None:
    bulkhead = holdoff.Bulkhead(1)

    async def asynchronous(_: object) -> int:
        return 1

    def failing(_: object) -> int:
        raise ArithmeticError("of the function")

    wrong: list[tuple[Any, type[Exception], str]] = [
        (lambda _: True, holdoff.ConfigError, "delay = True: "),
        (lambda _: -1, holdoff.ConfigError, "delay = -1: "),
        (lambda _: "soon", holdoff.ConfigError, "delay = 'soon': "),
        (lambda _: object(), holdoff.ConfigError, "delay = "),
        (asynchronous, TypeError, "delay: an asynchronous hook cannot be awaited before a decision"),
        (failing, ArithmeticError, "of the function"),
    ]
    for delay, kind, text in wrong:
        with pytest.raises(kind, match=text) as raised:
            call(1, policy=THREE, guards={"bulkhead": bulkhead}, delay=delay)
        assert isinstance(raised.value.__context__, ConnectionError)
        assert bulkhead.running == 0
    with pytest.raises(TypeError, match="delay must be a function, not int"):
        holdoff.retry(delay=3)  # type: ignore[call-overload]


def test_statistics_of_the_process_and_of_one_operation(clock: VirtualTime) -> None:
    every, own = holdoff.telemetry.Statistics(), holdoff.telemetry.Statistics()
    hinted = holdoff.Failure("throttled", hint=7)
    holdoff.telemetry.listen(every)
    try:
        called(2, policy=THREE, name="search", **own.hooks)
        with pytest.raises(ConnectionError):
            called(9, policy=THREE, name="search", classify=lambda _: hinted, **own.hooks)
        awaited(0, policy=THREE, name="load", guards={"breaker": "consecutive"})
    finally:
        holdoff.telemetry.unlisten(every)
    search = {
        "attempts": 6,
        "retries": 4,
        "successes": 1,
        "give_ups": 1,
        "waited": 2 * 2.0 + 2 * 7.0,
        "kinds": {"transient": 2, "throttled": 2},
        "causes": {"backoff": 2, "hint": 2},
        "reasons": {"attempts": 1},
    }
    assert own.to_dict() == every.operations["search"].to_dict() == search
    load = {**dict.fromkeys(search, 0), "attempts": 1, "successes": 1, "kinds": {}, "causes": {}, "reasons": {}}
    assert every.to_dict() == {**search, "attempts": 7, "successes": 2, "operations": {"search": search, "load": load}}
    assert json.loads(json.dumps(every.to_dict())) == every.to_dict()
    every.reset()
    assert every.to_dict() == load | {"attempts": 0, "successes": 0}


def test_opentelemetry_gets_events_and_counts(clock: VirtualTime) -> None:
    reader, exporter, provider = InMemoryMetricReader(), InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    listener = holdoff.telemetry.listen(holdoff.telemetry.opentelemetry(MeterProvider([reader]).get_meter("test")))
    try:
        with provider.get_tracer("test").start_as_current_span("span"), pytest.raises(ConnectionError):
            called(9, policy=THREE, name="search")
        called(0, name="search")
    finally:
        holdoff.telemetry.unlisten(listener)
    events = exporter.get_finished_spans()[0].events
    assert [event.name for event in events] == ["holdoff.retry", "holdoff.retry", "holdoff.give_up"]
    assert events[2].attributes is not None
    assert events[2].attributes["holdoff.reason"] == "attempts"
    assert events[2].attributes["error.type"] == "ConnectionError"
    data: Any = reader.get_metrics_data()
    metrics = {metric.name: metric.data.data_points for metric in data.resource_metrics[0].scope_metrics[0].metrics}
    totals = {name: points[0].value for name, points in metrics.items() if name != "holdoff.delay"}
    assert totals == {"holdoff.attempts": 4, "holdoff.retries": 2, "holdoff.successes": 1, "holdoff.give_ups": 1}
    assert metrics["holdoff.delay"][0].sum == 4.0


def test_opentelemetry_counts_the_resends_of_a_wrapped_client(clock: VirtualTime) -> None:
    statuses = [503, 503, 200]
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    listener = holdoff.telemetry.listen(holdoff.telemetry.opentelemetry())
    inner = httpx.MockTransport(lambda _: httpx.Response(statuses.pop(0)))
    try:
        with provider.get_tracer("test").start_as_current_span("span"):
            holdoff.wrap(httpx.Client(transport=inner)).get("https://api.test/a?b=c")
    finally:
        holdoff.telemetry.unlisten(listener)
    events = exporter.get_finished_spans()[0].events
    resends = [(event.name, (event.attributes or {})["http.request.resend_count"]) for event in events]
    attempt, retry = "holdoff.attempt", "holdoff.retry"
    assert resends == [(attempt, 0), (retry, 0), (attempt, 1), (retry, 1), (attempt, 2)]
    for event in events:
        facts = dict(event.attributes or {})
        assert (facts["http.request.method"], facts["server.address"], facts["server.port"]) == ("GET", "api.test", 443)
        assert facts["holdoff.operation"] == "GET https://api.test:443"
        assert "b=c" not in str(facts)


def test_prometheus_gets_counts(clock: VirtualTime) -> None:
    registry = CollectorRegistry()
    listener = holdoff.telemetry.listen(holdoff.telemetry.prometheus(registry))
    try:
        with pytest.raises(ConnectionError):
            called(9, policy=THREE, name="search", guards={"breaker": {"failures": 3}})
    finally:
        holdoff.telemetry.unlisten(listener)
    labels = {"operation": "search"}
    changes = {"breaker": "search", "before": "closed", "after": "open"}
    assert registry.get_sample_value("holdoff_breaker_changes_total", changes) == 1
    assert registry.get_sample_value("holdoff_attempts_total", labels) == 3
    retries = {**labels, "kind": "transient", "cause": "backoff"}
    assert registry.get_sample_value("holdoff_retries_total", retries) == 2
    ends = {**labels, "kind": "transient", "reason": "attempts"}
    assert registry.get_sample_value("holdoff_give_ups_total", ends) == 1
    assert registry.get_sample_value("holdoff_delay_seconds_sum", labels) == 4


def test_a_sleep_of_ones_own() -> None:
    slept: list[float] = []
    holdoff.retry(failing(2), policy=THREE, sleep=slept.append)()
    for attempt in holdoff.attempts(THREE, sleep=slept.append):
        with attempt:
            if attempt.number == 1:
                raise ConnectionError

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    asyncio.run(holdoff.retry(awaiting(1), policy=THREE, sleep=sleep)())
    asyncio.run(holdoff.retry(awaiting(1), policy=THREE, sleep=slept.append)())
    assert slept == pytest.approx([2.0] * 5, abs=0.01)


class Silent(Exception):
    """An error whose texts cannot be had."""

    def __repr__(self) -> str:
        raise RuntimeError("repr")

    def __str__(self) -> str:
        raise RuntimeError("str")


class Rows:
    """A value whose repr does work, as that of a QuerySet of Django does."""

    def __repr__(self) -> str:
        raise RuntimeError("asks the database")


class Named:
    """A function whose name cannot be had."""

    def __getattr__(self, name: str) -> object:
        raise RuntimeError(name)

    def __call__(self) -> object:
        raise Silent


def block(function: Callable[[], Any]) -> None:
    for attempt in holdoff.attempts(THREE):
        with attempt:
            function()


WAYS: list[Any] = [
    lambda function: THREE.call(function),
    lambda function: holdoff.retry(policy=THREE)(function)(),
    lambda function: awaits(function),
    block,
]


def awaits(function: Callable[[], Any]) -> None:
    @THREE.retrying()
    async def awaited() -> Any:
        return function()

    async def ended() -> Silent | None:
        # The error must not be the task's own: asyncio asks for the repr of its tasks.
        try:
            await awaited()
        except Silent as error:
            return error
        return None

    error = asyncio.run(ended())
    if error is not None:
        raise error


@pytest.mark.parametrize("way", WAYS, ids=["call", "decorator", "async", "block"])
def test_an_error_without_texts_is_retried_and_comes_out(
    clock: VirtualTime, caplog: pytest.LogCaptureFixture, way: Any
) -> None:
    calls: list[int] = []
    error = Silent()

    def fails() -> None:
        calls.append(1)
        raise error

    shown: list[str] = []
    holdoff.telemetry.listen(lambda event: shown.append(repr(event)))
    try:
        with pytest.raises(Silent) as raised:
            way(fails)
    finally:
        holdoff._events.LISTENERS.clear()
        holdoff.telemetry.log(on=True)
    assert raised.value is error
    outcome = holdoff.outcome_of(error)
    assert outcome is not None
    assert (outcome.reason, outcome.attempts, len(calls)) == ("attempts", 3, 3)
    assert "Silent: <its text failed with RuntimeError>" in caplog.records[0].getMessage()
    assert any("Silent" in text for text in shown)


def test_a_function_without_a_name_and_a_value_without_a_repr_are_retried(
    clock: VirtualTime, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(Silent):
        THREE.call(Named())
    assert caplog.records[0].getMessage().startswith("Named: attempt 1 failed with Silent")
    assert isinstance(THREE.retrying(on_result=lambda _: True).call(Rows), Rows)
    assert "failed with Rows;" in caplog.records[-1].getMessage()


def test_the_log_shows_no_values_and_one_line_of_an_error(clock: VirtualTime, caplog: pytest.LogCaptureFixture) -> None:
    class Response:
        def __init__(self, status_code: int) -> None:
            self.status_code = status_code
            self.headers: dict[str, str] = {}

        def __repr__(self) -> str:
            return "<secret>"

    values = [{"access_token": "secret"}, "secret", Response(503), ["secret"] * 2000]
    for value in values:
        THREE.retrying(on_result=lambda _: True).call(lambda value=value: value)  # type: ignore[misc]

    def fails() -> None:
        raise OSError("one\nforged line \x1b[31m" + "x" * 10_000)

    with pytest.raises(OSError, match="one"):
        THREE.call(fails)
    messages = [record.getMessage() for record in caplog.records]
    assert not any("secret" in message for message in messages)
    shown = [message.split(" failed with ")[1].split(";")[0] for message in messages]
    assert shown[:8:2] == ["dict", "str", "Response with status 503", "list"]
    assert r"OSError: one\nforged line \x1b[31mxxx" in messages[-1]
    assert len(messages[-1]) < 400


def test_a_log_that_fails_does_not_replace_the_error(clock: VirtualTime, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)

    def broken(record: logging.LogRecord) -> bool:
        raise KeyError("a filter of the program")

    logger = logging.getLogger("holdoff")
    logger.addFilter(broken)
    try:
        with pytest.raises(ConnectionError):
            called(9, policy=THREE)
    finally:
        logger.removeFilter(broken)
    assert [type(one.exc_value) for one in told] == [KeyError] * 2


def test_a_logger_of_the_users_choice(clock: VirtualTime, caplog: pytest.LogCaptureFixture) -> None:
    lines: list[tuple[Any, Any]] = []

    class Structured:
        def warning(self, event: str, **fields: object) -> None:
            lines.append((event, fields))

    own = logging.getLogger("own")
    wrong: Any = 5
    with pytest.raises(TypeError, match="logger must have a method warning"):
        holdoff.telemetry.log(logger=wrong)
    try:
        assert holdoff.telemetry.log(logger=own)
        called(1, policy=THREE)
        assert [record.name for record in caplog.records] == ["own"]
        holdoff.telemetry.log(logger=Structured())
        called(1, policy=THREE)
        ((event, fields),) = lines
        assert (event, fields["attempt"], fields["failed"]) == ("holdoff.retry", 1, "ConnectionError: down")
    finally:
        holdoff.telemetry.log(logger=logging.getLogger("holdoff"))


UNASKED = """
import io, logging, contextlib, structlog, holdoff
from holdoff.testing import failing, virtual_time

logging.getLogger("holdoff").setLevel(logging.CRITICAL)
with virtual_time():
    holdoff.retry(failing(1, ConnectionError), backoff={"delays": [2]})()
"""


def test_an_import_of_structlog_changes_nothing() -> None:
    ran = subprocess.run([sys.executable, "-c", UNASKED], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
