"""The edges of wrapped clients: limits, cancellation, connections, guards, the options of a call, own retries."""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import threading
from typing import TYPE_CHECKING, Any

import h2.config
import h2.connection
import h2.errors
import h2.events
import holdoff
import httpx
import httpx2
import pytest
import urllib3
from front_tools import QUICK, each_asynchronous, each_blocking, each_front, opened, timed
from fronts import Front, Looped
from holdoff.testing import virtual_time

if TYPE_CHECKING:
    from scripted import Server


@pytest.mark.parametrize("steps", ["mute=5", "slow=5"])
@each_front
def test_deadline(server: Server, kind: type[Front], steps: str) -> None:
    """The deadline ends an attempt whose server is mute, or whose body does not end, whatever the client would wait."""
    with opened(kind(wait=5, attempts=5, deadline="400ms", **QUICK)) as front:
        url = server.script("slow", steps)
        took, ended = timed(lambda: front.ask("GET", url))
        assert isinstance(ended, front.errors)
        assert 0.39 <= took < 4
        assert len(server.requests("slow")) == 1


@each_front
def test_deadline_without_a_timeout_of_the_client(server: Server, kind: type[Front]) -> None:
    with opened(kind(wait=None, attempts=5, deadline="400ms", **QUICK)) as front:
        url = server.script("mute", "mute=5")
        took, ended = timed(lambda: front.ask("GET", url))
        assert isinstance(ended, front.errors)
        assert 0.39 <= took < 4


@each_front
def test_attempt_timeout(server: Server, kind: type[Front]) -> None:
    with opened(kind(wait=5, attempts=3, attempt_timeout="200ms", **QUICK)) as front:
        took, ended = timed(lambda: front.ask("GET", server.script("mute", "mute=5 200")))
        assert ended == 200
        assert 0.19 <= took < 4


@each_front
def test_redirects_are_inside_the_deadline(server: Server, kind: type[Front]) -> None:
    options: dict[str, Any] = {"backoff": {"kind": "constant", "delay": "200ms"}, "jitter": "none", "budget": "none"}
    with opened(kind(attempts=3, deadline="700ms", **options)) as front:
        server.script("hop2", "503 503 302;location=/hop3")
        server.script("hop3", "503")
        assert front.ask("GET", server.script("hop1", "503 503 302;location=/hop2")) == 503
        assert len(server.requests("hop1")) == 3
        assert len(server.requests("hop2")) + len(server.requests("hop3")) <= 2


@each_asynchronous
def test_cancelled_task(server: Server, kind: type[Looped]) -> None:
    sleeping = asyncio.Event()
    front = kind(attempts=3, on_retry=lambda _: sleeping.set(), **QUICK)
    url = server.script("later", "503;retry-after=30")

    async def go() -> None:
        asked = asyncio.ensure_future(front.client.get(url))
        await sleeping.wait()
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked

    with opened(front):
        took, ended = timed(lambda: front.loop.run(go()))
        assert ended is None
        assert took < 15
        assert len(server.requests("later")) == 1


@each_front
def test_one_connection_is_enough(server: Server, kind: type[Front]) -> None:
    with opened(kind(attempts=3, **QUICK)) as front:
        assert front.ask("GET", server.script("again", "503 503 200")) == 200
        assert len({request.connection for request in server.requests("again")}) == 1


def test_pool_of_one_connection(server: Server) -> None:
    """A refused answer gives its connection back before the next attempt, also when the caller reads bodies itself."""
    limits = httpx.Limits(max_connections=1)
    with holdoff.wrap(httpx.Client(limits=limits, timeout=1, trust_env=False), attempts=3, **QUICK) as client:
        with client.stream("GET", server.script("one", "503 503 200")) as answer:
            assert answer.status_code == 200
            assert answer.read() == b'{"status": 200}'
        assert len({request.connection for request in server.requests("one")}) == 1
    pool = holdoff.wrap(urllib3.PoolManager(maxsize=1, block=True, timeout=1), attempts=3, **QUICK)
    answer3 = pool.request("GET", server.script("one", "503 503 200"), preload_content=False)
    assert answer3.read() == b'{"status": 200}'
    assert len({request.connection for request in server.requests("one")}) == 1
    pool.clear()


