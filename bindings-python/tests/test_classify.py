"""Which errors are retried, and as what."""

from __future__ import annotations

import asyncio
import bdb
import builtins
import concurrent.futures
import email.utils
import enum
import errno
import json
import re
import socket
import sqlite3
import time
import unittest
import urllib.error
from datetime import datetime, timedelta, timezone
from email.message import Message
from typing import Any

import celery.exceptions
import click
import holdoff
import holdoff.classifiers
import holdoff.machines
import holdoff.types
import httpx
import psycopg
import pytest
import sqlalchemy.exc
from holdoff.testing import VirtualTime, virtual_time
from hypothesis import given, strategies as st

# Ruff and mypy read the tests as Python 3.10.
ExceptionGroup: Any = vars(builtins)["ExceptionGroup"]
REQUEST = httpx.Request("GET", "http://example.test/")


def status(code: int, **headers: str) -> httpx.HTTPStatusError:
    return httpx.HTTPStatusError("status", request=REQUEST, response=httpx.Response(code, headers=headers))


def taken_for(error: BaseException, **options: Any) -> holdoff.Failure | None:
    """The failure that this error is; None when it is permanent."""
    heard: list[holdoff.Failure] = []

    def operation() -> None:
        raise error

    with virtual_time(), pytest.raises(type(error)):
        holdoff.retry(
            operation,
            attempts=2,
            hint={"max": "none"},
            budget="none",
            on_retry=lambda event: heard.append(event.failure),
            **options,
        )()
    return heard[0] if heard else None


@pytest.mark.parametrize(
    "error",
    [
        AssertionError(),
        AttributeError(),
        ImportError(),
        IndexError(),
        KeyError(),
        MemoryError(),
        NameError(),
        NotImplementedError(),
        RecursionError(),
        SyntaxError(),
        TypeError(),
        UnicodeDecodeError("utf-8", b"", 0, 1, "reason"),
        ValueError(),
        ZeroDivisionError(),
        json.JSONDecodeError("msg", "doc", 0),
        concurrent.futures.CancelledError(),
        holdoff.Cancelled(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_programming_errors_are_not_retried_unless_asked_for(error: Exception) -> None:
    assert taken_for(error) is None
    if not isinstance(error, (holdoff.Cancelled, concurrent.futures.CancelledError)):
        assert taken_for(error, on=type(error)) == holdoff.Failure("transient")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(), GeneratorExit(), asyncio.CancelledError()])
def test_exits_and_interrupts_are_never_retried(error: BaseException) -> None:
    assert taken_for(error, on=lambda _: True) is None
    assert holdoff.outcome_of(error) is None


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ConnectionResetError(), "transient"),
        (OSError(), "transient"),
        (RuntimeError(), "transient"),
        (EOFError(), "transient"),
        (TimeoutError(), "timeout"),
        (asyncio.TimeoutError(), "timeout"),
        (httpx.ConnectError("refused"), "transient"),
        (httpx.ReadTimeout("slow"), "timeout"),
    ],
)
def test_other_errors_are_retried_by_their_kind(error: Exception, kind: Any) -> None:
    assert taken_for(error) == holdoff.Failure(kind)


def test_the_answer_of_a_server_decides() -> None:
    assert taken_for(status(404)) is None
    assert taken_for(status(500)) == holdoff.Failure("transient")
    assert taken_for(status(504)) == holdoff.Failure("timeout")
    assert taken_for(status(429, **{"Retry-After": "7"})) == holdoff.Failure("throttled", hint=7)
    assert taken_for(status(503, **{"retry-after": "soon"})) == holdoff.Failure("transient")
    assert taken_for(status(404), on=httpx.HTTPError) is None
    assert taken_for(status(503), on=httpx.HTTPError) == holdoff.Failure("transient")


def test_a_function_that_asks_for_it_is_obeyed() -> None:
    assert taken_for(status(404, **{"Retry-After": "2"}), on=lambda _: True) == holdoff.Failure("transient", hint="2s")
    assert taken_for(status(503), on=lambda _: False) is None


