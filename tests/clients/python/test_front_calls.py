"""How clients are wrapped, with what options, and what becomes of bodies, own retries, copies and events."""

from __future__ import annotations

import asyncio
import copy
import logging
import os
import pickle
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import aiohttp
import botocore.exceptions
import fronts
import holdoff
import httpx
import httpx2
import pytest
import requests
import urllib3
from front_tools import QUICK, each_blocking, each_front, opened
from fronts import FRONTS, Botocore, Front
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scripted import Server


@each_front
def test_wrapping_twice_is_wrapping_once(server: Server, kind: type[Front]) -> None:
    with opened(kind(attempts=3, **QUICK)) as front:
        assert holdoff.wrap(front.client) is front.client
        assert front.ask("GET", server.script("down", "503")) == 503
        assert len(server.requests("down")) == 3
        holdoff.wrap(front.client, attempts=2, **QUICK)
        assert front.ask("GET", server.script("down", "503")) == 503
        assert len(server.requests("down")) == 2
        assert holdoff.unwrap(front.client) is front.client
        assert holdoff.unwrap(front.client) is front.client
        assert front.ask("GET", server.script("down", "503")) == 503
        assert len(server.requests("down")) == 1


@each_front
def test_wrapped_clients_are_collected(kind: type[Front]) -> None:
    import gc
    import weakref

    front = kind(attempts=3)
    front.close()
    client = weakref.ref(front.client)
    del front
    gc.collect()
    assert client() is None


@each_front
def test_options_of_a_call(server: Server, kind: type[Front]) -> None:
    with opened(kind(attempts=3, **QUICK)) as front:
        with holdoff.options(idempotent=True):
            assert front.ask("POST", server.script("post", "503 200"), "bytes") == 200
        assert [request.body for request in server.requests("post")] == [b"hello", b"hello"]
        assert front.ask("POST", server.script("post", "503 200"), "bytes") == 503
        with holdoff.options(idempotent=False), holdoff.options(attempts=5):
            assert front.ask("GET", server.script("get", "503 200")) == 503
            assert front.ask("GET", server.script("get", "429")) == 429
        assert len(server.requests("get")) == 5
    with opened(kind(attempts=3, idempotent=True, **QUICK)) as front:
        assert front.ask("POST", server.script("post", "503 200"), "bytes") == 200


def test_options_in_httpx_extensions(server: Server) -> None:
    for module in (httpx, httpx2):
        with holdoff.wrap(module.Client(trust_env=False), attempts=3, **QUICK) as client:
            extensions = {"holdoff": {"idempotent": True}}
            url = server.script("post", "503 200")
            assert client.post(url, content=b"x", extensions=extensions).status_code == 200
            with pytest.raises(holdoff.ConfigError, match="atempts"):
                client.get(url, extensions={"holdoff": {"atempts": 2}})


def test_mistakes() -> None:
    def function() -> None: ...

    with pytest.raises(TypeError, match=r"decorate the function .*function by holdoff.retry"):
        holdoff.wrap(function)
    with pytest.raises(TypeError, match=r"does not know builtins.object; it takes objects of httpx.Client, .*botocore"):
        holdoff.wrap(object())
    with pytest.raises(TypeError, match=r"does not know httpx.Client; it takes objects of"):
        holdoff.wrap(httpx.Client)
    with httpx.Client() as client:
        with pytest.raises(holdoff.ConfigError, match="atempts = 3"):
            holdoff.wrap(client, atempts=3)  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="hedge"):
            holdoff.wrap(client, hedge="50ms")
        with pytest.raises(ValueError, match="body = -1"):
            holdoff.wrap(client, body=-1)
        with pytest.raises(TypeError, match="not both"):
            holdoff.wrap(client, holdoff.Policy(), attempts=2)
        assert holdoff.unwrap(client) is client
    with pytest.raises(holdoff.ConfigError, match="atempts"), holdoff.options(atempts=3):  # type: ignore[call-arg]
        pass
    with pytest.raises(TypeError, match="retries already"):
        holdoff.http.Transport(holdoff.http.Transport(httpx.HTTPTransport()))