@pytest.mark.parametrize("ends", ["close", "token of the client", "token of the call"])
@each_blocking
def test_what_ends_a_sleep(server: Server, kind: type[Front], ends: str) -> None:
    sleeping, tokens = threading.Event(), [holdoff.Cancel(), holdoff.Cancel()]
    front = kind(attempts=3, cancel=tokens[0], on_retry=lambda _: sleeping.set(), **QUICK)
    url = server.script("later", "503;retry-after=30")
    end = {"close": front.close, "token of the client": tokens[0].cancel, "token of the call": tokens[1].cancel}[ends]
    other = threading.Thread(target=lambda: sleeping.wait() and end())
    other.start()
    with holdoff.options(cancel=tokens[1]) if ends != "token of the client" else contextlib.nullcontext():
        took, ended = timed(lambda: front.ask("GET", url))
    other.join()
    assert took < 15
    assert isinstance(ended, holdoff.Cancelled)
    assert isinstance(ended, front.errors)
    assert len(server.requests("later")) == 1
    assert [token._wakers for token in tokens] == [{}, {}]
    front.close()


@pytest.mark.parametrize("ends", ["close", "token of the client", "token of the call"])
@each_asynchronous
def test_what_ends_an_asynchronous_sleep(server: Server, kind: type[Looped], ends: str) -> None:
    sleeping, tokens = asyncio.Event(), [holdoff.Cancel(), holdoff.Cancel()]
    front = kind(attempts=3, cancel=tokens[0], on_retry=lambda _: sleeping.set(), **QUICK)
    url = server.script("later", "503;retry-after=30")

    async def go() -> Any:
        with holdoff.options(cancel=tokens[1]) if ends != "token of the client" else contextlib.nullcontext():
            asked = asyncio.ensure_future(front.client.get(url))
        await sleeping.wait()
        if ends == "close":
            await (front.client.close() if hasattr(front.client, "close") else front.client.aclose())
        else:
            tokens[ends == "token of the call"].cancel()
        return (await asyncio.gather(asked, return_exceptions=True))[0]

    took, ended = timed(lambda: front.loop.run(go()))
    front.close()
    assert took < 15
    assert isinstance(ended, holdoff.Cancelled)
    assert isinstance(ended, front.errors)
    assert [token._wakers for token in tokens] == [{}, {}]


@each_front
def test_cancelled_token(server: Server, kind: type[Front]) -> None:
    token = holdoff.Cancel()
    with opened(kind(attempts=3, cancel=token, **QUICK)) as front:
        token.cancel()
        with pytest.raises(holdoff.Cancelled):
            front.ask("GET", server.script("never", "200"))
        assert not server.requests("never")


@each_front
def test_budget_of_an_origin(server: Server, kind: type[Front]) -> None:
    """While a server is down, the retries of all calls share a budget: without it there were 300 requests."""
    with virtual_time() as clock, opened(kind(backoff={"initial": "1ms"})) as front:
        url = server.script("down", "503")
        assert front.ask("GET", url) == 503
        # In the first second after the first failure every call may retry.
        clock.advance(1.1)
        for _ in range(100):
            assert front.ask("GET", url) == 503
        assert len(server.requests("down")) < 150


@each_front
def test_all_callers_obey_retry_after(server: Server, kind: type[Front]) -> None:
    with virtual_time() as clock, opened(kind(attempts=1, **QUICK)) as front:
        assert front.ask("GET", server.script("busy", "503;retry-after=10 200")) == 503
        assert clock.sleeps == []
        assert front.ask("GET", f"{server.origin}/busy") == 200
        assert sum(clock.sleeps) == pytest.approx(10, abs=0.1)


@pytest.mark.parametrize(("headers", "wait"), [(("10", "30"), 30), (("30", "10"), 10), (("10", "soon"), 10)])
@each_front
def test_two_headers_that_disagree(server: Server, kind: type[Front], headers: tuple[str, str], wait: float) -> None:
    """The last one that can be read counts (spec 8.8), whatever the client makes of two lines."""
    with virtual_time() as clock, opened(kind(attempts=2, **QUICK)) as front:
        steps = f"503;retry-after={headers[0]};retry-after={headers[1]} 200"
        assert front.ask("GET", server.script("busy", steps)) == 200
        assert sum(clock.sleeps) == pytest.approx(wait, abs=0.1)


@each_front
def test_a_pause_beyond_the_deadline(server: Server, kind: type[Front]) -> None:
    """A call whose deadline comes before the end of the pause ends at once, with an error of the client."""
    with opened(kind(attempts=1, deadline="20s", **QUICK)) as front:
        assert front.ask("GET", server.script("busy", "503;retry-after=50")) == 503
        took, ended = timed(lambda: front.ask("GET", f"{server.origin}/busy"))
        assert took < 15
        assert isinstance(ended, holdoff.Refused)
        assert isinstance(ended, front.errors)
        assert ended.reason == "hint"
        assert ended.retry_in is not None
        assert 20 < ended.retry_in <= 50
        assert len(server.requests("busy")) == 1


