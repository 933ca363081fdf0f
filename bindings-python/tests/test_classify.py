"""Which errors are retried, and as what."""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import urllib.error
from email.message import Message
from typing import Any

import holdoff
import httpx
import pytest
from holdoff.testing import virtual_time

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
            operation, attempts=2, hint={"max": "none"}, on_retry=lambda event: heard.append(event.failure), **options
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
