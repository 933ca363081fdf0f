"""The examples with engines run on real servers too; without any, `cargo xtask test` runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from servers import Postgres, Rabbit, Redis

EXAMPLES = Path(__file__).parents[2] / "examples" / "engines"


def run(name: str, **environment: str) -> str:
    """What an example prints."""
    ran = subprocess.run(
        [sys.executable, EXAMPLES / name],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("broker", ["rabbit", "redis"])
def test_the_tasks_of_celery(broker: str, request: pytest.FixtureRequest) -> None:
    server: Rabbit | Redis = request.getfixturevalue(broker)
    said = run("celery_tasks.py", BROKER=server.url)
    assert said.count("ATTEMPT_FAILED") == 2
    assert "delivered 'hello'" in said


def test_the_tasks_of_procrastinate(postgres: Postgres) -> None:
    said = run("procrastinate_tasks.py", DATABASE_URL=postgres.url)
    assert said.count("ATTEMPT_FAILED") == 2
    assert "delivered 'hello'" in said


def test_the_shared_guards(redis: Redis) -> None:
    said = run("shared_guard.py", REDIS_URL=redis.url)
    assert said.splitlines()[0] == "3 of 5 may pass"
    assert "second: not even tried, for 30 s" in said
