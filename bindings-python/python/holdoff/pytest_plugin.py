"""Fixtures for tests of programs that retry. pytest loads them wherever holdoff is installed."""

from __future__ import annotations

import pytest

from .testing import disabled, virtual_time, without_budgets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .testing import VirtualTime


@pytest.fixture
def holdoff_time() -> Iterator[VirtualTime]:
    """Virtual time: retries do not wait, and their sleeps can be looked at."""
    with virtual_time() as time, without_budgets():
        yield time


@pytest.fixture
def holdoff_disabled() -> Iterator[None]:
    """No retries: one attempt for each operation."""
    with disabled():
        yield
