"""The first example of each README runs as pasted, but for the address of the server."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from servers import Postgres, Redis

ENGINES = Path(__file__).parents[1]


def run(engine: str, folder: Path, here: str = "", server: str = "") -> str:
    """The output of the example of an engine, with the address of a server in the place of `here`."""
    program = re.findall(r"```python\n(.*?)```", (ENGINES / engine / "README.md").read_text(), re.S)[0]
    assert here in program
    (folder / "example.py").write_text(program.replace(here, server))
    done = subprocess.run(
        [sys.executable, "example.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_workflows(tmp_path: Path) -> None:
    first = run("durable", tmp_path)
    assert first == "{'reserve': 'book is reserved', 'ship': 'book is reserved and on its way'}\n"
    assert run("durable", tmp_path) == first


def test_shared_guards(tmp_path: Path, redis: Redis) -> None:
    assert run("shared", tmp_path, "redis://localhost", redis.url).count("True") == 3
    assert run("shared", tmp_path, "redis://localhost", redis.url).count("False") == 5


def test_celery(tmp_path: Path) -> None:
    assert run("celery", tmp_path).endswith("delivered hello at attempt 3\n")


def test_procrastinate(tmp_path: Path, postgres: Postgres) -> None:
    here = "postgresql://postgres@localhost/postgres"
    assert "delivered hello at attempt 3" in run("procrastinate", tmp_path, here, postgres.url)
