"""Retries of HTTP requests below the clients of httpx and httpx2, for programs that build their transports themselves.

    client = httpx.Client(transport=holdoff.http.Transport(httpx.HTTPTransport(http2=True), attempts=4))

`holdoff.wrap` does the same to a client that is made already.
"""

from ._http import Exchange as Exchange
from ._httpx import AsyncTransport as AsyncTransport, Transport as Transport

__all__ = ["AsyncTransport", "Exchange", "Transport"]
