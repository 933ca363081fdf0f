"""Every client that `holdoff.wrap` takes, against a server that fails: how many requests it gets, and what comes out.

The expected values are rules: docs/fronts names them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import holdoff
import pytest
from fronts import FRONTS, Botocore, Front, GoogleAuth
from google.oauth2.credentials import Credentials

if TYPE_CHECKING:
    from scripted import Server

POLICY = holdoff.Policy(attempts=3, backoff={"initial": "5ms"}, budget="none")


@dataclass(frozen=True)
class Case:
    """A request, the steps of the server, and the number of requests, the status and the least time that must come."""

    name: str
    steps: str
    requests: int
    end: int | str
    method: str = "GET"
    body: str | None = None
    key: str | None = None
    after: float = 0.0
    reason: str | None = None


CASES = [
    Case("503 twice", "503 503 200", 3, 200),
    Case("503 for ever: the last answer comes back", "503", 3, 503, reason="attempts"),
    Case("404", "404", 1, 404, reason="permanent"),
    Case("Retry-After in seconds", "503;retry-after=1 200", 2, 200, after=0.99),
    Case("Retry-After as a date", "503;date=1 200", 2, 200, after=0.99),
    Case("retry-after-ms", "429;retry-after-ms=300 200", 2, 200, after=0.29),
    Case("RateLimit-Reset", "429;ratelimit-remaining=0;ratelimit-reset=1 200", 2, 200, after=0.99),
    Case("Retry-After of a year", "503;retry-after=31536000 200", 1, 503, reason="hint"),
    Case("x-should-retry: false", "503;x-should-retry=false 200", 1, 503, reason="permanent"),
    Case("x-should-retry: true", "409;x-should-retry=true 200", 2, 200),
    Case("reset before the answer", "reset 200", 2, 200),
    Case("closed before the answer", "fin 200", 2, 200),
    Case("reset behind the headers", "cut 200", 2, 200),
    Case("body shorter than its length", "short 200", 2, 200),
    Case("closed inside a chunk", "chunk 200", 2, 200),
    Case("body slower than the read timeout", "slow=0.4 200", 2, 200),
    Case("no answer in the read timeout", "mute=0.4 200", 2, 200),
    Case("JSON without a length", "open", 1, 200),
    Case("HEAD", "503 200", 2, 200, "HEAD"),
    Case("POST, 503", "503 200", 1, 503, "POST", "bytes"),
    Case("POST, 429", "429 200", 2, 200, "POST", "bytes"),
    Case("POST, 425", "425 200", 2, 200, "POST", "bytes"),
    Case("POST, reset", "reset 200", 1, "error", "POST", "bytes"),
    Case("POST with Idempotency-Key, 503", "503 200", 2, 200, "POST", "bytes", "k1"),
    Case("POST with Idempotency-Key, reset", "reset 200", 2, 200, "POST", "bytes", "k1"),
    Case("PATCH, 503", "503 200", 1, 503, "PATCH", "bytes"),
    Case("DELETE, 503", "503 200", 2, 200, "DELETE"),
    Case("PUT of bytes", "503 200", 2, 200, "PUT", "bytes"),
    Case("PUT of a file", "503 200", 2, 200, "PUT", "file"),
    Case("PUT of a file, reset", "reset 200", 2, 200, "PUT", "file"),
    Case("PUT of a file from its position", "503 200", 2, 200, "PUT", "offset"),
    Case("PUT of a stream", "503 503 200", 3, 200, "PUT", "stream"),
    Case("PUT of a stream, closed", "fin 200", 2, 200, "PUT", "stream"),
    Case("PUT of a stream above a megabyte", "503 200", 1, 503, "PUT", "long", reason="body"),
    Case("POST of a stream, 429", "429 200", 2, 200, "POST", "stream"),
]


PLAYED = [
    pytest.param(kind, case, id=f"{kind.name}-{case.name}")
    for kind in FRONTS
    for case in CASES
    # httpx 0.28 declares the length of the whole file, with and without holdoff.
    if (kind.name, case.body) != ("httpx", "offset")
]


@pytest.mark.parametrize(("kind", "case"), PLAYED)
def test_case(server: Server, kind: type[Front], case: Case) -> None:
    front = kind(policy=POLICY)
    url = server.script("case", case.steps)
    headers = {"Idempotency-Key": case.key} if case.key else {}
    began = time.monotonic()
    ended: object
    try:
        end: int | str = front.ask(case.method, url, case.body, headers)
        ended = front.last
    except front.errors as error:
        end, ended = "error", error
    took = time.monotonic() - began
    front.close()
    requests = server.requests("case")
    assert (len(requests), end) == (case.requests, case.end), ended
    assert case.after <= took < case.after + 1.7
    bodies = {request.body for request in requests if request.body is not None}
    if case.body not in (None, "long"):
        assert bodies <= {b"hello"}
    assert {request.headers.get("idempotency-key") for request in requests} == {case.key}
    outcome = holdoff.outcome_of(ended)
    if case.reason is not None:
        assert outcome is not None
        assert outcome.reason == case.reason
        assert holdoff.given_up(ended)
    if end == 200:
        assert outcome is None


@pytest.mark.parametrize("kind", FRONTS, ids=lambda kind: str(kind.name))
def test_redirect(server: Server, kind: type[Front]) -> None:
    front = kind(policy=POLICY)
    server.script("second", "503 200")
    assert front.ask("GET", server.script("first", "302;location=/second")) == 200
    front.close()
    assert [len(server.requests(name)) for name in ("first", "second")] == [1, 2]


@pytest.mark.parametrize("body", ["bytes", "file", "stream"])
@pytest.mark.parametrize("kind", FRONTS, ids=lambda kind: str(kind.name))
def test_redirect_of_a_body(server: Server, kind: type[Front], body: str) -> None:
    """A 307 sends the body on, and the retries behind it send it again. aiohttp refuses to send a generator on."""
    front = kind(policy=POLICY)
    server.script("second", "503 200")
    url = server.script("first", "307;location=/second")
    if (kind.name, body) == ("aiohttp", "stream"):
        with pytest.raises(front.errors):
            front.ask("PUT", url, body)
    else:
        assert front.ask("PUT", url, body) == 200
        assert [request.body for request in server.requests("second")] == [b"hello", b"hello"]
    front.close()


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("kind", FRONTS, ids=lambda kind: str(kind.name))
def test_kept_connection_is_reset(server: Server, kind: type[Front], method: str) -> None:
    front = kind(policy=POLICY)
    url = server.script("kept", "trap 200")
    assert front.ask("GET", url) == 200
    if method == "GET":
        assert front.ask("GET", url) == 200
        assert len(server.requests("kept")) == 3
    else:
        with pytest.raises(front.errors):
            front.ask("POST", url, "bytes")
        assert len(server.requests("kept")) == 2
    front.close()


@pytest.mark.parametrize("kind", FRONTS, ids=lambda kind: str(kind.name))
def test_nobody_listens(kind: type[Front]) -> None:
    """A POST that was never sent is retried, and nothing comes out but the client's own error."""
    front = kind(policy=POLICY)
    with pytest.raises(front.errors) as caught:
        front.ask("POST", "http://127.0.0.1:1/x", "bytes")
    front.close()
    outcome = holdoff.outcome_of(caught.value) or holdoff.outcome_of(caught.value.__cause__)
    assert outcome is not None
    assert (outcome.reason, outcome.attempts) == ("attempts", 3)


