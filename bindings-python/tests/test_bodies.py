"""Bodies of requests that can be read once: the failure before comes out, and no empty body is sent."""

from __future__ import annotations

import asyncio
import io
from typing import TYPE_CHECKING, Any, cast

import holdoff
import httpx
import pytest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from holdoff.testing import VirtualTime

FIELDS: Any = {"attempts": 3, "backoff": {"kind": "constant", "delay": 1}}
pytestmark = pytest.mark.usefixtures("clock")


class Uploads(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """A server that is down, and the bodies that it got. httpx's own mock would keep the body for the next attempt."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    def answer(self, body: bytes) -> httpx.Response:
        self.bodies.append(body)
        return httpx.Response(503, request=httpx.Request("POST", "https://server.test"))

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self.answer(b"".join(cast("httpx.SyncByteStream", request.stream)))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return self.answer(b"".join([part async for part in cast("httpx.AsyncByteStream", request.stream)]))


def read(body: Any) -> bytes:
    return bytes(body.read()) if hasattr(body, "read") else b"".join(body)


def parts() -> Iterator[bytes]:
    yield b"one"
    yield b"two"


async def parts_later() -> AsyncIterator[bytes]:
    yield b"one"
    yield b"two"


def reason_of(ended: Any) -> tuple[str, int]:
    outcome = holdoff.outcome_of(ended)
    assert outcome is not None
    return outcome.reason, outcome.attempts


@pytest.mark.parametrize(
    "make", [parts, lambda: io.BytesIO(b"onetwo"), lambda: iter([b"onetwo"]), lambda: iter((b"onetwo",))]
)
@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize("guards", [{}, {"breaker": {}}, {"hedge": {"delay": "1h"}}])
def test_an_argument_that_was_read_is_not_sent_again(make: Any, by_name: bool, guards: Any) -> None:
    server = Uploads()

    @holdoff.retry(**FIELDS, **guards)
    def upload(_: str, body: Any) -> None:
        server.answer(read(body)).raise_for_status()

    with pytest.raises(httpx.HTTPStatusError) as raised:
        upload("name", body=make()) if by_name else upload("name", make())
    assert reason_of(raised.value) == ("body", 1)
    assert server.bodies == [b"onetwo"]


def test_a_file_that_was_read_is_not_sent_again(tmp_path: Path) -> None:
    (tmp_path / "body").write_bytes(b"onetwo")
    server = Uploads()

    @holdoff.retry(**FIELDS, on_result=True)
    def upload(body: Any) -> httpx.Response:
        return server.answer(read(body))

    @holdoff.retry(**FIELDS, on_result=True)
    def upload_from_the_start(body: Any) -> httpx.Response:
        body.seek(0)
        return server.answer(read(body))

    with (tmp_path / "body").open("rb") as body:
        assert reason_of(upload(body)) == ("body", 1)
        assert reason_of(upload_from_the_start(body)) == ("attempts", 3)
    assert server.bodies == [b"onetwo"] * 4


def test_what_is_no_used_body_is_retried(tmp_path: Path) -> None:
    body = parts()
    log = (tmp_path / "log").open("w+")
    log.write("a line")

    @holdoff.retry(**FIELDS)
    def work(*_: object, **__: object) -> None:
        raise ConnectionError("refused before a byte was read")

    with log, pytest.raises(ConnectionError) as raised:
        work(body, parts_later(), log, io.StringIO("text"), [b"one"], iter([1]), b"", None, body=io.BytesIO(b"one"))
    assert reason_of(raised.value) == ("attempts", 3)


@pytest.mark.parametrize("raises", [False, True])
@pytest.mark.parametrize("as_argument", [False, True])
def test_a_request_that_cannot_be_sent_again(raises: bool, as_argument: bool) -> None:
    server = Uploads()
    client = httpx.Client(transport=server)
    request = client.build_request("POST", "https://server.test", content=parts())

    @holdoff.retry(**FIELDS, on_result=not raises)
    def send(*given: httpx.Request) -> httpx.Response:
        answer = client.send(*(given or (request,)))
        return answer.raise_for_status() if raises else answer

    try:
        ended: Any = send(*((request,) if as_argument else ()))
    except httpx.HTTPStatusError as error:
        ended = error
    assert reason_of(ended) == ("body", 1 if as_argument else 2)
    assert isinstance(ended, httpx.HTTPStatusError if raises else httpx.Response)
    assert server.bodies == [b"onetwo"]


@pytest.mark.parametrize("raises", [False, True])
@pytest.mark.parametrize("as_argument", [False, True])
@pytest.mark.parametrize("guards", [{}, {"breaker": {}}, {"hedge": {"delay": "1h"}}])
def test_an_asynchronous_request_that_cannot_be_sent_again(raises: bool, as_argument: bool, guards: Any) -> None:
    server = Uploads()
    told: list[str] = []

    async def main() -> Any:
        async with httpx.AsyncClient(transport=server) as client:
            request = client.build_request("POST", "https://server.test", content=parts_later())

            async def tell(event: Any) -> None:
                told.append(event.reason)

            @holdoff.retry(**FIELDS, **guards, on_result=not raises, on_give_up=tell)
            async def send(*given: httpx.Request) -> httpx.Response:
                answer = await client.send(*(given or (request,)))
                return answer.raise_for_status() if raises else answer

            try:
                return await send(*((request,) if as_argument else ()))
            except httpx.HTTPStatusError as error:
                return error

    ended = asyncio.run(main())
    assert reason_of(ended) == ("body", 1 if as_argument else 2)
    assert isinstance(ended, httpx.HTTPStatusError if raises else httpx.Response)
    assert told == ["body"]
    assert server.bodies == [b"onetwo"]


def test_a_hedged_call_waits_for_the_attempt_that_has_the_body(clock: VirtualTime) -> None:
    read_by: list[bytes] = []

    @holdoff.retry(hedge={"delay": 1, "attempts": 3})
    async def upload(body: Any) -> bytes:
        read_by.append(b"".join([part async for part in body]))
        await clock.pause(5)
        return read_by[-1]

    assert asyncio.run(upload(parts_later())) == b"onetwo"
    assert read_by == [b"onetwo"]