def test_the_errors_of_other_clients_are_understood() -> None:
    headers = Message()
    headers["Retry-After"] = "3"
    assert taken_for(urllib.error.HTTPError("url", 503, "busy", headers, None)) == holdoff.Failure("transient", hint=3)

    class AiohttpLike(Exception):
        status = 429
        headers = {"retry-after": "4"}  # noqa: RUF012

    class RequestsLike(OSError):
        response = None

    class Hostile(Exception):
        @property
        def response(self) -> None:
            raise RuntimeError

    assert taken_for(AiohttpLike()) == holdoff.Failure("throttled", hint=4)
    assert taken_for(RequestsLike()) == holdoff.Failure("transient")
    assert taken_for(Hostile()) == holdoff.Failure("transient")


def test_types_say_what_is_retried() -> None:
    assert taken_for(OSError(), on=ConnectionError) is None
    assert taken_for(ConnectionResetError(), on=ConnectionError) == holdoff.Failure("transient")
    assert taken_for(KeyError(), on=(OSError, LookupError)) == holdoff.Failure("transient")


def test_a_function_may_answer_with_a_failure_or_a_word() -> None:
    throttled = holdoff.Failure("throttled", hint="1s")
    assert taken_for(OSError(), on=lambda _: throttled) == throttled
    assert taken_for(OSError(), on=lambda _: "timeout") == holdoff.Failure("timeout")
    assert taken_for(OSError(), on=lambda _: holdoff.FailureKind.PERMANENT) is None
    assert taken_for(ValueError(), classify=lambda _: "transient") == holdoff.Failure("transient")
    assert taken_for(ValueError(), classify=lambda _: None) is None
    assert taken_for(OSError(), on=OSError, classify=lambda _: throttled) == throttled
    assert taken_for(OSError(), on=KeyError, classify=lambda _: throttled) is None


@pytest.mark.parametrize("options", [{"on": lambda _: 3}, {"on": lambda _: None}, {"classify": lambda _: True}])
def test_any_other_answer_is_an_error_of_the_program(options: Any) -> None:
    def operation() -> None:
        raise OSError

    with pytest.raises(TypeError) as raised:
        holdoff.retry(operation, **options)()
    assert isinstance(raised.value.__context__, OSError)


def test_an_unknown_word_is_explained() -> None:
    with pytest.raises(holdoff.ConfigError, match="must be one of transient, throttled, timeout, permanent"):
        holdoff.Failure("transeint")  # type: ignore[arg-type]


def test_all_hint_headers_count() -> None:
    assert taken_for(status(429, **{"retry-after-ms": "250"})) == holdoff.Failure("throttled", hint="250ms")
    quota = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "9"}
    assert taken_for(status(429, **quota)) == holdoff.Failure("throttled", hint=9)
    twice = httpx.Response(503, headers=[("Retry-After", "2"), ("Retry-After", "3")])
    error = httpx.HTTPStatusError("status", request=REQUEST, response=twice)
    assert taken_for(error) == holdoff.Failure("transient", hint=3)


