"""A server of HTTP/1.1 that answers the requests to a name by a script, and keeps every request that came.

The steps of a script are separated by spaces; the last one repeats. A step is a status (``503``), with headers after
semicolons (``503;retry-after=1``), or the name of a fault:

``reset``, ``fin``: the connection is reset, or closed, before any byte of the answer. ``cut``: reset behind the
headers. ``short``: closed before the body is as long as its Content-Length. ``chunk``: closed inside a chunk.
``slow=S``: the body comes after S seconds. ``mute=S``: the answer comes after S seconds. ``early=STATUS``: an answer
before the body of the request is read. ``trap``: a 200, after which the next request on this connection resets it.
``date=S`` as a header is a Retry-After in S seconds. ``open``: JSON without a Content-Length. ``big=N``: a 200 with N
bytes.
"""

from __future__ import annotations

import asyncio
import email.utils
import socket
import struct
import threading
import time
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Request:
    """A request that came."""

    method: str
    headers: dict[str, str]
    connection: int
    at: float
    body: bytes | None = None


@dataclass
class Script:
    """The steps of a name, and the requests to it."""

    steps: list[str]
    requests: list[Request] = field(default_factory=list)


class Server:
    """The server, in a thread of its own."""

    def __init__(self) -> None:
        self.scripts: dict[str, Script] = {}
        self.connections = 0
        self.trapped: set[int] = set()
        self._loop = asyncio.new_event_loop()
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), daemon=True)
        self._thread.start()
        ready.wait()

    def _run(self, ready: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port: int = server.sockets[0].getsockname()[1]
        ready.set()
        self._loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.close()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def script(self, name: str, steps: str) -> str:
        """Set the steps of a name; returns its address."""
        self.scripts[name] = Script(steps.split())
        return f"{self.origin}/{name}"

    def requests(self, name: str) -> list[Request]:
        return self.scripts[name].requests

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        try:
            while await self._answer(reader, writer, number):
                pass
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        finally:
            writer.close()

    def _reset(self, writer: asyncio.StreamWriter) -> bool:
        raw = writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
        return False

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> bool:
        """Answer one request; True if the connection stays."""
        line, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin1").split("\r\n")
        method, path, _ = line.split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (text.partition(":") for text in lines if text)}
        name = path.lstrip("/").partition("?")[0]
        script = self.scripts.setdefault(name, Script(["404"]))
        request = Request(method, headers, number, time.monotonic())
        script.requests.append(request)
        if number in self.trapped:
            return self._reset(writer)
        word, *given = script.steps[min(len(script.requests), len(script.steps)) - 1].split(";")
        word, _, argument = word.partition("=")
        if word == "reset":
            await asyncio.sleep(0.005)
            return self._reset(writer)
        if word != "early":
            if headers.get("expect") == "100-continue":
                writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.body = await _body(reader, headers)
        if word == "fin":
            return False
        if word == "mute":
            await asyncio.sleep(float(argument))
        status = word if word.isdigit() else argument if word == "early" else "200"
        text = f'{{"status": {status}}}'.encode()
        kind = "application/json"
        if name.startswith("xml"):
            text, kind = b"<ListBucketResult></ListBucketResult>", "application/xml"
            if int(status) >= 400:
                text = b"<Error><Code>Slow</Code><Message>slow</Message></Error>"
        if word == "big":
            text, kind = b"x" * int(argument), "application/octet-stream"
        fields = [("content-type", kind)]
        for each in given:
            key, _, value = each.partition("=")
            if key == "date":
                key = "retry-after"
                value = email.utils.formatdate(time.time() + float(value) + 0.999, usegmt=True)
            fields.append((key, value))
        if word == "early":
            fields.append(("connection", "close"))
        if word in ("chunk", "open"):
            fields.append(("transfer-encoding", "chunked"))
        else:
            fields.append(("content-length", str(len(text) + (100 if word in ("short", "cut") else 0))))
        head = "".join(f"{key}: {value}\r\n" for key, value in fields)
        writer.write(f"HTTP/1.1 {status} Answer\r\n{head}\r\n".encode())
        await writer.drain()
        if word == "cut":
            await asyncio.sleep(0.02)
            return self._reset(writer)
        if word == "chunk":
            writer.write(b"5\r\nhello\r\n")
            await writer.drain()
            return False
        if word == "slow":
            await asyncio.sleep(float(argument))
        if word == "open":
            text = f"{len(text):x}\r\n".encode() + text + b"\r\n0\r\n\r\n"
        if method != "HEAD":
            writer.write(text)
        await writer.drain()
        if word == "trap":
            self.trapped.add(number)
        if word in ("short", "early"):
            await asyncio.sleep(0.05)
            return False
        return True


async def _body(reader: asyncio.StreamReader, headers: dict[str, Any]) -> bytes:
    """The whole body of a request."""
    if headers.get("transfer-encoding") != "chunked":
        return await reader.readexactly(int(headers.get("content-length", 0)))
    body = b""
    while True:
        size = int(await reader.readuntil(b"\r\n"), 16)
        body += await reader.readexactly(size)
        await reader.readline()
        if size == 0:
            return body