def test_origins_are_apart(server: Server) -> None:
    with virtual_time() as clock, holdoff.wrap(httpx.Client(trust_env=False), attempts=1, **QUICK) as client:
        assert client.get(server.script("busy", "503;retry-after=2")).status_code == 503
        assert server.script("other", "200")
        assert client.get(f"http://localhost:{server.port}/other").status_code == 200
        with holdoff.options(key="payments"):
            assert client.get(f"{server.origin}/other").status_code == 200
        assert clock.sleeps == []


@each_front
def test_refused_by_a_breaker(server: Server, kind: type[Front]) -> None:
    """The error of a refusal is one of holdoff and of the client."""
    with opened(kind(attempts=1, breaker={"failures": 2, "open_for": "30s"}, **QUICK)) as front:
        url = server.script("down", "503")
        for _ in range(2):
            assert front.ask("GET", url) == 503
        with pytest.raises(holdoff.Refused) as caught:
            front.ask("GET", url)
        assert isinstance(caught.value, front.errors)
        assert caught.value.reason == "breaker"
        assert caught.value.retry_in is not None
        assert holdoff.given_up(caught.value)
        assert len(server.requests("down")) == 2
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_bulkhead_and_limiter(server: Server) -> None:
    with holdoff.wrap(httpx.Client(trust_env=False), limiter={"limit": 1, "per": "10s"}, **QUICK) as client:
        url = server.script("limited", "200")
        assert client.get(url).status_code == 200
        with pytest.raises(holdoff.Refused, match=r".") as caught:
            client.get(url)
        assert caught.value.reason == "limiter"
    hosts = holdoff.KeyedGuards(bulkhead=1)
    begun, may_end = threading.Event(), threading.Event()

    def hold(_: object) -> None:
        begun.set()
        may_end.wait()

    with holdoff.wrap(httpx.Client(trust_env=False), guards=hosts, on_attempt=hold) as client:
        url = server.script("slow", "200")
        running = threading.Thread(target=client.get, args=(url,))
        running.start()
        begun.wait()
        with pytest.raises(holdoff.Refused):
            client.get(url)
        may_end.set()
        running.join()
    assert hosts.keys() == [server.origin]


class Http2:
    """A server of HTTP/2 that ends the first stream in some way, and answers the others."""

    def __init__(self, fault: str) -> None:
        self.fault = fault
        self.seen = 0
        self.loop = asyncio.new_event_loop()
        self.server = self.loop.run_until_complete(asyncio.start_server(self.serve, "127.0.0.1", 0))
        self.port = self.server.sockets[0].getsockname()[1]
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        peer.initiate_connection()
        writer.write(peer.data_to_send())
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(1 << 16):
                for event in peer.receive_data(data):
                    if isinstance(event, h2.events.StreamEnded):
                        assert event.stream_id is not None
                        self.answer(peer, event.stream_id)
                writer.write(peer.data_to_send())
        writer.close()

    def answer(self, peer: h2.connection.H2Connection, stream: int) -> None:
        self.seen += 1
        fault = self.fault if self.seen == 1 else ""
        if fault == "goaway":
            peer.close_connection(last_stream_id=0)
        elif fault:
            peer.reset_stream(stream, h2.errors.ErrorCodes[fault])
        else:
            peer.send_headers(stream, [(":status", "200"), ("content-length", "2")])
            peer.send_data(stream, b"ok", end_stream=True)

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.server.close()
        self.loop.run_until_complete(asyncio.sleep(0.01))
        self.loop.close()


@pytest.mark.parametrize("module", [httpx, httpx2], ids=["httpx", "httpx2"])
@pytest.mark.parametrize(
    ("fault", "method", "seen"),
    [
        ("REFUSED_STREAM", "GET", 2),
        ("REFUSED_STREAM", "POST", 2),
        ("goaway", "GET", 2),
        ("goaway", "POST", 2),
        ("INTERNAL_ERROR", "GET", 2),
        ("INTERNAL_ERROR", "POST", 1),
    ],
)
def test_http2(module: Any, fault: str, method: str, seen: int) -> None:
    """A request that the server has not begun is sent again, whatever its method."""
    server = Http2(fault)
    with holdoff.wrap(
        module.Client(http1=False, http2=True, trust_env=False, timeout=2), attempts=3, **QUICK
    ) as client:
        _, ended = timed(lambda: client.request(method, f"http://127.0.0.1:{server.port}/", content=b"x"))
    server.close()
    assert server.seen == seen
    assert (getattr(ended, "status_code", None) == 200) is (seen == 2)