S3 = [
    Case("503 twice", "503 503 200", 3, 200),
    Case("503 for ever", "503", 3, 503, reason="attempts"),
    Case("404", "404", 1, 404, reason="permanent"),
    Case("Retry-After in seconds", "503;retry-after=1 200", 2, 200, after=0.99),
    Case("Retry-After of a year", "503;retry-after=31536000 200", 1, 503, reason="hint"),
    Case("reset before the answer", "reset 200", 2, 200),
    Case("closed before the answer", "fin 200", 2, 200),
    Case("body slower than the read timeout", "slow=0.4 200", 2, 200),
    Case("no answer in the read timeout", "mute=0.4 200", 2, 200),
    Case("POST, 503", "503 200", 1, 503, "POST"),
    Case("POST, 429", "429 200", 2, 200, "POST"),
    Case("POST, reset", "reset 200", 1, "error", "POST"),
    Case("PUT of bytes", "503 200", 2, 200, "PUT", "bytes"),
    Case("PUT of a file", "503 200", 2, 200, "PUT", "file"),
    Case("PUT of a file from its position", "503 200", 2, 200, "PUT", "offset"),
]
"""Operations of S3, whose answers botocore reads."""


@pytest.mark.parametrize("case", S3, ids=lambda case: str(case.name))
def test_operation(server: Server, case: Case) -> None:
    front = Botocore(server.origin, policy=POLICY)
    url = server.script("xml", case.steps)
    server.scripts["xml/key"] = server.scripts["xml"]
    began = time.monotonic()
    ended: object
    try:
        end: int | str = front.ask(case.method, url, case.body)
        ended = front.last
    except front.errors as error:
        end, ended = "error", error
    took = time.monotonic() - began
    front.close()
    requests = server.requests("xml")
    assert (len(requests), end) == (case.requests, case.end), ended
    assert case.after <= took < case.after + 1.7
    if case.body is not None:
        assert {request.body for request in requests} == {b"hello"}
    outcome = holdoff.outcome_of(ended)
    if case.reason is not None:
        assert outcome is not None
        assert outcome.reason == case.reason


class Renewed(Credentials):
    """Credentials whose token is another one after each renewal."""

    renewals = 0

    def refresh(self, request: object) -> None:
        self.renewals += 1
        self.token = f"token {self.renewals}"


def test_credentials_are_renewed(server: Server) -> None:
    """The loop of google-auth around the session goes on, and each of its requests is tried again."""
    front = GoogleAuth(policy=POLICY)
    front.client.credentials = Renewed(token="token 0")
    assert front.ask("GET", server.script("renewed", "503 401 503 200")) == 200
    front.close()
    tokens = [request.headers["authorization"] for request in server.requests("renewed")]
    assert tokens == ["Bearer token 0", "Bearer token 0", "Bearer token 1", "Bearer token 1"]
