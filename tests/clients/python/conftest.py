"""The flaky server, and what a client needs to know of it."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import urllib.request
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from databases import Databases
from scripted import Server

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]
BINARY = os.environ.get("FLAKY", str(ROOT / "target/debug/flaky"))
LOCAL = ("http", "h2c", "closed", "full", "silent", "proxy_refuses")
"""The ports without TLS."""


@dataclass
class Flaky:
    """The running server."""

    ports: dict[str, int]
    authority: Path
    numbers: Any

    def fill(self, text: str) -> str:
        """The text, with the origins of ports in the place of their names."""
        for name, port in self.ports.items():
            origin = f"http://127.0.0.1:{port}" if name in LOCAL else f"https://localhost:{port}"
            text = text.replace(f"{{{name}}}", origin)
        return text

    def address(self, url: str) -> tuple[str, str]:
        """An address whose requests count under a name of their own, and that name."""
        name = f"python-{os.getpid()}-{next(self.numbers)}"
        url = self.fill(url)
        if "/;" in url:
            return url.replace("/;", f"/;id={name}&", 1), name
        if not url.startswith("http") or url.endswith("[/"):
            return url, name
        return f"{url}{'&' if '?' in url else '?'}id={name}", name

    def seen(self, name: str) -> int:
        """How many requests of that name came."""
        with urllib.request.urlopen(self.fill(f"{{http}}/seen/{name}")) as answer:
            seen: int = json.load(answer)["requests"]
            return seen

    def context(self) -> ssl.SSLContext:
        """TLS that knows the server's authority."""
        return ssl.create_default_context(cafile=self.authority)


@pytest.fixture(scope="session")
def flaky(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flaky]:
    """The server of this run."""
    with subprocess.Popen([BINARY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        said = json.loads(server.stdout.readline())
        authority = tmp_path_factory.mktemp("flaky") / "authority.pem"
        authority.write_text(said["authority"])
        os.environ["AWS_CA_BUNDLE"] = str(authority)
        yield Flaky(said["ports"], authority, count())


@pytest.fixture(scope="session")
def databases() -> Iterator[Databases]:
    """The real servers of this run."""
    with Databases(BINARY) as running:
        yield running


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """The server that answers by scripts."""
    running = Server()
    yield running
    running.close()
