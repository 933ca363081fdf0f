"""A network without a network: names have made-up addresses, and every connection ends in this process.

A connection is a pair of real sockets of this process, so that a program can wait for it as for any other. The bytes
that a program sends are read where it sends them, in its own stack, and the answer is ready when its call returns.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from . import _tls
from ._answers import Answer, Answers
from ._clock import Clock
from ._patches import Patches
from ._peer import Peer, Record

_INTERNET = (socket.AF_INET, socket.AF_INET6)
_LOCALHOST = "127.0.0.1"
_CLOSED_EVENTS = {
    "socket.gethostbyaddr",
    "socket.gethostbyname",
    "socket.getnameinfo",
    "socket.sendmsg",
    "socket.sendto",
}
"""Audit events of Python at which a packet would leave the machine."""


def _pair(address: Any) -> tuple[str, int]:
    return str(address[0]), int(address[1])


class Network:
    """The connections of an audited program."""

    def __init__(
        self, answers: Answers, clock: Clock, record: Callable[[str, str, bytes, Answer], None], allowed: set[str]
    ) -> None:
        self.notes: dict[str, int] = {}
        """What the audit could not answer, and how often."""
        self._answers, self._clock = answers, clock
        self._record_attempt = record
        self._allowed = allowed
        self._names: dict[str, str] = {}
        self._peers: dict[Any, Peer] = {}
        """By the address of the program's end."""
        self._listeners: dict[int, socket.socket] = {}
        self._lock = threading.Lock()
        self._opens = threading.local()

    @property
    def allows_any(self) -> bool:
        return bool(self._allowed)

    def note(self, text: str) -> None:
        self.notes[text] = self.notes.get(text, 0) + 1

    def _record(self, method: str, url: str, digest: bytes) -> Answer:
        answer = self._answers.next()
        self._record_attempt(method, url, digest, answer)
        return answer

    # Names

    def address_of(self, host: str | bytes | None) -> str | None:
        """The address of a name. A name that is no address itself gets one of the range for benchmarks."""
        if host is None:
            return None
        name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
        try:
            ipaddress.ip_address(name.partition("%")[0])
        except ValueError:
            pass
        else:
            return name
        if name in ("", "localhost", socket.gethostname()):
            return _LOCALHOST
        with self._lock:
            count = len(self._names) + 1
            return self._names.setdefault(name, f"198.18.{count >> 8}.{count & 255}")

    def name_of(self, address: str) -> str:
        names = {given: name for name, given in self._names.items()}
        return names.get(address, address)

    # Connections

    def peer_of(self, sock: socket.socket) -> Peer | None:
        try:
            return self._peers.get(sock.getsockname()) if sock.family in _INTERNET else None
        except OSError:
            return None

    def is_open(self, sock: Any, address: Any) -> bool:
        """True for connections that are none of the audit's business."""
        if sock.family not in _INTERNET or sock.type != socket.SOCK_STREAM or type(address) is not tuple:
            return True
        if any(listener.getsockname()[:2] == address[:2] for listener in self._listeners.values()):
            return True
        host, port = _pair(address)
        return bool({f"{host}:{port}", f"{self.name_of(host)}:{port}"} & self._allowed)

    def connect(self, sock: socket.socket, address: Any, connect: Callable[[Any, Any], Any]) -> Any:
        """Connects a socket of the program with a peer in this process."""
        host, port = self.name_of(self.address_of(address[0]) or _LOCALHOST), int(address[1])
        refusal = self._answers.refuses()
        if refusal is not None:
            self._record_attempt("connection", f"tcp://{host}:{port}", b"", refusal)
            raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
        listener = self._listener(sock.family)
        with self._lock:
            self._sweep()
            try:
                with self._opening():
                    result = connect(sock, listener.getsockname())
            except BlockingIOError:
                # The program waits for the connection, which is there already.
                self._accept(sock, listener, host, port)
                raise
            self._accept(sock, listener, host, port)
            return result

    def _accept(self, sock: socket.socket, listener: socket.socket, host: str, port: int) -> None:
        mine = sock.getsockname()
        while True:
            end, address = listener.accept()
            # Another process may have found the listener.
            if address[:2] == mine[:2]:
                break
            end.close()
        end.setblocking(False)
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        record: Record = self._record
        self._peers[mine] = Peer(end, host, port, record, self.note)

    def _listener(self, family: int) -> socket.socket:
        with self._lock:
            if family not in self._listeners:
                listener = socket.socket(family, socket.SOCK_STREAM)
                listener.bind(("::1" if family == socket.AF_INET6 else _LOCALHOST, 0))
                listener.listen(64)
                self._listeners[family] = listener
            return self._listeners[family]

    def _sweep(self) -> None:
        for address, peer in list(self._peers.items()):
            if peer.is_left():
                peer.close()
                del self._peers[address]

    def secure(self, sock: socket.socket | None, host: str | None) -> None:
        """Notes that a connection is encrypted: that of a socket, or the last one to a host."""
        peer = self.peer_of(sock) if sock is not None else None
        if sock is None:
            waiting = [peer for peer in reversed(self._peers.values()) if peer.host == host and peer.fresh]
            peer = waiting[0] if waiting else None
        if peer is not None:
            peer.secure = True

    def pending(self) -> list[Peer]:
        """The connections whose requests wait for an answer that never comes."""
        return [peer for peer in list(self._peers.values()) if peer.pending and not peer.is_left()]

    def end_pending(self) -> None:
        """Resets these connections. Called when nothing else can happen."""
        for peer in self.pending():
            self._never_ends(peer)

    def _never_ends(self, peer: Peer) -> None:
        self.note(f"a request to {peer.place} has no timeout: it would wait for ever. The audit reset it")
        peer.reset()

    def wait_for_answer(self, sock: socket.socket) -> None:
        """Called before a program reads: raises at once the timeout for which it would wait."""
        peer = self.peer_of(sock)
        timeout = sock.gettimeout()
        if peer is None or timeout == 0.0 or peer.closed:
            return
        if peer.pending:
            if timeout is not None:
                self._clock.sleep(timeout)
                raise TimeoutError("timed out")
            self._never_ends(peer)
        elif peer.fresh:
            self.note(f"{peer.place} should speak first, so it is no HTTP server: the audit closed the connection")
            peer.reset()

    def close(self) -> None:
        for peer in self._peers.values():
            peer.close()
        for listener in self._listeners.values():
            listener.close()

    # The rest of the machine

    @contextmanager
    def _opening(self) -> Generator[None, None, None]:
        self._opens.connection = True
        try:
            yield
        finally:
            self._opens.connection = False

    def refuse(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Stops what goes around the functions above. Python calls it for each audit event."""
        if event == "socket.connect" and not getattr(self._opens, "connection", False):
            sock, address = arguments
            if not self.is_open(sock, address):
                self.note(
                    f"a connection to {address[0]}:{address[1]} went around Python's socket module: it was refused"
                )
                raise ConnectionRefusedError(
                    errno.ECONNREFUSED, "holdoff audit: only Python's own sockets are answered"
                )
        elif event == "socket.getaddrinfo" and self.address_of(arguments[0]) != arguments[0] and arguments[0]:
            self.note("a name was looked up around Python's socket module: it was refused")
            raise socket.gaierror(socket.EAI_NONAME, "holdoff audit: no name is looked up")
        elif event in _CLOSED_EVENTS:
            if event in ("socket.sendto", "socket.sendmsg") and arguments[0].family not in _INTERNET:
                return
            self.note(f"{event.replace('socket.', '')} would leave the machine: it was refused")
            raise OSError(errno.ENETUNREACH, os.strerror(errno.ENETUNREACH))


_active: list[Network] = []
_hooked = False


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _active and event.startswith("socket."):
        _active[-1].refuse(event, arguments)


@contextmanager
def answered(network: Network) -> Generator[None, None, None]:
    """Puts a network in place of the machine's."""
    global _hooked
    patches = Patches()
    kind = socket.socket

    def connect(self: Any, address: Any) -> Any:
        if network.is_open(self, address):
            return plain_connect(self, address)
        return network.connect(self, address, plain_connect)

    def connect_ex(self: Any, address: Any) -> int:
        if network.is_open(self, address):
            return int(plain_connect_ex(self, address))
        try:
            return int(network.connect(self, address, plain_connect_ex))
        except ConnectionRefusedError:
            return errno.ECONNREFUSED

    def send(self: Any, data: Any, flags: int = 0) -> int:
        peer = network.peer_of(self)
        if peer is None or peer.closed:
            return int(plain_send(self, data, flags))
        sent = bytes(data)
        peer.feed(sent)
        return len(sent)

    def sendall(self: Any, data: Any, flags: int = 0) -> None:
        peer = network.peer_of(self)
        if peer is None or peer.closed:
            plain_sendall(self, data, flags)
        else:
            peer.feed(bytes(data))

    def sendmsg(self: Any, buffers: Any, *rest: Any) -> int:
        peer = network.peer_of(self)
        if peer is None or peer.closed:
            return int(plain_sendmsg(self, buffers, *rest))
        return send(self, b"".join(bytes(buffer) for buffer in buffers))

    def recv(self: Any, *arguments: Any) -> Any:
        network.wait_for_answer(self)
        return plain_recv(self, *arguments)

    def recv_into(self: Any, *arguments: Any, **named: Any) -> Any:
        network.wait_for_answer(self)
        return plain_recv_into(self, *arguments, **named)

    def sendfile(self: Any, file: Any, offset: int = 0, count: int | None = None) -> Any:
        return self._sendfile_use_send(file, offset, count)

    def getaddrinfo(host: Any, port: Any, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0) -> Any:
        address = network.address_of(host)
        # Such an answer depends on the interfaces of the machine.
        flags &= ~getattr(socket, "AI_ADDRCONFIG", 0)
        return plain_getaddrinfo(address, port, family, type, proto, flags)

    def gethostbyname(name: str) -> str:
        return network.address_of(name) or _LOCALHOST

    def gethostbyname_ex(name: str) -> tuple[str, list[str], list[str]]:
        return name, [], [gethostbyname(name)]

    def gethostbyaddr(address: str) -> tuple[str, list[str], list[str]]:
        return network.name_of(address), [], [address]

    def getnameinfo(address: Any, flags: int) -> tuple[str, str]:
        return network.name_of(address[0]), str(address[1])

    plain_connect = patches.set(kind, "connect", connect)
    plain_connect_ex = patches.set(kind, "connect_ex", connect_ex)
    plain_send = patches.set(kind, "send", send)
    plain_sendall = patches.set(kind, "sendall", sendall)
    plain_recv = patches.set(kind, "recv", recv)
    plain_recv_into = patches.set(kind, "recv_into", recv_into)
    plain_sendmsg: Any = patches.set(kind, "sendmsg", sendmsg) if hasattr(kind, "sendmsg") else None
    patches.set(kind, "sendfile", sendfile)
    plain_getaddrinfo = socket.getaddrinfo
    by_name = (getaddrinfo, gethostbyname, gethostbyname_ex, gethostbyaddr, getnameinfo)
    patches.everywhere({getattr(socket, function.__name__): function for function in by_name})
    _tls.install(patches, network.secure)
    if not _hooked:
        sys.addaudithook(_hook)
        _hooked = True
    _active.append(network)
    try:
        yield
    finally:
        _active.pop()
        patches.undo()
        network.close()
