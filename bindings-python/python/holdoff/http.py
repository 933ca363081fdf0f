"""Retries of HTTP requests below the clients of httpx and httpx2, for programs that build their transports themselves.

    client = httpx.Client(transport=holdoff.http.Transport(httpx.HTTPTransport(http2=True), attempts=4))

`holdoff.wrap` does the same to a client that is made already.
"""

from ._fronts.httpx import AsyncTransport as AsyncTransport, Transport as Transport
from ._fronts.rules import Exchange as Exchange

__all__ = ["AsyncTransport", "Exchange", "Transport"]
