"""What `import holdoff` takes along: every program that starts pays for it."""

from __future__ import annotations

import subprocess
import sys

SLOW = {
    "asyncio",
    "collections",
    "contextlib",
    "dataclasses",
    "enum",
    "functools",
    "inspect",
    "json",
    "logging",
    "random",
    "re",
    "typing",
    "warnings",
}


def test_nothing_slow_is_loaded() -> None:
    # Some environments load a few of them before any program begins.
    script = "import sys; before = {*sys.modules}; import holdoff; print(*{*sys.modules} - before)"
    ran = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True)
    loaded = set(ran.stdout.split())
    assert "holdoff" in loaded
    assert loaded & SLOW == set()
