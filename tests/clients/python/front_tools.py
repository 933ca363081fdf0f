"""The tools of the tests of wrapped clients."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

import pytest
from fronts import FRONTS, Front

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

QUICK: dict[str, Any] = {"backoff": {"initial": "5ms"}, "budget": "none"}
each_front = pytest.mark.parametrize("kind", FRONTS, ids=lambda kind: str(kind.name))
each_asynchronous = pytest.mark.parametrize(
    "kind", [kind for kind in FRONTS if kind.asynchronous], ids=lambda kind: str(kind.name)
)
each_blocking = pytest.mark.parametrize(
    "kind", [kind for kind in FRONTS if not kind.asynchronous], ids=lambda kind: str(kind.name)
)


@contextlib.contextmanager
def opened(front: Front) -> Iterator[Front]:
    try:
        yield front
    finally:
        front.close()


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """The seconds that a call took, and its value or its error."""
    began = time.monotonic()
    try:
        ended = call()
    except Exception as error:
        ended = error
    return time.monotonic() - began, ended
