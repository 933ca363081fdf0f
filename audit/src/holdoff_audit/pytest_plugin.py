"""The fixture `holdoff_audit`. pytest loads it wherever holdoff-audit is installed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from . import Audit, audit


@pytest.fixture
def holdoff_audit() -> Callable[..., AbstractContextManager[Audit]]:
    """`with holdoff_audit(fail=503, most=3): ...` fails a test if one call makes more than 3 requests."""
    return audit
