"""The server's end of a connection: it reads requests from the bytes that the program sends, and answers them."""

from __future__ import annotations

import hashlib
import re
import socket
import struct
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import h11

from ._answers import Answer

Record = Callable[[str, str, bytes], Answer]
"""Records a request (method, URL, digest of the body) and returns its answer."""
_METHOD = re.compile(rb"[A-Z]+(?: |$)")
_EMPTY = hashlib.sha256().digest()


def _reason(status: int) -> bytes:
    try:
        return HTTPStatus(status).phrase.encode()
    except ValueError:
        return b""


class Peer:
    """The server's end of one connection."""

    def __init__(self, sock: socket.socket, host: str, port: int, record: Record, note: Callable[[str], None]) -> None:
        self.sock = sock
        self.host, self.port = host, port
        self.secure = port == 443
        self.fresh = True
        """True until the program sends something."""
        self.pending = False
        """True while a request waits for an answer that never comes."""
        self.closed = False
        self._record, self._note = record, note
        self._http = h11.Connection(h11.SERVER)
        self._request: h11.Request | None = None
        self._body = hashlib.sha256()

    @property
    def place(self) -> str:
        return f"{self.host}:{self.port}"

    def feed(self, data: bytes) -> None:
        """Takes the bytes that the program sent."""
        if self.fresh and data.startswith(b"PRI * HTTP/2"):
            self._note(f"{self.place} was asked in HTTP/2 without HTTP/1.1, which the audit does not read")
            return self._refuse()
        if self.fresh and not _METHOD.match(data):
            self._note(f"{self.place} was sent something that is not HTTP: the audit closed the connection")
            return self._refuse()
        self.fresh = False
        try:
            self._http.receive_data(data)
            while not self.closed:
                event = self._http.next_event()
                if isinstance(event, h11.Request):
                    self._request, self._body = event, hashlib.sha256()
                elif isinstance(event, h11.Data):
                    self._body.update(event.data)
                waits = self._http.they_are_waiting_for_100_continue
                if isinstance(event, h11.EndOfMessage) or (isinstance(event, h11.Request) and waits):
                    self._answer()
                elif not isinstance(event, (h11.Request, h11.Data)):
                    return None
        except h11.RemoteProtocolError:
            self._note(f"{self.place} was sent something that is no valid HTTP: the audit closed the connection")
            return self._refuse()
        return None

    def _refuse(self) -> None:
        """Ends a connection that speaks another protocol. It counts as a request, because retries repeat it as well."""
        self.fresh = False
        self._record("connection", f"tcp://{self.place}", _EMPTY)
        self.reset()

    def _answer(self) -> None:
        request, self._request = self._request, None
        assert request is not None
        method, target = request.method.decode(), request.target.decode()
        if method == "CONNECT":
            self._open_tunnel(target)
            return
        answer = self._record(method, self._url(request, target), self._body.digest())
        if answer.text == "timeout":
            self.pending = True
        elif answer.status is None:
            self.reset()
        else:
            self._send(answer, answer.status, method)

    def _url(self, request: h11.Request, target: str) -> str:
        if "://" in target:
            return target
        hosts = [value.decode() for name, value in request.headers if name == b"host"]
        scheme = "https" if self.secure else "http"
        return f"{scheme}://{hosts[0] if hosts else self.place}{target}"

    def _open_tunnel(self, target: str) -> None:
        """Answers a request to a proxy. The requests in the tunnel are read like others."""
        self._write(self._http.send(h11.Response(status_code=200, headers=[])))
        self._http = h11.Connection(h11.SERVER)
        self.host, _, port = target.rpartition(":")
        self.port = int(port) if port.isdigit() else 443
        self.secure = self.port == 443

    def _send(self, answer: Answer, status: int, method: str) -> None:
        body = b"" if status in (204, 304) else answer.body
        own = [(name.encode(), value.encode()) for name, value in answer.headers]
        headers = [(b"content-type", b"application/json"), *own]
        if status not in (204, 304):
            headers.append((b"content-length", str(len(body)).encode()))
        parts: list[Any] = [h11.Response(status_code=status, headers=headers, reason=_reason(status))]
        if method != "HEAD" and body:
            parts.append(h11.Data(data=body))
        self._write(b"".join(self._http.send(part) or b"" for part in [*parts, h11.EndOfMessage()]))
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
        else:
            self.close()

    def _write(self, data: bytes | None) -> None:
        try:
            self.sock.sendall(data or b"")
        except OSError:
            self.closed = True

    def reset(self) -> None:
        """Resets the connection."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def close(self) -> None:
        self.closed, self.pending = True, False
        self.sock.close()

    def is_left(self) -> bool:
        """True if the program has closed its end."""
        if self.closed:
            return True
        try:
            return self.sock.recv(1, socket.MSG_PEEK) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True
