"""Fixtures of the tests of workflows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from holdoff_durable import Journal, Runner

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    """A runner with an empty journal."""
    with Runner(Journal(tmp_path / "journal.db")) as runner:
        yield runner
