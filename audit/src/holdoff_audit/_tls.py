"""TLS without encryption: a client's handshake succeeds at once, and its bytes stay readable."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from typing import Any

from ._patches import Patches

Secure = Callable[["socket.socket | None", "str | None"], None]
_CIPHER = ("TLS_AES_256_GCM_SHA384", "TLSv1.3", 256)


def _certificate(host: str | None) -> dict[str, Any]:
    """A certificate that fits the host, for clients that look at it themselves."""
    return {"subject": ((("commonName", host or ""),),), "subjectAltName": (("DNS", host or ""),)}


class OpenSocket(ssl.SSLSocket):
    """A socket that a client takes for encrypted. Without an SSL object its other methods are a plain socket's."""

    _sslobj: Any
    _context: Any
    _connected: bool
    _session: Any
    _host: str | None
    do_handshake_on_connect: bool
    suppress_ragged_eofs: bool

    def getpeercert(self, binary_form: bool = False) -> Any:
        return b"" if binary_form else _certificate(self._host)

    def get_unverified_chain(self) -> list[bytes]:
        return []

    def do_handshake(self, block: bool = False) -> None:
        pass

    def get_channel_binding(self, cb_type: str = "tls-unique") -> bytes | None:
        return None

    def cipher(self) -> tuple[str, str, int]:
        return _CIPHER

    def version(self) -> str:
        return "TLSv1.3"

    def unwrap(self) -> socket.socket:
        return self


class OpenObject:
    """The same for clients that move the bytes themselves. Its methods are those of `ssl.SSLObject`."""

    def __init__(self, context: Any, incoming: Any, outgoing: Any, server_hostname: str | None) -> None:
        self.context, self.server_hostname = context, server_hostname
        self.server_side, self.session, self.session_reused = False, None, False
        self._incoming, self._outgoing = incoming, outgoing

    def read(self, len: int = 1024, buffer: Any = None) -> Any:
        data = self._incoming.read(len)
        if not data and not self._incoming.eof:
            raise ssl.SSLWantReadError(ssl.SSL_ERROR_WANT_READ, "The operation did not complete (read)")
        if buffer is None:
            return data
        size = data.__len__()
        buffer[:size] = data
        return size

    def write(self, data: Any) -> int:
        return int(self._outgoing.write(data))

    def selected_alpn_protocol(self) -> str | None:
        return None

    selected_npn_protocol = shared_ciphers = compression = selected_alpn_protocol

    def pending(self) -> int:
        return int(self._incoming.pending)

    def do_handshake(self) -> None:
        pass

    def unwrap(self) -> None:
        pass

    def getpeercert(self, binary_form: bool = False) -> Any:
        return b"" if binary_form else _certificate(self.server_hostname)

    def get_unverified_chain(self) -> list[bytes]:
        return []

    def get_channel_binding(self, cb_type: str = "tls-unique") -> bytes | None:
        return None

    def cipher(self) -> tuple[str, str, int]:
        return _CIPHER

    def version(self) -> str:
        return "TLSv1.3"


def install(patches: Patches, secure: Secure) -> None:
    """Replaces the handshakes of clients. Servers keep theirs."""

    def wrap_socket(
        self: Any,
        sock: Any,
        server_side: bool = False,
        do_handshake_on_connect: bool = True,
        suppress_ragged_eofs: bool = True,
        server_hostname: Any = None,
        session: Any = None,
    ) -> Any:
        if server_side:
            return wrap(self, sock, True, do_handshake_on_connect, suppress_ragged_eofs, None, session)
        secure(sock, None)
        timeout = sock.gettimeout()
        opened = OpenSocket.__new__(OpenSocket)
        socket.socket.__init__(opened, sock.family, sock.type, sock.proto, fileno=sock.detach())
        opened.settimeout(timeout)
        opened._sslobj, opened._context, opened._connected = None, self, True
        opened.server_side, opened.server_hostname = False, server_hostname
        opened.do_handshake_on_connect, opened.suppress_ragged_eofs = True, suppress_ragged_eofs
        opened._host, opened._session = server_hostname, None
        return opened

    def wrap_bio(
        self: Any,
        incoming: Any,
        outgoing: Any,
        server_side: bool = False,
        server_hostname: Any = None,
        session: Any = None,
    ) -> Any:
        if server_side:
            return wrap_both(self, incoming, outgoing, True, server_hostname, session)
        secure(None, server_hostname)
        return OpenObject(self, incoming, outgoing, server_hostname)

    wrap = patches.set(ssl.SSLContext, "wrap_socket", wrap_socket)
    wrap_both = patches.set(ssl.SSLContext, "wrap_bio", wrap_bio)