@pytest.mark.parametrize("piece", [b",", b"1,", b"Mon,", b"Sun, 06 Nov 1994 08:49:37 GMX,", b"x", b" "])
def test_a_header_of_any_length_is_read_from_its_end(piece: bytes) -> None:
    line = piece * (10_000_000 // len(piece))
    began = time.process_time()
    assert holdoff.hint_of([("Retry-After", line + b", 7")], status=503) == 7_000_000_000
    for name in ("Retry-After", "RateLimit", "X-RateLimit-Reset", "grpc-retry-pushback-ms"):
        holdoff.hint_of([(name, line)], status=503)
    # 95 lines of 64 KB pass through requests.
    holdoff.http_failure(503, headers=[("Retry-After", line[:65_000])] * 95)
    assert time.process_time() - began < 1


def test_a_date_counts_from_the_date_of_the_answer() -> None:
    """A wrong clock of this machine does not matter, in whatever order the lines come."""
    ahead = datetime.now(timezone.utc) + timedelta(hours=2)
    said = [("Date", ahead), ("Retry-After", ahead + timedelta(seconds=2))]
    lines = [(name, email.utils.format_datetime(when, usegmt=True)) for name, when in said]
    for headers in (lines, lines[::-1]):
        assert holdoff.hint_of(headers) == 2_000_000_000
    assert taken_for(status(503, **dict(lines))) == holdoff.Failure("transient", hint=2)


def test_a_fraction_of_a_second_rounds_up_to_a_millisecond() -> None:
    for value, millis in (("0.503", 503), ("2.5", 2500), ("0.0001", 1)):
        assert holdoff.hint_of({"Retry-After": value}) == millis * 1_000_000


def test_a_date_is_held_against_the_clock_on_the_wall() -> None:
    date = email.utils.format_datetime(datetime.now(timezone.utc) + timedelta(seconds=90), usegmt=True)
    failure = taken_for(status(503, **{"Retry-After": date}))
    assert failure is not None
    assert isinstance(failure.hint, float)
    assert 80 < failure.hint < 91
    day = 86_400_000_000_000
    dated = [("retry-after", "Fri, 02 Jan 1970 00:00:10 GMT")]
    assert holdoff.hint_of(dated, wall_ns=day) == 10_000_000_000
    assert holdoff.hint_of(dated, wall_ns=holdoff.machines.NEVER) is None
    assert holdoff.hint_of(dated) == 0
    failure = holdoff.http_failure(503, headers=dated, wall_ns=day)
    assert failure == holdoff.http_failure(503, "Fri, 02 Jan 1970 00:00:10 GMT", wall_ns=day)
    assert failure == holdoff.Failure("transient", hint=10)


def test_headers_come_in_many_shapes() -> None:
    message = Message()
    message["Retry-After"] = "5"
    shapes: list[Any] = [
        {"Retry-After": "5"},
        {b"retry-after": b"5"},
        [("Retry-After", "5")],
        [["Retry-After", b"5"]],
        httpx.Headers({"Retry-After": "5"}),
        message,
        iter([("Retry-After", "5")]),
    ]
    for headers in shapes:
        assert holdoff.hint_of(headers) == 5_000_000_000
    assert holdoff.hint_of({}) is None
    assert holdoff.hint_of({"grpc-retry-pushback-ms": "-1"}) == "never"
    assert holdoff.hint_of({"X-RateLimit-Reset": "5"}, status=500) is None
    wrong: Any
    for wrong in (3, {"a": 1}, ["ab", 3]):
        with pytest.raises((TypeError, LookupError)):
            holdoff.hint_of(wrong)
    with pytest.raises(TypeError):
        holdoff.http_failure(503, "5", headers={})


def test_a_client_with_strange_headers_is_still_a_client() -> None:
    class Strange(Exception):
        status = 503
        headers = 7

    assert taken_for(Strange()) == holdoff.Failure("transient")


class StatusCode(enum.Enum):
    """As grpc has it."""

    OK = (0, "ok")
    RESOURCE_EXHAUSTED = (8, "resource exhausted")
    UNAVAILABLE = (14, "unavailable")
    ABORTED = (10, "aborted")


class RpcError(Exception):
    """As grpc has it: code and metadata are methods."""

    def __init__(self, code: StatusCode, *metadata: tuple[str, str]) -> None:
        super().__init__()
        self._code, self._metadata = code, metadata

    def code(self) -> StatusCode:
        return self._code

    def trailing_metadata(self) -> tuple[tuple[str, str], ...]:
        return self._metadata


def test_the_end_of_a_grpc_call_decides() -> None:
    assert taken_for(RpcError(StatusCode.UNAVAILABLE)) == holdoff.Failure("transient")
    assert taken_for(RpcError(StatusCode.ABORTED)) is None
    pushed = RpcError(StatusCode.UNAVAILABLE, ("retry-after", "9"), ("grpc-retry-pushback-ms", "30"))
    assert taken_for(pushed) == holdoff.Failure("transient", hint="30ms")
    assert taken_for(RpcError(StatusCode.UNAVAILABLE, ("grpc-retry-pushback-ms", "-1"))) is None

    class ApiCoreLike(Exception):
        grpc_status_code = StatusCode.UNAVAILABLE
        response = pushed

    class HalfAnRpcError(RpcError):
        def code(self) -> Any:
            return None

    assert taken_for(ApiCoreLike()) == holdoff.Failure("transient", hint="30ms")
    assert taken_for(HalfAnRpcError(StatusCode.OK)) == holdoff.Failure("transient")


def test_a_grpc_failure_is_made_of_a_code_and_a_pushback() -> None:
    for code in (14, "UNAVAILABLE", "unavailable", StatusCode.UNAVAILABLE):
        assert holdoff.grpc_failure(code, "5") == holdoff.Failure("transient", hint="5ms")
    assert holdoff.grpc_failure(0) is None
    assert holdoff.grpc_failure(99) == holdoff.grpc_failure("WHAT") == holdoff.Failure("permanent")
    assert holdoff.grpc_failure(8, b"-1") == holdoff.Failure("throttled", hint="never")
    with pytest.raises(TypeError):
        holdoff.grpc_failure(1.5)


def test_botocore_is_understood() -> None:
    class ClientError(Exception):
        response = {  # noqa: RUF012
            "ResponseMetadata": {"HTTPStatusCode": 503, "HTTPHeaders": {"x-amz-retry-after": "1500"}}
        }

    assert taken_for(ClientError()) == holdoff.Failure("transient", hint=1.5)


def only(*conditions: Any) -> Any:
    """Rules that retry these errors and no others."""
    return [{"if": list(conditions), "retry": True}, {"if": {}, "retry": False}]


def test_rules_of_the_policy_stand_above_the_default() -> None:
    rules = only({"http": [404, "5xx"]}, {"grpc": ["ABORTED"]}, {"patterns": ["try again"]})
    assert taken_for(status(404), rules=rules) == holdoff.Failure("transient")
    assert taken_for(status(429), rules=rules) is None
    assert taken_for(RpcError(StatusCode.ABORTED), rules=rules) == holdoff.Failure("transient")
    assert taken_for(OSError("please try again"), rules=rules) == holdoff.Failure("transient")
    assert taken_for(OSError("no"), rules=rules) is None
    assert taken_for(OSError("no"), rules=only({"patterns": []})) is None
    assert taken_for(OSError("no"), rules=[{"if": {"http": [404]}, "retry": True}]) == holdoff.Failure("transient")


def test_what_the_functions_of_the_user_say_stands_above_the_rules() -> None:
    rules = only({"patterns": ["again"]})
    assert taken_for(OSError("no"), rules=rules, on=lambda _: True) == holdoff.Failure("transient")
    assert taken_for(OSError("again"), rules=rules, on=lambda _: False) is None
    assert taken_for(OSError("no"), rules=rules, classify=lambda _: "timeout") == holdoff.Failure("timeout")
    assert taken_for(OSError("again"), rules=rules, on=KeyError) is None
    assert taken_for(ValueError("again"), rules=rules) is None
    assert taken_for(ValueError("again"), rules=rules, on=ValueError) == holdoff.Failure("transient")


class Declined(Exception):
    """An error of the program's own."""


class CardDeclined(Declined):
    """One that derives from it."""


def test_a_rule_names_the_class_of_an_error_or_one_it_derives_from() -> None:
    assert taken_for(CardDeclined(), rules=[{"if": {"types": ["CardDeclined"]}, "retry": False}]) is None
    assert taken_for(CardDeclined(), rules=[{"if": {"types": ["Declined"]}, "retry": False}]) is None
    assert taken_for(Declined(), rules=[{"if": {"types": ["CardDeclined"]}, "retry": False}]) is not None
    assert taken_for(ConnectionResetError(), rules=[{"if": {"types": ["OSError"]}, "retry": False}]) is None
    assert taken_for(httpx.ReadTimeout("slow"), rules=only({"types": ["TransportError"]})) == holdoff.Failure("timeout")


def test_a_programming_error_is_retried_only_by_a_rule_that_names_its_class() -> None:
    assert taken_for(ValueError(), rules=[{"if": {"types": ["ValueError"]}, "retry": True}]) is not None
    assert taken_for(KeyError(), rules=[{"if": {"types": ["LookupError"]}, "retry": True}]) is not None
    assert taken_for(ValueError(), rules=[{"if": {"types": ["KeyError"]}, "retry": True}]) is None
    assert taken_for(ValueError(), rules=[{"if": {"types": ["ValueError"]}, "attempts": 5}]) is None
    assert taken_for(ValueError(), rules=[{"if": {}, "retry": True}]) is None


def test_a_rule_names_codes_of_errors() -> None:
    class PostgresError(Exception):
        sqlstate = "40001"

    class ClientError(Exception):
        code = "rate_limited"

    class BotoError(Exception):
        response = {"Error": {"Code": "Throttling"}}  # noqa: RUF012

    class Wrapped(Exception):
        def __init__(self, orig: Exception) -> None:
            super().__init__()
            self.orig = orig

    reset = OSError(errno.ECONNRESET, "reset")
    for error, code in (
        (reset, "ECONNRESET"),
        (PostgresError(), "40001"),
        (ClientError(), "rate_limited"),
        (BotoError(), "Throttling"),
        (Wrapped(PostgresError()), "40001"),
        (Wrapped(Wrapped(reset)), "ECONNRESET"),
    ):
        assert taken_for(error, rules=[{"if": {"codes": [code, "EPIPE"]}, "retry": False}]) is None
        assert taken_for(error, rules=[{"if": {"codes": ["EPIPE"]}, "retry": False}]) is not None


def test_the_first_rule_that_holds_takes_the_failure() -> None:
    rules: Any = [{"if": {"http": [503]}, "attempts": 4}, {"if": {"kinds": ["transient"]}, "attempts": 2}]
    heard: list[int | None] = []
    policy = holdoff.Policy(attempts=2, rules=rules)

    def operation(errors: list[Exception]) -> None:
        raise errors.pop(0)

    errors: list[Exception] = [status(503), status(503), OSError(), status(503), status(429), status(504)]
    with virtual_time(), pytest.raises(httpx.HTTPStatusError) as raised:
        policy.retrying(on_retry=lambda event: heard.append(event.failure.rule)).call(operation, errors)
    assert heard == [1, 1, 2, 1, None]
    assert raised.value.response.status_code == 504
    assert holdoff.Failure("timeout", rule=2).rule == 2
    assert holdoff.Failure("timeout").rule is None


def test_an_operation_that_may_not_run_twice_is_retried_after_what_is_safe() -> None:
    once: Any = {"idempotent": False}
    unsafe: list[Exception] = [OSError("reset"), TimeoutError(), status(503), status(504), httpx.ReadTimeout("slow")]
    for error in unsafe:
        assert taken_for(error) is not None
        assert taken_for(error, **once) is None
    for error in (
        status(429),
        ConnectionRefusedError(),
        socket.gaierror(socket.EAI_NONAME, "no such name"),
        httpx.ConnectError("refused"),
        httpx.PoolTimeout("full"),
        RpcError(StatusCode.RESOURCE_EXHAUSTED),
    ):
        assert taken_for(error, **once) is not None
    rules: Any = [{"if": {"idempotent": False, "http": [503]}, "retry": True}]
    assert taken_for(status(503), rules=rules, **once) == holdoff.Failure("transient")
    assert taken_for(status(500), rules=rules, **once) is None
    assert taken_for(status(503), rules=[{"if": {"http": [503]}, "retry": True}], **once) is None


def test_a_refused_connection_is_known_behind_the_errors_of_clients() -> None:
    class Outer(Exception):
        """As urllib3 and requests wrap errors."""

    def caused(error: Exception, by: Exception) -> Exception:
        error.__cause__ = by
        return error

    refused = ConnectionRefusedError(errno.ECONNREFUSED, "refused")
    in_the_way = Outer()
    in_the_way.__context__ = refused
    for error in (urllib.error.URLError(refused), caused(Outer(), refused), Outer(caused(Outer(), refused))):
        assert taken_for(error, idempotent=False) is not None
        assert taken_for(error, rules=[{"if": {"unsent": True}, "retry": False}]) is None
    # An error that came up while another one was handled is not its consequence.
    assert taken_for(in_the_way, idempotent=False) is None


def test_what_a_server_says_about_retries_comes_before_the_rules() -> None:
    no, yes = {"x-should-retry": "false"}, {"X-Should-Retry": "true"}
    assert taken_for(status(429, **no)) is None
    assert taken_for(status(429, **no), rules=only({"http": [429]})) is None
    assert taken_for(status(404, **yes)) == holdoff.Failure("transient")
    assert taken_for(status(404, **yes), rules=[{"if": {"http": [404]}, "retry": False}]) is None
    assert taken_for(status(404, **yes), idempotent=False) is None
    assert taken_for(status(404, **{"x-should-retry": "perhaps"})) is None


def test_an_attempt_aborted_at_its_limit_is_judged_too() -> None:
    calls = 0

    async def hangs() -> None:
        nonlocal calls
        calls += 1
        await asyncio.sleep(60)

    fast: Any = {"attempts": 2, "attempt_timeout": "1ms", "backoff": {"kind": "constant", "delay": 0}}
    again: Any = [{"if": {"kinds": ["timeout"], "idempotent": False}, "retry": True}]
    for options, made in (({}, 2), ({"idempotent": False}, 3), ({"idempotent": False, "rules": again}, 5)):
        with pytest.raises(TimeoutError):
            asyncio.run(holdoff.retry(hangs, **fast, **options)())
        assert calls == made


def test_the_text_of_an_error_is_made_only_where_it_is_looked_at() -> None:
    class Silent(OSError):
        def __str__(self) -> str:
            raise RuntimeError

    assert taken_for(Silent(), rules=[{"if": {"http": [404]}, "retry": True}]) == holdoff.Failure("transient")
    assert taken_for(Silent(), rules=only({"patterns": ["x"]})) is None
    assert taken_for(Silent(), rules=only({"patterns": [""]})) == holdoff.Failure("transient")


def test_a_policy_judges_a_failure() -> None:
    policy = holdoff.Policy(
        rules=[
            {"if": [{"http": [404]}, {"grpc": [10]}], "retry": True},
            {"if": {"codes": ["EPIPE"], "types": ["OSError"], "unsent": True}, "retry": True},
        ]
    )
    permanent = holdoff.Failure("permanent", hint=3)
    assert policy.judge(permanent, http=404) == holdoff.Failure("transient", hint=3)
    assert policy.judge(permanent, grpc="ABORTED") == policy.judge(permanent, grpc=StatusCode.ABORTED)
    assert policy.judge(permanent, http=404, idempotent=False) == permanent
    assert policy.judge(permanent, codes=["EPIPE"], types=["OSError"], unsent=True).rule == 2
    assert policy.judge(permanent, codes=["EPIPE"], types=["OSError"]) == permanent
    assert policy.judge(permanent, http=404, should_retry=False) == permanent
    assert policy.judge(permanent, should_retry=True).kind == "transient"
    assert policy.judge(permanent, http=404, program_fault=True) == permanent
    assert policy.judge(holdoff.Failure("throttled"), idempotent=False).kind == "throttled"
    assert holdoff.Policy().judge(permanent, http=404) == permanent
    listed = holdoff.Policy(rules=[{"if": {"http": [202]}, "retry": True}])
    assert [listed.is_failure(status) for status in (200, 202, 400)] == [
        False,
        True,
        True,
    ]
    assert not holdoff.Policy().is_failure(202)


@given(st.lists(st.tuples(st.binary(max_size=20), st.binary(max_size=40))), st.integers(0, holdoff.machines.NEVER))
def test_no_headers_are_too_much(lines: list[tuple[bytes, bytes]], wall: int) -> None:
    hint = holdoff.hint_of(lines, wall_ns=wall)
    assert hint is None or hint == "never" or 0 <= hint < 2**63


def of_library(package: str, name: str, *bases: type[Exception]) -> Exception:
    """An error of a class that looks like that of a library."""
    kind: type[Exception] = type(name, bases or (Exception,), {"__module__": f"{package}.errors"})
    return kind("of a library")


CONTROL_FLOW = [
    of_library("langgraph", "GraphInterrupt", type(of_library("langgraph", "GraphBubbleUp"))),
    celery.exceptions.Retry(),
    celery.exceptions.Ignore(),
    celery.exceptions.Reject(),
    click.exceptions.Exit(),
    click.Abort(),
    unittest.SkipTest("not here"),
    bdb.BdbQuit(),
    of_library("procrastinate", "JobAborted"),
]


@pytest.mark.parametrize("error", CONTROL_FLOW, ids=lambda error: type(error).__name__)
def test_control_flow_of_libraries_is_no_failure(error: Exception) -> None:
    calls, told = 0, list[object]()
    breaker = holdoff.Breaker(failures=1)
    policy = holdoff.Policy(attempts=3)

    def operation() -> None:
        nonlocal calls
        calls += 1
        raise error

    async def awaited() -> None:
        operation()

    options: Any = {"on_give_up": told.append, "fallback": lambda _: "instead", "guards": {"breaker": breaker}}
    ons: list[Any] = [None, Exception, lambda _: True]
    for on in ons:
        caller = policy.retrying(on=on, **options)
        with pytest.raises(type(error)):
            caller.call(operation)
        with pytest.raises(type(error)):
            asyncio.run(caller.call(awaited))
        with pytest.raises(type(error)):
            for attempt in holdoff.attempts(policy, on=on, guards={"breaker": breaker}):
                with attempt:
                    operation()
        assert caller.failure_of(error) is None
    assert (calls, told, holdoff.outcome_of(error)) == (9, [], None)
    assert breaker.state() == "closed"
    assert taken_for(ExceptionGroup("several", [ConnectionError(), error])) is None


def test_control_flow_is_retried_when_its_class_is_asked_for() -> None:
    assert taken_for(click.Abort(), on=click.Abort) == holdoff.Failure("transient")
    assert taken_for(click.Abort(), on=(OSError, RuntimeError)) is None


def test_classes_are_registered_by_their_users() -> None:
    class Throttled(ConnectionError):
        seconds = 3.0

    class Stop(Throttled):
        pass

    named = of_library("somewhere", "Busy")
    try:
        holdoff.classifiers.register(Throttled, lambda error: holdoff.Failure("throttled", hint=error.seconds))
        holdoff.classifiers.register(Stop, "control_flow")
        holdoff.classifiers.register("somewhere.Busy", "timeout")
        holdoff.classifiers.register(ConnectionResetError, "permanent")
        assert taken_for(Throttled()) == holdoff.Failure("throttled", hint=3)
        assert taken_for(Throttled(), classify=lambda _: "timeout") == holdoff.Failure("timeout")
        assert taken_for(Stop()) is None
        assert taken_for(named) == holdoff.Failure("timeout")
        assert taken_for(ConnectionResetError()) is None
        assert taken_for(ConnectionRefusedError()) == holdoff.Failure("transient")
    finally:
        for error in (Throttled, Stop, "somewhere.Busy", ConnectionResetError):
            holdoff.classifiers.forget(error)
    # The client table knows the name.
    assert taken_for(Throttled()) == holdoff.Failure("throttled")
    assert taken_for(ConnectionResetError()) == holdoff.Failure("transient")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((KeyboardInterrupt, "permanent"), "takes a class of Exception or its name, not <class 'KeyboardInterrupt'>"),
        (("Busy", "permanent"), "takes a name such as 'package.Class', not 'Busy'"),
        ((OSError, "permanet"), "must be one of transient, throttled, timeout, permanent"),
        ((OSError, 3), "takes a Failure, a kind, 'control_flow' or a function, not 3"),
    ],
)
def test_a_mistake_in_a_registration_is_explained(arguments: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        holdoff.classifiers.register(*arguments)


@pytest.mark.parametrize(
    "error",
    [
        FileNotFoundError(),
        PermissionError(),
        IsADirectoryError(),
        NotADirectoryError(),
        sqlite3.IntegrityError(),
        psycopg.errors.UniqueViolation(),
        sqlalchemy.exc.IntegrityError("insert", {}, sqlite3.IntegrityError()),
        httpx.InvalidURL("no address"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_that_come_back_each_time_are_permanent(error: Exception) -> None:
    assert taken_for(error) is None
    assert taken_for(error, on=(OSError, sqlite3.Error, psycopg.Error, sqlalchemy.exc.DBAPIError)) is None
    assert taken_for(error, on=type(error)) == holdoff.Failure("transient")
    assert taken_for(error, on=lambda _: True) == holdoff.Failure("transient")


def test_a_group_is_what_all_of_its_errors_are() -> None:
    def group(*errors: Exception) -> Any:
        return ExceptionGroup("several", errors)

    assert taken_for(group(ValueError(), ValueError())) is None
    assert taken_for(group(ConnectionError(), ValueError())) is None
    assert taken_for(group(ConnectionError(), OSError())) == holdoff.Failure("transient")
    assert taken_for(group(OSError(), TimeoutError())) == holdoff.Failure("timeout")
    throttled = status(429, **{"Retry-After": "7"})
    assert taken_for(group(OSError(), group(throttled))) == holdoff.Failure("throttled", hint=7)
    assert taken_for(group(ConnectionError(), BrokenPipeError()), on=OSError) == holdoff.Failure("transient")
    assert taken_for(group(ConnectionError(), RuntimeError()), on=OSError) is None
    assert taken_for(group(ValueError()), on=ExceptionGroup) == holdoff.Failure("transient")
    assert taken_for(group(ValueError()), on=lambda _: True) == holdoff.Failure("transient")
    deep: Any = OSError()
    for _ in range(20_000):
        deep = group(deep)
    assert taken_for(deep) == holdoff.Failure("transient")


def test_the_error_of_a_server_of_ones_own_is_judged_by_its_status() -> None:
    class HTTPException(Exception):
        """As Starlette and FastAPI have it."""

        def __init__(self, status_code: int, headers: dict[str, str] | None = None) -> None:
            self.status_code, self.headers = status_code, headers

    assert taken_for(HTTPException(404)) is None
    assert taken_for(HTTPException(503)) == holdoff.Failure("transient")
    assert taken_for(HTTPException(429, {"Retry-After": "2"})) == holdoff.Failure("throttled", hint=2)


def test_a_refusal_inside_is_throttled_until_the_guard_lets_calls_through(clock: VirtualTime) -> None:
    breaker = holdoff.Breaker(failures=1, open_for=2)
    inner = holdoff.Policy(attempts=1).retrying(guards={"breaker": breaker})
    assert taken_for(OSError()) is not None
    refusals: list[holdoff.RetryEvent] = []

    @holdoff.retry(attempts=3, on_retry=refusals.append)
    def outer() -> str:
        return inner.call(answers)

    def answers() -> str:
        return "answer"

    breaker.record(breaker.acquire() or 0, failed=True)
    assert outer() == "answer"
    assert [refusal.failure.kind for refusal in refusals] == ["throttled"]
    assert clock.now == pytest.approx(2, abs=0.2)