def test_nothing_is_imported_that_the_program_does_not_import() -> None:
    names = "aiohttp botocore httpx httpx2 requests urllib3"
    script = f"""
import sys, holdoff
assert not any(name.startswith("holdoff._fronts") or name == "holdoff.http" for name in sys.modules)
holdoff.wrap, holdoff.options, holdoff.http.Exchange
loaded = [name for name in "{names}".split() if name in sys.modules]
import urllib3
holdoff.wrap(urllib3.PoolManager())
print(loaded, [name for name in "{names}".split() if name in sys.modules])
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "[] ['urllib3']\n"


def test_pickled_session(server: Server) -> None:
    session = holdoff.wrap(requests.Session(), attempts=3, **QUICK)
    pickled = pickle.loads(pickle.dumps(session))
    for each in (session, pickled):
        assert each.get(server.script("again", "503 503 200")).status_code == 200
        assert len(server.requests("again")) == 3
    holdoff.wrap(pickled, attempts=2, **QUICK)
    assert pickled.get(server.script("again", "503 503 200")).status_code == 503
    assert len(server.requests("again")) == 2
    holdoff.unwrap(pickled)
    assert pickled.get(server.script("again", "503 503 200")).status_code == 503
    assert len(server.requests("again")) == 1


@pytest.mark.parametrize("kind", [kind for kind in FRONTS if kind is not fronts.GoogleAuth])
def test_copied_client(server: Server, kind: type[Front]) -> None:
    """A shallow copy shares the retries. requests leaves attributes of google-auth out of copies."""
    with opened(kind(attempts=3, **QUICK)) as front:
        other = copy.copy(front)
        other.client = copy.copy(front.client)
        for each in (front, other):
            assert each.ask("GET", server.script("again", "503 503 200")) == 200
        holdoff.unwrap(other.client)
        assert front.ask("GET", server.script("again", "503 503 200")) == 200


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@each_blocking
def test_forked_client(server: Server, kind: type[Front]) -> None:
    """A child goes on with its own copy, also while a thread of its parent sleeps."""
    sleeping = threading.Event()
    with opened(kind(attempts=3, on_retry=lambda _: sleeping.set(), **QUICK)) as front:
        ended: list[int] = []
        later = server.script("later", "503;retry-after=1 200")
        url = server.script("forked", "503 200 503 200")
        assert front.ask("GET", url) == 200
        sleeping.clear()
        other = threading.Thread(target=lambda: ended.append(front.ask("GET", later)))
        other.start()
        sleeping.wait()
        child = os.fork()
        if child == 0:
            with holdoff.options(key="of the child"):
                os._exit(0 if front.ask("GET", url) == 200 else 1)
        assert os.waitpid(child, 0)[1] == 0
        other.join()
        assert ended == [200]
        assert len(server.requests("forked")) == 4


def test_threads_share_a_client(server: Server) -> None:
    with holdoff.wrap(httpx.Client(trust_env=False), attempts=3, **QUICK) as client:
        url = server.script("shared", "503 " * 8 + "200")
        ended: list[int] = []
        threads = [threading.Thread(target=lambda: ended.append(client.get(url).status_code)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(ended) == 8
        assert len(server.requests("shared")) == 8 + ended.count(200)


@pytest.mark.parametrize("module", [httpx, httpx2], ids=["httpx", "httpx2"])
def test_transports(server: Server, module: Any) -> None:
    transport = holdoff.http.Transport(module.HTTPTransport(), attempts=3, **QUICK)
    with module.Client(transport=transport) as client:
        assert client.get(server.script("again", "503 503 200")).json() == {"status": 200}
        # A client with such a transport is wrapped already.
        holdoff.wrap(client, attempts=3, **QUICK)
        assert client.get(server.script("down", "503")).status_code == 503
        assert len(server.requests("down")) == 3

    async def go() -> None:
        transport = holdoff.http.AsyncTransport(module.AsyncHTTPTransport(), holdoff.Policy(attempts=3, **QUICK))
        async with module.AsyncClient(transport=transport) as client:
            answer = await client.get(server.script("again", "503 503 200"))
            assert answer.json() == {"status": 200}

    asyncio.run(go())


@pytest.mark.parametrize("module", [httpx, httpx2], ids=["httpx", "httpx2"])
def test_multipart(server: Server, module: Any) -> None:
    with holdoff.wrap(module.Client(trust_env=False), attempts=3, idempotent=True, **QUICK) as client:
        import io

        for file in (b"hello", io.BytesIO(b"hello")):
            url = server.script("form", "503 200")
            assert client.post(url, files={"f": ("name", file)}, data={"a": "b"}).status_code == 200
            first, second = (request.body for request in server.requests("form"))
            assert first == second
            assert b"hello" in (first or b"")
        assert client.post(server.script("form", "503 200"), data={"a": "b"}).status_code == 200
        assert [request.body for request in server.requests("form")] == [b"a=b", b"a=b"]


def test_form_of_aiohttp(server: Server) -> None:
    front = fronts.Aiohttp(attempts=3, idempotent=True, **QUICK)
    form = aiohttp.FormData()
    form.add_field("file", b"hello", filename="name")
    with opened(front):
        assert front.send("POST", server.script("form", "503 200"), form, {}) == 200
        first, second = (request.body for request in server.requests("form"))
        assert first == second
        assert b"hello" in (first or b"")


@each_front
def test_failing_source_of_a_stream(server: Server, kind: type[Front]) -> None:
    """A stream that fails is not sent again without its rest."""
    with opened(kind(wait=2, attempts=3, **QUICK)) as front:
        url = server.script("broken", "200")
        calls = 0

        def blocking() -> Iterator[bytes]:
            nonlocal calls
            calls += 1
            yield b"hel"
            raise OSError("the disk is gone")

        async def asynchronous() -> Any:
            for part in blocking():
                yield part

        body = asynchronous() if kind.asynchronous else blocking()
        with pytest.raises((OSError, *front.errors) if isinstance(front.errors, tuple) else (OSError, front.errors)):
            front.send("PUT", url, body, {})
        assert calls == 1
        assert all(request.body is None for request in server.requests("broken"))


@each_front
def test_early_answer(server: Server, kind: type[Front]) -> None:
    """A server may answer before it has read the body."""
    with opened(kind(wait=2, attempts=3, **QUICK)) as front:
        assert front.ask("PUT", server.script("early", "early=503 200"), "stream") == 200
        assert server.requests("early")[-1].body == b"hello"


@each_front
def test_last_answer_can_be_read(server: Server, kind: type[Front]) -> None:
    with opened(kind(attempts=2, **QUICK)) as front:
        assert front.ask("GET", server.script("down", "503;x-mark=1")) == 503
        assert front.last.headers["X-Mark"] == "1"
        assert b"503" in (
            front.last._body if kind is fronts.Aiohttp else getattr(front.last, "content", None) or front.last.data
        )


@each_front
def test_large_answer(server: Server, kind: type[Front]) -> None:
    size = (1 << 20) + 5
    with opened(kind(attempts=2, **QUICK)) as front:
        for steps in (f"big={size}", "open"):
            assert front.ask("GET", server.script("large", steps)) == 200
            body = (
                front.last._body if kind is fronts.Aiohttp else getattr(front.last, "content", None) or front.last.data
            )
            assert len(body) == (size if "big" in steps else 15)


def test_streamed_answers(server: Server) -> None:
    """A body that the caller reads is outside of the attempt: it is not retried, and comes as it is sent."""
    with holdoff.wrap(httpx.Client(trust_env=False, timeout=0.5), attempts=3, **QUICK) as client:
        with client.stream("GET", server.script("cut", "503 short")) as answer:
            assert answer.status_code == 200
            with pytest.raises(httpx.RemoteProtocolError):
                answer.read()
        assert len(server.requests("cut")) == 2
        with client.stream("GET", server.script("down", "503")) as answer:
            assert answer.read() == b'{"status": 503}'
    session = holdoff.wrap(requests.Session(), attempts=3, **QUICK)
    with session.get(server.script("down", "503"), stream=True) as raw:
        assert raw.raw.read() == b'{"status": 503}'
    with session.get(server.script("good", "503 200"), stream=True) as raw:
        assert b"".join(raw.iter_content(4)) == b'{"status": 200}'

    async def go() -> None:
        async with holdoff.wrap(aiohttp.ClientSession(), attempts=3, **QUICK) as client:
            async with client.get(server.script("good", "503 200")) as streamed:
                assert b"".join([part async for part in streamed.content.iter_chunked(4)]) == b'{"status": 200}'
            async with client.get(server.script("small", "open"), timeout=aiohttp.ClientTimeout(2)) as streamed:
                assert await streamed.json() == {"status": 200}

    asyncio.run(go())


def test_body_option(server: Server) -> None:
    """No bytes are kept or read with `body=0`."""
    with holdoff.wrap(httpx.Client(trust_env=False, timeout=0.5), attempts=3, body=0, **QUICK) as client:
        with pytest.raises(httpx.RemoteProtocolError):
            client.get(server.script("cut", "short 200"))
        assert client.put(server.script("put", "503 200"), content=iter([b"a"])).status_code == 503

    async def go() -> None:
        client = holdoff.wrap(aiohttp.ClientSession(), attempts=3, body=8, **QUICK)
        async with client, client.get(server.script("open", "503 open")) as answer:
            assert await answer.json() == {"status": 200}

    asyncio.run(go())


def test_own_retries_are_off(server: Server) -> None:
    session = requests.Session()
    session.mount("http://", HTTPAdapter(max_retries=Retry(5, status_forcelist=[503], backoff_factor=0.001)))
    holdoff.wrap(session, attempts=3, **QUICK)
    assert session.get(server.script("down", "503")).status_code == 503
    assert len(server.requests("down")) == 3
    holdoff.unwrap(session)
    adapter = session.get_adapter("http://x")
    assert isinstance(adapter, HTTPAdapter)
    assert adapter.max_retries.total == 5
    pool = holdoff.wrap(urllib3.PoolManager(retries=Retry(5, status_forcelist=[503])), attempts=3, **QUICK)
    for own in ({}, {"retries": Retry(5, status_forcelist=[503])}, {"retries": 4}, {"retries": False}):
        assert pool.request("GET", server.script("down", "503"), **own).status == 503
        assert len(server.requests("down")) == 3
        with pytest.raises(urllib3.exceptions.HTTPError):
            pool.request("GET", server.script("reset", "reset"), **own)
        assert len(server.requests("reset")) == 3
    with pytest.raises(urllib3.exceptions.MaxRetryError):
        pool.request("GET", server.script("round", "302;location=/round"), retries=2)
    assert len(server.requests("round")) == 3
    pool.clear()
    for mode in ("legacy", "standard"):
        front = Botocore(server.origin, retries={"mode": mode, "max_attempts": 5}, attempts=2, **QUICK)
        assert front.ask("GET", server.script("xml", "503")) == 503
        assert len(server.requests("xml")) == 2
        assert isinstance(front.last, botocore.exceptions.ClientError)
        front.close()


def test_aiohttp_repeats_nothing_itself(server: Server) -> None:
    """aiohttp runs its middlewares a second time after a lost connection: 6 requests for 3 attempts."""
    with opened(fronts.Aiohttp(attempts=3, **QUICK)) as front:
        with pytest.raises(aiohttp.ClientError):
            front.ask("GET", server.script("lost", "reset"))
        assert len(server.requests("lost")) == 3


def test_idempotency_token_of_an_operation(server: Server) -> None:
    """A POST with a token may run twice, with the same token; botocore makes one for each call."""
    client = fronts.SESSION.create_client("ec2", "eu-west-1", endpoint_url=f"{server.origin}/xml")
    holdoff.wrap(client, attempts=3, **QUICK)
    server.script("xml", "503 200")
    client.run_instances(ImageId="i", MinCount=1, MaxCount=1)
    bodies = [request.body for request in server.requests("xml")]
    assert len(bodies) == 2
    assert bodies[0] == bodies[1]
    assert b"ClientToken=" in (bodies[0] or b"")
    server.script("xml", "503 200")
    with pytest.raises(botocore.exceptions.ClientError):
        client.terminate_instances(InstanceIds=["i"])
    assert len(server.requests("xml")) == 1
    client.close()


def test_unwrapped_botocore_retries_itself_again(server: Server) -> None:
    with opened(Botocore(server.origin, retries={"mode": "standard", "max_attempts": 2}, attempts=3, **QUICK)) as front:
        holdoff.unwrap(front.client)
        assert front.ask("GET", server.script("xml", "503 200")) == 200
        assert len(server.requests("xml")) == 2


def test_events_have_method_and_origin(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    events: list[Any] = []
    with holdoff.wrap(httpx.Client(trust_env=False), attempts=2, on_retry=events.append, **QUICK) as client:
        client.get(server.script("down", "503") + "?secret=1")
    (event,) = events
    assert event.operation == f"GET {server.origin}"
    assert event.key == server.origin
    (exchange,) = event.args
    assert (exchange.method, exchange.origin) == ("GET", server.origin)
    assert "secret" not in repr(event) + repr(exchange)
    with caplog.at_level(logging.WARNING, logger="holdoff"):
        session = holdoff.wrap(requests.Session(), attempts=2, **QUICK)
        with pytest.raises(requests.ConnectionError):
            session.get("http://127.0.0.1:1/private?order=7")
    assert "GET http://127.0.0.1:1: attempt 1 failed" in caplog.text
    assert "order=7" not in caplog.text
