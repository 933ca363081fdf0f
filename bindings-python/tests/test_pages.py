"""The first example of each page works as pasted: it comes through two 503s of a server."""

from __future__ import annotations

import re
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from holdoff.testing import virtual_time

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]


@pytest.fixture
def flaky() -> Iterator[tuple[str, list[int]]]:
    """The address of a server, and the statuses that it has yet to answer with."""
    statuses = [503, 503, 200]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(statuses.pop(0))
            self.send_header("Content-Length", "5")
            self.end_headers()
            self.wfile.write(b"hello")

        def log_message(self, *_: object) -> None:
            """Stays silent."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/", statuses
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("page", "printed"), [("README.md", "200"), ("docs/guide-python.md", "5"), ("bindings-python/README.md", "5")]
)
def test_the_first_example(
    page: str, printed: str, flaky: tuple[str, list[int]], capsys: pytest.CaptureFixture[str]
) -> None:
    url, statuses = flaky
    example = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.S)[0]
    with virtual_time() as time:
        exec(compile(example.replace("https://example.com/", url), page, "exec"), {})
    assert capsys.readouterr().out == f"{printed}\n"
    assert len(time.sleeps) == 2
    assert statuses == []
