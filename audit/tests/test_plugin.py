"""The fixture, in tests of this process."""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
import time
from time import monotonic, sleep
from typing import Any

import httpx
import pytest
import requests
import tenacity
from holdoff_audit import AuditError, audit
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

URL = "https://api.example/x"
connected: list[Any] = []


def _collect(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        connected.append(arguments[1] if event == "socket.connect" else arguments[0])


sys.addaudithook(_collect)


def ask(attempts: int) -> None:
    """Asks once, under tenacity and a session's retries."""
    with requests.Session() as session:
        session.mount("https://", HTTPAdapter(max_retries=Retry(1, status_forcelist=[503])))
        tenacity.retry(stop=tenacity.stop_after_attempt(attempts), wait=tenacity.wait_fixed(600))(session.get)(URL)


def test_few_requests_pass(holdoff_audit: Any) -> None:
    with holdoff_audit(fail=503, most=4) as found:
        ask(2)
    assert found.requests == 4
    assert isinstance(found.error, tenacity.RetryError)


def test_too_many_requests_fail_with_the_report(holdoff_audit: Any) -> None:
    with pytest.raises(AssertionError) as failed, holdoff_audit(most=4):
        ask(3)
    text = str(failed.value)
    assert text.startswith("6 requests for one call: GET https://api.example/x\n  x3  tenacity/")
    assert "\n    x2  urllib3/" in text
    assert text.endswith("the largest call makes 6, more than --most 4\n")


def test_a_block_without_requests_fails(holdoff_audit: Any) -> None:
    with pytest.raises(AssertionError, match="made no HTTP request"), holdoff_audit(most=4):
        pass


def test_errors_before_a_request_and_assertions_are_raised(holdoff_audit: Any) -> None:
    with pytest.raises(KeyError), holdoff_audit(most=4):
        raise KeyError("mine")
    with pytest.raises(AssertionError, match="mine"), holdoff_audit(most=4):
        httpx.get(URL)
        raise AssertionError("mine")


def test_nothing_stays_replaced(holdoff_audit: Any) -> None:
    before = time.sleep, sleep, monotonic, socket.socket.connect, socket.getaddrinfo, threading.Condition.wait
    loop = asyncio.base_events.BaseEventLoop
    methods = dict(vars(loop))
    with holdoff_audit():
        assert sleep is not before[0]
        httpx.get(URL)
    assert (time.sleep, sleep, monotonic) == before[:3]
    assert (socket.socket.connect, socket.getaddrinfo, threading.Condition.wait) == before[3:]
    assert dict(vars(loop)) == methods
    assert "send" not in vars(socket.socket)


def test_sleeps_pass_in_virtual_time_in_their_order(holdoff_audit: Any) -> None:
    order: list[str] = []

    def in_thread(name: str, seconds: float) -> None:
        sleep(seconds)
        order.append(f"{name} {monotonic() - begun:.0f}")

    async def in_loop(name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        order.append(f"{name} {monotonic() - begun:.0f}")

    async def main() -> None:
        await asyncio.gather(in_loop("task", 500), in_loop("first", 100))

    with holdoff_audit():
        httpx.get(URL)
        begun = monotonic()
        threads = [
            threading.Thread(target=in_thread, args=("thread", 300)),
            threading.Thread(target=asyncio.run, args=(main(),)),
        ]
        for thread in threads:
            thread.start()
        assert not threading.Event().wait(400)
        order.append(f"event {monotonic() - begun:.0f}")
        for thread in threads:
            thread.join()
    assert order == ["first 100", "thread 300", "event 400", "task 500"]


def test_an_event_that_is_set_ends_a_wait(holdoff_audit: Any) -> None:
    event = threading.Event()

    def work() -> None:
        total = 0
        for number in range(3_000_000):
            total += number
        event.set()

    with holdoff_audit():
        httpx.get(URL)
        begun = monotonic()
        threading.Thread(target=work).start()
        assert event.wait(3600)
        assert monotonic() - begun < 600


def test_a_running_loop_is_audited(holdoff_audit: Any) -> None:
    async def main() -> int:
        async with httpx.AsyncClient() as client:
            with holdoff_audit(most=1) as found:
                for _ in range(3):
                    await client.get(URL)
                    await asyncio.sleep(3600)
            return int(found.requests)

    assert asyncio.run(main()) == 1


def test_nothing_leaves_the_process(holdoff_audit: Any) -> None:
    connected.clear()
    with holdoff_audit():
        httpx.get(URL)
        requests.get("http://[2001:db8::1]/x", timeout=5)
        requests.get("http://192.0.2.1/x", timeout=5)
        assert socket.gethostbyname("b.example").startswith("198.18.")
        assert socket.getfqdn("b.example") == "b.example"
        with pytest.raises(OSError, match="unreachable"), socket.socket(type=socket.SOCK_DGRAM) as packet:
            packet.sendto(b"x", ("192.0.2.1", 53))
    addresses = {entry[0] if isinstance(entry, tuple) else entry for entry in connected}
    numbers = {entry for entry in addresses if isinstance(entry, str)}
    assert numbers <= {"127.0.0.1", "::1", "192.0.2.1", "2001:db8::1"} | {f"198.18.0.{last}" for last in range(10)}
    assert {entry[0] for entry in connected if isinstance(entry, tuple) and len(entry) > 1} <= {"127.0.0.1", "::1"}


def test_audits_are_not_nested(holdoff_audit: Any) -> None:
    with pytest.raises(RuntimeError, match="cannot be nested"), holdoff_audit(), audit():
        pass


def test_wrong_arguments_are_explained(holdoff_audit: Any) -> None:
    with pytest.raises(AuditError, match="did you mean timeout"), holdoff_audit(fail="timeuot"):
        pass
