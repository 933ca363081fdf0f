"""What tests share."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from holdoff.testing import VirtualTime, virtual_time
from hypothesis.configuration import set_hypothesis_home_dir

if TYPE_CHECKING:
    from collections.abc import Iterator

# Hypothesis keeps what it remembers out of the repository.
set_hypothesis_home_dir(Path(tempfile.gettempdir()) / "holdoff-hypothesis")


@pytest.fixture
def clock() -> Iterator[VirtualTime]:
    """A time that passes only by sleeping."""
    with virtual_time() as clock:
        yield clock
