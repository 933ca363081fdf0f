"""Fixtures of all engines: servers, each started when the first test asks for it, and virtual time."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from holdoff.testing import VirtualTime, virtual_time
from hypothesis.configuration import set_hypothesis_home_dir
from servers import Postgres, Rabbit, Redis

if TYPE_CHECKING:
    from collections.abc import Iterator

# Hypothesis keeps its database out of the repository.
set_hypothesis_home_dir(Path(tempfile.gettempdir()) / "holdoff-hypothesis")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL that all tests of a run share."""
    with Postgres() as server:
        yield server


@pytest.fixture(scope="session")
def redis() -> Iterator[Redis]:
    """A Redis that all tests of a run share."""
    with Redis() as server:
        yield server


@pytest.fixture(scope="session")
def rabbit() -> Iterator[Rabbit]:
    """A RabbitMQ that all tests of a run share."""
    with Rabbit() as server:
        yield server


@pytest.fixture
def clock() -> Iterator[VirtualTime]:
    """A time that passes only by sleeping."""
    with virtual_time() as clock:
        yield clock
