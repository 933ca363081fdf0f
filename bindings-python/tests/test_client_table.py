"""Errors of clients, judged by the client table along their causes; tests/clients plays them with the clients."""

from __future__ import annotations

import concurrent.futures
import errno
import smtplib
import sqlite3
import ssl
import sys
import urllib.error
from types import SimpleNamespace
from typing import Any

import holdoff
import httpx
import psycopg
import pytest


def caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


def aws(code: str, status: int = 400) -> Exception:
    error: Any = type("ClientError", (Exception,), {})(code)
    headers = {"x-amz-retry-after": "250"} if code == "SlowDown" else {}
    error.response = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status, "HTTPHeaders": headers}}
    made: Exception = error
    return made


CERTIFICATE = ssl.SSLCertVerificationError("certificate verify failed")


@pytest.mark.parametrize(
    ("error", "kind", "again"),
    [
        (caused(httpx.ConnectError("no"), CERTIFICATE), "permanent", False),
        (caused(ConnectionError("no"), CERTIFICATE), "permanent", False),
        (urllib.error.URLError(CERTIFICATE), "permanent", False),
        (urllib.error.URLError("unknown url type: gopher"), "permanent", False),
        (urllib.error.URLError(TimeoutError("timed out")), "timeout", False),
        (caused(RuntimeError("wrapped"), httpx.ReadTimeout("slow")), "timeout", False),
        (caused(RuntimeError("wrapped"), httpx.ConnectTimeout("slow")), "timeout", True),
        (httpx.TooManyRedirects("many"), "permanent", False),
        (httpx.DecodingError("gzip"), "permanent", False),
        (httpx.UnsupportedProtocol("gopher"), "permanent", False),
        (httpx.ProxyError("502 Bad Gateway"), "transient", True),
        (httpx.RemoteProtocolError("<StreamReset stream_id:1, error_code:7, remote_reset:True>"), "transient", True),
        (httpx.RemoteProtocolError("<StreamReset stream_id:1, error_code:2, remote_reset:True>"), "transient", False),
        (OSError(errno.EHOSTUNREACH, "No route to host"), "transient", True),
        (OSError("Multiple exceptions: [Errno 111] Connect call failed ('::1', 1, 0, 0)"), "transient", True),
        (ConnectionRefusedError(), "transient", True),
        (ConnectionResetError(), "transient", False),
        (psycopg.OperationalError("connection failed: Connection refused"), "transient", True),
        (psycopg.errors.SerializationFailure("again"), "transient", False),
        (psycopg.errors.InvalidPassword("no"), "permanent", False),
        (psycopg.errors.UndefinedTable("no"), "permanent", False),
        (sqlite3.ProgrammingError("closed"), "permanent", False),
        (smtplib.SMTPAuthenticationError(535, b"no"), "permanent", False),
        (smtplib.SMTPDataError(550, b"no"), "permanent", False),
        (smtplib.SMTPDataError(451, b"later"), "transient", False),
        (smtplib.SMTPRecipientsRefused({"a": (550, b"no"), "b": (450, b"later")}), "transient", False),
        (aws("ThrottlingException"), "throttled", True),
        (aws("ProvisionedThroughputExceededException"), "throttled", True),
        (aws("SlowDown", 503), "throttled", True),
        (aws("RequestTimeout"), "timeout", False),
        (aws("ResourceNotFoundException"), "permanent", False),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else str(value),
)
def test_an_error_is_known_by_its_names_its_codes_and_its_causes(error: Exception, kind: str, again: bool) -> None:
    judged = holdoff.Retrying().failure_of(error)
    assert judged is not None
    assert judged.kind == kind
    careful = holdoff.Retrying(idempotent=False).failure_of(error)
    assert careful is not None
    assert careful.kind == (kind if again else "permanent")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="sqlite3 has names of errors from 3.11 on")
def test_a_statement_that_sqlite_refuses_comes_again_and_a_lock_goes() -> None:
    with pytest.raises(sqlite3.OperationalError, match="no such table") as raised:
        sqlite3.connect(":memory:").execute("select * from nowhere")
    assert holdoff.Retrying().failure_of(raised.value) == holdoff.Failure("permanent")
    locked: Any = sqlite3.OperationalError("database is locked")
    locked.sqlite_errorname = "SQLITE_BUSY"
    assert holdoff.Retrying().failure_of(locked) == holdoff.Failure("transient")


@pytest.mark.parametrize("error", [concurrent.futures.CancelledError(), holdoff.Cancelled()])
def test_a_cancellation_is_no_failure(error: Exception) -> None:
    breaker = holdoff.Guards(breaker={"failures": 1})

    def cancelled() -> None:
        raise error

    with pytest.raises(type(error)):
        holdoff.Retrying(guards=breaker).call(cancelled)
    assert holdoff.outcome_of(error) is None
    assert breaker.breaker is not None
    assert breaker.breaker.state() == "closed"


def test_a_proxy_that_raises_in_its_attributes_is_judged_without_them() -> None:
    class Hostile(Exception):
        def __str__(self) -> str:
            raise SystemError

        @property
        def response(self) -> object:
            raise KeyError

        @property
        def code(self) -> object:
            return SimpleNamespace(name=3)

    assert holdoff.Retrying().failure_of(Hostile()) == holdoff.Failure("transient")
