"""The provider of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from provider import Provider

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def provider() -> Iterator[Provider]:
    with Provider() as running:
        yield running
        running.shutdown()
